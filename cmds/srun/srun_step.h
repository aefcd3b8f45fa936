/* srun_step.h - what the files of a step's run share; see srun.h */
#ifndef CMDS_SRUN_STEP_H
#define CMDS_SRUN_STEP_H

#include "cmds/srun/srun.h"

enum srun_task_state { SRUN_TASK_NONE, SRUN_TASK_RUNNING, SRUN_TASK_EXITED, SRUN_TASK_ABNORMAL };

struct srun_exit { /* ends that are told together */
	uint32_t task;
	char *node;
	uint32_t code, signal;
	bool core, memory;
};

struct srun_run {
	struct srun_part *parts;
	size_t n_parts;
	const struct srun_options *o; /* of the first part */
	const struct srun_job *job;
	int fd, signals, in_fd;
	struct steplink *link;
	struct srun_out out;
	char name[96]; /* "StepId=12.0" */
	char *nodelist, *first_node;
	uint32_t id, tasks, n_ended;
	uint8_t *states;
	struct srun_exit *exits;
	size_t n_exits;
	uint64_t told_taken;
	size_t in_way; /* bytes of input that are not taken */
	bool in_ended, created, over, failed, lost;
	bool waits_told, aborted, terminated, told_sigpipe, interrupted;
	int64_t flush_ms, wait_ms, kill_ms, int_ms, first_ms; /* 0: none */
	uint32_t worst;                                       /* exit status */
};

/* srun_task_exits.c: messages about tasks and steps that end, and their effects. */
void srun_take_task(struct srun_run *r, const struct steplink_message *m);
void srun_tell_exits(struct srun_run *r);
void srun_check_clock(struct srun_run *r);
int srun_timeout(const struct srun_run *r);
void srun_tell_cancelled(struct srun_run *r, bool limit);
void srun_tell_states(const struct srun_run *r); /* "StepId=12.0 tasks 1-3: running" */
void srun_terminate(struct srun_run *r);
void srun_force(struct srun_run *r); /* end it, by KILL where that was tried before */

/* srun_signals.c: the signals that srun gets: meant for itself, or for the tasks. */
void srun_take_signals(void *arg); /* of r->signals */

/* srun_step.c */
void srun_signal(struct srun_run *r, uint32_t sig);

#endif
