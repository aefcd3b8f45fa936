/* policy_conf.c - see policy_conf.h */
#include "testsuite/unit/lib/policy_conf.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/xalloc.h"

static void no_limits(struct conf_limits *l)
{
	*l = (struct conf_limits){ .gpu_mem_mb = UINT64_MAX,
		.mem_mb = UINT64_MAX,
		.cpus = CONF_NONE,
		.nodes = CONF_NONE,
		.running = CONF_NONE,
		.queued = CONF_NONE,
		.time_s = CONF_NONE,
		.gpu_hours = UINT64_MAX };
}

struct conf *policy_conf(void)
{
	struct conf *conf = xcalloc(1, sizeof(*conf));

	conf->cluster = xstrdup("test");
	conf->gpu_types = xcalloc(POLICY_TYPES, sizeof(*conf->gpu_types));
	conf->n_gpu_types = POLICY_TYPES;
	conf->gpu_types[H100] = (struct conf_gpu_type){
		.name = xstrdup("h100"), .mem_mb = 80 * 1024, .price = 2.5
	};
	conf->gpu_types[L40S] = (struct conf_gpu_type){
		.name = xstrdup("l40s"), .mem_mb = 48 * 1024, .price = 0.9
	};
	conf->default_account = conf->default_qos = CONF_NONE;
	policy_partition(conf, "batch");
	return conf;
}

static void limits_clear(struct conf_limits *l)
{
	free(l->gpus.v);
}

void policy_conf_free(struct conf *conf)
{
	size_t i;

	for (i = 0; i < conf->n_accounts; i++) {
		struct conf_account *a = &conf->accounts[i];

		free(a->name);
		free(a->quota.guaranteed.v);
		free(a->quota.limit.v);
		free(a->quota.lend.v);
		limits_clear(&a->limits);
		limits_clear(&a->per_user);
		limits_clear(&a->per_job);
	}
	for (i = 0; i < conf->n_qos; i++) {
		free(conf->qos[i].name);
		limits_clear(&conf->qos[i].limits);
		limits_clear(&conf->qos[i].per_user);
		limits_clear(&conf->qos[i].per_job);
	}
	for (i = 0; i < conf->n_partitions; i++) {
		free(conf->partitions[i].name);
		limits_clear(&conf->partitions[i].limits);
		limits_clear(&conf->partitions[i].per_user);
		limits_clear(&conf->partitions[i].per_job);
		limits_clear(&conf->partitions[i].per_job_min);
	}
	for (i = 0; i < conf->n_gpu_types; i++)
		free(conf->gpu_types[i].name);
	for (i = 0; i < conf->n_licences; i++)
		free(conf->licences[i].name);
	free(conf->accounts);
	free(conf->qos);
	free(conf->partitions);
	free(conf->licences);
	free(conf->gpu_types);
	free(conf->cluster);
	free(conf);
}

uint32_t policy_account(struct conf *conf, const char *name, uint32_t parent)
{
	uint32_t i = (uint32_t)conf->n_accounts++;
	struct conf_account *a;

	conf->accounts = xrealloc(conf->accounts, conf->n_accounts, sizeof(*conf->accounts));
	a = &conf->accounts[i];
	*a = (struct conf_account){ .name = xstrdup(name),
		.parent = parent,
		.depth = parent == CONF_NONE ? 0 : conf->accounts[parent].depth + 1,
		.shares = 1,
		.rank = i,
		.quota.weight = 1 };
	no_limits(&a->limits);
	no_limits(&a->per_user);
	no_limits(&a->per_job);
	return i;
}

uint32_t policy_qos(struct conf *conf, const char *name, int32_t priority)
{
	uint32_t i = (uint32_t)conf->n_qos++;
	struct conf_qos *q;

	conf->qos = xrealloc(conf->qos, conf->n_qos, sizeof(*conf->qos));
	q = &conf->qos[i];
	*q = (struct conf_qos){ .name = xstrdup(name),
		.priority = priority,
		.usage_factor = 1,
		.min_run_s = CONF_NONE };
	no_limits(&q->limits);
	no_limits(&q->per_user);
	no_limits(&q->per_job);
	return i;
}

uint32_t policy_partition(struct conf *conf, const char *name)
{
	uint32_t i = (uint32_t)conf->n_partitions++;
	struct conf_partition *p;

	conf->partitions =
	        xrealloc(conf->partitions, conf->n_partitions, sizeof(*conf->partitions));
	p = &conf->partitions[i];
	*p = (struct conf_partition){ .name = xstrdup(name), .tier = 1 };
	no_limits(&p->limits);
	no_limits(&p->per_user);
	no_limits(&p->per_job);
	no_limits(&p->per_job_min);
	return i;
}

uint32_t policy_licence(struct conf *conf, const char *name, uint32_t count)
{
	uint32_t i = (uint32_t)conf->n_licences++;

	conf->licences = xrealloc(conf->licences, conf->n_licences, sizeof(*conf->licences));
	conf->licences[i] = (struct conf_licence){ xstrdup(name), count };
	return i;
}

void policy_amount(struct conf_gpu_amounts *amounts, uint16_t type, uint32_t count)
{
	size_t i;

	for (i = 0; i < amounts->n && amounts->v[i].type != type; i++)
		;
	if (i == amounts->n)
		amounts->v = xrealloc(amounts->v, ++amounts->n, sizeof(*amounts->v));
	amounts->v[i] = (struct conf_gpu_amount){ type, count };
}
