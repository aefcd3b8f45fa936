/* limits.c - see limits.h
 *
 * All limits are numbers in one array, and an id is an index into it. The limits of accounts, QOS
 * and partitions are made at once for the whole configuration; those of a user are made when a
 * chain first leads through them, and their ids are used again when the last chain and the last
 * counted job have gone. So memory follows the users that are there, and a check is a walk over a
 * few ids.
 *
 * Invariant: `used` of a limit is the sum of the needs that were taken along the chains with its
 * id. limits_take() and limits_release() are exact inverses, which lets a caller try something and
 * take it back.
 *
 * A guarantee is not such a number: whether GPUs must stay free for another account depends on the
 * whole tree of accounts, so quota.h decides it, and a block of it has an id of its own, one for
 * each type.
 *
 * Chains are shared: one for each (account, user, QOS, partition), counted. A chain has the limits
 * for all and for each job of its scopes, and those of its user in each scope. Licences depend on
 * the request, so they are not in it; limit_at() puts them after the limits of the chain.
 */
#include "ctld/core/limits/limits.h"

#include "ctld/core/limits/limits_impl.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/units.h"
#include "common/base/xalloc.h"
#include "common/job/reason.h"
#include "ctld/core/util/hash.h"
#include "ctld/core/util/table.h"

#define HOUR_US 3600000000ull

static const char *const scope_words[SCOPES] = { "", "QOS ", "partition " };

static void block_text(const struct limits *g, const struct limit *limit, uint64_t amount,
        struct limit_block *block)
{
	char bound[AMOUNT_TEXT], used[AMOUNT_TEXT], more[AMOUNT_TEXT];

	amount_number(used, limit->kind, limit->used);
	amount_number(more, limit->kind, amount);
	if (limit->kind == LIMIT_LICENCE) {
		snprintf(block->text, sizeof(block->text), "%.60s: %s, %.15s in use, +%.15s",
		        g->conf->licences[limit->type].name,
		        amount_text(bound, g->conf, LIMIT_LICENCE, 0, limit->max), used, more);
		return;
	}
	if (limit->part == LIMITS_PER_JOB) {
		snprintf(block->text, sizeof(block->text),
		        "%s%.60s: limit %.70s a job, it asks for %.15s", scope_words[limit->scope],
		        scope_name(g->conf, limit->scope, limit->index),
		        amount_text(bound, g->conf, limit->kind, limit->type, limit->max), more);
		return;
	}
	snprintf(block->text, sizeof(block->text), "%s%.60s: limit %.70s%s, holds %.15s, +%.15s",
	        scope_words[limit->scope], scope_name(g->conf, limit->scope, limit->index),
	        amount_text(bound, g->conf, limit->kind, limit->type, limit->max),
	        limit->part == LIMITS_PER_USER ? " a user" : "", used, more);
}

static void hours_text(
        const struct limits *g, const struct limit *limit, uint64_t used, struct limit_block *block)
{
	char span[UNITS_TEXT];

	snprintf(block->text, sizeof(block->text),
	        "%s%.60s: limit %llu GPU-hours%s in %s, used %llu", scope_words[limit->scope],
	        scope_name(g->conf, (enum limit_scope)limit->scope, limit->index),
	        (unsigned long long)limit->max, limit->part == LIMITS_PER_USER ? " a user" : "",
	        duration_format(span, scope_hours_s(g->conf, (enum limit_scope)limit->scope,
	                                      limit->index, (enum limit_part)limit->part)),
	        (unsigned long long)used);
}

/* --- making ---------------------------------------------------------------------------------- */

/* Free places are used again, so that ids stay small while users come and go. */
static uint32_t limit_add(struct limits *g, const struct limit *limit)
{
	uint32_t id;

	if (g->n_unused) {
		id = g->unused[--g->n_unused];
	} else {
		g->v = xgrow(g->v, g->n, &g->size, sizeof(*g->v));
		id = (uint32_t)g->n++;
	}
	g->v[id] = *limit;
	return id;
}

/* Make the limits of a group; `ids` may be NULL. Returns how many there are. */
static uint32_t group_add(struct limits *g, enum limit_scope scope, uint32_t index,
        enum limit_part part, uint32_t *ids)
{
	struct conf_limit limit;
	uint32_t i;

	for (i = 0; scope_limit(g->conf, scope, index, part, i, &limit); i++) {
		uint32_t id = limit_add(g, &(struct limit){ .kind = limit.kind,
		                                   .scope = (uint8_t)scope,
		                                   .part = (uint8_t)part,
		                                   .type = limit.type,
		                                   .index = index,
		                                   .max = limit.value });
		if (ids)
			ids[i] = id;
	}
	return i;
}

