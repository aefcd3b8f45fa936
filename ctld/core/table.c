/* table.c - see table.h
 *
 * While it is being resized a table has two arrays. Items are added to the new one; each change
 * moves a few slots of the old one over and leaves MOVED behind, which probes step over. In the new
 * array a removal shifts later items back, so that it never holds a mark.
 */
#include "ctld/core/table.h"

#include <assert.h>
#include <stdlib.h>

#include "common/xalloc.h"

#define MIN_SLOTS  16
#define MOVE_SLOTS 32 /* old slots looked at by one change: done long before the next resize */

static const char moved_mark;
#define MOVED ((void *)(uintptr_t)&moved_mark)

struct slots {
	void **v;
	size_t mask; /* slots less one; a power of two */
};

struct table {
	struct slots now, old; /* old.v NULL: not being resized */
	size_t at;             /* old slots before this one have been moved */
	size_t count;
	table_hash_fn *hash;
	uint64_t seed;
};

static struct slots slots_new(size_t n)
{
	return (struct slots){ xcalloc(n, sizeof(void *)), n - 1 };
}

struct table *table_new(table_hash_fn *hash, uint64_t seed)
{
	struct table *t = xcalloc(1, sizeof(*t));

	t->now = slots_new(MIN_SLOTS);
	t->hash = hash;
	t->seed = seed;
	return t;
}

void table_free(struct table *t)
{
	if (!t)
		return;
	free(t->now.v);
	free(t->old.v);
	free(t);
}

static void put(struct table *t, void *item)
{
	size_t i = t->hash(item, t->seed) & t->now.mask;

	while (t->now.v[i])
		i = (i + 1) & t->now.mask;
	t->now.v[i] = item;
}

/* --- resizing -------------------------------------------------------------------------------- */

static void move_some(struct table *t, size_t slots)
{
	for (; t->old.v && slots; slots--) {
		void *item = t->old.v[t->at];

		/* A slot that was never used stays so: it is where probes end. */
		if (item && item != MOVED) {
			t->old.v[t->at] = MOVED;
			put(t, item);
		}
		if (t->at++ == t->old.mask) {
			free(t->old.v);
			t->old.v = NULL;
		}
	}
}

static void resize(struct table *t, size_t slots)
{
	move_some(t, SIZE_MAX);
	t->old = t->now;
	t->at = 0;
	t->now = slots_new(slots);
}

/* --- finding --------------------------------------------------------------------------------- */

static void *find(const struct slots *s, uint64_t hash, table_equal_fn *equal, const void *key)
{
	size_t i;

	for (i = hash & s->mask; s->v[i]; i = (i + 1) & s->mask) {
		if (s->v[i] != MOVED && equal(s->v[i], key))
			return s->v[i];
	}
	return NULL;
}

void *table_find(const struct table *t, uint64_t hash, table_equal_fn *equal, const void *key)
{
	void *item = find(&t->now, hash, equal, key);

	return item || !t->old.v ? item : find(&t->old, hash, equal, key);
}

/* The slot of an item; -1: it is in the other array. */
static ptrdiff_t slot_of(const struct slots *s, uint64_t hash, const void *item)
{
	size_t i;

	for (i = hash & s->mask; s->v[i]; i = (i + 1) & s->mask) {
		if (s->v[i] == item)
			return (ptrdiff_t)i;
	}
	return -1;
}

/* --- changing -------------------------------------------------------------------------------- */

void table_add(struct table *t, void *item)
{
	if ((t->count + 1) * 4 > (t->now.mask + 1) * 3)
		resize(t, (t->now.mask + 1) * 2);
	put(t, item);
	t->count++;
	move_some(t, MOVE_SLOTS);
}

/* Fill the hole with a later item of the same cluster that may live there, and so on. */
static void shift_back(struct table *t, size_t hole)
{
	const struct slots *s = &t->now;
	size_t i;

	for (i = (hole + 1) & s->mask; s->v[i]; i = (i + 1) & s->mask) {
		size_t home = t->hash(s->v[i], t->seed) & s->mask;

		if (((i - home) & s->mask) < ((i - hole) & s->mask))
			continue;
		s->v[hole] = s->v[i];
		hole = i;
	}
	s->v[hole] = NULL;
}

void table_remove(struct table *t, void *item)
{
	uint64_t hash = t->hash(item, t->seed);
	ptrdiff_t i = slot_of(&t->now, hash, item);

	if (i >= 0) {
		shift_back(t, (size_t)i);
	} else {
		i = t->old.v ? slot_of(&t->old, hash, item) : -1;
		assert(i >= 0);
		t->old.v[i] = MOVED;
	}
	t->count--;
	if (t->now.mask + 1 > MIN_SLOTS && t->count * 8 < t->now.mask + 1 && !t->old.v)
		resize(t, (t->now.mask + 1) / 2);
	move_some(t, MOVE_SLOTS);
}

/* --- looking --------------------------------------------------------------------------------- */

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
	size_t slots = t->now.mask + 1 + (t->old.v ? t->old.mask + 1 : 0);

	return sizeof(*t) + slots * sizeof(void *);
}

void *table_each(const struct table *t, size_t *cursor)
{
	while (*cursor <= t->now.mask) {
		void *item = t->now.v[(*cursor)++];

		if (item)
			return item;
	}
	while (t->old.v && *cursor - t->now.mask - 1 <= t->old.mask) {
		void *item = t->old.v[(*cursor)++ - t->now.mask - 1];

		if (item && item != MOVED)
			return item;
	}
	return NULL;
}
