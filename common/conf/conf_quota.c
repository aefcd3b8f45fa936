/* conf_quota.c - do the numbers of GPUs and other limits agree with one another? See conf_check.h
 */
#include "common/conf/conf_check.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/xalloc.h"
#include "common/gpu/gpus_by_type.h"

/* How many of `type` there are in the list; 0: it is not there. */
static uint64_t amount_of(const struct conf_gpu_amounts *amounts, uint16_t type)
{
	for (size_t i = 0; i < amounts->n; i++) {
		if (amounts->v[i].type == type)
			return amounts->v[i].count;
	}
	return 0;
}

static const char *type_name(const struct conf *conf, uint16_t type)
{
	return type == CONF_ANY_TYPE ? GPUS_BY_TYPE_ANY : conf->gpu_types[type].name;
}

/* --- within one account ---------------------------------------------------------------------- */

/* All types together are what is guaranteed of any, or more if it is more by type. */
static uint64_t guaranteed_of(const struct conf_quota *quota, uint16_t type)
{
	uint64_t listed = amount_of(&quota->guaranteed, type), sum = 0;

	if (type != CONF_ANY_TYPE)
		return listed;
	for (size_t i = 0; i < quota->guaranteed.n; i++) {
		if (quota->guaranteed.v[i].type != CONF_ANY_TYPE)
			sum += quota->guaranteed.v[i].count;
	}
	return sum > listed ? sum : listed;
}

/* What is guaranteed fits into a limit, as far as that has its type. */
static void check_room(struct conf_reader *r, const struct conf_account *a, const char *key,
        const struct conf_gpu_amounts *limit)
{
	for (size_t i = 0; i < limit->n; i++) {
		uint64_t guaranteed = guaranteed_of(&a->quota, limit->v[i].type);

		if (limit->v[i].count < guaranteed)
			conf_reader_problem(r, conf_setting_at(r, "accounts", a->rank, key),
			        "accounts[%u].%s: %s:%u: less than the %" PRIu64
			        " guaranteed by its quota",
			        a->rank, key, type_name(&r->raw.conf, limit->v[i].type),
			        limit->v[i].count, guaranteed);
	}
}

static void check_account(struct conf_reader *r, const struct conf_account *a)
{
	const struct conf_gpu_amounts *lend = &a->quota.lend;

	for (size_t i = 0; i < lend->n; i++) {
		uint64_t guaranteed = amount_of(&a->quota.guaranteed, lend->v[i].type);

		if (lend->v[i].count > guaranteed)
			conf_reader_problem(r,
			        conf_setting_at(r, "accounts", a->rank, "quota.lend"),
			        "accounts[%u].quota.lend: %s:%u: more than the %" PRIu64
			        " guaranteed",
			        a->rank, type_name(&r->raw.conf, lend->v[i].type), lend->v[i].count,
			        guaranteed);
	}
	check_room(r, a, "quota.limit", &a->quota.limit);
	check_room(r, a, "limits.gpus", &a->limits.gpus);
}

/* --- within the tree ------------------------------------------------------------------------- */

/* Of one type: what each account is guaranteed, and what those right below it are together.
 * [n_accounts] is the root. */
struct promises {
	uint16_t type;
	uint64_t *own, *below;
};

static void promises_add(struct promises *p, const struct conf *conf,
        uint64_t (*of)(const struct conf_quota *quota, uint16_t type))
{
	size_t n = conf->n_accounts;

	memset(p->below, 0, (n + 1) * sizeof(*p->below));
	for (size_t i = 0; i < n; i++) {
		const struct conf_account *a = &conf->accounts[i];

		p->own[i] = of(&a->quota, p->type);
		p->below[a->parent == CONF_NONE ? n : a->parent] += p->own[i];
	}
}

static uint64_t listed_of(const struct conf_quota *quota, uint16_t type)
{
	return amount_of(&quota->guaranteed, type);
}

/* "vision + speech", and the place in the file of the first of them. */
static char *promised_names(
        const struct promises *p, const struct conf *conf, uint32_t parent, uint32_t *rank)
{
	struct strbuf text = { 0 };
	size_t more = 0;

	for (size_t i = 0; i < conf->n_accounts; i++) {
		const struct conf_account *a = &conf->accounts[i];

		if (a->parent != parent || !p->own[i])
			continue;
		if (!text.len)
			*rank = a->rank;
		if (text.len < CONF_NAMES_MAX)
			strbuf_addf(&text, "%s%s", text.len ? " + " : "", a->name);
		else
			more++;
	}
	if (more)
		strbuf_addf(&text, " + %zu others", more);
	return strbuf_take(&text);
}

