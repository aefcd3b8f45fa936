/* limit_usage.h - what jobs count against the limits, started or waiting, and GPUs against quotas
 */
#ifndef CTLD_CORE_LIMIT_USAGE_H
#define CTLD_CORE_LIMIT_USAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/job/run.h"
#include "ctld/core/limits/limits.h"
#include "ctld/core/place/ledger.h"

struct core;
struct job;
struct job_info;
struct node;
struct run;

/* What an attempt counts against the limits. */
struct taken {
	struct limit_chain *chain;
	struct need need;
};

/* An attempt counts against the limits from its start until it is over. Idempotent: */
void job_take(struct core *core, struct job *job, const struct need *need);
void job_give_back(struct core *core, struct job *job);
void job_take_again(struct core *core, struct job *job);   /* against other limits, by its runs */
void job_forget_taken(struct core *core, struct job *job); /* before the limits are freed */
/* The job is a replica that its service keeps, or is one no longer. Those kept first are guarded,
 * as far as the guarantee of their account covers them (quota_guard()). A job that was not covered
 * may be at a later call. */
void job_keep(struct core *core, struct job *job, bool kept);
bool job_takes_limit(struct core *core, const struct job *job, uint32_t limit);
/* For --why: count as if the job were over, and undo that. */
void job_imagine_over(struct core *core, struct job *job, bool over);

/* The run was ordered to end. */
void run_stopping(struct core *core, struct run *run, uint32_t grace_s);
/* Update which of its GPUs count for quotas. */
void node_count_gpus(struct core *core, struct node *node);
/* Its number in the configuration; CONF_NONE: there is no such partition any more. */
uint32_t job_partition(const struct core *core, const struct job *job);

/* --- jobs that have not ended: counted for the limit `queued` -------------------------------- */

/* The limits of a configuration that apply to a job. The caller frees the chain. */
struct limit_chain *job_limit_chain(
        const struct core *core, struct limits *limits, const struct job_info *i);
/* Count so many more such jobs, in the limits of now or in others. */
void job_count(struct core *core, const struct job_info *info, int delta);
void job_count_in(
        const struct core *core, struct limits *limits, const struct job_info *i, int delta);
/* The job was admitted, changed or revived: count its request in the workload profile
 * (workload_profile.h), and wake the classes if that changed. Trial submissions are not counted. */
void job_requested(struct core *core, const struct job *job);
bool job_note_request(struct core *core, const struct job *job); /* true: the profile changed */

#endif
