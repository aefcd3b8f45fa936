/* depends.h - jobs that wait for other jobs
 *
 * The dependencies of a job are text in its row (common/job/depend.h), with the outcome of each
 * term. While a term is open, an edge hangs on the job that the term names. When that job starts
 * or ends it is put into a queue, and depends_settle() decides its edges one by one, in slices: a
 * job with a hundred thousand dependents does not stall the controller. Until its edges are
 * decided the job stays in memory. So each term is decided by a job that is present, the outcome
 * is in the row of the waiting job, and nothing is ever searched.
 *
 * aftercorr of an array on another array is decided task by task (correspond.c). A term on some
 * tasks of an array (12_[1-3]) has one edge for all of them (depends_range.c).
 *
 * singleton depends on the other jobs of the same user with the same name (singletons.h) and is
 * evaluated afresh each time.
 *
 * Edges, queue and names are volatile: a start rebuilds them from the rows.
 */
#ifndef CTLD_CORE_DEPENDS_H
#define CTLD_CORE_DEPENDS_H

#include <stdbool.h>
#include <stddef.h>

#include "common/job/run.h"

struct caller;
struct core;
struct error;
struct job;
struct taskset;

/* May a job (an array of these tasks; NULL: no array) wait for this? `job` NULL: a new job. Each
 * id must be that of a job in memory that the caller may see, or of a job in history whose end is
 * known (ended_outcomes.h, which does not say whose job it was); such an end decides the term at
 * once. A job may not wait for itself, and no named job may wait for `job`, directly or through
 * others. *kept becomes the text as rows keep it; the caller owns it. */
int depends_check(const struct core *core, const struct caller *caller, const struct job *job,
        const struct taskset *tasks, const char *text, char **kept, struct error *err);

/* Counts the terms on ranges of tasks (12_[1-3]) of jobs that are checked together, because their
 * number is bounded: adds those of one more text to *n. True: too many. */
bool range_many_in(const char *kept, unsigned *n);

/* The text is new, or comes from a row: hang its edges, unless the job has ended. */
void depends_attach(struct core *core, struct job *job);
/* Replace the dependencies of the job. */
void depends_set(struct core *core, struct job *job, const char *kept);
/* The text was checked a while ago: decide the terms whose jobs have gone to history since. Call
 * it before depends_attach(). */
void depends_catch_up(struct core *core, struct job *job);
/* A job that has ended is to wait again, with the text that it has: can that still be satisfied,
 * and without a circle? */
int depends_revivable(const struct core *core, const struct job *job, struct error *err);
/* Drop the dependencies of the job: it has ended, or gets another text. */
void depends_detach(struct core *core, struct job *job);
/* The job goes to history, or the core is freed: drop the list of its dependents. */
void depends_forget(struct core *core, struct job *job);

/* The job has started or ended: queue it, so that its dependents are updated. */
void depends_tell(struct core *core, struct job *job);
/* Settle at most `budget` edges; true if there are more. */
bool depends_settle(struct core *core, unsigned budget);
/* Does a dependent still have to learn how this job started or ended? Then it must stay in
 * memory. */
bool depends_wanted(const struct job *job);

/* Does the job have to wait? For any record of an array. */
bool depends_open(const struct job *job);
usec_t depends_due(const struct job *job); /* wall time at which a delay ends; INT64_MAX: no delay
					    * runs */
/* decide the terms whose delay has ended */
void depends_delays(struct core *core, struct job *job);

/* "Dependency" or "DependencyNeverSatisfied", and for people the jobs and their states. */
const char *depends_why(const struct core *core, const struct job *job, char *text, size_t size);

/* For people: the dependencies that are not yet satisfied; cut with "...". */
void depends_say(const struct job *job, char *text, size_t size);

int depends_check_job(const struct core *core, const struct job *job, struct error *err);

#endif
