/* test_limits.c - limits, licences, and what is refused at submit */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "common/base/xalloc.h"
#include "common/job/reason.h"
#include "ctld/core/limits/limits_impl.h"
#include "testsuite/unit/lib/policy_conf.h"

static struct need gpus(uint16_t type, uint32_t n)
{
	static const uint64_t mem[POLICY_TYPES] = { 80 * 1024, 48 * 1024 };

	return (struct need){ .type = n ? type : TYPE_NONE,
		.gpus = n,
		.gpu_mem_mb = n ? n * mem[type] : 0,
		.cpus = 4,
		.mem_mb = 1024,
		.nodes = 1 };
}

/* research / vision (limit h100:32, per user any:8), QOS normal, partition batch */
struct scene {
	struct conf *conf;
	uint32_t research, vision, guest, normal;
};

static struct scene scene(void)
{
	struct scene s = { .conf = policy_conf() };

	s.research = policy_account(s.conf, "research", CONF_NONE);
	s.vision = policy_account(s.conf, "vision", s.research);
	s.guest = policy_account(s.conf, "guest", CONF_NONE);
	s.normal = policy_qos(s.conf, "normal", 0);
	return s;
}

/* A quarter of a GPU is a quarter of one in a limit, too. */
static void parts_of_gpus(void **state)
{
	struct scene s = scene();
	struct need quarter = gpus(H100, 1), more = gpus(H100, 1);
	struct limit_block block;
	struct limit_chain *vision;
	struct limits *g;

	(void)state;
	quarter.charge = 250;
	more.charge = 251;
	policy_amount(&s.conf->accounts[s.vision].limits.gpus, H100, 2);
	g = limits_new(s.conf, 1);
	vision = limits_chain(g, s.vision, 7, s.normal, 0);
	for (int i = 0; i < 7; i++)
		limits_take(g, vision, &quarter);
	assert_true(limits_check(g, vision, &quarter, &block));
	assert_false(limits_check(g, vision, &more, &block));
	assert_string_equal(block.text, "vision: limit h100:2, holds 1.75, +0.251");
	assert_int_equal(block.short_by, 1);
	for (int i = 0; i < 7; i++)
		limits_release(g, vision, &quarter);
	limit_chain_free(g, vision);
	limits_free(g);
	policy_conf_free(s.conf);
}

static void the_chain_of_accounts(void **state)
{
	struct scene s = scene();
	struct need eight = gpus(H100, 8), other = gpus(L40S, 4);
	struct limit_block block;
	struct limit_chain *vision, *research;
	struct limits *g;

	(void)state;
	policy_amount(&s.conf->accounts[s.vision].limits.gpus, H100, 32);
	policy_amount(&s.conf->accounts[s.research].limits.gpus, CONF_ANY_TYPE, 40);
	g = limits_new(s.conf, 1);
	vision = limits_chain(g, s.vision, 7, s.normal, 0);
	research = limits_chain(g, s.research, 8, CONF_NONE, 0);
	for (int i = 0; i < 4; i++) {
		assert_true(limits_check(g, vision, &eight, &block));
		limits_take(g, vision, &eight);
	}
	assert_false(limits_check(g, vision, &eight, &block));
	assert_string_equal(block.reason, "AssocGrpGRES");
	assert_string_equal(block.text, "vision: limit h100:32, holds 32, +8");
	assert_int_equal(block.short_by, 8000);
	/* Above, all types and all accounts below count together. */
	limits_take(g, vision, &other);
	assert_false(limits_check(g, research, &eight, &block));
	assert_string_equal(block.text, "research: limit any:40, holds 36, +8");
	assert_int_equal(block.short_by, 4000);
	assert_true(limits_check(g, research, &other, NULL));
	/* What takes nothing is not held, though others are over. */
	assert_true(limits_check(g, vision, &(struct need){ .type = TYPE_NONE, .cpus = 1 }, NULL));
	limits_release(g, vision, &eight);
	assert_true(limits_check(g, vision, &other, &block));
	limit_chain_free(g, vision);
	limit_chain_free(g, research);
	limits_free(g);
	policy_conf_free(s.conf);
}

