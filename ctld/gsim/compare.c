/* compare.c - pairs, means and intervals; see compare.h */
#include "ctld/gsim/compare.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/xalloc.h"
#include "ctld/gsim/random.h"

#define NONE SIZE_MAX
#define FEW  5 /* blocks with jobs: with fewer there is no interval */
#define TAIL 0.025

struct pair {
	const struct plotted_job *a, *b;
	size_t block;
};

/* --- pairs ------------------------------------------------------------------------------------ */

/* The jobs of B by their names, in order: chains through `next`. */
struct chains {
	size_t *first, *last, *next;
	size_t n_names;
};

static void chain(struct chains *c, uint32_t name, size_t i)
{
	if (name >= c->n_names) {
		size_t n = ((size_t)name + 1) * 2;

		c->first = xrealloc(c->first, n, sizeof(*c->first));
		c->last = xrealloc(c->last, n, sizeof(*c->last));
		for (; c->n_names < n; c->n_names++)
			c->first[c->n_names] = c->last[c->n_names] = NONE;
	}
	if (c->first[name] == NONE)
		c->first[name] = i;
	else
		c->next[c->last[name]] = i;
	c->last[name] = i;
}

static size_t unchain(struct chains *c, uint32_t name)
{
	size_t i = name < c->n_names ? c->first[name] : NONE;

	if (i != NONE)
		c->first[name] = c->next[i];
	return i;
}

/* Returns the pairs that started in both. */
static struct pair *make_pairs(
        struct comparison *c, const struct results *a, const struct results *b, size_t *n)
{
	struct pair *pairs = xcalloc(a->n ? a->n : 1, sizeof(*pairs));
	struct text_numbers *names = text_numbers_new();
	struct chains chains = { .next = xcalloc(b->n ? b->n : 1, sizeof(size_t)) };
	size_t i, k, left = 0;

	for (i = 0; i < b->n; i++) {
		chains.next[i] = NONE;
		if (b->v[i].refused)
			continue;
		chain(&chains, text_numbers_get(names, text_numbers_text(b->names, b->v[i].name)), i);
		left++;
	}
	for (i = *n = 0; i < a->n; i++) {
		const struct plotted_job *one = &a->v[i].job, *two;

		if (a->v[i].refused)
			continue;
		k = unchain(&chains, text_numbers_get(names, text_numbers_text(a->names, a->v[i].name)));
		if (k == NONE) {
			c->only_a++;
			continue;
		}
		left--;
		two = &b->v[k].job;
		c->pairs++;
		c->neither += isnan(one->start) && isnan(two->start);
		c->started_a += !isnan(one->start) && isnan(two->start);
		c->started_b += isnan(one->start) && !isnan(two->start);
		if (!isnan(one->start) && !isnan(two->start))
			pairs[(*n)++] = (struct pair){ one, two, 0 };
	}
	c->only_b = left;
	free(chains.first);
	free(chains.last);
	free(chains.next);
	text_numbers_free(names);
	return pairs;
}

static void make_blocks(struct pair *pairs, size_t n)
{
	double from = INFINITY, to = -INFINITY;
	size_t i;

	for (i = 0; i < n; i++) {
		from = fmin(from, pairs[i].a->submit);
		to = fmax(to, pairs[i].a->submit);
	}
	for (i = 0; i < n; i++) {
		double part = to > from ? (pairs[i].a->submit - from) / (to - from) : 0;
		size_t block = (size_t)(part * COMPARE_BLOCKS);

		pairs[i].block = block < COMPARE_BLOCKS ? block : COMPARE_BLOCKS - 1;
	}
}

/* --- one group -------------------------------------------------------------------------------- */

struct block {
	double sum; /* of differences */
	double jobs;
};

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double draw(const struct block blocks[COMPARE_BLOCKS], uint64_t *seed)
{
	double sum = 0, jobs = 0;
	size_t i;

	for (i = 0; i < COMPARE_BLOCKS; i++) {
		const struct block *b = &blocks[random_below(seed, COMPARE_BLOCKS)];

		sum += b->sum;
		jobs += b->jobs;
	}
	return jobs > 0 ? sum / jobs : NAN;
}

static void interval(struct compared *r, const struct block blocks[COMPARE_BLOCKS], uint64_t seed)
{
	double *means = xcalloc(COMPARE_DRAWS, sizeof(*means));
	size_t full = 0, n = 0, i;

	r->low = r->high = NAN;
	for (i = 0; i < COMPARE_BLOCKS; i++)
		full += blocks[i].jobs > 0;
	for (i = 0; full >= FEW && i < COMPARE_DRAWS; i++) {
		means[n] = draw(blocks, &seed);
		n += !isnan(means[n]);
	}
	if (n) {
		qsort(means, n, sizeof(*means), by_value);
		r->low = means[(size_t)(TAIL * (double)(n - 1))];
		r->high = means[(size_t)ceil((1 - TAIL) * (double)(n - 1))];
	}
	free(means);
}

