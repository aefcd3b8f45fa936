/* class_sweep.c - what is done with all classes, a few in each step
 *
 * With 10,000 classes a single step would stall the controller. No class is tried until a sweep is
 * done, so that all decisions use one order; a class that arrives meanwhile gets a key of the new
 * order. A sweep goes from the last class number to the first: a class that is removed leaves its
 * number to one that the sweep has already passed. Sweeps that are due are done one after another:
 *
 *	wake	every class becomes ready and is tried again
 *	order	fair-share ranks, the keys of classes with a planned start, then of all classes
 *	rise	classes that planned starts hold back become ready if other reservations are ahead
 *		of them now
 *	refill	planned starts for the best classes that have none
 */
#include <stdlib.h>

#include "common/base/xalloc.h"
#include "ctld/core/sched/sched_impl.h"

#define LIMITS_EVERY ((usec_t)60000000) /* limits over a time window open by themselves */
#define SWEEP_STEP   64                 /* classes that one step looks at */

/* --- order ----------------------------------------------------------------------------------- */

/* Put the reservations in the order of their new keys. True: some reservation has passed another.
 */
static bool order_reservations(struct sched *s)
{
	struct plan *plan = s->view.plan;
	bool promoted = false;

	s->work += plan_count(plan);
	for (size_t i = 0; i < plan_count(plan); i++)
		class_rekey(s, plan_at(plan, i)->owner);
	plan_sort(plan);
	for (size_t i = 0; i < plan_count(plan); i++)
		promoted |= plan_at(plan, i)->promoted;
	return promoted;
}

/* What all keys depend on, at once: the moment that ages count to, fair-share ranks, limits over
 * time, and the keys of the reservations, which the classes are compared with. */
static void order_begin(struct sched *s)
{
	s->ordered = s->view.now.mono;
	s->ordered_wall = s->view.now.wall;
	s->disordered = s->usage_changed = false;
	search_ordering(s);
	accounts_order(s->accounts, s->view.now);
	s->retry = INT64_MAX;
	s->limits_too = s->view.now.mono - s->limits_tried >= LIMITS_EVERY;
	if (s->limits_too) {
		s->limits_tried = s->view.now.mono;
		limits_time(s->view.limits, s->view.now);
	}
	s->promoted = order_reservations(s);
}

/* Its key, and whether it is to be tried again: its retry is due, limits over time have moved on,
 * or other planned starts are before it. */
static void order_class(struct sched *s, struct class *class)
{
	struct class_link *l = class_link(class);

	class_rekey(s, class);
	if (class_ready(class))
		return;
	search_consider(s, class);
	if (l->retry <= s->view.now.mono || (s->limits_too && l->last.verdict == VERDICT_LIMIT))
		wake(s, class);
	else if (l->retry < s->retry)
		s->retry = l->retry;
	planner_wake_if_risen(s, class);
}

/* At the end of the ordering the noted groups are marked; after that planned starts are
 * reviewed. */
static bool order_end(struct sched *s)
{
	if (!blocked_mark_noted(s))
		return false;
	s->stats.orderings++;
	planner_ordered(s);
	return true;
}

/* --- refill ---------------------------------------------------------------------------------- */

/* The best classes of one partition that have no planned start, the worst of them first. */
struct refill {
	struct heap *best;
	uint32_t room; /* planned starts that the partition may still have */
};

static void refill_moved(void *item, uint32_t index)
{
	(void)item;
	(void)index;
}

static void refill_free(struct sched *s)
{
	for (size_t i = 0; i < s->n_refills; i++)
		heap_free(s->refills[i].best);
	free(s->refills);
	s->refills = NULL;
	s->n_refills = 0;
}

/* If no partition may have another planned start, the sweep is over at once. */
static void refill_begin(struct sched *s)
{
	const struct conf *conf = s->view.conf;
	bool any = false;

	if (s->replan)
		s->replanned = s->view.now.mono;
	s->replan = false;
	s->n_refills = conf->n_partitions;
	s->refills = xcalloc(s->n_refills, sizeof(*s->refills));
	for (size_t i = 0; i < s->n_refills; i++) {
		size_t count = plan_count_of(s->view.plan, (uint32_t)i);
		uint32_t depth = conf->partitions[i].plan_depth;

		s->refills[i] = (struct refill){ heap_new(refill_moved),
			depth > count ? depth - (uint32_t)count : 0 };
		any |= s->refills[i].room > 0;
	}
	if (!any)
		s->sweep_at = 0;
}

