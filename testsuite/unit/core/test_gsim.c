/* test_gsim.c - the simulator's parts: readers, clusters, statistics (ctld/gsim/) */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>
#include <cmocka.h>

#include "common/base/xalloc.h"
#include "common/conf/conf_find.h"
#include "ctld/gsim/account_shares.h"
#include "ctld/gsim/cluster.h"
#include "ctld/gsim/history/csv.h"
#include "ctld/gsim/history/history.h"
#include "ctld/gsim/measures.h"
#include "ctld/gsim/random.h"
#include "ctld/gsim/rival_placements.h"

#define LEN(a) (sizeof(a) / sizeof((a)[0]))

static char path[2][40];

/* File `i` with that text. */
static const char *file(int i, const char *text)
{
	FILE *f;
	int fd;

	strcpy(path[i], "/tmp/test_gsim.XXXXXX");
	fd = mkstemp(path[i]);
	assert_true(fd >= 0);
	f = fdopen(fd, "w");
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
	return path[i];
}

static int teardown(void **state)
{
	int i;

	(void)state;
	for (i = 0; i < 2; i++) {
		if (*path[i])
			unlink(path[i]);
		*path[i] = '\0';
	}
	return 0;
}

/* --- csv ------------------------------------------------------------------------------------- */

static const struct csv_column ab[] = { { "a", true }, { "b", false } };

static void csv_reads_fields(void **state)
{
	static const char *const want[][2] = { { "1", "x" }, { "", "" }, { "a,b", "say \"hi\"" },
		{ "last", "" } };
	struct csv *c = csv_open(file(0, "b,c,a\r\n# no row\nx,,1\r\n,,\n\n\"say \"\"hi\"\"\",9,"
	                                 "\"a,b\"\n,,last"),
	        ab, LEN(ab), NULL);
	const char *f[2];
	struct error err;
	size_t i;

	(void)state;
	assert_non_null(c);
	for (i = 0; i < LEN(want); i++) {
		assert_int_equal(csv_next(c, f, &err), CSV_ROW);
		assert_string_equal(f[0], want[i][0]);
		assert_string_equal(f[1], want[i][1]);
	}
	assert_int_equal(csv_line(c), 7);
	assert_int_equal(csv_next(c, f, &err), CSV_END);
	csv_close(c);
}

static void csv_names_bad_rows(void **state)
{
	static const char *const rows[] = { "1,2,3", "1", "\"open,1", "\"x\"y,1" };
	char text[100], want[100];
	const char *f[2];
	struct error err;
	size_t i;

	(void)state;
	for (i = 0; i < LEN(rows); i++) {
		struct csv *c;

		snprintf(text, sizeof(text), "a,b\n%s\nnext,row\n", rows[i]);
		c = csv_open(file(0, text), ab, LEN(ab), NULL);
		assert_int_equal(csv_next(c, f, &err), CSV_BAD);
		snprintf(want, sizeof(want), "%s:2: ", path[0]);
		assert_memory_equal(err.text, want, strlen(want));
		assert_int_equal(err.code, ERR_CONFIG);
		assert_int_equal(csv_next(c, f, &err), CSV_ROW);
		assert_string_equal(f[0], "next");
		csv_close(c);
		unlink(path[0]);
	}
}

static void csv_passes_over_long_lines(void **state)
{
	size_t n = 3 * CSV_MAX_LINE;
	char *text = xcalloc(n + 100, 1);
	const char *f[2];
	struct error err;
	struct csv *c;

	(void)state;
	strcpy(text, "a,b\n");
	memset(text + 4, 'x', n);
	strcpy(text + 4 + n, ",1\nshort,1\n");
	c = csv_open(file(0, text), ab, LEN(ab), NULL);
	assert_int_equal(csv_next(c, f, &err), CSV_BAD);
	assert_int_equal(csv_next(c, f, &err), CSV_ROW);
	assert_string_equal(f[0], "short");
	assert_int_equal(csv_line(c), 3);
	csv_close(c);
	free(text);
}

