/* test_tables.c - cmds/cli/table.h, cmds/cli/view.h: listings against golden files
 *
 * The same messages are printed on 20, 80 and 200 columns, into a pipe, and without a limit, and
 * compared with testsuite/unit/golden/. After a change that is meant: GOLDEN_UPDATE=1, then look at
 * the difference.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include "cmds/views/acctview.h"
#include "cmds/views/views.h"
#include "testsuite/unit/lib/golden.h"
#include "testsuite/unit/lib/lacks.h"

#define LEN(a) (sizeof(a) / sizeof((a)[0]))

/* --- what is listed: the cluster of the manual, and some hostile guests ------------------------
 */

static Gpusched__GpuCount h100_8 = { .type = "h100", .count = 8 };
static Gpusched__GpuCount h100_2 = { .type = "h100", .count = 2 };
static Gpusched__GpuCount any_1 = { .type = "", .count = 1 };
static Gpusched__GpuCount l40s_4 = { .type = "l40s", .count = 4 };
static Gpusched__GpuCount *one_h100_8[] = { &h100_8 };
static Gpusched__GpuCount *either[] = { &h100_2, &l40s_4 };
static Gpusched__GpuCount *any[] = { &any_1 };
static uint32_t indices[] = { 2, 3, 6, 7 };
static Gpusched__KeyValue model = { .key = "model", .value = "bge-large" };
static Gpusched__KeyValue *labels[] = { &model };

#define NO_TEXT                                                                              \
	.account = "", .reason = "", .reason_text = "", .node = "", .gpu_type = "",          \
	.cwd = "/home/x", .output = "gpusched-%j.out", .error = "", .submit_host = "login1", \
	.comment = "", .cpus = 1, .max_attempts = 3, .requeue = 1,                           \
	.submit_time = 1795250000000000, .qos = "", .nodes = "", .planned_nodes = "",        \
	.constraint = "", .prefer = "", .nodelist = "", .exclude = "", .licences = "",       \
	.nodes_min = 1, .nodes_max = 1, .tasks = ""

#define JOB_INIT .base = PROTOBUF_C_MESSAGE_INIT(&gpusched__job__descriptor), NO_TEXT

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Woverride-init"
static Gpusched__Job jobs[] = {
	{ JOB_INIT, .id = 4690, .partition = "batch", .name = "rerank", .user = "ana",
	        .state = "RUNNING", .elapsed_s = 9110, .n_gpus = 1, .gpus = one_h100_8,
	        .gpu_type = "h100", .n_gpu_indices = 4, .gpus_held = 8, .gpu_indices = indices,
	        .node = "h11", .nodes = "h[11-12]", .start_time = 1795251000000000,
	        .time_limit_s = 28800, .mem_mb = 901120, .cpus = 56, .attempt = 1, .n_nodes = 2,
	        .cost_unlimited = 1, .max_wait_s = 120 },
	{ JOB_INIT, .id = 4731, .partition = "batch", .name = "caption", .user = "marc",
	        .state = "RUNNING", .elapsed_s = 25610, .gpu_type = "h100", .n_gpu_indices = 4,
	        .gpus_held = 4, .gpu_indices = indices, .node = "h07", .nodes = "h07",
	        .time_limit_s = 172800 },
	{ JOB_INIT, .id = 4799, .partition = "batch", .name = "llama-evaluation", .user = "marc",
	        .state = "PENDING", .n_gpus = 1, .gpus = one_h100_8, .reason = "Resources",
	        .n_blockers = 3, .reason_text = "16 nodes: 15 with under 8 free h100, 1 drained",
	        .order = 3, .priority = 1200, .time_limit_s = 14400, .n_labels = 1,
	        .labels = labels },
	{ JOB_INIT, .id = 4805, .partition = "batch", .name = "synth", .user = "li",
	        .state = "PENDING", .n_gpus = 2, .gpus = either, .reason = "Priority",
	        .n_blockers = 1, .position = 2, .order = 2, .planned_start_time = 1795259320000000,
	        .planned_nodes = "h07", .qos = "normal", .nodes_max = 4, .cost_max = 160.125,
	        .priority = 1100 },
	{ JOB_INIT, .id = 4812, .partition = "interactive-long",
	        .name = "na\xc3\xafve \xe6\xa8\xa1\xe5\x9e\x8b\xe8\xaf\x84\xe4\xbc\xb0 test",
	        .user = "konstantinos", .state = "PENDING", .n_gpus = 1, .gpus = any,
	        .reason = "JobHeldUser", .priority = 1500 },
	{ JOB_INIT, .id = 4813, .partition = "small", .name = "a\nb\033[31mred\t\x7f\xff",
	        .user = "ana", .state = "RUNNING", .elapsed_s = 41, .node = "s02", .nodes = "s02",
	        .time_limit_s = UINT32_MAX },
	{ JOB_INIT, .id = 123456789012, .partition = "batch", .name = "wrap", .user = "ana",
	        .state = "FAILED", .elapsed_s = 3600 * 24 * 12, .exit_code = 1, .node = "h01",
	        .nodes = "h01", .reason = "NonZeroExitCode", .end_time = 1795255320000000,
	        .attempt = 2 },
	{ JOB_INIT, .id = 4815, .partition = "batch", .name = "", .user = "1042",
	        .state = "CANCELLED", .comment = "by ana: mistake" },
};
#pragma GCC diagnostic pop

