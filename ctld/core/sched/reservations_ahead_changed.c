/* reservations_ahead_changed.c - has the set of planned starts ahead of a class changed
 * since it was blocked?
 *
 * A class that was held back by planned starts is tried again if other reservations stand before it
 * than when it was blocked. A hash of their owners tells: a sum, so that no order matters.
 *
 * What the sums are made of is noted anew after a change of the plan or of a reservation's key. A
 * few classes then add up their own; only if more ask is all of it sorted, and they find their sums
 * by binary search.
 */
#include <stdlib.h>

#include "common/base/bisect.h"
#include "common/base/xalloc.h"
#include "ctld/core/sched/sched_impl.h"
#include "ctld/core/util/hash.h"
#include "ctld/core/util/resort.h"

#define ADD_UP 16 /* classes that add up their own: about what sorting costs */

struct ahead {
	struct heap_key key;
	uint64_t own, before; /* the hash of its owner; the sum of those before it, once sorted */
};

static int by_ahead_key(const void *x, const void *y)
{
	const struct ahead *a = x, *b = y;

	return heap_key_before(a->key, b->key) ? -1 : heap_key_before(b->key, a->key);
}

/* By the id of the head: with another head the class has another reservation. */
static uint64_t owner_hash(const struct reservation *e)
{
	return hash_u64(job_id(class_head(e->owner)), 1);
}

/* A preemption reservation stands before every key. */
static void note(struct aheads *all, const struct plan *plan)
{
	size_t n = plan_count(plan), i;

	all->v = xrealloc(all->v, n ? n : 1, sizeof(*all->v));
	all->n = 0;
	all->preempts = 0;
	for (i = 0; i < n; i++) {
		const struct reservation *e = plan_at(plan, i);

		if (e->preempts)
			all->preempts += owner_hash(e);
		else
			all->v[all->n++] = (struct ahead){ .key = e->key, .own = owner_hash(e) };
	}
}

static void sort_up(struct aheads *all)
{
	uint64_t sum = 0;
	size_t i;

	resort(all->v, all->n, sizeof(*all->v), by_ahead_key);
	for (i = 0; i < all->n; i++) {
		all->v[i].before = sum;
		sum += all->v[i].own;
	}
}

static uint64_t add_up(const struct aheads *all, struct heap_key key)
{
	uint64_t sum = all->preempts;
	size_t i;

	for (i = 0; i < all->n; i++) {
		if (heap_key_before(all->v[i].key, key))
			sum += all->v[i].own;
	}
	return sum;
}

uint64_t ahead_of(struct sched *s, struct heap_key key)
{
	struct aheads *all = &s->aheads;
	uint64_t changes = plan_changes(s->view.plan) + 1; /* 0: never added up */
	size_t at;

	if (all->changes != changes) {
		all->changes = changes;
		all->asked = 0;
		s->work += plan_count(s->view.plan);
		note(all, s->view.plan);
	}
	if (all->asked < ADD_UP) {
		all->asked++;
		return add_up(all, key);
	}
	if (all->asked == ADD_UP) {
		all->asked++;
		sort_up(all);
	}
	BISECT(at, all->n, heap_key_before(all->v[at].key, key));
	return all->preempts + (at ? all->v[at - 1].before + all->v[at - 1].own : 0);
}

void ahead_changed(struct sched *s)
{
	s->aheads.changes = 0;
}

void ahead_free(struct sched *s)
{
	free(s->aheads.v);
	s->aheads = (struct aheads){ .v = NULL };
}
