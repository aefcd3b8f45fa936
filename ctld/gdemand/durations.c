/* durations.c - how long jobs take, and how different that is; see demand.h */
#include <math.h>

#include "common/base/strbuf.h"
#include "ctld/gdemand/demand.h"

#define WIDE 20 /* p99 / p50 from which advice is given */
#define FEW  20 /* jobs of which no p99 is taken */

static const struct sheet_column columns[] = {
	{ "jobs_of", "JOBS OF", SHEET_TEXT },
	{ "jobs", "JOBS", SHEET_COUNT },
	{ "p50_s", "P50", SHEET_TIME },
	{ "p90_s", "P90", SHEET_TIME },
	{ "p99_s", "P99", SHEET_TIME },
	{ "cv", "CV", SHEET_RATIO },
	{ "spread", "P99/P50", SHEET_RATIO },
};

enum { P50, P90, P99, CV, SPREAD, NUMBERS };

static void ask(const void *arg, const uint32_t *times, double *out)
{
	static const double q[] = { 0.5, 0.9, 0.99 };

	weighted_quantiles(arg, q, 3, times, out);
	out[CV] = weighted_cv(arg, times);
	out[SPREAD] = out[P50] > 0 ? out[P99] / out[P50] : NAN;
}

/* Those of which one job in a hundred takes far longer than most. */
struct wide {
	struct strbuf names;
	double most;
};

static void row(const struct demand *d, struct sheet *s, const char *name, uint32_t account,
        int kind, struct wide *wide)
{
	struct interval found[NUMBERS];
	struct weighted w = { 0 };
	size_t i, n = 0;

	for (i = 0; i < d->past->n; i++) {
		const struct past_job *j = &d->past->v[i];

		if (!past_counts(d->past, j) || j->duration == PAST_UNKNOWN ||
		        (account != DEMAND_ALL && account != j->account) ||
		        (kind >= 0 && kind != (int)j->kind))
			continue;
		weighted_add(&w, (double)j->duration / 1e6, 1, j->block);
		n++;
	}
	weighted_seal(&w);
	if (n) {
		bootstrap(&d->bootstrap, ask, &w, NUMBERS, found);
		sheet_text(s, name);
		sheet_number(s, (double)n);
		for (i = 0; i < NUMBERS; i++)
			sheet_interval(s, &found[i]);
		if (n >= FEW && found[SPREAD].value > WIDE) {
			strbuf_addf(&wide->names, "%s%s", wide->names.len ? ", " : "", name);
			wide->most = fmax(wide->most, found[SPREAD].value);
		}
	}
	weighted_clear(&w);
}

void demand_durations(struct demand *d)
{
	struct sheet *s =
	        BOOK_SHEET(d->book, "durations", "Durations: how long jobs take", columns);
	struct wide wide = { .most = 0 };
	size_t i;
	int kind;

	row(d, s, "all", DEMAND_ALL, -1, &wide);
	for (kind = 0; kind < KINDS && demand_has_kinds(d->past); kind++)
		row(d, s, job_kind_names[kind], DEMAND_ALL, kind, &wide);
	for (i = 0; i < d->n_scopes; i++) {
		if (d->scopes[i].type == DEMAND_ALL && d->scopes[i].account != DEMAND_ALL)
			row(d, s, name_or_none(d->past, d->scopes[i].account), d->scopes[i].account,
			        -1, &wide);
	}
	if (wide.names.len)
		sheet_note(s,
		        "P99 over %d times P50 (up to %.0f): %s. There one job in a hundred takes "
		        "so "
		        "much longer than most that short jobs wait behind it, unless long ones "
		        "can be "
		        "stopped (preempt_mode, min_run) or are limited (max_time, a partition of "
		        "their own).",
		        WIDE, wide.most, wide.names.s);
	strbuf_free(&wide.names);
}
