/* capacity.h - the nodes of one set in buckets, for the ledger
 *
 * For each kind (a GPU type that some node of the set has, or TYPE_NONE for the node as such) the
 * nodes that accept work stand in the bucket of their number of free GPUs. A slot is one node's
 * place in one kind of one set; the ledger keeps them with the node. Nodes that are set aside
 * (ledger.h) count in their bucket too, but stand in a list of their own.
 */
#ifndef CTLD_CORE_CAPACITY_H
#define CTLD_CORE_CAPACITY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/conf.h"

struct capacity;

struct capacity_slot {
	uint32_t set;    /* for the ledger */
	uint32_t member; /* position in the kind */
	uint16_t kind;
	uint16_t type; /* of the kind */
};

/* What is wanted of one node. */
struct capacity_want {
	uint16_t type;
	uint32_t gpus, cpus; /* at least */
	uint64_t mem;
	bool spread;          /* where the most is free */
	const uint64_t *only; /* a set of nodes (nodefilter.h): no other will do; NULL: all */
	uint32_t n_only;      /* nodes in it */
	bool (*test)(void *arg, uint32_t node);  /* the rest of it; NULL: any of those will do */
	bool (*aside)(void *arg, uint32_t node); /* the same for one aside; NULL: none will do */
	/* Of nodes with as many free GPUs which is liked best; NULL: that makes no difference. */
	uint64_t (*worth)(void *arg, uint32_t node);
	void *arg;
};

struct capacity_find {
	uint32_t node, gpus, cpus; /* free */
	uint64_t worth;
	uint16_t type;
	bool aside;
};

struct capacity_sum {
	uint32_t total, free, most, where;
};

struct capacity *capacity_new(const struct conf *conf, const uint32_t *nodes, size_t n);
void capacity_free(struct capacity *c); /* NULL is fine */
bool capacity_is(const struct capacity *c, const uint32_t *nodes, size_t n);
const uint32_t *capacity_nodes(const struct capacity *c, size_t *n);

/* Fill in the slots of one of its nodes: one, and one more for each GPU type it has. */
size_t capacity_slots(
        const struct capacity *c, uint32_t set, uint32_t node, struct capacity_slot *slots);

/* The node accepts work and has this much free, is set aside or not; it does not accept work. */
void capacity_put(struct capacity *c, const struct capacity_slot *slot, uint32_t gpus,
        uint32_t cpus, uint64_t mem, bool aside);
void capacity_drop(struct capacity *c, const struct capacity_slot *slot);

#define CAPACITY_WORTHS 16

/* Packed: the node with the fewest free GPUs of the type that do, then that which is worth most,
 * then the fewest free CPUs that do, then the first. Spread: the most free GPUs (of TYPE_NONE still
 * the fewest), the most worth, the most free CPUs, the last. Of nodes that are not aside only the
 * first CAPACITY_WORTHS with as many free GPUs, by their free CPUs, are asked what they are worth. */
bool capacity_find(
        const struct capacity *c, const struct capacity_want *want, struct capacity_find *found);
/* The same order, also between types (the lower one). */
bool capacity_better(const struct capacity_want *want, const struct capacity_find *x,
        const struct capacity_find *y);

/* Could `nodes` or more nodes have what is wanted, `most` of them together `all` GPUs? In O(1), by
 * GPUs alone. */
bool capacity_could(const struct capacity *c, const struct capacity_want *want, uint32_t nodes,
        uint32_t most, uint32_t all);
/* Every node, aside or not, that has what is wanted, by node; want->test and ->aside are not asked.
 * Start with *cursor 0; false: no more. */
bool capacity_next(const struct capacity *c, const struct capacity_want *want, uint32_t *cursor,
        struct capacity_find *found);

bool capacity_sum(const struct capacity *c, uint16_t type, struct capacity_sum *sum);

/* For checks: does the slot say exactly this; do counts and lists agree with the slots? */
bool capacity_stands(const struct capacity *c, const struct capacity_slot *slot, bool accept,
        uint32_t gpus, uint32_t cpus, uint64_t mem, bool aside);
bool capacity_check(const struct capacity *c);

#endif
