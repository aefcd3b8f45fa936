/* depends.c - see depends.h */
#include "ctld/core/depends_impl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/mailwish.h"
#include "common/reason.h"
#include "common/xalloc.h"
#include "ctld/core/array.h"
#include "ctld/core/idmap.h"
#include "ctld/core/namesakes.h"
#include "ctld/core/wishes.h"

static usec_t seconds_wall(int64_t s)
{
	return (usec_t)s * USEC_PER_S;
}

/* --- what a term makes of a job -------------------------------------------------------------- */

struct job *depend_term_job(const struct core *core, const struct depend_term *t)
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

bool depend_comes_true(enum depend_type type, bool well)
{
	/* aftercorr: of jobs that are no arrays; of what has no counterpart. */
	return type == DEPEND_AFTEROK || type == DEPEND_AFTERCORR ? well
	       : type == DEPEND_AFTERNOTOK                        ? !well
	                                                          : true;
}

bool depend_comes_true_anyhow(enum depend_type type)
{
	return depend_comes_true(type, true) && depend_comes_true(type, false);
}

/* The job has started or ended: what becomes of the term? */
static enum outcome outcome_of(struct depend_term *t, const struct job *on, usec_t now)
{
	enum job_state state = (enum job_state)job_info(on)->state;

	if (t->type == DEPEND_AFTER) {
		if (!t->at && began(on) && t->delay)
			t->at = (job_link_of(on)->array ? now : began(on)) / USEC_PER_S +
			        (int64_t)t->delay * 60;
		if (!began(on))
			return DEPEND_OPEN;
		return !t->delay || seconds_wall(t->at) <= now ? DEPEND_MET : DEPEND_OPEN;
	}
	if (t->type == DEPEND_SINGLETON || !job_state_ended(state))
		return DEPEND_OPEN;
	return depend_comes_true(t->type, state == JOB_COMPLETED) ? DEPEND_MET : DEPEND_NEVER;
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

/* A term that is open and whose job has yet to start or to end. */
static void hang(struct core *core, struct edge *e, const struct depend_term *t)
{
	struct job *on = depend_term_job(core, t);
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
	       : t->tasks                ? &awaited_of(on)->ranges
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
	else if (t->tasks)
		range_hung(core, e, on);
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
		depends_unhang(&p->edges[n]);
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

	return a && (a->queued || a->starts || a->ends || a->corrs || a->ranges);
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

void depends_weigh(struct core *core, struct job *job)
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
	depends_unhang(e);
	t->met = outcome == DEPEND_MET;
	t->never = outcome == DEPEND_NEVER;
	/* OPEN: its delay runs, which is its alarm's matter. */
	depends_weigh(core, who);
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
		depends_weigh(core, job);
}

/* The first edge that can be decided. */
static struct edge *due_edge(const struct job *job)
{
	const struct awaited *a = job_link_of(job)->awaited;

	if (a->starts && began(job))
		return a->starts;
	if (!job_state_ended(job_info(job)->state))
		return NULL;
	return a->ends ? a->ends : a->corrs ? a->corrs : a->ranges;
}

static void settle_part(struct core *core, struct job *part)
{
	range_part_moved(core, part);
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
		} else if ((a->corrs && corr_gone(core, job)) ||
		           (a->ranges && range_gone(core, job))) {
			continue;
		} else if ((e = due_edge(job)) && e != a->starts && e != a->ends &&
		           a->parts_queued) {
			/* Task by task first. */
			pop_first(core);
			push_last(core, job);
		} else if (e && e == a->ranges) {
			range_over(core, e);
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
	if (job == own ? a->starts || a->ends || a->corrs || a->ranges
	               : a->corrs && job_state_ended(job_info(job)->state))
		depends_queue(core, job);
	else if (job != own)
		range_tell(core, job);
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
		depends_weigh(core, job);
}

/* "afterok: 3 tasks of job 12 have yet to end: 5-7" */
static int say_range(const struct depend_term *t, char *text, size_t size)
{
	char *tasks = taskset_text(t->tasks);
	int n;

	n = snprintf(text, size, "%s: %u task%s of job %llu %s%s: %.40s%s",
	        depend_type_name(t->type), t->tasks->count, t->tasks->count == 1 ? "" : "s",
	        (unsigned long long)t->job,
	        t->never               ? "ended otherwise"
	        : t->tasks->count == 1 ? "has yet to "
	                               : "have yet to ",
	        t->never                  ? ""
	        : t->type == DEPEND_AFTER ? "start"
	                                  : "end",
	        tasks, strlen(tasks) > 40 ? "..." : "");
	free(tasks);
	return n;
}

/* "afterok: job 12 is RUNNING" */
static size_t say_term(const struct core *core, const struct job *job, const struct depend_term *t,
        char *text, size_t size)
{
	const struct job *on = t->job ? depend_term_job(core, t) : namesakes_first(job);
	uint32_t task = t->tasks ? taskset_first(t->tasks) : t->task;
	unsigned long long id = on ? job_id(on) : t->job;
	char label[JOB_LABEL];
	int n;

	job_ref_label(task == DEPEND_NO_TASK ? id : job_ref_of(id, (uint64_t)task + 1), label);
	if (t->tasks && !t->at)
		n = say_range(t, text, size);
	else if (t->never && !on)
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
	return p->never ? reason_word(REASON_NEVER_SATISFIED) : reason_word(REASON_DEPENDENCY);
}

void depends_say(const struct job *job, char *text, size_t size)
{
	const struct job *own = job_own(job);
	const struct depends *p = job_link_of(own)->depends;
	bool each = p && p->each && job != own;
	struct depend d = { .v = NULL };
	char *all;

	text[0] = '\0';
	/* What waits has it in memory already. */
	if ((!p || each) &&
	        depend_parse(job_info(each ? job : own)->depends, true, &d, NULL) < 0)
		return;
	all = depend_format_some(p && !each ? &p->d : &d, size);
	depend_clear(&d);
	if ((size_t)snprintf(text, size, "%s", all) >= size)
		memcpy(text + size - 4, "...", 4);
	free(all);
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
		const struct job *on = t->job ? depend_term_job(core, t) : NULL;
		bool hangs = depend_term_open(t) && t->job && !t->at;

		if (hangs != (p->edges[n].back != NULL) && !(hangs && !on))
			return error_set(err, ERR_INTERNAL, "job %llu: its term %zu %s", id, n,
			        hangs ? "hangs on nothing" : "hangs and is decided");
		if (hangs && on && job_state_ended(job_info(on)->state) &&
		        !job_link_of(on)->awaited->queued)
			return error_set(err, ERR_INTERNAL, "job %llu: nobody tells it of job %llu",
			        id, (unsigned long long)job_id(on));
		if (hangs && t->tasks && range_check(core, job, t, err) < 0)
			return -1;
	}
	return 0;
}
