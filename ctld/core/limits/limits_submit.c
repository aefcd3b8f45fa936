/* limits_submit.c - limits that are checked before a job is taken in
 *
 * All limits on the job's chain are checked. Of those that the job breaks one is named: of the
 * first kind in the order of enum limit_kind (time comes last), the tightest limit.
 */
#include <stdio.h>

#include "common/base/units.h"
#include "ctld/core/limits/limits_impl.h"

#define KIND_TIME LIMIT_ALL_KINDS /* beside the kinds of limits */

static const uint16_t codes[SCOPES][LIMIT_ALL_KINDS + 1] = {
#define CODES(scope)                                               \
	[SCOPE_##scope] = {                                        \
		[LIMIT_GPUS] = ERR_LIMIT_##scope##_GPUS,           \
		[LIMIT_GPU_MEM] = ERR_LIMIT_##scope##_GPU_MEM,     \
		[LIMIT_CPUS] = ERR_LIMIT_##scope##_CPUS,           \
		[LIMIT_MEM] = ERR_LIMIT_##scope##_MEM,             \
		[LIMIT_NODES] = ERR_LIMIT_##scope##_NODES,         \
		[LIMIT_RUNNING] = ERR_LIMIT_##scope##_RUNNING,     \
		[LIMIT_QUEUED] = ERR_LIMIT_##scope##_QUEUED,       \
		[LIMIT_GPU_HOURS] = ERR_LIMIT_##scope##_GPU_HOURS, \
	}
	CODES(ACCOUNT),
	CODES(QOS),
	CODES(PARTITION),
#undef CODES
};

static const uint16_t time_codes[SCOPES] = {
	[SCOPE_ACCOUNT] = ERR_LIMIT_ACCOUNT_TIME,
	[SCOPE_QOS] = ERR_LIMIT_QOS_TIME,
	[SCOPE_PARTITION] = ERR_TIME_LIMIT,
};

/* A limit that is broken. */
struct breach {
	int kind; /* enum limit_kind or KIND_TIME; -1: none yet */
	enum limit_scope scope;
	uint32_t index;
	enum limit_part part;
	uint16_t type;
	uint64_t limit, asked;
};

/* Keep the breach that is named: see the head. */
static void note(struct breach *worst, const struct breach *b)
{
	if (worst->kind < 0 || b->kind < worst->kind ||
	        (b->kind == worst->kind && b->limit < worst->limit))
		*worst = *b;
}

/* A job without a time limit exceeds every limit on time. */
static void look_at(const struct limits *g, enum limit_scope scope, uint32_t index,
        enum limit_part part, const struct need *need, uint32_t time_s, struct breach *worst)
{
	struct breach b = { .scope = scope, .index = index, .part = part };
	struct conf_limit limit;

	for (size_t i = 0; scope_limit(g->conf, scope, index, part, i, &limit); i++) {
		b.kind = limit.kind;
		b.type = limit.type;
		b.limit = limit.value;
		b.asked = need_amount(need, limit.kind, limit.type);
		if (b.asked > b.limit)
			note(worst, &b);
	}
	b.kind = KIND_TIME;
	b.limit = scope_time_s(g->conf, scope, index, part);
	b.asked = time_s;
	if (b.limit != CONF_NONE && (!time_s || time_s > b.limit))
		note(worst, &b);
}

/* " (28 now)": what is counted there now. */
static void say_use(char *buf, size_t size, const struct limits *g, const struct limit_chain *chain,
        const struct breach *b)
{
	char used[AMOUNT_TEXT];

	*buf = '\0';
	for (uint32_t i = 0; i < chain->n && b->part != LIMITS_PER_JOB; i++) {
		const struct limit *limit = &g->v[chain->ids[i]];

		if (limit->kind != b->kind || limit->scope != b->scope ||
		        limit->index != b->index || limit->type != b->type ||
		        limit->part != b->part)
			continue;
		snprintf(buf, size, " (%s now)", amount_number(used, limit->kind, limit->used));
		return;
	}
}

static int refuse(const struct limits *g, const struct limit_chain *chain, const struct breach *b,
        struct error *err)
{
	static const char *const whose[SCOPES] = { "account", "QOS", "partition" };
	static const char *const parts[] = { " in all", " a user", " a job" };
	char bound[AMOUNT_TEXT], asked[AMOUNT_TEXT], use[AMOUNT_TEXT + 10];
	const char *name = scope_name(g->conf, b->scope, b->index);

