/* nodes_by_free_gpus.c - see nodes_by_free_gpus.h
 *
 * For each set of nodes and each GPU type one array of buckets: bucket g holds the nodes with g
 * GPUs of the type free, ordered by free CPUs (fill_order.h). The first fit that leaves the least
 * is then found by looking at buckets one after another, in O(log n) for each, and never by looking
 * at all nodes.
 *
 * Nodes with reservations are beside the trees, in a list: a search asks the plan about each of
 * them, which is dear, so they are only looked at where what the trees have is no better.
 *
 * Invariants: a member is in one tree, or in the list of reserved ones, or NOWHERE; `bucket` says
 * which; counts are of trees and list together. Members are indices into the kind's nodes, which
 * are sorted, so that a node is found by binary search.
 */
#include "ctld/core/place/nodes_by_free_gpus.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/bisect.h"
#include "common/base/xalloc.h"
#include "ctld/core/place/fill_order.h"
#include "ctld/core/request/requests.h"

#define BUCKETS (CONF_MAX_GPUS_PER_NODE + 1)
#define NOWHERE UINT8_MAX /* the node does not accept work */
#define FEW     8         /* up to 1 / FEW of the nodes: examined one by one */

struct kind {
	uint16_t type;
	uint32_t most; /* that one node has: no bucket above is ever used */
	uint32_t total;
	uint32_t roots[BUCKETS];  /* without the reserved ones */
	uint32_t counts[BUCKETS]; /* with them */
	uint32_t n;               /* members */
	uint32_t *nodes;          /* by member; ascending */
	struct fill_order_link *links; /* by member */
	uint8_t *bucket;          /* by member */
	uint32_t *reserved;       /* members, in no order */
	uint32_t n_reserved;
	uint32_t *reserved_at; /* by member: position in `reserved`; FILL_ORDER_NONE */
};

struct capacity {
	uint32_t *nodes; /* ascending */
	size_t n;
	struct kind *kinds; /* [0] is TYPE_NONE */
	size_t n_kinds;
};

static struct kind *kind_of(const struct capacity *c, uint16_t type)
{
	for (size_t k = 0; k < c->n_kinds; k++) {
		if (c->kinds[k].type == type)
			return &c->kinds[k];
	}
	return NULL;
}

static struct kind *kind_want(struct capacity *c, uint16_t type)
{
	struct kind *kind = kind_of(c, type);

	if (kind)
		return kind;
	c->kinds = xrealloc(c->kinds, c->n_kinds + 1, sizeof(*c->kinds));
	kind = &c->kinds[c->n_kinds++];
	memset(kind, 0, sizeof(*kind));
	kind->type = type;
	for (size_t b = 0; b < BUCKETS; b++)
		kind->roots[b] = FILL_ORDER_NONE;
	return kind;
}