/* How many limits group_add() makes there. Those of a scope for all and those for each job stand
 * side by side, from first[scope][index] on. */
static uint32_t group_count(
        const struct limits *g, enum limit_scope scope, uint32_t index, enum limit_part part)
{
	struct conf_limit limit;
	uint32_t i;

	for (i = 0; scope_limit(g->conf, scope, index, part, i, &limit); i++)
		;
	return i;
}

static uint64_t user_key(uint8_t scope, uint32_t index, uint32_t uid, uint64_t seed)
{
	return hash_u64((uint64_t)index << 32 | uid, seed + scope);
}

static uint64_t user_hash(const void *item, uint64_t seed)
{
	const struct user_scope *u = item;

	return user_key(u->scope, u->index, u->uid, seed);
}

static bool user_equal(const void *item, const void *key)
{
	const struct user_scope *a = item, *b = key;

	return a->scope == b->scope && a->index == b->index && a->uid == b->uid;
}

static uint64_t chain_hash(const void *item, uint64_t seed)
{
	const struct limit_chain *p = item;

	return hash_u64((uint64_t)p->account << 32 | p->uid,
	        hash_u64((uint64_t)p->qos << 32 | p->partition, seed));
}

static bool chain_equal(const void *item, const void *key)
{
	const struct limit_chain *a = item, *b = key;

	return a->account == b->account && a->uid == b->uid && a->qos == b->qos &&
	       a->partition == b->partition;
}

struct limits *limits_new(const struct conf *conf, uint64_t seed)
{
	const size_t count[SCOPES] = { conf->n_accounts, conf->n_qos, conf->n_partitions };
	struct limits *g = xcalloc(1, sizeof(*g));

	g->conf = conf;
	g->users = table_new(user_hash, seed);
	g->chains = table_new(chain_hash, seed);
	for (int s = 0; s < SCOPES; s++) {
		g->first[s] = xcalloc(count[s], sizeof(**g->first));
		for (uint32_t i = 0; i < count[s]; i++) {
			g->first[s][i] = (uint32_t)g->n;
			group_add(g, (enum limit_scope)s, i, LIMITS_ALL, NULL);
			group_add(g, (enum limit_scope)s, i, LIMITS_PER_JOB, NULL);
			g->queued |= scope_counts_queued(conf, (enum limit_scope)s, i);
		}
	}
	g->first_licence = (uint32_t)g->n;
	for (uint32_t i = 0; i < conf->n_licences; i++)
		limit_add(g, &(struct limit){ .kind = LIMIT_LICENCE,
		                     .scope = SCOPE_CLUSTER,
		                     .type = (uint16_t)i,
		                     .max = conf->licences[i].count });
	g->first_guarantee = (uint32_t)g->n;
	for (uint32_t i = 0; i <= conf->n_gpu_types; i++)
		limit_add(g, &(struct limit){ .kind = LIMIT_GUARANTEE,
		                     .scope = SCOPE_CLUSTER,
		                     .type = i < conf->n_gpu_types ? (uint16_t)i : CONF_ANY_TYPE });
	g->quota = quota_new(conf);
	return g;
}

void limits_free(struct limits *g)
{
	size_t cursor = 0;
	struct user_scope *u;

	if (!g)
		return;
	while ((u = table_each(g->users, &cursor))) {
		assert(u->refs == 0);
		free(u);
	}
	for (int s = 0; s < SCOPES; s++)
		free(g->first[s]);
	table_free(g->users);
	table_free(g->chains);
	quota_free(g->quota);
	free(g->v);
	free(g->unused);
	free(g->found);
	free(g);
}

/* --- chains ----------------------------------------------------------------------------------- */

/* NULL: there is no limit for users. */
static struct user_scope *user_want(
        struct limits *g, enum limit_scope scope, uint32_t index, uint32_t uid)
{
	struct user_scope key = { .scope = (uint8_t)scope, .index = index, .uid = uid }, *u;
	uint64_t hash = user_key(key.scope, index, uid, table_seed(g->users));
	uint32_t n = group_count(g, scope, index, LIMITS_PER_USER);

	if (!n)
		return NULL;
	u = table_find(g->users, hash, user_equal, &key);
	if (!u) {
		u = xcalloc(1, sizeof(*u) + n * sizeof(*u->ids));
		*u = key;
		u->n = group_add(g, scope, index, LIMITS_PER_USER, u->ids);
		table_add(g->users, u);
	}
	u->refs++;
	return u;
}

