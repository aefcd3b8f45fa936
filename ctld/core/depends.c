/* depends.c - see depends.h */
#include "ctld/core/depends_impl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/mailwish.h"
#include "common/xalloc.h"
#include "ctld/core/array.h"
#include "ctld/core/idmap.h"
#include "ctld/core/namesakes.h"
#include "ctld/core/wishes.h"

/* So many jobs are looked at to find a circle; what reaches further is refused. */
#define CIRCLE_STEPS 20000

static usec_t seconds_wall(int64_t s)
{
	return (usec_t)s * USEC_PER_S;
}

/* --- what a term makes of a job -------------------------------------------------------------- */

/* The record that a term is about: of a task its own; NULL: it has none. */
static struct job *term_job(const struct core *core, const struct depend_term *t)
{
	return jobs_find(core->jobs,
	        t->task == DEPEND_NO_TASK ? t->job : job_ref_of(t->job, (uint64_t)t->task + 1));
}

/* Of an array, as in Slurm: has each task started, or ended without? */
static bool all_began(const struct job *own)
{
	const struct array *a = job_array(own);
	const struct job *p = job_weight(own) ? NULL : idmap_next(a->parts, 0);

	/* The own record is PENDING until its end. */
	if (job_weight(own) || a->waiting != own || job_link_of(own)->next)
		return false;
	for (; p; p = idmap_next(a->parts, job_info(p)->part)) {
		if (!job_state_ended((enum job_state)job_info(p)->state) &&
		        !job_info(p)->start_time)
			return false;
	}
	return true;
}

/* When it started first in its present attempt, or ended without: 0: neither yet. Of an array any
 * time will do that is not before. */
static usec_t began(const struct job *job)
{
	const struct job_info *i = job_info(job);

	if (job_link_of(job)->array && !job_state_ended((enum job_state)i->state))
		return !all_began(job) ? 0 : i->start_time ? i->start_time : i->submit_time;
	return i->start_time ? i->start_time : job_state_ended(i->state) ? i->end_time : 0;
}

/* The job has started or ended: what becomes of the term? */
static enum outcome outcome_of(struct depend_term *t, const struct job *on, usec_t now)
{
	enum job_state state = (enum job_state)job_info(on)->state;
	bool ended = job_state_ended(state);

	switch (t->type) {
	case DEPEND_AFTER:
		if (!t->at && began(on) && t->delay)
			t->at = (job_link_of(on)->array ? now : began(on)) / USEC_PER_S +
			        (int64_t)t->delay * 60;
		if (!began(on))
			return DEPEND_OPEN;
		return !t->delay || seconds_wall(t->at) <= now ? DEPEND_MET : DEPEND_OPEN;
	case DEPEND_AFTEROK:
	case DEPEND_AFTERCORR: /* of jobs that are no arrays; of what has no counterpart */
		return !ended ? DEPEND_OPEN : state == JOB_COMPLETED ? DEPEND_MET : DEPEND_NEVER;
	case DEPEND_AFTERNOTOK:
		return !ended ? DEPEND_OPEN : state == JOB_COMPLETED ? DEPEND_NEVER : DEPEND_MET;
	case DEPEND_AFTERANY:
		return ended ? DEPEND_MET : DEPEND_OPEN;
	case DEPEND_SINGLETON:
	case DEPEND_TYPE_COUNT:
		break;
	}
	return DEPEND_OPEN;
}

bool depend_term_open(const struct depend_term *t)
{
	return !t->met && !t->never;
}

/* --- edges ----------------------------------------------------------------------------------- */

struct awaited *awaited_of(struct job *job)
{
	struct job_link *l = job_link(job);

	if (!l->awaited)
		l->awaited = xcalloc(1, sizeof(*l->awaited));
	return l->awaited;
}

static void push_last(struct core *core, struct job *job)
{
	struct awaited *a = awaited_of(job);

	a->next = NULL;
	if (core->settle_last)
		job_link(core->settle_last)->awaited->next = job;
	else
		core->settle_first = job;
	core->settle_last = job;
}

