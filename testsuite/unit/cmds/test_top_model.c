/* test_top_model.c - cmds/top/model/: what gtop knows, without a terminal and a controller */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "cmds/top/model/accounts.h"
#include "cmds/top/model/cursor.h"
#include "cmds/top/model/filter_and_order.h"
#include "cmds/top/model/gpu_map.h"
#include "common/base/xalloc.h"
#include "common/net/msg.h"
#include "testsuite/unit/lib/top.h"

#define S      INT64_C(1000000)
#define NOW_US (INT64_C(1795000000) * S)

/* --- jobs ------------------------------------------------------------------------------------- */

static void test_keys(void **state)
{
	struct top_job_say say = { .id = 12, .state = "RUNNING" };
	char text[JOB_KEY_TEXT];
	struct top_job *job;

	(void)state;
	job = top_make_job(&say, NOW_US);
	assert_string_equal(job_key_text(text, job->key), "12");
	free(job);
	say.tasks = "0"; /* it is another one than the job of that id */
	job = top_make_job(&say, NOW_US);
	assert_string_equal(job_key_text(text, job->key), "12_0");
	assert_int_equal(job->key.part, 1);
	free(job);
	say = (struct top_job_say){
		.id = 12, .state = "PENDING", .tasks = "3-9", .several = true, .task_count = 7
	};
	job = top_make_job(&say, NOW_US);
	assert_int_equal(job->key.part, JOB_WAITING_TASKS);
	assert_int_equal(job->tasks, 7);
	assert_false(job->over);
	free(job);
	say.task_count = 0; /* all of its tasks have started */
	job = top_make_job(&say, NOW_US);
	assert_true(job->over);
	free(job);
}

/* A clock of this host counts on from what the controller said. */
static void test_elapsed(void **state)
{
	struct top_job_say say = { .id = 1, .state = "RUNNING", .elapsed_s = 100, .limit_s = 600 };
	struct top_job *job = top_make_job(&say, NOW_US);
	Gpusched__Job *m;

	(void)state;
	assert_int_equal(top_job_elapsed_s(job, NOW_US + 7 * S), 107);
	m = top_job_unpack(job, NOW_US + 20 * S);
	assert_int_equal(m->elapsed_s, 120);
	gpusched__job__free_unpacked(m, NULL);
	free(job);
}

/* Against a table that is too simple to be wrong. */
static void test_hash(void **state)
{
	enum { IDS = 300, STEPS = 20000 };
	bool there[IDS] = { false };
	struct jobs jobs = { 0 };
	size_t n = 0;
	unsigned seed = 7;

	(void)state;
	for (size_t step = 0; step < STEPS; step++) {
		uint64_t id = (uint64_t)rand_r(&seed) % IDS;
		struct top_job_say say = { .id = id, .state = "PENDING" };

		if (rand_r(&seed) % 3) {
			jobs_put(&jobs, top_make_job(&say, NOW_US));
			n += !there[id];
			there[id] = true;
		} else {
			jobs_remove(&jobs, (struct job_key){ id, 0 });
			n -= there[id];
			there[id] = false;
		}
		assert_int_equal(jobs.n, n);
		id = (uint64_t)rand_r(&seed) % IDS;
		assert_int_equal(jobs_find(&jobs, (struct job_key){ id, 0 }) != NULL, there[id]);
	}
	jobs_clear(&jobs);
}

/* --- the model -------------------------------------------------------------------------------- */

static void hear(
        struct model *m, bool fresh, bool complete, const struct top_job_say *say, size_t n)
{
	model_apply(m, top_jobs_update(say, n, fresh, complete, NOW_US));
}

static bool knows(const struct model *m, uint64_t id)
{
	return jobs_find(&m->jobs, (struct job_key){ id, 0 }) != NULL;
}

/* A listing that begins anew leaves what was there until it is complete. */
static void test_rounds(void **state)
{
	const struct top_job_say both[] = { { .id = 1, .state = "RUNNING" },
		{ .id = 2, .state = "PENDING" } },
	                         ended[] = { { .id = 1, .state = "COMPLETED" } },
	                         other[] = { { .id = 3, .state = "PENDING" } };
	struct model m = { 0 };

	(void)state;
	hear(&m, true, false, both, 2);
	assert_false(m.loaded);
	hear(&m, false, true, NULL, 0);
	assert_true(m.loaded);
	assert_int_equal(m.jobs.n, 2);
	hear(&m, false, true, ended, 1);
	assert_false(knows(&m, 1));
	hear(&m, true, false, other, 1);
	assert_true(knows(&m, 2) && knows(&m, 3));
	hear(&m, false, true, NULL, 0);
	assert_false(knows(&m, 2));
	assert_true(knows(&m, 3));
	model_clear(&m);
}

