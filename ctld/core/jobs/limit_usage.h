/* limit_usage.h - what started jobs count against the limits, and GPUs against quotas */
#ifndef CTLD_CORE_LIMIT_USAGE_H
#define CTLD_CORE_LIMIT_USAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/job/run.h"
#include "ctld/core/limits/limits.h"
#include "ctld/core/place/ledger.h"

struct conf;
struct core;
struct job;
struct node;
struct preempt_victim;
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
bool job_takes_limit(struct core *core, const struct job *job, uint32_t limit);
/* For --why: count as if the job were over, and undo that. */
void job_imagine_over(struct core *core, struct job *job, bool over);

/* The run was ordered to end. */
void run_stopping(struct core *core, struct run *run, uint32_t grace_s);
/* Update which of its GPUs count for quotas. */
void node_count_gpus(struct core *core, struct node *node);
/* It has a planned start now. */
void job_note_plan(struct core *core, struct job *job, usec_t planned_mono);
/* Stop a running job for another one. */
void job_preempt(struct core *core, const struct preempt_victim *victim, const struct job *for_job);
struct place run_place(const struct run *run); /* of a booked run */
/* The number of a GPU type; TYPE_GONE; TYPE_NONE for "". */
uint16_t gpu_type_number(const struct conf *conf, const char *name);

#endif
