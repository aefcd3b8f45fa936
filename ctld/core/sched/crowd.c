/* crowd.c - see crowd.h */
#include "ctld/core/sched/crowd.h"

#include <assert.h>
#include <stdlib.h>

#include "common/base/xalloc.h"
#include "ctld/core/util/hash.h"
#include "ctld/core/util/table.h"

struct crowds {
	struct table *table, *camps;
};

static uint64_t crowd_hash(const void *item, uint64_t seed)
{
	const struct crowd *c = item;
	uint64_t h = hash_u64((uint64_t)c->partition << 32 | c->alternative, seed);

	h = hash_u64((uint64_t)c->length_s << 32 | c->cpus, h);
	h = hash_u64((uintptr_t)c->gpus, h);
	h = hash_u64(c->user, h);
	return hash_u64(c->mem_mb, h);
}

static bool crowd_equal(const void *item, const void *key)
{
	const struct crowd *x = item, *y = key;

	return x->partition == y->partition && x->alternative == y->alternative &&
	       x->length_s == y->length_s && x->cpus == y->cpus && x->gpus == y->gpus &&
	       x->mem_mb == y->mem_mb && x->user == y->user;
}

static uint64_t camp_hash(const void *item, uint64_t seed)
{
	const struct camp *c = item;

	return hash_u64((uintptr_t)c->crowd, hash_u64(c->account, seed));
}

static bool camp_equal(const void *item, const void *key)
{
	const struct camp *x = item, *y = key;

	return x->crowd == y->crowd && x->account == y->account;
}

struct crowds *crowds_new(uint64_t seed)
{
	struct crowds *cs = xcalloc(1, sizeof(*cs));

	cs->table = table_new(crowd_hash, seed);
	cs->camps = table_new(camp_hash, seed);
	return cs;
}

void crowds_free(struct crowds *cs)
{
	if (!cs)
		return;
	assert(!table_count(cs->table) && !table_count(cs->camps));
	table_free(cs->table);
	table_free(cs->camps);
	free(cs);
}

static void candidate_moved(void *item, uint32_t index)
{
	((struct waiter *)item)->slot = index;
}

static void camp_moved(void *item, uint32_t index)
{
	((struct camp *)item)->slot = index;
}

static struct crowd *want_crowd(struct crowds *cs, const struct class *class, uint32_t alternative)
{
	const struct class_info *i = class_info(class);
	struct crowd key = { .partition = class_link_of(class)->partition,
		.alternative = alternative,
		.cpus = i->cpus,
		.length_s = i->length_s,
		.gpus = i->gpus,
		.mem_mb = i->mem_mb,
		.user = class_link_of(class)->user };
	struct crowd *c =
	        table_find(cs->table, crowd_hash(&key, table_seed(cs->table)), crowd_equal, &key);

	if (!c) {
		c = xmemdup(&key, sizeof(key));
		c->order = heap_new(camp_moved);
		c->stirred = HEAP_NOWHERE;
		table_add(cs->table, c);
	}
	return c;
}

struct camp *crowds_join(
        struct crowds *cs, const struct class *class, uint32_t alternative, bool quotas)
{
	struct camp key = { .crowd = want_crowd(cs, class, alternative),
		.account = quotas ? class_link_of(class)->account : CONF_NONE,
		.slot = HEAP_NOWHERE };
	struct camp *c =
	        table_find(cs->camps, camp_hash(&key, table_seed(cs->camps)), camp_equal, &key);

	if (!c) {
		c = xmemdup(&key, sizeof(key));
		c->order = heap_new(candidate_moved);
		c->crowd->camps++;
		table_add(cs->camps, c);
	}
	c->classes++;
	return c;
}

void crowds_leave(struct crowds *cs, struct camp *camp)
{
	struct crowd *c = camp->crowd;

	if (--camp->classes)
		return;
	assert(camp->slot == HEAP_NOWHERE);
	table_remove(cs->camps, camp);
	heap_free(camp->order);
	free(camp);
	if (--c->camps)
		return;
	assert(!c->n && !c->back_noted);
	table_remove(cs->table, c);
	heap_free(c->order);
	free(c);
}

/* --- candidates ------------------------------------------------------------------------------ */

/* Its best candidate or its first word may have changed: put it in its place in the crowd. */
static void place_camp(struct camp *camp)
{
	struct heap *order = camp->crowd->order;
	struct heap_key key;

	if (!heap_count(camp->order)) {
		if (camp->slot != HEAP_NOWHERE)
			heap_remove(order, camp->slot);
		return;
	}
	key = (struct heap_key){ camp->over, heap_first_key(camp->order).b };
	if (camp->slot == HEAP_NOWHERE)
		heap_put(order, key, camp);
	else
		heap_rekey(order, camp->slot, key);
}

static struct heap_key rest_of_key(const struct waiter *w)
{
	return (struct heap_key){ 0, class_link(w->class)->key.b };
}

void crowd_put(struct waiter *w)
{
	/* The word kept from earlier members may be older than this class's. */
	if (!heap_count(w->camp->order))
		w->camp->over = class_link(w->class)->key.a;
	heap_put(w->camp->order, rest_of_key(w), w);
	place_camp(w->camp);
}

void crowd_take(struct waiter *w)
{
	heap_remove(w->camp->order, w->slot);
	place_camp(w->camp);
}

void crowd_rekey(struct waiter *w)
{
	heap_rekey(w->camp->order, w->slot, rest_of_key(w));
	w->camp->over = class_link(w->class)->key.a;
	place_camp(w->camp);
}

void camp_rekey(struct camp *camp, uint64_t over)
{
	if (over == camp->over)
		return;
	camp->over = over;
	place_camp(camp);
}

struct waiter *crowd_first(const struct crowd *c)
{
	const struct camp *first = heap_first(c->order);

	return first ? heap_first(first->order) : NULL;
}

struct heap_key crowd_first_key(const struct crowd *c)
{
	return heap_first_key(c->order);
}

struct ask crowd_ask(const struct crowd *c)
{
	return (struct ask){ c->gpus, c->cpus, c->mem_mb, c->user };
}
