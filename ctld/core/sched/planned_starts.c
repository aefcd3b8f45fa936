/* planned_starts.c - planned starts for the heads of blocked classes
 *
 * Which classes get a reservation, what breaks one, and when one is moved up. A class has none, a
 * planned start, or a preemption reservation (runs were told to end for it):
 *
 *	none -> planned        the search (blocked_search.c) found a start, and it is among the best
 *	planned -> planned     moved up: an earlier place was found
 *	none, planned -> preemption    the search found victims
 *	any -> none            its job starts or goes; a limit closes; another configuration
 *	any -> none            there is no room any more: a better class has it, a node was lost, a
 *	                       run ends late or was given more time
 *	planned -> none        a better class takes its place among the best
 *
 * Why a planned start was lost stays with the class until it has another (`broken`, `cause`): so a
 * later start without a cause is counted as unexplained, and there is none.
 *
 * What holds after each step: a planned start is added to a partition with plan_depth reservations
 * only in place of a worse one (preemption reservations are always made, and count); all
 * reservations have room on their nodes beside each other and beside what runs, or have been broken
 * for a cause and their classes made ready (planner_recheck()).
 */
#include <stdlib.h>
#include <string.h>

#include "common/base/xalloc.h"
#include "common/job/reason.h"
#include "ctld/core/sched/sched_impl.h"

/* Work for moving reservations up between two orderings, as plan_search() counts it. */
#define MOVE_WORK ((size_t)500000)

struct plan_want planner_want(const struct sched *s, const struct candidate *who)
{
	const struct conf_partition *p = &s->view.conf->partitions[who->partition];

	return (struct plan_want){ .ask = who->ask,
		.set = ledger_set_of(s->view.ledger, who->partition),
		.partition = who->partition,
		.find = { .spread = p->place == CONF_PLACE_SPREAD },
		.length = who->length,
		.key = who->key };
}

/* --- reservations ---------------------------------------------------------------------------- */

/* Record what the reservation will take of the limits: jobs that leave room at a limit look there.
 */
static void note_need(struct sched *s, struct reservation *e)
{
	struct ask ask = class_ask(e->owner);

	e->chain = class_link(e->owner)->chain;
	need_of_places(&s->view, &ask, &e->places, &e->need);
}

/* The reservation takes less at these limits now: classes that left room for it there may start. */
static void wake_yielding(struct sched *s, const struct limit_chain *chain, const struct need *need)
{
	const uint32_t *limits;
	size_t n;

	if (!chain)
		return;
	limits = limits_of_need(s->view.limits, chain, need, &n);
	wake_at_limits(s, limits, n, true);
}

/* Remove the reservation. Other reservations that break with it, here or before, break for the same
 * cause. Its places are free for others, so what may fit there is woken. */
static void reservation_gone(struct sched *s, struct class *class, const char *cause, uint64_t by)
{
	struct class_link *l = class_link(class);
	struct places places = l->reservation->places;
	const struct limit_chain *chain = l->reservation->chain;
	struct need need = l->reservation->need;

	places.v = xmemdup(places.v, places.n * sizeof(*places.v));
	planner_end_move(s, class);
	plan_remove(s->view.plan, l->reservation);
	l->reservation = NULL;
	wake_yielding(s, chain, &need);
	for (size_t i = 0; i < places.n; i++) {
		plan_node_changed(s->view.plan, places.v[i].node);
		planner_recheck(s, places.v[i].node, cause, by);
		wake_fitting(s, places.v[i].node);
	}
	s->early = true;
	free(places.v);
}

void planner_drop(struct sched *s, struct class *class, uint64_t by)
{
	if (class_link(class)->reservation)
		reservation_gone(s, class, reason_word(REASON_PRIORITY), by);
}

/* What blocks a class that does not wait for capacity, in a word. */
static const char *closed_by(const struct decision *d)
{
	switch (d->verdict) {
	case VERDICT_LIMIT:
		return d->limit.reason;
	case VERDICT_STATE:
		return reason_word(REASON_PARTITION_DOWN);
	default:
		return "reconfigured";
	}
}

/* The reservation gives up all but its first n places; the rest is free for others. */
static void shrink(struct sched *s, struct reservation *e, size_t n)
{
	struct places places = e->places;

	places.v = xmemdup(places.v, places.n * sizeof(*places.v));
	wake_yielding(s, e->chain, &e->need);
	plan_shrink(s->view.plan, e, n);
	note_need(s, e);
	for (size_t i = n; i < places.n; i++)
		sched_node_freed(s, places.v[i].node);
	free(places.v);
}

/* The class was refused. If that was for a limit, or the partition is down, it keeps no place that
 * others could use; of a range of nodes it keeps as many as the limits still allow. */