	if (b->kind == KIND_TIME) {
		char want[UNITS_TEXT], most[UNITS_TEXT];

		return error_set(err, time_codes[b->scope],
		        "--time=%s: %s %.60s allows at most %s a job",
		        duration_format(want, b->asked ? b->asked : DURATION_FOREVER),
		        whose[b->scope], name, duration_format(most, b->limit));
	}
	say_use(use, sizeof(use), g, chain, b);
	return error_set(err, codes[b->scope][b->kind],
	        "%s: %s %.60s allows at most %s%s%s, so this job could never start",
	        amount_text(asked, g->conf, (enum limit_kind)b->kind, b->type, b->asked),
	        whose[b->scope], name,
	        amount_text(bound, g->conf, (enum limit_kind)b->kind, b->type, b->limit),
	        parts[b->part], use);
}

/* The least that the partition wants a job to ask for. */
static int check_least(const struct limits *g, uint32_t partition, const struct need *need,
        uint32_t time_s, struct error *err)
{
	const struct conf_partition *p = &g->conf->partitions[partition];
	char want[AMOUNT_TEXT], least[AMOUNT_TEXT];
	struct conf_limit limit;

	for (size_t i = 0; conf_limit_at(&p->per_job_min, i, &limit); i++) {
		uint64_t asked = need_amount(need, limit.kind, limit.type);

		if (asked >= limit.value)
			continue;
		return error_set(err, codes[SCOPE_PARTITION][limit.kind],
		        "%s: partition %.60s is for jobs of at least %s",
		        amount_text(want, g->conf, limit.kind, limit.type, asked), p->name,
		        amount_text(least, g->conf, limit.kind, limit.type, limit.value));
	}
	if (p->per_job_min.time_s != CONF_NONE && time_s && time_s < p->per_job_min.time_s)
		return error_set(err, ERR_TIME_LIMIT,
		        "--time=%s: partition %.60s is for jobs of at least %s",
		        duration_format(want, time_s), p->name,
		        duration_format(least, p->per_job_min.time_s));
	return 0;
}

static int check_queued(
        const struct limits *g, const struct limit_chain *chain, uint32_t jobs, struct error *err)
{
	static const char *const whose[SCOPES] = { "account", "QOS", "partition" };
	char tasks[80] = "";

	if (jobs > 1)
		snprintf(tasks, sizeof(tasks), "; this array has %u tasks", jobs);
	for (uint32_t i = 0; i < chain->n; i++) {
		const struct limit *limit = &g->v[chain->ids[i]];

		if (limit->kind != LIMIT_QUEUED || limit->used + jobs <= limit->max)
			continue;
		error_set(err, codes[limit->scope][LIMIT_QUEUED],
		        "%s %.60s has %llu jobs%s that wait or run, and its limit is %llu%s",
		        whose[limit->scope],
		        scope_name(g->conf, (enum limit_scope)limit->scope, limit->index),
		        (unsigned long long)limit->used,
		        limit->part == LIMITS_PER_USER ? " of yours" : "",
		        (unsigned long long)limit->max, tasks);
		if (jobs > limit->max)
			return error_hint(
			        err, "submit it in parts: an array counts with all its tasks");
		return error_hint(err, "submit again when some of them have ended");
	}
	return 0;
}

static int check_licences(const struct limits *g, const struct need *need, struct error *err)
{
	for (size_t i = 0; i < need->n_licences; i++) {
		const struct conf_licence *l = &g->conf->licences[need->licences[i].licence];

		if (need->licences[i].count > l->count)
			return error_set(err, ERR_LIMIT_LICENCES,
			        "--licences=%.60s:%u: there are %u, so this job could never start",
			        l->name, need->licences[i].count, l->count);
	}
	return 0;
}

uint32_t limits_time_s(const struct limits *g, const struct limit_chain *chain)
{
	struct scope_walk walk = { g->conf, { chain->account, chain->qos, chain->partition }, 0 };
	uint32_t least = CONF_NONE, index, s;
	enum limit_scope scope;

	while (scope_next(&walk, &scope, &index)) {
		for (int part = LIMITS_ALL; part < LIMIT_PARTS; part++) {
			s = scope_time_s(g->conf, scope, index, (enum limit_part)part);
			least = s < least ? s : least;
		}
	}
	return least;
}

int limits_submit(const struct limits *g, const struct limit_chain *chain, const struct need *need,
        uint32_t time_s, uint32_t jobs, struct error *err)
{
	struct scope_walk walk = { g->conf, { chain->account, chain->qos, chain->partition }, 0 };
	struct breach worst = { .kind = -1 };
	enum limit_scope scope;
	uint32_t index;

	while (scope_next(&walk, &scope, &index)) {
		for (int part = LIMITS_ALL; part < LIMIT_PARTS; part++)
			look_at(g, scope, index, (enum limit_part)part, need, time_s, &worst);
	}
	if (worst.kind >= 0)
		return refuse(g, chain, &worst, err);
	if (chain->partition != CONF_NONE &&
	        check_least(g, chain->partition, need, time_s, err) < 0)
		return -1;
	if (check_licences(g, need, err) < 0)
		return -1;
	return check_queued(g, chain, jobs, err);
}
