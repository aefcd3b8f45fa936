/* table.c - see table.h
 *
 * Beside each pointer stand 32 bits of its hash: a probe looks at an object only when these agree,
 * and moving objects between slots looks at none.
 *
 * While it is being resized a table has two arrays. Items are added to the new one; each change
 * moves a few slots of the old one over and leaves MOVED behind, which probes step over. In the new
 * array a removal shifts later items back, so that it never holds a mark.
 */
#include "ctld/core/util/table.h"

#include <assert.h>
#include <stdlib.h>

#include "common/base/xalloc.h"

#define MIN_SLOTS  16
#define MOVE_SLOTS 32 /* old slots looked at by one change: done long before the next resize */

static const char moved_mark;
#define MOVED ((void *)(uintptr_t)&moved_mark)

struct slots {
	void **v;       /* NULL: free, and the end of a probe */
	uint32_t *hash; /* of v[i] */
	size_t mask;    /* slots less one; a power of two */
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
	return (struct slots){ xcalloc(n, sizeof(void *)), xcalloc(n, sizeof(uint32_t)), n - 1 };
}

static void slots_free(struct slots *s)
{
	free(s->v);
	free(s->hash);
	s->v = NULL;
	s->hash = NULL;
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
	slots_free(&t->now);
	slots_free(&t->old);
	free(t);
}

static uint32_t shorten(uint64_t hash)
{
	return (uint32_t)(hash ^ hash >> 32);
}

static uint32_t hash_of(const struct table *t, const void *item)
{
	return shorten(t->hash(item, t->seed));
}

static void put(struct slots *s, uint32_t hash, void *item)
{
	size_t i = hash & s->mask;

	while (s->v[i])
		i = (i + 1) & s->mask;
	s->v[i] = item;
	s->hash[i] = hash;
}

/* --- resizing -------------------------------------------------------------------------------- */

static void move_some(struct table *t, size_t slots)
{
	for (; t->old.v && slots; slots--) {
		void *item = t->old.v[t->at];

		/* A slot that was never used stays so: it is where probes end. */
		if (item && item != MOVED) {
			t->old.v[t->at] = MOVED;
			put(&t->now, t->old.hash[t->at], item);
		}
		if (t->at++ == t->old.mask)
			slots_free(&t->old);
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

static void *find(const struct slots *s, uint32_t hash, table_equal_fn *equal, const void *key)
{
	for (size_t i = hash & s->mask; s->v[i]; i = (i + 1) & s->mask) {
		if (s->hash[i] == hash && s->v[i] != MOVED && equal(s->v[i], key))
			return s->v[i];
	}
	return NULL;
}

void *table_find(const struct table *t, uint64_t hash, table_equal_fn *equal, const void *key)
{
	void *item = find(&t->now, shorten(hash), equal, key);

	return item || !t->old.v ? item : find(&t->old, shorten(hash), equal, key);
}

/* The slot of an item; -1: it is in the other array. */
static ptrdiff_t slot_of(const struct slots *s, uint32_t hash, const void *item)
{
	for (size_t i = hash & s->mask; s->v[i]; i = (i + 1) & s->mask) {
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
	put(&t->now, hash_of(t, item), item);
	t->count++;
	move_some(t, MOVE_SLOTS);
}

/* Fill the hole with a later item of the same cluster that may live there, and so on. */
static void shift_back(struct slots *s, size_t hole)
{
	for (size_t i = (hole + 1) & s->mask; s->v[i]; i = (i + 1) & s->mask) {
		size_t home = s->hash[i] & s->mask;

		if (((i - home) & s->mask) < ((i - hole) & s->mask))
			continue;
		s->v[hole] = s->v[i];
		s->hash[hole] = s->hash[i];
		hole = i;
	}
	s->v[hole] = NULL;
}

void table_remove(struct table *t, void *item)
{
	uint32_t hash = hash_of(t, item);
	ptrdiff_t i = slot_of(&t->now, hash, item);

	if (i >= 0) {
		shift_back(&t->now, (size_t)i);
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
