/* gates.c - see gates.h */
#include "ctld/core/limits/gates.h"

#include "ctld/core/limits/gates_impl.h"

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

static void block_text(
        const struct gates *g, const struct gate *gate, uint64_t amount, struct gate_block *block)
{
	char limit[AMOUNT_TEXT], used[AMOUNT_TEXT], more[AMOUNT_TEXT];

	amount_number(used, gate->kind, gate->used);
	amount_number(more, gate->kind, amount);
	if (gate->kind == GATE_LICENCE) {
		snprintf(block->text, sizeof(block->text), "%.60s: %s, %.15s in use, +%.15s",
		        g->conf->licences[gate->type].name,
		        amount_text(limit, g->conf, GATE_LICENCE, 0, gate->limit), used, more);
		return;
	}
	if (gate->part == LIMITS_PER_JOB) {
		snprintf(block->text, sizeof(block->text),
		        "%s%.60s: limit %.70s a job, it asks for %.15s", scope_words[gate->scope],
		        scope_name(g->conf, gate->scope, gate->index),
		        amount_text(limit, g->conf, gate->kind, gate->type, gate->limit), more);
		return;
	}
	snprintf(block->text, sizeof(block->text), "%s%.60s: limit %.70s%s, holds %.15s, +%.15s",
	        scope_words[gate->scope], scope_name(g->conf, gate->scope, gate->index),
	        amount_text(limit, g->conf, gate->kind, gate->type, gate->limit),
	        gate->part == LIMITS_PER_USER ? " a user" : "", used, more);
}

static void hours_text(
        const struct gates *g, const struct gate *gate, uint64_t used, struct gate_block *block)
{
	char span[UNITS_TEXT];

	snprintf(block->text, sizeof(block->text),
	        "%s%.60s: limit %llu GPU-hours%s in %s, used %llu", scope_words[gate->scope],
	        scope_name(g->conf, (enum gate_scope)gate->scope, gate->index),
	        (unsigned long long)gate->limit, gate->part == LIMITS_PER_USER ? " a user" : "",
	        duration_format(span, scope_hours_s(g->conf, (enum gate_scope)gate->scope,
	                                      gate->index, (enum limit_part)gate->part)),
	        (unsigned long long)used);
}

/* --- making ---------------------------------------------------------------------------------- */

static uint32_t gate_add(struct gates *g, const struct gate *gate)
{
	uint32_t id;

	if (g->n_unused) {
		id = g->unused[--g->n_unused];
	} else {
		if (g->n == g->size) {
			g->size = g->size ? g->size * 2 : 64;
			g->v = xrealloc(g->v, g->size, sizeof(*g->v));
		}
		id = (uint32_t)g->n++;
	}
	g->v[id] = *gate;
	return id;
}

/* Make the gates of a group; `ids` may be NULL. Returns how many there are. */
static uint32_t group_add(
        struct gates *g, enum gate_scope scope, uint32_t index, enum limit_part part, uint32_t *ids)
{
	struct limit limit;
	uint32_t i;

	for (i = 0; scope_limit(g->conf, scope, index, part, i, &limit); i++) {
		uint32_t id = gate_add(g, &(struct gate){ .kind = limit.kind,
		                                  .scope = (uint8_t)scope,
		                                  .part = (uint8_t)part,
		                                  .type = limit.type,
		                                  .index = index,
		                                  .limit = limit.value });
		if (ids)
			ids[i] = id;
	}
	return i;
}