static double percentile(const double *sorted, size_t n, unsigned percent)
{
	size_t i = n * percent / 100;

	return n ? sorted[i < n ? i : n - 1] : 0;
}

/* Those of the pairs whose `of` is `group`; `of` NULL: all. */
static void measure(struct compared *r, const struct pair *pairs, const size_t *of, size_t group,
        size_t n, uint64_t seed)
{
	double *a = xcalloc(n ? n : 1, sizeof(*a)), *b = xcalloc(n ? n : 1, sizeof(*b));
	struct block blocks[COMPARE_BLOCKS] = { { 0, 0 } };
	double sum_a = 0, sum_b = 0;
	size_t i, k = 0;

	for (i = 0; i < n; i++) {
		double difference;

		if (of && of[i] != group)
			continue;
		a[k] = pairs[i].a->start - pairs[i].a->submit;
		b[k] = pairs[i].b->start - pairs[i].b->submit;
		difference = b[k] - a[k];
		sum_a += a[k];
		sum_b += b[k++];
		r->longer += difference > COMPARE_SAME;
		r->shorter += difference < -COMPARE_SAME;
		blocks[pairs[i].block].sum += difference;
		blocks[pairs[i].block].jobs++;
	}
	qsort(a, k, sizeof(*a), by_value);
	qsort(b, k, sizeof(*b), by_value);
	r->jobs = k;
	r->mean_a = k ? sum_a / (double)k : 0;
	r->mean_b = k ? sum_b / (double)k : 0;
	r->difference = r->mean_b - r->mean_a;
	r->p50_a = percentile(a, k, 50);
	r->p50_b = percentile(b, k, 50);
	r->p95_a = percentile(a, k, 95);
	r->p95_b = percentile(b, k, 95);
	interval(r, blocks, seed);
	free(a);
	free(b);
}

/* --- all of them ------------------------------------------------------------------------------ */

static int by_difference(const void *a, const void *b)
{
	const struct compared *x = a, *y = b;

	if (x->difference != y->difference)
		return x->difference < y->difference ? 1 : -1;
	return strcmp(x->name, y->name);
}

static struct compared *add(struct comparison *c, enum compared_by by, const char *name)
{
	struct compared *r = &c->v[c->n++];

	*r = (struct compared){ .by = by, .name = name };
	return r;
}

static void by_accounts(
        struct comparison *c, const struct pair *pairs, size_t *of, size_t n, uint64_t seed)
{
	struct compared *first;
	struct text_numbers *accounts = text_numbers_new();
	size_t i, n_accounts = 0;

	for (i = 0; i < n; i++) {
		of[i] = text_numbers_get(accounts, pairs[i].a->account);
		n_accounts = of[i] >= n_accounts ? of[i] + 1 : n_accounts;
	}
	c->v = xrealloc(c->v, c->n + n_accounts + JOB_SIZES, sizeof(*c->v));
	first = &c->v[c->n];
	for (i = 0; i < n_accounts; i++) {
		size_t k = 0;

		while (of[k] != i)
			k++;
		measure(add(c, BY_ACCOUNT, pairs[k].a->account), pairs, of, i, n, seed);
	}
	qsort(first, n_accounts, sizeof(*first), by_difference);
	text_numbers_free(accounts);
}

static void by_sizes(
        struct comparison *c, const struct pair *pairs, size_t *of, size_t n, uint64_t seed)
{
	size_t i, k;

	for (i = 0; i < n; i++)
		of[i] = job_size_of(pairs[i].a->gpus);
	for (i = 0; i < JOB_SIZES; i++) {
		for (k = 0; k < n && of[k] != i; k++)
			;
		if (k < n)
			measure(add(c, BY_SIZE, job_size_name(i)), pairs, of, i, n, seed);
	}
}

void comparison_make(struct comparison *c, const char *a, const struct results *in_a, const char *b,
        const struct results *in_b, uint64_t seed)
{
	struct pair *pairs;
	size_t n, i, *of;

	*c = (struct comparison){ .a = a, .b = b };
	pairs = make_pairs(c, in_a, in_b, &n);
	make_blocks(pairs, n);
	of = xcalloc(n ? n : 1, sizeof(*of));
	c->v = xcalloc(1, sizeof(*c->v));
	measure(add(c, BY_NOTHING, "all"), pairs, NULL, 0, n, seed);
	by_accounts(c, pairs, of, n, seed);
	by_sizes(c, pairs, of, n, seed);
	c->waits_a = xcalloc(n ? n : 1, sizeof(double));
	c->waits_b = xcalloc(n ? n : 1, sizeof(double));
	c->n_waits = n;
	for (i = 0; i < n; i++) {
		c->waits_a[i] = pairs[i].a->start - pairs[i].a->submit;
		c->waits_b[i] = pairs[i].b->start - pairs[i].b->submit;
	}
	free(of);
	free(pairs);
}

void comparison_free(struct comparison *c)
{
	free(c->v);
	free(c->waits_a);
	free(c->waits_b);
}
