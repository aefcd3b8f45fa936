/* gang.c - see gang.h
 *
 * Which nodes, out of candidates, form the best gang? Nodes weigh 1, or for a total the GPUs that
 * they could give. First how many nodes are needed is counted, then the fewest leaf switches that
 * have them are searched for, then the best nodes within those leaves are picked.
 *
 * Choosing leaves is a set-cover-like problem; but leaves differ only in their counts of nodes by
 * weight, so a search that takes the heaviest first, skips leaves that are alike and stops where
 * the rest could not be enough ends at once on real clusters. It is cut off after a number of
 * steps, and then takes what it has: more leaves than needed, never a wrong place.
 */
#include "ctld/core/place/gang.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/xalloc.h"

#define MAX_WEIGHT CONF_MAX_GPUS_PER_NODE

/* The nodes of a leaf, the reserved ones that are required. A node weighs 1, or for a total the
 * GPUs that it could give. */
struct leaf {
	uint32_t number; /* 0: that of the nodes without one */
	bool chosen;
	uint32_t nodes, sum;       /* of the weights */
	uint32_t above;            /* sum of what the weights are above g->bar */
	uint32_t have[MAX_WEIGHT]; /* nodes of weight w at [w - 1] */
};

struct gang {
	const struct request *r;
	bool total, spread, only_preferred;
	const struct gang_candidate *v;
	size_t n;

	uint32_t n_required, given; /* the required nodes, and what they weigh */
	uint32_t most;              /* of all weights */
	uint32_t k, need;           /* of so many others so much is needed */

	uint32_t *slots; /* by leaf + 1: position in leaves + 1 */
	struct leaf *leaves;
	size_t n_leaves;

	/* The search: leaves without required nodes, the heaviest first; the chosen ones summed. */
	struct leaf **order;
	size_t n_order;
	uint32_t bar;
	uint64_t *ahead;  /* [i]: sum of `above` of all before order[i] */
	uint32_t *widest; /* [i]: the most nodes of one from order[i] on */
	struct leaf together;
	uint32_t steps;
};

static uint32_t weight(const struct gang *g, const struct gang_candidate *c)
{
	if (!g->total)
		return 1;
	return c->gpus > MAX_WEIGHT ? MAX_WEIGHT : c->gpus;
}

static bool counts(const struct gang *g, const struct gang_candidate *c)
{
	return c->required || c->preferred || !g->only_preferred;
}

static struct leaf *leaf_of(const struct gang *g, const struct gang_candidate *c)
{
	return &g->leaves[g->slots[c->leaf + 1] - 1]; /* CONF_NONE + 1 is 0 */
}

/* What the `k` heaviest of two leaves together weigh; -1: there are not so many. */
static int64_t heaviest(
        const struct gang *g, const struct leaf *x, const struct leaf *y, uint32_t k)
{
	int64_t sum = 0;

	for (uint32_t w = g->most; w && k; w--) {
		uint32_t n = x->have[w - 1] + (y ? y->have[w - 1] : 0);

		n = n < k ? n : k;
		sum += (int64_t)n * w;
		k -= n;
	}
	return k ? -1 : sum;
}

static void leaf_add(struct gang *g, struct leaf *to, const struct leaf *from, int sign)
{
	to->nodes += (uint32_t)sign * from->nodes;
	to->sum += (uint32_t)sign * from->sum;
	to->above += (uint32_t)sign * from->above;
	for (uint32_t w = 0; w < g->most; w++)
		to->have[w] += (uint32_t)sign * from->have[w];
}

/* --- counting -------------------------------------------------------------------------------- */

