/* accounts.c - see accounts.h
 *
 * Three things are kept for different questions:
 *
 *	sums	what was used, for reports: integers, exact, of each assoc and added up for each
 *		account. A row of TABLE_USAGE for each assoc
 *	scaled	what was used, for fair-share: each assoc's decayed cost as of one common moment
 *		(`epoch`), so that no time has to be applied to compare two of them. When time is
 *		EPOCH_LIVES half-lives from that moment, all are scaled to a new one
 *	meters	what is running: two numbers for each assoc, whatever the number of runs
 */
#include "ctld/core/accounts/accounts_impl.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/bisect.h"
#include "common/base/each.h"
#include "common/base/xalloc.h"
#include "ctld/core/accounts/cost_and_decay.h"
#include "ctld/core/rows/row_codec.h"
#include "ctld/core/rows/view.h"
#include "ctld/core/util/hash.h"
#include "ctld/core/util/table.h"

struct assoc_key {
	const char *account;
	uint32_t uid;
};

static uint64_t key_hash(const char *account, uint32_t uid, uint64_t seed)
{
	return hash_bytes(account, strlen(account), seed + uid);
}

static uint64_t assoc_hash(const void *item, uint64_t seed)
{
	const struct assoc *a = item;

	return key_hash(a->account, a->uid, seed);
}

static bool assoc_equal(const void *item, const void *key)
{
	const struct assoc *a = item;
	const struct assoc_key *k = key;

	return a->uid == k->uid && !strcmp(a->account, k->account);
}

struct accounts *accounts_new(struct strings *strings, struct dirty *dirty, uint64_t seed)
{
	struct accounts *as = xcalloc(1, sizeof(*as));

	as->strings = strings;
	as->dirty = dirty;
	as->table = table_new(assoc_hash, seed);
	return as;
}

void assoc_free(struct accounts *as, struct assoc *a)
{
	DROP_TEXTS(as->strings, a, account, user);
	free(a);
}

static void forget_conf(struct accounts *as)
{
	for (size_t i = 0; i < as->n; i++)
		strings_drop(as->strings, as->v[i].name);
	free(as->v);
	free(as->by_name);
	free(as->order);
}

void accounts_free(struct accounts *as)
{
	size_t cursor = 0;
	struct assoc *a;

	if (!as)
		return;
	while ((a = table_each(as->table, &cursor)))
		assoc_free(as, a);
	table_free(as->table);
	forget_conf(as);
	free(as->lines);
	free(as->placed);
	free(as->met);
	free(as);
}

/* --- assocs ---------------------------------------------------------------------------------- */

static struct assoc *find(const struct accounts *as, const char *account, uint32_t uid)
{
	struct assoc_key key = { account, uid };

	return table_find(
	        as->table, key_hash(account, uid, table_seed(as->table)), assoc_equal, &key);
}

static struct assoc *add(struct accounts *as, const char *account, uint32_t uid, const char *user)
{
	struct assoc *a = xcalloc(1, sizeof(*a));

	a->mark.table = TABLE_USAGE;
	a->account = strings_intern(as->strings, account);
	a->user = strings_intern(as->strings, user);
	a->uid = uid;
	a->index = CONF_NONE;
	table_add(as->table, a);
	as->regroup = true;
	return a;
}

static void changed(struct accounts *as)
{
	as->stale = as->disordered = true;
}

/* The assoc of the user in the account, with one more reference, made if there is none. */
struct assoc *accounts_want(
        struct accounts *as, const char *account, uint32_t uid, const char *user)
{
	struct assoc *a = find(as, account, uid);

	if (!a) {
		a = add(as, account, uid, user);
		a->index = accounts_find(as, account);
		if (a->index != CONF_NONE || !as->n)
			a->fair_share = fair_share_of_new(as, a);
		changed(as);
	}
	a->refs++;
	return a;
}

/* An assoc without references and usage is freed with the next ranking. */
void assoc_drop(struct accounts *as, struct assoc *assoc)
{
	if (!assoc || --assoc->refs || assoc->row)
		return;
	as->regroup = true;
	changed(as);
}

uint32_t assoc_account(const struct assoc *assoc)
{
	return assoc->index;
}

static int by_address(uintptr_t x, uintptr_t y)
{
	return x < y ? -1 : x > y;
}

uint32_t accounts_find(const struct accounts *as, const char *name)
{
	const char *kept = strings_peek(as->strings, name);
	size_t at;

	BISECT(at, as->n, (uintptr_t)as->v[as->by_name[at]].name < (uintptr_t)kept);
	return at < as->n && as->v[as->by_name[at]].name == kept ? as->by_name[at] : CONF_NONE;
}

/* --- configurations -------------------------------------------------------------------------- */

static int by_name(const void *x, const void *y)
{
	const struct account *a = x, *b = y;

	return by_address((uintptr_t)a->name, (uintptr_t)b->name);
}