static Gpusched__GpuUse use_h100 = {
	.type = "h100", .total = 128, .free = 6, .largest = 4, .largest_node = "h07"
};
static Gpusched__GpuUse use_1g = {
	.type = "1g.10gb", .total = 84, .free = 11, .largest = 9, .largest_node = "m02"
};
static Gpusched__GpuShared shared_l40s = { .gpus = 3,
	.mem_mb = 240 << 10,
	.granted_mem_mb = 140 << 10,
	.granted_milli = 1505,
	.largest_mem_mb = 40 << 10,
	.largest_node = "s02" };
static Gpusched__GpuShared shared_full = { .gpus = 1, .granted_milli = 1000, .largest_node = "" };
static Gpusched__GpuUse use_l40s = { .type = "l40s",
	.total = 32,
	.free = 0,
	.largest = 0,
	.largest_node = "",
	.shared = &shared_l40s };
static Gpusched__GpuUse use_a2 = {
	.type = "a2", .total = 1, .largest_node = "", .shared = &shared_full
};
static Gpusched__GpuUse node_h100 = {
	.type = "h100", .total = 8, .free = 4, .largest = 4, .largest_node = "h07"
};
static Gpusched__GpuUse *batch_gpus[] = { &use_h100 };
static Gpusched__GpuUse *small_gpus[] = { &use_1g, &use_l40s, &use_a2 };
static Gpusched__GpuUse *node_gpus[] = { &node_h100 };
static char *features[] = { "nvlink", "ib" };
static char *batch_urgent[] = { "batch", "urgent" };

#define PARTITION_INIT                                                     \
	.base = PROTOBUF_C_MESSAGE_INIT(&gpusched__partition__descriptor), \
	.preempt_mode = "requeue", .place = "pack"
static Gpusched__Partition partitions[] = {
	{ PARTITION_INIT, .name = "batch", .is_default = 1, .state = "up", .tier = 1,
	        .default_time_s = 14400, .max_time_s = 172800, .nodes = "h[01-16]",
	        .nodes_total = 16, .nodes_ok = 15, .nodes_drain = 1, .n_gpus = 1,
	        .gpus = batch_gpus, .jobs_pending = 812, .jobs_running = 40, .min_run_s = 1200,
	        .priority = 3, .plan_depth = 200, .n_accounts = 2, .accounts = batch_urgent },
	{ PARTITION_INIT, .name = "small", .state = "up", .tier = 1, .max_time_s = 28800,
	        .nodes = "m[01-02],s[01-04]", .nodes_total = 6, .nodes_ok = 6, .n_gpus = 3,
	        .gpus = small_gpus },
	{ PARTITION_INIT, .name = "a-name-that-is-long", .state = "down", .nodes = "c1",
	        .nodes_total = 1, .nodes_down = 1 },
};