static void csv_refuses_heads(void **state)
{
	static const struct {
		const char *text, *error;
	} rows[] = {
		{ "", "no row with the names of the columns" },
		{ "b,c\n1,2\n", "there is no column a" },
		{ "a,a\n1,2\n", "column a is there twice" },
	};
	struct error err;
	size_t i;

	(void)state;
	for (i = 0; i < LEN(rows); i++) {
		assert_null(csv_open(file(0, rows[i].text), ab, LEN(ab), &err));
		assert_non_null(strstr(err.text, rows[i].error));
		unlink(path[0]);
	}
	assert_null(csv_open("/nowhere/at/all", ab, LEN(ab), &err));
	assert_int_equal(err.code, ERR_SYSTEM);
}

/* A gzip file that ends too early must not look like a short history. */
static void csv_sees_damage(void **state)
{
	const char *name = file(0, "");
	gzFile out = gzopen(name, "w");
	const char *f[2];
	enum csv_result r;
	struct error err;
	struct csv *c;
	int i;

	(void)state;
	gzputs(out, "a,b\n");
	for (i = 0; i < 20000; i++)
		gzprintf(out, "%d,%d\n", i * 7919 % 10007, i);
	assert_int_equal(gzclose(out), Z_OK);
	c = csv_open(name, ab, LEN(ab), NULL);
	for (i = 0; (r = csv_next(c, f, &err)) == CSV_ROW; i++)
		;
	assert_int_equal(r, CSV_END);
	assert_int_equal(i, 20000);
	csv_close(c);
	assert_int_equal(truncate(name, 30000), 0);
	c = csv_open(name, ab, LEN(ab), NULL);
	while ((r = csv_next(c, f, &err)) == CSV_ROW)
		;
	assert_int_equal(r, CSV_FAILED);
	assert_int_equal(err.code, ERR_SYSTEM);
	csv_close(c);
}

static void csv_values(void **state)
{
	static const struct {
		const char *text;
		usec_t value; /* -1: refused */
	} rows[] = { { "0", 0 }, { "3600", 3600000000 }, { "0.25", 250000 },
		{ "1.0000019", 1000001 }, { "7.", 7000000 }, { "-1", -1 }, { "1e3", -1 },
		{ ".5", -1 }, { "3155760001", -1 }, { "99999999999999999999", -1 }, { "1 ", -1 },
		{ "nan", -1 } };
	struct error err;
	uint32_t up = 7;
	uint64_t n = 7;
	size_t i;

	(void)state;
	for (i = 0; i < LEN(rows); i++) {
		usec_t value = -7;

		if (rows[i].value < 0) {
			assert_int_equal(csv_seconds(rows[i].text, "x", &value, &err), -1);
			assert_int_equal(value, -7);
			continue;
		}
		assert_int_equal(csv_seconds(rows[i].text, "x", &value, &err), 0);
		assert_int_equal(value, rows[i].value);
	}
	assert_int_equal(csv_rounded_up("3.152", "x", 10, &up, &err), 0);
	assert_int_equal(up, 4);
	assert_int_equal(csv_rounded_up("11", "x", 10, &up, &err), -1);
	assert_int_equal(csv_count("", "x", 10, &n, &err), 0);
	assert_int_equal(n, 7);
	assert_int_equal(csv_count("11", "x", 10, &n, &err), -1);
	assert_string_equal(err.text, "x \"11\": expected a number up to 10");
}

/* --- histories ------------------------------------------------------------------------------- */

#define HEAD "job_id,submit_s,duration_s,gpus,user,group,requested_time_s,cpus,gpu_milli,nodes\n"