static void each_kind_and_scope(void **state)
{
	/* In the order of the groups below. */
	static const char *const want[3][2][6] = {
		{ { "AssocGrpGRES", "AssocGrpGRES", "AssocGrpCpuLimit", "AssocGrpMemLimit",
		          "AssocGrpNodeLimit", "AssocGrpJobsLimit" },
		        { "AssocMaxGRESPerUser", "AssocMaxGRESPerUser", "AssocMaxCpuPerUserLimit",
		                "AssocMaxMemoryPerUser", "AssocMaxNodePerUserLimit",
		                "AssocMaxJobsPerUserLimit" } },
		{ { "QOSGrpGRES", "QOSGrpGRES", "QOSGrpCpuLimit", "QOSGrpMemLimit",
		          "QOSGrpNodeLimit", "QOSGrpJobsLimit" },
		        { "QOSMaxGRESPerUser", "QOSMaxGRESPerUser", "QOSMaxCpuPerUserLimit",
		                "QOSMaxMemoryPerUser", "QOSMaxNodePerUserLimit",
		                "QOSMaxJobsPerUserLimit" } },
		{ { "PartitionGrpGRES", "PartitionGrpGRES", "PartitionGrpCpuLimit",
		          "PartitionGrpMemLimit", "PartitionGrpNodeLimit",
		          "PartitionGrpJobsLimit" },
		        { "PartitionMaxGRESPerUser", "PartitionMaxGRESPerUser",
		                "PartitionMaxCpuPerUserLimit", "PartitionMaxMemoryPerUser",
		                "PartitionMaxNodePerUserLimit", "PartitionMaxJobsPerUserLimit" } },
	};

	(void)state;
	for (int scope = 0; scope < 3; scope++) {
		for (int per_user = 0; per_user < 2; per_user++) {
			struct scene s = scene();
			struct conf_limits *groups[3][2] = {
				{ &s.conf->accounts[s.vision].limits,
				        &s.conf->accounts[s.vision].per_user },
				{ &s.conf->qos[s.normal].limits, &s.conf->qos[s.normal].per_user },
				{ &s.conf->partitions[0].limits, &s.conf->partitions[0].per_user },
			};
			struct conf_limits *l = groups[scope][per_user];
			struct need need = gpus(H100, 2);
			struct limit_block v[10];
			struct limit_chain *ana, *marc;
			struct limits *g;

			policy_amount(&l->gpus, H100, 3);
			l->gpu_mem_mb = 3 * 80 * 1024;
			l->cpus = 7;
			l->mem_mb = 2047;
			l->nodes = 1;
			l->running = 1;
			g = limits_new(s.conf, 1);
			ana = limits_chain(g, s.vision, 7, s.normal, 0);
			marc = limits_chain(g, s.vision, 8, s.normal, 0);
			assert_int_equal(limits_check_all(g, ana, &need, v, 10), 0);
			limits_take(g, ana, &need);
			assert_int_equal(limits_check_all(g, ana, &need, v, 10), 6);
			for (int i = 0; i < 6; i++)
				assert_string_equal(v[i].reason, want[scope][per_user][i]);
			assert_int_equal(limits_check_all(g, ana, &need, v, 2), 6);
			assert_int_equal(limits_check(g, marc, &need, NULL), per_user);
			limits_release(g, ana, &need);
			assert_true(limits_check(g, marc, &need, NULL));
			limit_chain_free(g, ana);
			limit_chain_free(g, marc);
			limits_free(g);
			policy_conf_free(s.conf);
		}
	}
}

/* Each has a word of its own, which the table of reasons explains. */
static void words(void **state)
{
	int scope, part, kind;
	(void)state;

	for (scope = 0; scope < SCOPES; scope++) {
		for (part = 0; part < LIMIT_PARTS; part++) {
			for (kind = 0; kind < CONF_LIMIT_KINDS; kind++)
				assert_true(reason_known(limit_reason((enum limit_scope)scope,
				        (enum limit_part)part, (enum limit_kind)kind)));
		}
	}
}

