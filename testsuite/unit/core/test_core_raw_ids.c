/* test_core_raw_ids.c - the ids of arrays' tasks: each once, found, and never another job's */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "ctld/core/records/job.h"
#include "testsuite/unit/lib/core_world.h"

#define OWNER 1000

static uint64_t submit(struct world *w, const char *array, const char *depends)
{
	struct submit_job job = world_job(w, "h100:4");

	job.array = array;
	job.depends = depends;
	return world_submit_job(w, &job, OWNER);
}

/* "12_7", "12": what the id means. */
static void means(struct world *w, uint64_t raw_id, uint64_t array, uint32_t task)
{
	uint64_t a = 0;
	uint32_t t = 0;

	assert_true(core_raw_task(w->core, raw_id, &a, &t));
	assert_int_equal(a, array);
	assert_int_equal(t, task);
}

static void is_none(struct world *w, uint64_t raw_id)
{
	uint64_t a;
	uint32_t t;

	assert_false(core_raw_task(w->core, raw_id, &a, &t));
}

static void found(void **state)
{
	struct world *w = world_simple(1, "h100:4");
	uint64_t first, a, b, last;

	(void)state;
	world_register_all(w);
	first = submit(w, "", NULL);
	a = submit(w, "0-9:3,20", NULL); /* 0 3 6 9 20 */
	b = submit(w, "7%1", NULL);
	last = submit(w, "", NULL);
	assert_int_equal(a, first + 1);
	assert_int_equal(b, a + 6);
	assert_int_equal(last, b + 2);
	for (int again = 0; again < 2; again++) {
		is_none(w, first);
		is_none(w, a);
		means(w, a + 1, a, 0);
		means(w, a + 2, a, 3);
		means(w, a + 4, a, 9);
		means(w, a + 5, a, 20);
		is_none(w, b);
		means(w, b + 1, b, 7);
		is_none(w, last);
		is_none(w, last + 1);
		is_none(w, 0);
		assert_int_equal(world_view(w, a).raw_id, a);
		world_restart(w);
	}
	world_free(w);
}

static void shown(void **state)
{
	struct world *w = world_simple(1, "h100:4");
	struct run_id run;
	uint64_t a;

	(void)state;
	world_register_all(w);
	a = submit(w, "5-7", NULL);
	run = (struct run_id){ a, 5, 1, 0 };
	world_say(w, 0, world_report(run, REPORT_RUNNING));
	assert_int_equal(world_task_view(w, a, 5).raw_id, a + 1);
	world_control_tasks(w, world_user(OWNER), JOB_HOLD, a, "7");
	assert_int_equal(world_task_view(w, a, 7).raw_id, a + 3);
	world_restart(w);
	assert_int_equal(world_task_view(w, a, 5).raw_id, a + 1);
	world_free(w);
}

/* A job can wait for a task by its id. */
static void waited_for(void **state)
{
	struct world *w = world_simple(1, "h100:4");
	char depends[60];
	uint64_t a, id;

	(void)state;
	world_register_all(w);
	a = submit(w, "5-7", NULL);
	snprintf(depends, sizeof(depends), "afterany:%llu", (unsigned long long)a + 2);
	id = submit(w, "", depends);
	assert_int_not_equal(id, 0);
	snprintf(depends, sizeof(depends), "%llu_6", (unsigned long long)a);
	assert_non_null(strstr(world_view(w, id).dependency, depends));
	snprintf(depends, sizeof(depends), "aftercorr:%llu", (unsigned long long)a + 2);
	assert_int_equal(submit(w, "5-7", depends), 0);
	snprintf(depends, sizeof(depends), "afterok:%llu", (unsigned long long)id + 1);
	assert_int_equal(submit(w, "", depends), 0);
	assert_int_equal(w->error.code, ERR_NO_JOB);
	world_free(w);
}

/* A crash takes no id twice, and skips as few as it did. */
static void never_twice(void **state)
{
	struct world *w = world_simple(1, "h100:4");
	uint64_t a, b;

	(void)state;
	world_register_all(w);
	a = submit(w, "0-999999", NULL);
	assert_int_not_equal(a, 0);
	world_seal(w);
	world_crash(w);
	b = submit(w, "", NULL);
	assert_int_equal(b, a + 1000001);
	means(w, a + 1000000, a, 999999);
	is_none(w, b);
	world_free(w);
}

/* An array that has left memory has no task any more, and its ids stay its own. */
static void gone(void **state)
{
	struct world *w = world_simple(1, "h100:4");
	uint64_t first, a;

	(void)state;
	world_register_all(w);
	first = submit(w, "", NULL);
	a = submit(w, "0-1", NULL);
	world_control(w, world_user(OWNER), JOB_CANCEL, a);
	world_pass(w, 24 * 3600);
	world_seal(w);
	assert_string_equal(world_state(w, a), "none");
	is_none(w, a + 1);
	assert_int_equal(submit(w, "", NULL), first + 4);
	world_free(w);
}

/* Where ids would run out, arrays take one each. */
static void far_away(void **state)
{
	struct world *w = world_simple(1, "h100:4");
	uint64_t a;

	(void)state;
	world_register_all(w);
	core_takeover(w->core, 0, RAW_IDS_END - TASK_MAX - 5);
	a = submit(w, "0-9", NULL);
	assert_int_not_equal(a, 0);
	is_none(w, a + 1);
	assert_int_equal(submit(w, "", NULL), a + 1);
	world_seal(w);
	world_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(found),
		cmocka_unit_test(shown),
		cmocka_unit_test(waited_for),
		cmocka_unit_test(never_twice),
		cmocka_unit_test(gone),
		cmocka_unit_test(far_away),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
