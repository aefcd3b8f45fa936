/* test_job_filter.c - which jobs a request is about, and the walk over them in slices */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "common/base/xalloc.h"
#include "ctld/core/accounts/roles.c" /* the rest of the core is made up here */
#include "ctld/core/records/job.h"
#include "ctld/rpc/call/job_filter.h"

#define S(text) ((char *)(uintptr_t)(text))

static const struct label of_chat[] = { { "team", "x" }, { "service", "chat" } },
                          of_ocr[] = { { "service", "ocr" } };
static const struct job_view jobs[] = {
	{ .id = 1,
	        .uid = 1,
	        .account = "red",
	        .qos = "normal",
	        .user = "ana",
	        .partition = "batch",
	        .name = "a",
	        .state = "PENDING",
	        .node = "" },
	{ .id = 3,
	        .uid = 1,
	        .account = "blue",
	        .qos = "night",
	        .user = "ana",
	        .partition = "small",
	        .name = "b",
	        .state = "RUNNING",
	        .labels = of_chat,
	        .n_labels = 2,
	        .node = "n01" },
	{ .id = 4,
	        .uid = 2,
	        .account = "red",
	        .qos = "normal",
	        .user = "li",
	        .partition = "batch",
	        .name = "a",
	        .state = "RUNNING",
	        .labels = of_ocr,
	        .n_labels = 1,
	        .node = "n02" },
	{ .id = 7,
	        .uid = 2,
	        .account = "lab",
	        .qos = "normal",
	        .user = "li",
	        .partition = "batch",
	        .name = "c",
	        .state = "COMPLETED",
	        .node = "n01",
	        .ended = true },
	{ .id = 8,
	        .uid = 3,
	        .account = "blue",
	        .qos = "normal",
	        .user = "marc",
	        .partition = "batch",
	        .name = "a",
	        .state = "FAILED",
	        .node = "n03",
	        .ended = true },
};

#define N_JOBS (sizeof(jobs) / sizeof(jobs[0]))

static char *coordinators[] = { S("li") }, *others[] = { S("zoe") };
static struct conf_account accounts[] = {
	{ .name = S("lab"), .parent = CONF_NONE, .coordinators = { coordinators, 1 } },
	{ .name = S("red"), .parent = 0, .depth = 1 },
	{ .name = S("blue"), .parent = CONF_NONE, .coordinators = { others, 1 } },
};
static const struct conf conf = { .accounts = accounts, .n_accounts = 3 };

/* The core, as far as a walk asks it. */
bool core_job_next_brief(const struct core *core, uint64_t after, struct job_view *view)
{
	(void)core;
	for (size_t i = 0; i < N_JOBS; i++)
		if (jobs[i].id > job_ref_id(after)) {
			*view = jobs[i];
			view->ref = view->id;
			return true;
		}
	return false;
}

bool core_job_brief(const struct core *core, uint64_t id, struct job_view *view)
{
	return core_job_next_brief(core, id - 1, view) && view->id == id;
}

bool core_job_view(const struct core *core, uint64_t id, struct clocks now, struct job_view *view)
{
	(void)now;
	return core_job_brief(core, id, view);
}

/* The ids that fit, as "1 3 4", found in slices of no time at all: of a visit or a few each. */
static const char *walk(const struct filter *f)
{
	static char text[256];
	struct filter_walk w = { 0 };
	struct clocks now = { 0 };
	struct slice slice = slice_begin(0);
	struct job_view job;
	unsigned rounds = 0;
	size_t n = 0;

	text[0] = '\0';
	for (;;) {
		int found = filter_next(f, &w, NULL, now, &slice, &job);

		assert_true(++rounds < 1000);
		if (found == 0)
			return text;
		if (found < 0)
			slice = slice_begin(0);
		else
			n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%llu", n ? " " : "",
			        (unsigned long long)job.id);
	}
}

struct wish {
	const char *users[3], *accounts[3], *qos[3], *partitions[3], *states[3], *names[3],
	        *nodes[3], *services[3];
	uint64_t ids[4];
	bool ended;
	const char *want;
};

static size_t count(const char *const *v)
{
	size_t n = 0;

	while (n < 3 && v[n])
		n++;
	return n;
}

static Gpusched__JobFilter message(const struct wish *r)
{
	Gpusched__JobFilter m = GPUSCHED__JOB_FILTER__INIT;

#define LIST(field) m.field = (char **)(uintptr_t)r->field, m.n_##field = count(r->field)
	LIST(users);
	LIST(accounts);
	LIST(qos);
	LIST(partitions);
	LIST(states);
	LIST(names);
	LIST(nodes);
	LIST(services);
#undef LIST
	m.ids = (uint64_t *)(uintptr_t)r->ids;
	while (m.n_ids < 4 && r->ids[m.n_ids])
		m.n_ids++;
	m.include_ended = r->ended;
	return m;
}

