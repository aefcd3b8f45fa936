/* array.h - the tasks of an array: under which record each stands, and when the array is over
 *
 * The array's own record stands in its class like any job, and yields its first task each time it
 * is picked: the task gets a record of its own, which is started. What is asked of some of the
 * tasks alone (a hold, another time limit) splits them off first; so requeues, holds, preemption
 * and bills know nothing of arrays.
 *
 * At most `at_once` tasks have an attempt at a time. When they do, nothing of the array is eligible
 * (job_consider()), so it can neither hold planned starts nor be in the way.
 *
 * Tasks that have ended leave memory like jobs do, but sooner where there are many. The own record
 * counts them, keeps the highest exit code, and ends when nothing of the array waits or runs:
 * FAILED if a task ended otherwise than COMPLETED or by a cancel, else CANCELLED if one was
 * cancelled, else COMPLETED.
 */
#ifndef CTLD_CORE_ARRAY_H
#define CTLD_CORE_ARRAY_H

#include "ctld/core/internal.h"

#define ARRAY_ENDED_KEPT \
	10000 /* tasks that have ended, of all arrays; others leave memory at once */

/* The first task of a record, as one that can be started; the record itself if it is one. */
struct job *array_first(struct core *core, struct job *job);

/* Those tasks of a record that are in `set`, as a record of their own; the record itself if they
 * are all it has and it is not the array's own, or `keep_own`. NULL: it has none of them. */
struct job *array_split(
        struct core *core, struct job *job, const struct taskset *set, bool keep_own);

/* So many of these tasks (NULL: of all) are under the record. */
uint32_t array_tasks_under(const struct job *job, const struct taskset *set);

/* Some of its tasks have gone to other records. It may be dropped, if it is not the own one. */
void array_shrunk(struct core *core, struct job *job);

/* As many run as may? */
bool array_full(const struct job *job);
/* Its records that wait may start now, or may not. */
void array_reconsider(struct core *core, const struct job *job);
void array_set_at_once(struct core *core, struct job *job, uint32_t at_once);

/* Tasks that have ended and left memory: are there any, and did all of them go well? */
enum array_gone { ARRAY_GONE_NONE, ARRAY_GONE_WELL, ARRAY_GONE_UNKNOWN };
enum array_gone array_gone(const struct job *own);
/* Which of these have no record any more; the caller clears *gone. */
void array_gone_tasks(const struct job *own, const struct taskset *of, struct taskset *gone);

/* A part of an array has ended. */
void array_part_ended(struct core *core, struct job *part);

/* May one of its tasks get a record of its own, so that others wait for it? -1: the tasks of this
 * record are in too many ranges already. */
int array_check_room(const struct job *job, struct error *err);

/* The part that a run is of; its task gets a record, if it waits without one. NULL: none. */
struct job *array_of_run(struct core *core, struct run_id id);

#endif