static void history_merges_files(void **state)
{
	static const char *const want[] = { "a", "x", "y", "b", "c" };
	const char *paths[2] = { file(0, HEAD "a,1,1,1,,,,,,\nb,5,1,1,,,,,,\nc,9,1,1,,,,,,\n"),
		file(1, HEAD "x,1,1,1,,,,,,\ny,2,1,1,,,,,,\n") };
	struct history_options o = { 0 };
	struct history_files *h = history_files_open(paths, 2, &o, NULL);
	struct history_job job;
	struct error err;
	size_t i;

	(void)state;
	for (i = 0; i < LEN(want); i++) {
		assert_int_equal(history_next(h, &job, &err), 1);
		assert_string_equal(job.name, want[i]);
	}
	assert_int_equal(history_next(h, &job, &err), 0);
	history_files_close(h);
}

static void history_fills_jobs(void **state)
{
	const char *paths[1] = { file(
		0, HEAD "j1,2.5,,8,ana,vision,60,11.9,460,2\nj2,3,7,0,,,,,,\n") };
	struct history_options o = { .account_column = "group", .partition_column = "user" };
	struct history_files *h = history_files_open(paths, 1, &o, NULL);
	struct history_job job;
	struct error err;

	(void)state;
	assert_int_equal(history_next(h, &job, &err), 1);
	assert_string_equal(job.account, "vision");
	assert_string_equal(job.partition, "ana");
	assert_int_equal(job.submit, 2500000);
	assert_int_equal(job.duration, -1);
	assert_int_equal(job.time_limit, 60000000);
	assert_int_equal(job.gpus, 8);
	assert_int_equal(job.cpus, 12);
	assert_int_equal(job.gpu_milli, 460);
	assert_int_equal(job.nodes, 2);
	assert_int_equal(job.line, 2);
	assert_int_equal(history_next(h, &job, &err), 1);
	assert_string_equal(job.account, "");
	assert_int_equal(job.duration, 7000000);
	assert_int_equal(job.gpu_milli, 1000);
	history_files_close(h);
}

static void count_bad(void *arg, const struct error *err)
{
	char **texts = arg;
	size_t i;

	for (i = 0; texts[i]; i++)
		;
	texts[i] = xstrdup(strchr(err->text, ':') + 1);
}

static void history_names_broken_rows(void **state)
{
	static const char *const want[] = { "2: submit_s: blank",
		"3: duration_s \"-5\": expected seconds, such as 3600 or 0.25, up to a hundred "
		"years",
		"4: gpus \"two\": expected a number up to 1000000", "5: 3 fields, and 10 columns",
		"7: submitted at 4, before the job above it (8): sort the file by submit_s",
		"9: user", "10: nodes 4, and gpus only 2",
		"11: gpu_milli \"1500\": expected a number up to 1000" };
	const char *paths[1] = { file(0,
		HEAD "a,,1,1,,,,,,\nb,1,-5,1,,,,,,\nc,1,1,two,,,,,,\nd,1,1\n"
		     "e,8,1,1,,,,,,\nf,4,1,1,,,,,,\ng,8,1,1,,,,,,\n"
		     "h,9,1,1,\x1b[2J,,,,,\ni,9,1,2,,,,,,4\n"
		     "j,9,1,1,,,,,1500,\n") };
	char *texts[LEN(want) + 2] = { NULL };
	struct history_options o = { .skip_bad = true, .bad = count_bad, .arg = texts };
	struct history_files *h = history_files_open(paths, 1, &o, NULL);
	struct history_job job;
	struct error err;
	size_t i, n = 0;

	(void)state;
	while (history_next(h, &job, &err) > 0)
		n++;
	assert_int_equal(n, 2);
	assert_int_equal(history_bad(h), LEN(want));
	for (i = 0; i < LEN(want); i++) {
		/* Of what text_check() says only the beginning is ours. */
		assert_memory_equal(texts[i], want[i], strlen(want[i]));
		free(texts[i]);
	}
	history_files_close(h);
	o = (struct history_options){ 0 };
	h = history_files_open(paths, 1, &o, NULL);
	assert_int_equal(history_next(h, &job, &err), -1);
	assert_int_equal(err.code, ERR_CONFIG);
	history_files_close(h);
}

