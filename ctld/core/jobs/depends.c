/* depends.c - see depends.h
 *
 * The states of a term, by the events of the job that it names:
 *
 *	OPEN --- the named job has started (after) or ended (the others) ---> MET or NEVER
 *	  |                                                                      ^
 *	  +--- started, and a delay was asked for: `at` is set; its time comes --+
 *
 * MET and NEVER are final, and are in the row of the waiting job before the event that decided them
 * is committed. A job may start when all of its terms are MET, or one of them if they are
 * alternatives ("?"); it is NEVER when that can no longer come.
 *
 * A job whose start or end decides terms of others stands in the queue of the core
 * (settle_first ... settle_last) until all of them are settled; settle_one() does one step for the
 * first of the queue and says what it cost, so that a slice has a bound. Settling twice changes
 * nothing, because a term that is decided is no longer open. So a start of the controller simply
 * puts all ended jobs with dependents into the queue.
 */
#include "ctld/core/jobs/depends.h"

#include "ctld/core/jobs/depends_impl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/xalloc.h"
#include "common/job/mail_types.h"
#include "common/job/reason.h"
#include "ctld/core/jobs/array.h"
#include "ctld/core/jobs/eligible.h"
#include "ctld/core/jobs/life.h"
#include "ctld/core/jobs/notifications.h"
#include "ctld/core/records/audit_note.h"
#include "ctld/core/records/singletons.h"
#include "ctld/core/rows/state.h"
#include "ctld/core/util/idmap.h"

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

/* The named job has started or ended: the outcome of the term. If a delay begins with that, its end
 * is put into t->at (seconds, wall), and the term stays open until then. */
static enum outcome outcome_of(struct depend_term *t, const struct job *on, usec_t now)
{
	enum job_state state = (enum job_state)job_info(on)->state;

	if (t->type == DEPEND_AFTER) {
		if (!t->at && depends_began(on) && t->delay)
			t->at = (job_link_of(on)->array ? now : depends_began(on)) / USEC_PER_S +
			        (int64_t)t->delay * 60;
		if (!depends_began(on))
			return DEPEND_OPEN;
		return !t->delay || seconds_wall(t->at) <= now ? DEPEND_MET : DEPEND_OPEN;
	}
	if (t->type == DEPEND_SINGLETON || !job_state_ended(state))
		return DEPEND_OPEN;
	return depend_comes_true(t->type, state == JOB_COMPLETED) ? DEPEND_MET : DEPEND_NEVER;
}

/* --- the queue of those to be settled -------------------------------------------------------- */

static void push_last(struct core *core, struct job *job)
{
	struct dependents *a = dependents_of(job);

	a->next = NULL;
	if (core->settle_last)
		job_link(core->settle_last)->dependents->next = job;
	else
		core->settle_first = job;
	core->settle_last = job;
}

static void pop_first(struct core *core)
{
	core->settle_first = job_link(core->settle_first)->dependents->next;
	if (!core->settle_first)
		core->settle_last = NULL;
}

void depends_queue(struct core *core, struct job *job)
{
	struct dependents *a = dependents_of(job);

	if (a->queued)
		return;
	a->queued = true;
	if (job_info(job)->part)
		dependents_of(job_own(job))->parts_queued++;
	push_last(core, job);
}

