/* depends_attach.c - see depends_attach.h
 *
 * What has happened already to the job that a term names is queued like what happens later, so
 * there is one way of settling.
 */
#include "ctld/core/jobs/depends_attach.h"

#include <stdlib.h>
#include <string.h>

#include "ctld/core/depends/depends_queue.h"
#include "ctld/core/depends/depends_terms.h"
#include "ctld/core/jobs/array_split.h"
#include "ctld/core/records/job.h"
#include "ctld/core/rows/ended_outcomes.h"
#include "ctld/core/rows/state.h"
#include "ctld/core/util/idmap.h"

/* --- where they hang ------------------------------------------------------------------------- */

/* Task by task: the parts of `on` that have ended. */
static void hang_on_parts(struct core *core, struct edge *e, struct job *on)
{
	const struct array *a = job_array(on);
	struct job *p = idmap_next(a->parts, 0);

	e->gone = true;
	depends_queue(core, on);
	for (; p; p = idmap_next(a->parts, job_info(p)->part))
		if (job_state_ended((enum job_state)job_info(p)->state))
			depends_queue(core, p);
}

/* Some tasks of `on`: their parts that have started or ended. */
static void hang_on_range(struct core *core, struct edge *e, struct job *on)
{
	const struct taskset *tasks = e->t.tasks;
	const struct array *a = job_array(on);
	struct job *p = idmap_next(a->parts, 0);

	e->gone = true;
	depends_queue(core, on);
	for (; p; p = idmap_next(a->parts, job_info(p)->part)) {
		if (depends_has_news(p) && depends_has_any(tasks, p))
			depends_queue(core, p);
	}
}

static void hang_edge(struct core *core, struct edge *e, struct job *on)
{
	struct edge **list = e->t.each ? &dependents_of(on)->corrs : &dependents_of(on)->ranges;

	depends_list_edge(e, list);
	if (job_state_ended(job_info(on)->state))
		depends_queue(core, on);
	if (e->t.each)
		hang_on_parts(core, e, on);
	else
		hang_on_range(core, e, on);
}

/* If the named job does not exist, the waiting job is queued as `lost`: it is decided in its turn,
 * like any other. */
void depends_hang(struct core *core, struct depends *p, uint32_t n)
{
	struct job *on = p->on[n] ? jobs_find(core->jobs, p->on[n]) : NULL;
	bool start = (p->flags[n] & TERM_TYPE) == DEPEND_AFTER;
	struct edge *e = depends_edge(p, n);

	if (!on && job_ref_part(p->on[n]))
		on = array_of_run(core, (struct run_id){ .job = job_ref_id(p->on[n]),
		                                .task = job_ref_part(p->on[n]) - 1 });
	if (!on)
		on = depends_where(core, p, n);
	if (!on) {
		dependents_of(p->who)->lost = true;
		depends_queue(core, p->who);
	} else if (e && (e->t.each || e->t.tasks)) {
		hang_edge(core, e, on);
	} else {
		waiting_add(
		        start ? &dependents_of(on)->starts : &dependents_of(on)->ends, p->number);
		if (job_state_ended(job_info(on)->state) || (start && depends_began(on)))
			depends_queue(core, on);
	}
}

/* --- a text ---------------------------------------------------------------------------------- */

void depends_attach(struct core *core, struct job *job)
{
	const struct job_info *i = job_info(job);
	struct depends *p;
	struct depend d;
	struct error err;

	if (!*i->depends || job_state_ended(i->state))
		return;
	/* The text is valid: jobs_load() has parsed it, or depends_check() has written it. */
	if (depend_parse(i->depends, true, &d, &err) < 0)
		return;
	p = depends_make(core, job, &d);
	for (uint32_t n = 0; n < p->n; n++)
		if (p->on[n] && !(p->flags[n] & TERM_NEVER) && !depends_term_runs(p, n))
			depends_hang(core, p, n);
	/* Settled like any other from the start: the job is decided in its turn. */
	if (p->never && core->started) {
		dependents_of(job)->lost = true;
		depends_queue(core, job);
	}
}

/* Since the text was checked, jobs that it names may have gone to history: a bulk is stored in
 * slices, and a job is revived with the text that it had. Their outcomes decide these terms. */
void depends_catch_up(struct core *core, struct job *job)
{
	struct depend d;
	struct error err;
	bool any = false;
	char *text;

	if (!*job_info(job)->depends || depend_parse(job_info(job)->depends, true, &d, &err) < 0)
		return;
	for (size_t n = 0; n < d.n; n++) {
		struct depend_term *t = &d.v[n];
		enum job_outcome outcome =
		        t->job && depend_term_open(t) && !jobs_find(core->jobs, t->job)
		                ? outcomes_find(core->outcomes, t->job)
		                : OUTCOME_UNKNOWN;

		if (outcome == OUTCOME_UNKNOWN)
			continue;
		depend_decide_past(t, outcome == OUTCOME_WELL);
		any = true;
	}
	text = any ? depend_kept_text(&d) : NULL;
	if (any)
		job_set_depends(core->jobs, job, text);
	free(text);
	depend_clear(&d);
}

void depends_retext(struct core *core, struct job *own)
{
	const char *text = job_info(own)->depends;

	if (!job_link(own)->array)
		return;
	for (struct job *w = job_array(own)->waiting; w; w = job_link(w)->next)
		if (w != own)
			job_set_depends(core->jobs, w, strchr(text, '*') ? text : "");
}

/* Other dependencies replace the present ones: all edges are hung anew. */
void depends_set(struct core *core, struct job *job, const char *kept)
{
	depends_detach(core, job);
	job_set_depends(core->jobs, job, kept);
	depends_retext(core, job);
	depends_attach(core, job);
}
