/* depends_outcome.c - see depends_outcome.h */
#include "ctld/core/jobs/depends_outcome.h"

#include <stdlib.h>

#include "common/job/mail_types.h"
#include "ctld/core/jobs/depends_aftercorr.h"
#include "ctld/core/jobs/depends_attach.h"
#include "ctld/core/jobs/depends_never.h"
#include "ctld/core/jobs/depends_terms.h"
#include "ctld/core/jobs/eligible.h"
#include "ctld/core/jobs/notifications.h"
#include "ctld/core/records/job.h"
#include "ctld/core/rows/state.h"

/* The job can never start: end it. For an array and terms that are decided task by task, end only
 * the tasks without a record of their own. */
static void kill_never(struct core *core, struct job *job, bool each_only)
{
	const struct depends *p = job_link(job)->depends;

	if (!depends_kills(core, job) || job_info(job)->state != JOB_PENDING)
		return;
	depends_end_never(core, job, p->each && (p->any || each_only));
}

/* A term of the job has changed: is the job free now, or can it never be? */
void depends_weigh(struct core *core, struct job *job)
{
	struct depends *p = job_link(job)->depends;
	bool was_never = p->never;
	char *text;

	if (p->any ? p->met : p->met == p->n) {
		depends_detach(core, job);
		job_set_depends(core->jobs, job, "");
		depends_retext(core, job);
		/* Its age counts from now, when it becomes able to run. */
		if (job_info(job)->begin_time < core->now.wall)
			job_set_begin(core->jobs, job, core->now.wall);
		job_consider(core, job);
		return;
	}
	p->never = p->any ? !p->open : p->never_n;
	if (p->never && !was_never)
		job_mail(core, job, MAIL_INVALID_DEPEND);
	text = depends_text(p, true, SIZE_MAX);
	job_set_depends(core->jobs, job, text);
	free(text);
	depends_pack(p);
	if (p->never)
		kill_never(core, job, p->never_n == p->each_never);
	if (job_link(job)->depends && job_link(job)->depends->each)
		corr_reweigh(core, job);
	job_consider(core, job);
}

void depends_delays(struct core *core, struct job *job)
{
	struct depends *p = job_link(job)->depends;
	bool any = false;

	for (uint32_t n = 0; p && n < p->n_edges; n++) {
		const struct edge *e = &p->edges[n];

		if (!e->t.at || !depends_term_open(p, e->term) ||
		        depends_wall(e->t.at) > core->now.wall)
			continue;
		depends_mark(p, e->term, DEPEND_MET);
		any = true;
	}
	if (any)
		depends_weigh(core, job);
}
