/* test_metrics.c - all pages of metrics of one small cluster, against a golden file each */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "cmds/web/metrics/counters.h"
#include "cmds/web/metrics/metrics.h"
#include "cmds/web/metrics/snapshot_counts.h"
#include "testsuite/unit/lib/golden.h"
#include "testsuite/unit/web/web_fixture.h"

#define NOW    (INT64_C(1795000000) * 1000000)
#define AGO(s) (NOW - (s)*INT64_C(1000000))

static const struct job_like jobs[] = {
	{ .id = 1,
	        .name = "<script>\"\n\\",
	        .gpus = 2,
	        .reason = "Resources",
	        .eligible_time = AGO(90) },
	{ .id = 2, .gpus = 1, .reason = "JobHeldUser", .partition = "urgent,batch" },
	{ .id = 3,
	        .state = "RUNNING",
	        .gpus = 3,
	        .held = 3,
	        .gpu_type = "h100",
	        .user = "li",
	        .account = "speech",
	        .start_time = AGO(50) },
	{ .id = 4,
	        .tasks = "0-9",
	        .several = true,
	        .task_count = 10,
	        .gpus = 10,
	        .reason = "Priority",
	        .eligible_time = AGO(30) },
	{ .id = 5, .state = "FAILED", .start_time = AGO(20), .end_time = AGO(10) },
	{ .id = 6, .state = "RUNNING", .user = "o\"brien\\", .account = "", .partition = "urgent" },
};

static struct messages *make_nodes(void)
{
	Gpusched__Node m = GPUSCHED__NODE__INIT;
	Gpusched__NodeGpu gpus[4], *list[4];
	Gpusched__RunId run = GPUSCHED__RUN_ID__INIT, *runs = &run;
	char *partitions[] = { (char *)"batch", (char *)"urgent" };
	struct messages *nodes = messages_new();

	run.job = 3;
	for (int i = 0; i < 4; i++) {
		gpusched__node_gpu__init(&gpus[i]);
		gpus[i].index = (uint32_t)i;
		gpus[i].card = (uint32_t)i + 1;
		gpus[i].type = (char *)"h100";
		gpus[i].uuid = (char *)"GPU-1";
		gpus[i].state = (char *)(i < 3 ? "whole" : "free");
		gpus[i].n_runs = i < 3;
		gpus[i].runs = &runs;
		gpus[i].sample_known = gpus[i].sm_known = i < 2;
		gpus[i].sm_pct = i ? 0 : 97;
		gpus[i].fb_used_mb = 70000;
		gpus[i].fb_free_mb = 10000;
		gpus[i].temp_c = 61;
		gpus[i].power_mw = 650500;
		gpus[i].energy_mj = 123456789;
		gpus[i].sm_clock_mhz = 1980;
		gpus[i].mem_clock_mhz = 2619;
		list[i] = &gpus[i];
	}
	gpus[1].last_xid = 63;
	gpus[1].last_xid_time = AGO(60);
	m.name = (char *)"h01";
	m.state = (char *)"mixed";
	m.cpus = 64;
	m.cpus_free = 52;
	m.mem_mb = 1024;
	m.mem_free_mb = 512;
	m.partitions = partitions;
	m.n_partitions = 2;
	m.devices = list;
	m.n_devices = 4;
	messages_add(nodes, &m.base);
	m.name = (char *)"h02";
	m.state = (char *)"drained";
	m.cpus_free = 64;
	m.n_partitions = 1;
	m.devices = list + 3;
	m.n_devices = 1;
	messages_add(nodes, &m.base);
	return nodes;
}

static struct messages *make_partitions(void)
{
	Gpusched__Partition m = GPUSCHED__PARTITION__INIT;
	Gpusched__GpuUse use = GPUSCHED__GPU_USE__INIT, *uses = &use;
	struct messages *partitions = messages_new();

	use.type = (char *)"h100";
	use.total = 5;
	use.free = use.largest = 1;
	m.gpus = &uses;
	m.n_gpus = 1;
	m.name = (char *)"batch";
	messages_add(partitions, &m.base);
	m.name = (char *)"urgent";
	messages_add(partitions, &m.base);
	return partitions;
}