static void pop_first(struct core *core)
{
	core->settle_first = job_link(core->settle_first)->awaited->next;
	if (!core->settle_first)
		core->settle_last = NULL;
}

void depends_queue(struct core *core, struct job *job)
{
	struct awaited *a = awaited_of(job);

	if (a->queued)
		return;
	a->queued = true;
	if (job_info(job)->part)
		awaited_of(job_own(job))->parts_queued++;
	push_last(core, job);
}

static void unhang(struct edge *e)
{
	if (!e->back)
		return;
	*e->back = e->next;
	if (e->next)
		e->next->back = e->back;
	e->back = NULL;
	e->next = NULL;
}

/* A term that is open and whose job has yet to start or to end. */
static void hang(struct core *core, struct edge *e, const struct depend_term *t)
{
	struct job *on = term_job(core, t);
	struct edge **list;

	/* A task that somebody waits for has a record of its own; one that was cancelled with
	 * others is known by theirs. */
	if (!on && t->task != DEPEND_NO_TASK)
		on = array_of_run(core, (struct run_id){ .job = t->job, .task = t->task });
	if (!on && t->task != DEPEND_NO_TASK)
		on = jobs_stands_in(core->jobs, t->job, t->task);
	if (!on) {
		awaited_of(e->who)->lost = true;
		depends_queue(core, e->who);
		return;
	}
	list = t->each                   ? &awaited_of(on)->corrs
	       : t->type == DEPEND_AFTER ? &awaited_of(on)->starts
	                                 : &awaited_of(on)->ends;
	e->next = *list;
	e->back = list;
	if (e->next)
		e->next->back = &e->next;
	*list = e;
	if (job_state_ended(job_info(on)->state) || (t->type == DEPEND_AFTER && began(on)))
		depends_queue(core, on);
	if (t->each)
		corr_hung(core, e, on);
}

void depends_attach(struct core *core, struct job *job)
{
	const struct job_info *i = job_info(job);
	struct depends *p;
	struct error err;
	size_t open = 0;
	uint32_t n;

	if (!*i->depends || job_state_ended(i->state))
		return;
	p = xcalloc(1, sizeof(*p));
	if (depend_parse(i->depends, true, &p->d, &err) < 0) {
		/* jobs_load() has read it, depends_check() written it. */
		free(p);
		return;
	}
	job_link(job)->depends = p;
	p->edges = xcalloc(p->d.n, sizeof(*p->edges));
	for (n = 0; n < p->d.n; n++) {
		const struct depend_term *t = &p->d.v[n];

		p->edges[n] = (struct edge){ .who = job, .term = n };
		open += depend_term_open(t);
		p->never |= t->never && !p->d.any;
		p->singleton |= t->type == DEPEND_SINGLETON;
		p->each |= t->each;
		if (t->job && !t->never && !t->at)
			hang(core, &p->edges[n], t);
	}
	p->never |= !open;
	/* From its beginning: it is judged with the others. */
	if (p->never && core->started) {
		awaited_of(job)->lost = true;
		depends_queue(core, job);
	}
}

void depends_detach(struct core *core, struct job *job)
{
	struct job_link *l = job_link(job);
	struct depends *p = l->depends;
	size_t n;
	(void)core;

	if (!p)
		return;
	l->depends = NULL;
	for (n = 0; n < p->d.n; n++)
		unhang(&p->edges[n]);
	depend_clear(&p->d);
	free(p->edges);
	free(p);
}

void depends_set(struct core *core, struct job *job, const char *kept)
{
	depends_detach(core, job);
	job_set_depends(core->jobs, job, kept);
	corr_retext(core, job);
	depends_attach(core, job);
}

void depends_forget(struct core *core, struct job *job)
{
	depends_detach(core, job);
	free(job_link(job)->awaited);
	job_link(job)->awaited = NULL;
}

bool depends_wanted(const struct job *job)
{
	const struct awaited *a = job_link_of(job)->awaited;

	return a && (a->queued || a->starts || a->ends || a->corrs);
}