static void test_sums(void **state)
{
	const struct top_job_say say[] = {
		{ .id = 1, .state = "RUNNING", .elapsed_s = 100, .limit_s = 600 },
		{ .id = 2, .state = "RUNNING", .elapsed_s = 10, .limit_s = 60 },
		{ .id = 3, .state = "RUNNING" }, /* without a limit */
		{ .id = 4, .state = "PENDING", .submit_us = NOW_US - 50 * S },
		{ .id = 5,
		        .state = "PENDING",
		        .tasks = "1-9",
		        .several = true,
		        .task_count = 9,
		        .submit_us = NOW_US - 90 * S },
		{ .id = 6,
		        .state = "PENDING",
		        .reason = "NotWanted",
		        .submit_us = NOW_US - 900 * S },
	};
	struct job_sums sums;
	struct model m = { 0 };

	(void)state;
	hear(&m, true, true, say, 6);
	model_sums(&m, &sums);
	assert_int_equal(sums.running, 3);
	assert_int_equal(sums.waiting, 10);
	assert_int_equal(sums.oldest_us, NOW_US - 90 * S);
	assert_int_equal(sums.next.id, 2);
	assert_int_equal(sums.next_us, NOW_US + 50 * S);
	model_clear(&m);
}

/* --- GPUs ------------------------------------------------------------------------------------- */

static void test_marks(void **state)
{
	const struct top_gpu_say say[] = {
		{ .state = "free" },
		{ .state = "whole", .job = 1, .known = true, .pct = 91 },
		{ .state = "whole", .job = 2, .known = true, .pct = 4 },
		{ .state = "whole", .job = 3 },
		{ .state = "shared", .job = 4 },
		{ .state = "draining", .job = 5 },
		{ .state = "missing" },
		{ .state = "trouble" },
	};
	static const char letters[] = ".Bihsd!!";
	Gpusched__Node *node = top_make_node("n1", "mixed", say, 8);
	enum look look;

	(void)state;
	for (size_t i = 0; i < 8; i++)
		assert_int_equal(gpu_marks[map_gpu(node, node->devices[i])].letter, letters[i]);
	assert_int_equal(map_node_letter(node, &look), '!');
	free(node->state);
	node->state = xstrdup("down");
	assert_int_equal(map_gpu(node, node->devices[0]), MARK_SILENT);
	assert_int_equal(map_node_letter(node, &look), '?');
	free(node->state);
	node->state = xstrdup("drained"); /* what is free there is free for no job */
	assert_int_equal(map_gpu(node, node->devices[0]), MARK_DRAINED);
	gpusched__node__free_unpacked(node, NULL);
}

static void test_types(void **state)
{
	const struct top_gpu_say a[] = { { .state = "free" }, { .state = "free" },
		{ .state = "whole", .job = 1, .known = true, .pct = 0 } },
	                         b[] = { { .state = "free" }, { .state = "drained" } };
	struct update *u = update_new(UPDATE_NODES, NOW_US);
	struct model m = { 0 };
	struct map_type *types;
	size_t n;

	(void)state;
	update_add(u, &top_make_node("n10", "mixed", b, 2)->base);
	update_add(u, &top_make_node("n2", "mixed", a, 3)->base);
	model_apply(&m, u);
	assert_string_equal(model_node(&m, 0)->name, "n2"); /* as people count */
	types = map_types(m.nodes.v, m.nodes.n, &n);
	assert_int_equal(n, 1);
	assert_int_equal(types[0].total, 5);
	assert_int_equal(types[0].free, 3);
	assert_int_equal(types[0].largest, 2);
	assert_string_equal(types[0].largest_node, "n2");
	assert_int_equal(types[0].count[MARK_IDLE], 1);
	free(types);
	model_clear(&m);
}

/* The use of GPUs is that of their job, and stays when the job changes. */
static void test_use(void **state)
{
	const struct top_gpu_say gpus[] = {
		{ .state = "whole", .job = 1, .known = true, .pct = 80, .mem_mb = 1000 },
		{ .state = "whole", .job = 1, .known = true, .pct = 40, .mem_mb = 3000 }
	};
	const struct top_job_say job[] = { { .id = 1, .state = "RUNNING" } };
	struct update *u = update_new(UPDATE_NODES, NOW_US);
	const struct top_job *found;
	struct model m = { 0 };

	(void)state;
	hear(&m, true, true, job, 1);
	update_add(u, &top_make_node("n1", "allocated", gpus, 2)->base);
	model_apply(&m, u);
	hear(&m, false, true, job, 1);
	found = jobs_find(&m.jobs, (struct job_key){ 1, 0 });
	assert_int_equal(found->sampled, 2);
	assert_int_equal(found->use_pct, 120);
	assert_int_equal(found->mem_used_mb, 4000);
	model_clear(&m);
}