static struct messages *make_shares(void)
{
	Gpusched__Share m = GPUSCHED__SHARE__INIT;
	struct messages *shares = messages_new();

	m.account = (char *)"vision";
	m.norm = 0.5;
	m.level_fs = 1.0 / 0.0;
	messages_add(shares, &m.base);
	m.account = (char *)"speech";
	m.level_fs = 0.75;
	m.gpu_us = 7200000000;
	m.cost = 12.5;
	messages_add(shares, &m.base);
	m.user = (char *)"li";
	messages_add(shares, &m.base);
	return shares;
}

static struct messages *make_services(void)
{
	Gpusched__Service m = GPUSCHED__SERVICE__INIT;
	struct messages *services = messages_new();

	m.name = (char *)"chat";
	m.state = (char *)"SERVING";
	m.wanted = 3;
	m.ready = 2;
	m.loading = 1;
	m.in_flight = 12.5;
	m.requests = 1000;
	messages_add(services, &m.base);
	return services;
}

static struct messages *make_stats(void)
{
	static const struct {
		const char *name, *unit;
		double value;
	} all[] = { { "uptime", "s", 3600 }, { "loop.stall", "ms", 2.5 }, { "memory", "MiB", 8 },
		{ "streams.bytes", "B", 77 }, { "loop.busy", "%", 1 }, { "core.passes", "", 12 },
		{ "core.preempted_qos", "", 3 }, { "core.preempted_reclaim", "", 4 },
		{ "bad name", "", 1 } };
	struct messages *stats = messages_new();

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		Gpusched__Stat m = GPUSCHED__STAT__INIT;

		m.name = (char *)(uintptr_t)all[i].name;
		m.unit = (char *)(uintptr_t)all[i].unit;
		m.help = (char *)"what it is";
		m.value = all[i].value;
		messages_add(stats, &m.base);
	}
	return stats;
}

static struct counters *make_counters(struct snapshot_texts *texts)
{
	struct counters *t = counters_new(texts);
	struct snapshot_job *job = fixture_job(texts, &jobs[4]);

	counters_job(t, NULL, job);
	snapshot_job_free(job);
	return t;
}

static char *write_page(const struct metrics_page *page, const struct snapshot *snap, bool named)
{
	static const struct http_figures figures = { .connections = 9,
		.refused = 2,
		.slow = 1,
		.open = 3,
		.streams = 1,
		.answers = { 0, 0, 40, 0, 3, 0 } };
	struct snapshot_counts *sums = snapshot_counts_new(snap);
	struct metrics_input in = { .snap = snap,
		.http = &figures,
		.sums = sums,
		.named = named,
		.up = snap,
		.age_s = 0.5,
		.now_us = NOW,
		.memory = 1 << 20 };
	struct strbuf text = { 0 };

	metrics_write(page, &in, &text);
	snapshot_counts_free(sums);
	return strbuf_take(&text);
}

/* Where jobs are private, others find all but names of users, services and jobs, and why they miss. */
static void check_private(const struct metrics_page *page, const struct snapshot *snap)
{
	static const char *const names[] = { "li\"", "ana", "brien", "chat", "user", "service=",
		"hpc_job=\"3" };
	char *whole = write_page(page, snap, true), *text = write_page(page, snap, false);
	bool private = false;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const char *there = strstr(text, names[i]);

		private |= strstr(whole, names[i]) != NULL;
		/* The sentence itself names no user. */
		assert_true(!there || !strncmp(there, "users, services", 15));
	}
	if (!private) {
		assert_string_equal(text, whole);
	} else {
		assert_non_null(strstr(text, "# Jobs are private here"));
		assert_true(!strstr(whole, "slurm_account_jobs_running{account=\"speech\"} 1\n") ||
		            strstr(text, "slurm_account_jobs_running{account=\"speech\"} 1\n"));
		assert_true(!strstr(whole, "DCGM") || strstr(text, "GPU_I_PROFILE=\"\",hpc_job=\"\"} 97"));
	}
	assert_null(strstr(whole, "private here"));
	free(text);
	free(whole);
}