#define NODE_INIT .base = PROTOBUF_C_MESSAGE_INIT(&gpusched__node__descriptor)
static Gpusched__Node nodes[] = {
	{ NODE_INIT, .name = "h07", .state = "mixed", .reason = "", .cpus = 128, .cpus_free = 64,
	        .mem_mb = 2 << 20, .mem_free_mb = 1258291, .n_gpus = 1, .gpus = node_gpus,
	        .n_partitions = 2, .partitions = batch_urgent, .boot_id = "", .n_features = 2,
	        .features = features, .leaf_switch = "leaf1", .agent_version = "0.1.0",
	        .containment = "cgroup2", .last_heard = 1795255320000000 },
	{ NODE_INIT, .name = "h12", .state = "drained",
	        .reason = "Xid 79, off the bus (root, 2026-11-21 10:09)", .cpus = 128,
	        .cpus_free = 128, .mem_mb = 2 << 20, .mem_free_mb = 2 << 20, .n_gpus = 1,
	        .gpus = node_gpus, .n_partitions = 1, .partitions = batch_urgent, .boot_id = "",
	        .leaf_switch = "", .agent_version = "0.1.0", .containment = "cgroup2" },
	{ NODE_INIT, .name = "s02", .state = "mixed", .reason = "", .cpus = 64, .cpus_free = 8,
	        .mem_mb = 1 << 20, .mem_free_mb = 1 << 19, .n_gpus = 2, .gpus = small_gpus + 1,
	        .boot_id = "", .leaf_switch = "", .agent_version = "0.1.0", .containment = "" },
	{ NODE_INIT, .name = "a-login-node-with-a-name", .state = "unknown", .reason = "",
	        .boot_id = "", .agent_version = "", .containment = "", .leaf_switch = "" },
};

static Gpusched__PrioPoints points[] = {
	{ .age = 12, .fair_share = 7500, .size = 31, .nice = 32 },
	{ .age = 1000,
	        .fair_share = 10000,
	        .size = 500,
	        .partition = 1000,
	        .qos = -5000,
	        .wait = 5000,
	        .nice = -2147483645 },
};
static Gpusched__PrioFactors factors[] = {
	{ .age = 0.012, .fair_share = 0.75, .size = 0.0625 },
	{ .age = 1, .fair_share = 1, .size = 1, .partition = 1, .qos = -1, .wait = 1 },
};
#define PRIO_INIT .base = PROTOBUF_C_MESSAGE_INIT(&gpusched__prio__descriptor)
static Gpusched__Prio prios[] = {
	{ PRIO_INIT, .id = 4799, .partition = "batch", .user = "marc", .account = "vision",
	        .qos = "normal", .priority = 7511, .points = &points[0], .factors = &factors[0] },
	{ PRIO_INIT, .id = 123456789012, .partition = "interactive-long", .user = "konstantinos",
	        .account = "a\033[31mred", .qos = "", .priority = 2147496145, .points = &points[1],
	        .factors = &factors[1] },
};

static const struct weight_line weights[] = {
	{ "AGE", 1000, "the time it has waited; full after 7-00:00:00" },
	{ "FAIRSHARE", 10000, "what its user and accounts used, against their shares" },
};

#define GPUS_INIT .base = PROTOBUF_C_MESSAGE_INIT(&gpusched__share_gpus__descriptor)
static Gpusched__ShareGpus share_h100 = { GPUS_INIT, .type = "h100", .guaranteed_milli = 16000,
	.held_milli = 2500, .lent_milli = 12500 };
static Gpusched__ShareGpus share_any = { GPUS_INIT, .type = "", .held_milli = 1234567000,
	.borrowed_milli = 333 };
static Gpusched__ShareGpus *share_amounts[] = { &share_h100, &share_any };

#define SHARE_INIT .base = PROTOBUF_C_MESSAGE_INIT(&gpusched__share__descriptor)
static Gpusched__Share shares[] = {
	{ SHARE_INIT, .account = "research", .user = "", .shares = 50, .norm = 0.5,
	        .gpu_us = 37296000000000, .cpu_us = 1, .cost = 25900, .usage = 8123.456,
	        .effective = 0.57, .level_fs = 0.877, .gpus = share_amounts, .n_gpus = 2 },
	{ SHARE_INIT, .account = "vision", .user = "", .depth = 1, .shares = 3, .norm = 0.6,
	        .gpu_us = 23868000000000, .cost = 16575, .usage = 5000, .effective = 0.64,
	        .level_fs = 0.9375 },
	{ SHARE_INIT, .account = "vision", .user = "konstantinos", .depth = 2, .shares = 1,
	        .norm = 1, .gpu_us = 23868000000000, .cpu_us = UINT64_MAX, .cost = 16575,
	        .usage = 1e15, .effective = 1, .level_fs = 1, .fair_share = 0.3333, .rank = 3 },
	{ SHARE_INIT, .account = "an-account-that-is-long", .user = "li", .depth = 6, .shares = 2,
	        .norm = 0.4, .level_fs = INFINITY, .fair_share = 1, .rank = 1 },
};