static void promise_tell(struct conf_reader *r, const struct promises *p, uint32_t parent,
        uint64_t promised, const char *who, uint64_t has)
{
	const struct conf *conf = &r->raw.conf;
	uint32_t rank = 0;
	char *names = promised_names(p, conf, parent, &rank);

	conf_reader_problem(r, conf_setting_at(r, "accounts", rank, "quota"),
	        "accounts[%u].quota: %s guaranteed to %s = %" PRIu64 ", %s %" PRIu64, rank,
	        type_name(conf, p->type), names, promised, who, has);
	free(names);
}

/* Those below an account are promised parts of what it is promised itself. */
static void check_parents(struct conf_reader *r, const struct promises *p)
{
	const struct conf *conf = &r->raw.conf;
	char *who;

	for (size_t i = 0; i < conf->n_accounts; i++) {
		if (p->below[i] <= p->own[i])
			continue;
		who = xasprintf("%s has", conf->accounts[i].name);
		promise_tell(r, p, (uint32_t)i, p->below[i], who, p->own[i]);
		free(who);
	}
}

static uint64_t count_type(const struct conf_gpu_count *v, size_t n, uint16_t type)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < n; i++) {
		if (type == CONF_ANY_TYPE || v[i].type == type)
			sum += v[i].count;
	}
	return sum;
}

/* GPUs of a type in all nodes. UINT64_MAX: not known, because no node says that it has any, and
 * some leave it to their agents to find out; a node with `mig` alone says nothing of whole GPUs. */
static uint64_t capacity_of(const struct conf *conf, uint16_t type)
{
	uint64_t n = 0;
	bool open = false;

	for (size_t i = 0; i < conf->n_nodes; i++) {
		const struct conf_node *node = &conf->nodes[i];

		open = open || !node->n_gpus;
		n += count_type(node->gpus, node->n_gpus, type);
		for (size_t k = 0; k < node->n_mig; k++)
			n += count_type(node->mig[k].layout, node->mig[k].n_layout, type) *
			     (uint64_t)__builtin_popcountll(node->mig[k].set);
		if (type == CONF_ANY_TYPE && node->n_mig && !node->gpus)
			return UINT64_MAX;
	}
	return !n && open ? UINT64_MAX : n;
}

static void check_capacity(struct conf_reader *r, struct promises *p)
{
	const struct conf *conf = &r->raw.conf;
	uint64_t promised, capacity = capacity_of(conf, p->type);

	promises_add(p, conf, guaranteed_of);
	promised = p->below[conf->n_accounts];
	if (promised > capacity)
		promise_tell(r, p, CONF_NONE, promised, "the nodes have", capacity);
}

void conf_check_quotas(struct conf_checker *c)
{
	struct conf_reader *r = c->reader;
	const struct conf *conf = &r->raw.conf;
	size_t n = conf->n_accounts;
	struct promises p = { .own = xcalloc(n + 1, sizeof(*p.own)),
		.below = xcalloc(n + 1, sizeof(*p.below)) };
	bool any = false;

	for (size_t i = 0; i < n; i++) {
		check_account(r, &conf->accounts[i]);
		any = any || listed_of(&conf->accounts[i].quota, CONF_ANY_TYPE);
	}
	for (size_t t = 0; t < conf->n_gpu_types + any && n; t++) {
		p.type = t < conf->n_gpu_types ? (uint16_t)t : CONF_ANY_TYPE;
		promises_add(&p, conf, listed_of);
		check_parents(r, &p);
		if (c->nodes.whole)
			check_capacity(r, &p);
	}
	free(p.own);
	free(p.below);
}

/* --- limits ---------------------------------------------------------------------------------- */

/* The place of entry i in the file. */
static size_t place_of(const struct conf_section *section, const struct conf *conf, size_t i)
{
	return !strcmp(section->name, "accounts") ? conf->accounts[i].rank : i;
}

