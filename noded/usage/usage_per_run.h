/* usage_per_run.h - what a run uses, added up from samples; no I/O
 *
 * A sample is what the GPUs did since the previous one, and what the run's processes have used so
 * far. A run that has a slot alone is charged with all of the slot's use, including that of unknown
 * processes; a run that shares a slot with what NVML reports for its processes. Energy cannot be
 * divided and counts only for a run that is alone.
 *
 * GPU memory is also summed over time (MiB times seconds), over all GPUs of the run: this is the
 * cost of a model that is loaded and idle.
 *
 * Peaks never fall, and neither do CPU time and I/O when they are sums over processes that end.
 */
#ifndef NODED_USAGE_PER_RUN_H
#define NODED_USAGE_PER_RUN_H

#include <stdbool.h>

#include "common/job/run.h"
#include "noded/gpu/nvml_usage.h"

/* The last values of a slot that a run holds. */
struct used_gpu {
	char uuid[GPUS_TEXT];
	uint32_t index; /* on the node, as people see it */
	bool energy_known;
	uint64_t energy_mj;  /* of the GPU, at the last sample */
	uint64_t mem_mb;     /* now */
	uint64_t allowed_mb; /* the run may use this much; 0: all (gpu_memory_limit.h) */
	uint64_t own_mb;     /* now, of processes known to be the run's (gpu_memory_limit.h) */
	bool own_known;      /* false: own_mb is 0, the driver has not reported it yet */
	uint64_t own_before_mb, allowed_before_mb; /* at the last sample but one */
	bool asked_back; /* it was asked to give back the excess (borrowed_gpu_memory.h) */
};

/* Processes of the run: `pids` sorted. */
struct used_pids {
	const uint32_t *pids;
	size_t n;
};

/* Add what each of the run's GPUs did in `us` microseconds; 0: the time is not known, as for the
 * first sample. `alone[i]`: no other run has slot i. A GPU that is missing in `uses` adds
 * nothing. */
void used_add_gpus(struct run_used *used, struct used_gpu *gpus, const bool *alone, size_t n,
        const struct gpu_uses *uses, struct used_pids mine, uint64_t us);

/* The same for memory alone, as it is now. */
void used_add_gpu_memory(struct run_used *used, struct used_gpu *gpus, const bool *alone, size_t n,
        const struct gpu_uses *uses, struct used_pids mine);

/* What its processes have used since it started (cpu_memory_io.h). */
struct process_usage;
void used_add_processes(struct run_used *used, const struct process_usage *m);

/* Has `b` changed enough from `a` to be reported? */
bool used_differ(const struct run_used *a, const struct run_used *b);

#endif
