/* run_usage.h - what the launcher knows of one run's use: made by usage_sampling.c, sample after
 * sample
 *
 * It is in the run (run.used) from the first sample on. If several launchers have sampled a run
 * their results form one sum: it begins with the values of the `used` record.
 */
#ifndef NODED_RUN_USAGE_H
#define NODED_RUN_USAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/gpusched.pb-c.h"
#include "common/job/run.h"
#include "noded/usage/cpu_memory_io.h"
#include "noded/usage/gpu_memory_limit.h"
#include "noded/usage/usage_per_run.h"

struct run;

struct run_usage {
	struct run_used used, told;
	char *leaf, *memory; /* its cgroups; "" none */
	struct used_gpu *gpus;
	size_t n_gpus;
	bool looked;         /* its GPUs were sampled at least once */
	usec_t sampled;      /* mono: last successful sample of its GPUs; 0: never */
	uint64_t allowed_mb; /* of each GPU's memory, at most; 0: all of it */
	bool over_told;      /* its use of more than that was reported */
	struct process_usage processes;
	uint64_t waited_us; /* the previous meter.wait_us, a sum that may fall; UINT64_MAX: none */
	bool fresh;         /* not reported yet */
	bool kept;          /* a record is needed: the kernel does not remember all of it */
};

/* From the run's records: an earlier launcher may have started it. */
struct run_usage *run_usage_new(const struct run *r);
void run_usage_free(struct run_usage *u); /* NULL is fine */

/* What a run has used so far; NULL: not known. */
const struct run_used *run_usage_of(const struct run *r);

/* --- memory of its GPUs ----------------------------------------------------------------------- */

/* Has the run only a part of its GPUs' memory? */
bool run_usage_is_guarded(const struct run_usage *u);
/* Call run_over_memory() if the run uses more than it may. */
void run_usage_check_memory(struct run *r);

/* Of a GPU by its index. own_mb: what the run's own processes used of it at the last sample; before
 * the first sample 0, or all that the run may use if an earlier launcher asked it to give back
 * (burst_time). gpu_mb: the GPU's memory (0: not known). text: gpu_memory_limit.h's text on it. */
uint64_t run_usage_own_mb(const struct run *r, unsigned index);
uint64_t run_usage_gpu_mb(const struct run *r, unsigned index);
void run_usage_text(const struct run *r, unsigned index, char out[OVERMEM_TEXT]);

/* --- records and reports ---------------------------------------------------------------------- */

/* Write its `used` record. On a full tmpfs the previous record stays. */
void run_usage_keep(const struct run *r);
/* The message to send; *used borrows *id. */
void run_usage_message(const struct run *r, Gpusched__RunUsed *used, Gpusched__RunId *id);
/* Report all of it at once, with burst_job and burst_time. */
void run_usage_send(const struct run *r);

#endif
