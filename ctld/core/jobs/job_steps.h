/* job_steps.h - steps of jobs, as their owner's own programs report them
 *
 * A step is a set of tasks that srun starts within an attempt of a job. The core decides nothing
 * about steps: the step manager, a process of the job's owner, starts, ends and numbers them, and
 * reports them so that they are listed and accounted.
 *
 *	it runs     volatile: in memory, charged to the job's user; after a restart of the
 *	            controller the manager reports it again
 *	it ended    durable: a row that goes to history at the next seal, and one bit in memory
 *
 * That bit is for reports that come late. The manager repeats what was not answered on a new
 * session, and what the session before still carried may come behind it: a report that a step runs
 * says nothing new when the step has ended. No such report outlives the sessions of a controller,
 * so the bits need not either.
 *
 * When the attempt ends, the steps that still run end with it, as CANCELLED. A report that a step
 * has ended may come after the end of the last attempt, as long as the job is in memory, and
 * replaces what the end of the attempt said.
 */
#ifndef CTLD_CORE_JOB_STEPS_H
#define CTLD_CORE_JOB_STEPS_H

#include <stdint.h>

struct core;
struct core_event;
struct job;
struct step_report;

#define STEPS_RUNNING_MAX 1024 /* of one job at a time */

/* Applies each report that is valid; the reply is about the first one that is not. */
void step_reports_apply(struct core *core, const struct core_event *e);

/* The attempt is over: its steps end with it. Called when the job has its new state. */
void job_steps_end(struct core *core, struct job *job);
void job_steps_forget(struct core *core, struct job *job); /* without rows */

uint32_t job_steps_count(const struct job *job);
/* The first running step with a number above `after` (-1: of all); NULL: there are no more. */
const struct step_report *job_step_next(const struct job *job, int64_t after);

#endif
