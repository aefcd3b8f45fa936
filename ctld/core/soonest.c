/* soonest.c - see soonest.h */
#include "ctld/core/soonest.h"

#include <stdlib.h>

#include "common/xalloc.h"

struct soonest {
	size_t leaves;  /* a power of two; the tree's nodes are 1 .. 2 * leaves - 1 */
	uint32_t depth; /* of the leaves */
	usec_t *least;
	/* The front of a walk: a heap of subtrees. Among equals the one that holds the lowest
	 * member is first: they are compared by their first leaf. */
	struct subtree {
		usec_t least;
		size_t first;
		uint32_t tree;
	} * front;
	size_t n, size;
};

struct soonest *soonest_new(size_t members)
{
	struct soonest *s = xcalloc(1, sizeof(*s));
	size_t i;

	for (s->leaves = 1; s->leaves < members; s->depth++)
		s->leaves *= 2;
	s->least = xcalloc(2 * s->leaves, sizeof(*s->least));
	for (i = 0; i < 2 * s->leaves; i++)
		s->least[i] = SOONEST_NEVER;
	return s;
}

void soonest_free(struct soonest *s)
{
	if (!s)
		return;
	free(s->least);
	free(s->front);
	free(s);
}

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

static size_t first_leaf(const struct soonest *s, uint32_t tree)
{
	return (size_t)tree << (s->depth - (31 - (uint32_t)__builtin_clz(tree)));
}

static bool before(const struct subtree *x, const struct subtree *y)
{
	return x->least != y->least ? x->least < y->least : x->first < y->first;
}

static void push(struct soonest *s, uint32_t tree)
{
	struct subtree new = { s->least[tree], first_leaf(s, tree), tree };
	size_t i = s->n++;

	if (s->n > s->size) {
		s->size = s->size ? 2 * s->size : 64;
		s->front = xrealloc(s->front, s->size, sizeof(*s->front));
	}
	for (; i && before(&new, &s->front[(i - 1) / 2]); i = (i - 1) / 2)
		s->front[i] = s->front[(i - 1) / 2];
	s->front[i] = new;
}

static uint32_t pop(struct soonest *s)
{
	uint32_t top = s->front[0].tree;
	struct subtree last = s->front[--s->n];
	size_t i = 0, child;

	for (; (child = 2 * i + 1) < s->n; i = child) {
		if (child + 1 < s->n && before(&s->front[child + 1], &s->front[child]))
			child++;
		if (!before(&s->front[child], &last))
			break;
		s->front[i] = s->front[child];
	}
	s->front[i] = last;
	return top;
}

void soonest_start(struct soonest *s)
{
	s->n = 0;
	if (s->least[1] != SOONEST_NEVER)
		push(s, 1);
}

bool soonest_next(struct soonest *s, size_t *member, usec_t *when)
{
	uint32_t tree;

	if (!s->n)
		return false;
	/* Whichever half of the first subtree has its least is the first of all halves: down to the
	 * leaf, without looking at the others. */
	for (tree = pop(s); tree < s->leaves;) {
		uint32_t half = 2 * tree;

		half += s->least[half + 1] < s->least[half];
		if (s->least[half ^ 1] != SOONEST_NEVER)
			push(s, half ^ 1);
		tree = half;
	}
	*member = tree - s->leaves;
	*when = s->least[tree];
	return true;
}