static void add_prios(struct view *v)
{
	for (size_t i = 0; i < LEN(prios); i++)
		view_add(v, &prios[i]);
}

static void add_weights(struct view *v)
{
	for (size_t i = 0; i < LEN(weights); i++)
		view_add(v, &weights[i]);
}

static void add_shares(struct view *v)
{
	for (size_t i = 0; i < LEN(shares); i++)
		view_add(v, &shares[i]);
}

static void add_jobs(struct view *v)
{
	for (size_t i = 0; i < LEN(jobs); i++)
		view_add(v, &jobs[i]);
}

static void add_partitions(struct view *v)
{
	for (size_t i = 0; i < LEN(partitions); i++) {
		struct partition_line line = { &partitions[i], 0 };

		for (; line.line < partition_lines(&partitions[i]); line.line++)
			view_add(v, &line);
	}
}

static void add_nodes(struct view *v)
{
	for (size_t i = 0; i < LEN(nodes); i++)
		view_add(v, &nodes[i]);
}

/* --- listings ------------------------------------------------------------------------------- */

#define PIPE 9999 /* as table_style_for() says for a pipe */

static const struct {
	const char *golden;
	const struct view_kind *kind;
	void (*add)(struct view *v);
	const char *columns, *sort;
	unsigned width;
	bool colour, no_heading;
} listings[] = {
	{ "gqueue-20", &job_kind, add_jobs, NULL, NULL, 20, false, false },
	{ "gqueue-80", &job_kind, add_jobs, NULL, NULL, 80, false, false },
	{ "gqueue-200", &job_kind, add_jobs, NULL, NULL, 200, false, false },
	{ "gqueue-pipe", &job_kind, add_jobs, NULL, NULL, PIPE, false, false },
	{ "gqueue-colour", &job_kind, add_jobs, NULL, NULL, 80, true, false },
	{ "gqueue-sorted", &job_kind, add_jobs, NULL, "user,-jobid", 80, false, true },
	{ "gqueue-columns", &job_kind, add_jobs,
	        "jobid,name,left,exit,mem,gpuids,labels,why,comment", "jobid", 0, false, false },
	{ "gqueue-start", &job_kind, add_jobs,
	        "jobid,st,start,pos,schednodes,nodes,qos,cost,maxwait,reason", "start,jobid", 0,
	        false, false },
	{ "gprio-20", &prio_kind, add_prios, NULL, NULL, 20, false, false },
	{ "gprio-80", &prio_kind, add_prios, NULL, NULL, 80, false, false },
	{ "gprio-200", &prio_kind, add_prios, NULL, NULL, 200, false, false },
	{ "gprio-pipe", &prio_kind, add_prios, NULL, NULL, PIPE, false, false },
	{ "gprio-norm", &prio_kind, add_prios,
	        "jobid,account,qos,age-n,fairshare-n,size-n,part-n,qosprio-n,wait-n", "-fairshare",
	        0, false, false },
	{ "gprio-weights", &weight_kind, add_weights, NULL, NULL, 80, false, false },
	{ "gshare-20", &share_kind, add_shares, NULL, NULL, 20, false, false },
	{ "gshare-80", &share_kind, add_shares, NULL, NULL, 80, false, false },
	{ "gshare-200", &share_kind, add_shares, NULL, NULL, 200, false, false },
	{ "gshare-pipe", &share_kind, add_shares, NULL, NULL, PIPE, false, false },
	{ "gshare-columns", &share_kind, add_shares, "user,gpu-h,cpu-h,usage,factor", "-gpu-h", 0,
	        false, false },
	{ "gshare-lent", &share_kind, add_shares, "account,guaranteed,held,lent,borrowed", NULL, 0,
	        false, false },
	{ "ginfo-20", &partition_kind, add_partitions, NULL, NULL, 20, false, false },
	{ "ginfo-80", &partition_kind, add_partitions, NULL, NULL, 80, false, false },
	{ "ginfo-200", &partition_kind, add_partitions, NULL, NULL, 200, false, false },
	{ "ginfo-pipe", &partition_kind, add_partitions, NULL, NULL, PIPE, false, false },
	{ "ginfo-shared", &partition_kind, add_partitions,
	        "partition,gpus,free,total,shared,largest", NULL, 0, false, false },
	{ "ginfo-nodes-shared", &node_kind, add_nodes, "node,free-gpus,shared", NULL, 0, false,
	        false },
	{ "ginfo-columns", &partition_kind, add_partitions,
	        "partition,state,preempt,minrun,place,priority,plandepth,accounts", NULL, 0, false,
	        false },
	{ "ginfo-nodes-20", &node_kind, add_nodes, NULL, NULL, 20, false, false },
	{ "ginfo-nodes-80", &node_kind, add_nodes, NULL, NULL, 80, false, false },
	{ "ginfo-nodes-200", &node_kind, add_nodes, NULL, NULL, 200, false, false },
	{ "ginfo-nodes-pipe", &node_kind, add_nodes, NULL, NULL, PIPE, false, false },
	{ "ginfo-nodes-columns", &node_kind, add_nodes,
	        "node,gpus,partitions,features,switch,heard,cpus,mem", "-node", 0, false, false },
};

