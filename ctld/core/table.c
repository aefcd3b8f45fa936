/* table.c - see table.h */
#include "ctld/core/table.h"

#include <assert.h>
#include <stdlib.h>

#include "common/xalloc.h"

#define MIN_SLOTS 16

struct table {
	void **slots;
	size_t mask, count; /* slots less one; power of two */
	table_hash_fn *hash;
	uint64_t seed;
};

struct table *table_new(table_hash_fn *hash, uint64_t seed)
{
	struct table *t = xcalloc(1, sizeof(*t));

	t->slots = xcalloc(MIN_SLOTS, sizeof(*t->slots));
	t->mask = MIN_SLOTS - 1;
	t->hash = hash;
	t->seed = seed;
	return t;
}

void table_free(struct table *t)
{
	if (!t)
		return;
	free(t->slots);
	free(t);
}

static size_t home(const struct table *t, const void *item)
{
	return t->hash(item, t->seed) & t->mask;
}

static void put(struct table *t, void *item)
{
	size_t i = home(t, item);

	while (t->slots[i])
		i = (i + 1) & t->mask;
	t->slots[i] = item;
}

static void resize(struct table *t, size_t slots)
{
	void **old = t->slots;
	size_t n = t->mask + 1, i;

	t->slots = xcalloc(slots, sizeof(*t->slots));
	t->mask = slots - 1;
	for (i = 0; i < n; i++) {
		if (old[i])
			put(t, old[i]);
	}
	free(old);
}

void *table_find(const struct table *t, uint64_t hash, table_equal_fn *equal, const void *key)
{
	size_t i;

	for (i = hash & t->mask; t->slots[i]; i = (i + 1) & t->mask) {
		if (equal(t->slots[i], key))
			return t->slots[i];
	}
	return NULL;
}

void table_add(struct table *t, void *item)
{
	if ((t->count + 1) * 4 > (t->mask + 1) * 3)
		resize(t, (t->mask + 1) * 2);
	put(t, item);
	t->count++;
}

void table_remove(struct table *t, void *item)
{
	size_t i = home(t, item), j;

	while (t->slots[i] != item) {
		assert(t->slots[i]);
		i = (i + 1) & t->mask;
	}
	/* Move later items of the same cluster back over the hole, if they may live there. */
	for (j = (i + 1) & t->mask; t->slots[j]; j = (j + 1) & t->mask) {
		size_t h = home(t, t->slots[j]);

		if (((j - h) & t->mask) < ((j - i) & t->mask))
			continue;
		t->slots[i] = t->slots[j];
		i = j;
	}
	t->slots[i] = NULL;
	t->count--;
	if (t->mask + 1 > MIN_SLOTS && t->count * 8 < t->mask + 1)
		resize(t, (t->mask + 1) / 2);
}

size_t table_count(const struct table *t)
{
	return t->count;
}

uint64_t table_seed(const struct table *t)
{
	return t->seed;
}

size_t table_bytes(const struct table *t)
{
	return sizeof(*t) + (t->mask + 1) * sizeof(*t->slots);
}

void *table_each(const struct table *t, size_t *cursor)
{
	while (*cursor <= t->mask) {
		void *item = t->slots[(*cursor)++];

		if (item)
			return item;
	}
	return NULL;
}
