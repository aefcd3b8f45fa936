/* ordering.c - the order of all classes, anew
 *
 * Fair-share ranks, then the keys of those with a planned start, then those of all classes, a few
 * in each step: with 10,000 of them it would be a stall. Until it is done nobody is tried, so
 * nothing is decided by two orders. What comes meanwhile gets a key of the new one.
 */
#include <stdlib.h>

#include "common/xalloc.h"
#include "ctld/core/sched_impl.h"

#define GATES_EVERY ((usec_t)60000000) /* limits over a window of time open by themselves */
#define ORDER_STEP  4                  /* classes: about as much work as trying one */

/* Entries by their new keys: has one passed another? */
static bool order_entries(struct sched *s)
{
	struct plan *plan = s->scene.plan;
	bool rose = false;
	size_t i;

	for (i = 0; i < plan_count(plan); i++)
		class_rekey(s, plan_at(plan, i)->owner);
	plan_sort(plan);
	for (i = 0; i < plan_count(plan); i++)
		rose |= plan_at(plan, i)->rose;
	return rose;
}

void ordering_begin(struct sched *s)
{
	s->ordering = true;
	s->order_at = classes_count(s->classes);
	s->ordered = s->scene.now.mono;
	s->ordered_wall = s->scene.now.wall;
	s->disordered = s->held_changed = false;
	if (accounts_stale(s->accounts))
		accounts_rank(s->accounts, s->scene.now);
	s->retry = INT64_MAX;
	s->gates_too = s->scene.now.mono - s->gates_tried >= GATES_EVERY;
	if (s->gates_too) {
		s->gates_tried = s->scene.now.mono;
		gates_time(s->scene.gates, s->scene.now);
	}
	s->rose = order_entries(s);
	free(s->aheads.v);
	s->aheads = planner_aheads(s);
}

static void order_class(struct sched *s, struct class *class)
{
	struct class_link *l = class_link(class);

	class_rekey(s, class);
	if (l->slot != HEAP_NOWHERE)
		return;
	if (l->retry <= s->scene.now.mono || (s->gates_too && l->last.verdict == VERDICT_GATE))
		wake(s, class);
	else if (l->retry < s->retry)
		s->retry = l->retry;
	planner_wake_if_risen(s, class, &s->aheads);
}

void ordering_step(struct sched *s)
{
	unsigned n;

	/* Whoever goes meanwhile leaves his number to one that is done. */
	if (s->order_at > classes_count(s->classes))
		s->order_at = classes_count(s->classes);
	for (n = 0; n < ORDER_STEP && s->order_at; n++)
		order_class(s, classes_at(s->classes, --s->order_at));
	if (s->order_at)
		return;
	s->ordering = false;
	s->stats.orderings++;
	park_stir_noted(s);
	planner_ordered(s);
}

void ordering_over(struct sched *s)
{
	struct class **v, *hunting = planner_hunting(s);
	size_t n, i;

	s->held_changed = false;
	planner_rekeyed(s);
	park_rekey_stirred(s);
	n = heap_count(s->ready);
	v = xcalloc(n + 1, sizeof(struct class *));
	for (i = 0; i < n; i++)
		v[i] = heap_at(s->ready, (uint32_t)i);
	if (hunting)
		v[n++] = hunting; /* it waits for its turn like those */
	for (i = 0; i < n; i++) {
		if (class_key_over(s, v[i]) != class_link(v[i])->key.a)
			class_rekey(s, v[i]);
	}
	free(v);
}