/* Is anything still counted in the limits of this user? Then they must stay. */
static bool user_counts(const struct limits *g, const struct user_scope *u)
{
	for (uint32_t i = 0; i < u->n; i++) {
		if (g->v[u->ids[i]].used)
			return true;
	}
	return false;
}

/* The places of its limits can be used again: limit_add(). */
static void user_free(struct limits *g, struct user_scope *u)
{
	for (uint32_t i = 0; i < u->n; i++) {
		*XADD(g->unused, g->n_unused, g->size_unused) = u->ids[i];
	}
	table_remove(g->users, u);
	free(u);
}

/* Waiting jobs count here without a chain: the counter stays as long as it counts some. */
static void user_drop(struct limits *g, struct user_scope *u)
{
	if (--u->refs == 0 && !user_counts(g, u))
		user_free(g, u);
}

static void chain_add(struct limit_chain *chain, uint32_t id)
{
	chain->ids = xrealloc(chain->ids, chain->n + 1, sizeof(*chain->ids));
	chain->ids[chain->n++] = id;
}

static void chain_pass(
        struct limits *g, struct limit_chain *chain, enum limit_scope scope, uint32_t index)
{
	uint32_t n = group_count(g, scope, index, LIMITS_ALL) +
	             group_count(g, scope, index, LIMITS_PER_JOB),
	         i;
	struct user_scope *u = user_want(g, scope, index, chain->uid);

	for (i = 0; i < n; i++)
		chain_add(chain, g->first[scope][index] + i);
	if (!u)
		return;
	chain->users = xrealloc(chain->users, chain->n_users + 1, sizeof(struct user_scope *));
	chain->users[chain->n_users++] = u;
	for (i = 0; i < u->n; i++)
		chain_add(chain, u->ids[i]);
}

struct limit_chain *limits_chain(
        struct limits *g, uint32_t account, uint32_t uid, uint32_t qos, uint32_t partition)
{
	struct limit_chain want = {
		.account = account, .uid = uid, .qos = qos, .partition = partition
	};
	struct limit_chain *chain =
	        table_find(g->chains, chain_hash(&want, table_seed(g->chains)), chain_equal, &want);
	struct scope_walk walk = { g->conf, { account, qos, partition }, 0 };
	enum limit_scope scope;
	uint32_t index;

	if (chain) {
		chain->refs++;
		return chain;
	}
	chain = xcalloc(1, sizeof(*chain));
	*chain = want;
	chain->refs = 1;
	table_add(g->chains, chain);
	while (scope_next(&walk, &scope, &index))
		chain_pass(g, chain, scope, index);
	return chain;
}

uint32_t limit_chain_account(const struct limit_chain *chain)
{
	return chain->account;
}

void limit_chain_free(struct limits *g, struct limit_chain *chain)
{
	if (!chain || --chain->refs)
		return;
	table_remove(g->chains, chain);
	for (uint32_t i = 0; i < chain->n_users; i++)
		user_drop(g, chain->users[i]);
	free(chain->users);
	free(chain->ids);
	free(chain);
}

/* --- passing --------------------------------------------------------------------------------- */

/* The i-th limit for this need: first the limits of the chain, then the licences. */
static bool limit_at(const struct limits *g, const struct limit_chain *chain,
        const struct need *need, size_t i, uint32_t *id, uint64_t *amount)
{
	if (i < chain->n) {
		*id = chain->ids[i];
		*amount = need_amount(need, g->v[*id].kind, g->v[*id].type);
	} else if (i - chain->n < need->n_licences) {
		*id = g->first_licence + need->licences[i - chain->n].licence;
		*amount = need->licences[i - chain->n].count;
	} else {
		return false;
	}
	return true;
}

/* Does the limit itself count what is taken? */
static bool limit_counts(const struct limit *limit)
{
	return limit->part != LIMITS_PER_JOB && limit->kind != LIMIT_GPU_HOURS;
}

/* GPU-hours used, rounded down to whole ones. */
static uint64_t hours_now(
        const struct limits *g, const struct limit_chain *chain, const struct limit *limit)
{
	_Static_assert((int)SCOPE_ACCOUNT == HOURS_ACCOUNT && (int)SCOPE_QOS == HOURS_QOS &&
	                       (int)SCOPE_PARTITION == HOURS_PARTITION,
	        "the same scopes");
	uint32_t uid = limit->part == LIMITS_PER_USER ? chain->uid : HOURS_ALL;

	if (!g->hours)
		return 0;
	return hours_used(g->hours, (enum hours_scope)limit->scope, limit->index, uid) / HOUR_US;
}

