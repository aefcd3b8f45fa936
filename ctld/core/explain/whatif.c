/* whatif.c - see whatif.h
 *
 * Other conditions are made on the real ledger, limits and plan, because a copy of them would cost
 * more than the question. All of it is taken back in reverse: the ledger by its journal
 * (ledger_mark(), ledger_undo()), limits and runs one by one. plan_wonder() keeps what the plan
 * learns meanwhile apart from what the scheduler uses.
 *
 * Whether a job would start is tried with all classes ahead of it, best first, each as the
 * scheduler would: it starts (WHATIF_STARTS), or would get a planned start (WHATIF_PLANS), or
 * waits. Beyond those bounds, and after WHATIF_TRIES tries, the answer is that the job would not
 * start.
 */
#include "ctld/core/explain/whatif.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/xalloc.h"
#include "ctld/core/attempts/limit_usage.h"
#include "ctld/core/attempts/run_snapshot.h"
#include "ctld/core/place/ledger.h"
#include "ctld/core/plan/plan.h"
#include "ctld/core/records/job.h"
#include "ctld/core/records/node.h"
#include "ctld/core/records/run.h"
#include "ctld/core/rows/state.h"
#include "ctld/core/runs/run_booking.h"
#include "ctld/core/sched/class.h"
#include "ctld/core/sched/decide.h"
#include "ctld/core/sched/earliest_start.h"
#include "ctld/core/sched/sched.h"
#include "ctld/core/util/heap.h"

#define PLAN_WORK 16384 /* nodes that are looked at for planned starts */

/* A start that was tried. */
struct start {
	const struct limit_chain *chain;
	struct need need;
	struct reservation *reservation; /* the planned start of its class; NULL */
};

struct trial {
	struct whatif *w;
	struct start starts[WHATIF_STARTS];
	size_t n;
	struct reservation *planned[WHATIF_PLANS]; /* that classes would get */
	size_t n_planned;
	struct reservation *gone[WHATIF_PLANS]; /* that classes would lose */
	size_t n_gone;
	size_t plans;    /* how many may be made: each looks at all nodes */
	uint32_t *taken; /* nodes of the starts; owned */
	size_t n_taken;
	bool woken[WHATIF_TRIES];
	bool full;
};

void whatif_begin(struct whatif *w, struct core *core)
{
	memset(w, 0, sizeof(*w));
	w->core = core;
	ledger_mark(core->ledger);
	plan_wonder(sched_view(core->sched)->plan, true);
}

/* --- over ------------------------------------------------------------------------------------ */

/* Runs are marked, their places released; the job releases its limits. The same backwards, but for
 * the ledger. */
static void set_over(struct core *core, struct job *job, bool over)
{
	for (struct run *run = job_link(job)->runs; run; run = run_link(run)->next_of_job) {
		const struct node *node = run_link(run)->node;
		struct place place;

		if (!node || run_over(run))
			continue;
		run_imagine_over(run, over);
		plan_node_changed(sched_view(core->sched)->plan, node_link_of(node)->index);
		if (!over)
			continue; /* ledger_undo() books it again */
		place = run_place(run);
		ledger_release(core->ledger, &place);
	}
	job_imagine_over(core, job, over);
}

void whatif_over(struct whatif *w, struct job *job)
{
	for (size_t i = 0; i < w->n_over; i++) {
		if (w->over[i] == job)
			return;
	}
	*XADD(w->over, w->n_over, w->over_size) = job;
	set_over(w->core, job, true);
}

void whatif_lift(struct whatif *w, const struct limit_block *block)
{
	if (w->n_lifted == WHY_BLOCKERS)
		return;
	w->lifted[w->n_lifted++] = *block;
	limits_lift(w->core->limits, block, true);
}

void whatif_ignore(struct whatif *w, struct reservation *reservation)
{
	w->ignored = reservation;
	reservation->idle = true;
}

/* In the reverse order, so that all is as before exactly. */
void whatif_end(struct whatif *w)
{
	ledger_undo(w->core->ledger);
	if (w->ignored)
		w->ignored->idle = false;
	while (w->n_lifted)
		limits_lift(w->core->limits, &w->lifted[--w->n_lifted], false);
	while (w->n_over)
		set_over(w->core, w->over[--w->n_over], false);
	free(w->over);
	w->over = NULL;
	plan_wonder(sched_view(w->core->sched)->plan, false);
}

/* --- classes before it ----------------------------------------------------------------------- */

static int by_key(const void *x, const void *y)
{
	struct heap_key a = class_link(*(struct class *const *)x)->key,
	                b = class_link(*(struct class *const *)y)->key;

	return heap_key_before(a, b) ? -1 : heap_key_before(b, a);
}

/* Is the class `but`, or does its first job wait in that too? */
static bool same_head(const struct class *class, const struct class *but)
{
	return but && (class == but || (class_head(class) == class_head(but)));
}

