/* queue_depth.c - how many GPUs were waited for, and how deep a queue is too deep; see demand.h */
#include <math.h>
#include <stdlib.h>

#include "common/base/xalloc.h"
#include "ctld/gdemand/demand.h"

#define LATE       0.05 /* so many may wait longer than they should */
#define DEPTH_BINS 20
#define BIN_LEAST  20 /* jobs; of fewer no 95 % are known */
#define LITTLE_OFF 0.05

static const struct sheet_column columns[] = {
	{ "scope", "GPUS OF", SHEET_TEXT },
	{ "mean", "MEAN", SHEET_GPUS },
	{ "p50", "P50", SHEET_GPUS },
	{ "p95", "P95", SHEET_GPUS },
	{ "p99", "P99", SHEET_GPUS },
	{ "wait_p50_s", "WAIT P50", SHEET_TIME },
	{ "wait_p95_s", "WAIT P95", SHEET_TIME },
	{ "in_target", "IN TARGET", SHEET_PART },
	{ "depth_limit", "TOO DEEP AT", SHEET_GPUS },
	{ "little", "LITTLE", SHEET_RATIO },
};

/* --- the depth at which waits pass their targets --------------------------------------------- */

/* A job: how many GPUs others waited for when it could start, and whether it waited too long. */
struct found_depth {
	double depth;
	bool late;
	uint32_t block;
};

struct depths {
	struct found_depth *v;
	size_t n;
};

/* Bins of equally many jobs, by depth: the depth from which on two in a row have more than LATE
 * late ones. */
static void ask_depth(const void *arg, const uint32_t *times, double *out)
{
	const struct depths *d = arg;
	double total = 0, in_bin = 0, late = 0, begin = 0, first = NAN;
	bool before = false;
	size_t i;

	*out = NAN;
	for (i = 0; i < d->n; i++)
		total += times ? times[d->v[i].block] : 1;
	if (total < 2 * BIN_LEAST)
		return;
	for (i = 0; i < d->n; i++) {
		double weight = times ? times[d->v[i].block] : 1;
		bool full = in_bin >= total / DEPTH_BINS && in_bin >= BIN_LEAST &&
		            d->v[i].depth > d->v[i - 1].depth;

		if (full) {
			bool over = late > LATE * in_bin;

			if (over && before && isnan(*out))
				*out = first;
			first = over && !before ? begin : first;
			before = over;
			in_bin = late = 0;
		}
		begin = in_bin > 0 ? begin : d->v[i].depth;
		in_bin += weight;
		late += d->v[i].late ? weight : 0;
	}
	if (isnan(*out) && late > LATE * in_bin)
		*out = before ? first : begin;
}

static int by_depth(const void *x, const void *y)
{
	const struct found_depth *a = x, *b = y;

	return a->depth < b->depth ? -1 : a->depth > b->depth;
}

/* A job sees the queue as it was before it came, and before those that came with it. */
static void find_depths(const struct past *p, const struct scope *scope,
        const struct level *waiting, struct depths *d)
{
	size_t i;

	d->v = xcalloc(p->n, sizeof(*d->v));
	for (i = 0; i < p->n; i++) {
		const struct past_job *j = &p->v[i];

		if (past_counts(p, j) && scope_has(scope, j) && past_wait(j) >= 0)
			d->v[d->n++] = (struct found_depth){
				(double)level_at(waiting, j->eligible - 1) / 1000,
				past_wait(j) > j->target, j->block
			};
	}
	if (d->n)
		qsort(d->v, d->n, sizeof(*d->v), by_depth);
}

/* --- in target, and Little's law ------------------------------------------------------------- */

static void ask_in_target(const void *arg, const uint32_t *times, double *out)
{
	const struct depths *d = arg;
	double all = 0, in_time = 0;
	size_t i;

	for (i = 0; i < d->n; i++) {
		double weight = times ? times[d->v[i].block] : 1;

		all += weight;
		in_time += d->v[i].late ? 0 : weight;
	}
	*out = all > 0 ? in_time / all : NAN;
}

