/* depends_outcome.c - see depends_outcome.h */
#include "ctld/core/jobs/depends_outcome.h"

#include <stdlib.h>

#include "ctld/core/depends/depends_terms.h"
#include "ctld/core/jobs/depends_aftercorr.h"
#include "ctld/core/jobs/depends_attach.h"
#include "ctld/core/jobs/depends_never.h"
#include "ctld/core/jobs/eligible.h"
#include "ctld/core/records/job.h"
#include "ctld/core/rows/state.h"

/* A term of the job has changed: is the job free now, or can it never be? */
void depends_weigh(struct core *core, struct job *job)
{
	struct depends *p = job_link(job)->depends;
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
	depends_note_never(core, job);
	text = depends_text(p, true, SIZE_MAX);
	job_set_depends(core->jobs, job, text);
	free(text);
	depends_pack(p);
	if (p->never)
		depends_kill_never(core, job, p->never_n == p->each_never);
	if (job_link(job)->depends && job_link(job)->depends->each)
		aftercorr_reweigh(core, job);
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
