/* wait_tolerance.c - how long users put up with waiting; see demand.h
 *
 * What they say (max_wait) against what they had; and after how long they cancel what still waits.
 */
#include <math.h>
#include <stdlib.h>

#include "common/base/xalloc.h"
#include "ctld/gdemand/demand.h"
#include "ctld/gdemand/survival.h"

#define LEAST_GIVEN_UP 5 /* jobs; of fewer no time is told */

static const struct sheet_column columns[] = {
	{ "jobs_of", "JOBS OF", SHEET_TEXT },
	{ "jobs", "JOBS", SHEET_COUNT },
	{ "wait_p50_s", "HAD P50", SHEET_TIME },
	{ "wait_p95_s", "HAD P95", SHEET_TIME },
	{ "declared", "DECLARED", SHEET_COUNT },
	{ "declared_p50_s", "MAX_WAIT P50", SHEET_TIME },
	{ "declared_kept", "KEPT", SHEET_PART },
	{ "gave_up", "GAVE UP", SHEET_COUNT },
	{ "gave_up_tenth_s", "A TENTH BY", SHEET_TIME },
	{ "gave_up_half_s", "HALF BY", SHEET_TIME },
};

/* Whose jobs: of a kind, of an account, or all. */
struct whose {
	uint32_t account; /* DEMAND_ALL */
	int kind;         /* -1: any */
};

static bool is_of(const struct whose *w, const struct past_job *j)
{
	return (w->account == DEMAND_ALL || w->account == j->account) &&
	       (w->kind < 0 || w->kind == (int)j->kind);
}

struct sums {
	struct weighted had, declared;
	struct survival survival;
	size_t jobs, n_declared, kept, gave_up;
};

static void add(const struct past *p, const struct past_job *j, struct sums *s)
{
	usec_t wait = past_wait(j);
	double seconds = (double)wait / 1e6;

	s->jobs++;
	if (j->declared) {
		s->n_declared++;
		s->kept += wait >= 0 && j->start != PAST_UNKNOWN && wait <= j->target;
		weighted_add(&s->declared, (double)j->target / 1e6, 1, j->block);
	}
	if (wait < 0 || p->simulated)
		return;
	weighted_add(&s->had, seconds, 1, j->block);
	survival_add(&s->survival, seconds, j->left != PAST_UNKNOWN, j->block);
	s->gave_up += j->left != PAST_UNKNOWN;
}

static void ask_gave_up(const void *arg, const uint32_t *times, double *out)
{
	out[0] = survival_quantile(arg, 0.1, times);
	out[1] = survival_quantile(arg, 0.5, times);
}

static void remember(struct demand *d, const struct whose *w, const struct sums *s,
        const struct interval *tenth, double p95)
{
	struct tolerance *t;

	if (w->kind >= 0)
		return;
	d->tolerances = xrealloc(d->tolerances, d->n_tolerances + 1, sizeof(*d->tolerances));
	t = &d->tolerances[d->n_tolerances++];
	*t = (struct tolerance){ w->account, weighted_quantile(&s->declared, 0.5, NULL), *tenth,
		p95 };
}

static void row(struct demand *d, struct sheet *sheet, const char *name, const struct whose *w)
{
	static const double q[] = { 0.5, 0.95 };
	struct interval had[2], gave_up[2] = { { .value = NAN }, { .value = NAN } };
	struct sums s = { 0 };
	size_t i;

	for (i = 0; i < d->past->n; i++) {
		if (past_counts(d->past, &d->past->v[i]) && is_of(w, &d->past->v[i]))
			add(d->past, &d->past->v[i], &s);
	}
	weighted_seal(&s.had);
	weighted_seal(&s.declared);
	survival_seal(&s.survival);
	demand_quantiles(d, &s.had, q, 2, had);
	if (s.gave_up >= LEAST_GIVEN_UP)
		bootstrap(&d->bootstrap, ask_gave_up, &s.survival, 2, gave_up);
	remember(d, w, &s, &gave_up[0], had[1].value);
	if (s.jobs) {
		sheet_text(sheet, name);
		sheet_number(sheet, (double)s.jobs);
		sheet_interval(sheet, &had[0]);
		sheet_interval(sheet, &had[1]);
		sheet_number(sheet, (double)s.n_declared);
		sheet_number(sheet, weighted_quantile(&s.declared, 0.5, NULL));
		sheet_number(sheet, s.n_declared ? (double)s.kept / (double)s.n_declared : NAN);
		sheet_number(sheet, (double)s.gave_up);
		sheet_interval(sheet, &gave_up[0]);
		sheet_interval(sheet, &gave_up[1]);
	}
	weighted_clear(&s.had);
	weighted_clear(&s.declared);
	survival_clear(&s.survival);
}

void demand_tolerance(struct demand *d)
{
	struct sheet *s = BOOK_SHEET(
	        d->book, "tolerance", "Tolerance: how long users put up with waiting", columns);
	size_t i;
	int kind;

	if (!d->past->has.states) {
		sheet_note(s,
		        "Not known: this history says neither how long jobs waited nor which were "
		        "cancelled while they did. --max-wait counts for all.");
		return;
	}
	row(d, s, "all", &(struct whose){ DEMAND_ALL, -1 });
	for (kind = 0; kind < KINDS && demand_has_kinds(d->past); kind++)
		row(d, s, job_kind_names[kind], &(struct whose){ DEMAND_ALL, kind });
	for (i = 0; i < d->n_scopes; i++) {
		if (d->scopes[i].type == DEMAND_ALL && d->scopes[i].account != DEMAND_ALL)
			row(d, s, name_or_none(d->past, d->scopes[i].account),
			        &(struct whose){ d->scopes[i].account, -1 });
	}
	sheet_note(s,
	        "A tenth by: after so long a tenth of the users would have cancelled, if nothing "
	        "had "
	        "started (Kaplan-Meier; of at least %d that did).",
	        LEAST_GIVEN_UP);
}
