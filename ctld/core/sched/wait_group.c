/* wait_group.c - see wait_group.h */
#include "ctld/core/sched/wait_group.h"

#include <assert.h>
#include <stdlib.h>

#include "common/base/xalloc.h"
#include "ctld/core/util/hash.h"
#include "ctld/core/util/table.h"

struct wait_groups {
	struct table *table, *subgroups;
};

static uint64_t wait_group_hash(const void *item, uint64_t seed)
{
	const struct wait_group *c = item;
	uint64_t h = hash_u64((uint64_t)c->partition << 32 | c->alternative, seed);

	h = hash_u64((uint64_t)c->length_s << 32 | c->cpus, h);
	h = hash_u64((uintptr_t)c->gpus, h);
	h = hash_u64(c->user, h);
	return hash_u64(c->mem_mb, h);
}

static bool wait_group_equal(const void *item, const void *key)
{
	const struct wait_group *x = item, *y = key;

	return x->partition == y->partition && x->alternative == y->alternative &&
	       x->length_s == y->length_s && x->cpus == y->cpus && x->gpus == y->gpus &&
	       x->mem_mb == y->mem_mb && x->user == y->user;
}

static uint64_t subgroup_hash(const void *item, uint64_t seed)
{
	const struct subgroup *c = item;

	return hash_u64((uintptr_t)c->wait_group, hash_u64(c->account, seed));
}

static bool subgroup_equal(const void *item, const void *key)
{
	const struct subgroup *x = item, *y = key;

	return x->wait_group == y->wait_group && x->account == y->account;
}

struct wait_groups *wait_groups_new(uint64_t seed)
{
	struct wait_groups *cs = xcalloc(1, sizeof(*cs));

	cs->table = table_new(wait_group_hash, seed);
	cs->subgroups = table_new(subgroup_hash, seed);
	return cs;
}

void wait_groups_free(struct wait_groups *cs)
{
	if (!cs)
		return;
	assert(!table_count(cs->table) && !table_count(cs->subgroups));
	table_free(cs->table);
	table_free(cs->subgroups);
	free(cs);
}

static void candidate_moved(void *item, uint32_t index)
{
	((struct waiter *)item)->slot = index;
}

static void subgroup_moved(void *item, uint32_t index)
{
	((struct subgroup *)item)->slot = index;
}

static struct wait_group *want_wait_group(
        struct wait_groups *cs, const struct class *class, uint32_t alternative)
{
	const struct class_info *i = class_info(class);
	struct wait_group key = { .partition = class_link_of(class)->partition,
		.alternative = alternative,
		.cpus = i->cpus,
		.length_s = i->length_s,
		.gpus = i->gpus,
		.mem_mb = i->mem_mb,
		.user = class_link_of(class)->user };
	struct wait_group *c = table_find(
	        cs->table, wait_group_hash(&key, table_seed(cs->table)), wait_group_equal, &key);

	if (!c) {
		c = xmemdup(&key, sizeof(key));
		c->order = heap_new(subgroup_moved);
		c->marked = HEAP_NOWHERE;
		table_add(cs->table, c);
	}
	return c;
}

struct subgroup *wait_groups_join(
        struct wait_groups *cs, const struct class *class, uint32_t alternative, bool quotas)
{
	struct subgroup key = { .wait_group = want_wait_group(cs, class, alternative),
		.account = quotas ? class_link_of(class)->account : CONF_NONE,
		.slot = HEAP_NOWHERE };
	struct subgroup *c = table_find(cs->subgroups,
	        subgroup_hash(&key, table_seed(cs->subgroups)), subgroup_equal, &key);

	if (!c) {
		c = xmemdup(&key, sizeof(key));
		c->order = heap_new(candidate_moved);
		c->wait_group->subgroups++;
		table_add(cs->subgroups, c);
	}
	c->classes++;
	return c;
}

void wait_groups_leave(struct wait_groups *cs, struct subgroup *subgroup)
{
	struct wait_group *c = subgroup->wait_group;

	if (--subgroup->classes)
		return;
	assert(subgroup->slot == HEAP_NOWHERE);
	table_remove(cs->subgroups, subgroup);
	heap_free(subgroup->order);
	free(subgroup);
	if (--c->subgroups)
		return;
	assert(!c->n && !c->back_noted);
	table_remove(cs->table, c);
	heap_free(c->order);
	free(c);
}

/* --- candidates ------------------------------------------------------------------------------ */

/* Its best candidate or its first word may have changed: put it in its place in the wait group. */
static void place_subgroup(struct subgroup *subgroup)
{
	struct heap *order = subgroup->wait_group->order;
	struct heap_key key;

	if (!heap_count(subgroup->order)) {
		if (subgroup->slot != HEAP_NOWHERE)
			heap_remove(order, subgroup->slot);
		return;
	}
	key = (struct heap_key){ subgroup->over, heap_first_key(subgroup->order).b };
	if (subgroup->slot == HEAP_NOWHERE)
		heap_put(order, key, subgroup);
	else
		heap_rekey(order, subgroup->slot, key);
}

static struct heap_key rest_of_key(const struct waiter *w)
{
	return (struct heap_key){ 0, class_link(w->class)->key.b };
}

void wait_group_put(struct waiter *w)
{
	/* The word kept from earlier members may be older than this class's. */
	if (!heap_count(w->subgroup->order))
		w->subgroup->over = class_link(w->class)->key.a;
	heap_put(w->subgroup->order, rest_of_key(w), w);
	place_subgroup(w->subgroup);
}

void wait_group_take(struct waiter *w)
{
	heap_remove(w->subgroup->order, w->slot);
	place_subgroup(w->subgroup);
}

void wait_group_rekey(struct waiter *w)
{
	heap_rekey(w->subgroup->order, w->slot, rest_of_key(w));
	w->subgroup->over = class_link(w->class)->key.a;
	place_subgroup(w->subgroup);
}

void subgroup_rekey(struct subgroup *subgroup, uint64_t over)
{
	if (over == subgroup->over)
		return;
	subgroup->over = over;
	place_subgroup(subgroup);
}

struct waiter *wait_group_first(const struct wait_group *c)
{
	const struct subgroup *first = heap_first(c->order);

	return first ? heap_first(first->order) : NULL;
}

struct heap_key wait_group_first_key(const struct wait_group *c)
{
	return heap_first_key(c->order);
}

struct ask wait_group_ask(const struct wait_group *c)
{
	return (struct ask){ c->gpus, c->cpus, c->mem_mb, c->user };
}