static void history_knows_its_columns(void **state)
{
	const char *paths[1] = { file(0, HEAD) };
	struct history_options o = { .account_column = "grup" };
	struct error err;

	(void)state;
	assert_null(history_files_open(paths, 1, &o, &err));
	assert_int_equal(err.code, ERR_USAGE);
	assert_string_equal(err.hint, "did you mean 'group'?");
}

/* --- clusters -------------------------------------------------------------------------------- */

static void cluster_from_a_list(void **state)
{
	struct error err;
	struct conf *c = cluster_make(file(0, "node,count,cpus,mem_mb,gpus,gpu_type,gpu_mem_mb\n"
	                                      "big,3,96,1024,8,h100,81920\nold,,8,,2,,12288\n"),
	        true, &err);

	(void)state;
	assert_non_null(c);
	assert_int_equal(c->n_nodes, 4);
	assert_string_equal(c->nodes[1].name, "big-2");
	assert_int_equal(c->nodes[1].cpus, 96);
	assert_int_equal(c->nodes[1].mem_mb, 1024);
	assert_string_equal(c->nodes[3].name, "old");
	assert_int_equal(cluster_gpus(c), 26);
	assert_int_equal(CONF_FIND(c, gpu_types, "gpu-12G"), 1);
	assert_int_equal(c->gpu_types[0].mem_mb, 81920);
	assert_int_equal(c->n_partitions, 3);
	assert_string_equal(c->partitions[c->default_partition].name, "all");
	assert_int_equal(c->partitions[2].n_nodes, 1);
	assert_int_equal(cluster_largest(c, 0, UINT32_MAX), 8);
	assert_int_equal(cluster_largest(c, 0, 1), 2);
	assert_int_equal(cluster_largest(c, 2, 0), 0);
	/* more of them */
	assert_int_equal(cluster_add(c, "2:big-1", &err), 0);
	assert_int_equal(cluster_add(c, "1:l40s:4", &err), 0);
	assert_int_equal(c->n_nodes, 7);
	assert_string_equal(c->nodes[6].name, "added-3");
	assert_int_equal(c->nodes[6].cpus, 96);
	assert_int_equal(cluster_gpus(c), 26 + 16 + 4);
	assert_int_equal(c->partitions[0].n_nodes, 7);
	assert_int_equal(c->partitions[1].n_nodes, 5);
	assert_int_equal(c->partitions[2].n_nodes, 1);
	assert_string_equal(c->partitions[1].node_names, "added-[1-2],big-[1-3]");
	conf_free(c);
}

/* MIG instances that are demanded are GPUs of the nodes. */
static void cluster_that_is_cut(void **state)
{
	struct error err;
	struct conf *c = cluster_read(
	        file(0, "cluster = \"c\"; controller = { host = \"h\"; };\n"
	                "gpu_types = ( { name = \"h100\"; }, { name = \"1g\"; mig_of = \"h100\"; } "
	                ");\n"
	                "nodes = ( { name = \"m1\"; gpus = \"h100:2\"; mig = ( { gpus = \"2-3\"; "
	                "layout = "
	                "\"1g:7\"; }, { gpus = \"4\"; layout = \"1g:2\"; } ); } );\n"
	                "partitions = ( { name = \"p\"; nodes = \"ALL\"; default = true; } );\n"),
	        &err);

	(void)state;
	assert_non_null(c);
	assert_int_equal(cluster_gpus(c), 18);
	assert_int_equal(cluster_largest(c, 0, 1), 16);
	assert_int_equal(cluster_add(c, "2:m1", &err), 0);
	assert_int_equal(cluster_gpus(c), 3 * 18);
	cluster_prepare(c);
	conf_free(c);
}