static void test_what_fits(void **state)
{
	static const struct wish rows[] = {
		{ .want = "1 3 4" },
		{ .ended = true, .want = "1 3 4 7 8" },
		{ .users = { "ana" }, .want = "1 3" },
		{ .users = { "ana", "marc" }, .ended = true, .want = "1 3 8" },
		{ .users = { "an" }, .want = "" },
		{ .partitions = { "small" }, .want = "3" },
		{ .accounts = { "red" }, .want = "1 4" },
		{ .accounts = { "lab" }, .ended = true, .want = "1 4 7" }, /* and below it */
		{ .accounts = { "lab", "blue" }, .users = { "li" }, .want = "4" },
		{ .accounts = { "gone" }, .ended = true, .want = "" },
		{ .qos = { "night" }, .want = "3" },
		{ .qos = { "night", "x" }, .accounts = { "red" }, .want = "" },
		{ .ids = { 1, 3 }, .qos = { "night" }, .want = "3" },
		{ .names = { "a" }, .ended = true, .want = "1 4 8" },
		{ .nodes = { "n[01-02]" }, .want = "3 4" },
		{ .nodes = { "n03", "n01" }, .ended = true, .want = "3 7 8" },
		{ .states = { "RUNNING" }, .want = "3 4" },
		{ .states = { "r", "pd" }, .want = "1 3 4" },
		{ .states = { "Completed" }, .want = "7" }, /* asked for by name */
		{ .states = { "CD", "completed", "F" }, .want = "7 8" },
		{ .states = { "R" }, .users = { "li" }, .nodes = { "n02" }, .want = "4" },
		{ .states = { "R" }, .users = { "li" }, .nodes = { "n01" }, .want = "" },
		{ .ids = { 4, 1 }, .want = "1 4" },
		{ .ids = { 4, 4, 99, 1 }, .want = "1 4" },
		{ .ids = { 7 }, .want = "" },
		{ .ids = { 7 }, .ended = true, .want = "7" },
		{ .ids = { 1, 3 }, .partitions = { "small" }, .want = "3" },
		{ .ids = { 99 }, .want = "" },
		{ .services = { "chat" }, .want = "3" },
		{ .services = { "*" }, .want = "3 4" },
		{ .services = { "chat", "gone" }, .users = { "li" }, .want = "" },
		{ .services = { "gone" }, .want = "" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		Gpusched__JobFilter m = message(&rows[i]);
		struct error err;
		struct filter *f = filter_new(&m, &conf, &err);

		assert_non_null(f);
		for (unsigned budget = 1; budget < 8; budget++)
			if (strcmp(walk(f), rows[i].want) != 0)
				fail_msg("row %zu: '%s', not '%s'", i, walk(f),
				        rows[i].want);
		filter_free(f);
	}
}

static void test_nothing_given(void **state)
{
	struct filter *f = filter_new(NULL, &conf, NULL);

	(void)state;
	assert_string_equal(walk(f), "1 3 4");
	filter_free(f);
}

/* What is not in sight is not there: neither found nor known, whatever is asked. */
static void test_sight(void **state)
{
	static const struct wish all = { .ended = true }, named = { .ids = { 1, 4, 8 } };
	static const struct {
		struct caller caller;
		const char *all, *named;
		size_t known;
	} rows[] = {
		{ { .uid = 1, .user = "ana" }, "1 3", "1", 1 },
		{ { .uid = 2, .user = "li" }, "1 4 7", "1 4", 2 },
		{ { .uid = 9, .user = "zoe" }, "3 8", "", 1 },
		{ { .uid = 8, .user = "eve" }, "", "", 0 },
		{ { .uid = 8, .user = "eve", .role = ROLE_OPERATOR }, "1 3 4 7 8", "1 4", 3 },
		{ { .uid = 8, .user = "eve", .role = ROLE_ADMIN }, "1 3 4 7 8", "1 4", 3 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		Gpusched__JobFilter m = message(&all), n = message(&named);
		struct filter *f = filter_new(&m, &conf, NULL);
		struct filter_walk known = { 0 };
		struct job_view view;
		struct slice slice = slice_begin(INT32_MAX);

		assert_string_equal(walk(f), "1 3 4 7 8");
		filter_see_only(f, visibility_new(&conf, &rows[i].caller, false));
		assert_string_equal(walk(f), "1 3 4 7 8");
		filter_see_only(f, visibility_new(&conf, &rows[i].caller, true));
		assert_string_equal(walk(f), rows[i].all);
		filter_free(f);
		f = filter_new(&n, &conf, NULL);
		filter_see_only(f, visibility_new(&conf, &rows[i].caller, true));
		assert_string_equal(walk(f), rows[i].named);
		while (filter_next(f, &known, NULL, (struct clocks){ 0 }, &slice, &view) > 0)
			;
		assert_int_equal(known.known, rows[i].known);
		filter_free(f);
	}
}

static void test_only_ids(void **state)
{
	static const struct wish named = { .ids = { 9, 4, 9 } };
	static const struct wish more = { .ids = { 9, 4 }, .users = { "ana" } };
	Gpusched__JobFilter m = message(&named);
	struct filter *f = filter_new(&m, &conf, NULL);
	const struct filter_named *ids;
	size_t n;

	(void)state;
	ids = filter_only_named(f, &n);
	assert_int_equal(n, 2);
	assert_int_equal(ids[0].id, 4);
	assert_int_equal(ids[1].id, 9);
	filter_free(f);
	m = message(&more);
	f = filter_new(&m, &conf, NULL);
	assert_null(filter_only_named(f, &n));
	assert_int_equal(n, 0);
	ids = filter_named(f, &n);
	assert_int_equal(n, 2);
	assert_int_equal(ids[0].id, 4);
	filter_free(f);
}

static void test_refused(void **state)
{
	static const struct {
		struct wish row;
		const char *part;
	} rows[] = {
		{ { .states = { "RUNING" } }, "'RUNING' is no state" },
		{ { .states = { "R", "\x1b[2J" } }, "\\x1B[2J" },
		{ { .nodes = { "n[0-4294967295]" } }, "n[0-4294967295]" },
		{ { .nodes = { "n[1-2" } }, "nodes: " },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		Gpusched__JobFilter m = message(&rows[i].row);
		struct error err = { 0 };

		assert_null(filter_new(&m, &conf, &err));
		if (err.code != ERR_USAGE || !strstr(err.text, rows[i].part))
			fail_msg("row %zu: %d %s", i, err.code, err.text);
	}
}

/* An account with a thousand below it, named a thousand times in one request: what the controller
 * keeps of that is each of them once, also while it is read. */
static void test_named_often(void **state)
{
	enum { MANY = 1000 };
	struct conf_account *tree = xcalloc(MANY + 2, sizeof(*tree));
	struct conf many = { .accounts = tree, .n_accounts = MANY + 2 };
	char names[MANY][8], *named[MANY];
	Gpusched__JobFilter m = GPUSCHED__JOB_FILTER__INIT;
	struct job_view in = jobs[0], out = jobs[0];
	struct filter *f;

	(void)state;
	tree[0].name = S("lab");
	for (size_t i = 0; i < MANY; i++) {
		snprintf(names[i], sizeof(names[i]), "a%zu", i);
		tree[i + 1] = (struct conf_account){ .name = names[i], .depth = 1 + i % 5 };
		named[i] = i % 2 ? S("lab") : S("a0");
	}
	tree[MANY + 1] = (struct conf_account){ .name = S("blue") };
	m.accounts = named;
	m.n_accounts = MANY;
	f = filter_new(&m, &many, NULL);
	assert_non_null(f);
	assert_true(filter_size(f) < (size_t)64 * MANY);
	in.account = "a999";
	out.account = "blue";
	assert_true(filter_fits(f, &in));
	assert_false(filter_fits(f, &out));
	filter_free(f);
	free(tree);
}

/* Tasks of one array, named one by one and again: what that costs is bounded by the bytes. */
static void test_tasks_named_often(void **state)
{
	enum { MANY = 6400, DIFFERENT = 4000 };
	Gpusched__JobTasks *tasks = xcalloc(MANY, sizeof(*tasks)), **v = xcalloc(MANY, sizeof(*v));
	char (*texts)[16] = xcalloc(MANY, sizeof(*texts));
	Gpusched__JobFilter m = GPUSCHED__JOB_FILTER__INIT;
	const struct filter_named *named;
	clock_t began = clock();
	struct filter *f;
	struct error err = { 0 };
	size_t n;

	(void)state;
	for (size_t i = 0; i < MANY; i++) {
		gpusched__job_tasks__init(&tasks[i]);
		snprintf(texts[i], sizeof(texts[i]), "%zu", 2 * (i % DIFFERENT));
		tasks[i].tasks = texts[i];
		tasks[i].job = i == 7 ? 3 : 9;
		v[i] = &tasks[i];
	}
	m.tasks = v;
	m.n_tasks = MANY;
	f = filter_new(&m, &conf, &err);
	assert_non_null(f);
	named = filter_only_named(f, &n);
	assert_int_equal(n, 2);
	assert_int_equal(named[0].tasks.count, 1);
	assert_int_equal(named[1].tasks.count, DIFFERENT);
	filter_free(f);
	for (size_t i = 0; i < MANY; i++)
		snprintf(texts[i], sizeof(texts[i]), "0-3999998:2");
	f = filter_new(&m, &conf, &err);
	assert_non_null(f);
	filter_free(f);
	snprintf(texts[0], sizeof(texts[0]), "1-3999999:3");
	assert_null(filter_new(&m, &conf, &err));
	assert_string_equal(err.text, "tasks of job 9: too many ranges, or they lie over each other "
	                              "too often: write it with fewer");
	assert_true(clock() - began < CLOCKS_PER_SEC / 2);
	free(tasks);
	free(v);
	free(texts);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_fits),
		cmocka_unit_test(test_nothing_given),
		cmocka_unit_test(test_sight),
		cmocka_unit_test(test_only_ids),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_named_often),
		cmocka_unit_test(test_tasks_named_often),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
