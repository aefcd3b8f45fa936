/* gpu_hours_window.c - see gpu_hours_window.h
 *
 * A *window* is what one account, QOS or partition used, by one user or by all together. It has
 * pieces, which do not overlap and are sorted by their start; a piece is a row. A piece is as wide
 * as a 32nd of the limit's time, less what other pieces cover already.
 *
 * Living runs are a meter on each window of theirs: the sum of their rates, and the sum of rate
 * times start. The use so far is rate x now less that sum, whatever the number of runs. A bill
 * takes the run out of the meter and spreads its use over the pieces.
 */
#include "ctld/core/accounts/gpu_hours_window.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/xalloc.h"
#include "ctld/core/request/gpu_share.h"
#include "ctld/core/rows/row_codec.h"
#include "ctld/core/util/hash.h"
#include "ctld/core/util/table.h"

#define PIECES 32
#define MS     1000

/* What was used from `start` on and before `end`. */
struct piece {
	struct mark mark;
	/* durable */
	const char *scope; /* borrowed from hours.scopes */
	const char *name;  /* kept: of the account, QOS or partition */
	uint32_t uid;      /* or HOURS_ALL */
	usec_t start, end;
	usec_t until; /* it counts for no limit after that */
	uint64_t gpu_us;
};

/* Of one account, QOS or partition, and one user or all. */
struct window {
	const char *name; /* kept */
	uint8_t scope;
	uint32_t uid;
	struct piece **v; /* owned; by start, none overlap */
	size_t n, size;
	/* Meters: thousandths of GPUs, and these times since in ms, modulo 2^64: the difference
	 * that is needed is small. Thousandths x ms are GPU-microseconds. */
	uint64_t milli, milli_since;
};

struct hours {
	struct strings *strings;
	struct dirty *dirty;
	const struct conf *conf;
	const char *scopes[HOURS_SCOPES]; /* their names, kept */
	struct table *windows;
	bool limited; /* some limit is given */
	struct clocks now;
};

static const char *const scope_names[HOURS_SCOPES] = { "account", "qos", "partition" };

/* --- windows --------------------------------------------------------------------------------- */

static uint64_t key_hash(const char *name, uint8_t scope, uint32_t uid, uint64_t seed)
{
	return hash_bytes(name, strlen(name), seed + ((uint64_t)scope << 32) + uid);
}

static uint64_t window_hash(const void *item, uint64_t seed)
{
	const struct window *w = item;

	return key_hash(w->name, w->scope, w->uid, seed);
}

static bool window_equal(const void *item, const void *key)
{
	const struct window *a = item, *b = key;

	return a->scope == b->scope && a->uid == b->uid && !strcmp(a->name, b->name);
}

struct hours *hours_new(struct strings *strings, struct dirty *dirty, uint64_t seed)
{
	struct hours *h = xcalloc(1, sizeof(*h));

	h->strings = strings;
	h->dirty = dirty;
	h->windows = table_new(window_hash, seed);
	for (int s = 0; s < HOURS_SCOPES; s++)
		h->scopes[s] = strings_intern(strings, scope_names[s]);
	return h;
}

void piece_free(struct hours *h, struct piece *piece)
{
	strings_drop(h->strings, piece->name);
	free(piece);
}

static void window_free(struct hours *h, struct window *w)
{
	strings_drop(h->strings, w->name);
	free(w->v);
	free(w);
}

void hours_free(struct hours *h)
{
	size_t cursor = 0, i;
	struct window *w;

	if (!h)
		return;
	for (int s = 0; s < HOURS_SCOPES; s++)
		strings_drop(h->strings, h->scopes[s]);
	while ((w = table_each(h->windows, &cursor))) {
		for (i = 0; i < w->n; i++)
			piece_free(h, w->v[i]);
		window_free(h, w);
	}
	table_free(h->windows);
	free(h);
}

static struct window *find(
        const struct hours *h, enum hours_scope scope, const char *name, uint32_t uid)
{
	struct window key = { .name = name, .scope = (uint8_t)scope, .uid = uid };

	return table_find(h->windows, key_hash(name, key.scope, uid, table_seed(h->windows)),
	        window_equal, &key);
}

