/* world.h - a simulated cluster around the real core, with a clock of its own
 *
 * The world gives the core what a controller gives it: submissions, registrations, reports of runs,
 * clocks. Nodes have registered before the first submission and are never silent. A StartRun is
 * answered RUNNING at once; the run ends when its work is done, or at its time limit, or, when it
 * is told to, after `end_delay` (at most its grace). A job that is to run again does all of its
 * work again; with `checkpoint` only what was not done when its run was told to end.
 *
 * Of the things of one moment ends come first, then submissions, then timers, then the scheduler's
 * decisions; ends in the order in which their runs started. The same calls give the same world.
 *
 * If something happens that must never be (two runs hold one GPU, more is booked on a node than it
 * has, a check of the core fails), the world keeps it as its error and stops.
 */
#ifndef GSIM_WORLD_H
#define GSIM_WORLD_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/error.h"
#include "common/conf/conf.h"
#include "ctld/gsim/history/history.h"
#include "ctld/gsim/measures.h"

#define WORLD_NEVER INT64_MAX

enum time_limits { LIMITS_NONE, LIMITS_EXACT, LIMITS_FACTOR };

/* What users are taken to have asked for where the history does not say. */
struct world_options {
	uint64_t seed;
	enum time_limits limits;
	double factor; /* LIMITS_FACTOR: a limit is its duration times 1 to `factor` */
	usec_t end_delay;
	bool checkpoint;
	unsigned check_every; /* core_check() after so many events; 0: never */
};

struct world;
struct world_job; /* a job that has not ended */

/* `conf` went through cluster_prepare() and is borrowed. */
struct world *world_new(const struct conf *conf, const struct world_options *o, struct error *err);
void world_free(struct world *w); /* NULL is fine */

const struct conf *world_conf(const struct world *w);
struct measures *world_measures(struct world *w);

/* --- time: since the start of the world ------------------------------------------------------- */

usec_t world_now(const struct world *w);

/* The time at which something happens next without a further call; WORLD_NEVER: nothing will. */
usec_t world_next(const struct world *w);
bool world_runs(const struct world *w); /* is anything running? */

void world_to(struct world *w, usec_t now);
/* The same while nothing runs and no job is submitted: the time counts only if something starts
 * after it.
 */
void world_idle_to(struct world *w, usec_t now);
void world_ends(struct world *w);   /* runs that end now */
void world_timers(struct world *w); /* the core's timers that are due */
void world_schedule(struct world *w); /* all that the scheduler decides now */

/* Where results are kept: what still runs has run until now. */
void world_results(struct world *w);

/* 0, or -1 with the first thing that must never happen. */
int world_check(const struct world *w, struct error *err);

/* --- jobs --------------------------------------------------------------------------------------
 */

/* Copied from the history; it counts as submitted now, and waits. */
struct world_job *world_job_new(struct world *w, const struct history_job *job);

/* Hand it to the core. False: refused (measured), and the job is gone. */
bool world_submit(struct world *w, struct world_job *job);

/* Does the job run? The job exists until it has ended. Ask after world_schedule() only. */
bool world_job_runs(const struct world_job *job);
uint32_t world_job_partition(const struct world_job *job); /* a number of its partition's */

/* Frees a job that was never handed to the core. */
void world_job_free(struct world_job *job);

/* Cancels a job that waits in the core, and frees it. */
void world_cancel(struct world *w, struct world_job *job);

#endif
