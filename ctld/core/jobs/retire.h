/* retire.h - jobs that have ended leave memory for history after a while (keep_ended) */
#ifndef CTLD_CORE_RETIRE_H
#define CTLD_CORE_RETIRE_H

#include "common/job/run.h"

/* Ended tasks kept in memory, of all arrays together; beyond that they leave at once. */
#define ARRAY_ENDED_KEPT 10000

struct core;
struct job;

/* Put an ended job on the list for retirement; `mono` is its end, or the start of the
 * controller. */
void job_list_ended(struct core *core, struct job *job, usec_t mono);
void job_unlist_ended(struct core *core, struct job *job); /* it waits again */
void jobs_retire_old(struct core *core);

#endif
