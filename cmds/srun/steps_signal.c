/* steps_signal.c - see steps_signal.h */
#include "cmds/srun/steps_signal.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>

#include "cmds/srun/srun.h"

int steps_signal(const struct steps_target *to, uint32_t signal, struct error *err)
{
	Gpusched__StepControl control = GPUSCHED__STEP_CONTROL__INIT;
	struct srun_job job = { .id = to->job, .task = to->task, .of_array = to->array };
	int fd;

	snprintf(job.name, sizeof(job.name), to->array ? "%" PRIu64 "_%" PRIu32 : "%" PRIu64, to->job,
	        to->task);
	if (srun_ask_job(&job, err) < 0 || (fd = srun_connect(&job, err)) < 0)
		return -1;
	control.verb = GPUSCHED__STEP_CONTROL__VERB__SIGNAL;
	control.step = to->step;
	control.signal = signal ? signal : SIGKILL;
	if (srun_control(fd, &control, err) < 0)
		return error_wrap(err, "step %" PRIu64 ".%" PRIu32, to->job, to->step);
	return 0;
}
