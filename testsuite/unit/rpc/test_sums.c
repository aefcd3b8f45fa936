/* test_sums.c - reports: the parts of a run add up to it, accounts count what is below them */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ctld/rpc/acct/acct_sums.h"

#define SECOND ((int64_t)1000000)
#define DAY    (86400 * SECOND)

static struct conf_account tree[] = {
	{ .name = (char *)"lab", .parent = CONF_NONE, .depth = 0, .shares = 3 },
	{ .name = (char *)"red", .parent = 0, .depth = 1, .shares = 1 },
	{ .name = (char *)"blue", .parent = 0, .depth = 1, .shares = 1 },
	{ .name = (char *)"rest", .parent = CONF_NONE, .depth = 0, .shares = 1 },
};
static struct conf_qos qos[] = { { .name = (char *)"quick", .max_wait_s = 60 } };
static const struct conf conf = { .accounts = tree, .n_accounts = 4, .qos = qos, .n_qos = 1 };

static Gpusched__Acct job_at(
        uint64_t id, const char *account, Gpusched__AcctRun *run, Gpusched__AcctRun **runs)
{
	Gpusched__Acct job = GPUSCHED__ACCT__INIT;

	*runs = run;
	job.id = id;
	job.account = (char *)account;
	job.user = (char *)"ann";
	job.runs = runs;
	job.n_runs = 1;
	job.first_start_time = run->start_time;
	job.wait_s = id;
	return job;
}

static Gpusched__AcctRun run_at(const char *account, int64_t start, uint64_t held_us, unsigned gpus)
{
	Gpusched__AcctRun run = GPUSCHED__ACCT_RUN__INIT;

	run.account = (char *)account;
	run.gpu_type = (char *)"h100";
	run.start_time = start;
	run.end_time = start + (int64_t)held_us;
	run.held_us = held_us;
	run.cpus = 3;
	run.gpu_us = gpus * held_us;
	run.cost = 7;
	return run;
}

static const Gpusched__ReportLine *find(Gpusched__ReportLine **lines, size_t n, const char *first)
{
	for (size_t i = 0; i < n; i++)
		if (first ? lines[i]->n_keys && !strcmp(lines[i]->keys[0], first)
		          : !lines[i]->n_keys)
			return lines[i];
	return NULL;
}

static struct sums *sums_by(const char *by, int64_t since, int64_t until)
{
	struct error err;
	char *names[] = { (char *)by };
	struct sums *s = sums_new(names, 1, since, until, &conf, &err);

	assert_non_null(s);
	return s;
}

/* A run of odd length over days of UTC: by day, and in windows that meet, nothing is lost. */
static void test_parts_add_up(void **state)
{
	struct arena *arena = arena_new(1 << 20);
	Gpusched__AcctRun run = run_at("red", 100 * DAY + 77 * SECOND + 5, 3 * DAY + 12345677, 7);
	Gpusched__AcctRun *runs;
	Gpusched__Acct job = job_at(1, "red", &run, &runs);
	struct sums *days = sums_by("day", 0, 0);
	Gpusched__ReportLine **lines;
	uint64_t gpu_us = 0, cpu_us = 0;
	struct error err;
	size_t n;

	(void)state;
	sums_add(days, &job);
	assert_int_equal(sums_lines(days, arena, &lines, &n, &err), 0);
	assert_int_equal(n, 5);
	for (size_t i = 0; i + 1 < n; i++) {
		gpu_us += lines[i]->gpu_us;
		cpu_us += lines[i]->cpu_us;
	}
	assert_int_equal(gpu_us, run.gpu_us);
	assert_int_equal(cpu_us, 3 * run.held_us);
	assert_int_equal(lines[4]->gpu_us, run.gpu_us);
	assert_int_equal(lines[4]->jobs, 1);
	assert_true(lines[4]->cost > 6.999999 && lines[4]->cost < 7.000001);
	sums_free(days);

	gpu_us = 0;
	for (int64_t from = 99 * DAY; from < 106 * DAY; from += DAY / 7) {
		struct sums *s = sums_by("user", from, from + DAY / 7);

		sums_add(s, &job);
		assert_int_equal(sums_lines(s, arena, &lines, &n, &err), 0);
		gpu_us += lines[n - 1]->gpu_us;
		sums_free(s);
	}
	assert_int_equal(gpu_us, run.gpu_us);
	arena_free(arena);
}

/* Days of 23, 24 and 25 hours, also where midnight itself is left out: each run's time is told of
 * the day that the clock shows then. */
