/* job_due.h - what is done when a job's time has come: begin, deadline, end of its time limit */
#ifndef CTLD_CORE_JOB_DUE_H
#define CTLD_CORE_JOB_DUE_H

struct core;
struct job;

/* Its timer has expired (job_timers.h): its begin time, the end of a dependency's delay or of a
 * changed time limit, or its deadline has come. Sets the timer for what is next. */
void job_timer_due(struct core *core, struct job *job);

#endif