/* Whatever is tried at a start: of an alternative, of any one type. Nothing is counted. */
static void each_job(void **state)
{
	struct scene s = scene();
	struct need two = gpus(H100, 2), four = gpus(H100, 4), other = gpus(L40S, 4);
	struct limit_chain *chain;
	struct limit_block block;
	struct limits *g;
	size_t n;

	(void)state;
	policy_amount(&s.conf->accounts[s.research].per_job.gpus, H100, 3);
	g = limits_new(s.conf, 1);
	chain = limits_chain(g, s.vision, 7, CONF_NONE, 0);
	for (int i = 0; i < 3; i++) {
		assert_true(limits_check(g, chain, &two, NULL));
		limits_take(g, chain, &two);
	}
	assert_true(limits_check(g, chain, &other, NULL));
	assert_false(limits_check(g, chain, &four, &block));
	assert_string_equal(block.reason, "AssocMaxGRESPerJob");
	assert_string_equal(block.text, "research: limit h100:3 a job, it asks for 4");
	assert_int_equal(block.short_by, 1000);
	limits_of_need(g, chain, &two, &n);
	assert_int_equal(n, 0);
	for (int i = 0; i < 3; i++)
		limits_release(g, chain, &two);
	limit_chain_free(g, chain);
	limits_free(g);
	policy_conf_free(s.conf);
}

/* Who waits counts, though no path leads through his counter meanwhile. */
static void waiting_jobs_count(void **state)
{
	struct scene s = scene();
	struct need need = gpus(H100, 1);
	struct limit_chain *chain;
	struct error err;
	struct limits *g;

	(void)state;
	g = limits_new(s.conf, 1);
	assert_false(limits_count_queued(g));
	limits_free(g);
	s.conf->accounts[s.research].per_user.queued = 2;
	s.conf->qos[s.normal].per_user.time_s = 600;
	s.conf->accounts[s.research].limits.time_s = 900;
	g = limits_new(s.conf, 1);
	assert_true(limits_count_queued(g));
	for (int i = 0; i < 2; i++) {
		chain = limits_chain(g, s.vision, 7, CONF_NONE, 0);
		assert_int_equal(limits_time_s(g, chain), 900);
		assert_int_equal(limits_submit(g, chain, &need, 60, 1, &err), 0);
		limits_queued(g, chain, 1);
		limit_chain_free(g, chain);
	}
	chain = limits_chain(g, s.research, 7, s.normal, 0);
	assert_int_equal(limits_time_s(g, chain), 600);
	assert_int_equal(limits_queued_now(g, chain), 2);
	assert_int_equal(limits_submit(g, chain, &need, 60, 1, &err), -1);
	assert_string_equal(err.text,
	        "account research has 2 jobs of yours that wait or run, and its "
	        "limit is 2");
	assert_non_null(strstr(err.hint, "when some of them have ended"));
	assert_int_equal(limits_submit(g, chain, &need, 60, 3, &err), -1);
	assert_non_null(strstr(err.hint, "in parts"));
	limit_chain_free(g, chain);
	chain = limits_chain(g, s.research, 8, s.normal, 0);
	assert_int_equal(limits_submit(g, chain, &need, 60, 1, &err), 0);
	limit_chain_free(g, chain);
	chain = limits_chain(g, s.vision, 7, s.normal, 0);
	limits_queued(g, chain, -1);
	assert_int_equal(limits_submit(g, chain, &need, 60, 1, &err), 0);
	limit_chain_free(g, chain);
	limits_free(g);
	policy_conf_free(s.conf);
}

/* Of what he has in the account and in all below. */
static void users_under_an_account(void **state)
{
	struct scene s = scene();
	struct need two = gpus(L40S, 2);
	struct limit_chain *above, *below, *elsewhere;
	struct limit_block block;
	struct limits *g;

	(void)state;
	policy_amount(&s.conf->accounts[s.research].per_user.gpus, CONF_ANY_TYPE, 4);
	g = limits_new(s.conf, 1);
	below = limits_chain(g, s.vision, 7, CONF_NONE, 0);
	above = limits_chain(g, s.research, 7, CONF_NONE, 0);
	elsewhere = limits_chain(g, s.guest, 7, CONF_NONE, 0);
	limits_take(g, below, &two);
	limits_take(g, below, &two);
	assert_false(limits_check(g, above, &two, &block));
	assert_string_equal(block.text, "research: limit any:4 a user, holds 4, +2");
	assert_true(limits_check(g, elsewhere, &two, NULL));
	limits_release(g, below, &two);
	limits_release(g, below, &two);
	limit_chain_free(g, below);
	limit_chain_free(g, above);
	limit_chain_free(g, elsewhere);
	limits_free(g);
	policy_conf_free(s.conf);
}