static void test_days_of_the_clock(void **state)
{
	static const char *const zones[] = { "EST5EDT,M3.2.0,M11.1.0",
		"<-03>3<-02>,M11.1.0/0,M2.3.0/0", "EET-2EEST,M3.5.0/0,M10.5.0/0", "UTC0" };
	const time_t hour = 3600, begin = 1514764800; /* 2018-01-01 UTC */

	(void)state;
	for (size_t z = 0; z < sizeof(zones) / sizeof(zones[0]); z++) {
		setenv("TZ", zones[z], 1);
		tzset();
		for (time_t at = begin + 5 * hour; at < begin + 360 * 24 * hour; at += 37 * hour) {
			Gpusched__AcctRun run = run_at("red", at * SECOND, 49 * 3600 * SECOND, 1),
			                  *runs;
			Gpusched__Acct job = job_at(1, "red", &run, &runs);
			struct arena *arena = arena_new(1 << 20);
			struct sums *s = sums_by("day", 0, 0);
			Gpusched__ReportLine **lines;
			struct error err;
			size_t n;

			sums_add(s, &job);
			assert_int_equal(sums_lines(s, arena, &lines, &n, &err), 0);
			assert_in_range(n, 3 + 1, 4 + 1);
			for (size_t i = 0; i + 1 < n; i++) {
				uint64_t hours = 0;

				for (time_t t = at; t < at + 49 * hour; t += hour) {
					char day[32];
					struct tm tm;

					localtime_r(&t, &tm);
					strftime(day, sizeof(day), "%Y-%m-%d", &tm);
					hours += !strcmp(day, lines[i]->keys[0]);
				}
				assert_int_equal(lines[i]->gpu_us, hours * 3600 * SECOND);
			}
			sums_free(s);
			arena_free(arena);
		}
	}
	setenv("TZ", "UTC0", 1);
	tzset();
}

static void test_accounts_nest(void **state)
{
	struct arena *arena = arena_new(1 << 20);
	struct sums *s = sums_by("account", 0, 0);
	static const char *const names[] = { "red", "blue", "rest", "gone" };
	Gpusched__ReportLine **lines;
	struct error err;
	size_t n;

	(void)state;
	for (uint64_t i = 0; i < 4; i++) {
		Gpusched__AcctRun run = run_at(names[i], DAY, (i + 1) * 1000, 2), *runs;
		Gpusched__Acct job = job_at(i + 1, names[i], &run, &runs);

		sums_add(s, &job);
	}
	assert_int_equal(sums_lines(s, arena, &lines, &n, &err), 0);
	assert_int_equal(n, 6);
	assert_string_equal(lines[0]->keys[0], "lab"); /* as the tree has them */
	assert_string_equal(lines[1]->keys[0], "red");
	assert_int_equal(lines[1]->depth, 1);
	assert_int_equal(find(lines, n, "red")->gpu_us, 2000);
	assert_int_equal(find(lines, n, "lab")->gpu_us, 6000);
	assert_int_equal(find(lines, n, "lab")->jobs, 2);
	assert_int_equal(find(lines, n, "gone")->gpu_us, 8000);
	assert_int_equal(find(lines, n, NULL)->gpu_us, 20000);
	assert_true(find(lines, n, "lab")->share == 0.75 && find(lines, n, "lab")->used == 0.5);
	assert_true(find(lines, n, "red")->share == 0.5);
	sums_free(s);
	arena_free(arena);
}

/* Percentiles are right to 3 percent, and wishes are the job's own or its QOS's. */
static void test_waits(void **state)
{
	struct arena *arena = arena_new(1 << 20);
	struct sums *s = sums_by("user", DAY, 2 * DAY);
	Gpusched__ReportLine **lines;
	struct error err;
	size_t n;

	(void)state;
	for (uint64_t i = 1; i <= 1000; i++) {
		Gpusched__AcctRun run = run_at("red", DAY, 10, 1), *runs;
		Gpusched__Acct job = job_at(i, "red", &run, &runs);

		job.qos = (char *)(i % 2 ? "quick" : "");
		job.max_wait_s = i == 1000 ? 5000 : 0;
		job.wait_s = i * 37;
		sums_add(s, &job);
		job.first_start_time = DAY - 1; /* not in the window */
		job.n_runs = 0;
		sums_add(s, &job);
	}
	assert_int_equal(sums_lines(s, arena, &lines, &n, &err), 0);
	assert_int_equal(lines[0]->started, 1000);
	assert_in_range(lines[0]->wait_p50_s, 500 * 37, 500 * 37 * 104 / 100);
	assert_in_range(lines[0]->wait_p95_s, 950 * 37, 37000);
	assert_int_equal(lines[0]->wait_max_s, 37000);
	assert_int_equal(lines[0]->targets, 501);
	assert_int_equal(lines[0]->in_target, 1); /* the first of the quick ones */
	sums_free(s);
	arena_free(arena);
}