/* --- settling -------------------------------------------------------------------------------- */

void depends_end_never(struct core *core, struct job *job, bool rest_only)
{
	char text[300], why[200];
	const char *reason = depends_why(core, job, why, sizeof(why));

	if (rest_only && job_link(job)->array) {
		if (!job_weight(job))
			return;
		job = array_split(core, job, job_tasks(job), false);
	}
	snprintf(text, sizeof(text), "%s: %s", reason, why);
	job_set_comment(core->jobs, job, text);
	audit_note(core, "job.cancel", NULL, job_ref(job), "", text);
	job_cancel_pending(core, job);
}

bool depends_kills(const struct core *core, const struct job *job)
{
	uint8_t choice = job_info(job_own(job))->kill_invalid;

	return choice == KILL_AS_CONFIGURED ? core->conf->controller.kill_invalid_dep
	                                    : choice == KILL_YES;
}

/* It can never start; of an array by what is decided task by task only what has no record. */
static void kill_never(struct core *core, struct job *job, bool each_only)
{
	const struct depends *p = job_link(job)->depends;

	if (!depends_kills(core, job) || job_info(job)->state != JOB_PENDING)
		return;
	depends_end_never(core, job, p->each && (p->d.any || each_only));
}

/* A term has been decided: what now? */
static void weigh(struct core *core, struct job *job)
{
	struct depends *p = job_link(job)->depends;
	size_t n, open = 0, met = 0, never = 0, each_never = 0;
	bool was_never;
	char *text;

	for (n = 0; n < p->d.n; n++) {
		open += depend_term_open(&p->d.v[n]);
		met += p->d.v[n].met;
		never += p->d.v[n].never;
		each_never += p->d.v[n].never && p->d.v[n].each;
	}
	if (p->d.any ? met : !open && !never) {
		depends_detach(core, job);
		job_set_depends(core->jobs, job, "");
		corr_retext(core, job);
		/* It is as old as its chance to run. */
		if (job_info(job)->begin_time < core->now.wall)
			job_set_begin(core->jobs, job, core->now.wall);
		job_consider(core, job);
		return;
	}
	was_never = p->never;
	p->never = p->d.any ? !open : never;
	if (p->never && !was_never)
		wish_mail(core, job, MAIL_INVALID_DEPEND);
	text = depend_format(&p->d, true);
	job_set_depends(core->jobs, job, text);
	free(text);
	if (p->never)
		kill_never(core, job, never == each_never);
	if (job_link(job)->depends && job_link(job)->depends->each)
		corr_reweigh(core, job);
	job_consider(core, job);
}

static void decide_term(struct core *core, struct edge *e, const struct job *on)
{
	struct depend_term *t = &job_link(e->who)->depends->d.v[e->term];
	enum outcome outcome = outcome_of(t, on, core->now.wall);
	struct job *who = e->who;

	if (t->each) {
		corr_rest(core, who, t->job, outcome);
		if (!job_link(who)->depends) /* that was the end of it */
			return;
	}
	unhang(e);
	t->met = outcome == DEPEND_MET;
	t->never = outcome == DEPEND_NEVER;
	/* OPEN: its delay runs, which is its alarm's matter. */
	weigh(core, who);
}

/* Terms that name no job in memory can no more come true: the rows were not written together. */
static void settle_lost(struct core *core, struct job *job)
{
	struct depends *p = job_link(job)->depends;
	size_t n, lost = 0;

	for (n = 0; p && n < p->d.n; n++) {
		struct depend_term *t = &p->d.v[n];

		if (!depend_term_open(t) || !t->job || t->at || p->edges[n].back)
			continue;
		t->never = true;
		lost++;
		if (t->each)
			corr_rest(core, job, t->job, DEPEND_NEVER);
		p = job_link(job)->depends;
	}
	if (p && (lost || p->never))
		weigh(core, job);
}

/* The first edge that can be decided. */
static struct edge *due_edge(const struct job *job)
{
	const struct awaited *a = job_link_of(job)->awaited;

