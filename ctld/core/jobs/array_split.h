/* array_split.h - tasks of an array get a record of their own
 *
 * The array parent waits in its class like any job. Each time the scheduler picks it, it yields its
 * first task: the task gets a record of its own (a part), and the part is started. A change that
 * concerns only some of the tasks (a hold, another time limit) first splits these tasks off into a
 * part. So the code of requeues, holds, preemption and bills need not know about arrays.
 */
#ifndef CTLD_CORE_ARRAY_SPLIT_H
#define CTLD_CORE_ARRAY_SPLIT_H

#include <stdbool.h>

struct core;
struct job;
struct run_id;
struct taskset;

/* The first task of a record, as a job that can be started; the record itself if it is one task. */
struct job *array_first(struct core *core, struct job *job);

/* Moves the tasks of a record that are in `set` into a record of their own. Returns the record
 * itself if `set` has all its tasks, unless it is the array parent or `keep_own` is
 * set. NULL: the record has none of these tasks. */
struct job *array_split(
        struct core *core, struct job *job, const struct taskset *set, bool keep_own);

/* Some tasks have moved from this record to others. A part that has become empty may be dropped. */
void array_shrunk(struct core *core, struct job *job);

/* The part that a run belongs to. A task that waits without a record of its own gets one. NULL:
 * there is no such task. */
struct job *array_of_run(struct core *core, struct run_id id);

#endif
