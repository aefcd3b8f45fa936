/* used.h - what a run uses, added up from samples; no I/O
 *
 * A sample is what the GPUs did since the one before, and what the run's processes have used so
 * far. Whose a GPU's use is: of a run that has the slot alone all of it, the processes' that we do
 * not know too; of runs that share it what NVML says of their processes. Energy cannot be told
 * apart and counts only for who is alone.
 *
 * Peaks never go back, nor does CPU time or I/O where they are sums over processes that end.
 */
#ifndef NODED_USED_H
#define NODED_USED_H

#include <stdbool.h>

#include "common/run.h"
#include "noded/gpu/sample.h"

/* What was last heard of a slot that a run holds. */
struct used_gpu {
	char uuid[GPUS_TEXT];
	uint32_t index; /* on the node, as people see it */
	bool energy_known;
	uint64_t energy_mj;  /* of the card, as of then */
	uint64_t mem_mb;     /* now */
	uint64_t allowed_mb; /* it may use so much; 0: all (overmem.h) */
	uint64_t own_mb;     /* now, of processes that are the run's beyond doubt (overmem.h) */
	bool own_known;      /* else own_mb is 0: the driver has not said it yet */
	uint64_t own_before_mb, allowed_before_mb; /* at the look before the last one */
	bool asked_back;     /* what it has beyond that others came for: burst.h sees to it */
};

/* Processes of the run: `pids` sorted. */
struct used_pids {
	const uint32_t *pids;
	size_t n;
};

/* Add what each of the run's GPUs did in `us` microseconds, 0: nobody knows for how long, as with
 * the first sample. `alone[i]`: no other run has slot i. A GPU that is not in `uses` did nothing
 * that is known. */
void used_add_gpus(struct run_used *used, struct used_gpu *gpus, const bool *alone, size_t n,
        const struct gpu_uses *uses, struct used_pids mine, uint64_t us);

/* The same of memory alone, as it is now. */
void used_add_gpu_memory(struct run_used *used, struct used_gpu *gpus, const bool *alone, size_t n,
        const struct gpu_uses *uses, struct used_pids mine);

/* What its processes have used since it started (meter.h). */
struct meter;
void used_add_meter(struct run_used *used, const struct meter *m);

/* Is there anything in `b` worth telling that is not in `a`? */
bool used_differ(const struct run_used *a, const struct run_used *b);

#endif