/* What is printed, into a pipe if so wanted (a file is as little a terminal as that). */
static char *print(size_t i)
{
	struct table_style style;
	FILE *f = tmpfile();
	struct error err;
	struct view *v;

	assert_non_null(f);
	style = listings[i].width == PIPE ? table_style_for(f)
	                                  : (struct table_style){ .width = listings[i].width };
	style.out = f;
	style.heading = !listings[i].no_heading;
	style.colour = listings[i].colour;
	v = view_new(listings[i].kind, listings[i].columns, listings[i].sort, &style, &err);
	assert_non_null(v);
	listings[i].add(v);
	view_end(v);
	return golden_text(f);
}

static void test_golden(void **state)
{
	(void)state;
	for (size_t i = 0; i < LEN(listings); i++)
		golden_check(listings[i].golden, print(i));
}

static void test_columns_wanted(void **state)
{
	static const struct {
		const char *columns;
		unsigned width;
	} rows[] = { { "20", 20 }, { "9999", 9999 }, { "", 80 }, { "0", 80 }, { "-5", 80 },
		{ "12x", 80 }, { "99999999999", 80 } };
	FILE *f = tmpfile();

	(void)state;
	assert_non_null(f);
	for (size_t i = 0; i < LEN(rows); i++) {
		setenv("COLUMNS", rows[i].columns, 1);
		assert_int_equal(table_style_for(f).width, rows[i].width);
		assert_false(table_style_for(f).colour);
	}
	unsetenv("COLUMNS");
	assert_int_equal(table_style_for(f).width, 80);
	fclose(f);
}

/* Without numbers that are wider than their columns: those are never cut. */
static void add_modest_prios(struct view *v)
{
	view_add(v, &prios[0]);
}

static void add_modest_shares(struct view *v)
{
	view_add(v, &shares[1]);
	view_add(v, &shares[3]);
}

/* Nothing is wider than it may be, no line ends in a blank, and a record is one line. */
static void test_every_width(void **state)
{
	static const size_t records[] = { LEN(jobs), 7, LEN(nodes), LEN(prios) - 1, 2 };
	static const struct {
		const struct view_kind *kind;
		void (*add)(struct view *v);
	} kinds[] = { { &job_kind, add_jobs }, { &partition_kind, add_partitions },
		{ &node_kind, add_nodes }, { &prio_kind, add_modest_prios },
		{ &share_kind, add_modest_shares } };
	char *text = calloc(1, 1 << 20), *line, *save;

	(void)state;
	for (unsigned width = 1; width < 250; width++) {
		for (size_t k = 0; k < LEN(kinds); k++) {
			FILE *f = fmemopen(text, 1 << 20, "w");
			struct table_style style = { f, width, true, false, false, NULL };
			struct view *v = view_new(kinds[k].kind, NULL, NULL, &style, NULL);
			size_t lines = 0;

			kinds[k].add(v);
			assert_int_equal(view_end(v), records[k]);
			fclose(f);
			for (line = strtok_r(text, "\n", &save); line;
			        line = strtok_r(NULL, "\n", &save)) {
				lines++;
				assert_int_not_equal(line[strlen(line) - 1], ' ');
				/* ids and numbers are never cut: those may stand out */
				if (width >= 40)
					assert_true(table_text_width(line) <= width);
			}
			assert_int_equal(lines, records[k] + 1);
		}
	}
	free(text);
}