static void golden_pages(void **state)
{
	struct snapshots *s = snapshots_new();
	struct snapshot_texts *texts = snapshot_texts_new();
	struct snapshot_draft d = { .lists = { [LIST_NODES] = make_nodes(),
		                            [LIST_PARTITIONS] = make_partitions(),
		                            [LIST_SHARES] = make_shares(),
		                            [LIST_SERVICES] = make_services(),
		                            [LIST_STATS] = make_stats() },
		.counters = make_counters(texts) };
	struct snapshot *snap;

	(void)state;
	fixture_publish(s, texts, &d, jobs, sizeof(jobs) / sizeof(jobs[0]));
	snap = snapshot_get(s);
	for (const struct metrics_page *page = metrics_pages; page->path; page++) {
		char name[64];

		snprintf(name, sizeof(name), "web%s", page->path);
		for (char *c = name; *c; c++)
			*c = *c == '/' ? '-' : *c;
		golden_check(name, write_page(page, snap, true));
		check_private(page, snap);
	}
	snapshot_put(snap);
	snapshots_free(s);
	snapshot_texts_free(texts);
}

/* Without a snapshot nothing is said of the cluster, but that it is not reached. */
static void nothing_known(void **state)
{
	char *text = write_page(&metrics_pages[0], NULL, true);

	(void)state;
	assert_non_null(strstr(text, "\ngpusched_up 0\n"));
	assert_null(strstr(text, "gpusched_jobs{"));
	assert_null(strstr(text, "gpusched_snapshot_age_seconds "));
	free(text);
	for (const struct metrics_page *page = metrics_pages + 1; page->path; page++)
		free(write_page(page, NULL, true));
}

/* Each name once, and each a name. */
static void names(void **state)
{
	(void)state;
	for (const struct metrics_page *page = metrics_pages; page->path; page++)
		for (const struct metric *m = page->rows; m->name; m++) {
			assert_int_equal(strspn(m->name, "abcdefghijklmnopqrstuvwxyz_"
			                                 "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"),
			        strlen(m->name));
			assert_null(strpbrk(m->help, "\n\\"));
			for (const struct metric *other = page->rows; other < m; other++)
				assert_string_not_equal(m->name, other->name);
		}
}

/* More users than there may be series: those with most jobs have one each. */
static void many_users(void **state)
{
	struct snapshots *s = snapshots_new();
	struct snapshot_texts *texts = snapshot_texts_new();
	struct job_like *many = xcalloc(SUMS_USERS_MAX + 50, sizeof(*many));
	char(*users)[16] = xcalloc(SUMS_USERS_MAX + 50, sizeof(*users));
	struct snapshot_draft d = { 0 };
	struct snapshot *snap;
	struct snapshot_counts *sums;

	(void)state;
	for (int i = 0; i < SUMS_USERS_MAX + 50; i++) {
		snprintf(users[i], sizeof(users[i]), "u%d", i);
		many[i] = (struct job_like){
			.id = (uint64_t)i + 1, .user = users[i], .task_count = i == 530 ? 7 : 1
		};
	}
	fixture_publish(s, texts, &d, many, SUMS_USERS_MAX + 50);
	snap = snapshot_get(s);
	sums = snapshot_counts_new(snap);
	assert_int_equal(sums->by_user.n, SUMS_USERS_MAX + 1);
	assert_non_null(job_groups_find(&sums->by_user, "u530"));
	assert_true(job_groups_find(&sums->by_user, "(other)")->n[JOBS_ALL] > 49);
	snapshot_counts_free(sums);
	snapshot_put(snap);
	snapshots_free(s);
	snapshot_texts_free(texts);
	free(many);
	free(users);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(golden_pages),
		cmocka_unit_test(nothing_known),
		cmocka_unit_test(names),
		cmocka_unit_test(many_users),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