static void cluster_refuses(void **state)
{
	static const struct {
		const char *text, *error;
	} rows[] = {
		{ "node,gpus\na b,8\n", ":2: node: " },
		{ "node,gpus\nn1,8\nn2,\n", ":3: gpus: blank" },
		{ "node,gpus\nn1,65\n", ":2: gpus \"65\": expected a number up to 64" },
		{ "node,gpus,gpu_type,gpu_mem_mb\na,1,t,5\nb,1,t,6\n",
		        ":3: gpu_mem_mb 6, and a row above gives t 5" },
		{ "node,gpus,count\na,1,40000\nb,1,40000\n", ":3: more than 65536 nodes" },
	}, added[] = {
		{ "4", "--add-nodes=4: expected N:NODE or N:TYPE:COUNT" },
		{ "1:nobody", "--add-nodes=1:nobody: there is no node of that name" },
		{ "0:n", "--add-nodes=0:n: must be 1 to 65536" },
		{ "1:h100:65", "--add-nodes=1:h100:65: must be 1 to 64" },
		{ "65536:n", "--add-nodes=65536:n: more than 65536 nodes" },
	};
	struct error err;
	struct conf *c;
	size_t i;

	(void)state;
	for (i = 0; i < LEN(rows); i++) {
		assert_null(cluster_make(file(0, rows[i].text), false, &err));
		assert_non_null(strstr(err.text, rows[i].error));
		unlink(path[0]);
	}
	c = cluster_make(file(0, "node,gpus\nn,1\n"), false, &err);
	for (i = 0; i < LEN(added); i++) {
		assert_int_equal(cluster_add(c, added[i].text, &err), -1);
		assert_string_equal(err.text, added[i].error);
		assert_int_equal(err.code, ERR_USAGE);
	}
	conf_free(c);
}

/* --- statistics ------------------------------------------------------------------------------ */

static void samples_are_exact(void **state)
{
	struct samples s = { .v = NULL };
	int64_t i;

	(void)state;
	assert_int_equal(samples_percentile(&s, 50), 0);
	assert_true(samples_mean(&s) == 0);
	for (i = 1; i <= 1000; i++)
		samples_add(&s, i * 7919 % 1000);
	assert_true(samples_mean(&s) == 499.5);
	assert_int_equal(samples_percentile(&s, 0), 0);
	assert_int_equal(samples_percentile(&s, 50), 500);
	assert_int_equal(samples_percentile(&s, 99), 990);
	assert_int_equal(samples_percentile(&s, 100), 999);
	samples_add(&s, -1); /* sorted anew */
	assert_int_equal(samples_percentile(&s, 0), -1);
	samples_clear(&s);
}

static void timeline_keeps_the_mean(void **state)
{
	struct timeline t;
	uint64_t chance = 3;
	double sum = 0, kept = 0;
	usec_t now = 0;
	size_t i;

	(void)state;
	timeline_init(&t);
	assert_int_equal(timeline_points(&t), 0);
	for (i = 0; i < 5000; i++) {
		usec_t step = (usec_t)random_below(&chance, 100000000);
		double level = (double)random_below(&chance, 50);

		sum += level * (double)step;
		now += step;
		timeline_pass(&t, now, level);
	}
	assert_true(timeline_points(&t) > TIMELINE_POINTS / 2);
	assert_true(timeline_points(&t) <= TIMELINE_POINTS);
	for (i = 0; i < timeline_points(&t); i++) {
		usec_t from = (usec_t)i * t.span, to = from + t.span < now ? from + t.span : now;

		kept += timeline_mean(&t, i) * (double)(to - from);
	}
	assert_true(kept > sum * 0.999999 && kept < sum * 1.000001);
}

static void timeline_follows_the_level(void **state)
{
	struct timeline t;

	(void)state;
	timeline_init(&t);
	timeline_pass(&t, 500000, 4);
	timeline_pass(&t, 1000000, 0);
	timeline_pass(&t, 2500000, 6);
	assert_int_equal(timeline_points(&t), 3);
	assert_true(timeline_mean(&t, 0) == 2);
	assert_true(timeline_mean(&t, 1) == 6);
	assert_true(timeline_mean(&t, 2) == 6);
	timeline_pass(&t, 128000000, 0); /* two seconds a point */
	assert_int_equal(t.span, 2000000);
	assert_true(timeline_mean(&t, 0) == 4);
	assert_true(timeline_mean(&t, 1) == 1.5);
}

