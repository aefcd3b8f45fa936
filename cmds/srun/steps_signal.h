/* steps_signal.h - a signal to a step of a job, by its owner */
#ifndef CMDS_STEPS_SIGNAL_H
#define CMDS_STEPS_SIGNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/error.h"

/* Which step of which job: of an array, of which task. */
struct steps_target {
	uint64_t job; /* an id; a task's own one, too */
	uint32_t task;
	bool array;
	uint32_t step;
};

/* To all tasks of the step, over a stream to the job's step manager; signal 0 kills them, which
 * cancels the step. ERR_NO_JOB: there is no such job; ERR_JOB_STATE: it does not run, or has no
 * such step; ERR_NOT_PERMITTED: another user's. The program's name is srun_name (srun.h). */
int steps_signal(const struct steps_target *to, uint32_t signal, struct error *err);

#endif