	if (a->starts && began(job))
		return a->starts;
	if (!job_state_ended(job_info(job)->state))
		return NULL;
	return a->ends ? a->ends : a->corrs;
}

static void settle_part(struct core *core, struct job *part)
{
	/* Else it was requeued since: its next end will be told. */
	if (job_state_ended((enum job_state)job_info(part)->state))
		corr_part_ended(core, part);
	job_link(job_own(part))->awaited->parts_queued--;
	pop_first(core);
	job_link(part)->awaited->queued = false;
}

bool depends_settle(struct core *core, unsigned budget)
{
	for (; core->settle_first && budget; budget--) {
		struct job *job = core->settle_first;
		struct awaited *a = job_link(job)->awaited;
		struct edge *e;

		if (job_info(job)->part && (e = due_edge(job))) {
			decide_term(core, e, job);
		} else if (job_info(job)->part) {
			settle_part(core, job);
		} else if (a->lost) {
			a->lost = false;
			settle_lost(core, job);
		} else if (a->corrs && corr_gone(core, job)) {
			continue;
		} else if ((e = due_edge(job)) && e == a->corrs && a->parts_queued) {
			/* Task by task first. */
			pop_first(core);
			push_last(core, job);
		} else if (e) {
			decide_term(core, e, job);
		} else {
			pop_first(core);
			a->queued = false;
		}
	}
	return core->settle_first;
}

void depends_tell(struct core *core, struct job *job)
{
	struct job *own = job_own(job);
	const struct awaited *a = job_link(own)->awaited, *part = job_link(job)->awaited;

	if (job != own && part && (part->starts || part->ends))
		depends_queue(core, job);
	if (!a)
		return;
	if (job != own && a->starts && began(own))
		depends_queue(core, own);
	if (!job_info(job)->part ? a->starts || a->ends || a->corrs
	                         : a->corrs && job_state_ended(job_info(job)->state))
		depends_queue(core, job);
}

/* --- waiting --------------------------------------------------------------------------------- */

bool depends_open(const struct job *job)
{
	const struct job *own = job_own(job);
	const struct depends *p = job_link_of(own)->depends;
	size_t n;

	if (!p)
		return false;
	if (p->each && job != own)
		return corr_open(job);
	job = own;
	if (!p->singleton || !namesakes_first_and_idle(job))
		return true;
	for (n = 0; n < p->d.n && !p->d.any; n++) {
		if (!p->d.v[n].met && p->d.v[n].type != DEPEND_SINGLETON)
			return true;
	}
	return false;
}

bool depends_never(const struct job *job)
{
	const struct depends *p = job_link_of(job_own(job))->depends;

	if (p && p->each && job_info(job)->part)
		return corr_never(job);
	return p && p->never;
}

usec_t depends_due(const struct job *job)
{
	const struct depends *p = job_link_of(job)->depends;
	usec_t due = INT64_MAX;
	size_t n;

	for (n = 0; p && n < p->d.n; n++) {
		if (depend_term_open(&p->d.v[n]) && p->d.v[n].at &&
		        seconds_wall(p->d.v[n].at) < due)
			due = seconds_wall(p->d.v[n].at);
	}
	return due;
}

void depends_delays(struct core *core, struct job *job)
{
	struct depends *p = job_link(job)->depends;
	bool any = false;
	size_t n;

	for (n = 0; p && n < p->d.n; n++) {
		struct depend_term *t = &p->d.v[n];

		if (!depend_term_open(t) || !t->at || seconds_wall(t->at) > core->now.wall)
			continue;
		t->met = any = true;
	}
	if (any)
		weigh(core, job);
}

