/* nvml_usage.h - what each GPU is used for, sampled repeatedly through NVML
 *
 * As with nvml_discovery.h every call here may hang or crash, so a separate process makes it
 * (sampler_watchdog.h) and writes the results to memory that the other process reads. So all data
 * has a fixed size.
 *
 * Compute use is the mean since the previous sample: of the driver's own samples (about six a
 * second, kept for about 16 s), else its last rate. For MIG instances NVML reports no compute use,
 * only memory and processes.
 *
 * Each value is optional: an old driver lacks some calls, and what a driver reports that cannot be
 * (beyond USE_*_MAX) counts as not known.
 */
#ifndef NODED_NVML_USAGE_H
#define NODED_NVML_USAGE_H

#include "noded/gpu/gpus.h"
#include "noded/gpu/nvml_discovery.h"

#define USE_PROCS     64 /* processes of one slot; if there are more, none is reported */
#define USE_FULL      1000
#define USE_NOT_KNOWN UINT32_MAX

/* No GPU has more, or uses more. */
#define USE_MB_MAX     ((uint64_t)1 << 24)
#define USE_TEMP_MAX   1000     /* C */
#define USE_POWER_MAX  10000000 /* mW */
#define USE_CLOCK_MAX  100000   /* MHz */
#define USE_ENERGY_MAX ((uint64_t)INT64_MAX)

struct gpu_proc {
	uint32_t pid;
	uint32_t compute; /* in thousandths; USE_NOT_KNOWN: a single process, or not reported */
	uint64_t mem_mb;
};

enum { USE_COMPUTE = 1 << 0, USE_MEMORY = 1 << 1, USE_PROCESSES = 1 << 2, USE_ENERGY = 1 << 3 };

/* One slot: a whole GPU or a MIG instance. */
struct gpu_use {
	char uuid[GPUS_TEXT];
	uint32_t known;     /* which values are known: USE_* */
	uint32_t compute;   /* in thousandths */
	uint64_t used_mb;   /* with what the driver keeps only before driver 510 */
	uint64_t free_mb;   /* known with used_mb */
	uint64_t energy_mj; /* since the driver was loaded */
	uint32_t temp_c, power_mw, sm_clock_mhz, mem_clock_mhz; /* 0: not known */
	uint32_t n_procs;
	struct gpu_proc procs[USE_PROCS];
};

struct gpu_uses {
	uint32_t n;
	struct gpu_use v[GPUS_MAX];
};

struct gpu_sampling;

/* Open the library and find the GPUs, except those in `skip`, a set of NVML's indices. NULL: there
 * is none to sample. */
struct gpu_sampling *gpu_sampling_new(uint64_t skip, struct discover_at *at);
void gpu_sampling_take(struct gpu_sampling *s, struct gpu_uses *out);
/* Make of any bytes a result that can be: bounds, and values that are none are not known. */
void gpu_uses_settle(struct gpu_uses *u);
/* Only memory and processes of these slots, which costs little and takes no sample of compute use
 * away from gpu_sampling_take(). */
void gpu_sampling_take_memory(
        struct gpu_sampling *s, const char (*uuids)[GPUS_TEXT], uint32_t n, struct gpu_uses *out);

#endif