/* All classes before a key, best first. The caller frees the array. */
static struct class **classes_before(
        const struct core *core, struct heap_key key, const struct class *but, size_t *n)
{
	struct class **v = xcalloc(sched_class_count(core->sched) + 1, sizeof(*v)), *class;
	size_t cursor = 0;

	*n = 0;
	while ((class = sched_each_class(core->sched, &cursor))) {
		if (!same_head(class, but) && heap_key_before(class_link(class)->key, key))
			v[(*n)++] = class;
	}
	qsort(v, *n, sizeof(struct class *), by_key);
	return v;
}

size_t whatif_before(const struct whatif *w, const struct candidate *who, const struct class *but)
{
	const struct class *class;
	size_t cursor = 0, n = 0;

	while ((class = sched_each_class(w->core->sched, &cursor)))
		n += !same_head(class, but) &&
		     heap_key_before(class_link_of(class)->key, who->key);
	return n;
}

static void note_ahead(struct whatif *w, const struct class *class)
{
	if (w->n_ahead < WHATIF_NAMED)
		w->ahead[w->n_ahead] = job_id(class_head(class));
	w->n_ahead++;
}

/* Note the classes before it with a planned start in its partition. */
static void note_planned(struct whatif *w, const struct candidate *who)
{
	const struct plan *plan = sched_view(w->core->sched)->plan;

	for (size_t i = 0; i < plan_count(plan); i++) {
		const struct reservation *e = plan_at(plan, i);

		if (e->partition == who->partition && heap_key_before(e->key, who->key))
			note_ahead(w, e->owner);
	}
}

static void ignore(struct trial *t, struct reservation *reservation)
{
	reservation->idle = true;
	t->gone[t->n_gone++] = reservation;
}

/* How many reservations of the partition no longer count. */
static size_t given_up(const struct trial *t, uint32_t partition)
{
	const struct reservation *ignored = t->w->ignored;
	size_t n = ignored && ignored->partition == partition, i;

	for (i = 0; i < t->n_gone; i++)
		n += t->gone[i]->partition == partition;
	return n;
}

/* A class that does not start gets a planned start. */
static void plan_class(struct trial *t, struct class *class, const struct candidate *who)
{
	const struct sched_view *view = sched_view(t->w->core->sched);
	uint32_t depth = view->conf->partitions[who->partition].plan_depth;
	const struct reservation *old = class_link(class)->reservation;
	struct reservation reservation = { 0 };
	struct plan_want want = { .ask = who->ask,
		.set = ledger_set_of(view->ledger, who->partition),
		.partition = who->partition,
		.length = who->length,
		.key = who->key };

	/* It has one already. Reservations move up only later, when all classes have had their
	 * chance. */
	if ((old && !old->idle) || t->n_planned == t->plans ||
	        plan_count_of(view->plan, who->partition) >= depth + given_up(t, who->partition))
		return;
	if (decide_later(view, who, &want, &reservation)) {
		struct reservation *e = plan_add(view->plan, class, &want, &reservation);

		e->chain = who->chain;
		need_of_places(view, &who->ask, &e->places, &e->need);
		t->planned[t->n_planned++] = e;
	}
	places_free(&reservation.places);
}

/* Another limit means another configuration, for which all plans are made again. */
static void drop_plans(struct trial *t)
{
	const struct plan *plan = sched_view(t->w->core->sched)->plan;

	if (!t->w->n_lifted || plan_count(plan) > t->plans)
		return;
	for (size_t i = 0; i < plan_count(plan); i++)
		ignore(t, plan_at(plan, i));
}

/* Would a part of it find room on that node now? */
static bool part_fits(const struct core *core, const struct ask *ask, uint32_t node)
{
	for (uint32_t a = 0; node != NODE_LEFT && a < decide_alternatives(ask); a++) {
		if (ledger_fits_part(core->ledger, node, ask, a))
			return true;
	}
	return false;
}

/* Would the scheduler try the class again? If not, it keeps its planned start even if a limit
 * blocks it by now, and the next pass gives it none in place of one that is given up. Where jobs
 * end there are more passes, and all classes have their chance. */
static bool wakes(const struct whatif *w, struct class *class)
{
	struct ask ask = class_ask(class);

	if (w->n_lifted) /* a new configuration: all classes are tried */
		return true;
	for (size_t i = 0; w->ignored && i < w->ignored->places.n; i++) {
		if (part_fits(w->core, &ask, w->ignored->places.v[i].node))
			return true;
	}
	for (size_t i = 0; i < w->n_over; i++) {
		const struct run *run = job_link(w->over[i])->runs;

		for (; run; run = run_link_of(run)->next_of_job) {
			const struct node *node = run_link_of(run)->node;

			if (node && !run_over(run) &&
			        part_fits(w->core, &ask, node_link_of(node)->index))
				return true;
		}
	}
	return false;
}