static struct window *want(struct hours *h, enum hours_scope scope, const char *name, uint32_t uid)
{
	struct window *w = find(h, scope, name, uid);

	if (w)
		return w;
	w = xcalloc(1, sizeof(*w));
	w->name = strings_intern(h->strings, name);
	w->scope = (uint8_t)scope;
	w->uid = uid;
	table_add(h->windows, w);
	return w;
}

/* --- pieces ---------------------------------------------------------------------------------- */

/* Usually at the end: pieces come in the order of time. */
static void insert(struct window *w, struct piece *p)
{
	size_t at = w->n;

	w->v = xgrow(w->v, w->n, &w->size, sizeof(struct piece *));
	while (at && w->v[at - 1]->start > p->start)
		at--;
	memmove(w->v + at + 1, w->v + at, (w->n - at) * sizeof(struct piece *));
	w->v[at] = p;
	w->n++;
}

/* The piece that contains this time, made if necessary: a 32nd of the limit's time, less what
 * other pieces cover. */
static struct piece *piece_at(struct hours *h, struct window *w, usec_t time, usec_t span)
{
	usec_t width = span / PIECES, start = time - time % width, end = start + width;
	struct piece *p;

	for (size_t i = 0; i < w->n; i++) {
		p = w->v[i];
		if (p->start <= time && time < p->end)
			return p;
		if (p->end <= time && p->end > start)
			start = p->end;
		if (p->start > time && p->start < end)
			end = p->start;
	}
	p = xcalloc(1, sizeof(*p));
	p->mark.table = TABLE_HOURS;
	p->scope = h->scopes[w->scope];
	p->name = strings_intern(h->strings, w->name);
	p->uid = w->uid;
	p->start = start;
	p->end = end;
	p->until = end + span;
	insert(w, p);
	return p;
}

/* Pieces that count for no limit any more leave memory and their rows. */
static void forget_old(struct hours *h, struct window *w)
{
	size_t i, left = 0;

	for (i = 0; i < w->n; i++) {
		if (w->v[i]->until > h->now.wall)
			w->v[left++] = w->v[i];
		else
			dirty_gone(h->dirty, &w->v[i]->mark);
	}
	w->n = left;
}

/* --- what is limited ------------------------------------------------------------------------- */

static const struct conf_limits *limits_of(
        const struct conf *conf, enum hours_scope scope, uint32_t index, bool user)
{
	if (scope == HOURS_ACCOUNT)
		return user ? &conf->accounts[index].per_user : &conf->accounts[index].limits;
	if (scope == HOURS_QOS)
		return user ? &conf->qos[index].per_user : &conf->qos[index].limits;
	return user ? &conf->partitions[index].per_user : &conf->partitions[index].limits;
}

/* The time of the limit there; 0: none is given. */
static usec_t span_of(const struct conf *conf, enum hours_scope scope, uint32_t index, bool user)
{
	const struct conf_limits *l = limits_of(conf, scope, index, user);

	return l->gpu_hours == UINT64_MAX ? 0 : (usec_t)l->gpu_hours_window_s * 1000000;
}

static size_t scope_size(const struct conf *conf, enum hours_scope scope)
{
	return scope == HOURS_ACCOUNT ? conf->n_accounts
	       : scope == HOURS_QOS   ? conf->n_qos
	                              : conf->n_partitions;
}

static const char *name_of(const struct conf *conf, enum hours_scope scope, uint32_t index)
{
	return scope == HOURS_ACCOUNT ? conf->accounts[index].name
	       : scope == HOURS_QOS   ? conf->qos[index].name
	                              : conf->partitions[index].name;
}

void hours_configure(struct hours *h, const struct conf *conf, struct clocks now)
{
	size_t cursor = 0;
	struct window *w;

	h->conf = conf;
	h->now = now;
	h->limited = false;
	for (int s = 0; s < HOURS_SCOPES; s++) {
		for (uint32_t i = 0; i < scope_size(conf, (enum hours_scope)s); i++)
			h->limited |= span_of(conf, (enum hours_scope)s, i, false) ||
			              span_of(conf, (enum hours_scope)s, i, true);
	}
	while ((w = table_each(h->windows, &cursor))) {
		w->milli = w->milli_since = 0;
		forget_old(h, w);
	}
}