/* One more member: `gpus` of the kind. */
static void kind_join(struct kind *kind, uint32_t node, uint32_t gpus)
{
	if (kind->n && kind->nodes[kind->n - 1] == node) {
		/* The same type in two entries of the node: `most` is not known then. */
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

	c->n = n;
	c->nodes = xmemdup(nodes, n * sizeof(*nodes));
	kind_want(c, TYPE_NONE);
	for (size_t i = 0; i < n; i++) {
		const struct conf_node *node = &conf->nodes[nodes[i]];
		uint32_t all = 0;

		for (size_t g = 0; g < node->n_gpus; g++) {
			kind_join(kind_want(c, node->gpus[g].type), nodes[i], node->gpus[g].count);
			all += node->gpus[g].count;
		}
		kind_join(&c->kinds[0], nodes[i], all);
	}
	for (size_t k = 0; k < c->n_kinds; k++) {
		struct kind *kind = &c->kinds[k];

		kind->links = xcalloc(kind->n, sizeof(*kind->links));
		kind->bucket = xcalloc(kind->n, 1);
		memset(kind->bucket, NOWHERE, kind->n);
		kind->reserved = xcalloc(kind->n, sizeof(*kind->reserved));
		kind->reserved_at = xcalloc(kind->n, sizeof(*kind->reserved_at));
		memset(kind->reserved_at, 0xff, kind->n * sizeof(*kind->reserved_at));
	}
	return c;
}

void capacity_free(struct capacity *c)
{
	if (!c)
		return;
	for (size_t k = 0; k < c->n_kinds; k++) {
		free(c->kinds[k].nodes);
		free(c->kinds[k].links);
		free(c->kinds[k].bucket);
		free(c->kinds[k].reserved);
		free(c->kinds[k].reserved_at);
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

/* By binary search; FILL_ORDER_NONE: the node has no GPU of the kind. */
static uint32_t member_of(const struct kind *kind, uint32_t node)
{
	uint32_t at;

	BISECT(at, kind->n, kind->nodes[at] < node);
	return at < kind->n && kind->nodes[at] == node ? at : FILL_ORDER_NONE;
}

size_t capacity_slots(
        const struct capacity *c, uint32_t set, uint32_t node, struct capacity_slot *slots)
{
	size_t n = 0, k;

	for (k = 0; k < c->n_kinds; k++) {
		uint32_t member = member_of(&c->kinds[k], node);

		if (member != FILL_ORDER_NONE)
			slots[n++] = (struct capacity_slot){ set, member, (uint16_t)k,
				c->kinds[k].type };
	}
	return n;
}

static void reserved_remove(struct kind *kind, uint32_t member)
{
	uint32_t at = kind->reserved_at[member], last = kind->reserved[--kind->n_reserved];

	kind->reserved[at] = last;
	kind->reserved_at[last] = at;
	kind->reserved_at[member] = FILL_ORDER_NONE;
}

void capacity_drop(struct capacity *c, const struct capacity_slot *slot)
{
	struct kind *kind = &c->kinds[slot->kind];
	uint8_t bucket = kind->bucket[slot->member];

	if (bucket == NOWHERE)
		return;
	if (kind->reserved_at[slot->member] != FILL_ORDER_NONE)
		reserved_remove(kind, slot->member);
	else
		fill_order_remove(kind->links, &kind->roots[bucket], slot->member);
	kind->counts[bucket]--;
	kind->bucket[slot->member] = NOWHERE;
}

/* Nothing is done if the node stands right already: most changes of a node concern one kind. */
void capacity_put(struct capacity *c, const struct capacity_slot *slot, uint32_t gpus,
        uint32_t cpus, uint64_t mem, bool reserved)
{
	struct kind *kind = &c->kinds[slot->kind];
	uint32_t member = slot->member;

	if (capacity_stands(c, slot, true, gpus, cpus, mem, reserved))
		return;
	capacity_drop(c, slot);
	if (reserved) {
		kind->links[member].cpus = cpus;
		kind->links[member].mem = mem;
		kind->reserved_at[member] = kind->n_reserved;
		kind->reserved[kind->n_reserved++] = member;
	} else {
		fill_order_add(kind->links, &kind->roots[gpus], member, cpus, mem);
	}
	kind->counts[gpus]++;
	kind->bucket[member] = (uint8_t)gpus;
}

bool capacity_stands(const struct capacity *c, const struct capacity_slot *slot, bool accept,
        uint32_t gpus, uint32_t cpus, uint64_t mem, bool reserved)
{
	const struct kind *kind = &c->kinds[slot->kind];
	const struct fill_order_link *link = &kind->links[slot->member];

	if (!accept)
		return kind->bucket[slot->member] == NOWHERE;
	return kind->bucket[slot->member] == gpus && link->cpus == cpus && link->mem == mem &&
	       (kind->reserved_at[slot->member] != FILL_ORDER_NONE) == reserved;
}

/* --- one node -------------------------------------------------------------------------------- */

/* A place without GPUs leaves free GPUs without CPUs: as few as possible. */
static bool most_gpus(const struct capacity_want *want)
{
	return want->spread && want->type != TYPE_NONE;
}

bool capacity_better(const struct capacity_want *want, const struct capacity_find *x,
        const struct capacity_find *y)
{
	if (x->gpus != y->gpus)
		return (x->gpus > y->gpus) == most_gpus(want);
	if (x->worth != y->worth)
		return x->worth > y->worth;
	if (x->cpus != y->cpus)
		return (x->cpus > y->cpus) == want->spread;
	if (x->node != y->node)
		return (x->node > y->node) == want->spread;
	return x->type < y->type;
}

/* What fill_order_find() is told for each member that has enough. Where the closeness of GPUs
 * counts, the search goes on over CAPACITY_WORTHS members of the bucket, and the best of them is
 * taken. */
struct member_test {
	const struct kind *kind;
	const struct capacity_want *want;
	uint32_t best, asked; /* where it matters what they are worth */
	uint64_t worth;       /* of the best */
};

static bool in_only(const struct capacity_want *want, uint32_t node)
{
	return !want->only || want->only[node / 64] >> node % 64 & 1;
}

static bool passes(const struct capacity_want *want, uint32_t node)
{
	return in_only(want, node) && (!want->test || want->test(want->arg, node));
}

static bool test_member(void *arg, uint32_t member)
{
	struct member_test *t = arg;
	uint32_t node = t->kind->nodes[member];
	uint64_t worth;

	if (!passes(t->want, node))
		return false;
	if (!t->want->worth)
		return true;
	worth = t->want->worth(t->want->arg, node);
	if (t->best == FILL_ORDER_NONE || worth > t->worth) {
		t->best = member;
		t->worth = worth;
	}
	return ++t->asked == CAPACITY_WORTHS;
}

static struct capacity_find found_at(const struct kind *kind, uint32_t member)
{
	return (struct capacity_find){ .node = kind->nodes[member],
		.gpus = kind->bucket[member],
		.cpus = kind->links[member].cpus,
		.type = kind->type,
		.reserved = kind->reserved_at[member] != FILL_ORDER_NONE };
}

/* Bucket by bucket, from the fewest GPUs that suffice (or from the most, to spread): the first one
 * with a member that passes has the best. */
static bool find_in_order(
        const struct kind *kind, const struct capacity_want *want, struct capacity_find *found)
{
	struct member_test test = { .kind = kind, .want = want, .best = FILL_ORDER_NONE };
	struct fill_order_want order = { want->cpus, want->mem, want->spread,
		want->only || want->test || want->worth ? test_member : NULL, &test };

	for (uint32_t b = want->gpus; b <= kind->most; b++) {
		uint32_t bucket = most_gpus(want) ? kind->most + want->gpus - b : b;
		uint32_t member = fill_order_find(kind->links, kind->roots[bucket], &order);

		if (want->worth)
			member = test.best;
		if (member == FILL_ORDER_NONE)
			continue;
		*found = found_at(kind, member);
		found->worth = test.worth;
		return true;
	}
	return false;
}

static bool has(const struct kind *kind, uint32_t member, const struct capacity_want *want)
{
	const struct fill_order_link *link = &kind->links[member];

	return kind->bucket[member] != NOWHERE && kind->bucket[member] >= want->gpus &&
	       link->cpus >= want->cpus && link->mem >= want->mem;
}

static uint64_t worth_of(const struct capacity_want *want, uint32_t node)
{
	return want->worth ? want->worth(want->arg, node) : 0;
}

/* Called only if the result matters, because the planner's test may be slow. */
static bool find_reserved(const struct kind *kind, const struct capacity_want *want, bool any,
        struct capacity_find *found)
{
	for (uint32_t i = 0; i < kind->n_reserved; i++) {
		struct capacity_find this = found_at(kind, kind->reserved[i]);

		if (!has(kind, kind->reserved[i], want))
			continue;
		this.worth = worth_of(want, this.node);
		if ((any && !capacity_better(want, &this, found)) || !passes(want, this.node) ||
		        !want->reserved(want->arg, this.node))
			continue;
		*found = this;
		any = true;
	}
	return any;
}

/* One after the other, where only few nodes will do. */
static bool find_among(
        const struct kind *kind, const struct capacity_want *want, struct capacity_find *found)
{
	uint32_t words = kind->n ? kind->nodes[kind->n - 1] / 64 + 1 : 0, w;
	bool any = false;

	for (w = 0; w < words; w++) {
		for (uint64_t left = want->only[w]; left; left &= left - 1) {
			uint32_t node = w * 64 + (uint32_t)__builtin_ctzll(left);
			uint32_t member = member_of(kind, node);
			struct capacity_find this;

			if (member == FILL_ORDER_NONE || !has(kind, member, want))
				continue;
			this = found_at(kind, member);
			this.worth = worth_of(want, node);
			if ((any && !capacity_better(want, &this, found)) || !passes(want, node) ||
			        (this.reserved &&
			                !(want->reserved && want->reserved(want->arg, node))))
				continue;
			*found = this;
			any = true;
		}
	}
	return any;
}

bool capacity_find(
        const struct capacity *c, const struct capacity_want *want, struct capacity_find *found)
{
	const struct kind *kind = kind_of(c, want->type);
	bool any;

	if (!kind)
		return false;
	if (want->only && want->n_only * FEW <= kind->n)
		return find_among(kind, want, found);
	any = find_in_order(kind, want, found);
	return want->reserved ? find_reserved(kind, want, any, found) : any;
}

/* --- several --------------------------------------------------------------------------------- */

/* By counts alone: may be true although no gang fits, never false although one does. */
bool capacity_could(const struct capacity *c, const struct capacity_want *want, uint32_t nodes,
        uint32_t most, uint32_t all)
{
	const struct kind *kind = kind_of(c, want->type);
	uint32_t have = 0, gpus = 0, b, n;

	if (!kind)
		return false;
	for (b = kind->most + 1; b-- > want->gpus;) {
		n = have + kind->counts[b] > most ? most - have : kind->counts[b];
		have += n;
		gpus += n * b;
	}
	return have >= nodes && gpus >= all;
}

bool capacity_next(const struct capacity *c, const struct capacity_want *want, uint32_t *cursor,
        struct capacity_find *found)
{
	const struct kind *kind = kind_of(c, want->type);

	while (kind && *cursor < kind->n) {
		uint32_t member = (*cursor)++;

		if (!has(kind, member, want) || !in_only(want, kind->nodes[member]))
			continue;
		*found = found_at(kind, member);
		return true;
	}
	return false;
}

/* --- sums and checks ------------------------------------------------------------------------- */

/* The node in a bucket with the fewest free CPUs, the reserved ones last. */
static uint32_t first_in(const struct kind *kind, uint32_t bucket)
{
	struct fill_order_want any = { 0 };
	uint32_t member = fill_order_find(kind->links, kind->roots[bucket], &any), i;

	for (i = 0; member == FILL_ORDER_NONE && i < kind->n; i++) {
		if (kind->bucket[i] == bucket)
			member = i;
	}
	return kind->nodes[member];
}

bool capacity_sum(const struct capacity *c, uint16_t type, struct capacity_sum *sum)
{
	const struct kind *kind = kind_of(c, type);

	if (!kind)
		return false;
	memset(sum, 0, sizeof(*sum));
	sum->total = kind->total;
	for (uint32_t b = 1; b <= kind->most; b++) {
		if (!kind->counts[b])
			continue;
		sum->free += b * kind->counts[b];
		sum->most = b;
	}
	if (sum->most)
		sum->where = first_in(kind, sum->most);
	return true;
}

static bool kind_check(const struct kind *kind)
{
	uint32_t counts[BUCKETS] = { 0 }, reserved = 0, m, b;

	for (m = 0; m < kind->n; m++) {
		uint32_t at = kind->reserved_at[m];

		if (at != FILL_ORDER_NONE) {
			if (at >= kind->n_reserved || kind->reserved[at] != m ||
			        kind->bucket[m] == NOWHERE)
				return false;
			reserved++;
		}
		if (kind->bucket[m] != NOWHERE)
			counts[kind->bucket[m]]++;
	}
	for (b = 0; b < BUCKETS; b++) {
		if (counts[b] != kind->counts[b])
			return false;
	}
	return reserved == kind->n_reserved;
}

bool capacity_check(const struct capacity *c)
{
	for (size_t k = 0; k < c->n_kinds; k++) {
		if (!kind_check(&c->kinds[k]))
			return false;
	}
	return true;
}