/* Nodes into leaves; g->together has all of them for now. */
static void collect(struct gang *g)
{
	g->n_required = g->given = g->most = 0;
	memset(g->leaves, 0, g->n_leaves * sizeof(*g->leaves));
	memset(&g->together, 0, sizeof(g->together));
	for (size_t i = 0; i < g->n; i++) {
		const struct gang_candidate *c = &g->v[i];
		struct leaf *leaf = leaf_of(g, c);
		uint32_t w = weight(g, c);

		if (!counts(g, c))
			continue;
		leaf->number = c->leaf + 1;
		g->most = w > g->most ? w : g->most;
		if (c->required) {
			leaf->chosen = true;
			g->n_required++;
			g->given += w;
			continue;
		}
		leaf->nodes++;
		leaf->sum += w;
		leaf->have[w - 1]++;
		g->together.nodes++;
		g->together.have[w - 1]++;
	}
}

/* How many nodes beside the required ones, with how much together? */
static bool count_nodes(struct gang *g, uint32_t alternative)
{
	uint32_t n = g->n_required + g->together.nodes, most = g->r->nodes_max, goal;

	most = n < most ? n : most;
	if (most < g->r->nodes_min || g->n_required > most || g->n_required < g->r->n_required)
		return false;
	g->k = most - g->n_required;
	g->need = g->k;
	if (!g->total)
		return true;
	goal = request_all_gpus(g->r, alternative, 1);
	g->need = goal > g->given ? goal - g->given : 0;
	g->k = g->r->nodes_min > g->n_required ? g->r->nodes_min - g->n_required : 0;
	while (heaviest(g, &g->together, NULL, g->k) < (int64_t)g->need) {
		if (g->k++ + g->n_required >= most)
			return false;
	}
	return true;
}

/* --- leaves ---------------------------------------------------------------------------------- */

static uint32_t above_bar(const struct gang *g, const struct leaf *leaf)
{
	uint32_t w, sum = 0;

	for (w = g->bar + 1; w <= g->most; w++)
		sum += leaf->have[w - 1] * (w - g->bar);
	return sum;
}

static int heavier(const void *x, const void *y)
{
	const struct leaf *a = *(struct leaf *const *)x, *b = *(struct leaf *const *)y;
	int same;

	if (a->above != b->above)
		return a->above > b->above ? -1 : 1;
	if (a->nodes != b->nodes)
		return a->nodes > b->nodes ? -1 : 1;
	same = memcmp(a->have, b->have, sizeof(a->have));
	return same ? same : (a->number > b->number) - (a->number < b->number);
}

static bool alike(const struct leaf *a, const struct leaf *b)
{
	return a->above == b->above && a->nodes == b->nodes &&
	       !memcmp(a->have, b->have, sizeof(a->have));
}

/* The weight of the lightest node when leaves do not matter. Above the one below it, what a leaf
 * has says best how much it is worth. */
static uint32_t lightest(const struct gang *g)
{
	uint32_t w = g->most, left = g->k;

	while (w > 1 && g->together.have[w - 1] < left)
		left -= g->together.have[--w];
	return w;
}

static void order_leaves(struct gang *g)
{
	g->bar = lightest(g) - 1;
	g->n_order = 0;
	memset(&g->together, 0, sizeof(g->together));
	for (size_t i = 0; i < g->n_leaves; i++) {
		struct leaf *leaf = &g->leaves[i];

		leaf->above = above_bar(g, leaf);
		if (leaf->chosen)
			leaf_add(g, &g->together, leaf, 1);
		else if (leaf->nodes)
			g->order[g->n_order++] = leaf;
	}
	qsort(g->order, g->n_order, sizeof(*g->order), heavier);
	g->ahead[0] = 0;
	for (size_t i = 0; i < g->n_order; i++)
		g->ahead[i + 1] = g->ahead[i] + g->order[i]->above;
	g->widest[g->n_order] = 0;
	for (size_t i = g->n_order; i; i--) {
		uint32_t nodes = g->order[i - 1]->nodes;

		g->widest[i - 1] = nodes > g->widest[i] ? nodes : g->widest[i];
	}
}

/* Could `left` more leaves from order[i] on be enough? The k heaviest of any nodes weigh at most k
 * times the bar and what all of them have above it. */
static bool could(const struct gang *g, size_t i, size_t left)
{
	uint64_t above = g->together.above + g->ahead[i + left] - g->ahead[i];

	return (uint64_t)g->k * g->bar + above >= g->need &&
	       g->together.nodes + (uint64_t)left * g->widest[i] >= g->k;
}