bool hours_limited(const struct hours *h)
{
	return h->limited;
}

void hours_time(struct hours *h, struct clocks now)
{
	h->now = now;
}

/* Each limited window that a run counts in. */
typedef void each_fn(struct hours *h, struct window *w, usec_t span, void *arg);

static void each_in(struct hours *h, enum hours_scope scope, uint32_t index, uint32_t uid,
        each_fn *each, void *arg)
{
	for (int user = 0; user <= 1; user++) {
		usec_t span = span_of(h->conf, scope, index, user);

		if (span)
			each(h,
			        want(h, scope, name_of(h->conf, scope, index),
			                user ? uid : HOURS_ALL),
			        span, arg);
	}
}

/* The account and all above it, the QOS and the partition; in each that of all and that of the
 * user, where it has a limit. */
static void each_window(struct hours *h, const struct hours_of *of, each_fn *each, void *arg)
{
	const char *const names[HOURS_SCOPES] = { of->account, of->qos, of->partition };
	uint32_t i, up;

	for (int s = 0; h->limited && s < HOURS_SCOPES; s++) {
		for (i = 0; i < scope_size(h->conf, (enum hours_scope)s); i++) {
			if (strcmp(name_of(h->conf, (enum hours_scope)s, i), names[s]))
				continue;
			each_in(h, (enum hours_scope)s, i, of->uid, each, arg);
			up = s == HOURS_ACCOUNT ? h->conf->accounts[i].parent : CONF_NONE;
			for (; up != CONF_NONE; up = h->conf->accounts[up].parent)
				each_in(h, HOURS_ACCOUNT, up, of->uid, each, arg);
			break;
		}
	}
}

/* --- billing --------------------------------------------------------------------------------- */

struct bill {
	uint32_t milli;
	usec_t begin, end, wall;
	uint64_t less;
};

/* Of the bill only what lies within the limit's time, piece by piece; pieces that are missing are
 * made. */
static void spread(struct hours *h, struct window *w, usec_t span, void *arg)
{
	const struct bill *b = arg;
	usec_t at = b->begin > b->wall - span ? b->begin : b->wall - span;

	forget_old(h, w);
	while (at < b->end) {
		struct piece *p = piece_at(h, w, at, span);
		usec_t to = p->end < b->end ? p->end : b->end;

		p->gpu_us += (uint64_t)(to - at) * b->milli / GPU_MILLI;
		dirty_put(h->dirty, &p->mark);
		at = to;
	}
}

void hours_bill(struct hours *h, const struct hours_of *of, uint32_t milli, usec_t begin,
        usec_t end, usec_t wall)
{
	struct bill bill = {
		.milli = milli, .begin = begin < 0 ? 0 : begin, .end = end, .wall = wall
	};

	/* A clock that was far ahead must not make pieces in the future. */
	if (bill.end > wall)
		bill.end = wall;
	if (milli)
		each_window(h, of, spread, &bill);
}

/* Starts with the latest pieces. */
static void take_off(struct hours *h, struct window *w, usec_t span, void *arg)
{
	uint64_t less = ((struct bill *)arg)->less;

	(void)span;
	for (size_t i = w->n; i-- > 0 && less;) {
		struct piece *p = w->v[i];
		uint64_t off = p->gpu_us < less ? p->gpu_us : less;

		p->gpu_us -= off;
		less -= off;
		dirty_put(h->dirty, &p->mark);
	}
}

void hours_unbill(struct hours *h, const struct hours_of *of, uint64_t gpu_us)
{
	struct bill bill = { .less = gpu_us };

	each_window(h, of, take_off, &bill);
}

struct meter {
	uint32_t milli;
	usec_t since;
	bool on;
};

static void turn(struct hours *h, struct window *w, usec_t span, void *arg)
{
	const struct meter *m = arg;
	uint64_t since = m->milli * (uint64_t)(m->since / MS);

	(void)h;
	(void)span;
	w->milli += m->on ? m->milli : -(uint64_t)m->milli;
	w->milli_since += m->on ? since : -since;
}

