/* shepherd_task.h - a gshepherd that does one task besides runs, and says how it ended
 *
 * It says so in a pipe (SHEPHERD_RESULT_FD in record/inherit.h): SHEPHERD_CHECK_OK, or what went
 * wrong.
 */
#ifndef NODED_SHEPHERD_TASK_H
#define NODED_SHEPHERD_TASK_H

#include "common/base/error.h"

struct launcher;
struct shepherd_task;

/* `trouble`: NULL: it was done; "": the process was killed; else what went wrong. The task is freed
 * after this. */
typedef void shepherd_task_fn(const char *trouble, void *arg);

/* Start `gshepherd ARGV...`; `input` is the descriptor after that of the result, -1: none, and
 * stays the caller's. NULL with ERR_LAUNCH. */
struct shepherd_task *shepherd_task_start(struct launcher *l, char *const argv[], int input,
        shepherd_task_fn *fn, void *arg, struct error *err);
/* The process goes on, and its result is ignored. NULL is fine. */
void shepherd_task_free(struct shepherd_task *t);

#endif
