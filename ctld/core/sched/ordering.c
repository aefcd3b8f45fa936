/* ordering.c - what is done with all classes, a few in each step
 *
 * With 10,000 classes a single step would stall the controller. No class is tried until an ordering
 * is done, so that all decisions use one order; a class that arrives meanwhile gets a key of the
 * new order. Each of these is a sweep from the last class number to the first: a class that is
 * removed leaves its number to one that the sweep has already passed.
 *
 *	waking    every class is tried again
 *	ordering  fair-share ranks, the keys of classes with a planned start, then of all classes
 *	rising    classes held back by planned starts are woken if other reservations stand before
 * them refill    planned starts for the best classes that have none
 */
#include <stdlib.h>

#include "common/base/xalloc.h"
#include "ctld/core/sched/sched_impl.h"

#define LIMITS_EVERY ((usec_t)60000000) /* limits over a time window open by themselves */
#define SWEEP_STEP  64                 /* classes that one step looks at */

/* The next class of a sweep; NULL: the sweep is over. */
static struct class *sweep_next(struct sched *s, size_t *at)
{
	s->work++;
	if (*at > classes_count(s->classes))
		*at = classes_count(s->classes);
	return *at ? classes_at(s->classes, --*at) : NULL;
}

/* --- waking ---------------------------------------------------------------------------------- */

void sched_wake_all(struct sched *s)
{
	s->wake_at = classes_count(s->classes);
}

static void wake_some(struct sched *s)
{
	struct class *class;
	unsigned n;

	for (n = 0; n < SWEEP_STEP && (class = sweep_next(s, &s->wake_at)); n++)
		wake(s, class);
}

/* --- ordering -------------------------------------------------------------------------------- */

/* Put the reservations in the order of their new keys. True: some reservation has passed another.
 */
static bool order_reservations(struct sched *s)
{
	struct plan *plan = s->view.plan;
	bool promoted = false;
	size_t i;

	s->work += plan_count(plan);
	for (i = 0; i < plan_count(plan); i++)
		class_rekey(s, plan_at(plan, i)->owner);
	plan_sort(plan);
	for (i = 0; i < plan_count(plan); i++)
		promoted |= plan_at(plan, i)->promoted;
	return promoted;
}

static void ordering_begin(struct sched *s)
{
	s->ordering = true;
	s->order_at = classes_count(s->classes);
	s->ordered = s->view.now.mono;
	s->ordered_wall = s->view.now.wall;
	s->disordered = s->usage_changed = false;
	planner_ordering(s);
	accounts_order(s->accounts, s->view.now);
	s->retry = INT64_MAX;
	s->limits_too = s->view.now.mono - s->limits_tried >= LIMITS_EVERY;
	if (s->limits_too) {
		s->limits_tried = s->view.now.mono;
		limits_time(s->view.limits, s->view.now);
	}
	s->promoted = order_reservations(s);
	free(s->aheads.v);
	s->aheads = planner_aheads(s);
}

static void order_class(struct sched *s, struct class *class)
{
	struct class_link *l = class_link(class);

	class_rekey(s, class);
	if (l->slot != HEAP_NOWHERE)
		return;
	planner_consider(s, class);
	if (l->retry <= s->view.now.mono || (s->limits_too && l->last.verdict == VERDICT_LIMIT))
		wake(s, class);
	else if (l->retry < s->retry)
		s->retry = l->retry;
	planner_wake_if_risen(s, class, &s->aheads);
}

/* At the end of the ordering the noted wait groups are marked for retry; after that planned starts
 * are reviewed. */
static void order_some(struct sched *s)
{
	struct class *class;
	unsigned n;

	for (n = 0; n < SWEEP_STEP && (class = sweep_next(s, &s->order_at)); n++)
		order_class(s, class);
	if (s->order_at || !blocked_mark_noted(s))
		return;
	s->ordering = false;
	s->stats.orderings++;
	planner_ordered(s);
}

/* --- rising ---------------------------------------------------------------------------------- */

static void raise_some(struct sched *s)
{
	struct aheads all = planner_aheads(s);
	struct class *class;
	unsigned n;

	for (n = 0; n < SWEEP_STEP && (class = sweep_next(s, &s->rise_at)); n++)
		planner_wake_if_risen(s, class, &all);
	free(all.v);
	s->rising = s->rise_at || !blocked_mark_noted(s);
}

/* --- refill ---------------------------------------------------------------------------------- */