/* A column that is dear gets what others do not need before it is cut, and no more. */
static void test_dear_column(void **state)
{
	static const struct table_column columns[] = { { "A", 6, 3, 0 },
		{ "BB", 4, 4, TABLE_WHOLE }, { "C", 4, 2, TABLE_DEAR }, { "D", 0, 3, 0 } };
	static const struct {
		const char *c, *out;
	} cases[] = {
		{ "xyz", "A      BB   C    D\na      b    xyz  d\n" },
		{ "h100:1/5G", "A  BB  C         D\na  b   h100:1/5G d\n" },
		{ "h100:1/20G,25%,50%", "A BB C             D\na b  h100:1/20G,2+ d\n" },
	};
	char text[200];

	(void)state;
	for (size_t i = 0; i < LEN(cases); i++) {
		FILE *f = fmemopen(text, sizeof(text), "w");
		struct table_style style = { f, 20, true, false, false, NULL };
		struct table *t = table_new(&style, columns, LEN(columns));

		table_cell(t, "a", TABLE_PLAIN);
		table_cell(t, "b", TABLE_PLAIN);
		table_cell(t, cases[i].c, TABLE_PLAIN);
		table_cell(t, "d", TABLE_PLAIN);
		table_end(t);
		fclose(f);
		assert_string_equal(text, cases[i].out);
	}
}

/* More than can be held back: as they come, all of them. */
static void test_long_listing(void **state)
{
	char *text = calloc(1, 1 << 20), *at;
	FILE *f = fmemopen(text, 1 << 20, "w");
	struct table_style style = { f, 80, false, false, false, NULL };
	struct view *v = view_new(&job_kind, "jobid", NULL, &style, NULL);
	Gpusched__Job job = jobs[2];

	(void)state;
	for (job.id = 1; job.id <= VIEW_HOLD + 10; job.id++) {
		job.priority = (int64_t)job.id;
		view_add(v, &job);
	}
	assert_int_equal(view_end(v), VIEW_HOLD + 10);
	fclose(f);
	at = text;
	for (uint64_t id = 1; id <= VIEW_HOLD + 10; id++)
		assert_int_equal(strtoull(at, &at, 10), id);
	free(text);
}

static void test_bad_lists(void **state)
{
	static const char *const bad[][2] = {
		{ "NAM", "--format: 'NAM': no such column; did you mean NAME?" },
		{ "jobid,,name", "--format: '': no such column" },
		{ "", "--format: '': no such column" },
		{ "JOBID,x\ny", "--format: 'x\\x0Ay': no such column" },
	};
	struct table_style style = { stdout, 80, true, false, false, NULL };
	struct error err;
	struct view *v;

	(void)state;
	v = view_new(
	        &job_kind, "nodelist", NULL, &style, &err); /* NODELIST(REASON), without quotes */
	assert_non_null(v);
	view_end(v);
	assert_null(view_new(&job_kind, "nodelis", NULL, &style, &err));
	for (size_t i = 0; i < LEN(bad); i++) {
		assert_null(view_new(&job_kind, bad[i][0], NULL, &style, &err));
		assert_string_equal(err.text, bad[i][1]);
		assert_int_equal(err.code, ERR_USAGE);
		assert_null(view_new(&job_kind, NULL, bad[i][0], &style, &err));
		assert_memory_equal(err.text, "--sort: ", 8);
	}
	assert_null(view_new(&job_kind, "-NAME", NULL, &style, &err));
}

/* A format of Slurm's letters, printed with that style; the caller frees. */
static char *formatted(const char *format, const Gpusched__Job *list, size_t n, bool heading)
{
	struct table_style style = { .heading = heading };
	struct error err = { .text = "" };
	size_t size;
	char *text;
	struct view *v;

	style.out = open_memstream(&text, &size);
	v = view_new(&job_kind, format, NULL, &style, &err);
	assert_string_equal(err.text, "");
	for (size_t i = 0; i < n; i++)
		view_add(v, &list[i]);
	view_end(v);
	fclose(style.out);
	return text;
}

