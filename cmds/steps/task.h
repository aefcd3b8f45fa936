/* task.h - one task of a step: a process in a session of its own
 *
 * task_start() forks and executes it. What fails in the new process before the program runs is said
 * on the task's standard error in slurmstepd's words, and is its exit status, as under Slurm.
 */
#ifndef CMDS_STEPS_TASK_H
#define CMDS_STEPS_TASK_H

#include <sched.h>
#include <stdbool.h>
#include <sys/types.h>

#include "common/base/error.h"

struct task_start {
	char *const *argv;
	char **env; /* taskenv_make() */
	const char *cwd;
	mode_t umask;
	int fd[3];             /* its standard input, output, error */
	int keep_fd;           /* stays open in it under the same number; -1: none */
	int env_fd;            /* more of its environment comes from it (taskenv_add()), to be
	                        * waited for; -1: no more */
	bool terminal;         /* fd[0] becomes its controlling terminal */
	const cpu_set_t *cpus; /* NULL: as it is */
	const char *node;
};

/* The process' id; -1 with `err`. */
pid_t task_start(const struct task_start *s, struct error *err);

#endif