void planner_close(struct sched *s, struct class *class)
{
	struct class_link *l = class_link(class);
	struct candidate who = sched_candidate(s, class);
	const char *cause;
	struct decision d;
	size_t n;

	if (!l->reservation)
		return;
	if (!decide_wants_capacity(&l->last) && l->last.verdict != VERDICT_PLANNED) {
		cause = closed_by(&l->last);
	} else {
		n = first_nodes_within_limits(&s->view, &who, l->reservation->places, &d);
		if (n && n < l->reservation->places.n)
			shrink(s, l->reservation, n);
		if (n)
			return;
		cause = d.limit.reason;
	}
	l->broken = cause;
	l->broken_by = 0;
	s->stats.broken++;
	reservation_gone(s, class, l->broken, 0);
}

void planner_break(struct sched *s, struct class *class, const char *cause, uint64_t by)
{
	struct class_link *l = class_link(class);

	l->broken = cause;
	l->broken_by = by;
	s->stats.broken++;
	reservation_gone(s, class, cause, by);
}

void planner_recheck(struct sched *s, uint32_t node, const char *cause, uint64_t by)
{
	struct reservation *e;

	while ((e = plan_broken(s->view.plan, node))) {
		struct class *class = e->owner;

		planner_break(s, class, cause, by);
		wake(s, class);
	}
}

/* Time has passed, or the order has changed: either may leave too little room for a reservation
 * (plan.h). */
static void recheck_reservation(struct sched *s, struct class *class, const struct reservation *e)
{
	size_t i;

	for (i = 0; class_link(class)->reservation == e && i < e->places.n; i++) { /* it may go */
		uint32_t node = e->places.v[i].node;

		planner_recheck(s, node,
		        plan_is_late(s->view.plan, node) ? "a run ended late"
		                                         : reason_word(REASON_PRIORITY),
		        0);
	}
}

void planner_late(struct sched *s, struct class *class)
{
	struct reservation *e = class_link(class)->reservation;

	if (!e->preempts)
		recheck_reservation(s, class, e);
}

/* Is there room for one more reservation, or is this class better than an owner of one? *out: the
 * class whose reservation would have to go; NULL: none. */
bool planner_has_room(struct sched *s, struct class *class, struct class **out)
{
	struct class_link *l = class_link(class);
	uint32_t depth = s->view.conf->partitions[l->partition].plan_depth;
	struct reservation *worst = NULL;

	*out = NULL;
	if (plan_count_of(s->view.plan, l->partition) < depth)
		return true;
	for (size_t i = 0; i < plan_count(s->view.plan); i++) {
		struct reservation *e = plan_at(s->view.plan, i);

		if (e->partition == l->partition && !e->preempts &&
		        (!worst || heap_key_before(worst->key, e->key)))
			worst = e;
	}
	if (!worst || !heap_key_before(l->key, worst->key))
		return false;
	*out = worst->owner;
	return true;
}

/* Whether the start is later than the last one, and why, is settled here: the cause that was kept
 * when it was lost, or that its time came and a run was late, or none, which counts as
 * unexplained. */
void planner_enter(struct sched *s, struct class *class, const struct plan_want *want,
        struct reservation *found)
{
	struct class_link *l = class_link(class);
	struct reservation *e = plan_add(s->view.plan, class, want, found);

	l->reservation = e;
	note_need(s, e);
	if (!l->broken && l->planned && l->planned <= s->view.now.mono) {
		l->broken = "a run ended late"; /* otherwise it would have started */
		l->broken_by = 0;
	}
	if (l->broken) {
		l->cause = l->broken;
		l->cause_job = l->broken_by;
	} else if (l->planned && e->start > l->planned + WORTH_MOVING) {
		s->stats.unexplained++;
	}
	l->broken = NULL;
	l->planned = e->start;
	/* The reservation itself may be broken here, and its places freed. */
	for (size_t i = 0; l->reservation == e && i < e->places.n; i++)
		planner_recheck(s, e->places.v[i].node, reason_word(REASON_PRIORITY),
		        job_id(class_head(class)));
}

void planner_reserve_preemption(struct sched *s, struct class *class)
{
	struct candidate who = sched_candidate(s, class);
	struct plan_want want = planner_want(s, &who);
	const struct reservation *e;

	want.find.alternative = s->victims.reservation.places.alternative;
	want.find.type = s->victims.reservation.places.type;
	planner_enter(s, class, &want, &s->victims.reservation);
	/* The victims may hold more of the guarantees than the preemption reservation will take. */
	e = class_link(class)->reservation;
	if (e)
		wake_yielding(s, e->chain, &e->need);
}

void planner_tell(struct class *class, struct sched_pick *pick)
{
	struct class_link *l = class_link(class);

	pick->job = class_head(class);
	pick->choice = sched_choice(class);
	pick->planned = l->reservation ? l->reservation->start : PLAN_FAR;
}

void planner_retry_at(struct sched *s, struct class *class, usec_t when)
{
	class_link(class)->retry = when;
	if (when < s->retry)
		s->retry = when;
}

/* --- moving up ------------------------------------------------------------------------------- */