static void test_letters(void **state)
{
	static const struct {
		const char *format, *text;
	} good[] = {
		{ "%i %T", "JOBID STATE\n7 RUNNING\n" },
		{ "%-5i", NULL }, /* squeue has no such width */
		{ "%.5i|%3T|%j", "JOBID|STA|NAME\n    7|RUN|a b\xc3\xbc\n" },
		{ "<%6j>%%", "<NAME  >%\n<a b\xc3\xbc  >%\n" },
		{ "%.2j", "NA\na \n" },
		{ "x", NULL },
	};
	Gpusched__Job job = GPUSCHED__JOB__INIT;

	(void)state;
	job.id = 7;
	job.state = "RUNNING";
	job.name = "a b\xc3\xbc";
	for (size_t i = 0; i < LEN(good); i++) {
		char *text;

		if (!good[i].text) {
			struct table_style style = { stdout, 80, true, false, false, NULL };

			assert_null(view_new(&job_kind, good[i].format, NULL, &style, NULL));
			continue;
		}
		text = formatted(good[i].format, &job, 1, true);
		assert_string_equal(text, good[i].text);
		free(text);
	}
}

static void test_bad_letters(void **state)
{
	static const char *const bad[][2] = {
		{ "%x", "--format: '%x': expected one of the letters iAP" },
		{ "%i%", "--format: '%': expected one of the letters iAP" },
		{ "%i %5", "--format: '%5': expected one of the letters iAP" },
		{ "%.99999i", "--format: '%.9999...': expected a width of 1 to 1000" },
		{ "JobNam", "--format: 'JobNam': no such column" },
	};
	struct table_style style = { stdout, 80, true, false, false, NULL };
	char many[3 * VIEW_COLUMNS_MAX], *to = many;
	struct error err;

	(void)state;
	for (size_t i = 0; i < LEN(bad); i++) {
		assert_null(view_new(&job_kind, bad[i][0], NULL, &style, &err));
		err.text[strlen(bad[i][1])] = '\0';
		assert_string_equal(err.text, bad[i][1]);
		assert_int_equal(err.code, ERR_USAGE);
	}
	for (int i = 0; i <= VIEW_COLUMNS_MAX; i++, to += 2)
		memcpy(to, "%i", 3);
	assert_null(view_new(&job_kind, many, NULL, &style, &err));
	assert_non_null(strstr(err.text, "more than"));
}

/* Each stands for a column that there is, and no letter for two. */
static void test_slurm_names(void **state)
{
	const struct view_kind *const kinds[] = { &job_kind, &acct_kind, &node_kind,
		&partition_kind };
	struct table_style style = { stdout, 80, false, false, false, NULL };
	char format[32];

	(void)state;
	for (size_t k = 0; k < LEN(kinds); k++) {
		for (const struct slurm_name *s = kinds[k]->slurm; s->name; s++) {
			bool letter = !s->name[1];

			snprintf(format, sizeof(format), "%s%s", letter ? "%" : "", s->name);
			view_drop(view_new(kinds[k], format, NULL, &style, NULL));
			for (const struct slurm_name *t = kinds[k]->slurm; t < s; t++)
				assert_string_not_equal(s->name, t->name);
			format[0] = '\0';
			for (size_t i = 0; i < kinds[k]->n; i++)
				if (!strncmp(kinds[k]->columns[i].name, s->column,
				            strlen(s->column)))
					format[0] = 'x';
			assert_int_equal(format[0], 'x');
			assert_non_null(kinds[k]->slurm);
		}
	}
}

static void test_states(void **state)

{
	(void)state;
	assert_string_equal(job_state("pd")->name, "PENDING");
	assert_string_equal(job_state("RUNNING")->code, "R");
	assert_true(job_state("nf")->ended);
	assert_null(job_state("X"));
	assert_null(job_state(""));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_golden),
		cmocka_unit_test(test_columns_wanted),
		cmocka_unit_test(test_every_width),
		cmocka_unit_test(test_dear_column),
		cmocka_unit_test(test_long_listing),
		cmocka_unit_test(test_bad_lists),
		cmocka_unit_test(test_letters),
		cmocka_unit_test(test_bad_letters),
		cmocka_unit_test(test_slurm_names),
		cmocka_unit_test(test_states),
	};

	setenv("TZ", "UTC", 1);
	tzset();
	if (!setlocale(LC_ALL, "C.UTF-8"))
		return lacks("the locale C.UTF-8", "libc-bin") ? EXIT_FAILURE : 77;
	unsetenv("COLUMNS");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