/* Other dependencies replace the present ones: all edges are hung anew. */
void depends_set(struct core *core, struct job *job, const char *kept)
{
	depends_detach(core, job);
	job_set_depends(core->jobs, job, kept);
	corr_retext(core, job);
	depends_attach(core, job);
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
		corr_retext(core, job);
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

/* Decide a term that is otherwise decided task by task: the array is over. */
static void decide_each(struct core *core, struct edge *e, const struct job *on)
{
	struct job *who = e->who;
	enum outcome outcome = outcome_of(&e->t, on, core->now.wall);

	corr_rest(core, who, e->t.job, outcome);
	if (!job_link(who)->depends) /* the job has ended by this */
		return;
	depends_unhang(e);
	depends_mark(job_link(who)->depends, e->term, outcome);
	depends_weigh(core, who);
}

/* A job waits for the start of `on`, or for its end: decide its terms on that. */
static void decide_terms(struct core *core, struct depends *p, struct job *on, bool start)
{
	bool any = false;

	for (uint32_t n = 0; n < p->n; n++) {
		struct depend_term t;
		enum outcome outcome;

		if (job_ref_id(p->on[n]) != job_id(on) || !depends_term_open(p, n) ||
		        ((p->flags[n] & TERM_TYPE) == DEPEND_AFTER) != start)
			continue;
		t = depends_term(p, n);
		if (t.tasks || t.each || t.at)
			continue;
		/* The task is under another record by now: the term hangs on that from here on. */
		if (depends_where(core, p, n) != on) {
			depends_hang(core, p, n);
			continue;
		}
		outcome = outcome_of(&t, on, core->now.wall);
		depends_mark(p, n, outcome);
		/* OPEN: the delay is running; the job's timer ends it. */
		if (outcome == DEPEND_OPEN)
			depends_runs_until(p, n, t.at);
		any = true;
	}
	if (any)
		depends_weigh(core, p->who);
}

/* Terms that name no job in memory can no longer come true: the rows were not written together. */
static void settle_lost(struct core *core, struct job *job)
{
	struct depends *p = job_link(job)->depends;
	bool lost = false;

	for (uint32_t n = 0; p && n < p->n; n++) {
		struct depend_term t = depends_term(p, n);

		if (!depend_term_open(&t) || !t.job || t.at || depends_where(core, p, n))
			continue;
		depends_mark(p, n, DEPEND_NEVER);
		lost = true;
		if (t.each)
			corr_rest(core, job, t.job, DEPEND_NEVER);
		p = job_link(job)->depends;
	}
	if (p && (lost || p->never))
		depends_weigh(core, job);
}

/* The list of jobs that wait for the event that has happened. */
static struct waiting *due_waiting(const struct job *job)
{
	struct dependents *a = job_link_of(job)->dependents;

	if (a->starts.n && depends_began(job))
		return &a->starts;
	return a->ends.n && job_state_ended(job_info(job)->state) ? &a->ends : NULL;
}

/* The next edge on the array's tasks that is to be decided, once the array has ended. */
static struct edge *due_edge(const struct job *job)
{
	const struct dependents *a = job_link_of(job)->dependents;

	if (!job_state_ended(job_info(job)->state))
		return NULL;
	return a->corrs ? a->corrs : a->ranges;
}

/* The cost of updating one waiting job, in edges: all its terms are read and written. */
#define SETTLE_TERMS 32

static unsigned settle_waiting(struct core *core, struct waiting *w, struct job *job)
{
	bool start = w == &job_link(job)->dependents->starts;
	struct depends *p = waiting_pop(core, w);
	unsigned cost = p ? 1 + p->n / SETTLE_TERMS : 1;

	if (p)
		decide_terms(core, p, job, start);
	return cost;
}

/* A part of an array has started or ended. Whole-array edges are told of each part: terms on some
 * of the tasks (depends_range.c), and aftercorr (correspond.c). */
static void settle_part(struct core *core, struct job *part)
{
	range_part_moved(core, part);
	/* If not, it was requeued since: its next end will be queued again. */
	if (job_state_ended((enum job_state)job_info(part)->state))
		corr_part_ended(core, part);
	job_link(job_own(part))->dependents->parts_queued--;
	pop_first(core);
	job_link(part)->dependents->queued = false;
}

/* Does one step for a queued job. Returns its cost, in edges. The steps, in order: the jobs that
 * wait for this one; terms of its own that name nothing; of an array, tasks that have left memory,
 * then its parts, and last the edges that only the end of the whole array decides. The job leaves
 * the queue when none of these is left. */
static unsigned settle_one(struct core *core, struct job *job)
{
	struct dependents *a = job_link(job)->dependents;
	struct waiting *w = due_waiting(job);
	struct edge *e;

	if (w && (job_info(job)->part || !a->lost))
		return settle_waiting(core, w, job);
	if (job_info(job)->part) {
		settle_part(core, job);
	} else if (a->lost) {
		a->lost = false;
		settle_lost(core, job);
	} else if ((a->corrs && corr_gone(core, job)) || (a->ranges && range_gone(core, job))) {
		return 1;
	} else if ((e = due_edge(job)) && a->parts_queued) {
		/* The parts of the array first. */
		pop_first(core);
		push_last(core, job);
	} else if (e && e == a->ranges) {
		range_over(core, e);
	} else if (e) {
		decide_each(core, e, job);
	} else {
		pop_first(core);
		a->queued = false;
	}
	return 1;
}

bool depends_settle(struct core *core, unsigned budget)
{
	while (core->settle_first && budget) {
		unsigned cost = settle_one(core, core->settle_first);

		budget -= cost < budget ? cost : budget;
	}
	return core->settle_first;
}

/* Queues what has something to decide now: a part if jobs wait for it alone or if edges on its
 * array are told of each part; the array if all of its tasks have begun. */
void depends_tell(struct core *core, struct job *job)
{
	struct job *own = job_own(job);
	const struct dependents *a = job_link(own)->dependents, *part = job_link(job)->dependents;

	if (job != own && part && (part->starts.n || part->ends.n))
		depends_queue(core, job);
	if (!a)
		return;
	if (job != own && a->starts.n && depends_began(own))
		depends_queue(core, own);
	if (job == own ? a->starts.n || a->ends.n || a->corrs || a->ranges
	               : a->corrs && job_state_ended(job_info(job)->state))
		depends_queue(core, job);
	else if (job != own)
		range_tell(core, job);
}

/* --- waiting --------------------------------------------------------------------------------- */

/* `singleton` is never recorded as met, because it may become false again: its terms count as met
 * while the job is the first of its name and none of that name is active. */
bool depends_open(const struct job *job)
{
	const struct job *own = job_own(job);
	const struct depends *p = job_link_of(own)->depends;

	if (!p)
		return false;
	if (p->each && job != own)
		return corr_open(job);
	job = own;
	if (!p->singleton || !namesakes_first_and_idle(job))
		return true;
	return !p->any && p->met + p->singles < p->n;
}

usec_t depends_due(const struct job *job)
{
	const struct depends *p = job_link_of(job)->depends;
	usec_t due = INT64_MAX;

	for (uint32_t n = 0; p && n < p->n_edges; n++) {
		const struct edge *e = &p->edges[n];

		if (e->t.at && depends_term_open(p, e->term) && seconds_wall(e->t.at) < due)
			due = seconds_wall(e->t.at);
	}
	return due;
}

void depends_delays(struct core *core, struct job *job)
{
	struct depends *p = job_link(job)->depends;
	bool any = false;

	for (uint32_t n = 0; p && n < p->n_edges; n++) {
		const struct edge *e = &p->edges[n];

		if (!e->t.at || !depends_term_open(p, e->term) ||
		        seconds_wall(e->t.at) > core->now.wall)
			continue;
		depends_mark(p, e->term, DEPEND_MET);
		any = true;
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
	size_t used = 0, said = 0, of = 0;

	if (p->each && job_info(job)->part && strchr(job_info(job)->depends, '*'))
		return corr_why(core, job, text, size);
	job = job_own(job);
	text[0] = '\0';
	for (uint32_t n = 0; n < p->n; n++) {
		struct depend_term t;

		if (p->flags[n] & TERM_MET || !(p->flags[n] & TERM_NEVER) == p->never)
			continue;
		of++;
		/* Space for the longest term and for the count of those left out. */
		if (used + 100 > size)
			continue;
		if (said++)
			used += (size_t)snprintf(
			        text + used, size - used, p->any ? " or " : ", ");
		t = depends_term(p, n);
		used += say_term(core, job, &t, text + used, size - used);
	}
	if (of > said)
		snprintf(text + used, size - used, ", and %zu more", of - said);
	return p->never ? reason_word(REASON_NEVER_SATISFIED) : reason_word(REASON_DEPENDENCY);
}

/* Cuts a text as rows keep it to whole terms, enough for so many bytes. */
static char *some_terms(const char *kept, size_t bytes)
{
	size_t n = strlen(kept);

	if (n <= 4 * bytes)
		return xstrdup(kept);
	for (n = 4 * bytes; n && !strchr(":,?", kept[n]); n--)
		continue;
	return xstrndup(kept, n);
}

void depends_say(const struct job *job, char *text, size_t size)
{
	const struct job *own = job_own(job);
	const struct depends *p = job_link_of(own)->depends;
	bool each = p && p->each && job != own;
	struct depend d = { .v = NULL };
	char *all;

	text[0] = '\0';
	if (p && !each) {
		all = depends_text(p, false, size);
	} else {
		char *kept = some_terms(job_info(each ? job : own)->depends, size);
		int rc = depend_parse(kept, true, &d, NULL);

		free(kept);
		if (rc < 0)
			return;
		all = depend_format_some(&d, size);
		depend_clear(&d);
	}
	if ((size_t)snprintf(text, size, "%s", all) >= size)
		memcpy(text + size - 4, "...", 4);
	free(all);
}

/* --- invariants ------------------------------------------------------------------------------ */

static bool hangs_on(const struct depends *p, uint32_t n, const struct job *on)
{
	const struct dependents *a = job_link_of(on)->dependents;

	return a && waiting_has((p->flags[n] & TERM_TYPE) == DEPEND_AFTER ? &a->starts : &a->ends,
	                    p->number);
}

/* An open term hangs on the job that it names, and a job that has ended is in the queue as long as
 * terms on it are open. */
static int check_term(const struct core *core, const struct job *job, uint32_t n, struct error *err)
{
	const struct depends *p = job_link_of(job)->depends;
	const struct depend_term t = depends_term(p, n);
	const struct job *on = t.job ? depends_where(core, p, n) : NULL;
	unsigned long long id = job_id(job);

	if (!depend_term_open(&t) || !on || t.at)
		return 0;
	if (!t.tasks && !t.each && !hangs_on(p, n, on))
		return error_set(err, ERR_INTERNAL, "job %llu: its term %u hangs on nothing", id, n);
	if (job_state_ended(job_info(on)->state) && !job_link_of(on)->dependents->queued)
		return error_set(err, ERR_INTERNAL, "job %llu: nobody tells it of job %llu", id,
		        (unsigned long long)job_id(on));
	return t.tasks ? range_check(core, job, &t, err) : 0;
}

int depends_check_job(const struct core *core, const struct job *job, struct error *err)
{
	const struct job_info *i = job_info(job);
	const struct depends *p = job_link_of(job)->depends;
	unsigned long long id = i->id;

	if ((p != NULL) != (*i->depends && !job_state_ended(i->state)))
		return error_set(err, ERR_INTERNAL, "job %llu: its row waits, and it does %s", id,
		        p ? "too" : "not");
	for (uint32_t n = 0; p && n < p->n_edges; n++) {
		const struct edge *e = &p->edges[n];
		bool listed = e->t.tasks || e->t.each;

		if (listed && depends_term_open(p, e->term) != (e->back != NULL) && !e->t.at &&
		        jobs_find(core->jobs, e->t.job))
			return error_set(err, ERR_INTERNAL, "job %llu: its term %u %s", id, e->term,
			        e->back ? "hangs and is decided" : "hangs on nothing");
	}
	for (uint32_t n = 0; p && n < p->n; n++)
		if (check_term(core, job, n, err) < 0)
			return -1;
	return 0;
}