static void measures_add_up(void **state)
{
	struct error first = { .code = ERR_JOB_NEVER, .text = "first" },
	             second = { .code = ERR_JOB_NEVER, .text = "second" },
	             other = { .code = ERR_LIMIT_JOBS, .text = "other" };
	struct measures m;

	(void)state;
	measures_init(&m, 8);
	measures_pass(&m, 10);
	m.used_milli = 4000;
	m.waiting = 2;
	measures_pass(&m, 30);
	m.waiting = 0;
	m.used_milli = 8000;
	measures_pass(&m, 40);
	assert_true(m.capacity_us == 320 && m.used_us == 160);
	assert_true(m.busy_capacity_us == 160 && m.busy_used_us == 80);
	assert_true(m.waiting_us == 40);
	assert_int_equal(m.most_waiting, 2);
	/* 25 s for a job that needed 2 s of run time: bounded by 10 s */
	measures_ended(&m, &(struct measured_end){ .state = "COMPLETED",
	                           .account = "a",
	                           .completion = 25000000,
	                           .work = 2000000,
	                           .gpu_us = 7 });
	measures_ended(&m, &(struct measured_end){ .state = "TIMEOUT",
	                           .account = "a",
	                           .completion = 5000000,
	                           .work = 5000000,
	                           .gpu_us = 1 });
	measures_ended(&m, &(struct measured_end){ .state = "COMPLETED",
	                           .account = "b",
	                           .completion = 60000000,
	                           .work = 20000000,
	                           .gpu_us = 5 });
	assert_int_equal(samples_percentile(&m.slowdown, 0), SLOWDOWN_UNIT);
	assert_int_equal(samples_percentile(&m.slowdown, 50), 2500);
	assert_int_equal(samples_percentile(&m.slowdown, 100), 3000);
	assert_int_equal(m.n_states, 2);
	assert_int_equal(m.states[0].jobs, 2);
	assert_int_equal(m.states[0].gpu_us, 12);
	measures_refused(&m, &first);
	measures_refused(&m, &other);
	measures_refused(&m, &second);
	assert_int_equal(m.refused, 3);
	assert_int_equal(m.n_refusals, 2);
	assert_int_equal(m.refusals[0].jobs, 2);
	assert_string_equal(m.refusals[0].text, "first");
	measures_clear(&m);
}

/* A tree of accounts: top (3) with left (1) and right (2), and side (1); and one not configured. */
static void shares_follow_the_tree(void **state)
{
	struct conf_account accounts[] = {
		{ .name = (char *)"top", .parent = CONF_NONE, .shares = 3 },
		{ .name = (char *)"side", .parent = CONF_NONE, .shares = 1 },
		{ .name = (char *)"left", .parent = 0, .depth = 1, .shares = 1 },
		{ .name = (char *)"right", .parent = 0, .depth = 1, .shares = 2 },
	};
	static const struct {
		const char *name;
		double promised, received;
		uint64_t jobs;
	} want[] = { { "top", 0.75, 0.5, 1 }, { "left", 0.25, 0.1, 0 }, { "right", 0.5, 0.4, 1 },
		{ "side", 0.25, 0.2, 0 }, { "guest", -1, 0.3, 0 } };
	struct conf conf = { .accounts = accounts, .n_accounts = LEN(accounts) };
	struct measures m;
	struct share *v;
	size_t n, i;

	(void)state;
	measures_init(&m, 1);
	measures_run_ended(&m, "guest", 30);
	measures_run_ended(&m, "right", 40);
	measures_run_ended(&m, "left", 10);
	measures_run_ended(&m, "side", 20);
	measures_ended(&m, &(struct measured_end){ .state = "COMPLETED",
	                           .account = "right",
	                           .completion = 1,
	                           .work = 1,
	                           .gpu_us = 40 });
	v = shares_make(&conf, &m, &n);
	assert_int_equal(n, LEN(want));
	for (i = 0; i < n; i++) {
		assert_string_equal(v[i].name, want[i].name);
		assert_true(v[i].promised == want[i].promised);
		assert_true(v[i].received > want[i].received - 1e-12 &&
		            v[i].received < want[i].received + 1e-12);
		assert_int_equal(v[i].jobs, want[i].jobs);
	}
	free(v);
	measures_clear(&m);
}