/* Of each type: what was given, and what there was, cut to the window. */
static void test_capacity(void **state)
{
	static const struct {
		int64_t since, until, now;
		uint64_t given, there; /* in hours */
		bool late;             /* some was given before anybody knew what there was */
	} rows[] = {
		{ 0, 0, 100, 10 * 8, 60 * 8 + 30 * 16, false }, /* 10-70: 8, 70-100: 16 */
		{ 20, 80, 100, 0, 50 * 8 + 10 * 16, false }, { 75, 0, 85, 0, 10 * 16, false },
		{ 0, 15, 100, 5 * 8, 5 * 8, false }, { 200, 0, 200, 0, 0, false },
		{ 0, 0, 0, 10 * 8, 60 * 8, false }, /* a file: to the last that is in it */
	};
	const int64_t hour = 3600 * SECOND;
	(void)state;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct sums *s = sums_by("user", rows[i].since * hour, rows[i].until * hour);
		struct arena *arena = arena_new((size_t)1 << 40);
		Gpusched__AcctRun run = run_at("a", 10 * hour, 10 * (uint64_t)hour, 8), *runs;
		Gpusched__Acct job = job_at(1, "a", &run, &runs);
		Gpusched__ReportType **types;
		size_t n, want = rows[i].given || rows[i].there;

		sums_add(s, &job);
		sums_capacity(s, 10 * hour, "h100:8");
		sums_capacity(s, 70 * hour, "l40s:0,h100:16");
		sums_types(s, rows[i].now * hour, arena, &types, &n);
		assert_int_equal(n, want);
		if (want) {
			assert_string_equal(types[0]->type, "h100");
			assert_int_equal(types[0]->gpu_us, rows[i].given * (uint64_t)hour);
			assert_int_equal(types[0]->capacity_us, rows[i].there * (uint64_t)hour);
			assert_int_equal(types[0]->known_since_time != 0, rows[i].late);
		}
		sums_free(s);
		arena_free(arena);
	}
}

/* It is said where more was given than anybody knew to be there; odd texts do no harm. */
static void test_capacity_not_known(void **state)
{
	struct sums *s = sums_by("user", 0, 0);
	struct arena *arena = arena_new((size_t)1 << 40);
	Gpusched__AcctRun run = run_at("a", 10 * SECOND, 600 * SECOND, 1), *runs;
	Gpusched__Acct job = job_at(1, "a", &run, &runs);
	Gpusched__ReportType **types;
	size_t n;
	(void)state;

	sums_add(s, &job);
	sums_capacity(s, 300 * SECOND, "");
	sums_capacity(s, 300 * SECOND, ",,x,:3,h100:2");
	sums_capacity(s, 500 * SECOND, "");
	sums_types(s, 1000 * SECOND, arena, &types, &n);
	assert_int_equal(n, 1);
	assert_int_equal(types[0]->capacity_us, 2 * 200 * SECOND);
	assert_int_equal(types[0]->known_since_time, 300 * SECOND);
	sums_free(s);
	arena_free(arena);
}

/* Of what was sampled so much was idle, and cost its part: in the window alone. */
static void test_idle_while_held(void **state)
{
	const int64_t hour = 3600 * SECOND;
	(void)state;

	for (int64_t since = 0; since <= 15; since += 15) {
		struct sums *s = sums_by("user", since * hour, 0);
		struct arena *arena = arena_new((size_t)1 << 40);
		Gpusched__RunUsed used = GPUSCHED__RUN_USED__INIT;
		Gpusched__AcctRun run = run_at("a", 10 * hour, 10 * (uint64_t)hour, 8), *runs;
		Gpusched__Acct job = job_at(1, "a", &run, &runs);
		uint64_t part = since ? 2 : 1;
		Gpusched__ReportType **types;
		size_t n;

		used.gpu_seen_us = run.gpu_us;
		used.gpu_idle_us = run.gpu_us / 4;
		run.used = &used;
		run.cost = 100;
		sums_add(s, &job);
		sums_types(s, 30 * hour, arena, &types, &n);
		assert_int_equal(n, 1);
		assert_int_equal(types[0]->gpu_seen_us, run.gpu_us / part);
		assert_int_equal(types[0]->gpu_idle_us, run.gpu_us / 4 / part);
		assert_true(types[0]->idle_cost * (double)part > 24.9 &&
		            types[0]->idle_cost * (double)part < 25.1);
		sums_free(s);
		arena_free(arena);
	}
}