static void licences(void **state)
{
	struct scene s = scene();
	struct licence_need one = { 0, 3 }, two[2] = { { 0, 4 }, { 1, 1 } };
	struct need a = gpus(H100, 1), b = gpus(H100, 1);
	struct limit_chain *chain;
	struct limit_block v[4];
	struct limits *g;
	const uint32_t *ids;
	size_t n;

	(void)state;
	policy_licence(s.conf, "trtllm", 6);
	policy_licence(s.conf, "other", 1);
	g = limits_new(s.conf, 1);
	chain = limits_chain(g, CONF_NONE, 7, CONF_NONE, 0);
	a.licences = &one;
	a.n_licences = 1;
	b.licences = two;
	b.n_licences = 2;
	limits_take(g, chain, &b);
	assert_int_equal(limits_check_all(g, chain, &a, v, 4), 1);
	assert_string_equal(v[0].reason, "Licenses");
	assert_string_equal(v[0].text, "trtllm: 6 licences, 4 in use, +3");
	assert_int_equal(v[0].short_by, 1);
	assert_int_equal(limits_check_all(g, chain, &b, v, 4), 2);
	ids = limits_of_need(g, chain, &a, &n);
	assert_int_equal(n, 1);
	assert_int_equal(ids[0], v[0].limit);
	limits_release(g, chain, &b);
	assert_true(limits_check(g, chain, &a, NULL));
	limit_chain_free(g, chain);
	limits_free(g);
	policy_conf_free(s.conf);
}

static void quotas(void **state)
{
	struct scene s = scene();
	struct need eight = gpus(H100, 8), other = gpus(L40S, 8), cpu = { .cpus = 1 };
	struct conf_quota *vision = &s.conf->accounts[s.vision].quota;
	struct conf_quota *guest = &s.conf->accounts[s.guest].quota;
	struct limit_chain *chain, *theirs;
	struct limit_block v[4];
	const uint32_t *ids;
	struct limits *g;
	size_t n;

	(void)state;
	cpu.type = TYPE_NONE;
	policy_amount(&vision->guaranteed, H100, 12);
	policy_amount(&vision->limit, H100, 20);
	policy_amount(&guest->guaranteed, H100, 16);
	policy_amount(&guest->lend, H100, 4);
	g = limits_new(s.conf, 1);
	quota_capacity(limits_quota(g), H100, 32);
	chain = limits_chain(g, s.vision, 7, CONF_NONE, 0);
	theirs = limits_chain(g, s.guest, 8, CONF_NONE, 0);
	limits_take(g, chain, &eight);
	limits_take(g, chain, &eight);
	/* Both: over the limit, and 12 of the 16 that are free are guest's. */
	assert_int_equal(limits_check_all(g, chain, &eight, v, 4), 2);
	assert_string_equal(v[0].text, "vision: limit h100:20, holds 16, +8");
	assert_false(v[0].reclaim);
	assert_string_equal(v[1].reason, "AssocGrpGRES");
	assert_string_equal(v[1].text,
	        "vision: guaranteed h100:12, holds 16, +8; of 16 free 12 are "
	        "kept for guest");
	assert_true(v[1].reclaim);
	assert_int_equal(v[1].short_by, 4000);
	assert_int_equal(v[1].limit, limits_guarantee(g, H100));
	assert_true(limits_check(g, theirs, &eight, NULL));
	assert_true(limits_check(g, chain, &other, NULL));
	assert_true(limits_check(g, chain, &cpu, NULL));
	ids = limits_of_need(g, chain, &eight, &n);
	assert_int_equal(n, 2);
	assert_int_equal(ids[0], v[0].limit);
	assert_int_equal(ids[1], v[1].limit);
	limits_of_need(g, chain, &other, &n);
	assert_int_equal(n, 0);
	limits_release(g, chain, &eight);
	assert_true(limits_check(g, chain, &eight, NULL));
	limit_chain_free(g, chain);
	limit_chain_free(g, theirs);
	limits_free(g);
	policy_conf_free(s.conf);
}

