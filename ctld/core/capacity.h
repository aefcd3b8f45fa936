/* capacity.h - the nodes of one set in buckets, for the ledger
 *
 * For each kind (a GPU type that some node of the set has, or TYPE_NONE for the node as such) the
 * nodes that accept work stand in the bucket of their number of free GPUs. A slot is one node's
 * place in one kind of one set; the ledger keeps them with the node.
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

struct capacity_find {
	uint32_t node;
	uint16_t type;
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

/* The node accepts work and has this much free; it does not accept work. */
void capacity_put(struct capacity *c, const struct capacity_slot *slot, uint32_t gpus,
        uint32_t cpus, uint64_t mem);
void capacity_drop(struct capacity *c, const struct capacity_slot *slot);

/* The node with the fewest free GPUs of `type` (TYPE_ANY: of some one type) that are `gpus` or
 * more, then the fewest free CPUs that do, then the lowest index, then the lowest type. */
bool capacity_find(const struct capacity *c, uint16_t type, uint32_t gpus, uint32_t cpus,
        uint64_t mem, struct capacity_find *found);

bool capacity_sum(const struct capacity *c, uint16_t type, struct capacity_sum *sum);

/* For checks: does the slot say exactly this? */
bool capacity_stands(const struct capacity *c, const struct capacity_slot *slot, bool accept,
        uint32_t gpus, uint32_t cpus, uint64_t mem);

#endif