/* --- rivals ---------------------------------------------------------------------------------- */

/* Half of the tasks want half a GPU, half of them a whole one. */
static const struct history_job workload[] = {
	{ .gpu_type = "", .gpus = 1, .gpu_milli = 500, .cpus = 1 },
	{ .gpu_type = "", .gpus = 1, .gpu_milli = 1000, .cpus = 1 },
};

/* Node 0 has one GPU, node 1 two, of which one is half used. Half a GPU more: by FGD where half is
 * left, which is of no use to whole tasks: there the fragmentation falls from 250 to 0, elsewhere
 * it grows by 250. BestFit takes the node that has less left: 500 beside 1000. */
static void rivals_choose(void **state)
{
	static const struct {
		enum rival_kind kind;
		long node;
	} rows[] = { { RIVAL_FGD, 1 }, { RIVAL_BESTFIT, 0 } };
	const struct history_job of_b = {
		.gpu_type = "x|b", .gpus = 1, .gpu_milli = 500, .cpus = 1
	};
	const struct history_job large = {
		.gpu_type = "", .gpus = 1, .gpu_milli = 100, .cpus = 10
	};
	const struct history_job two = { .gpu_type = "", .gpus = 2, .gpu_milli = 1000, .cpus = 1 };
	const struct history_job unknown = { .gpu_type = "x", .gpus = 1, .gpu_milli = 100 };
	struct error err;
	struct conf *conf = cluster_make(
	        file(0, "node,count,cpus,gpus,gpu_type\nm,1,10,1,a\nn,1,10,2,b\n"), NULL, &err);
	uint64_t gpus;
	size_t i;

	(void)state;
	assert_non_null(conf);
	for (i = 0; i < LEN(rows); i++) {
		struct rival *r = rival_new(conf, rows[i].kind, workload, LEN(workload));

		assert_int_equal(rival_place(r, &of_b, &gpus), 1);
		assert_int_equal(gpus, 1);
		assert_int_equal(rival_place(r, &workload[0], &gpus), rows[i].node);
		assert_int_equal(gpus, 1);
		assert_int_equal(rival_place(r, &two, NULL), -1);
		assert_int_equal(rival_place(r, &unknown, NULL), -1);
		/* All CPUs are free where nothing has been put yet, if anywhere. */
		assert_int_equal(rival_place(r, &large, NULL), rows[i].node ? 0 : -1);
		rival_free(r);
	}
	rival_free(NULL);
	conf_free(conf);
}

#define TEST(f) cmocka_unit_test_teardown(f, teardown)
int main(void)
{
	const struct CMUnitTest tests[] = { TEST(csv_reads_fields), TEST(csv_names_bad_rows),
		TEST(csv_passes_over_long_lines), TEST(csv_refuses_heads), TEST(csv_sees_damage),
		TEST(csv_values), TEST(history_merges_files), TEST(history_fills_jobs),
		TEST(history_names_broken_rows), TEST(history_knows_its_columns),
		TEST(cluster_from_a_list), TEST(cluster_that_is_cut), TEST(cluster_refuses),
		TEST(samples_are_exact), TEST(timeline_keeps_the_mean),
		TEST(timeline_follows_the_level), TEST(measures_add_up),
		TEST(shares_follow_the_tree), TEST(rivals_choose) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
