/* fill_order.h - nodes in the order in which they are to be filled
 *
 * An ordered set of (free CPUs, index): the first or last member with at least so many CPUs and so
 * much memory is found in O(log n), whatever the others have. It is a treap with a fixed
 * pseudo-random shape; each subtree knows the largest memory of a member. Members of many sets
 * share one pool of links; a member is in at most one set of its pool at a time.
 */
#ifndef CTLD_CORE_FILL_ORDER_H
#define CTLD_CORE_FILL_ORDER_H

#include <stdbool.h>
#include <stdint.h>

#define FILL_ORDER_NONE UINT32_MAX

struct fill_order_link {
	uint32_t left, right; /* FILL_ORDER_NONE: none */
	uint32_t cpus;
	uint64_t mem, most_mem; /* own; of the subtree */
};

/* `root` is a set: FILL_ORDER_NONE when empty. Members are positions in `pool`; ties go by
 * position. */
void fill_order_add(
        struct fill_order_link *pool, uint32_t *root, uint32_t member, uint32_t cpus, uint64_t mem);
void fill_order_remove(struct fill_order_link *pool, uint32_t *root, uint32_t member);

struct fill_order_want {
	uint32_t cpus; /* at least */
	uint64_t mem;
	bool last;                                /* the last such member, not the first */
	bool (*test)(void *arg, uint32_t member); /* NULL: any will do */
	void *arg;
};

/* The first (or last) member that meets `want`; FILL_ORDER_NONE: none. With a test it takes a step
 * more for each member that the test refuses. */
uint32_t fill_order_find(
        const struct fill_order_link *pool, uint32_t root, const struct fill_order_want *want);

#endif