void refill_forget(struct sched *s, const struct class *class)
{
	uint32_t partition = class_link_of(class)->partition, i;
	struct heap *best = partition < s->n_refills ? s->refills[partition].best : NULL;

	for (i = 0; best && i < heap_count(best); i++) {
		if (heap_at(best, i) == class) {
			heap_remove(best, i);
			return;
		}
	}
}

/* A heap for each partition of the best so many, with the worst of them on top: the keys are
 * complemented. */
static void refill_class(struct sched *s, struct class *class)
{
	const struct class_link *l = class_link(class);
	struct heap_key key = { ~l->key.a, ~l->key.b };
	struct refill *r;

	if (class_ready(class) || l->reservation || l->partition == CONF_NONE ||
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

/* They are made ready; a refusal then leads to the search for a start. */
static bool refill_end(struct sched *s)
{
	struct class *class;

	for (size_t i = 0; i < s->n_refills; i++) {
		while ((class = heap_first(s->refills[i].best))) {
			heap_remove(s->refills[i].best, 0);
			wake(s, class);
		}
	}
	refill_free(s);
	return true;
}

/* --- sweeps ---------------------------------------------------------------------------------- */

static const struct {
	void (*begin)(struct sched *s); /* may be NULL */
	void (*class)(struct sched *s, struct class *class);
	bool (*end)(struct sched *s); /* may be NULL. False: it is to be called again */
} sweeps[N_SWEEPS] = {
	[SWEEP_WAKE] = { NULL, wake, NULL },
	[SWEEP_ORDER] = { order_begin, order_class, order_end },
	[SWEEP_RISE] = { NULL, planner_wake_if_risen, blocked_mark_noted },
	[SWEEP_REFILL] = { refill_begin, refill_class, refill_end },
};

void sched_wake_all(struct sched *s)
{
	s->sweeps |= 1u << SWEEP_WAKE;
}

/* What time makes due. */
static unsigned due(const struct sched *s)
{
	usec_t now = s->view.now.mono;
	unsigned which = s->sweeps;

	if ((s->disordered || s->early || s->retry <= now) && now - s->ordered >= ORDER_EVERY)
		which |= 1u << SWEEP_ORDER;
	if (s->replan && now - s->replanned >= REPLAN_EVERY)
		which |= 1u << SWEEP_REFILL;
	return which;
}

bool sweeps_due(const struct sched *s)
{
	return s->sweep != SWEEP_NONE || (due(s) & ~(1u << SWEEP_ORDER));
}

/* Begin the first of those that are due. */
static bool sweep_begin(struct sched *s)
{
	unsigned which = due(s);

	if (!which)
		return false;
	s->sweep = (enum sweep)__builtin_ctz(which);
	s->sweeps &= ~(1u << s->sweep);
	s->sweep_at = classes_count(s->classes);
	if (sweeps[s->sweep].begin)
		sweeps[s->sweep].begin(s);
	return true;
}

bool sweeps_step(struct sched *s)
{
	size_t n = classes_count(s->classes);

	if (s->sweep == SWEEP_NONE && !sweep_begin(s))
		return false;
	s->sweep_at = s->sweep_at < n ? s->sweep_at : n;
	for (unsigned i = 0; i < SWEEP_STEP && s->sweep_at; i++) {
		s->work++;
		sweeps[s->sweep].class(s, classes_at(s->classes, --s->sweep_at));
	}
	if (!s->sweep_at && (!sweeps[s->sweep].end || sweeps[s->sweep].end(s)))
		s->sweep = SWEEP_NONE;
	return true;
}

/* Another configuration: what was collected has numbers of the old one. */
void sweeps_configure(struct sched *s)
{
	refill_free(s);
	if (s->sweep == SWEEP_REFILL)
		s->sweep = SWEEP_NONE;
}

void ordering_over(struct sched *s)
{
	uint64_t releases = quota_releases(limits_quota(s->view.limits));
	struct class *searching = search_class(s);

	s->usage_changed = false;
	planner_rekeyed(s);
	/* It waits for its turn as the ready classes do. */
	if (searching && wait_word(s->wait_groups, searching) != class_link(searching)->key.a)
		class_rekey(s, searching);
	if (s->releases == releases)
		return; /* keys have only grown: each is checked in its turn */
	s->releases = releases;
	wait_released(s->wait_groups);
}