static void limit_tell(struct conf_reader *r, const struct conf_section *section, size_t i,
        const struct conf_key *group, const struct conf_key *key, const char *value,
        const char *what)
{
	size_t place = place_of(section, &r->raw.conf, i);
	char *path = xasprintf("%s.%s", group->name, key->name);

	conf_reader_problem(r, conf_setting_at(r, section->name, place, path), "%s[%zu].%s: %s: %s",
	        section->name, place, path, value, what);
	free(path);
}

/* What counts jobs, or hours of many, says nothing of one job. */
static void check_single(struct conf_reader *r, const struct conf_section *section, size_t i,
        const struct conf_key *group)
{
	static const char *const of_many[] = { "running", "queued", "gpu_hours" };
	const void *base = conf_group_base(group, conf_section_base(section, &r->raw, i));

	for (size_t k = 0; k < sizeof(of_many) / sizeof(of_many[0]); k++) {
		const struct conf_key *key = conf_key_find(group->group, of_many[k]);
		struct strbuf value = { 0 };

		if (conf_value_none(key, base))
			continue;
		conf_value_write(key, base, &r->raw.conf, &value);
		limit_tell(r, section, i, group, key, value.s,
		        "says nothing of one job; limits and per_user can have it");
		strbuf_free(&value);
	}
}

/* More must not be asked for than may be. */
static void check_least(struct conf_reader *r, const struct conf_section *section, size_t i)
{
	const struct conf *conf = &r->raw.conf;
	const struct conf_partition *p = &conf->partitions[i];
	const struct conf_key *group = conf_key_find(&section->keys, "per_job_min");

	for (size_t k = 0; k < group->group->n; k++) {
		const struct conf_key *key = &group->group->v[k];
		struct strbuf least = { 0 }, most = { 0 };

		if ((key->type == CONF_COUNT || key->type == CONF_SIZE || key->type == CONF_TIME) &&
		        !conf_value_none(key, &p->per_job_min) &&
		        conf_value_number(key, &p->per_job_min) >
		                conf_value_number(key, &p->per_job)) {
			conf_value_print(key, &p->per_job_min, conf, &least);
			strbuf_adds(&most, "more than per_job has, ");
			conf_value_print(key, &p->per_job, conf, &most);
			limit_tell(r, section, i, group, key, least.s, most.s);
		}
		strbuf_free(&least);
		strbuf_free(&most);
	}
}

/* The same of GPUs: by type, and against any. */
static void check_least_gpus(struct conf_reader *r, const struct conf_section *section, size_t i)
{
	const struct conf *conf = &r->raw.conf;
	const struct conf_partition *p = &conf->partitions[i];
	const struct conf_key *group = conf_key_find(&section->keys, "per_job_min");
	const struct conf_gpu_amounts *least = &p->per_job_min.gpus, *most = &p->per_job.gpus;

	for (size_t l = 0; l < least->n; l++) {
		for (size_t m = 0; m < most->n; m++) {
			char value[GPUS_BY_TYPE_NAME_MAX + 16], what[GPUS_BY_TYPE_NAME_MAX + 48];

			if (least->v[l].count <= most->v[m].count ||
			        (most->v[m].type != CONF_ANY_TYPE &&
			                most->v[m].type != least->v[l].type))
				continue;
			snprintf(value, sizeof(value), "%s:%u", type_name(conf, least->v[l].type),
			        least->v[l].count);
			snprintf(what, sizeof(what), "more than per_job has, %s:%u",
			        type_name(conf, most->v[m].type), most->v[m].count);
			limit_tell(r, section, i, group, conf_key_find(group->group, "gpus"), value,
			        what);
		}
	}
}

void conf_check_limits(struct conf_checker *c)
{
	struct conf_reader *r = c->reader;

	for (size_t s = 0; s < conf_n_sections; s++) {
		const struct conf_section *section = &conf_sections[s];
		const struct conf_key *per_job = conf_key_find(&section->keys, "per_job");
		const struct conf_key *least = conf_key_find(&section->keys, "per_job_min");

		for (size_t i = 0; per_job && i < conf_section_count(section, &r->raw); i++) {
			check_single(r, section, i, per_job);
			if (!least)
				continue;
			check_single(r, section, i, least);
			check_least(r, section, i);
			check_least_gpus(r, section, i);
		}
	}
}
