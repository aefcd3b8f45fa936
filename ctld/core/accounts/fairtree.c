/* fairtree.c - see fairtree.h
 *
 * The tree is an array in which children come after their parents. So one pass from the end adds up
 * usage and shares, and one pass from the beginning computes the ratios. The walk needs no
 * recursion for siblings: those of one level stand on a stack, sorted, and an account puts its
 * children (and those of all accounts equal to it) on top. The order of the last ranking is kept by
 * the caller and given again, so that sorting finds nearly sorted input (resort.h).
 */
#include "ctld/core/accounts/fairtree.h"

#include <stdlib.h>

#include "common/base/xalloc.h"
#include "ctld/core/util/resort.h"

/* A node among its siblings. */
struct sibling {
	double level_fs;
	bool user;
	uint32_t node;
};

struct walk {
	struct fair_node *v;
	uint32_t *first, *next; /* children: first[node], then next[child]; FAIR_ROOT ends */
	struct sibling *stack;  /* siblings of all levels that are being walked */
	size_t used;
	uint32_t *order; /* nodes as they are met; NULL */
	size_t ordered;
	uint32_t met;  /* users so far */
	uint32_t rank; /* of the last one */
};

/* --- sums and shares ------------------------------------------------------------------------- */

/* What all children of each node have together; the root's are the last. */
struct sums {
	double usage;
	uint64_t shares;
};

static void fill(struct fair_node *v, size_t n)
{
	struct sums *sums = xcalloc(n + 1, sizeof(*sums));

	/* Children come after their parents. */
	for (size_t i = n; i-- > 0;) {
		struct sums *up = &sums[v[i].parent == FAIR_ROOT ? n : v[i].parent];

		if (!v[i].user)
			v[i].usage = sums[i].usage;
		up->usage += v[i].usage;
		up->shares += v[i].shares;
	}
	for (size_t i = 0; i < n; i++) {
		struct sums *up = &sums[v[i].parent == FAIR_ROOT ? n : v[i].parent];

		v[i].norm = v[i].shares ? (double)v[i].shares / (double)up->shares : 0;
		v[i].effective = v[i].usage > 0 ? v[i].usage / up->usage : 0;
		if (!v[i].shares)
			v[i].level_fs = 0;
		else
			v[i].level_fs =
			        v[i].effective > 0 ? v[i].norm / v[i].effective : __builtin_inf();
	}
	free(sums);
}

/* --- the walk -------------------------------------------------------------------------------- */

static int by_level_fs(const void *x, const void *y)
{
	const struct sibling *a = x, *b = y;

	if (a->level_fs != b->level_fs)
		return a->level_fs > b->level_fs ? -1 : 1;
	/* Users first: then an account that is equal is known to follow one. */
	if (a->user != b->user)
		return a->user ? -1 : 1;
	return a->node < b->node ? -1 : 1;
}

static void push(struct walk *w, uint32_t node)
{
	for (; node != FAIR_ROOT; node = w->next[node])
		w->stack[w->used++] =
		        (struct sibling){ w->v[node].level_fs, w->v[node].user, node };
}

static void meet_any(struct walk *w, uint32_t node)
{
	if (w->order)
		w->order[w->ordered++] = node;
}

static void meet(struct walk *w, uint32_t user, bool tied)
{
	w->met++;
	if (!tied)
		w->rank = w->met;
	w->v[user].rank = w->rank;
}

/* Walk the siblings that stand on the stack from `at` on, and take them off. `tied`: the first user
 * that is met shares the rank of the one before. */
static void visit(struct walk *w, size_t at, bool tied)
{
	uint32_t before = w->met;
	size_t end = w->used, i;

	resort(w->stack + at, end - at, sizeof(*w->stack), by_level_fs);
	for (i = at; i < end; i++) {
		double fs = w->stack[i].level_fs;

		if (w->met > before)
			tied = fs == w->stack[i - 1].level_fs;
		meet_any(w, w->stack[i].node);
		if (w->stack[i].user) {
			meet(w, w->stack[i].node, tied);
			continue;
		}
		/* Users come before accounts that are equal: what follows and is equal is one. */
		push(w, w->first[w->stack[i].node]);
		while (i + 1 < end && w->stack[i + 1].level_fs == fs) {
			meet_any(w, w->stack[++i].node);
			push(w, w->first[w->stack[i].node]);
		}
		visit(w, end, tied);
	}
	w->used = at;
}

/* The children of each node in the order in which all nodes are given. */
static uint32_t list_children(struct walk *w, size_t n)
{
	uint32_t top = FAIR_ROOT;

	for (size_t i = 0; i < n; i++)
		w->first[i] = FAIR_ROOT;
	for (size_t i = n; i-- > 0;) {
		uint32_t node = w->order ? w->order[i] : (uint32_t)i;
		uint32_t parent = w->v[node].parent;
		uint32_t *list = parent == FAIR_ROOT ? &top : &w->first[parent];

		w->next[node] = *list;
		*list = node;
	}
	return top;
}

void fairtree_rank(struct fair_node *v, size_t n, uint32_t *order)
{
	struct walk w = { .v = v, .order = order };

	fill(v, n);
	w.first = xcalloc(n, sizeof(*w.first));
	w.next = xcalloc(n, sizeof(*w.next));
	w.stack = xcalloc(n, sizeof(*w.stack));
	push(&w, list_children(&w, n));
	visit(&w, 0, false);
	for (size_t i = 0; i < n; i++)
		v[i].factor = v[i].user ? (double)(w.met - v[i].rank + 1) / w.met : 0;
	free(w.first);
	free(w.next);
	free(w.stack);
}
