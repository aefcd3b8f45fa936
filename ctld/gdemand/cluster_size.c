/* cluster_size.c - see cluster_size.h */
#include "ctld/gdemand/cluster_size.h"

#include <math.h>
#include <stdlib.h>

#include "common/base/xalloc.h"
#include "ctld/gdemand/erlang.h"

static const struct sheet_column columns[] = {
	{ "nodes", "NODES", SHEET_COUNT },
	{ "gpus", "GPUS", SHEET_COUNT },
	{ "in_target", "IN TARGET", SHEET_PART },
	{ "wait_mean_s", "WAIT MEAN", SHEET_TIME },
	{ "wait_p95_s", "WAIT P95", SHEET_TIME },
	{ "allocation", "ALLOCATION", SHEET_PART },
	{ "refused", "REFUSED", SHEET_COUNT },
	{ "verdict", "", SHEET_TEXT },
};

struct tried {
	uint32_t nodes;
	uint64_t gpus, refused;
	struct interval in_target;
	double wait_mean, wait_p95, allocation;
};

struct search {
	struct demand *d;
	const struct size_options *o;
	struct tried *v;
	size_t n, size;
	double part;
};

/* --- one try --------------------------------------------------------------------------------- */

struct outcome {
	const struct past *past;
	const usec_t *starts;
};

/* A job that never starts is late. */
static void ask_in_target(const void *arg, const uint32_t *times, double *out)
{
	const struct outcome *o = arg;
	double all = 0, in_time = 0;
	size_t i;

	for (i = 0; i < o->past->n; i++) {
		const struct past_job *j = &o->past->v[i];
		double weight = times ? times[j->block] : 1;

		if (!past_counts(o->past, j) || j->duration == PAST_UNKNOWN)
			continue;
		all += weight;
		if (o->starts[i] != PAST_UNKNOWN && o->starts[i] - j->eligible <= j->target)
			in_time += weight;
	}
	*out = all > 0 ? in_time / all : NAN;
}

static void measure(const struct demand *d, const struct trial *t, struct tried *out)
{
	const struct outcome outcome = { d->past, t->starts };
	struct weighted waits = { 0 };
	size_t i;

	for (i = 0; i < d->past->n; i++) {
		const struct past_job *j = &d->past->v[i];

		if (past_counts(d->past, j) && t->starts[i] != PAST_UNKNOWN)
			weighted_add(
			        &waits, (double)(t->starts[i] - j->eligible) / 1e6, 1, j->block);
	}
	weighted_seal(&waits);
	bootstrap(&d->bootstrap, ask_in_target, &outcome, 1, &out->in_target);
	out->wait_mean = weighted_mean(&waits, NULL);
	out->wait_p95 = weighted_quantile(&waits, 0.95, NULL);
	weighted_clear(&waits);
}

/* 1: enough start in time; 0: not enough; -1. */
static int try_nodes(struct search *s, uint32_t nodes, struct error *err)
{
	struct tried *to;
	struct trial t;

	if (s->o->on_try)
		s->o->on_try(s->o->arg, nodes);
	if (trial_run(s->d->past, &s->o->trial, nodes, &t, err) < 0)
		return -1;
	to = XADD(s->v, s->n, s->size);
	*to = (struct tried){
		.nodes = nodes, .gpus = t.gpus, .refused = t.refused, .allocation = t.allocation
	};
	measure(s->d, &t, to);
	trial_clear(&t);
	return to->in_target.value >= s->part;
}

/* --- the search ------------------------------------------------------------------------------ */

/* Too few, or 0; enough, or 0: there are not. */
struct bounds {
	uint32_t few, enough;
};

/* From a guess up or down, doubling the step. */
static int find_bounds(struct search *s, uint32_t guess, struct bounds *b, struct error *err)
{
	uint32_t step = guess / 4 ? guess / 4 : 1, at = guess;
	int rc = try_nodes(s, at, err);

	while (rc >= 0) {
		if (rc)
			b->enough = at;
		else
			b->few = at;
		if ((rc && (b->few || at == 1)) || (!rc && (b->enough || at == CONF_MAX_NODES)))
			return 0;
		at = rc ? (at > step ? at - step : 1)
		        : (at + step < CONF_MAX_NODES ? at + step : CONF_MAX_NODES);
		step *= 2;
		rc = try_nodes(s, at, err);
	}
	return -1;
}