static bool limit_open(const struct limits *g, const struct limit_chain *chain,
        const struct limit *limit, uint64_t amount)
{
	uint64_t used = limit->used;

	if (amount && limit->kind == LIMIT_GPU_HOURS)
		used = hours_now(g, chain, limit);
	return !amount || used + amount <= limit->max;
}

/* Describes the limit that the need does not pass: the reason, its text, and what is missing. */
static void closed(const struct limits *g, const struct limit_chain *chain, uint32_t id,
        uint64_t amount, struct limit_block *block)
{
	const struct limit *limit = &g->v[id];
	uint64_t used = limit->kind == LIMIT_GPU_HOURS ? hours_now(g, chain, limit) : limit->used;

	*block = (struct limit_block){ .limit = id,
		.reason = limit->kind == LIMIT_LICENCE
		                  ? reason_word(REASON_LICENSES)
		                  : limit_reason((enum limit_scope)limit->scope,
		                            (enum limit_part)limit->part,
		                            (enum limit_kind)limit->kind),
		.short_by = used + amount - limit->max };
	if (limit->kind == LIMIT_GPU_HOURS)
		hours_text(g, limit, used, block);
	else
		block_text(g, limit, amount, block);
}

uint32_t limits_guarantee(const struct limits *g, uint16_t type)
{
	return g->first_guarantee +
	       (type == CONF_ANY_TYPE ? (uint32_t)g->conf->n_gpu_types : (uint32_t)type);
}

/* The same for GPUs that must stay free for other accounts. `reclaim`: preemption may free them. */
static void kept_back(const struct limits *g, const struct limit_chain *chain,
        const struct need *need, const struct quota_block *q, struct limit_block *block)
{
	const struct conf *conf = g->conf;
	const char *type = q->type == CONF_ANY_TYPE ? "any" : conf->gpu_types[q->type].name;
	char guaranteed[AMOUNT_TEXT], held[AMOUNT_TEXT], more[AMOUNT_TEXT], of[AMOUNT_TEXT],
	        reserved[AMOUNT_TEXT];
	struct quota_use use;

	quota_use(g->quota, chain->account, q->type, &use);
	*block = (struct limit_block){ .limit = limits_guarantee(g, q->type),
		.reason = limit_reason(SCOPE_ACCOUNT, LIMITS_ALL, LIMIT_GPUS),
		.short_by = q->short_by,
		.reclaim = true };
	snprintf(block->text, sizeof(block->text),
	        "%.36s: guaranteed %.24s:%.12s, holds %.12s, +%.12s; of %.12s free %.12s are kept "
	        "for %.24s",
	        chain->account == CONF_NONE ? "no account" : conf->accounts[chain->account].name,
	        type, amount_number(guaranteed, LIMIT_GUARANTEE, use.guaranteed),
	        amount_number(held, LIMIT_GUARANTEE, chain->account == CONF_NONE ? 0 : use.held),
	        amount_number(more, LIMIT_GUARANTEE, need_milli(need)),
	        amount_number(of, LIMIT_GUARANTEE, q->free),
	        amount_number(reserved, LIMIT_GUARANTEE, q->kept),
	        q->account == CONF_NONE ? "others" : conf->accounts[q->account].name);
}

/* As limits_check(), but all limits that the need does not pass, for explanations. */
size_t limits_check_all(const struct limits *g, const struct limit_chain *chain,
        const struct need *need, struct limit_block *v, size_t max)
{
	struct quota_block kept;
	size_t i, n = 0;
	uint64_t amount;
	uint32_t id;

	for (i = 0; limit_at(g, chain, need, i, &id, &amount); i++) {
		if (limit_open(g, chain, &g->v[id], amount))
			continue;
		if (n < max)
			closed(g, chain, id, amount, &v[n]);
		n++;
	}
	if (!quota_check(g->quota, chain->account, need->type, need_milli(need), &kept)) {
		if (n < max)
			kept_back(g, chain, need, &kept, &v[n]);
		n++;
	}
	return n;
}

bool limits_check(const struct limits *g, const struct limit_chain *chain, const struct need *need,
        struct limit_block *first)
{
	struct quota_block kept;
	uint64_t amount;
	uint32_t id;

	for (size_t i = 0; limit_at(g, chain, need, i, &id, &amount); i++) {
		if (limit_open(g, chain, &g->v[id], amount))
			continue;
		if (first)
			closed(g, chain, id, amount, first);
		return false;
	}
	if (quota_check(g->quota, chain->account, need->type, need_milli(need), &kept))
		return true;
	if (first)
		kept_back(g, chain, need, &kept, first);
	return false;
}

