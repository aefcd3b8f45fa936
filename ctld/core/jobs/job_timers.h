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
/* The job for which something is due first; NULL: nothing is due yet. job_timer_due() of
 * job_due.h does it, and sets the job's next time. */
struct job *job_timers_first(const struct core *core);
/* Mono: when to ask again; INT64_MAX: nothing is due. */
usec_t job_timers_next(const struct core *core);

/* Wall: the latest time at which a job with a deadline must start or, if it runs, end. */
usec_t job_last_chance(const struct job *job);
/* The time left of its time limit, for a job that has one; < 0: none is left. */
usec_t job_time_left(const struct core *core, const struct job *job);

#endif