/* The ids of limits of users who left are used again, and counts start anew. */
static void ids_come_back(void **state)
{
	struct scene s = scene();
	struct need need = gpus(H100, 1);
	struct limits *g;
	size_t n, before;

	(void)state;
	s.conf->accounts[s.guest].per_user.running = 1;
	s.conf->accounts[s.guest].per_user.cpus = 4;
	g = limits_new(s.conf, 1);
	before = limits_count(g);
	for (uint32_t uid = 0; uid < 50; uid++) {
		struct limit_chain *x = limits_chain(g, s.guest, uid, CONF_NONE, 0);
		struct limit_chain *y = limits_chain(g, s.guest, uid, s.normal, 0);
		const uint32_t *ids;

		limits_take(g, x, &need);
		assert_false(limits_check(g, y, &need, NULL));
		ids = limits_of_need(g, y, &need, &n);
		assert_int_equal(n, 2);
		for (size_t i = 0; i < n; i++)
			assert_in_range(ids[i], 0, limits_count(g) - 1);
		limits_release(g, x, &need);
		limit_chain_free(g, x);
		assert_true(limits_check(g, y, &need, NULL));
		limit_chain_free(g, y);
	}
	assert_int_equal(limits_count(g), before + 2);
	limits_free(g);
	policy_conf_free(s.conf);
}

/* --- at submit ------------------------------------------------------------------------------- */

static void refused(struct limits *g, struct limit_chain *chain, struct need need, uint32_t time_s,
        const char *name, const char *text)
{
	struct error err = { 0 };

	assert_int_equal(limits_submit(g, chain, &need, time_s, 1, &err), -1);
	assert_string_equal(error_name(err.code), name);
	assert_string_equal(err.text, text);
}

static void at_submit(void **state)
{
	struct scene s = scene();
	struct conf_account *vision = &s.conf->accounts[s.vision];
	struct need four = gpus(H100, 4);
	struct licence_need licence = { 0, 3 };
	struct error err = { 0 };
	struct limit_chain *chain;
	struct limits *g;

	(void)state;
	policy_amount(&vision->limits.gpus, H100, 32);
	policy_amount(&vision->per_job.gpus, H100, 16);
	policy_amount(&s.conf->qos[s.normal].per_job.gpus, CONF_ANY_TYPE, 20);
	s.conf->qos[s.normal].per_user.time_s = 4 * 3600;
	s.conf->accounts[s.research].limits.mem_mb = 2048;
	s.conf->partitions[0].per_job_min.cpus = 4;
	s.conf->partitions[0].per_user.queued = 2;
	policy_licence(s.conf, "trtllm", 2);
	g = limits_new(s.conf, 1);
	chain = limits_chain(g, s.vision, 7, s.normal, 0);
	assert_int_equal(limits_submit(g, chain, &four, 3600, 1, &err), 0);
	/* The tightest of three is named. */
	refused(g, chain, gpus(H100, 40), 3600, "limit.account.gpus",
	        "h100:40: account vision allows at most h100:16 a job, so this job could never "
	        "start");
	refused(g, chain, gpus(L40S, 24), 3600, "limit.qos.gpus",
	        "any:24: QOS normal allows at most any:20 a job, so this job could never start");
	/* Which type is not known yet: only the limit for all counts. */
	refused(g, chain, (struct need){ .type = TYPE_ANY, .gpus = 33, .cpus = 4 }, 60,
	        "limit.qos.gpus",
	        "any:33: QOS normal allows at most any:20 a job, so this job could never start");
	refused(g, chain, four, 0, "limit.qos.time",
	        "--time=UNLIMITED: QOS normal allows at most 4:00:00 a job");
	refused(g, chain, four, 5 * 3600, "limit.qos.time",
	        "--time=5:00:00: QOS normal allows at most 4:00:00 a job");
	limits_take(g, chain, &four);
	refused(g, chain, (struct need){ .type = TYPE_NONE, .cpus = 4, .mem_mb = 4096 }, 60,
	        "limit.account.mem",
	        "4G memory: account research allows at most 2G memory in all (1G now), so "
	        "this "
	        "job could never start");
	limits_release(g, chain, &four);
	refused(g, chain, (struct need){ .type = TYPE_NONE, .cpus = 1 }, 60, "limit.partition.cpus",
	        "1 CPU: partition batch is for jobs of at least 4 CPUs");
	refused(g, chain,
	        (struct need){
	                .type = TYPE_NONE, .cpus = 4, .licences = &licence, .n_licences = 1 },
	        60, "limit.licences",
	        "--licences=trtllm:3: there are 2, so this job could never start");
	limits_queued(g, chain, 1);
	assert_int_equal(limits_submit(g, chain, &four, 3600, 1, &err), 0);
	limits_queued(g, chain, 1);
	refused(g, chain, four, 3600, "limit.partition.queued",
	        "partition batch has 2 jobs of yours that wait or run, and its limit is 2");
	limits_queued(g, chain, -1);
	assert_int_equal(limits_submit(g, chain, &four, 3600, 1, &err), 0);
	limits_queued(g, chain, -1);
	limit_chain_free(g, chain);
	limits_free(g);
	policy_conf_free(s.conf);
}