static int bisect(struct search *s, struct bounds *b, struct error *err)
{
	while (b->enough && b->enough - b->few > 1) {
		uint32_t middle = b->few + (b->enough - b->few) / 2;
		int rc = try_nodes(s, middle, err);

		if (rc < 0)
			return -1;
		if (rc)
			b->enough = middle;
		else
			b->few = middle;
	}
	return 0;
}

/* --- what is told ---------------------------------------------------------------------------- */

static int by_nodes(const void *x, const void *y)
{
	const struct tried *a = x, *b = y;

	return a->nodes < b->nodes ? -1 : a->nodes > b->nodes;
}

static void put_rows(const struct search *s, struct sheet *sheet, const struct bounds *b)
{
	size_t i;

	for (i = 0; i < s->n; i++) {
		const struct tried *t = &s->v[i];

		sheet_number(sheet, t->nodes);
		sheet_number(sheet, (double)t->gpus);
		sheet_interval(sheet, &t->in_target);
		sheet_number(sheet, t->wait_mean);
		sheet_number(sheet, t->wait_p95);
		sheet_number(sheet, t->allocation);
		sheet_number(sheet, (double)t->refused);
		sheet_text(sheet, t->nodes == b->enough           ? "the smallest that is enough"
		                  : t->in_target.value >= s->part ? "enough"
		                                                  : "too small");
	}
}

/* What queueing theory would say of jobs of one GPU that come independently of each other. */
static void put_erlang(const struct demand *d, struct sheet *sheet, double part)
{
	struct weighted target = { 0 };
	double gpu_us = 0, gpus = 0, load, median;
	size_t i;

	for (i = 0; i < d->past->n; i++) {
		const struct past_job *j = &d->past->v[i];

		if (!past_counts(d->past, j) || j->duration <= 0)
			continue;
		gpu_us += (double)j->milli / 1000 * (double)j->duration;
		gpus += (double)j->milli / 1000;
		weighted_add(&target, (double)j->target / 1e6, 1, j->block);
	}
	weighted_seal(&target);
	load = gpu_us / (double)(d->past->to - d->past->from);
	median = weighted_quantile(&target, 0.5, NULL);
	if (gpus > 0 && gpu_us > 0 && isfinite(median))
		sheet_note(sheet,
		        "Erlang's C says %u GPUs: of as much work in jobs of one GPU each that "
		        "come "
		        "independently of each other. What is beyond that is due to gangs, bursts, "
		        "and "
		        "GPUs that lie on different nodes.",
		        (unsigned)erlang_servers(load, gpu_us / gpus / 1e6, median, 1 - part));
	weighted_clear(&target);
}

static void put_notes(const struct search *s, struct sheet *sheet, const struct bounds *b)
{
	const struct tried *t = NULL;
	size_t i;

	for (i = 0; i < s->n; i++)
		t = s->v[i].nodes == b->enough ? &s->v[i] : t;
	if (t)
		sheet_note(sheet,
		        "%u nodes with %llu GPUs keep %.1f %% of the jobs in their targets; %.4g "
		        "%% "
		        "were asked for.",
		        (unsigned)t->nodes, (unsigned long long)t->gpus, t->in_target.value * 100,
		        s->part * 100);
	else
		sheet_note(sheet,
		        "No number of nodes keeps %.4g %% in target: look at REFUSED, and at jobs "
		        "that no node or limit lets start.",
		        s->part * 100);
	if (t && t->in_target.known && t->in_target.low < s->part)
		sheet_note(sheet,
		        "Other weeks like these might need more: the interval of that goes "
		        "down to %.1f %%.",
		        t->in_target.low * 100);
	put_erlang(s->d, sheet, s->part);
}

int size_find(struct demand *d, const struct size_options *o, struct error *err)
{
	struct search s = { .d = d, .o = o, .part = o->part };
	struct bounds b = { 0, 0 };
	uint32_t nodes = 0, each = 1;
	double guess;
	int rc;

	if (trial_kind(&o->trial, &nodes, &each, err) < 0)
		return -1;
	guess = ceil(d->concurrency[0].p95.value / (each ? each : 1));
	guess = guess >= 1 && guess <= CONF_MAX_NODES ? guess : 1;
	rc = find_bounds(&s, (uint32_t)guess, &b, err);
	if (rc == 0)
		rc = bisect(&s, &b, err);
	if (rc == 0) {
		struct sheet *sheet = BOOK_SHEET(d->book, "size",
		        "Size: the smallest cluster that keeps jobs in their targets", columns);

		qsort(s.v, s.n, sizeof(*s.v), by_nodes);
		put_rows(&s, sheet, &b);
		put_notes(&s, sheet, &b);
	}
	free(s.v);
	return rc;
}
