/* depends_terms.c - the terms that jobs wait for, in memory, and the lists they are in; see
 * depends_impl.h
 *
 * A job may name a thousand others, and many jobs may do so. So a term is a ref and a byte of
 * flags. The job that it names keeps only the number of the waiting job, not which of its terms
 * this is: the term is searched for among the waiting job's terms when the event happens. A number
 * is given out once. A number whose job no longer waits stays in the list until it is reached, or
 * until a sweep removes it.
 *
 * Terms that need more (a delay, tasks of an array, task by task) have a struct edge besides, in
 * the order of the terms. Edges refer to terms by number, so the terms of a job with edges are
 * never packed.
 */
#include <stdlib.h>
#include <string.h>

#include "common/base/xalloc.h"
#include "ctld/core/jobs/array_split.h"
#include "ctld/core/jobs/depends_impl.h"
#include "ctld/core/records/job.h"
#include "ctld/core/rows/state.h"
#include "ctld/core/util/idmap.h"

#define SWEEP 2 /* numbers examined when a job leaves the list: at most about half of a list is
		 * stale */

/* --- lists of those that wait ---------------------------------------------------------------- */

static struct depends *depends_of_number(const struct core *core, uint32_t number)
{
	return idmap_find(core->waiting, number);
}

static void waiting_fit(struct waiting *w, uint32_t size)
{
	w->size = size;
	if (size) {
		w->v = xrealloc(w->v, size, sizeof(*w->v));
		return;
	}
	free(w->v);
	w->v = NULL;
}

static void waiting_add(struct waiting *w, uint32_t number)
{
	/* The same job again, for another of its terms. */
	if (w->n && w->v[w->n - 1] == number)
		return;
	if (w->n == w->size)
		waiting_fit(w, w->size < 4 ? w->size + 1 : w->size + w->size / 4);
	w->v[w->n++] = number;
}

/* A list never has much more memory than it needs: there may be one for each job. */
static void waiting_shrink(struct waiting *w)
{
	if (!w->n)
		waiting_fit(w, 0);
	else if (w->n <= w->size / 2)
		waiting_fit(w, w->n + w->n / 4);
}

struct depends *waiting_pop(const struct core *core, struct waiting *w)
{
	uint32_t number = w->v[--w->n];

	waiting_shrink(w);
	return depends_of_number(core, number);
}

bool waiting_has(const struct waiting *w, uint32_t number)
{
	uint32_t i = 0;

	while (i < w->n && w->v[i] != number)
		i++;
	return i < w->n;
}

/* A job has left the list: remove what is stale among the next few numbers. */
static void waiting_sweep(const struct core *core, struct waiting *w)
{
	for (int i = 0; i < SWEEP && w->n; i++) {
		w->at = w->at < w->n ? w->at : 0;
		if (depends_of_number(core, w->v[w->at]))
			w->at++;
		else
			w->v[w->at] = w->v[--w->n];
	}
	waiting_shrink(w);
}

/* --- terms ----------------------------------------------------------------------------------- */

/* By binary search. The term must have an edge (TERM_MORE). */
static struct edge *edge_of(const struct depends *p, uint32_t n)
{
	uint32_t low = 0, high = p->n_edges;

	while (low + 1 < high) {
		uint32_t mid = low + (high - low) / 2;

		if (p->edges[mid].term <= n)
			low = mid;
		else
			high = mid;
	}
	return &p->edges[low];
}

struct depend_term depends_term(const struct depends *p, uint32_t n)
{
	struct depend_term t = { .type = p->flags[n] & TERM_TYPE,
		.job = job_ref_id(p->on[n]),
		.task = job_ref_part(p->on[n]) ? job_ref_part(p->on[n]) - 1 : DEPEND_NO_TASK };

	if (p->flags[n] & TERM_MORE)
		t = edge_of(p, n)->t;
	t.met = p->flags[n] & TERM_MET;
	t.never = p->flags[n] & TERM_NEVER;
	return t;
}

bool depends_term_runs(const struct depends *p, uint32_t n)
{
	return p->flags[n] & TERM_MORE && edge_of(p, n)->t.at;
}

