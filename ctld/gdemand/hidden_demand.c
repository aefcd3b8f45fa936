/* hidden_demand.c - demand that does not show in a history, because limits kept it away; see demand.h
 *
 * A user that may have 4 GPUs never shows a demand for 5. What can be seen is how often an account
 * held as many as it ever did, or as its limit allows, while jobs of its own waited.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/xalloc.h"
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
	{ "users_at_limit", "USERS AT LIMIT", SHEET_COUNT },
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

/* The lower of a limit and of what a list allows of all types together; NAN: neither is one. */
static double lower(double limit, const struct conf_gpu_amounts *list)
{
	double sum = 0;
	size_t i;

	for (i = 0; i < list->n; i++)
		sum += list->v[i].count;
	return list->n && !(sum >= limit) ? sum : limit;
}

/* The lowest limits on GPUs of an account and of those above it: of all its jobs, of each user's. */
struct limits {
	double all, user;
};

static struct limits limits_of(const struct conf *conf, const char *account)
{
	uint32_t a = conf ? CONF_FIND(conf, accounts, account) : CONF_NONE;
	struct limits l = { NAN, NAN };

	for (; a != CONF_NONE; a = conf->accounts[a].parent) {
		l.all = lower(l.all, &conf->accounts[a].limits.gpus);
		l.all = lower(l.all, &conf->accounts[a].quota.limit);
		l.user = lower(l.user, &conf->accounts[a].per_user.gpus);
	}
	return l;
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

/* Is the user at the limit, with jobs waiting, for so long that it hides demand? */
static bool user_is_at(const struct past *p, uint32_t account, uint32_t user, double limit)
{
	struct level given = { 0 }, waiting = { 0 };
	bool is;
	size_t i;

	for (i = 0; i < p->n; i++) {
		const struct past_job *j = &p->v[i];

		if (j->account != account || j->user != user)
			continue;
		if (j->duration > 0 && j->start != PAST_UNKNOWN)
			level_add(&given, j->start, j->start + j->duration, j->milli);
		if (past_wait(j) > 0)
			level_add(&waiting, j->eligible, j->eligible + past_wait(j), j->milli);
	}
	level_seal(&given);
	level_seal(&waiting);
	is = time_at(p, &given, &waiting, limit) > OFTEN;
	level_clear(&given);
	level_clear(&waiting);
	return is;
}

static double users_at(const struct past *p, uint32_t account, double limit)
{
	bool *seen;
	size_t n = 0, i;
	double at = 0;

	if (!(limit > 0))
		return NAN;
	for (i = 0; i < p->n; i++)
		n = p->v[i].user >= n ? (size_t)p->v[i].user + 1 : n;
	seen = xcalloc(n, sizeof(*seen));
	for (i = 0; i < p->n; i++) {
		const struct past_job *j = &p->v[i];

		if (j->account != account || seen[j->user])
			continue;
		seen[j->user] = true;
		at += user_is_at(p, account, j->user, limit);
	}
	free(seen);
	return at;
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
	struct limits limits = { NAN, NAN };
	double at_most = NAN, at_limit = NAN, users = NAN;

	demand_scope_name(name, p, scope);
	if (scope->account != DEMAND_ALL)
		limits = limits_of(d->conf, text_numbers_text(p->names, scope->account));
	if (p->has.starts && !p->simulated) {
		demand_given(p, scope, &given);
		demand_waiting(p, scope, &waiting);
		level_walk(&given, p->from, p->to, most_piece, &most);
		at_most = time_at(p, &given, &waiting, (double)most / 1000);
		at_limit = time_at(p, &given, &waiting, limits.all);
		users = users_at(p, scope->account, limits.user);
	}
	sheet_text(s, name);
	sheet_number(s, p->has.states ? (double)c.held : NAN);
	sheet_number(s, p->has.states ? (double)c.cancelled : NAN);
	sheet_number(s, p->has.states && c.jobs ? (double)c.cancelled / (double)c.jobs : NAN);
	sheet_number(s, most ? (double)most / 1000 : NAN);
	sheet_number(s, at_most);
	sheet_number(s, limits.all);
	sheet_number(s, at_limit);
	sheet_number(s, users);
	if (users > 0)
		sheet_note(s,
		        "%s: %.0f of its users had jobs waiting at their own limit of %.0f GPUs "
		        "for "
		        "more than 5 %% of the time.",
		        name, users, limits.user);
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
	struct scope only = { DEMAND_ALL, d->past->v[0].account, 0 };
	bool several = false;
	size_t i;

	for (i = 0; i < d->n_scopes && d->past->has.states; i++) {
		several |= d->scopes[i].account != DEMAND_ALL;
		if (d->scopes[i].type == DEMAND_ALL)
			row(d, s, &d->scopes[i]);
	}
	/* A single account is `all` by itself, and has limits all the same. */
	if (d->past->has.states && !several && *text_numbers_text(d->past->names, only.account))
		row(d, s, &only);
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