/* Only what has answered them counts for their cost. */
static void test_requests(void **state)
{
	const int64_t hour = 3600 * SECOND;
	struct sums *s = sums_by("user", 15 * hour, 0);
	struct arena *arena = arena_new(1 << 20);
	Gpusched__AcctRun serves = run_at("a", 10 * hour, 10 * (uint64_t)hour, 1),
	                  batch = run_at("a", 10 * hour, 10 * (uint64_t)hour, 1), *runs[2];
	Gpusched__Acct jobs[2] = { job_at(1, "a", &serves, &runs[0]),
		job_at(2, "a", &batch, &runs[1]) };
	Gpusched__ReportLine **lines;
	struct error err;
	size_t n;

	(void)state;
	serves.requests = 3000;
	serves.tokens = 100000;
	for (size_t i = 0; i < 2; i++)
		sums_add(s, &jobs[i]);
	assert_int_equal(sums_lines(s, arena, &lines, &n, &err), 0);
	assert_int_equal(n, 2);
	for (size_t i = 0; i < n; i++) { /* of the user, and of all: half of its time */
		assert_int_equal(lines[i]->requests, 1500);
		assert_int_equal(lines[i]->tokens, 50000);
		assert_true(lines[i]->request_cost > 3.49 && lines[i]->request_cost < 3.51);
		assert_true(lines[i]->cost > 6.99 && lines[i]->cost < 7.01);
	}
	sums_free(s);
	arena_free(arena);
}

/* Who had a quarter of a GPU and left it idle has idled away a quarter of its time, and counts so
 * in the mean. */
static void test_idle_parts(void **state)
{
	const int64_t hour = 3600 * SECOND;
	const uint64_t held_us = 10 * (uint64_t)hour;
	struct sums *s = sums_by("user", 0, 0);
	struct arena *arena = arena_new(1 << 20);
	Gpusched__RunUsed idle = GPUSCHED__RUN_USED__INIT, busy = GPUSCHED__RUN_USED__INIT;
	Gpusched__AcctRun part = run_at("a", 10 * hour, held_us, 1),
	                  whole = run_at("a", 10 * hour, held_us, 1), *runs[2];
	Gpusched__Acct jobs[2] = { job_at(1, "a", &part, &runs[0]),
		job_at(2, "a", &whole, &runs[1]) };
	Gpusched__ReportLine **lines;
	Gpusched__ReportType **types;
	struct error err;
	size_t n;

	(void)state;
	idle.gpu_seen_us = idle.gpu_idle_us = busy.gpu_seen_us = held_us;
	busy.gpu_busy_us = held_us / 2;
	part.gpu_us = held_us / 4;
	part.n_gpus = whole.n_gpus = 1;
	part.used = &idle;
	whole.used = &busy;
	for (size_t i = 0; i < 2; i++)
		sums_add(s, &jobs[i]);
	assert_int_equal(sums_lines(s, arena, &lines, &n, &err), 0);
	for (size_t i = 0; i < n; i++) { /* of the user, and of all */
		assert_int_equal(lines[i]->gpu_us, held_us / 4 + held_us);
		assert_int_equal(lines[i]->gpu_seen_us, lines[i]->gpu_us);
		assert_int_equal(lines[i]->gpu_busy_us, held_us / 2);
		assert_int_equal(lines[i]->gpu_idle_us, held_us / 4);
		assert_true(lines[i]->idle_cost > 6.99 && lines[i]->idle_cost < 7.01);
	}
	sums_types(s, 30 * hour, arena, &types, &n);
	assert_int_equal(n, 1);
	assert_int_equal(types[0]->gpu_seen_us, types[0]->gpu_us);
	assert_int_equal(types[0]->gpu_idle_us, held_us / 4);
	sums_free(s);
	arena_free(arena);
}

static void test_refusals(void **state)
{
	static char *bad[][2] = { { (char *)"label:", NULL }, { (char *)"nosuch", NULL } };
	struct error err;

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		assert_null(sums_new(bad[i], 1, 0, 0, &conf, &err));
		assert_int_equal(err.code, ERR_USAGE);
	}
	assert_null(sums_new(bad[0], 0, 0, 0, &conf, &err));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parts_add_up),
		cmocka_unit_test(test_days_of_the_clock),
		cmocka_unit_test(test_accounts_nest),
		cmocka_unit_test(test_waits),
		cmocka_unit_test(test_capacity),
		cmocka_unit_test(test_capacity_not_known),
		cmocka_unit_test(test_idle_while_held),
		cmocka_unit_test(test_idle_parts),
		cmocka_unit_test(test_requests),
		cmocka_unit_test(test_refusals),
	};

	setenv("TZ", "UTC", 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
