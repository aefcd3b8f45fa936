/* gsubmit_pending_hint.c - the hint after a submit: when the job is planned, what holds it */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cmds/submit/gsubmit.h"
#include "cmds/views/whyview.h"
#include "common/base/clock.h"

/* Of a job that did not start at once: when it will, and where to read more. */
static int on_waiting(const struct gpusched_job *job, void *arg)
{
	char when[WHY_TIME_TEXT], plan[160] = "", held[64];
	(void)arg;

	if (strcmp(job->state, "PENDING") != 0 || !job->n_blockers)
		return 0;
	if (job->planned_start)
		snprintf(plan, sizeof(plan), "planned %s%s%.100s; ",
		        why_time(when, job->planned_start, clock_us(CLOCK_REALTIME)),
		        *job->planned_nodes ? " on " : "", job->planned_nodes);
	if (job->n_blockers == 1 && !strcmp(job->reason, "JobArrayTaskLimit")) {
		cmd_advise(&gsubmit_cmd, "the limit of tasks that run at a time is reached");
		return 0;
	}
	if (job->n_blockers > 1)
		snprintf(held, sizeof(held), "%" PRIu32 " things", job->n_blockers);
	else
		snprintf(held, sizeof(held), "%.60s", job->reason);
	cmd_advise(&gsubmit_cmd, "%sheld by %s: gqueue --why %" PRIu64, plan, held, job->id);
	return 0;
}

void gsubmit_advise_waiting(struct gpusched *g, const struct submit_options *o, uint64_t id)
{
	struct gpusched_filter filter;
	struct gpusched_error why;

	if (!isatty(STDERR_FILENO) || o->hold)
		return;
	gpusched_filter_init(&filter);
	filter.ids = &id;
	filter.n_ids = 1;
	gpusched_list_jobs(g, &filter, on_waiting, NULL, &why); /* it is only advice */
}
