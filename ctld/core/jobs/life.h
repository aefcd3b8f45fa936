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
struct run;
struct run_report;
struct stop;

#define LAUNCH_TRIES 3 /* failed launches in a row, after which the job is held */

/* Check whether a PENDING job may start, and put it into the scheduler or remove it accordingly.
 * Idempotent. */
void job_consider(struct core *core, struct job *job);
/* Remove it from the scheduler; call it before a field changes that its class depends on. */
void job_withdraw(struct core *core, struct job *job);

/* Order an attempt at a PENDING job: a run at each place, with ranks by the names of the nodes.
 * The job counts `need` against its limits. */
void job_start(
        struct core *core, struct job *job, const struct places *places, const struct need *need);
/* Order its present attempt to end: COMPLETING until all of its runs have ended. */
void job_stop(struct core *core, struct job *job, const struct stop *stop);
/* The state of a job whose deciding run ended like this. */
enum job_state job_state_of_end(enum end_cause cause, uint32_t exit_code, uint32_t exit_signal);
/* Wall: the latest time at which a job with a deadline must start or, if it runs, end. */
usec_t job_last_chance(const struct job *job);
/* The time left of its time limit, for a job that has one; < 0: none is left. */
usec_t job_time_left(const struct core *core, const struct job *job);
/* Its timer has expired: its begin time, the end of a delay, or its deadline has come. */
void job_timer_due(struct core *core, struct job *job);
/* End a PENDING job that has not run; of an array, all that waits. */
void job_cancel_pending(struct core *core, struct job *job);
/* No task of the array waits or runs any more. */
void job_end_array(struct core *core, struct job *own, enum job_state state);
/* An ended job waits again, for its next attempt; with a part, its array too. revive.c checks
 * whether this is allowed. */
void job_revive(struct core *core, struct job *job);
/* Will it be started again when its present attempt has ended? */
bool job_comes_again(const struct job *job);
/* The same if its node ends it to reclaim GPU memory that it had borrowed. */
bool job_again_when_reclaimed(const struct core *core, const struct job *job);

/* Order its runs to be suspended, or resumed. It is SUSPENDED when all its living runs are. */
void job_suspend(struct core *core, struct job *job, bool suspend);

/* For runlife.c: a run of its present attempt runs, or is suspended or resumed; a run of it is
 * over.
 */
void job_runs(struct core *core, struct job *job);
void job_run_over(struct core *core, struct job *job, const struct run *run);
/* Does the unknown run of a report belong to this job, so that the job continues with it?
 * job_adopts(): it does. */
bool job_takes(const struct job *job, const struct run_report *report);
void job_adopts(struct core *core, struct job *job, struct run *run);

/* Put an ended job on the list for retirement; `mono` is its end, or the start of the
 * controller. */
void job_list_ended(struct core *core, struct job *job, usec_t mono);
void jobs_retire_old(struct core *core);

/* A signature was found too old by a wrong clock: check it again. */
void job_expires(struct core *core, struct job *job);
void jobs_unexpire(struct core *core);
/* Its owner has signed it again. */
void job_signed(struct core *core, struct job *job, usec_t sign_time);
/* Its owner has signed another spec (job_set_respec()); the job is not a part of an array. */
void job_respecified(struct core *core, struct job *own, const struct respec *r, bool files);
/* Is the end of the job's signature too near for an order? */
bool job_signature_old(const struct core *core, const struct job *job);
uint32_t job_partition(const struct core *core, const struct job *job);

#endif