void depends_runs_until(struct depends *p, uint32_t n, int64_t at)
{
	edge_of(p, n)->t.at = at;
}

/* Final: a term that is decided stays so. Keeps the counts of struct depends. */
void depends_mark(struct depends *p, uint32_t n, enum outcome outcome)
{
	bool each = p->flags[n] & TERM_MORE && edge_of(p, n)->t.each;

	if (outcome == DEPEND_OPEN || !depends_term_open(p, n))
		return;
	p->flags[n] |= outcome == DEPEND_MET ? TERM_MET : TERM_NEVER;
	p->open--;
	p->met += outcome == DEPEND_MET;
	p->never_n += outcome == DEPEND_NEVER;
	p->whole_left -= outcome == DEPEND_MET && !each;
	p->each_never += outcome == DEPEND_NEVER && each;
	p->singles -= !p->on[n];
}

void depends_pack(struct depends *p)
{
	uint32_t n, kept = 0;
	uint8_t *flags;

	if (p->met < 16 || p->met < p->n / 2 || p->n_edges)
		return;
	for (n = 0; n < p->n; n++) {
		if (p->flags[n] & TERM_MET)
			continue;
		p->on[kept] = p->on[n];
		p->flags[kept++] = p->flags[n];
	}
	flags = (uint8_t *)&p->on[kept];
	memmove(flags, p->flags, kept);
	p->n = kept;
	p->met = 0;
	p->on = xrealloc(p->on, kept, sizeof(*p->on) + sizeof(*p->flags));
	p->flags = (uint8_t *)&p->on[kept];
}

char *depends_text(const struct depends *p, bool kept, size_t bytes)
{
	/* Each term takes at least two bytes. */
	size_t most = bytes / 2 < p->n ? bytes / 2 + 1 : p->n;
	struct depend d = { .v = xcalloc(most, sizeof(*d.v)), .any = p->any };
	char *text;

	for (uint32_t n = 0; n < p->n && d.n < most; n++)
		if (!(p->flags[n] & TERM_MET))
			d.v[d.n++] = depends_term(p, n);
	text = kept ? depend_format(&d, true) : depend_format_some(&d, bytes);
	free(d.v); /* the task sets of its terms are borrowed */
	return text;
}

/* --- where they hang ------------------------------------------------------------------------- */

struct dependents *dependents_of(struct job *job)
{
	struct job_link *l = job_link(job);

	if (!l->dependents)
		l->dependents = xcalloc(1, sizeof(*l->dependents));
	return l->dependents;
}

/* A task that a job waits for has a record of its own; a task that was cancelled together with
 * others is under their common record. */
struct job *depends_where(const struct core *core, const struct depends *p, uint32_t n)
{
	struct job *on = p->on[n] ? jobs_find(core->jobs, p->on[n]) : NULL;

	if (!on && job_ref_part(p->on[n]))
		on = jobs_stands_in(
		        core->jobs, job_ref_id(p->on[n]), job_ref_part(p->on[n]) - 1);
	return on;
}

static void hang_edge(struct core *core, struct edge *e, struct job *on)
{
	struct edge **list = e->t.each ? &dependents_of(on)->corrs : &dependents_of(on)->ranges;

	e->next = *list;
	e->back = list;
	if (e->next)
		e->next->back = &e->next;
	*list = e;
	if (job_state_ended(job_info(on)->state))
		depends_queue(core, on);
	if (e->t.each)
		corr_hung(core, e, on);
	else
		range_hung(core, e, on);
}

/* A task gets a record of its own if it has none. If the named job does not exist, the waiting job
 * is queued as `lost`: it is decided in its turn, like any other. */
