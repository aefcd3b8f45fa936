/* life.h - a job's way from submit to end: every change of its state is made in life.c */
#ifndef CTLD_CORE_LIFE_H
#define CTLD_CORE_LIFE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/job/run.h"
#include "ctld/core/records/job.h"

struct core;
struct job;
struct need;
struct places;
struct respec;
struct preempt_victim;
struct run;
struct stop;

/* Order an attempt at a PENDING job: a run at each place, with ranks by the names of the nodes.
 * The job counts `need` against its limits. */
void job_start(
        struct core *core, struct job *job, const struct places *places, const struct need *need);
/* Order its present attempt to end: COMPLETING until all of its runs have ended. */
void job_stop(struct core *core, struct job *job, const struct stop *stop);
/* End a PENDING job that has not run; of an array, all that waits. */
void job_cancel_pending(struct core *core, struct job *job);
/* End the record of a job that waits; of an array's parent its own tasks alone. */
void job_end_waiting(
        struct core *core, struct job *job, enum end_cause cause, enum job_state state);
/* An ended job waits again, for its next attempt; with a part, its array too. requeue_ended.c checks
 * whether this is allowed. */
void job_revive(struct core *core, struct job *job);
/* Order its runs to be suspended, or resumed. It is SUSPENDED when all its living runs are. */
void job_suspend(struct core *core, struct job *job, bool suspend);

/* For run_states.c: a run of its present attempt runs, or is suspended or resumed; a run of it is
 * over.
 */
void job_runs(struct core *core, struct job *job);
void job_run_over(struct core *core, struct job *job, const struct run *run);
/* Does the unknown run of a report belong to this job, so that the job continues with it?
 * job_adopts(): it does. */
bool job_takes(const struct job *job, const struct run_report *report);
void job_adopts(struct core *core, struct job *job, struct run *run);

/* Its owner has signed another spec (job_set_respec()); the job is not a part of an array. */
void job_respecified(struct core *core, struct job *own, const struct respec *r, bool files);

/* It has a planned start now, for the first time. */
void job_note_plan(struct core *core, struct job *job, usec_t planned_mono);
/* Stop a running job for another one. */
void job_preempt(struct core *core, const struct preempt_victim *victim, const struct job *for_job);

#endif
