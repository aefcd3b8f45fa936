/* array.h - what is known of an array: tasks under a record, at its throttle or not, over or not
 *
 * Tasks get records of their own (parts) in array_split.c.
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

#include "ctld/core/records/job.h"

struct core;
struct error;
struct taskset;

/* How many of these tasks (NULL: of all tasks) are under the record. */
uint32_t array_tasks_under(const struct job *job, const struct taskset *set);

/* Do as many tasks have an attempt as `at_once` allows? */
bool array_full(const struct job *job);

/* The tasks that have ended and left memory: are there any, and did all of them end well? */
enum array_gone { ARRAY_GONE_NONE, ARRAY_GONE_WELL, ARRAY_GONE_UNKNOWN };
enum array_gone array_gone(const struct job *own);
/* Which of these tasks no longer have a record; the caller clears *gone. */
void array_gone_tasks(const struct job *own, const struct taskset *of, struct taskset *gone);

/* May one of its tasks get a record of its own, so that other jobs can wait for it? -1: the tasks
 * of this record are in too many ranges already. */
int array_check_room(const struct job *job, struct error *err);

/* A part of an array has ended: its tasks are counted in the array parent. True: nothing of the
 * array waits or runs any more, so the array is over; *end is the worst outcome of its tasks. */
bool array_part_ended(struct core *core, const struct job *part, enum job_state *end);

#endif
