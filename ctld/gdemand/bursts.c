/* bursts.c - times at which more was wanted than 95 % of the time; see demand.h
 *
 * What is shorter than a cold start is noise: a replica, or a node, that was started for it would
 * be ready when it is over.
 */
#include <math.h>

#include "ctld/gdemand/demand.h"

#define WEEK_S 604800.0

static const struct sheet_column columns[] = {
	{ "scope", "GPUS OF", SHEET_TEXT },
	{ "over", "OVER", SHEET_GPUS },
	{ "bursts", "BURSTS", SHEET_COUNT },
	{ "per_week", "A WEEK", SHEET_RATIO },
	{ "height_p50", "HEIGHT P50", SHEET_GPUS },
	{ "height_p95", "HEIGHT P95", SHEET_GPUS },
	{ "length_p50", "LENGTH P50", SHEET_TIME },
	{ "length_p95", "LENGTH P95", SHEET_TIME },
	{ "noise", "NOISE", SHEET_COUNT },
};

struct bursts {
	const struct demand *d;
	int64_t over;
	struct weighted height, length;
	size_t n, noise;
};

static void burst(void *arg, usec_t from, usec_t to, int64_t peak)
{
	struct bursts *b = arg;
	uint32_t block = past_block_at(b->d->past, from);
	double length = (double)(to - from) / 1e6;

	if (length < b->d->cold_start_s) {
		b->noise++;
		return;
	}
	b->n++;
	weighted_add(&b->height, (double)(peak - b->over) / 1000, 1, block);
	weighted_add(&b->length, length, 1, block);
}

static void row(const struct demand *d, struct sheet *s, const struct concurrency *c)
{
	static const double q[] = { 0.5, 0.95 };
	struct bursts b = { .d = d, .over = llround(c->p95.value * 1000) };
	struct interval height[2], length[2];
	struct level level = { 0 };
	char name[SCOPE_TEXT];

	demand_wanted(d->past, &c->scope, &level);
	level_excursions(&level, d->past->from, d->past->to, b.over, burst, &b);
	weighted_seal(&b.height);
	weighted_seal(&b.length);
	demand_quantiles(d, &b.height, q, 2, height);
	demand_quantiles(d, &b.length, q, 2, length);
	sheet_text(s, demand_scope_name(name, d->past, &c->scope));
	sheet_number(s, c->p95.value);
	sheet_number(s, (double)b.n);
	sheet_number(s, (double)b.n * WEEK_S * 1e6 / (double)(d->past->to - d->past->from));
	sheet_interval(s, &height[0]);
	sheet_interval(s, &height[1]);
	sheet_interval(s, &length[0]);
	sheet_interval(s, &length[1]);
	sheet_number(s, (double)b.noise);
	weighted_clear(&b.height);
	weighted_clear(&b.length);
	level_clear(&level);
}

void demand_bursts(struct demand *d)
{
	struct sheet *s =
	        BOOK_SHEET(d->book, "bursts", "Bursts: when more was wanted than the p95", columns);
	char cold[SHEET_CELL_TEXT];
	size_t i;

	for (i = 0; i < d->n_scopes; i++)
		row(d, s, &d->concurrency[i]);
	sheet_format(cold, SHEET_TIME, d->cold_start_s);
	if (d->cold_measured)
		sheet_note(s, "Noise: shorter than the measured cold start of replicas, %s.", cold);
	else
		sheet_note(s,
		        "Noise: shorter than a cold start, for which %s is assumed: no replica of "
		        "a "
		        "service is in the history.",
		        cold);
}