/* "afterok: job 12 is RUNNING" */
static size_t say_term(const struct core *core, const struct job *job, const struct depend_term *t,
        char *text, size_t size)
{
	const struct job *on = t->job ? term_job(core, t) : namesakes_first(job);
	unsigned long long id = on ? job_id(on) : t->job;
	char label[JOB_LABEL];
	int n;

	job_ref_label(
	        t->task == DEPEND_NO_TASK ? id : job_ref_of(id, (uint64_t)t->task + 1), label);
	if (t->never && !on)
		n = snprintf(
		        text, size, "%s: job %s ended otherwise", depend_type_name(t->type), label);
	else if (t->at)
		n = snprintf(text, size, "%s+%u: job %s has started", depend_type_name(t->type),
		        t->delay, label);
	else if (t->each && !t->never)
		n = snprintf(text, size, "aftercorr: each task waits for the same of job %llu", id);
	else if (!t->job && (!on || on == job))
		n = snprintf(
		        text, size, "%s: another job of this name runs", depend_type_name(t->type));
	else
		n = snprintf(text, size, "%s: job %s is %s", depend_type_name(t->type), label,
		        on ? job_state_name(job_info(on)->state) : "not known");
	return n < 0 || (size_t)n >= size ? size : (size_t)n;
}

const char *depends_why(const struct core *core, const struct job *job, char *text, size_t size)
{
	const struct depends *p = job_link_of(job_own(job))->depends;
	size_t n, used = 0, said = 0, of = 0;

	if (p->each && job_info(job)->part && strchr(job_info(job)->depends, '*'))
		return corr_why(core, job, text, size);
	job = job_own(job);
	text[0] = '\0';
	for (n = 0; n < p->d.n; n++) {
		const struct depend_term *t = &p->d.v[n];

		if (t->met || t->never != p->never)
			continue;
		of++;
		/* Room for the longest term and for how many more there are. */
		if (used + 100 > size)
			continue;
		if (said++)
			used += (size_t)snprintf(
			        text + used, size - used, p->d.any ? " or " : ", ");
		used += say_term(core, job, t, text + used, size - used);
	}
	if (of > said)
		snprintf(text + used, size - used, ", and %zu more", of - said);
	return p->never ? "DependencyNeverSatisfied" : "Dependency";
}

void depends_say(const struct job *job, char *text, size_t size)
{
	const struct job *own = job_own(job);
	const char *kept =
	        job_info(job_link_of(own)->depends && job_link_of(own)->depends->each ? job : own)
	                ->depends;
	struct depend d = { .v = NULL };
	char *all;

	text[0] = '\0';
	if (!*kept || depend_parse(kept, true, &d, NULL) < 0)
		return;
	all = depend_format(&d, false);
	depend_clear(&d);
	if ((size_t)snprintf(text, size, "%s", all) >= size)
		memcpy(text + size - 4, "...", 4);
	free(all);
}

/* --- asking ---------------------------------------------------------------------------------- */

/* Jobs still to be looked at for a circle. */
struct search {
	const struct job *for_job;
	const struct job **v;
	size_t n, size, seen;
};

static bool push(struct search *s, const struct job *job)
{
	if (job == s->for_job)
		return true;
	if (s->n == s->size) {
		s->size = s->size ? 2 * s->size : 64;
		s->v = xrealloc(s->v, s->size, sizeof(*s->v));
	}
	s->v[s->n++] = job;
	return false;
}

/* All that this one waits for. True: for_job is among them. */
static bool push_all(const struct core *core, struct search *s, const struct job *job)
{
	const struct depends *p = job_link_of(job)->depends;
	const struct job *other;
	size_t n;

	for (n = 0; p && n < p->d.n; n++) {
		const struct depend_term *t = &p->d.v[n];

		if (!depend_term_open(t) || t->at)
			continue;
		other = t->job ? jobs_find(core->jobs, t->job) : NULL;
		if (other && push(s, other))
			return true;
		for (other = t->job ? NULL : job_link_of(job)->name_before;
		        other && s->seen + s->n < CIRCLE_STEPS;
		        other = job_link_of(other)->name_before) {
			if (push(s, other))
				return true;
		}
	}
	return false;
}

