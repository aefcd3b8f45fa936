/* hidden.c - demand that does not show in a history, because limits kept it away; see demand.h
 *
 * A user that may have 4 GPUs never shows a demand for 5. What can be seen is how often an account
 * held as many as it ever did, or as its limit allows, while jobs of its own waited.
 */
#include <math.h>
#include <string.h>

#include "common/conf/conf_find.h"
#include "ctld/gdemand/demand.h"

#define OFTEN 0.05 /* of the time at a limit, from which on it is told */

static const struct sheet_column columns[] = {
	{ "account", "ACCOUNT", SHEET_TEXT },
	{ "held", "HELD JOBS", SHEET_COUNT },
	{ "cancelled_waiting", "CANCELLED WAITING", SHEET_COUNT },
	{ "cancelled_part", "OF ITS JOBS", SHEET_PART },
	{ "most_given", "MOST GIVEN", SHEET_GPUS },
	{ "at_most", "TIME AT MOST", SHEET_PART },
	{ "limit", "LIMIT", SHEET_GPUS },
	{ "at_limit", "TIME AT LIMIT", SHEET_PART },
};

struct counts {
	size_t jobs, held, cancelled;
};

static struct counts count(const struct past *p, uint32_t account)
{
	struct counts c = { 0 };
	size_t i;

	for (i = 0; i < p->n; i++) {
		const struct past_job *j = &p->v[i];

		if (!past_counts(p, j) || (account != DEMAND_ALL && account != j->account))
			continue;
		c.jobs++;
		c.held += j->held;
		c.cancelled += j->left != PAST_UNKNOWN;
	}
	return c;
}

/* The lowest limit on all GPUs of an account and of those above it; NAN: none. */
static double limit_of(const struct conf *conf, const char *account)
{
	uint32_t a = conf ? CONF_FIND(conf, accounts, account) : CONF_NONE;
	double least = NAN;
	size_t i, k;

	for (; a != CONF_NONE; a = conf->accounts[a].parent) {
		const struct conf_gpu_amounts *lists[] = { &conf->accounts[a].limits.gpus,
			&conf->accounts[a].quota.limit };

		for (k = 0; k < 2; k++) {
			double sum = 0;

			for (i = 0; i < lists[k]->n; i++)
				sum += lists[k]->v[i].count;
			if (lists[k]->n && !(sum >= least))
				least = sum;
		}
	}
	return least;
}

/* How long at least so much was given while something waited. */
struct at_level {
	const struct level *waiting;
	int64_t least;
	double time;
};

static void waits_too(void *arg, usec_t from, usec_t to, int64_t level)
{
	struct at_level *a = arg;

	if (level > 0)
		a->time += (double)(to - from);
}

static void given_piece(void *arg, usec_t from, usec_t to, int64_t level)
{
	struct at_level *a = arg;

	if (level >= a->least)
		level_walk(a->waiting, from, to, waits_too, a);
}

static double time_at(
        const struct past *p, const struct level *given, const struct level *waiting, double gpus)
{
	struct at_level a = { .waiting = waiting, .least = llround(gpus * 1000) };

	if (!(gpus > 0))
		return NAN;
	level_walk(given, p->from, p->to, given_piece, &a);
	return a.time / (double)(p->to - p->from);
}

static void most_piece(void *arg, usec_t from, usec_t to, int64_t level)
{
	int64_t *most = arg;

	(void)from;
	(void)to;
	*most = level > *most ? level : *most;
}

static void row(const struct demand *d, struct sheet *s, const struct scope *scope)
{
	const struct past *p = d->past;
	struct counts c = count(p, scope->account);
	struct level given = { 0 }, waiting = { 0 };
	char name[SCOPE_TEXT];
	int64_t most = 0;
	double limit, at_most = NAN, at_limit = NAN;

	demand_scope_name(name, p, scope);
	limit = scope->account == DEMAND_ALL
	                ? NAN
	                : limit_of(d->conf, names_text(p->names, scope->account));
	if (p->has.starts && !p->simulated) {
		demand_given(p, scope, &given);
		demand_waiting(p, scope, &waiting);
		level_walk(&given, p->from, p->to, most_piece, &most);
		at_most = time_at(p, &given, &waiting, (double)most / 1000);
		at_limit = time_at(p, &given, &waiting, limit);
	}
	sheet_text(s, name);
	sheet_number(s, p->has.states ? (double)c.held : NAN);
	sheet_number(s, p->has.states ? (double)c.cancelled : NAN);
	sheet_number(s, p->has.states && c.jobs ? (double)c.cancelled / (double)c.jobs : NAN);
	sheet_number(s, most ? (double)most / 1000 : NAN);
	sheet_number(s, at_most);
	sheet_number(s, limit);
	sheet_number(s, at_limit);
	if (at_limit > OFTEN)
		sheet_note(s,
		        "%s was at its limit with jobs waiting for %.0f %% of the time: its "
		        "numbers "
		        "above are what the limit lets through, and not what it wants.",
		        name, at_limit * 100);
	else if (at_most > OFTEN)
		sheet_note(s,
		        "%s waited for %.0f %% of the time while it held as many GPUs as it ever "
		        "did: "
		        "a limit or a full cluster may hide what it wants.",
		        name, at_most * 100);
	level_clear(&given);
	level_clear(&waiting);
}

void demand_hidden(struct demand *d)
{
	struct sheet *s =
	        BOOK_SHEET(d->book, "hidden", "Hidden: demand that limits keep away", columns);
	size_t i;

	for (i = 0; i < d->n_scopes && d->past->has.states; i++) {
		if (d->scopes[i].type == DEMAND_ALL)
			row(d, s, &d->scopes[i]);
	}
	if (!d->past->has.states)
		sheet_note(s,
		        "Not known: this history does not say when jobs started, were held or "
		        "cancelled.");
	else if (!d->conf)
		sheet_note(s, "Without -f FILE the limits of accounts are not known.");
	book_note(d->book, "Jobs that were never submitted, because their users knew that they "
	                   "would wait or be "
	                   "refused. A refused submit leaves nothing in a history.");
	if (d->past->has.states)
		book_note(d->book, "Jobs that had not ended when the history was taken: they are "
		                   "not in it. What "
		                   "the last jobs of it want is too low by as much.");
	if (d->past->has.states && !d->past->has.eligible)
		book_note(d->book,
		        "When jobs became eligible: a job that waited for another job counts as "
		        "wanted from its submission on.");
	book_note(d->book,
	        "Work that was done again after a job was stopped: a job counts with what "
	        "its last attempt took.");
}
