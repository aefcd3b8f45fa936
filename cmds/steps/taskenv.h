/* taskenv.h - the environment of a task
 *
 * What srun exported, over which lies what this node's run says of itself (GPUSCHED_*), the part of
 * the run's GPUs that the step or the task has, and the names that Slurm gives a task.
 */
#ifndef CMDS_STEPS_TASKENV_H
#define CMDS_STEPS_TASKENV_H

#include <stdint.h>
#include <sys/types.h>

#include "common/gpusched.pb-c.h"

struct taskenv_in {
	const Gpusched__StepTasks *tasks; /* what this node has of the step */
	uint32_t step;
	size_t local;         /* which of its tasks */
	char *const *own;     /* the environment of the node's run */
	const char *pmi;      /* NAME=value lines of a process management interface, or NULL */
	uint32_t first_local; /* of the tasks of earlier parts of `A : B` on this node */
};

/* The whole environment but SLURM_TASK_PID: owned, NULL behind the last, with one slot before it
 * for that name (taskenv_set_pid()). */
char **taskenv_make(const struct taskenv_in *in);
void taskenv_set_pid(char **env, pid_t pid); /* in the new process */
void taskenv_free(char **env);

/* `env` with what a block of NAME=value says, each with a NUL; keeps that slot. Takes `env`
 * over. */
char **taskenv_add(char **env, const char *block, size_t len);

const char *taskenv_get(char *const *env, const char *name); /* NULL: not there */

/* "0,2,3" of the positions in a list with commas ("GPU-1,GPU-2"); the caller frees it. */
char *taskenv_pick(const char *list, const uint32_t *at, size_t n);
/* "2(x3),1" */
char *taskenv_each(const uint32_t *v, size_t n);

#endif