uint64_t limits_amount(
        const struct limits *g, const struct limit_block *block, const struct need *need)
{
	const struct limit *limit = &g->v[block->limit];

	if (limit->kind == LIMIT_GUARANTEE)
		return need_milli(need);
	return need_amount(need, (enum limit_kind)limit->kind, limit->type);
}

/* Along the whole chain; the guarantees follow in quota.c. */
void limits_take(struct limits *g, const struct limit_chain *chain, const struct need *need)
{
	uint64_t amount;
	uint32_t id;

	for (size_t i = 0; limit_at(g, chain, need, i, &id, &amount); i++)
		g->v[id].used += limit_counts(&g->v[id]) ? amount : 0;
	quota_take(g->quota, chain->account, need->type, need_milli(need));
}

void limits_release(struct limits *g, const struct limit_chain *chain, const struct need *need)
{
	uint64_t amount;
	uint32_t id;

	for (size_t i = 0; limit_at(g, chain, need, i, &id, &amount); i++) {
		if (!limit_counts(&g->v[id]))
			continue;
		assert(g->v[id].used >= amount);
		g->v[id].used -= amount;
	}
	quota_release(g->quota, chain->account, need->type, need_milli(need));
}

/* As take and release, but without quotas and without the check that as much was taken. */
void limits_reserve(
        struct limits *g, const struct limit_chain *chain, const struct need *need, bool reserve)
{
	uint64_t amount;
	uint32_t id;

	for (size_t i = 0; limit_at(g, chain, need, i, &id, &amount); i++) {
		if (limit_counts(&g->v[id]))
			g->v[id].used += reserve ? amount : -amount;
	}
}

/* For a what-if: as if the limit, of all users alike, were higher by what is missing. */
void limits_lift(struct limits *g, const struct limit_block *block, bool lift)
{
	const struct limit like = g->v[block->limit];

	if (like.kind == LIMIT_GUARANTEE)
		quota_lift(g->quota, like.type, block->short_by, lift);
	for (size_t i = 0; i < g->n && like.kind != LIMIT_GUARANTEE; i++) {
		struct limit *limit = &g->v[i];

		if (limit->kind == like.kind && limit->scope == like.scope &&
		        limit->part == like.part && limit->type == like.type &&
		        limit->index == like.index)
			limit->max += lift ? block->short_by : -block->short_by;
	}
}

/* Appends to the list that the next call overwrites. */
static void found(struct limits *g, size_t *n, uint32_t id)
{
	*XADD(g->found, *n, g->size_found) = id;
}

const uint32_t *limits_of_need(
        struct limits *g, const struct limit_chain *chain, const struct need *need, size_t *n)
{
	uint64_t amount;
	uint32_t id;

	*n = 0;
	for (size_t i = 0; limit_at(g, chain, need, i, &id, &amount); i++) {
		if (amount && limit_counts(&g->v[id]))
			found(g, n, id);
	}
	if (!need->gpus || need->type >= g->conf->n_gpu_types)
		return g->found;
	if (quota_given(g->quota, need->type))
		found(g, n, limits_guarantee(g, need->type));
	if (quota_given(g->quota, CONF_ANY_TYPE))
		found(g, n, limits_guarantee(g, CONF_ANY_TYPE));
	return g->found;
}

void limits_set_hours(struct limits *g, struct hours *hours)
{
	g->hours = hours;
}

void limits_time(struct limits *g, struct clocks now)
{
	if (g->hours)
		hours_time(g->hours, now);
}

struct quota *limits_quota(struct limits *g)
{
	return g->quota;
}

const uint32_t *limits_of_hours(struct limits *g, const struct limit_chain *chain, size_t *n)
{
	*n = 0;
	for (uint32_t i = 0; i < chain->n; i++) {
		if (g->v[chain->ids[i]].kind == LIMIT_GPU_HOURS)
			found(g, n, chain->ids[i]);
	}
	return g->found;
}

size_t limits_count(const struct limits *g)
{
	return g->n;
}

bool limits_count_queued(const struct limits *g)
{
	return g->queued;
}

void limits_queued(struct limits *g, const struct limit_chain *chain, int delta)
{
	for (uint32_t i = 0; i < chain->n; i++) {
		struct limit *limit = &g->v[chain->ids[i]];

		if (limit->kind != LIMIT_QUEUED || !limit_counts(limit))
			continue;
		assert(delta > 0 || limit->used >= (uint64_t)-(int64_t)delta);
		limit->used += (uint64_t)(int64_t)delta;
	}
}

uint64_t limits_queued_now(const struct limits *g, const struct limit_chain *chain)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < chain->n; i++)
		sum += g->v[chain->ids[i]].kind == LIMIT_QUEUED ? g->v[chain->ids[i]].used : 0;
	return sum;
}
