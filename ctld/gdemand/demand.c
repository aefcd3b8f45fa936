/* demand.c - scopes and levels; see demand.h */
#include "ctld/gdemand/demand.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/xalloc.h"

#define ASSUMED_COLD_START_S 60

const char *name_or_none(const struct past *past, uint32_t name)
{
	const char *text = text_numbers_text(past->names, name);

	return *text ? text : "(none)";
}

bool demand_has_kinds(const struct past *past)
{
	size_t i;

	for (i = 1; i < past->n; i++) {
		if (past->v[i].kind != past->v[0].kind)
			return true;
	}
	return false;
}

bool scope_has(const struct scope *s, const struct past_job *j)
{
	return (s->type == DEMAND_ALL || s->type == j->type) &&
	       (s->account == DEMAND_ALL || s->account == j->account);
}

char *demand_scope_name(char buf[SCOPE_TEXT], const struct past *past, const struct scope *s)
{
	const char *type = s->type == DEMAND_ALL ? "" : name_or_none(past, s->type);
	const char *account = s->account == DEMAND_ALL ? "" : name_or_none(past, s->account);

	if (!*type && !*account)
		snprintf(buf, SCOPE_TEXT, "all");
	else
		snprintf(buf, SCOPE_TEXT, "%s%s%s", type, *type && *account ? " / " : "", account);
	return buf;
}

/* --- scopes ---------------------------------------------------------------------------------- */

struct scopes {
	struct scope *v;
	size_t n, size;
};

static void scope_count(struct scopes *s, uint32_t type, uint32_t account, double gpu_us)
{
	size_t i = 0;

	while (i < s->n && (s->v[i].type != type || s->v[i].account != account))
		i++;
	if (i == s->n) {
		*XADD(s->v, s->n, s->size) = (struct scope){ type, account, 0 };
	}
	s->v[i].gpu_us += gpu_us;
}

static int most_first(const void *x, const void *y)
{
	const struct scope *a = x, *b = y;

	if (a->gpu_us != b->gpu_us)
		return a->gpu_us > b->gpu_us ? -1 : 1;
	return a->account != b->account ? (a->account < b->account ? -1 : 1)
	                                : (a->type < b->type ? -1 : a->type > b->type);
}

static void scopes_take(struct scopes *to, struct scopes *from, unsigned top)
{
	size_t i;

	if (from->n)
		qsort(from->v, from->n, sizeof(*from->v), most_first);
	for (i = 0; from->n > 1 && i < from->n && i < top; i++) {
		*XADD(to->v, to->n, to->size) = from->v[i];
	}
	free(from->v);
}

/* All; each type; each account; each pair: where there is more than one. */
static void make_scopes(struct demand *d)
{
	struct scopes all = { 0 }, types = { 0 }, accounts = { 0 }, pairs = { 0 };
	bool both;
	size_t i;

	for (i = 0; i < d->past->n; i++) {
		const struct past_job *j = &d->past->v[i];
		double gpu_us = j->duration > 0 ? (double)j->milli / 1000 * (double)j->duration : 0;

		if (j->milli <= 0)
			continue;
		scope_count(&all, DEMAND_ALL, DEMAND_ALL, gpu_us);
		scope_count(&types, j->type, DEMAND_ALL, gpu_us);
		scope_count(&accounts, DEMAND_ALL, j->account, gpu_us);
		scope_count(&pairs, j->type, j->account, gpu_us);
	}
	both = types.n > 1 && accounts.n > 1;
	d->accounts_left_out = accounts.n > d->top ? accounts.n - d->top : 0;
	scopes_take(&all, &types, d->top);
	scopes_take(&all, &accounts, d->top);
	scopes_take(&all, &pairs, both ? d->top : 0);
	d->scopes = all.v;
	d->n_scopes = all.n;
}

/* The median of the replicas'. */
static void find_cold_start(struct demand *d)
{
	struct weighted w = { 0 };
	size_t i;

	for (i = 0; i < d->past->n; i++) {
		if (d->past->v[i].cold_start)
			weighted_add(&w, (double)d->past->v[i].cold_start / 1e6, 1, 0);
	}
	weighted_seal(&w);
	d->cold_measured = w.n;
	d->cold_start_s = w.n ? weighted_quantile(&w, 0.5, NULL) : ASSUMED_COLD_START_S;
	weighted_clear(&w);
}

void demand_init(struct demand *d, const struct past *past, const struct conf *conf, unsigned top,
        unsigned rounds, uint64_t seed)
{
	*d = (struct demand){ .past = past,
		.conf = conf,
		.book = book_new(),
		.bootstrap = { past->block_length == BLOCKS_NONE ? 0 : past->blocks, rounds, seed },
		.top = top };
	make_scopes(d);
	d->concurrency = xcalloc(d->n_scopes, sizeof(*d->concurrency));
	find_cold_start(d);
}

void demand_clear(struct demand *d)
{
	book_free(d->book);
	free(d->scopes);
	free(d->concurrency);
	free(d->tolerances);
}

/* --- levels ---------------------------------------------------------------------------------- */

void demand_wanted(const struct past *past, const struct scope *s, struct level *level)
{
	size_t i;

	for (i = 0; i < past->n; i++) {
		const struct past_job *j = &past->v[i];

		if (j->duration > 0 && scope_has(s, j))
			level_add(level, j->eligible, j->eligible + j->duration, j->milli);
	}
	level_seal(level);
}

void demand_given(const struct past *past, const struct scope *s, struct level *level)
{
	size_t i;

	for (i = 0; i < past->n; i++) {
		const struct past_job *j = &past->v[i];

		if (j->duration > 0 && j->start != PAST_UNKNOWN && scope_has(s, j))
			level_add(level, j->start, j->start + j->duration, j->milli);
	}
	level_seal(level);
}

void demand_waiting(const struct past *past, const struct scope *s, struct level *level)
{
	size_t i;

	for (i = 0; i < past->n; i++) {
		const struct past_job *j = &past->v[i];

		if (past_wait(j) > 0 && scope_has(s, j))
			level_add(level, j->eligible, j->eligible + past_wait(j), j->milli);
	}
	level_seal(level);
}

struct weighing {
	const struct past *past;
	struct weighted *w;
};

static void weigh_piece(void *arg, usec_t from, usec_t to, int64_t level)
{
	const struct weighing *g = arg;
	usec_t span = past_block_span(g->past->block_length), end;
	uint32_t block;

	for (; from < to; from = end) {
		block = past_block_at(g->past, from);
		end = span && block + 1 < g->past->blocks ? g->past->from + (block + 1) * span : to;
		end = end < to ? end : to;
		weighted_add(g->w, (double)level / 1000, (double)(end - from) / 1e6, block);
	}
}

void demand_weigh(const struct past *past, const struct level *level, struct weighted *w)
{
	struct weighing g = { past, w };

	level_walk(level, past->from, past->to, weigh_piece, &g);
	weighted_seal(w);
}

struct asked {
	const struct weighted *w;
	const double *q;
	size_t n;
};

static void ask_quantiles(const void *arg, const uint32_t *times, double *out)
{
	const struct asked *a = arg;

	weighted_quantiles(a->w, a->q, a->n, times, out);
}

void demand_quantiles(const struct demand *d, const struct weighted *w, const double *q, size_t n,
        struct interval *out)
{
	const struct asked asked = { w, q, n };

	bootstrap(&d->bootstrap, ask_quantiles, &asked, n, out);
}
