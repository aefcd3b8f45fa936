/* heap.h - a priority queue that knows where each item is
 *
 * A binary heap, smallest key first; keys are pairs of words compared as numbers. A callback gives
 * the item its place whenever it moves, so that any item can be removed or get another key in
 * O(log n). Keys must differ between items, else the order of equal ones is undefined.
 */
#ifndef CTLD_CORE_HEAP_H
#define CTLD_CORE_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HEAP_NOWHERE UINT32_MAX

struct heap_key {
	uint64_t a, b;
};

static inline bool heap_key_before(struct heap_key x, struct heap_key y)
{
	return x.a != y.a ? x.a < y.a : x.b < y.b;
}

struct heap;

/* `index` is the item's new place; HEAP_NOWHERE when it leaves. */
typedef void heap_moved_fn(void *item, uint32_t index);

struct heap *heap_new(heap_moved_fn *moved);
void heap_free(struct heap *h); /* NULL is fine; the callback is not called */

void heap_put(struct heap *h, struct heap_key key, void *item);
void heap_remove(struct heap *h, uint32_t index);
void heap_rekey(struct heap *h, uint32_t index, struct heap_key key);

/* Compute all keys again, in O(n). */
typedef struct heap_key heap_key_fn(void *arg, void *item);
void heap_rekey_all(struct heap *h, heap_key_fn *key, void *arg);

void *heap_first(const struct heap *h);               /* NULL: empty */
struct heap_key heap_first_key(const struct heap *h); /* not of an empty heap */
size_t heap_count(const struct heap *h);
void *heap_at(const struct heap *h, uint32_t index); /* any order but heap order; for checks */

#endif
