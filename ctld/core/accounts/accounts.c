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
 *
 * A ranking (fairtree.h) is made when it is asked for and something has changed (`stale`). Jobs are
 * sorted by the factors of the last *ordering* (accounts_order()), which the scheduler asks for
 * when it makes its own: two decisions between orderings use the same factors. The tree is grouped
 * anew only if an assoc was added or removed (`regroup`).
 */
#include "ctld/core/accounts/accounts.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/bisect.h"
#include "common/base/each.h"
#include "common/base/xalloc.h"
#include "ctld/core/accounts/fairtree.h"
#include "ctld/core/accounts/cost_and_decay.h"
#include "ctld/core/rows/row_codec.h"
#include "ctld/core/rows/view.h"
#include "ctld/core/util/hash.h"
#include "ctld/core/util/table.h"

/* Sums from times farther than this many half-lives from the common time are scaled again. */
#define EPOCH_LIVES 64

/* The values of a node of the tree at the last ranking. */
struct standing {
	double usage; /* decayed to that moment, with what is running */
	double norm, effective, level_fs, factor;
	uint32_t rank;
};

struct assoc {
	struct mark mark;
	/* durable */
	const char *account, *user; /* kept */
	uint32_t uid;
	struct usage_sums sums;
	uint64_t decayed_u;
	usec_t decayed_time;
	/* volatile */
	bool row; /* was billed: has a row */
	struct usage_sums retired;
	uint32_t refs, index; /* of its account; CONF_NONE */
	double scaled;        /* decayed_u as of the common moment */
	/* Of all meters: the rate, and rate x since (s), modulo 2^64: the difference that is
	 * needed is small. */
	uint64_t rate_u, rate_since;
	uint32_t meters;
	struct standing standing;
	double fair_share; /* the factor at the last ordering, by which its jobs are sorted */
};

/* One of the configuration. */
struct account {
	const char *name; /* kept */
	uint32_t index;
	struct usage_sums sums; /* of all assocs here and below */
	struct standing standing;
};

/* A line of accounts_next(): an account, or a user. */
struct line {
	uint32_t account; /* CONF_NONE: a user */
	const struct assoc *assoc;
};

struct accounts {
	struct strings *strings;
	struct dirty *dirty;
	struct table *table;
	const struct conf *conf;
	struct account *v; /* in the order of the configuration */
	size_t n;
	uint32_t *by_name;  /* indices, by the address of the kept name */
	uint32_t *order;    /* indices, depth first */
	usec_t epoch;       /* the common moment */
	uint64_t meters;    /* that are on */
	bool stale;         /* something has changed since the last ranking */
	bool disordered;    /* and since the last accounts_order() */
	struct line *lines; /* as of the last ranking */
	size_t n_lines;
	/* Also of the last ranking, and valid for the next one if no assoc was added or removed. */
	bool regroup;
	struct assoc **placed; /* all, by their place */
	size_t n_placed;
	uint32_t *met; /* the numbers of the nodes of the tree as they were met */
};

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

static void assoc_free(struct accounts *as, struct assoc *a)
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

