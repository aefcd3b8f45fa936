/* concurrency.c - how many GPUs are wanted at once; see demand.h */
#include <math.h>
#include <stdlib.h>

#include "common/base/xalloc.h"
#include "ctld/gdemand/demand.h"

#define KEPT ((usec_t)3600 * 1000000)

static const struct sheet_column columns[] = {
	{ "scope", "GPUS OF", SHEET_TEXT },
	{ "mean", "MEAN", SHEET_GPUS },
	{ "floor", "FLOOR (P5)", SHEET_GPUS },
	{ "p50", "P50", SHEET_GPUS },
	{ "p95", "P95", SHEET_GPUS },
	{ "p99", "P99", SHEET_GPUS },
	{ "kept_1h", "KEPT 1 H", SHEET_GPUS },
	{ "given_mean", "GIVEN", SHEET_GPUS },
};

/* The highest level that was kept for an hour, of each block of time. */
struct kept {
	const double *of_block;
	uint32_t blocks;
	double all;
};

static void ask_kept(const void *arg, const uint32_t *times, double *out)
{
	const struct kept *k = arg;
	double most = 0;
	uint32_t i;

	for (i = 0; times && i < k->blocks; i++)
		most = times[i] && k->of_block[i] > most ? k->of_block[i] : most;
	*out = times ? most : k->all;
}

static void find_kept(const struct demand *d, const struct level *level, struct interval *out)
{
	const struct past *p = d->past;
	usec_t span = past_block_span(p->block_length);
	double *of_block = xcalloc(p->blocks, sizeof(*of_block));
	struct kept kept = { of_block, p->blocks,
		(double)level_kept(level, p->from, p->to, KEPT) / 1000 };
	uint32_t i;

	for (i = 0; span >= KEPT && i < p->blocks; i++) {
		usec_t from = p->from + i * span;
		usec_t to = i + 1 < p->blocks ? from + span : p->to;

		of_block[i] = (double)level_kept(level, from, to, KEPT) / 1000;
	}
	bootstrap(&d->bootstrap, ask_kept, &kept, 1, out);
	free(of_block);
}

static double given_mean(const struct past *p, const struct scope *scope)
{
	struct level level = { 0 };
	double mean;

	if (!p->has.starts)
		return NAN;
	demand_given(p, scope, &level);
	mean = level_mean(&level, p->from, p->to) / 1000;
	level_clear(&level);
	return mean;
}

static void find(const struct demand *d, struct concurrency *c)
{
	static const double q[] = { 0.05, 0.5, 0.95, 0.99 };
	struct interval found[4];
	struct level level = { 0 };
	struct weighted w = { 0 };

	demand_wanted(d->past, &c->scope, &level);
	demand_weigh(d->past, &level, &w);
	demand_quantiles(d, &w, q, 4, found);
	c->floor = found[0];
	c->median = found[1];
	c->p95 = found[2];
	c->p99 = found[3];
	c->mean = weighted_mean(&w, NULL);
	find_kept(d, &level, &c->kept);
	weighted_clear(&w);
	level_clear(&level);
}

void demand_concurrency(struct demand *d)
{
	struct sheet *s = BOOK_SHEET(d->book, "concurrency",
	        "Concurrency: GPUs in use had every job started at once", columns);
	char name[SCOPE_TEXT];
	size_t i;

	for (i = 0; i < d->n_scopes; i++) {
		struct concurrency *c = &d->concurrency[i];

		c->scope = d->scopes[i];
		find(d, c);
		sheet_text(s, demand_scope_name(name, d->past, &c->scope));
		sheet_number(s, c->mean);
		sheet_interval(s, &c->floor);
		sheet_interval(s, &c->median);
		sheet_interval(s, &c->p95);
		sheet_interval(s, &c->p99);
		sheet_interval(s, &c->kept);
		sheet_number(s, given_mean(d->past, &c->scope));
	}
	if (d->accounts_left_out)
		sheet_note(s,
		        "%zu accounts with fewer GPU-hours are left out: --top=%zu shows all.",
		        d->accounts_left_out, d->accounts_left_out + d->top);
	if (d->past->to - d->past->from < KEPT)
		sheet_note(s, "The history is shorter than an hour: no level was kept for one.");
}