static int check_circle(
        const struct core *core, const struct job *job, const struct depend *d, struct error *err)
{
	struct search s = { .for_job = job };
	bool circle = false;
	size_t n;

	for (n = 0; n < d->n && !circle; n++) {
		const struct job *on = d->v[n].job ? jobs_find(core->jobs, d->v[n].job) : NULL;

		circle = on && push(&s, on);
	}
	for (n = 0; n < d->n && !circle; n++) {
		const struct job *other = d->v[n].job ? NULL : job_link_of(job)->name_before;

		for (; other && !circle && s.n < CIRCLE_STEPS;
		        other = job_link_of(other)->name_before)
			circle = push(&s, other);
	}
	while (s.n && !circle && s.seen++ < CIRCLE_STEPS)
		circle = push_all(core, &s, s.v[--s.n]);
	n = s.n;
	free(s.v);
	if (circle)
		return error_set(err, ERR_JOB_SPEC,
		        "job %llu would wait for itself, over others that wait for it",
		        (unsigned long long)job_id(job));
	return n ? error_set(err, ERR_JOB_SPEC,
	                   "more than %d jobs would have to be looked at for a circle",
	                   CIRCLE_STEPS)
	         : 0;
}

/* Of a job that is in history: it has started and ended, and how is known. */
static void decide_past(struct depend_term *t, bool well)
{
	t->met = t->type == DEPEND_AFTER || t->type == DEPEND_AFTERANY ||
	         (t->type == DEPEND_AFTERNOTOK) != well;
	t->never = !t->met;
}

/* Of an array that is here a task that is here, or how it ended can be told. */
static int check_task(const struct core *core, struct depend_term *t, struct error *err)
{
	const struct job *own = jobs_find(core->jobs, t->job);
	unsigned long long id = t->job;
	uint32_t at_once;
	struct taskset all;
	bool has;

	if (!own) {
		if (fates_find(core->fates, t->job) != FATE_WELL)
			return error_set(err, ERR_NO_JOB,
			        "job %llu_%u is not known: it never was, or how it ended is in the "
			        "history",
			        id, t->task);
		decide_past(t, true);
		return 0;
	}
	if (!job_array(own) || taskset_parse_array(job_info(own)->array, &all, &at_once, err) < 0)
		return error_set(
		        err, ERR_NO_JOB, "job %llu is no array: it has no task %u", id, t->task);
	has = taskset_has(&all, t->task);
	taskset_clear(&all);
	if (!has)
		return error_set(err, ERR_NO_JOB, "job %llu has no task %u: its array is %.200s",
		        id, t->task, job_info(own)->array);
	if (term_job(core, t) || jobs_stands_in(core->jobs, t->job, t->task))
		return 0;
	return error_set(err, ERR_NO_JOB,
	        "job %llu_%u has ended so long ago that it is in the "
	        "history",
	        id, t->task);
}

static int check_term(const struct core *core, const struct job *job, bool array,
        struct depend_term *t, struct error *err)
{
	unsigned long long id = t->job;
	enum fate fate;

	if (!t->job)
		return 0;
	if (job && t->job == job_id(job))
		return error_set(err, ERR_JOB_SPEC, "job %llu cannot wait for itself", id);
	if (t->task != DEPEND_NO_TASK && t->type == DEPEND_AFTERCORR)
		return error_set(err, ERR_JOB_SPEC,
		        "%llu_%u: an array can wait for the same tasks (aftercorr:%llu), and any "
		        "job for one (afterok:%llu_%u)",
		        id, t->task, id, id, t->task);
	if (t->task != DEPEND_NO_TASK)
		return check_task(core, t, err);
	t->each = corr_is(core, t, array);
	if (t->each && corr_many(jobs_find(core->jobs, t->job)))
		return error_set(err, ERR_JOB_SPEC,
		        "too many arrays wait for the tasks of job %llu; afterok waits for all of "
		        "it",
		        id);
	if (jobs_find(core->jobs, t->job))
		return 0;
	if (t->job >= meta_next_job(core->meta))
		return error_set(err, ERR_NO_JOB, "there is no job %llu", id);
	fate = fates_find(core->fates, t->job);
	if (fate == FATE_UNKNOWN)
		return error_set(err, ERR_NO_JOB,
		        "job %llu is not known: it never was, or has ended too long ago", id);
	decide_past(t, fate == FATE_WELL);
	return 0;
}