/* A new user has used nothing, and so comes before all others of the account. */
static double newcomer(const struct accounts *as, const struct assoc *new)
{
	double best = 1;
	bool met = false;

	for (size_t i = 0; i < as->n_lines; i++) {
		const struct assoc *a = as->lines[i].assoc;
		bool like = a && (as->n ? a->index == new->index : a->uid == new->uid);

		if (like && (!met || a->fair_share > best))
			best = a->fair_share;
		met |= like;
	}
	return best;
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
			a->fair_share = newcomer(as, a);
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

static void scale_all(struct accounts *as, usec_t wall)
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
	scale_all(as, now.wall);
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

/* The cost of what runs, until now, in millionths. */
static double running_u(const struct assoc *a, usec_t mono)
{
	uint64_t rate_s = a->rate_u * (uint64_t)(mono / 1000000) - a->rate_since;

	/* Below 0 if a meter begins in the future. */
	return (int64_t)rate_s > 0 ? (double)rate_s / 3600 : 0;
}

/* --- ranking --------------------------------------------------------------------------------- */

/* Accounts in their order, in each users by name; outside the tree by uid and account. */
static int by_place(const void *x, const void *y)
{
	const struct assoc *a = *(const struct assoc *const *)x,
	                   *b = *(const struct assoc *const *)y;
	int order;

	if (a->index != b->index)
		return a->index < b->index ? -1 : 1;
	order = a->index == CONF_NONE ? 0 : strcmp(a->user, b->user);
	if (order)
		return order;
	if (a->uid != b->uid)
		return a->uid < b->uid ? -1 : 1;
	return strcmp(a->account, b->account);
}

/* All assocs in that order, those outside the tree last. Frees those that are not needed. */
static void place_all(struct accounts *as)
{
	size_t cursor = 0, n = 0, i;
	struct assoc **v, *a;

	v = as->placed = xrealloc(as->placed, table_count(as->table) + 1, sizeof(struct assoc *));
	while ((a = table_each(as->table, &cursor)))
		v[n++] = a;
	as->n_placed = 0;
	for (i = 0; i < n; i++) {
		if (v[i]->refs || v[i]->row) {
			v[as->n_placed++] = v[i];
			continue;
		}
		table_remove(as->table, v[i]);
		assoc_free(as, v[i]);
	}
	qsort(v, as->n_placed, sizeof(struct assoc *), by_place);
}

/* The lines of the tree, then those outside it. */
static void list(struct accounts *as)
{
	struct assoc *const *v = as->placed;
	size_t n_accounts = as->n, n = as->n_placed, i = 0, a;
	size_t *first = xcalloc(n_accounts + 1, sizeof(*first)); /* user of an account, in v */

	for (a = 0; a <= n_accounts; a++) {
		while (i < n && v[i]->index < a)
			i++;
		first[a] = i;
	}
	free(as->lines);
	as->lines = xcalloc(n_accounts + n, sizeof(*as->lines));
	as->n_lines = 0;
	for (a = 0; a < n_accounts; a++) {
		uint32_t account = as->order[a];

		as->lines[as->n_lines++] = (struct line){ account, NULL };
		for (i = first[account]; i < first[account + 1]; i++)
			as->lines[as->n_lines++] = (struct line){ CONF_NONE, v[i] };
	}
	for (i = first[n_accounts]; i < n; i++)
		as->lines[as->n_lines++] = (struct line){ CONF_NONE, v[i] };
	free(first);
}

static double usage_at(const struct assoc *a, struct clocks now, struct usage_factor f)
{
	return a->scaled + usage_by(f, a->meters ? running_u(a, now.mono) : 0);
}

/* The tree as of now. leaves[i]: the node of placed[i], FAIR_ROOT for none. Returns how many nodes.
 */
static size_t snapshot(const struct accounts *as, struct clocks now, struct usage_factor f,
        struct fair_node *nodes, uint32_t *leaves)
{
	struct assoc *const *v = as->placed;
	size_t n_nodes = as->n, i;

	for (i = 0; i < n_nodes; i++)
		nodes[i] = (struct fair_node){ .parent = as->conf->accounts[i].parent,
			.shares = as->conf->accounts[i].shares };
	for (i = 0; i < as->n_placed; i++) {
		leaves[i] = FAIR_ROOT;
		if (v[i]->index == CONF_NONE && as->n)
			continue;
		/* Without accounts a user has one leaf for all names. */
		if (i && v[i]->index == CONF_NONE && v[i]->uid == v[i - 1]->uid) {
			leaves[i] = leaves[i - 1];
		} else {
			leaves[i] = (uint32_t)n_nodes;
			nodes[n_nodes++] = (struct fair_node){
				.parent = v[i]->index, .user = true, .shares = 1
			};
		}
		nodes[leaves[i]].usage += usage_at(v[i], now, f);
	}
	return n_nodes;
}

/* `since`: from the common moment to now. */
static struct standing standing_of(const struct fair_node *node, double since)
{
	struct standing s = { .usage = node->usage / since / USAGE_MICRO };

	COPY_FIELDS(&s, node, norm, effective, level_fs, factor, rank);
	return s;
}

/* What the tree has found, back to accounts and assocs, with usage as of now. */
static void take_standings(struct accounts *as, const struct fair_node *nodes,
        const uint32_t *leaves, struct usage_factor f)
{
	double since = usage_by(f, 1);

	for (size_t i = 0; i < as->n; i++)
		as->v[i].standing = standing_of(&nodes[i], since);
	for (size_t i = 0; i < as->n_placed; i++) {
		if (leaves[i] != FAIR_ROOT)
			as->placed[i]->standing = standing_of(&nodes[leaves[i]], since);
		else
			as->placed[i]->standing = (struct standing){ 0 };
	}
}

/* The nodes are not those of the last time: start from no order. */
static void forget_met(struct accounts *as, size_t n)
{
	as->met = xrealloc(as->met, n ? n : 1, sizeof(*as->met));
	for (size_t i = 0; i < n; i++)
		as->met[i] = (uint32_t)i;
}

/* Costs one pass over accounts and assocs, and a sort that begins with the last order. Only if an
 * assoc came or went they are placed and listed anew. */
void accounts_rank(struct accounts *as, struct clocks now)
{
	usec_t far = (usec_t)as->conf->priority.half_life_s * 1000000 * EPOCH_LIVES;
	struct usage_factor f;
	struct fair_node *nodes;
	uint32_t *leaves;
	size_t n;

	if (far && (now.wall > as->epoch + far || now.wall < as->epoch - far))
		scale_all(as, now.wall);
	f = usage_factor(now.wall, as->epoch, as->conf->priority.half_life_s);
	if (as->regroup) {
		place_all(as);
		list(as);
	}
	nodes = xcalloc(as->n + as->n_placed, sizeof(*nodes));
	leaves = xcalloc(as->n_placed, sizeof(*leaves));
	n = snapshot(as, now, f, nodes, leaves);
	if (as->regroup)
		forget_met(as, n);
	fairtree_rank(nodes, n, as->met);
	take_standings(as, nodes, leaves, f);
	as->stale = as->regroup = false;
	free(nodes);
	free(leaves);
}

bool accounts_stale(const struct accounts *as)
{
	return as->stale || as->meters;
}

void accounts_order(struct accounts *as, struct clocks now)
{
	if (!as->disordered && !as->meters)
		return;
	accounts_rank(as, now);
	for (size_t i = 0; i < as->n_placed; i++)
		as->placed[i]->fair_share = as->placed[i]->standing.factor;
	as->disordered = false;
}

double assoc_fair_share(const struct assoc *assoc)
{
	return assoc->fair_share;
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