/* One more leaf, from order[i] on: packed, the one with the least that does. */
static struct leaf *last_leaf(struct gang *g, size_t i)
{
	struct leaf *best = NULL;
	size_t from = i;

	for (; i < g->n_order && could(g, i, 1); i++) {
		struct leaf *leaf = g->order[i];

		if ((i > from && alike(leaf, g->order[i - 1])) ||
		        (best && (g->spread ? leaf->sum <= best->sum : leaf->sum >= best->sum)))
			continue;
		g->steps++;
		if (heaviest(g, &g->together, leaf, g->k) >= (int64_t)g->need)
			best = leaf;
	}
	return best;
}

/* Choose `left` of the leaves from order[i] on. */
static bool search(struct gang *g, size_t i, size_t left)
{
	size_t from = i;
	struct leaf *leaf;

	if (left <= 1) {
		leaf = last_leaf(g, i);
		if (leaf)
			leaf->chosen = true;
		return leaf;
	}
	for (; i + left <= g->n_order && could(g, i, left); i++) {
		leaf = g->order[i];
		if (i > from && alike(leaf, g->order[i - 1]))
			continue;
		if (g->steps++ > GANG_SEARCH)
			return false;
		leaf_add(g, &g->together, leaf, 1);
		leaf->chosen = search(g, i + 1, left - 1);
		if (leaf->chosen)
			return true;
		leaf_add(g, &g->together, leaf, -1);
	}
	return false;
}

static bool enough(const struct gang *g)
{
	return heaviest(g, &g->together, NULL, g->k) >= (int64_t)g->need;
}

static void choose_leaves(struct gang *g)
{
	order_leaves(g);
	if (enough(g))
		return;
	for (size_t left = 1; left <= g->n_order && g->steps <= GANG_SEARCH; left++) {
		if (could(g, 0, left) && search(g, 0, left))
			return;
	}
	/* Too many to try: the heaviest ones, until they do. */
	for (size_t left = 0; left < g->n_order && !enough(g); left++) {
		leaf_add(g, &g->together, g->order[left], 1);
		g->order[left]->chosen = true;
	}
}

/* --- nodes ----------------------------------------------------------------------------------- */

/* Is x rather taken than y? */
static bool rather(
        const struct gang *g, const struct gang_candidate *x, const struct gang_candidate *y)
{
	bool more_gpus = g->total || (g->spread && g->r->n);

	if (g->total && x->gpus != y->gpus)
		return x->gpus > y->gpus;
	if (x->preferred != y->preferred)
		return x->preferred;
	if (x->gpus != y->gpus)
		return (x->gpus > y->gpus) == more_gpus;
	if (x->worth != y->worth)
		return x->worth > y->worth;
	if (x->cpus_left != y->cpus_left)
		return (x->cpus_left > y->cpus_left) == g->spread;
	return x->node < y->node;
}

/* Keep the best k: a heap with the worst of them on top. */
static void sink(const struct gang *g, const struct gang_candidate **heap, uint32_t n, uint32_t i)
{
	for (;;) {
		uint32_t down = 2 * i + 1;
		const struct gang_candidate *c = heap[i];

		if (down >= n)
			return;
		if (down + 1 < n && rather(g, heap[down], heap[down + 1]))
			down++;
		if (rather(g, heap[down], c))
			return;
		heap[i] = heap[down];
		heap[down] = c;
		i = down;
	}
}

/* The required nodes, then the best k of the chosen leaves. */
static uint32_t pick_nodes(const struct gang *g, const struct gang_candidate **picked)
{
	const struct gang_candidate **heap = picked + g->n_required;
	uint32_t n = 0, n_required = 0, i;

	for (size_t c = 0; c < g->n; c++) {
		const struct gang_candidate *this = &g->v[c];

		if (!counts(g, this) || !leaf_of(g, this)->chosen)
			continue;
		if (this->required) {
			picked[n_required++] = this;
		} else if (n < g->k) {
			heap[n++] = this;
			for (i = n / 2; n == g->k && i; i--)
				sink(g, heap, n, i - 1);
		} else if (n && rather(g, this, heap[0])) {
			heap[0] = this;
			sink(g, heap, n, 0);
		}
	}
	return n_required + n;
}

