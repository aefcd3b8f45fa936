/* capacity.c - see capacity.h */
#include "ctld/core/capacity.h"

#include <stdlib.h>
#include <string.h>

#include "common/xalloc.h"
#include "ctld/core/order.h"
#include "ctld/core/requests.h"

#define BUCKETS (CONF_MAX_GPUS_PER_NODE + 1)
#define NOWHERE UINT8_MAX /* the node does not accept work */

struct kind {
	uint16_t type;
	uint32_t most; /* that one node has: no bucket above is ever used */
	uint32_t total;
	uint32_t roots[BUCKETS];
	uint32_t counts[BUCKETS];
	uint32_t n;      /* members */
	uint32_t *nodes; /* by member; ascending */
	struct order_link *links;
	uint8_t *bucket; /* by member */
};

struct capacity {
	uint32_t *nodes; /* ascending */
	size_t n;
	struct kind *kinds; /* [0] is TYPE_NONE */
	size_t n_kinds;
};

static struct kind *kind_of(const struct capacity *c, uint16_t type)
{
	size_t k;

	for (k = 0; k < c->n_kinds; k++) {
		if (c->kinds[k].type == type)
			return &c->kinds[k];
	}
	return NULL;
}

static struct kind *kind_want(struct capacity *c, uint16_t type)
{
	struct kind *kind = kind_of(c, type);
	size_t b;

	if (kind)
		return kind;
	c->kinds = xrealloc(c->kinds, c->n_kinds + 1, sizeof(*c->kinds));
	kind = &c->kinds[c->n_kinds++];
	memset(kind, 0, sizeof(*kind));
	kind->type = type;
	for (b = 0; b < BUCKETS; b++)
		kind->roots[b] = ORDER_NONE;
	return kind;
}

/* One more member: `gpus` of the kind. */
static void kind_join(struct kind *kind, uint32_t node, uint32_t gpus)
{
	if (kind->n && kind->nodes[kind->n - 1] == node) {
		/* The same type in two entries of the node. */
		kind->total += gpus;
		kind->most = CONF_MAX_GPUS_PER_NODE;
		return;
	}
	kind->nodes = xrealloc(kind->nodes, kind->n + 1, sizeof(*kind->nodes));
	kind->nodes[kind->n++] = node;
	kind->total += gpus;
	if (gpus > kind->most)
		kind->most = gpus;
}

struct capacity *capacity_new(const struct conf *conf, const uint32_t *nodes, size_t n)
{
	struct capacity *c = xcalloc(1, sizeof(*c));
	size_t i, g, k;

	c->n = n;
	c->nodes = xmemdup(nodes, n * sizeof(*nodes));
	kind_want(c, TYPE_NONE);
	for (i = 0; i < n; i++) {
		const struct conf_node *node = &conf->nodes[nodes[i]];
		uint32_t all = 0;

		for (g = 0; g < node->n_gpus; g++) {
			kind_join(kind_want(c, node->gpus[g].type), nodes[i], node->gpus[g].count);
			all += node->gpus[g].count;
		}
		kind_join(&c->kinds[0], nodes[i], all);
	}
	for (k = 0; k < c->n_kinds; k++) {
		struct kind *kind = &c->kinds[k];

		kind->links = xcalloc(kind->n, sizeof(*kind->links));
		kind->bucket = xcalloc(kind->n, 1);
		memset(kind->bucket, NOWHERE, kind->n);
	}
	return c;
}

void capacity_free(struct capacity *c)
{
	size_t k;

	if (!c)
		return;
	for (k = 0; k < c->n_kinds; k++) {
		free(c->kinds[k].nodes);
		free(c->kinds[k].links);
		free(c->kinds[k].bucket);
	}
	free(c->kinds);
	free(c->nodes);
	free(c);
}

bool capacity_is(const struct capacity *c, const uint32_t *nodes, size_t n)
{
	return c->n == n && (!n || !memcmp(c->nodes, nodes, n * sizeof(*nodes)));
}

const uint32_t *capacity_nodes(const struct capacity *c, size_t *n)
{
	*n = c->n;
	return c->nodes;
}

