/* nodes_by_free_gpus.h - the nodes of one set, in buckets by free GPUs; for the ledger
 *
 * For each kind (a GPU type that some node of the set has, or TYPE_NONE for the node as such),
 * each node that accepts work is in the bucket of its number of free GPUs. A slot is the place of
 * one node in one kind of one set; the ledger keeps a node's slots with the node. A node that is
 * reserved (ledger.h) is counted in its bucket too, but is in a separate list.
 */
#ifndef CTLD_CORE_NODES_BY_FREE_GPUS_H
#define CTLD_CORE_NODES_BY_FREE_GPUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/conf/conf.h"

struct capacity;

struct capacity_slot {
	uint32_t set;    /* for the ledger */
	uint32_t member; /* position in the kind */
	uint16_t kind;
	uint16_t type; /* the type of the kind */
};

/* What a search requires of one node. */
struct capacity_want {
	uint16_t type;
	uint32_t gpus, cpus; /* at least */
	uint64_t mem;
	bool spread;          /* prefer the node where the most is free */
	const uint64_t *only; /* a set of nodes (nodefilter.h) to which the search is limited;
			       * NULL: all nodes */
	uint32_t n_only;      /* number of nodes in it */
	bool (*test)(void *arg, uint32_t node);  /* further conditions; NULL: none */
	bool (*reserved)(void *arg, uint32_t node); /* the same for a node reserved; NULL: no such
	                                             * node will do */
	/* The preference among nodes with equally many free GPUs, the largest first; NULL: none. */
	uint64_t (*worth)(void *arg, uint32_t node);
	void *arg;
};

struct capacity_find {
	uint32_t node, gpus, cpus; /* free */
	uint64_t worth;
	uint16_t type;
	bool reserved;
};

struct capacity_sum {
	uint32_t total, free, most, where;
};

struct capacity *capacity_new(const struct conf *conf, const uint32_t *nodes, size_t n);
void capacity_free(struct capacity *c); /* NULL is fine */
bool capacity_is(const struct capacity *c, const uint32_t *nodes, size_t n);
const uint32_t *capacity_nodes(const struct capacity *c, size_t *n);

/* Fill in the slots of one of its nodes: one for the node, and one for each GPU type that it
 * has. */
size_t capacity_slots(
        const struct capacity *c, uint32_t set, uint32_t node, struct capacity_slot *slots);

/* capacity_put(): the node accepts work, has this much free, and is reserved or not.
 * capacity_drop(): it does not accept work. */
void capacity_put(struct capacity *c, const struct capacity_slot *slot, uint32_t gpus,
        uint32_t cpus, uint64_t mem, bool reserved);
void capacity_drop(struct capacity *c, const struct capacity_slot *slot);

#define CAPACITY_WORTHS 16

/* Packed: the node with the fewest sufficient free GPUs of the type, then the one that is worth
 * most, then the fewest sufficient free CPUs, then the first. Spread: the most free GPUs (of
 * TYPE_NONE still the fewest), the most worth, the most free CPUs, the last. The worth is computed
 * only for the first CAPACITY_WORTHS nodes (by free CPUs) with equally many free GPUs that are not
 * reserved. */
bool capacity_find(
        const struct capacity *c, const struct capacity_want *want, struct capacity_find *found);
/* Compares in the same order, also between types (the lower one first). */
bool capacity_better(const struct capacity_want *want, const struct capacity_find *x,
        const struct capacity_find *y);

/* Could `nodes` or more nodes have what is wanted, and `most` of them together `all` GPUs? Counts
 * GPUs only; O(1). */
bool capacity_could(const struct capacity *c, const struct capacity_want *want, uint32_t nodes,
        uint32_t most, uint32_t all);
/* Visits every node, reserved or not, that has what is wanted, by node; want->test and ->reserved
 * are not called. Start with *cursor 0; false: no more. */
bool capacity_next(const struct capacity *c, const struct capacity_want *want, uint32_t *cursor,
        struct capacity_find *found);

bool capacity_sum(const struct capacity *c, uint16_t type, struct capacity_sum *sum);

/* For checks: does the slot have exactly these values; do counts and lists agree with the slots? */
bool capacity_stands(const struct capacity *c, const struct capacity_slot *slot, bool accept,
        uint32_t gpus, uint32_t cpus, uint64_t mem, bool reserved);
bool capacity_check(const struct capacity *c);

#endif