static uint32_t group_count(
        const struct gates *g, enum gate_scope scope, uint32_t index, enum limit_part part)
{
	struct limit limit;
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

static uint64_t path_hash(const void *item, uint64_t seed)
{
	const struct gate_path *p = item;

	return hash_u64((uint64_t)p->account << 32 | p->uid,
	        hash_u64((uint64_t)p->qos << 32 | p->partition, seed));
}

static bool path_equal(const void *item, const void *key)
{
	const struct gate_path *a = item, *b = key;

	return a->account == b->account && a->uid == b->uid && a->qos == b->qos &&
	       a->partition == b->partition;
}

struct gates *gates_new(const struct conf *conf, uint64_t seed)
{
	const size_t count[SCOPES] = { conf->n_accounts, conf->n_qos, conf->n_partitions };
	struct gates *g = xcalloc(1, sizeof(*g));
	uint32_t i;
	int s;

	g->conf = conf;
	g->users = table_new(user_hash, seed);
	g->paths = table_new(path_hash, seed);
	for (s = 0; s < SCOPES; s++) {
		g->first[s] = xcalloc(count[s], sizeof(**g->first));
		for (i = 0; i < count[s]; i++) {
			g->first[s][i] = (uint32_t)g->n;
			group_add(g, (enum gate_scope)s, i, LIMITS_ALL, NULL);
			group_add(g, (enum gate_scope)s, i, LIMITS_PER_JOB, NULL);
			g->queued |= scope_counts_queued(conf, (enum gate_scope)s, i);
		}
	}
	g->first_licence = (uint32_t)g->n;
	for (i = 0; i < conf->n_licences; i++)
		gate_add(g, &(struct gate){ .kind = GATE_LICENCE,
		                    .scope = SCOPE_CLUSTER,
		                    .type = (uint16_t)i,
		                    .limit = conf->licences[i].count });
	g->first_kept = (uint32_t)g->n;
	for (i = 0; i <= conf->n_gpu_types; i++)
		gate_add(g, &(struct gate){ .kind = GATE_KEPT,
		                    .scope = SCOPE_CLUSTER,
		                    .type = i < conf->n_gpu_types ? (uint16_t)i : CONF_ANY_TYPE });
	g->quota = quota_new(conf);
	return g;
}

void gates_free(struct gates *g)
{
	size_t cursor = 0;
	struct user_scope *u;
	int s;

	if (!g)
		return;
	while ((u = table_each(g->users, &cursor))) {
		assert(u->refs == 0);
		free(u);
	}
	for (s = 0; s < SCOPES; s++)
		free(g->first[s]);
	table_free(g->users);
	table_free(g->paths);
	quota_free(g->quota);
	free(g->v);
	free(g->unused);
	free(g->found);
	free(g);
}

/* --- paths ----------------------------------------------------------------------------------- */

/* NULL: there is no limit for users. */
static struct user_scope *user_want(
        struct gates *g, enum gate_scope scope, uint32_t index, uint32_t uid)
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

static bool user_counts(const struct gates *g, const struct user_scope *u)
{
	uint32_t i;

	for (i = 0; i < u->n; i++) {
		if (g->v[u->ids[i]].used)
			return true;
	}
	return false;
}

static void user_free(struct gates *g, struct user_scope *u)
{
	uint32_t i;

	for (i = 0; i < u->n; i++) {
		if (g->n_unused == g->size_unused) {
			g->size_unused = g->size_unused ? g->size_unused * 2 : 64;
			g->unused = xrealloc(g->unused, g->size_unused, sizeof(*g->unused));
		}
		g->unused[g->n_unused++] = u->ids[i];
	}
	table_remove(g->users, u);
	free(u);
}

/* Waiting jobs count here without a path: the counter stays as long as it counts some. */
static void user_drop(struct gates *g, struct user_scope *u)
{
	if (--u->refs == 0 && !user_counts(g, u))
		user_free(g, u);
}

static void path_add(struct gate_path *path, uint32_t id)
{
	path->ids = xrealloc(path->ids, path->n + 1, sizeof(*path->ids));
	path->ids[path->n++] = id;
}

static void path_pass(
        struct gates *g, struct gate_path *path, enum gate_scope scope, uint32_t index)
{
	uint32_t n = group_count(g, scope, index, LIMITS_ALL) +
	             group_count(g, scope, index, LIMITS_PER_JOB),
	         i;
	struct user_scope *u = user_want(g, scope, index, path->uid);

	for (i = 0; i < n; i++)
		path_add(path, g->first[scope][index] + i);
	if (!u)
		return;
	path->users = xrealloc(path->users, path->n_users + 1, sizeof(struct user_scope *));
	path->users[path->n_users++] = u;
	for (i = 0; i < u->n; i++)
		path_add(path, u->ids[i]);
}

struct gate_path *gates_path(
        struct gates *g, uint32_t account, uint32_t uid, uint32_t qos, uint32_t partition)
{
	struct gate_path want = {
		.account = account, .uid = uid, .qos = qos, .partition = partition
	};
	struct gate_path *path =
	        table_find(g->paths, path_hash(&want, table_seed(g->paths)), path_equal, &want);
	struct scope_walk walk = { g->conf, { account, qos, partition }, 0 };
	enum gate_scope scope;
	uint32_t index;

	if (path) {
		path->refs++;
		return path;
	}
	path = xcalloc(1, sizeof(*path));
	*path = want;
	path->refs = 1;
	table_add(g->paths, path);
	while (scope_next(&walk, &scope, &index))
		path_pass(g, path, scope, index);
	return path;
}

uint32_t gate_path_account(const struct gate_path *path)
{
	return path->account;
}

void gate_path_free(struct gates *g, struct gate_path *path)
{
	uint32_t i;

	if (!path || --path->refs)
		return;
	table_remove(g->paths, path);
	for (i = 0; i < path->n_users; i++)
		user_drop(g, path->users[i]);
	free(path->users);
	free(path->ids);
	free(path);
}

/* --- passing --------------------------------------------------------------------------------- */

/* The i-th gate for this need: first the gates of the path, then the licences. */
static bool gate_at(const struct gates *g, const struct gate_path *path, const struct need *need,
        size_t i, uint32_t *id, uint64_t *amount)
{
	if (i < path->n) {
		*id = path->ids[i];
		*amount = need_amount(need, g->v[*id].kind, g->v[*id].type);
	} else if (i - path->n < need->n_licences) {
		*id = g->first_licence + need->licences[i - path->n].licence;
		*amount = need->licences[i - path->n].count;
	} else {
		return false;
	}
	return true;
}

/* Does the gate itself count what is taken? */
static bool gate_counts(const struct gate *gate)
{
	return gate->part != LIMITS_PER_JOB && gate->kind != GATE_GPU_HOURS;
}

/* GPU-hours used, rounded down to whole ones. */
static uint64_t hours_now(
        const struct gates *g, const struct gate_path *path, const struct gate *gate)
{
	_Static_assert((int)SCOPE_ACCOUNT == HOURS_ACCOUNT && (int)SCOPE_QOS == HOURS_QOS &&
	                       (int)SCOPE_PARTITION == HOURS_PARTITION,
	        "the same scopes");
	uint32_t uid = gate->part == LIMITS_PER_USER ? path->uid : HOURS_ALL;

	if (!g->hours)
		return 0;
	return hours_used(g->hours, (enum hours_scope)gate->scope, gate->index, uid) / HOUR_US;
}

static bool gate_open(const struct gates *g, const struct gate_path *path, const struct gate *gate,
        uint64_t amount)
{
	uint64_t used = gate->used;

	if (amount && gate->kind == GATE_GPU_HOURS)
		used = hours_now(g, path, gate);
	return !amount || used + amount <= gate->limit;
}

static void closed(const struct gates *g, const struct gate_path *path, uint32_t id,
        uint64_t amount, struct gate_block *block)
{
	const struct gate *gate = &g->v[id];
	uint64_t used = gate->kind == GATE_GPU_HOURS ? hours_now(g, path, gate) : gate->used;

	*block = (struct gate_block){ .gate = id,
		.reason = gate->kind == GATE_LICENCE ? reason_word(REASON_LICENSES)
		                                     : gate_reason((enum gate_scope)gate->scope,
		                                               (enum limit_part)gate->part,
		                                               (enum gate_kind)gate->kind),
		.short_by = used + amount - gate->limit };
	if (gate->kind == GATE_GPU_HOURS)
		hours_text(g, gate, used, block);
	else
		block_text(g, gate, amount, block);
}

uint32_t gates_kept(const struct gates *g, uint16_t type)
{
	return g->first_kept +
	       (type == CONF_ANY_TYPE ? (uint32_t)g->conf->n_gpu_types : (uint32_t)type);
}

static void kept_back(const struct gates *g, const struct gate_path *path, const struct need *need,
        const struct quota_block *q, struct gate_block *block)
{
	const struct conf *conf = g->conf;
	const char *type = q->type == CONF_ANY_TYPE ? "any" : conf->gpu_types[q->type].name;
	char guaranteed[AMOUNT_TEXT], held[AMOUNT_TEXT], more[AMOUNT_TEXT], of[AMOUNT_TEXT],
	        keeps[AMOUNT_TEXT];
	struct quota_use use;

	quota_use(g->quota, path->account, q->type, &use);
	*block = (struct gate_block){ .gate = gates_kept(g, q->type),
		.reason = gate_reason(SCOPE_ACCOUNT, LIMITS_ALL, GATE_GPUS),
		.short_by = q->short_by,
		.reclaim = true };
	snprintf(block->text, sizeof(block->text),
	        "%.36s: guaranteed %.24s:%.12s, holds %.12s, +%.12s; of %.12s free %.12s are kept "
	        "for %.24s",
	        path->account == CONF_NONE ? "no account" : conf->accounts[path->account].name,
	        type, amount_number(guaranteed, GATE_KEPT, use.guaranteed),
	        amount_number(held, GATE_KEPT, path->account == CONF_NONE ? 0 : use.held),
	        amount_number(more, GATE_KEPT, need_milli(need)),
	        amount_number(of, GATE_KEPT, q->free), amount_number(keeps, GATE_KEPT, q->kept),
	        q->account == CONF_NONE ? "others" : conf->accounts[q->account].name);
}

size_t gates_check_all(const struct gates *g, const struct gate_path *path, const struct need *need,
        struct gate_block *v, size_t max)
{
	struct quota_block kept;
	size_t i, n = 0;
	uint64_t amount;
	uint32_t id;

	for (i = 0; gate_at(g, path, need, i, &id, &amount); i++) {
		if (gate_open(g, path, &g->v[id], amount))
			continue;
		if (n < max)
			closed(g, path, id, amount, &v[n]);
		n++;
	}
	if (!quota_check(g->quota, path->account, need->type, need_milli(need), &kept)) {
		if (n < max)
			kept_back(g, path, need, &kept, &v[n]);
		n++;
	}
	return n;
}

bool gates_check(const struct gates *g, const struct gate_path *path, const struct need *need,
        struct gate_block *first)
{
	struct quota_block kept;
	size_t i;
	uint64_t amount;
	uint32_t id;

	for (i = 0; gate_at(g, path, need, i, &id, &amount); i++) {
		if (gate_open(g, path, &g->v[id], amount))
			continue;
		if (first)
			closed(g, path, id, amount, first);
		return false;
	}
	if (quota_check(g->quota, path->account, need->type, need_milli(need), &kept))
		return true;
	if (first)
		kept_back(g, path, need, &kept, first);
	return false;
}

uint64_t gates_amount(
        const struct gates *g, const struct gate_block *block, const struct need *need)
{
	const struct gate *gate = &g->v[block->gate];

	if (gate->kind == GATE_KEPT)
		return need_milli(need);
	return need_amount(need, (enum gate_kind)gate->kind, gate->type);
}

void gates_take(struct gates *g, const struct gate_path *path, const struct need *need)
{
	uint64_t amount;
	uint32_t id;
	size_t i;

	for (i = 0; gate_at(g, path, need, i, &id, &amount); i++)
		g->v[id].used += gate_counts(&g->v[id]) ? amount : 0;
	quota_take(g->quota, path->account, need->type, need_milli(need));
}

void gates_release(struct gates *g, const struct gate_path *path, const struct need *need)
{
	uint64_t amount;
	uint32_t id;
	size_t i;

	for (i = 0; gate_at(g, path, need, i, &id, &amount); i++) {
		if (!gate_counts(&g->v[id]))
			continue;
		assert(g->v[id].used >= amount);
		g->v[id].used -= amount;
	}
	quota_release(g->quota, path->account, need->type, need_milli(need));
}

void gates_reserve(
        struct gates *g, const struct gate_path *path, const struct need *need, bool reserve)
{
	uint64_t amount;
	uint32_t id;
	size_t i;

	for (i = 0; gate_at(g, path, need, i, &id, &amount); i++) {
		if (gate_counts(&g->v[id]))
			g->v[id].used += reserve ? amount : -amount;
	}
}

void gates_lift(struct gates *g, const struct gate_block *block, bool lift)
{
	const struct gate like = g->v[block->gate];
	size_t i;

	if (like.kind == GATE_KEPT)
		quota_lift(g->quota, like.type, block->short_by, lift);
	for (i = 0; i < g->n && like.kind != GATE_KEPT; i++) {
		struct gate *gate = &g->v[i];

		if (gate->kind == like.kind && gate->scope == like.scope &&
		        gate->part == like.part && gate->type == like.type &&
		        gate->index == like.index)
			gate->limit += lift ? block->short_by : -block->short_by;
	}
}

static void found(struct gates *g, size_t *n, uint32_t id)
{
	if (*n == g->size_found) {
		g->size_found = g->size_found ? g->size_found * 2 : 32;
		g->found = xrealloc(g->found, g->size_found, sizeof(*g->found));
	}
	g->found[(*n)++] = id;
}

const uint32_t *gates_of(
        struct gates *g, const struct gate_path *path, const struct need *need, size_t *n)
{
	uint64_t amount;
	uint32_t id;
	size_t i;

	*n = 0;
	for (i = 0; gate_at(g, path, need, i, &id, &amount); i++) {
		if (amount && gate_counts(&g->v[id]))
			found(g, n, id);
	}
	if (!need->gpus || need->type >= g->conf->n_gpu_types)
		return g->found;
	if (quota_given(g->quota, need->type))
		found(g, n, gates_kept(g, need->type));
	if (quota_given(g->quota, CONF_ANY_TYPE))
		found(g, n, gates_kept(g, CONF_ANY_TYPE));
	return g->found;
}

void gates_hours(struct gates *g, struct hours *hours)
{
	g->hours = hours;
}

void gates_time(struct gates *g, struct clocks now)
{
	if (g->hours)
		hours_time(g->hours, now);
}

struct quota *gates_quota(struct gates *g)
{
	return g->quota;
}

const uint32_t *gates_of_hours(struct gates *g, const struct gate_path *path, size_t *n)
{
	uint32_t i;

	*n = 0;
	for (i = 0; i < path->n; i++) {
		if (g->v[path->ids[i]].kind == GATE_GPU_HOURS)
			found(g, n, path->ids[i]);
	}
	return g->found;
}

size_t gates_count(const struct gates *g)
{
	return g->n;
}

bool gates_count_queued(const struct gates *g)
{
	return g->queued;
}

void gates_queued(struct gates *g, const struct gate_path *path, int delta)
{
	uint32_t i;

	for (i = 0; i < path->n; i++) {
		struct gate *gate = &g->v[path->ids[i]];

		if (gate->kind != GATE_QUEUED || !gate_counts(gate))
			continue;
		assert(delta > 0 || gate->used >= (uint64_t) - (int64_t)delta);
		gate->used += (uint64_t)(int64_t)delta;
	}
}

uint64_t gates_queued_now(const struct gates *g, const struct gate_path *path)
{
	uint64_t sum = 0;
	uint32_t i;

	for (i = 0; i < path->n; i++)
		sum += g->v[path->ids[i]].kind == GATE_QUEUED ? g->v[path->ids[i]].used : 0;
	return sum;
}