/* --- against a slow, obvious model ----------------------------------------------------------- */

static uint64_t rng;

static unsigned pick(unsigned n)
{
	rng ^= rng << 13;
	rng ^= rng >> 7;
	rng ^= rng << 17;
	return (unsigned)(rng >> 11) % n;
}

#define ACCOUNTS 6
#define USERS    3
#define JOBS     60

struct model_job {
	bool held;
	uint32_t account, uid, qos, partition;
	struct need need;
	struct limit_chain *chain;
};

static bool below(const struct conf *conf, uint32_t a, uint32_t top)
{
	for (; a != CONF_NONE; a = conf->accounts[a].parent) {
		if (a == top)
			return true;
	}
	return false;
}

/* What the jobs that hold something have under (scope, index), of one user or of all. */
static void model_sum(const struct conf *conf, const struct model_job *v, int scope, uint32_t index,
        int64_t uid, struct need *sum, uint32_t *by_type, uint32_t *running)
{
	memset(sum, 0, sizeof(*sum));
	memset(by_type, 0, POLICY_TYPES * sizeof(*by_type));
	*running = 0;
	for (int i = 0; i < JOBS; i++) {
		const struct model_job *j = &v[i];
		bool in = scope == 0   ? below(conf, j->account, index)
		          : scope == 1 ? j->qos == index
		                       : j->partition == index;

		if (!j->held || !in || (uid >= 0 && j->uid != (uint32_t)uid))
			continue;
		sum->gpus += j->need.gpus;
		sum->gpu_mem_mb += j->need.gpu_mem_mb;
		sum->cpus += j->need.cpus;
		sum->mem_mb += j->need.mem_mb;
		sum->nodes += j->need.nodes;
		if (j->need.gpus)
			by_type[j->need.type] += j->need.gpus;
		++*running;
	}
}

static bool model_limits(const struct conf *conf, const struct model_job *v,
        const struct model_job *j, int scope, uint32_t index, bool per_user)
{
	const struct conf_limits *l =
	        scope == 0
	                ? per_user ? &conf->accounts[index].per_user : &conf->accounts[index].limits
	        : scope == 1 ? per_user ? &conf->qos[index].per_user : &conf->qos[index].limits
	        : per_user   ? &conf->partitions[index].per_user
	                     : &conf->partitions[index].limits;
	uint32_t by_type[POLICY_TYPES], running;
	struct need sum;

	model_sum(conf, v, scope, index, per_user ? (int64_t)j->uid : -1, &sum, by_type, &running);
	for (size_t i = 0; i < l->gpus.n; i++) {
		uint16_t t = l->gpus.v[i].type;
		uint32_t used = t == CONF_ANY_TYPE ? sum.gpus : by_type[t];

		if (j->need.gpus && (t == CONF_ANY_TYPE || t == j->need.type) &&
		        used + j->need.gpus > l->gpus.v[i].count)
			return false;
	}
	return (l->cpus == CONF_NONE || sum.cpus + j->need.cpus <= l->cpus) &&
	       (l->running == CONF_NONE || running + 1 <= l->running) &&
	       (l->gpu_mem_mb == UINT64_MAX || !j->need.gpus ||
	               sum.gpu_mem_mb + j->need.gpu_mem_mb <= l->gpu_mem_mb);
}

