/* depends_open.c - see depends_open.h
 *
 * Only records are asked, and nothing is changed. A part of an array whose terms are decided task
 * by task goes by its own text for these, and by its array's terms for the others
 * (depends_aftercorr.c).
 */
#include "ctld/core/depends/depends_open.h"

#include <string.h>

#include "ctld/core/depends/depends_terms.h"
#include "ctld/core/records/job.h"
#include "ctld/core/records/singletons.h"

/* --- decided task by task -------------------------------------------------------------------- */

/* Do the array's terms that are not decided task by task still have to come true? */
static bool whole_open(const struct depends *p, const struct job *own)
{
	return p->whole_left > (p->singles && singletons_first_and_idle(own) ? p->singles : 0);
}

static bool part_open(const struct job *part)
{
	const struct depends *p = depends_of(part);
	const struct job *own = job_own(part);

	if (!p->any)
		return depends_by_task(part) || whole_open(p, own);
	return *job_info(part)->depends && !(p->singleton && singletons_first_and_idle(own));
}

/* Can the terms of a part's own text never come true? */
static bool parts_never(const struct depend *d)
{
	size_t n, never = 0, of = 0;

	for (n = 0; n < d->n; n++) {
		of += d->v[n].each;
		never += d->v[n].each && d->v[n].never;
	}
	return d->any ? never == of : never;
}

/* Can the terms that its array waits for as a whole never come true? */
static bool whole_never(const struct depends *p)
{
	uint32_t never = p->never_n - p->each_never;

	return p->any ? never == p->n - p->each_n : never;
}

bool depends_never(const struct job *part)
{
	const struct depends *p = depends_of(part);
	struct depend d;
	bool never;

	if (!part_open(part) || depend_parse(job_info(part)->depends, true, &d, NULL) < 0)
		return false;
	d.any = p->any;
	never = parts_never(&d);
	depend_clear(&d);
	return p->any ? never && whole_never(p) : never || whole_never(p);
}

/* --- any job --------------------------------------------------------------------------------- */

/* `singleton` is never recorded as met, because it may become false again: its terms count as met
 * while the job is the first of its name and none of that name is active. */
bool depends_open(const struct job *job)
{
	const struct job *own = job_own(job);
	const struct depends *p = job_link_of(own)->depends;

	if (!p)
		return false;
	if (p->each && job != own)
		return part_open(job);
	job = own;
	if (!p->singleton || !singletons_first_and_idle(job))
		return true;
	return !p->any && p->met + p->singles < p->n;
}

usec_t depends_due(const struct job *job)
{
	const struct depends *p = job_link_of(job)->depends;
	usec_t due = INT64_MAX;

	for (uint32_t n = 0; p && n < p->n_edges; n++) {
		const struct edge *e = &p->edges[n];

		if (e->t.at && depends_term_open(p, e->term) && depends_wall(e->t.at) < due)
			due = depends_wall(e->t.at);
	}
	return due;
}

bool depends_wanted(const struct job *job)
{
	const struct dependents *a = job_link_of(job)->dependents;

	return a && (a->queued || a->starts.n || a->ends.n || a->corrs || a->ranges);
}
