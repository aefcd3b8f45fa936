/* heap.c - see heap.h
 *
 * A binary heap of (key, item). The owner of an item is told its index whenever it moves, so
 * removing any item, or giving it another key, is O(log n) and needs no search. Equal keys have no
 * order among each other: where the order matters to a replay, the second word of the key is
 * unique.
 */
#include "ctld/core/util/heap.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>

#include "common/base/xalloc.h"

struct entry {
	struct heap_key key;
	void *item;
};

struct heap {
	struct entry *v;
	size_t n, size;
	heap_moved_fn *moved;
};

struct heap *heap_new(heap_moved_fn *moved)
{
	struct heap *h = xcalloc(1, sizeof(*h));

	h->moved = moved;
	return h;
}

void heap_free(struct heap *h)
{
	if (!h)
		return;
	free(h->v);
	free(h);
}

/* The only way into the array: no item moves without its owner being told. */
static void place(struct heap *h, size_t i, struct entry e)
{
	h->v[i] = e;
	h->moved(e.item, (uint32_t)i);
}

static void up(struct heap *h, size_t i, struct entry e)
{
	while (i && heap_key_before(e.key, h->v[(i - 1) / 2].key)) {
		place(h, i, h->v[(i - 1) / 2]);
		i = (i - 1) / 2;
	}
	place(h, i, e);
}

static void down(struct heap *h, size_t i, struct entry e)
{
	for (;;) {
		size_t c = 2 * i + 1;

		if (c + 1 < h->n && heap_key_before(h->v[c + 1].key, h->v[c].key))
			c++;
		if (c >= h->n || !heap_key_before(h->v[c].key, e.key))
			break;
		place(h, i, h->v[c]);
		i = c;
	}
	place(h, i, e);
}

/* Put `e` at or near the free place `i`. */
static void settle(struct heap *h, size_t i, struct entry e)
{
	if (i && heap_key_before(e.key, h->v[(i - 1) / 2].key))
		up(h, i, e);
	else
		down(h, i, e);
}

void heap_put(struct heap *h, struct heap_key key, void *item)
{
	if (h->n == h->size) {
		h->size = h->size ? h->size + h->size / 2 + 1 : 4;
		h->v = xrealloc(h->v, h->size, sizeof(*h->v));
	}
	h->n++;
	up(h, h->n - 1, (struct entry){ key, item });
}

/* The last entry takes the place. Memory shrinks when three quarters are free, so that a large heap
 * of the past costs nothing. */
void heap_remove(struct heap *h, uint32_t index)
{
	void *item;

	assert(index < h->n);
	item = h->v[index].item;
	h->n--;
	if (index < h->n)
		settle(h, index, h->v[h->n]);
	h->moved(item, HEAP_NOWHERE);
	if (h->size > 64 && h->n < h->size / 4) {
		h->size /= 2;
		h->v = xrealloc(h->v, h->size, sizeof(*h->v));
	}
}

void heap_rekey(struct heap *h, uint32_t index, struct heap_key key)
{
	const struct heap_key *old;

	assert(index < h->n);
	old = &h->v[index].key;
	if (old->a != key.a || old->b != key.b)
		settle(h, index, (struct entry){ key, h->v[index].item });
}

/* All keys at once and then one pass from the bottom: O(n), where one after another would be O(n
 * log n). */
void heap_rekey_all(struct heap *h, heap_key_fn *key, void *arg)
{
	for (size_t i = 0; i < h->n; i++)
		h->v[i].key = key(arg, h->v[i].item);
	for (size_t i = h->n / 2; i--;)
		down(h, i, h->v[i]);
}

void *heap_first(const struct heap *h)
{
	return h->n ? h->v[0].item : NULL;
}

struct heap_key heap_first_key(const struct heap *h)
{
	return h->v[0].key;
}

size_t heap_count(const struct heap *h)
{
	return h->n;
}

void *heap_at(const struct heap *h, uint32_t index)
{
	return h->v[index].item;
}
