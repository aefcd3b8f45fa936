/* job_timers.h - when something is due for a job: begin time, deadline, time limit */
#ifndef CTLD_CORE_JOB_TIMERS_H
#define CTLD_CORE_JOB_TIMERS_H

#include <stdint.h>

#include "common/job/run.h"

struct core;
struct job;

/* Set the time at which something is due for a job. */
void job_timer_set(struct core *core, struct job *job);
void job_timer_moved(void *item, uint32_t index);
/* Do what is due. */
void job_timers_apply(struct core *core);
/* Mono: when to call it next; INT64_MAX: nothing is due. */
usec_t job_timers_next(const struct core *core);

#endif