static void take_names(struct accounts *as)
{
	size_t n = as->n = as->conf->n_accounts, i;
	struct account *sorted = xcalloc(n, sizeof(*sorted));

	as->v = xcalloc(n, sizeof(*as->v));
	as->by_name = xcalloc(n, sizeof(*as->by_name));
	for (i = 0; i < n; i++) {
		as->v[i].name = strings_intern(as->strings, as->conf->accounts[i].name);
		as->v[i].index = (uint32_t)i;
		sorted[i] = as->v[i];
	}
	qsort(sorted, n, sizeof(*sorted), by_name);
	for (i = 0; i < n; i++)
		as->by_name[i] = sorted[i].index;
	free(sorted);
}

/* Depth first, siblings in their order. Parents come before their children: the sizes of subtrees
 * are added up from the end; after that the position of each account is known. */
static void take_order(struct accounts *as)
{
	size_t n = as->n, i;
	uint32_t *below = xcalloc(n + 1, sizeof(*below)), *at = xcalloc(n + 1, sizeof(*at));

	as->order = xcalloc(n, sizeof(*as->order));
	for (i = n; i-- > 0;) {
		uint32_t parent = as->conf->accounts[i].parent;

		below[parent == CONF_NONE ? n : parent] += below[i] + 1;
	}
	for (i = 0; i < n; i++) {
		uint32_t parent = as->conf->accounts[i].parent;
		uint32_t *next = &at[parent == CONF_NONE ? n : parent];

		as->order[*next] = (uint32_t)i;
		at[i] = *next + 1;
		*next += below[i] + 1;
	}
	free(below);
	free(at);
}

static void add_bill(struct usage_sums *s, const struct usage_bill *bill)
{
	s->gpu_us += (uint64_t)bill->gpu_us;
	s->cpu_us += (uint64_t)bill->cpu_us;
	s->cost_u += (uint64_t)bill->cost_u;
	s->runs += (uint64_t)bill->runs;
}

/* For the account and all above it. */
static void add_up(struct accounts *as, uint32_t account, const struct usage_bill *bill)
{
	for (; account != CONF_NONE; account = as->conf->accounts[account].parent)
		add_bill(&as->v[account].sums, bill);
}

/* The decayed cost as of the common moment. */
static void scale(const struct accounts *as, struct assoc *a)
{
	a->scaled = usage_scale(
	        (double)a->decayed_u, a->decayed_time, as->epoch, as->conf->priority.half_life_s);
}

void accounts_scale_all(struct accounts *as, usec_t wall)
{
	size_t cursor = 0;
	struct assoc *a;

	as->epoch = usage_epoch(wall, as->conf->priority.half_life_s);
	while ((a = table_each(as->table, &cursor)))
		scale(as, a);
}

void accounts_configure(struct accounts *as, const struct conf *conf, struct clocks now)
{
	size_t cursor = 0;
	struct assoc *a;

	forget_conf(as);
	as->conf = conf;
	take_names(as);
	take_order(as);
	while ((a = table_each(as->table, &cursor))) {
		struct usage_bill all = { (int64_t)a->sums.gpu_us, (int64_t)a->sums.cpu_us,
			(int64_t)a->sums.cost_u, (int64_t)a->sums.runs };

		a->index = accounts_find(as, a->account);
		add_up(as, a->index, &all);
	}
	accounts_scale_all(as, now.wall);
	as->regroup = true;
	as->disordered = true;
	accounts_order(as, now);
}

/* --- usage ----------------------------------------------------------------------------------- */

/* What was left of earlier use is decayed to the time of the bill before the new cost is added. */
void accounts_bill(
        struct accounts *as, struct assoc *assoc, const struct usage_bill *bill, usec_t wall)
{
	double left = usage_decay((double)assoc->decayed_u, wall - assoc->decayed_time,
	                      as->conf->priority.half_life_s) +
	              (double)bill->cost_u;

	add_bill(&assoc->sums, bill);
	assoc->row = true;
	assoc->decayed_u = left > 0 ? (uint64_t)(left + 0.5) : 0;
	if (wall > assoc->decayed_time)
		assoc->decayed_time = wall;
	scale(as, assoc);
	add_up(as, assoc->index, bill);
	dirty_put(as->dirty, &assoc->mark);
	changed(as);
}

static uint64_t meter_since(const struct usage_meter *meter)
{
	return meter->rate_u * (uint64_t)(meter->since / 1000000);
}

/* Any number of meters are two sums: of the rates, and of rate times start. They are exact
 * integers, so a meter that is turned off leaves nothing behind. */
void accounts_meter_on(struct accounts *as, struct assoc *assoc, const struct usage_meter *meter)
{
	assoc->rate_u += meter->rate_u;
	assoc->rate_since += meter_since(meter);
	assoc->meters++;
	as->meters++;
}

