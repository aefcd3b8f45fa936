/* ready.c - the classes that are to be tried, the best first
 *
 * How far an account is over its quota is a part of the key of all its classes and changes with
 * each start and each end. So the classes of one account, one tier and one request form a *group*:
 * that word of the key is computed once for the group and kept until usage changes somewhere below
 * the account's uppermost account. The heap holds groups, and each group is a heap of its classes
 * by the second word of their keys.
 *
 * A start only moves groups back. So the word that a group is placed by may be too small; it is
 * checked when the group comes to the top. After a release it may be too large: then all groups
 * with ready classes are checked before the next class is taken.
 */
#include <assert.h>
#include <stdlib.h>

#include "common/base/xalloc.h"
#include "ctld/core/sched/sched_impl.h"
#include "ctld/core/util/hash.h"
#include "ctld/core/util/table.h"

struct ready_group {
	/* what is equal */
	uint32_t account, tier;
	const struct request *gpus; /* its classes keep it; NULL: no quotas */

	uint32_t classes;   /* ready or not */
	uint64_t over;      /* the first word of their keys, as of `version` */
	uint64_t version;   /* quota_version() plus 1; 0: never computed */
	uint64_t stands;    /* the first word that the group is placed by in the heap */
	struct heap *order; /* its ready classes */
	uint32_t slot;      /* index among the groups that have ready classes */
};

static uint64_t group_hash(const void *item, uint64_t seed)
{
	const struct ready_group *g = item;

	return hash_u64((uintptr_t)g->gpus, hash_u64((uint64_t)g->account << 32 | g->tier, seed));
}

static bool group_equal(const void *item, const void *key)
{
	const struct ready_group *x = item, *y = key;

	return x->account == y->account && x->tier == y->tier && x->gpus == y->gpus;
}

static void group_moved(void *item, uint32_t index)
{
	((struct ready_group *)item)->slot = index;
}

static void class_moved(void *item, uint32_t index)
{
	class_link(item)->slot = index;
}

void ready_new(struct sched *s, uint64_t seed)
{
	s->groups = table_new(group_hash, seed);
	s->ready = heap_new(group_moved);
}

void ready_free(struct sched *s)
{
	size_t cursor = 0;
	struct ready_group *g;

	while ((g = table_each(s->groups, &cursor))) {
		heap_free(g->order);
		free(g);
	}
	table_free(s->groups);
	heap_free(s->ready);
}

void ready_resolve(struct sched *s, struct class *class)
{
	struct class_link *l = class_link(class);
	bool counts = s->quotas && l->account != CONF_NONE;
	struct ready_group key = { .account = counts ? l->account : CONF_NONE,
		.tier = sched_tier(s, l->partition),
		.gpus = counts ? class_info(class)->gpus : NULL,
		.slot = HEAP_NOWHERE };
	struct ready_group *g = table_find(
	        s->groups, group_hash(&key, table_seed(s->groups)), group_equal, &key);

	if (!g) {
		g = xmemdup(&key, sizeof(key));
		g->order = heap_new(class_moved);
		table_add(s->groups, g);
	}
	g->classes++;
	l->group = g;
}

void ready_unresolve(struct sched *s, struct class *class)
{
	struct ready_group *g = class_link(class)->group;

	class_link(class)->group = NULL;
	if (!g || --g->classes)
		return;
	assert(g->slot == HEAP_NOWHERE);
	table_remove(s->groups, g);
	heap_free(g->order);
	free(g);
}

static uint64_t group_over(struct sched *s, struct ready_group *g)
{
	uint64_t version = 1;

	if (g->account != CONF_NONE)
		version += quota_version(limits_quota(s->view.limits), g->account);
	if (g->version != version) {
		s->work++;
		g->version = version;
		g->over = sched_over(s, g->tier, g->account, g->gpus);
	}
	return g->over;
}

uint64_t class_over(struct sched *s, const struct class *class)
{
	return group_over(s, class_link_of(class)->group);
}

/* --- those to be tried ----------------------------------------------------------------------- */

/* Its first class or its first word has changed: put it in its place. */
static void place_group(struct sched *s, struct ready_group *g)
{
	struct heap_key key;

	if (!heap_count(g->order)) {
		if (g->slot != HEAP_NOWHERE)
			heap_remove(s->ready, g->slot);
		return;
	}
	g->stands = group_over(s, g);
	key = (struct heap_key){ g->stands, heap_first_key(g->order).b };
	if (g->slot == HEAP_NOWHERE)
		heap_put(s->ready, key, g);
	else
		heap_rekey(s->ready, g->slot, key);
}

static struct heap_key rest_of_key(const struct class_link *l)
{
	return (struct heap_key){ 0, l->key.b };
}

void ready_put(struct sched *s, struct class *class)
{
	struct class_link *l = class_link(class);

	heap_put(l->group->order, rest_of_key(l), class);
	place_group(s, l->group);
	s->n_ready++;
}

void ready_remove(struct sched *s, struct class *class)
{
	struct class_link *l = class_link(class);

	heap_remove(l->group->order, l->slot);
	place_group(s, l->group);
	s->n_ready--;
}

void ready_rekey(struct sched *s, struct class *class)
{
	struct class_link *l = class_link(class);

	heap_rekey(l->group->order, l->slot, rest_of_key(l));
	place_group(s, l->group);
}

struct class *ready_first(struct sched *s)
{
	struct ready_group *g;
	struct class *class;

	while ((g = heap_first(s->ready)) && group_over(s, g) != g->stands)
		place_group(s, g);
	if (!g)
		return NULL;
	class = heap_first(g->order);
	class_link(class)->key.a = g->over;
	return class;
}

/* Compute the key that the group is placed by. */
static struct heap_key key_now(void *arg, void *item)
{
	struct ready_group *g = item;

	((struct sched *)arg)->work++;
	g->stands = group_over(arg, g);
	return (struct heap_key){ g->stands, heap_first_key(g->order).b };
}

void ready_released(struct sched *s)
{
	heap_rekey_all(s->ready, key_now, s);
}