/* The best classes of one partition that have no planned start, the worst of them first. */
struct refill {
	struct heap *best;
	uint32_t room; /* planned starts that the partition may still have */
};

static void refill_moved(void *item, uint32_t index)
{
	class_link(item)->refill = index;
}

static void refill_free(struct sched *s)
{
	size_t i;

	for (i = 0; i < s->n_refills; i++)
		heap_free(s->refills[i].best);
	free(s->refills);
	s->refills = NULL;
	s->n_refills = 0;
}

void refill_begin(struct sched *s)
{
	const struct conf *conf = s->view.conf;
	bool any = false;
	size_t i;

	refill_end(s);
	s->n_refills = conf->n_partitions;
	s->refills = xcalloc(s->n_refills, sizeof(*s->refills));
	for (i = 0; i < s->n_refills; i++) {
		size_t count = plan_count_of(s->view.plan, (uint32_t)i);
		uint32_t depth = conf->partitions[i].plan_depth;

		s->refills[i] = (struct refill){ heap_new(refill_moved),
			depth > count ? depth - (uint32_t)count : 0 };
		any |= s->refills[i].room > 0;
	}
	s->refill_at = any ? classes_count(s->classes) : 0;
	if (!s->refill_at)
		refill_free(s);
}

void refill_forget(struct sched *s, struct class *class)
{
	struct class_link *l = class_link(class);

	if (l->refill != HEAP_NOWHERE)
		heap_remove(s->refills[l->partition].best, l->refill);
}

void refill_end(struct sched *s)
{
	size_t i;

	for (i = 0; i < s->n_refills; i++) {
		while (heap_count(s->refills[i].best))
			heap_remove(s->refills[i].best, 0);
	}
	refill_free(s);
	s->refill_at = 0;
}

static void consider(struct sched *s, struct class *class)
{
	const struct class_link *l = class_link(class);
	struct heap_key key = { ~l->key.a, ~l->key.b };
	struct refill *r;

	if (l->slot != HEAP_NOWHERE || l->reservation || l->partition == CONF_NONE ||
	        !decide_wants_capacity(&l->last))
		return;
	r = &s->refills[l->partition];
	if (heap_count(r->best) == r->room) {
		if (!r->room || heap_key_before(key, heap_first_key(r->best)))
			return;
		heap_remove(r->best, 0);
	}
	heap_put(r->best, key, class);
}

static void refill_some(struct sched *s)
{
	struct class *class;
	unsigned n;
	size_t i;

	for (n = 0; n < SWEEP_STEP && (class = sweep_next(s, &s->refill_at)); n++)
		consider(s, class);
	if (s->refill_at)
		return;
	for (i = 0; i < s->n_refills; i++) {
		while ((class = heap_first(s->refills[i].best))) {
			heap_remove(s->refills[i].best, 0);
			wake(s, class);
		}
	}
	refill_free(s);
}

/* --- all of them ----------------------------------------------------------------------------- */

static bool replan_due(const struct sched *s)
{
	return s->replan && s->view.now.mono - s->replanned >= REPLAN_EVERY;
}

bool sweeps_due(const struct sched *s)
{
	return s->wake_at || s->ordering || s->rising || s->refills || replan_due(s);
}

bool sweeps_step(struct sched *s)
{
	bool due = s->disordered || s->early || s->retry <= s->view.now.mono;

	if (!s->ordering && due && s->view.now.mono - s->ordered >= ORDER_EVERY)
		ordering_begin(s);
	if (s->wake_at) {
		wake_some(s);
	} else if (s->ordering) {
		order_some(s);
	} else if (s->rising) {
		raise_some(s);
	} else if (s->refills) {
		refill_some(s);
	} else if (replan_due(s)) {
		s->replan = false;
		s->replanned = s->view.now.mono;
		refill_begin(s);
	} else {
		return false;
	}
	return true;
}

void ordering_over(struct sched *s)
{
	uint64_t releases = quota_releases(limits_quota(s->view.limits));
	struct class *searching = planner_searching(s);

	s->usage_changed = false;
	planner_rekeyed(s);
	/* It waits for its turn as the ready classes do. */
	if (searching && class_over(s, searching) != class_link(searching)->key.a)
		class_rekey(s, searching);
	if (s->releases == releases)
		return; /* keys have only grown: each is checked in its turn */
	s->releases = releases;
	ready_released(s);
	blocked_released(s);
}