/* Returns the start that the meter counts from, which the caller gives back to
 * hours_meter_off(). */
usec_t hours_meter_on(struct hours *h, const struct hours_of *of, uint32_t milli, usec_t since)
{
	/* A meter that starts in the future would reduce the sum of the others. */
	struct meter meter = { milli, since < h->now.mono ? since : h->now.mono, true };

	if (milli)
		each_window(h, of, turn, &meter);
	return meter.since;
}

void hours_meter_off(struct hours *h, const struct hours_of *of, uint32_t milli, usec_t since)
{
	struct meter meter = { milli, since, false };

	if (milli)
		each_window(h, of, turn, &meter);
}

/* What was billed in pieces that still count, and what living runs have used until now. */
uint64_t hours_used(const struct hours *h, enum hours_scope scope, uint32_t index, uint32_t uid)
{
	usec_t span = span_of(h->conf, scope, index, uid != HOURS_ALL);
	const struct window *w = span ? find(h, scope, name_of(h->conf, scope, index), uid) : NULL;
	uint64_t running, most, sum = 0;

	if (!w)
		return 0;
	for (size_t i = 0; i < w->n; i++)
		sum += w->v[i]->end > h->now.wall - span ? w->v[i]->gpu_us : 0;
	/* No run counts for longer than the limit's time. */
	running = w->milli * (uint64_t)(h->now.mono / MS) - w->milli_since;
	most = w->milli * (uint64_t)(span / MS);
	if ((int64_t)running > 0)
		sum += running < most ? running : most;
	return sum;
}

/* --- rows ------------------------------------------------------------------------------------ */

static const struct codec_column columns[COL_HOURS_COUNT] = {
	[COL_HOURS_scope] = COLUMN(struct piece, scope),
	[COL_HOURS_name] = COLUMN(struct piece, name),
	[COL_HOURS_uid] = COLUMN(struct piece, uid),
	[COL_HOURS_start] = COLUMN(struct piece, start),
	[COL_HOURS_end_time] = COLUMN(struct piece, end),
	[COL_HOURS_until] = COLUMN(struct piece, until),
	[COL_HOURS_gpu_us] = COLUMN(struct piece, gpu_us),
};

/* Takes over what was read. */
static int take(struct hours *h, struct piece *read, const struct row *row, struct error *err)
{
	struct window *w;
	struct piece *p;
	int s = 0;

	while (s < HOURS_SCOPES && h->scopes[s] != read->scope)
		s++;
	if (s == HOURS_SCOPES)
		return row_error(row, COL_HOURS_scope, err, "no such scope");
	w = want(h, (enum hours_scope)s, read->name, read->uid);
	for (size_t i = 0; i < w->n; i++) {
		if (read->start < w->v[i]->end && read->end > w->v[i]->start)
			return row_error(row, COL_HOURS_start, err, "overlaps another piece");
	}
	if (read->end <= read->start)
		return row_error(row, COL_HOURS_end_time, err, "is before its start");
	p = xmemdup(read, sizeof(*p));
	p->mark = (struct mark){ .table = TABLE_HOURS };
	p->scope = h->scopes[s];
	strings_again(p->name);
	insert(w, p);
	return 0;
}

int hours_load(struct hours *h, const struct row *row, struct error *err)
{
	struct piece read = { 0 };
	int rc = codec_decode(columns, &read, row, h->strings, err);

	if (rc == 0)
		rc = take(h, &read, row, err);
	strings_drop(h->strings, read.scope);
	strings_drop(h->strings, read.name);
	return rc;
}

void piece_encode(const struct piece *piece, struct row *row, enum row_change change)
{
	row_begin(row, TABLE_HOURS, change);
	codec_encode(columns, piece, row);
}

uint64_t hours_hash(const struct hours *h)
{
	size_t cursor = 0, i;
	const struct window *w;
	uint64_t sum = 0;
	struct row row;

	while ((w = table_each(h->windows, &cursor))) {
		for (i = 0; i < w->n; i++) {
			piece_encode(w->v[i], &row, ROW_PUT);
			sum += row_hash(&row);
		}
	}
	return sum;
}
