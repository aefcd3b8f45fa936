/* depends_settle.c - see depends_settle.h
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
 * A job whose start or end decides terms of others stands in a queue (depends_queue.h) until all of
 * them are settled; settle_one() does one step for the first of the queue and says what it cost, so
 * that a slice has a bound. Settling twice changes nothing, because a term that is decided is no
 * longer open. So a start of the controller simply puts all ended jobs with dependents into the
 * queue.
 */
#include "ctld/core/jobs/depends_settle.h"

#include <stddef.h>

#include "ctld/core/depends/depends_queue.h"
#include "ctld/core/depends/depends_terms.h"
#include "ctld/core/jobs/depends_aftercorr.h"
#include "ctld/core/jobs/depends_attach.h"
#include "ctld/core/jobs/depends_outcome.h"
#include "ctld/core/jobs/depends_range.h"
#include "ctld/core/records/job.h"
#include "ctld/core/rows/state.h"

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
		return !t->delay || depends_wall(t->at) <= now ? DEPEND_MET : DEPEND_OPEN;
	}
	if (t->type == DEPEND_SINGLETON || !job_state_ended(state))
		return DEPEND_OPEN;
	return depend_comes_true(t->type, state == JOB_COMPLETED) ? DEPEND_MET : DEPEND_NEVER;
}

/* Decide a term that is otherwise decided task by task: the array is over. */
static void decide_each(struct core *core, struct edge *e, const struct job *on)
{
	struct job *who = e->who;
	enum outcome outcome = outcome_of(&e->t, on, core->now.wall);

	aftercorr_rest(core, who, e->t.job, outcome);
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
			aftercorr_rest(core, job, t.job, DEPEND_NEVER);
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
 * of the tasks (depends_range.c), and aftercorr (depends_aftercorr.c). */
static void settle_part(struct core *core, struct job *part)
{
	range_part_moved(core, part);
	/* If not, it was requeued since: its next end will be queued again. */
	if (job_state_ended((enum job_state)job_info(part)->state))
		aftercorr_part_ended(core, part);
	depends_queue_pop(core);
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
	} else if ((a->corrs && aftercorr_gone(core, job)) ||
	           (a->ranges && range_gone(core, job))) {
		return 1;
	} else if ((e = due_edge(job)) && a->parts_queued) {
		/* The parts of the array first. */
		depends_queue_defer(core);
	} else if (e && e == a->ranges) {
		range_over(core, e);
	} else if (e) {
		decide_each(core, e, job);
	} else {
		depends_queue_pop(core);
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
