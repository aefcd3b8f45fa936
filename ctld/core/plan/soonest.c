/* soonest.c - see soonest.h
 *
 * The tree is an array: node i has the children 2i and 2i + 1, and each node has the least time of
 * its leaves. A walk keeps a heap of subtrees that it has not entered, by the least time that each
 * had when it was put there. A time that was set since then is noticed when the subtree is taken
 * from the heap: if it has become later, the subtree is put back with its new time.
 */
#include "ctld/core/plan/soonest.h"

#include <stdlib.h>

#include "common/base/xalloc.h"

struct soonest {
	size_t leaves;  /* a power of two; the tree's nodes are 1 .. 2 * leaves - 1 */
	uint32_t depth; /* levels above the leaves */
	usec_t *least;
};

/* Of equal subtrees the one with the lowest member comes first: they are compared by their first
 * leaf. */
struct subtree {
	usec_t least; /* as of when it was put there */
	size_t first;
	uint32_t tree;
};

struct soonest *soonest_new(size_t members)
{
	struct soonest *s = xcalloc(1, sizeof(*s));

	for (s->leaves = 1; s->leaves < members; s->depth++)
		s->leaves *= 2;
	s->least = xcalloc(2 * s->leaves, sizeof(*s->least));
	for (size_t i = 0; i < 2 * s->leaves; i++)
		s->least[i] = SOONEST_NEVER;
	return s;
}

void soonest_free(struct soonest *s)
{
	if (!s)
		return;
	free(s->least);
	free(s);
}

/* Up the tree as far as something changes: at most its depth. */
void soonest_set(struct soonest *s, size_t member, usec_t when)
{
	size_t i = s->leaves + member;

	if (s->least[i] == when)
		return;
	s->least[i] = when;
	for (i /= 2; i; i /= 2) {
		usec_t a = s->least[2 * i], b = s->least[2 * i + 1], least = a < b ? a : b;

		if (s->least[i] == least)
			break;
		s->least[i] = least;
	}
}

/* The member at the left end of the subtree. */
static size_t first_leaf(const struct soonest *s, uint32_t tree)
{
	return (size_t)tree << (s->depth - (31 - (uint32_t)__builtin_clz(tree)));
}

static bool before(const struct subtree *x, const struct subtree *y)
{
	return x->least != y->least ? x->least < y->least : x->first < y->first;
}

static void push(const struct soonest *s, struct soonest_walk *w, uint32_t tree)
{
	struct subtree new = { s->least[tree], first_leaf(s, tree), tree };
	size_t i;

	if (new.least == SOONEST_NEVER)
		return;
	i = w->n++;
	w->front = xgrow(w->front, i, &w->size, sizeof(*w->front));
	for (; i && before(&new, &w->front[(i - 1) / 2]); i = (i - 1) / 2)
		w->front[i] = w->front[(i - 1) / 2];
	w->front[i] = new;
}

static struct subtree pop(struct soonest_walk *w)
{
	struct subtree top = w->front[0], last = w->front[--w->n];
	size_t i = 0, child;

	for (; (child = 2 * i + 1) < w->n; i = child) {
		if (child + 1 < w->n && before(&w->front[child + 1], &w->front[child]))
			child++;
		if (!before(&w->front[child], &last))
			break;
		w->front[i] = w->front[child];
	}
	w->front[i] = last;
	return top;
}

void soonest_start(const struct soonest *s, struct soonest_walk *w)
{
	w->n = 0;
	push(s, w, 1);
}

bool soonest_next(const struct soonest *s, struct soonest_walk *w, size_t *member, usec_t *when)
{
	struct subtree top;
	uint32_t tree;

	do {
		if (!w->n)
			return false;
		top = pop(w);
		if (s->least[top.tree] > top.least)
			push(s, w, top.tree); /* it has become later since */
	} while (s->least[top.tree] > top.least);
	/* The half of the first subtree that has its least time comes before all other halves: the
	 * search goes down to the leaf without looking at those. */
	for (tree = top.tree; tree < s->leaves;) {
		uint32_t half = 2 * tree;

		half += s->least[half + 1] < s->least[half];
		push(s, w, half ^ 1);
		tree = half;
	}
	*member = tree - s->leaves;
	*when = s->least[tree];
	return true;
}

void soonest_walk_free(struct soonest_walk *w)
{
	free(w->front);
	*w = (struct soonest_walk){ .front = NULL };
}