static uint32_t member_of(const struct kind *kind, uint32_t node)
{
	uint32_t low = 0, high = kind->n;

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;

		if (kind->nodes[mid] < node)
			low = mid + 1;
		else
			high = mid;
	}
	return low < kind->n && kind->nodes[low] == node ? low : ORDER_NONE;
}

size_t capacity_slots(
        const struct capacity *c, uint32_t set, uint32_t node, struct capacity_slot *slots)
{
	size_t n = 0, k;

	for (k = 0; k < c->n_kinds; k++) {
		uint32_t member = member_of(&c->kinds[k], node);

		if (member != ORDER_NONE)
			slots[n++] = (struct capacity_slot){ set, member, (uint16_t)k,
				c->kinds[k].type };
	}
	return n;
}

void capacity_drop(struct capacity *c, const struct capacity_slot *slot)
{
	struct kind *kind = &c->kinds[slot->kind];
	uint8_t bucket = kind->bucket[slot->member];

	if (bucket == NOWHERE)
		return;
	order_remove(kind->links, &kind->roots[bucket], slot->member);
	kind->counts[bucket]--;
	kind->bucket[slot->member] = NOWHERE;
}

void capacity_put(struct capacity *c, const struct capacity_slot *slot, uint32_t gpus,
        uint32_t cpus, uint64_t mem)
{
	struct kind *kind = &c->kinds[slot->kind];

	if (capacity_stands(c, slot, true, gpus, cpus, mem))
		return;
	capacity_drop(c, slot);
	order_add(kind->links, &kind->roots[gpus], slot->member, cpus, mem);
	kind->counts[gpus]++;
	kind->bucket[slot->member] = (uint8_t)gpus;
}

bool capacity_stands(const struct capacity *c, const struct capacity_slot *slot, bool accept,
        uint32_t gpus, uint32_t cpus, uint64_t mem)
{
	const struct kind *kind = &c->kinds[slot->kind];
	const struct order_link *link = &kind->links[slot->member];

	if (!accept)
		return kind->bucket[slot->member] == NOWHERE;
	return kind->bucket[slot->member] == gpus && link->cpus == cpus && link->mem == mem;
}

struct best {
	uint32_t bucket, cpus, node;
	uint16_t type;
};

static bool better(const struct best *x, const struct best *y)
{
	if (x->bucket != y->bucket)
		return x->bucket < y->bucket;
	if (x->cpus != y->cpus)
		return x->cpus < y->cpus;
	if (x->node != y->node)
		return x->node < y->node;
	return x->type < y->type;
}

/* Look for a better one than *best among the nodes of one kind. */
static void kind_find(
        const struct kind *kind, uint32_t gpus, uint32_t cpus, uint64_t mem, struct best *best)
{
	uint32_t b;

	for (b = gpus; b <= kind->most && b <= best->bucket; b++) {
		uint32_t member = order_find(kind->links, kind->roots[b], cpus, mem);
		struct best this;

		if (member == ORDER_NONE)
			continue;
		this = (struct best){ b, kind->links[member].cpus, kind->nodes[member],
			kind->type };
		if (better(&this, best))
			*best = this;
		return;
	}
}

bool capacity_find(const struct capacity *c, uint16_t type, uint32_t gpus, uint32_t cpus,
        uint64_t mem, struct capacity_find *found)
{
	struct best best = { UINT32_MAX, UINT32_MAX, UINT32_MAX, TYPE_NONE };
	size_t k;

	for (k = 0; k < c->n_kinds; k++) {
		const struct kind *kind = &c->kinds[k];

		if (type == TYPE_ANY ? kind->type != TYPE_NONE : kind->type == type)
			kind_find(kind, gpus, cpus, mem, &best);
	}
	found->node = best.node;
	found->type = best.type;
	return best.bucket != UINT32_MAX;
}

bool capacity_sum(const struct capacity *c, uint16_t type, struct capacity_sum *sum)
{
	const struct kind *kind = kind_of(c, type);
	uint32_t b;

	if (!kind)
		return false;
	memset(sum, 0, sizeof(*sum));
	sum->total = kind->total;
	for (b = 1; b <= kind->most; b++) {
		if (!kind->counts[b])
			continue;
		sum->free += b * kind->counts[b];
		sum->most = b;
		sum->where = kind->nodes[order_find(kind->links, kind->roots[b], 0, 0)];
	}
	return true;
}
