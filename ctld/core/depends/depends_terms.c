/* depends_terms.c - see depends_terms.h
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
#include "ctld/core/depends/depends_terms.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/xalloc.h"
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

void waiting_add(struct waiting *w, uint32_t number)
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

bool depends_by_task(const struct job *job)
{
	return strchr(job_info(job)->depends, '*');
}

struct depends *depends_of(const struct job *job)
{
	return job_link_of(job_own(job))->depends;
}

/* By binary search. */
struct edge *depends_edge(const struct depends *p, uint32_t n)
{
	uint32_t low = 0, high = p->n_edges;

	if (!(p->flags[n] & TERM_MORE))
		return NULL;
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
		t = depends_edge(p, n)->t;
	t.met = p->flags[n] & TERM_MET;
	t.never = p->flags[n] & TERM_NEVER;
	return t;
}

bool depends_term_runs(const struct depends *p, uint32_t n)
{
	return p->flags[n] & TERM_MORE && depends_edge(p, n)->t.at;
}

usec_t depends_wall(int64_t at)
{
	return (usec_t)at * USEC_PER_S;
}

void depends_runs_until(struct depends *p, uint32_t n, int64_t at)
{
	depends_edge(p, n)->t.at = at;
}

/* Final: a term that is decided stays so. Keeps the counts of struct depends. */
void depends_mark(struct depends *p, uint32_t n, enum outcome outcome)
{
	bool each = p->flags[n] & TERM_MORE && depends_edge(p, n)->t.each;

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

void depends_list_edge(struct edge *e, struct edge **list)
{
	e->next = *list;
	e->back = list;
	if (e->next)
		e->next->back = &e->next;
	*list = e;
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

/* `on` and `flags` are one allocation. */
struct depends *depends_make(struct core *core, struct job *job, struct depend *d)
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
	job_link(job)->depends = p;
	number_give(core, p);
	return p;
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

/* --- terms by themselves --------------------------------------------------------------------- */

struct job *depend_term_job(const struct core *core, const struct depend_term *t)
{
	return jobs_find(core->jobs,
	        t->task == DEPEND_NO_TASK ? t->job : job_ref_of(t->job, (uint64_t)t->task + 1));
}

bool depend_term_open(const struct depend_term *t)
{
	return !t->met && !t->never;
}

/* For an array, as in Slurm: has each task started, or ended without a start? Looks at all parts in
 * memory, once no task waits. */
static bool all_began(const struct job *own)
{
	const struct array *a = job_array(own);
	const struct job *p = job_weight(own) ? NULL : idmap_next(a->parts, 0);

	/* The array parent is PENDING until its end. */
	if (job_weight(own) || a->waiting != own || job_link_of(own)->next)
		return false;
	for (; p; p = idmap_next(a->parts, job_info(p)->part)) {
		if (!job_state_ended((enum job_state)job_info(p)->state) &&
		        !job_info(p)->start_time)
			return false;
	}
	return true;
}

/* For an array only whether this is 0 counts: the time itself is not that of its last start, and
 * outcome_of() has delays on an array begin at the present time. */
usec_t depends_began(const struct job *job)
{
	const struct job_info *i = job_info(job);

	if (job_link_of(job)->array && !job_state_ended((enum job_state)i->state))
		return !all_began(job) ? 0 : i->start_time ? i->start_time : i->submit_time;
	return i->start_time ? i->start_time : job_state_ended(i->state) ? i->end_time : 0;
}

bool depend_comes_true(enum depend_type type, bool well)
{
	/* aftercorr: between jobs that are not both arrays, and for tasks without a counterpart. */
	return type == DEPEND_AFTEROK || type == DEPEND_AFTERCORR ? well
	       : type == DEPEND_AFTERNOTOK                        ? !well
	                                                          : true;
}

bool depend_comes_true_anyhow(enum depend_type type)
{
	return depend_comes_true(type, true) && depend_comes_true(type, false);
}

void depend_decide_past(struct depend_term *t, bool well)
{
	t->met = depend_comes_true(t->type, well);
	t->never = !t->met;
}

bool range_take(bool any, struct depend_term *t, const struct taskset *tasks, bool comes_true)
{
	struct taskset taken;

	if (!depend_term_open(t))
		return false;
	taskset_take(t->tasks, tasks, &taken);
	if (!taken.count)
		return false;
	/* The first task that fails the term decides it for all, or the first that satisfies it
	 * if one is enough; otherwise the last one decides. That task stays in the term, to be
	 * shown. */
	if (comes_true == any || !t->tasks->count) {
		taskset_clear(t->tasks);
		*t->tasks = taken;
		t->met = comes_true;
		t->never = !comes_true;
	} else {
		taskset_clear(&taken);
	}
	return true;
}

bool depends_has_news(const struct job *part)
{
	const struct job_info *i = job_info(part);

	return i->start_time || job_state_ended((enum job_state)i->state);
}

bool depends_has_any(const struct taskset *set, const struct job *part)
{
	return job_tasks(part) ? taskset_meets(set, job_tasks(part))
	                       : taskset_has(set, job_task(part));
}

char *depend_kept_text(const struct depend *d)
{
	size_t n, open = 0, met = 0;

	for (n = 0; n < d->n; n++) {
		open += !d->v[n].met;
		met += d->v[n].met;
	}
	return (d->any ? met : !open) ? xstrdup("") : depend_format(d, true);
}