/* --- rows ------------------------------------------------------------------------------------- */

static const struct top_job_say queue[] = {
	{ .id = 1, .state = "RUNNING", .user = "ana", .name = "train", .gpus = 8 },
	{ .id = 2, .state = "RUNNING", .user = "li", .name = "eval", .gpus = 1 },
	{ .id = 3, .state = "PENDING", .user = "ana", .name = "n10", .order = 2, .priority = 5 },
	{ .id = 4, .state = "PENDING", .user = "li", .name = "n2", .order = 1, .priority = 1 },
	{ .id = 5, .state = "PENDING", .user = "li", .name = "Train", .partition = "a,big" },
	{ .id = 6, .state = "PENDING", .reason = "NotWanted" },
};

static void expect_rows(const struct model *m, enum rows_kind kind, const struct row_filter *filter,
        const char *order, bool turned, const char *want)
{
	struct rows rows = { 0 };
	char text[100] = "";
	size_t at = 0, by = 0;

	while (strcmp(row_orders[by].name, order) != 0)
		by++;
	rows_make(&rows, m, kind, filter, by, turned);
	for (size_t i = 0; i < rows.n; i++)
		at += (size_t)sprintf(text + at, "%s%d", i ? " " : "", (int)rows.v[i].id);
	assert_string_equal(text, want);
	rows_clear(&rows);
}

static void test_orders(void **state)
{
	const struct row_filter all = { .text = "" };
	struct model m = { 0 };

	(void)state;
	hear(&m, true, true, queue, 6);
	expect_rows(&m, ROWS_QUEUE, &all, "next to start", false, "4 3 5 2 1");
	expect_rows(&m, ROWS_QUEUE, &all, "next to start", true, "1 2 5 3 4");
	expect_rows(&m, ROWS_RUNNING, &all, "next to start", false, "2 1");
	expect_rows(&m, ROWS_QUEUE, &all, "JOBID", false, "1 2 3 4 5");
	expect_rows(&m, ROWS_QUEUE, &all, "JOBID", true, "5 4 3 2 1");
	expect_rows(&m, ROWS_QUEUE, &all, "NAME", false, "5 2 4 3 1"); /* n2 before n10 */
	expect_rows(&m, ROWS_RUNNING, &all, "GPUS", false, "1 2");
	expect_rows(&m, ROWS_RUNNING, &all, "GPUS", true, "2 1");
	expect_rows(&m, ROWS_QUEUE, &all, "USER", true, "4 5 2 3 1");
	model_clear(&m);
}

static void test_filters(void **state)
{
	struct model m = { 0 };

	(void)state;
	hear(&m, true, true, queue, 6);
	expect_rows(&m, ROWS_QUEUE, &(struct row_filter){ .user = "ana" }, "JOBID", false, "1 3");
	expect_rows(&m, ROWS_QUEUE, &(struct row_filter){ .user = "an" }, "JOBID", false, "");
	expect_rows(&m, ROWS_QUEUE, &(struct row_filter){ .text = "TRAIN" }, "JOBID", false, "1 5");
	expect_rows(&m, ROWS_QUEUE, &(struct row_filter){ .text = "4" }, "JOBID", false, "4");
	expect_rows(
	        &m, ROWS_QUEUE, &(struct row_filter){ .partition = "big" }, "JOBID", false, "5");
	expect_rows(
	        &m, ROWS_QUEUE, &(struct row_filter){ .partition = "a,big" }, "JOBID", false, "");
	expect_rows(&m, ROWS_QUEUE, &(struct row_filter){ .partition = "batch", .user = "li" },
	        "JOBID", false, "2 4");
	model_clear(&m);
}

