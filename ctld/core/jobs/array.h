/* array.h - the tasks of an array: which record each task is under, and when the array is over
 *
 * The array parent waits in its class like any job. Each time the scheduler picks it, it
 * yields its first task: the task gets a record of its own (a part), and the part is started. A
 * change that concerns only some of the tasks (a hold, another time limit) first splits these
 * tasks off into a part. So the code of requeues, holds, preemption and bills need not know about
 * arrays.
 *
 * At most `at_once` tasks have an attempt at a time. While that many do, no record of the array is
 * eligible (job_consider()), so the array neither has planned starts nor delays other jobs.
 *
 * Tasks that have ended leave memory as jobs do, but sooner when there are many. The array parent
 * counts them and keeps the highest exit code. It ends when no task of the array waits or runs:
 * FAILED if a task ended neither COMPLETED nor by a cancel, else CANCELLED if a task was
 * cancelled, else COMPLETED.
 */
#ifndef CTLD_CORE_ARRAY_H
#define CTLD_CORE_ARRAY_H

#include <stdbool.h>
#include <stdint.h>

struct core;
struct error;
struct run_id;
struct taskset;

#define ARRAY_ENDED_KEPT \
	10000 /* ended tasks kept in memory, of all arrays together; beyond that they leave at
	       * once */

/* The first task of a record, as a job that can be started; the record itself if it is one task. */
struct job *array_first(struct core *core, struct job *job);

/* Moves the tasks of a record that are in `set` into a record of their own. Returns the record
 * itself if `set` has all its tasks, unless it is the array parent or `keep_own` is
 * set. NULL: the record has none of these tasks. */
struct job *array_split(
        struct core *core, struct job *job, const struct taskset *set, bool keep_own);

/* How many of these tasks (NULL: of all tasks) are under the record. */
uint32_t array_tasks_under(const struct job *job, const struct taskset *set);

/* Some tasks have moved from this record to others. A part that has become empty may be dropped. */
void array_shrunk(struct core *core, struct job *job);

/* Do as many tasks have an attempt as `at_once` allows? */
bool array_full(const struct job *job);
/* Whether its waiting records may start now has changed, or may have. */
void array_reconsider(struct core *core, const struct job *job);
void array_set_at_once(struct core *core, struct job *job, uint32_t at_once);

/* The tasks that have ended and left memory: are there any, and did all of them end well? */
enum array_gone { ARRAY_GONE_NONE, ARRAY_GONE_WELL, ARRAY_GONE_UNKNOWN };
enum array_gone array_gone(const struct job *own);
/* Which of these tasks no longer have a record; the caller clears *gone. */
void array_gone_tasks(const struct job *own, const struct taskset *of, struct taskset *gone);

/* A part of an array has ended. */
void array_part_ended(struct core *core, struct job *part);

/* May one of its tasks get a record of its own, so that other jobs can wait for it? -1: the tasks
 * of this record are in too many ranges already. */
int array_check_room(const struct job *job, struct error *err);

/* The part that a run belongs to. A task that waits without a record of its own gets one. NULL:
 * there is no such task. */
struct job *array_of_run(struct core *core, struct run_id id);

#endif