static bool model_may(const struct conf *conf, const struct model_job *v, const struct model_job *j)
{
	for (int per_user = 0; per_user < 2; per_user++) {
		for (uint32_t a = j->account; a != CONF_NONE; a = conf->accounts[a].parent) {
			if (!model_limits(conf, v, j, 0, a, per_user))
				return false;
		}
		if (j->qos != CONF_NONE && !model_limits(conf, v, j, 1, j->qos, per_user))
			return false;
		if (!model_limits(conf, v, j, 2, j->partition, per_user))
			return false;
	}
	return true;
}

static void random_limits(struct conf_limits *l)
{
	if (pick(3) == 0)
		policy_amount(&l->gpus, (uint16_t)pick(POLICY_TYPES), 1 + pick(20));
	if (pick(3) == 0)
		policy_amount(&l->gpus, CONF_ANY_TYPE, 1 + pick(30));
	if (pick(4) == 0)
		l->cpus = 1 + pick(60);
	if (pick(4) == 0)
		l->running = 1 + pick(12);
	if (pick(5) == 0)
		l->gpu_mem_mb = 1024 * (80 + pick(1600));
}

static struct conf *random_conf(void)
{
	struct conf *conf = policy_conf();
	char name[20];

	policy_partition(conf, "small");
	for (uint32_t i = 0; i < ACCOUNTS; i++) {
		snprintf(name, sizeof(name), "a%u", i);
		policy_account(conf, name, i && pick(3) ? pick(i) : CONF_NONE);
		random_limits(&conf->accounts[i].limits);
		random_limits(&conf->accounts[i].per_user);
	}
	for (uint32_t i = 0; i < 2; i++) {
		policy_qos(conf, i ? "high" : "low", 0);
		random_limits(&conf->qos[i].limits);
		random_limits(&conf->qos[i].per_user);
		random_limits(&conf->partitions[i].limits);
		random_limits(&conf->partitions[i].per_user);
	}
	return conf;
}

static void random_job(struct limits *g, struct model_job *j)
{
	j->account = pick(ACCOUNTS);
	j->uid = pick(USERS);
	j->qos = pick(3) ? pick(2) : CONF_NONE;
	j->partition = pick(2);
	j->need = gpus((uint16_t)pick(POLICY_TYPES), pick(5));
	j->need.cpus = 1 + pick(8);
	j->chain = limits_chain(g, j->account, j->uid, j->qos, j->partition);
}

static void against_a_model(void **state)
{
	struct limit_block blocks[64], first;
	unsigned held = 0, refusals = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= 60; seed++) {
		struct model_job v[JOBS] = { 0 };
		struct conf *conf;
		struct limits *g;

		rng = seed * 0x9e3779b97f4a7c15ull;
		conf = random_conf();
		g = limits_new(conf, seed);
		for (int step = 0; step < 400; step++) {
			struct model_job *j = &v[pick(JOBS)];
			size_t n;
			bool may;

			if (j->held) {
				limits_release(g, j->chain, &j->need);
				limit_chain_free(g, j->chain);
				*j = (struct model_job){ 0 };
				continue;
			}
			random_job(g, j);
			may = model_may(conf, v, j);
			n = limits_check_all(g, j->chain, &j->need, blocks, 64);
			assert_int_equal(limits_check(g, j->chain, &j->need, &first), may);
			assert_int_equal(n == 0, may);
			if (may) {
				limits_take(g, j->chain, &j->need);
				j->held = true;
				held++;
			} else {
				assert_int_equal(first.limit, blocks[0].limit);
				limit_chain_free(g, j->chain);
				*j = (struct model_job){ 0 };
				refusals++;
			}
		}
		for (int i = 0; i < JOBS; i++) {
			if (!v[i].held)
				continue;
			limits_release(g, v[i].chain, &v[i].need);
			limit_chain_free(g, v[i].chain);
		}
		limits_free(g);
		policy_conf_free(conf);
	}
	/* Both happened often. */
	assert_true(held > 2000 && refusals > 2000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parts_of_gpus),
		cmocka_unit_test(the_chain_of_accounts),
		cmocka_unit_test(each_kind_and_scope),
		cmocka_unit_test(words),
		cmocka_unit_test(each_job),
		cmocka_unit_test(waiting_jobs_count),
		cmocka_unit_test(users_under_an_account),
		cmocka_unit_test(licences),
		cmocka_unit_test(quotas),
		cmocka_unit_test(ids_come_back),
		cmocka_unit_test(at_submit),
		cmocka_unit_test(against_a_model),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