void accounts_meter_off(struct accounts *as, struct assoc *assoc, const struct usage_meter *meter)
{
	assert(assoc->meters);
	assoc->rate_u -= meter->rate_u;
	assoc->rate_since -= meter_since(meter);
	assoc->meters--;
	as->meters--;
	changed(as);
}

/* --- rows ------------------------------------------------------------------------------------ */

static const struct codec_column columns[COL_USAGE_COUNT] = {
	[COL_USAGE_account] = COLUMN(struct assoc, account),
	[COL_USAGE_uid] = COLUMN(struct assoc, uid),
	[COL_USAGE_user] = COLUMN(struct assoc, user),
	[COL_USAGE_gpu_us] = COLUMN(struct assoc, sums.gpu_us),
	[COL_USAGE_cpu_us] = COLUMN(struct assoc, sums.cpu_us),
	[COL_USAGE_cost_u] = COLUMN(struct assoc, sums.cost_u),
	[COL_USAGE_runs] = COLUMN(struct assoc, sums.runs),
	[COL_USAGE_decayed_u] = COLUMN(struct assoc, decayed_u),
	[COL_USAGE_decayed_time] = COLUMN(struct assoc, decayed_time),
};

int accounts_load(struct accounts *as, const struct row *row, struct error *err)
{
	struct assoc read = { 0 }, *a;
	int rc = codec_decode(columns, &read, row, as->strings, err);

	if (rc == 0 && find(as, read.account, read.uid))
		rc = row_error(row, COL_USAGE_account, err, "is there twice");
	if (rc == 0) {
		a = add(as, read.account, read.uid, read.user);
		a->sums = a->retired = read.sums;
		a->row = true;
		a->decayed_u = read.decayed_u;
		a->decayed_time = read.decayed_time;
	}
	strings_drop(as->strings, read.account);
	strings_drop(as->strings, read.user);
	return rc;
}

void assoc_encode(const struct assoc *assoc, struct row *row, enum row_change change)
{
	row_begin(row, TABLE_USAGE, change);
	codec_encode(columns, assoc, row);
}

uint64_t accounts_hash(const struct accounts *as)
{
	size_t cursor = 0;
	const struct assoc *a;
	uint64_t sum = 0;
	struct row row;

	while ((a = table_each(as->table, &cursor))) {
		if (!a->row)
			continue;
		assoc_encode(a, &row, ROW_PUT);
		sum += row_hash(&row);
	}
	return sum;
}

/* --- looking --------------------------------------------------------------------------------- */

const struct assoc *accounts_each(const struct accounts *as, size_t *cursor)
{
	return table_each(as->table, cursor);
}

const char *assoc_name(const struct assoc *assoc)
{
	return assoc->account;
}

uint32_t assoc_uid(const struct assoc *assoc)
{
	return assoc->uid;
}

void assoc_sums(const struct assoc *assoc, struct usage_sums *all, struct usage_sums *retired)
{
	*all = assoc->sums;
	*retired = assoc->retired;
}

void assoc_retire(struct assoc *assoc, const struct usage_sums *sums, bool retired)
{
	struct usage_sums *r = &assoc->retired;

	r->gpu_us += retired ? sums->gpu_us : -sums->gpu_us;
	r->cpu_us += retired ? sums->cpu_us : -sums->cpu_us;
	r->cost_u += retired ? sums->cost_u : -sums->cost_u;
	r->runs += retired ? sums->runs : -sums->runs;
}

static uint32_t depth_of(const struct accounts *as, const struct line *line)
{
	if (line->account != CONF_NONE)
		return as->conf->accounts[line->account].depth;
	return line->assoc->index == CONF_NONE ? 0
	                                       : as->conf->accounts[line->assoc->index].depth + 1;
}

/* The lines of the last ranking, one after another. */
bool accounts_next(const struct accounts *as, size_t *cursor, struct share_view *view)
{
	const struct line *line = &as->lines[*cursor];
	const struct standing *standing;
	struct usage_sums sums;

	if (*cursor >= as->n_lines)
		return false;
	++*cursor;
	*view = (struct share_view){
		.user = "", .depth = depth_of(as, line), .shares = 1, .index = line->account
	};
	if (line->assoc) {
		sums = line->assoc->sums;
		standing = &line->assoc->standing;
		view->account = line->assoc->account;
		view->user = line->assoc->user;
	} else {
		sums = as->v[line->account].sums;
		standing = &as->v[line->account].standing;
		view->account = as->v[line->account].name;
		view->shares = as->conf->accounts[line->account].shares;
	}
	view->gpu_us = sums.gpu_us;
	view->cpu_us = sums.cpu_us;
	view->cost = (double)sums.cost_u / USAGE_MICRO;
	COPY_FIELDS(view, standing, usage, norm, effective, level_fs);
	view->fair_share = standing->factor;
	view->rank = standing->rank;
	return true;
}