/* Numbers that no controller says. */
static void test_odd_numbers(void **state)
{
	const struct top_job_say odd[] = {
		{ .id = UINT64_C(1) << 63,
		        .state = "RUNNING",
		        .elapsed_s = UINT64_MAX,
		        .limit_s = UINT32_MAX - 1,
		        .gpus = UINT32_MAX },
		{ .id = UINT64_MAX,
		        .state = "PENDING",
		        .priority = INT64_MIN,
		        .submit_us = INT64_MIN,
		        .order = UINT32_MAX },
		{ .id = 0, .state = "" },
	};
	const struct row_filter all = { .text = "" };
	struct rows rows = { 0 };
	struct job_sums sums;
	struct model m = { 0 };

	(void)state;
	hear(&m, true, true, odd, 3);
	model_sums(&m, &sums);
	for (size_t order = 0; order < n_row_orders; order++) {
		rows_make(&rows, &m, ROWS_QUEUE, &all, order, order % 2);
		assert_int_equal(rows.n, 3);
	}
	rows_clear(&rows);
	model_clear(&m);
}

/* --- accounts --------------------------------------------------------------------------------- */

static void add_share(struct update *u, const char *account, const char *user, uint32_t depth)
{
	Gpusched__Share s = GPUSCHED__SHARE__INIT;

	s.account = (char *)account;
	s.user = (char *)user;
	s.depth = depth;
	update_add(u, msg_copy(&s.base));
}

static void test_accounts(void **state)
{
	const struct top_job_say jobs[] = {
		{ .id = 1, .state = "RUNNING", .account = "vision", .user = "ana", .gpus = 8 },
		{ .id = 2, .state = "PENDING", .account = "vision", .user = "li" },
		{ .id = 3, .state = "RUNNING", .account = "ocr", .user = "li", .gpus = 2 },
		{ .id = 4, .state = "RUNNING", .account = "other", .user = "eve", .gpus = 4 },
	};
	/* held of each line: accounts have the sums of what is below */
	const uint64_t held[] = { 10, 10, 8, 0, 2, 2, 0 };
	struct update *u = update_new(UPDATE_SHARES, NOW_US);
	struct account_line *lines;
	struct model m = { 0 };

	(void)state;
	hear(&m, true, true, jobs, 4);
	add_share(u, "lab", "", 0);
	add_share(u, "vision", "", 1);
	add_share(u, "vision", "ana", 2);
	add_share(u, "vision", "li", 2);
	add_share(u, "ocr", "", 2);
	add_share(u, "ocr", "li", 3);
	add_share(u, "speech", "", 0);
	model_apply(&m, u);
	lines = accounts_make(&m);
	for (size_t i = 0; i < 7; i++)
		assert_int_equal(lines[i].held, held[i]);
	assert_int_equal(lines[0].running, 2);
	assert_int_equal(lines[1].waiting, 1);
	free(lines);
	model_clear(&m);
}

/* A tree that no controller makes: users first, depths that jump. */
static void test_odd_accounts(void **state)
{
	struct update *u = update_new(UPDATE_SHARES, NOW_US);
	struct account_line *lines;
	struct model m = { 0 };

	(void)state;
	add_share(u, "", "u", 900);
	add_share(u, "a", "", UINT32_MAX);
	add_share(u, "b", "", 7);
	add_share(u, "b", "u", 0);
	model_apply(&m, u);
	lines = accounts_make(&m);
	assert_int_equal(lines[0].held, 0);
	free(lines);
	model_clear(&m);
}

/* --- the cursor ------------------------------------------------------------------------------- */

static void test_cursor(void **state)
{
	struct cursor c = { 0 };

	(void)state;
	cursor_move(&c, 5, 100, 10);
	assert_int_equal(c.index, 5);
	assert_int_equal(c.top, 0);
	cursor_move(&c, 10, 100, 10);
	assert_int_equal(c.top, 6);
	cursor_carry(&c, 50); /* what it is on has moved: the same line of the screen */
	assert_int_equal(c.index - c.top, 9);
	cursor_move(&c, 1000, 100, 10);
	assert_int_equal(c.index, 99);
	assert_int_equal(c.top, 90);
	cursor_fit(&c, 4, 10);
	assert_int_equal(c.index, 3);
	assert_int_equal(c.top, 0);
	cursor_fit(&c, 0, 10);
	assert_int_equal(c.index, 0);
	cursor_move(&c, -5, 0, 0);
	assert_int_equal(c.index, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_keys),
		cmocka_unit_test(test_elapsed),
		cmocka_unit_test(test_hash),
		cmocka_unit_test(test_rounds),
		cmocka_unit_test(test_sums),
		cmocka_unit_test(test_marks),
		cmocka_unit_test(test_types),
		cmocka_unit_test(test_use),
		cmocka_unit_test(test_orders),
		cmocka_unit_test(test_filters),
		cmocka_unit_test(test_odd_numbers),
		cmocka_unit_test(test_accounts),
		cmocka_unit_test(test_odd_accounts),
		cmocka_unit_test(test_cursor),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