/* GPUs that wait, against those that come in a second times how long each waits: 1 by Little's law,
 * but for what waits at both ends of the time. */
static double little(const struct past *p, const struct scope *scope, double mean)
{
	double sum = 0;
	size_t i;

	for (i = 0; i < p->n; i++) {
		const struct past_job *j = &p->v[i];

		if (past_counts(p, j) && scope_has(scope, j) && past_wait(j) > 0)
			sum += (double)j->milli / 1000 * (double)past_wait(j);
	}
	sum /= (double)(p->to - p->from);
	return sum > 0 ? mean / sum : NAN;
}

/* --- a row ----------------------------------------------------------------------------------- */

static void waits(const struct demand *d, const struct scope *scope, struct interval out[2])
{
	static const double q[] = { 0.5, 0.95 };
	const struct past *p = d->past;
	struct weighted w = { 0 };
	size_t i;

	for (i = 0; i < p->n; i++) {
		const struct past_job *j = &p->v[i];

		if (past_counts(p, j) && scope_has(scope, j) && past_wait(j) >= 0)
			weighted_add(&w, (double)past_wait(j) / 1e6, 1, j->block);
	}
	weighted_seal(&w);
	demand_quantiles(d, &w, q, 2, out);
	weighted_clear(&w);
}

/* Returns how far Little's law is from true. */
static double row(const struct demand *d, struct sheet *s, const struct scope *scope)
{
	static const double q[] = { 0.5, 0.95, 0.99 };
	struct interval found[3], wait[2], in_target, limit;
	struct level level = { 0 };
	struct weighted w = { 0 };
	struct depths depths = { 0 };
	char name[SCOPE_TEXT];
	double law;
	size_t i;

	demand_waiting(d->past, scope, &level);
	demand_weigh(d->past, &level, &w);
	demand_quantiles(d, &w, q, 3, found);
	waits(d, scope, wait);
	find_depths(d->past, scope, &level, &depths);
	bootstrap(&d->bootstrap, ask_in_target, &depths, 1, &in_target);
	bootstrap(&d->bootstrap, ask_depth, &depths, 1, &limit);
	law = little(d->past, scope, weighted_mean(&w, NULL));
	sheet_text(s, demand_scope_name(name, d->past, scope));
	sheet_number(s, weighted_mean(&w, NULL));
	for (i = 0; i < 3; i++)
		sheet_interval(s, &found[i]);
	sheet_interval(s, &wait[0]);
	sheet_interval(s, &wait[1]);
	sheet_interval(s, &in_target);
	sheet_interval(s, &limit);
	sheet_number(s, law);
	free(depths.v);
	weighted_clear(&w);
	level_clear(&level);
	return isnan(law) ? 0 : fabs(law - 1);
}

void demand_queue(struct demand *d)
{
	struct sheet *s = BOOK_SHEET(d->book, "queue",
	        d->past->simulated ? "Queue: GPUs waited for, as gsim has it"
	                           : "Queue: GPUs waited for",
	        columns);
	double off = 0;
	size_t i;

	if (!d->past->has.starts) {
		sheet_note(s,
		        "Not known: this history does not say when jobs started. With -f FILE or "
		        "--nodes=FILE gsim says when they would have on that cluster.");
		return;
	}
	for (i = 0; i < d->n_scopes; i++) {
		double of = row(d, s, &d->scopes[i]);

		off = i ? off : of;
	}
	sheet_note(s,
	        "Too deep: a job that finds so many GPUs waited for has a chance of more than 5 %% "
	        "to wait longer than it wishes.");
	if (off > LITTLE_OFF)
		sheet_note(s,
		        "Little's law is off by %.0f %%: much waits at the beginning or the end of "
		        "the time that is looked at, or jobs are missing.",
		        off * 100);
}