/* The start holds the places for its length: something may be planned after its end. */
static void take(struct trial *t, const struct places *places, const struct start *s, usec_t length)
{
	struct core *core = t->w->core;
	const struct sched_view *view = sched_view(core->sched);
	const struct run_snapshot snapshot = { .end = length >= PLAN_FAR ? PLAN_FAR
		                                                         : view->now.mono + length,
		.job = UINT64_MAX - t->n, /* unlike that of any job */
		.lost_cause = true,
		.partition = CONF_NONE,
		.account = CONF_NONE,
		.qos = CONF_NONE,
		.chain = s->chain,
		.need = &s->need };

	t->taken = xrealloc(t->taken, t->n_taken + places->n, sizeof(*t->taken));
	for (size_t i = 0; i < places->n; i++) {
		ledger_take(core->ledger, &places->v[i]);
		snapshot_imagine(core, &places->v[i], &snapshot);
		plan_node_changed(view->plan, places->v[i].node);
		t->taken[t->n_taken++] = places->v[i].node;
	}
}

/* Forget the imagined runs on these nodes, and when the nodes are free. */
static void forget_taken(struct trial *t)
{
	struct core *core = t->w->core;

	while (t->n_taken) {
		uint32_t node = t->taken[--t->n_taken];

		node_runs_changed(nodes_at(core->nodes, node));
		plan_node_changed(sched_view(core->sched)->plan, node);
	}
	free(t->taken);
}

/* Let up to `jobs` jobs of a class start, one after another. */
static void try_class(struct trial *t, struct class *class, uint32_t jobs, bool woken)
{
	struct core *core = t->w->core;
	const struct sched_view *view = sched_view(core->sched);
	struct candidate who = sched_candidate(core->sched, class);
	struct places places = { 0 };
	struct decision d;
	size_t n = t->n;

	for (; jobs && decide(view, &who, &places, &d) == VERDICT_START; jobs--) {
		struct start *s = &t->starts[t->n];

		if (t->n == WHATIF_STARTS) {
			t->full = true;
			break;
		}
		t->n++;
		*s = (struct start){ who.chain, d.need, class_link(class)->reservation };
		limits_take(core->limits, s->chain, &s->need);
		take(t, &places, s, who.length);
		if (s->reservation && s->reservation->idle)
			s->reservation = NULL;
		if (s->reservation)
			s->reservation->idle = true;
	}
	if (t->n > n)
		note_ahead(t->w, class);
	if (!jobs || t->full)
		return places_free(&places);
	/* A limit that has become too narrow takes its planned start away. */
	if (woken && (d.verdict == VERDICT_CAPACITY || d.verdict == VERDICT_PLANNED))
		plan_class(t, class, &who);
	else if (woken && class_link(class)->reservation && !class_link(class)->reservation->idle &&
	         t->n_gone < WHATIF_PLANS)
		ignore(t, class_link(class)->reservation);
	places_free(&places);
}

bool whatif_starts(
        struct whatif *w, const struct candidate *who, const struct class *class, uint32_t before)
{
	struct core *core = w->core;
	struct trial *t = xcalloc(1, sizeof(*t));
	struct places places = { 0 };
	struct decision d;
	struct class **v;
	bool starts;
	size_t n, i;

	t->w = w;
	t->plans = core->conf->n_nodes > PLAN_WORK / WHATIF_PLANS ? PLAN_WORK / core->conf->n_nodes
	                                                          : WHATIF_PLANS;
	ledger_mark(core->ledger);
	drop_plans(t);
	v = classes_before(core, who->key, class, &n);
	for (i = 0; i < n && i < WHATIF_TRIES; i++)
		t->woken[i] = (!class_link(v[i])->reservation && !w->ignored) || wakes(w, v[i]);
	for (i = 0; i < n && i < WHATIF_TRIES && !t->full; i++)
		try_class(t, v[i], (uint32_t)class_link(v[i])->tasks, t->woken[i]);
	if (class && before)
		try_class(t, (struct class *)(uintptr_t) class, before, true);
	starts = n <= WHATIF_TRIES && !t->full &&
	         decide(sched_view(core->sched), who, &places, &d) == VERDICT_START;
	if (!starts && !w->n_ahead)
		note_planned(w, who);
	while (t->n_planned)
		plan_remove(sched_view(core->sched)->plan, t->planned[--t->n_planned]);
	while (t->n_gone)
		t->gone[--t->n_gone]->idle = false;
	ledger_undo(core->ledger);
	forget_taken(t);
	while (t->n--) {
		limits_release(core->limits, t->starts[t->n].chain, &t->starts[t->n].need);
		if (t->starts[t->n].reservation)
			t->starts[t->n].reservation->idle = false;
	}
	places_free(&places);
	free(v);
	free(t);
	return starts;
}
