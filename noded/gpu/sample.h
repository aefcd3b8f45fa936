/* sample.h - what each GPU is used for, asked again and again through NVML
 *
 * As with look.h every call here may hang or crash: a process of its own makes them (sampler.h),
 * and writes what it is told to memory that the other process reads. So all of it is of a fixed
 * size.
 *
 * Compute use is the mean since the sample before: of the driver's own samples (some six a second,
 * kept for about 16 s), else its last rate. Of MIG instances NVML says none; their memory and
 * processes it does.
 */
#ifndef NODED_GPU_SAMPLE_H
#define NODED_GPU_SAMPLE_H

#include "noded/gpu/gpus.h"
#include "noded/gpu/look.h"

#define USE_PROCS     64 /* processes of one slot; with more, none of them is told */
#define USE_FULL      1000
#define USE_NOT_KNOWN UINT32_MAX

struct gpu_proc {
	uint32_t pid;
	uint32_t compute; /* in thousandths; USE_NOT_KNOWN: one process alone, or not told */
	uint64_t mem_mb;
};

enum { USE_COMPUTE = 1 << 0, USE_MEMORY = 1 << 1, USE_PROCESSES = 1 << 2, USE_ENERGY = 1 << 3 };

/* One slot: a whole GPU or a MIG instance. */
struct gpu_use {
	char uuid[GPUS_TEXT];
	uint32_t known;     /* which of these: USE_* */
	uint32_t compute;   /* in thousandths */
	uint64_t used_mb;   /* the driver's own included */
	uint64_t energy_mj; /* since the driver was loaded */
	uint32_t n_procs;
	struct gpu_proc procs[USE_PROCS];
};

struct gpu_uses {
	uint32_t n;
	struct gpu_use v[GPUS_MAX];
};

struct gpu_sampling;

/* Open the library and find the GPUs but those in `skip`, a set of NVML's indices. NULL: there are
 * none to be asked. */
struct gpu_sampling *gpu_sampling_new(uint64_t skip, struct look_at *at);
void gpu_sampling_take(struct gpu_sampling *s, struct gpu_uses *out);
/* Of these slots alone their memory and processes, which costs little and takes no sample of
 * compute use away from gpu_sampling_take(). */
void gpu_sampling_take_memory(
        struct gpu_sampling *s, const char (*uuids)[GPUS_TEXT], uint32_t n, struct gpu_uses *out);

#endif
