/* crowd.c - see crowd.h */
#include "ctld/core/crowd.h"

#include <assert.h>
#include <stdlib.h>

#include "common/xalloc.h"
#include "ctld/core/hash.h"
#include "ctld/core/table.h"

struct crowds {
	struct table *table;
};

static uint64_t crowd_hash(const void *item, uint64_t seed)
{
	const struct crowd *c = item;
	uint64_t h = hash_u64((uint64_t)c->partition << 32 | c->alternative, seed);

	h = hash_u64((uint64_t)c->length_s << 32 | c->cpus, h);
	h = hash_u64((uintptr_t)c->gpus, h);
	return hash_u64(c->mem_mb, h);
}

static bool crowd_equal(const void *item, const void *key)
{
	const struct crowd *x = item, *y = key;

	return x->partition == y->partition && x->alternative == y->alternative &&
	       x->length_s == y->length_s && x->cpus == y->cpus && x->gpus == y->gpus &&
	       x->mem_mb == y->mem_mb;
}

struct crowds *crowds_new(uint64_t seed)
{
	struct crowds *cs = xcalloc(1, sizeof(*cs));

	cs->table = table_new(crowd_hash, seed);
	return cs;
}

void crowds_free(struct crowds *cs)
{
	if (!cs)
		return;
	assert(!table_count(cs->table));
	table_free(cs->table);
	free(cs);
}

static void candidate_moved(void *item, uint32_t index)
{
	((struct waiter *)item)->slot = index;
}

struct crowd *crowds_join(struct crowds *cs, const struct class *class, uint32_t alternative)
{
	const struct class_info *i = class_info(class);
	struct crowd key = { .partition = class_link_of(class)->partition,
		.alternative = alternative,
		.cpus = i->cpus,
		.length_s = i->length_s,
		.gpus = i->gpus,
		.mem_mb = i->mem_mb };
	struct crowd *c =
	        table_find(cs->table, crowd_hash(&key, table_seed(cs->table)), crowd_equal, &key);

	if (!c) {
		c = xmemdup(&key, sizeof(key));
		c->order = heap_new(candidate_moved);
		c->stirred = HEAP_NOWHERE;
		table_add(cs->table, c);
	}
	c->classes++;
	return c;
}

void crowds_leave(struct crowds *cs, struct crowd *c)
{
	if (--c->classes)
		return;
	assert(!c->n && !c->back_noted);
	table_remove(cs->table, c);
	heap_free(c->order);
	free(c);
}

struct ask crowd_ask(const struct crowd *c)
{
	return (struct ask){ c->gpus, c->cpus, c->mem_mb };
}