void depends_hang(struct core *core, struct depends *p, uint32_t n)
{
	struct job *on = p->on[n] ? jobs_find(core->jobs, p->on[n]) : NULL;
	bool start = (p->flags[n] & TERM_TYPE) == DEPEND_AFTER;
	struct edge *e = p->flags[n] & TERM_MORE ? edge_of(p, n) : NULL;

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

void depends_unhang(struct edge *e)
{
	if (!e->back)
		return;
	*e->back = e->next;
	if (e->next)
		e->next->back = e->back;
	e->back = NULL;
	e->next = NULL;
}

/* --- coming and going ------------------------------------------------------------------------ */

/* Numbers go round after 2^32 and skip 0 and those in use. */
static void number_give(struct core *core, struct depends *p)
{
	do
		p->number = ++core->waiting_last;
	while (!p->number || depends_of_number(core, p->number));
	idmap_insert(core->waiting, p->number, p);
}

static bool has_more(const struct depend_term *t)
{
	return t->tasks || t->each || t->delay || t->at;
}

/* Takes ownership of the terms. `on` and `flags` are one allocation. */
static struct depends *depends_new(struct job *job, struct depend *d)
{
	struct depends *p = xcalloc(1, sizeof(*p));
	size_t more = 0;

	for (size_t i = 0; i < d->n; i++)
		more += has_more(&d->v[i]);
	p->who = job;
	p->any = d->any;
	p->on = xcalloc(d->n, sizeof(*p->on) + sizeof(*p->flags));
	p->flags = (uint8_t *)&p->on[d->n];
	p->edges = more ? xcalloc(more, sizeof(*p->edges)) : NULL;
	for (; p->n < d->n; p->n++) {
		const struct depend_term *t = &d->v[p->n];

		p->on[p->n] = t->task == DEPEND_NO_TASK
		                      ? t->job
		                      : job_ref_of(t->job, (uint64_t)t->task + 1);
		p->flags[p->n] = (uint8_t)(t->type | (has_more(t) ? TERM_MORE : 0));
		if (has_more(t))
			p->edges[p->n_edges++] =
			        (struct edge){ .who = job, .t = *t, .term = p->n };
		p->open++;
		p->each_n += t->each;
		p->whole_left += !t->each;
		p->singles += t->type == DEPEND_SINGLETON;
		depends_mark(p, p->n, t->never ? DEPEND_NEVER : t->met ? DEPEND_MET : DEPEND_OPEN);
	}
	p->singleton = p->singles;
	p->each = p->each_n;
	p->never = p->any ? !p->open : p->never_n || !p->open;
	free(d->v);
	return p;
}

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
	p = job_link(job)->depends = depends_new(job, &d);
	number_give(core, p);
	for (uint32_t n = 0; n < p->n; n++)
		if (p->on[n] && !(p->flags[n] & TERM_NEVER) && !depends_term_runs(p, n))
			depends_hang(core, p, n);
	/* Settled like any other from the start: the job is decided in its turn. */
	if (p->never && core->started) {
		dependents_of(job)->lost = true;
		depends_queue(core, job);
	}
}

/* The term no longer names its job. */
static void let_go(const struct core *core, const struct depends *p, uint32_t n)
{
	struct job *on = depends_where(core, p, n);
	struct dependents *a = on ? job_link(on)->dependents : NULL;

	if (a)
		waiting_sweep(core, (p->flags[n] & TERM_TYPE) == DEPEND_AFTER ? &a->starts : &a->ends);
}

/* The lists of the named jobs keep the number until it is reached or swept: finding it there would
 * cost the length of the list. */
void depends_detach(struct core *core, struct job *job)
{
	struct job_link *l = job_link(job);
	struct depends *p = l->depends;

	if (!p)
		return;
	l->depends = NULL;
	idmap_remove(core->waiting, p->number);
	for (uint32_t n = 0; n < p->n && p->open; n++)
		if (depends_term_open(p, n))
			let_go(core, p, n);
	for (uint32_t n = 0; n < p->n_edges; n++) {
		depends_unhang(&p->edges[n]);
		if (p->edges[n].t.tasks)
			taskset_clear(p->edges[n].t.tasks);
		free(p->edges[n].t.tasks);
	}
	free(p->edges);
	free(p->on);
	free(p);
}

void depends_forget(struct core *core, struct job *job)
{
	struct dependents *a = job_link(job)->dependents;

	depends_detach(core, job);
	if (!a)
		return;
	free(a->starts.v);
	free(a->ends.v);
	free(a);
	job_link(job)->dependents = NULL;
}

bool depends_wanted(const struct job *job)
{
	const struct dependents *a = job_link_of(job)->dependents;

	return a && (a->queued || a->starts.n || a->ends.n || a->corrs || a->ranges);
}