static int by_gpus(const void *x, const void *y)
{
	const struct gang_part *a = x, *b = y;

	if (a->gpus != b->gpus)
		return a->gpus > b->gpus ? -1 : 1;
	return (a->node > b->node) - (a->node < b->node);
}

static int by_node(const void *x, const void *y)
{
	const struct gang_part *a = x, *b = y;

	return (a->node > b->node) - (a->node < b->node);
}

/* A total: each node is filled up, as long as every other one gets its one. */
static void share_out(struct gang_choice *out, uint32_t goal)
{
	qsort(out->v, out->n, sizeof(*out->v), by_gpus);
	for (size_t i = 0; i < out->n; i++) {
		uint32_t others = (uint32_t)(out->n - i - 1), most = goal - others;

		if (out->v[i].gpus > most)
			out->v[i].gpus = most;
		goal -= out->v[i].gpus;
	}
}

static void give(struct gang *g, uint32_t alternative, struct gang_choice *out)
{
	const struct gang_candidate **picked =
	        xcalloc(g->n_required + g->k, sizeof(const struct gang_candidate *));
	uint32_t part = request_part_gpus(g->r, alternative);

	out->n = pick_nodes(g, picked);
	if (out->n > out->size) {
		out->size = out->n;
		out->v = xrealloc(out->v, out->size, sizeof(*out->v));
	}
	for (size_t i = 0; i < out->n; i++) {
		bool whole = g->total || (g->r->exclusive && g->r->n);

		out->v[i] = (struct gang_part){ picked[i]->node, whole ? picked[i]->gpus : part };
	}
	if (g->total && !g->r->exclusive)
		share_out(out, request_all_gpus(g->r, alternative, 1));
	qsort(out->v, out->n, sizeof(*out->v), by_node);
	free(picked);
}

/* --- all of it ------------------------------------------------------------------------------- */

static void number_leaves(struct gang *g)
{
	uint32_t top = 0;

	for (size_t i = 0; i < g->n; i++)
		top = g->v[i].leaf + 1 > top ? g->v[i].leaf + 1 : top;
	g->slots = xcalloc((size_t)top + 1, sizeof(*g->slots));
	for (size_t i = 0; i < g->n; i++) {
		uint32_t *slot = &g->slots[g->v[i].leaf + 1];

		if (!*slot)
			*slot = (uint32_t)++g->n_leaves;
	}
	g->leaves = xcalloc(g->n_leaves, sizeof(*g->leaves));
	g->order = xcalloc(g->n_leaves, sizeof(struct leaf *));
	g->ahead = xcalloc(g->n_leaves + 1, sizeof(*g->ahead));
	g->widest = xcalloc(g->n_leaves + 1, sizeof(*g->widest));
}

bool gang_choose(const struct request *r, uint32_t alternative, bool spread,
        const struct gang_candidate *v, size_t n, struct gang_choice *out)
{
	struct gang g = { .r = r, .total = r->n && !r->per_node, .spread = spread, .v = v, .n = n };
	bool ok = false;

	if (n < r->nodes_min)
		return false;
	number_leaves(&g);
	if (r->preferred) {
		g.only_preferred = true;
		collect(&g);
		ok = count_nodes(&g, alternative);
	}
	if (!ok) {
		g.only_preferred = false;
		collect(&g);
		ok = count_nodes(&g, alternative);
	}
	if (ok) {
		choose_leaves(&g);
		give(&g, alternative, out);
	}
	free(g.slots);
	free(g.leaves);
	free(g.order);
	free(g.ahead);
	free(g.widest);
	return ok;
}

void gang_choice_free(struct gang_choice *c)
{
	free(c->v);
	*c = (struct gang_choice){ 0 };
}
