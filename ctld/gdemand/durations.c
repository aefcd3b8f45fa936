/* durations.c - how long jobs take, and how different that is; see demand.h */
#include <math.h>

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

static void row(
        const struct demand *d, struct sheet *s, const char *name, uint32_t account, int kind)
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
		if (n >= FEW && found[SPREAD].value > WIDE)
			sheet_note(s,
			        "%s: one job in a hundred takes %.0f times as long as most. Short "
			        "jobs "
			        "wait behind it unless long ones can be stopped (preempt_mode, "
			        "min_run) "
			        "or are limited (per_job time, max_time, a partition of their "
			        "own).",
			        name, found[SPREAD].value);
	}
	weighted_clear(&w);
}

void demand_durations(struct demand *d)
{
	struct sheet *s =
	        BOOK_SHEET(d->book, "durations", "Durations: how long jobs take", columns);
	size_t i;
	int kind;

	row(d, s, "all", DEMAND_ALL, -1);
	for (kind = 0; kind < KINDS; kind++)
		row(d, s, job_kind_names[kind], DEMAND_ALL, kind);
	for (i = 0; i < d->n_scopes; i++) {
		if (d->scopes[i].type == DEMAND_ALL && d->scopes[i].account != DEMAND_ALL)
			row(d, s, name_or_none(d->past, d->scopes[i].account), d->scopes[i].account,
			        -1);
	}
}