void planner_end_move(struct sched *s, const struct class *class)
{
	if (s->move.class != class)
		return;
	decide_search_free(s->move.search);
	s->move.search = NULL;
	s->move.class = NULL;
}

/* The new reservation keeps its rank, so that moving up goes on with the next one. */
static void replace(struct sched *s, struct class *class, const struct plan_want *want,
        struct reservation *found)
{
	struct class_link *l = class_link(class);
	struct reservation *e = l->reservation;
	struct places old = e->places;
	uint32_t rank = e->rank;

	old.v = xmemdup(old.v, old.n * sizeof(*old.v));
	wake_yielding(s, e->chain, &e->need);
	plan_remove(s->view.plan, e);
	l->reservation = NULL;
	planner_enter(s, class, want, found);
	if (l->reservation)
		plan_rank(s->view.plan, l->reservation, rank);
	s->stats.moved_up++;
	for (size_t i = 0; i < old.n; i++)
		sched_node_freed(s, old.v[i].node);
	free(old.v);
}

/* Search for an earlier start. The reservation of the class does not count against it, and is
 * replaced only if there is an earlier one. */
static enum plan_step move_up(struct sched *s, struct class *class)
{
	struct class_link *l = class_link(class);
	struct candidate who = sched_candidate(s, class);
	struct plan_want want = planner_want(s, &who);
	struct reservation found;
	size_t work = s->search_step < s->move.work ? s->search_step : s->move.work, left = work;
	enum plan_step step;

	want.displace_none = !l->reservation->promoted;
	want.before = l->reservation->start - WORTH_MOVING + 1;
	if (!s->move.class) {
		s->move.class = class;
		s->move.search = decide_search_new();
	}
	step = decide_search(s->move.search, &s->view, &who, &want, &left, &found);
	s->move.work -= work - left;
	if (step == PLAN_MORE)
		return step;
	planner_end_move(s, class);
	if (step == PLAN_FOUND) {
		replace(s, class, &want, &found);
	} else {
		l->reservation->promoted = false;
		note_need(s, l->reservation);
	}
	return step;
}

/* By rank, which is the order of keys: the best reservation chooses first. A start that is due
 * within a second, or that runs are stopped for, is left alone. */
bool planner_compress(struct sched *s, struct class **moved, struct sched_pick *pick)
{
	struct class *class = s->move.class;
	struct reservation *e;
	uint64_t changes;
	enum plan_step step;

	*moved = NULL;
	e = class ? class_link(class)->reservation : plan_by_rank(s->view.plan, s->move.rank);
	if (!e)
		return false;
	if (!s->move.work) { /* the next ordering continues here */
		s->early = s->move.pauses = true;
		return false;
	}
	changes = plan_changes(s->view.plan);
	recheck_reservation(s, e->owner, e);
	/* A class that has lost its start here is tried before this reservation moves into the
	 * place. That gives the same result as a search in steps, because woken classes are
	 * tried between two of its steps. */
	if (plan_changes(s->view.plan) != changes)
		return true;
	if (!class)
		s->move.rank = e->rank + 1;
	class = e->owner;
	if (class_link(class)->reservation != e || e->preempts ||
	        e->start <= s->view.now.mono + WORTH_MOVING) {
		planner_end_move(s, class);
		return true;
	}
	step = move_up(s, class);
	pick->searched = step == PLAN_MORE;
	if (step == PLAN_FOUND)
		*moved = class;
	return true;
}

void planner_wake_if_risen(struct sched *s, struct class *class)
{
	const struct class_link *l = class_link(class);

	if (class_ready(class) || !l->last.planned || l->ahead == ahead_of(s, l->key))
		return;
	/* Members of a group that nodes refused are tried in the order of the group, until one is
	 * refused for all. */
	if (l->reservation || l->last.yields || !blocked_note(s, class))
		wake(s, class);
}

void planner_rekeyed(struct sched *s)
{
	const struct plan *plan = s->view.plan;
	bool changed = false;

	s->work += plan_count(plan);
	for (size_t i = 0; i < plan_count(plan); i++) {
		struct reservation *e = plan_at(plan, i);
		struct heap_key old = e->key;

		if (wait_word(s->wait_groups, e->owner) == old.a)
			continue;
		class_rekey(s, e->owner);
		s->risen |= heap_key_before(old, e->key);
		changed = true;
	}
	if (!changed && s->plan_changes == plan_changes(plan))
		return;
	s->plan_changes = plan_changes(plan);
	for (size_t i = 0; i < plan_count(plan); i++)
		planner_wake_if_risen(s, plan_at(plan, i)->owner);
}

/* Moving up is worth while only if something became free early or a reservation has passed
 * another. */
void planner_ordered(struct sched *s)
{
	search_ordered(s);
	s->move.work = MOVE_WORK;
	if (!s->early && !s->promoted)
		return;
	if (!s->move.pauses)
		s->move.rank = 0;
	s->early = s->move.pauses = false;
	s->move.on = true;
	s->replan = false;
	s->sweeps |= 1u << SWEEP_REFILL;
}
