/* srun_outside_job.c - a step in a job that is made for it; see srun.h */
#include "cmds/srun/srun.h"

/* What was not said of tasks is as the job has it. */
static void take_tasks(struct srun_part *part, const struct srun_allocation *a)
{
	if (!part->o.ntasks_said)
		part->request.tasks = a->tasks;
}

int srun_alone(struct srun_part *parts, size_t n, struct submit_options *job, uint32_t patience_s,
        int *stopped, struct error *err)
{
	struct srun_allocation a;
	int fd = -1, status = -1;

	if (srun_allocate(&parts[0].o, job, patience_s, &a, err) == 0) {
		take_tasks(&parts[0], &a);
		fd = srun_connect(&a.job, err);
		if (fd < 0)
			srun_cancel(a.job.id);
	}
	*stopped = a.stopped;
	if (fd >= 0) {
		status = srun_step(parts, n, &a.job, fd);
		srun_quit(fd, status == SRUN_FAILED ? 1 : status);
	}
	srun_hang_up();
	srun_allocation_clear(&a);
	return status;
}