/* What a row keeps of it. */
static char *kept_text(const struct depend *d)
{
	size_t n, open = 0, met = 0;

	for (n = 0; n < d->n; n++) {
		open += !d->v[n].met;
		met += d->v[n].met;
	}
	return (d->any ? met : !open) ? xstrdup("") : depend_format(d, true);
}

void depends_catch_up(struct core *core, struct job *job)
{
	struct depend d;
	struct error err;
	bool any = false;
	char *text;
	size_t n;

	if (!*job_info(job)->depends || depend_parse(job_info(job)->depends, true, &d, &err) < 0)
		return;
	for (n = 0; n < d.n; n++) {
		struct depend_term *t = &d.v[n];
		enum fate fate = t->job && depend_term_open(t) && !jobs_find(core->jobs, t->job)
		                         ? fates_find(core->fates, t->job)
		                         : FATE_UNKNOWN;

		if (fate == FATE_UNKNOWN)
			continue;
		decide_past(t, fate == FATE_WELL);
		any = true;
	}
	text = any ? kept_text(&d) : NULL;
	if (any)
		job_set_depends(core->jobs, job, text);
	free(text);
	depend_clear(&d);
}

int depends_revivable(const struct core *core, const struct job *job, struct error *err)
{
	size_t n, never = 0;
	struct depend d;
	int rc;

	if (!*job_info(job)->depends || depend_parse(job_info(job)->depends, true, &d, err) < 0)
		return 0;
	for (n = 0; n < d.n; n++) {
		struct depend_term *t = &d.v[n];

		if (depend_term_open(t) && t->job && !jobs_find(core->jobs, t->job))
			decide_past(t, fates_find(core->fates, t->job) == FATE_WELL);
		never += t->never;
	}
	if (d.any ? never == d.n : never)
		rc = error_set(err, ERR_JOB_STATE, "what it waited for can never come true");
	else
		rc = check_circle(core, job, &d, err);
	depend_clear(&d);
	return rc;
}

int depends_check(const struct core *core, const struct job *job, bool array, const char *text,
        char **kept, struct error *err)
{
	struct depend d;
	size_t n;
	int rc = 0;

	*kept = NULL;
	if (depend_parse(text, false, &d, err) < 0) {
		err->code = ERR_JOB_SPEC;
		return error_wrap(err, "--dependency");
	}
	for (n = 0; n < d.n && rc == 0; n++)
		rc = check_term(core, job, array, &d.v[n], err);
	if (rc == 0 && job)
		rc = check_circle(core, job, &d, err);
	if (rc == 0)
		*kept = kept_text(&d);
	depend_clear(&d);
	return rc < 0 ? error_wrap(err, "--dependency") : 0;
}

/* --- invariants ------------------------------------------------------------------------------ */

int depends_check_job(const struct core *core, const struct job *job, struct error *err)
{
	const struct job_info *i = job_info(job);
	const struct depends *p = job_link_of(job)->depends;
	unsigned long long id = i->id;
	size_t n;

	if ((p != NULL) != (*i->depends && !job_state_ended(i->state)))
		return error_set(err, ERR_INTERNAL, "job %llu: its row waits, and it does %s", id,
		        p ? "too" : "not");
	for (n = 0; p && n < p->d.n; n++) {
		const struct depend_term *t = &p->d.v[n];
		const struct job *on = t->job ? term_job(core, t) : NULL;
		bool hangs = depend_term_open(t) && t->job && !t->at;

		if (hangs != (p->edges[n].back != NULL) && !(hangs && !on))
			return error_set(err, ERR_INTERNAL, "job %llu: its term %zu %s", id, n,
			        hangs ? "hangs on nothing" : "hangs and is decided");
		if (hangs && on && job_state_ended(job_info(on)->state) &&
		        !job_link_of(on)->awaited->queued)
			return error_set(err, ERR_INTERNAL, "job %llu: nobody tells it of job %llu",
			        id, (unsigned long long)job_id(on));
	}
	return 0;
}
