/* test_core_times.c - jobs that wait for a time, or to be alone; deadlines */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <string.h>
#include <cmocka.h>

#include "testsuite/unit/lib/depends_world.h"

/* --- times ----------------------------------------------------------------------------------- */

static void begins_not_before(void **state)
{
	struct world *w = ready();
	struct submit_job job = world_job(w, "h100:1");
	uint64_t id;

	(void)state;
	job.begin_time = w->now.wall + 90 * MINUTE;
	id = submit(w, &job);
	is(w, id, "PENDING", "BeginTime");
	assert_true(why_of(w, id).blockers[0].clears == job.begin_time);
	pass(w, 89 * 60);
	world_restart(w);
	world_register_all(w);
	world_schedule(w);
	is(w, id, "PENDING", "BeginTime");
	pass(w, 61);
	is(w, id, "CONFIGURING", "");
	/* A time that has passed is no time. */
	job = world_job(w, "h100:1");
	job.begin_time = w->now.wall - MINUTE;
	is(w, submit(w, &job), "CONFIGURING", "");
	world_free(w);
}

static void the_wall_clock_is_set(void **state)
{
	struct world *w = ready();
	struct submit_job job = world_job(w, "h100:1");
	uint64_t id;

	(void)state;
	job.begin_time = w->now.wall + 600 * MINUTE;
	id = submit(w, &job);
	w->now.wall += 601 * MINUTE;
	/* It is looked at every minute. */
	pass(w, 61);
	is(w, id, "CONFIGURING", "");
	world_free(w);
}

static void held_and_not_yet(void **state)
{
	struct world *w = ready();
	struct submit_job job = world_job(w, "h100:1");
	uint64_t id;

	(void)state;
	job.begin_time = w->now.wall + MINUTE;
	job.hold = true;
	id = submit(w, &job);
	is(w, id, "PENDING", "JobHeldUser");
	pass(w, 120);
	is(w, id, "PENDING", "JobHeldUser");
	world_control(w, world_user(OWNER), JOB_RELEASE, id);
	world_schedule(w);
	is(w, id, "CONFIGURING", "");
	world_free(w);
}

/* Its age counts from when it may begin: who came meanwhile is older. */
static void age_from_begin(void **state)
{
	struct world *w = ready();
	struct submit_job job = world_job(w, "h100:1");
	struct prio_view prio;
	uint64_t id;

	(void)state;
	world_node(w, NODE_DRAIN, 0, false);
	job.begin_time = w->now.wall + 24 * 60 * MINUTE;
	id = submit(w, &job);
	pass(w, 24 * 3600 + 60);
	assert_true(core_job_prio(w->core, id, w->now, &prio));
	assert_true(prio.factor.age < 0.001);
	world_free(w);
}

static void ends_by_its_deadline(void **state)
{
	struct world *w = ready();
	struct submit_job job = world_job(w, "h100:8");
	struct run_report r;
	uint64_t runs, waits;

	(void)state;
	job.time_limit_s = 3600;
	job.deadline = w->now.wall + 90 * MINUTE;
	runs = submit(w, &job);
	world_run_starts(w, runs);
	job = world_job(w, "h100:8");
	job.time_limit_s = 3600;
	job.deadline = w->now.wall + 90 * MINUTE;
	waits = submit(w, &job);
	pass(w, 29 * 60);
	is(w, waits, "PENDING", "Resources");
	pass(w, 61);
	/* It could not end in time any more. */
	is(w, waits, "DEADLINE", "DeadLine");
	is(w, runs, "RUNNING", "");
	world_restart(w);
	r = world_alive(w, runs);
	world_register(w, 0, "inc1", &r, 1);
	world_clear(w);
	pass(w, 61 * 60);
	is(w, runs, "COMPLETING", "");
	assert_int_equal(world_effect(w, EFFECT_END_RUN)->run.cause, END_DEADLINE);
	r = world_report(world_run(w, runs), REPORT_ENDED);
	r.cause = END_DEADLINE;
	world_say(w, 0, r);
	is(w, runs, "DEADLINE", "DeadLine");
	world_seal(w);
	world_free(w);
}

static void deadlines_that_cannot_be_kept(void **state)
{
	struct world *w = ready();
	struct submit_job job = world_job(w, "h100:1");

	(void)state;
	job.time_limit_s = 3600;
	job.deadline = w->now.wall + 59 * MINUTE;
	assert_int_equal(submit(w, &job), 0);
	assert_non_null(strstr(w->error.text, "only 59:00 are left"));
	job.deadline = w->now.wall - 1;
	assert_int_equal(submit(w, &job), 0);
	job.begin_time = w->now.wall + 120 * MINUTE;
	job.deadline = w->now.wall + 150 * MINUTE;
	assert_int_equal(submit(w, &job), 0);
	assert_non_null(strstr(w->error.text, "only 30:00 are left"));
	job.deadline = w->now.wall + 180 * MINUTE;
	assert_true(submit(w, &job) > 0);
	world_free(w);
}

/* --- alone ----------------------------------------------------------------------------------- */

static uint64_t submit_named(struct world *w, const char *name, bool singleton, uint32_t uid)
{
	struct submit_job job = world_job(w, "h100:1");

	job.name = name;
	job.depends = singleton ? "singleton" : "";
	return world_submit_job(w, &job, uid);
}

static void one_at_a_time(void **state)
{
	struct world *w = ready();
	uint64_t a = submit_named(w, "x", true, OWNER), b = submit_named(w, "x", true, OWNER);
	uint64_t c = submit_named(w, "x", true, OWNER), y = submit_named(w, "y", true, OWNER);
	uint64_t theirs = submit_named(w, "x", true, OTHER);
	struct run_report r;

	(void)state;
	is(w, a, "CONFIGURING", "");
	is(w, y, "CONFIGURING", "");
	is(w, theirs, "CONFIGURING", "");
	is(w, b, "PENDING", "Dependency");
	is(w, c, "PENDING", "Dependency");
	world_run_starts(w, a);
	r = world_alive(w, a);
	world_restart(w);
	world_register(w, 0, "inc1", &r, 1);
	world_schedule(w);
	is(w, b, "PENDING", "Dependency");
	end(w, a, 1);
	is(w, b, "CONFIGURING", "");
	is(w, c, "PENDING", "Dependency");
	/* The one before it goes without having run. */
	end(w, b, 0);
	is(w, c, "CONFIGURING", "");
	world_free(w);
}

static void an_arrays_tasks_one_at_a_time(void **state)
{
	struct world *w = ready();
	struct submit_job job = world_job(w, "h100:1");
	struct job_view v = { 0 };
	uint64_t a;

	(void)state;
	job.name = "x";
	job.depends = "singleton";
	job.array = "0-2";
	a = world_submit_job(w, &job, OWNER);
	for (uint32_t task = 0; task < 3; task++) {
		struct run_id run = { .job = a, .task = task, .attempt = 1 };

		assert_true(core_job_view(w->core, core_run_ref(w->core, run), w->now, &v));
		assert_string_equal(v.state, "CONFIGURING");
		assert_int_equal(v.tasks_running, 1);
		world_say(w, 0, world_report(run, REPORT_ENDED));
		world_schedule(w);
	}
	world_free(w);
}

static void alone_among_all_of_its_name(void **state)
{
	struct world *w = ready();
	uint64_t first = submit_named(w, "x", false, OWNER),
	         second = submit_named(w, "x", false, OWNER);
	uint64_t single = submit_named(w, "x", true, OWNER), last;

	(void)state;
	is(w, second, "CONFIGURING", "");
	is(w, single, "PENDING", "Dependency");
	end(w, first, 0);
	is(w, single, "PENDING", "Dependency");
	/* Who comes later and does not ask for it may run, and be waited for. */
	last = submit_named(w, "x", false, OWNER);
	is(w, last, "CONFIGURING", "");
	end(w, second, 0);
	is(w, single, "PENDING", "Dependency");
	end(w, last, 0);
	is(w, single, "CONFIGURING", "");
	world_free(w);
}

/* It could start, and another of its name does first: it is taken out of the queue again. */
static void overtaken(void **state)
{
	struct world *w = ready();
	uint64_t single, other;

	(void)state;
	world_node(w, NODE_DRAIN, 0, false);
	single = submit_named(w, "x", true, OWNER);
	other = submit_named(w, "x", false, OWNER);
	world_control(w, world_user(OWNER), JOB_HOLD, single);
	world_node(w, NODE_RESUME, 0, false);
	world_schedule(w);
	is(w, other, "CONFIGURING", "");
	world_control(w, world_user(OWNER), JOB_RELEASE, single);
	world_schedule(w);
	is(w, single, "PENDING", "Dependency");
	end(w, other, 0);
	is(w, single, "CONFIGURING", "");
	world_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(begins_not_before),
		cmocka_unit_test(the_wall_clock_is_set),
		cmocka_unit_test(held_and_not_yet),
		cmocka_unit_test(age_from_begin),
		cmocka_unit_test(ends_by_its_deadline),
		cmocka_unit_test(deadlines_that_cannot_be_kept),
		cmocka_unit_test(one_at_a_time),
		cmocka_unit_test(an_arrays_tasks_one_at_a_time),
		cmocka_unit_test(alone_among_all_of_its_name),
		cmocka_unit_test(overtaken),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
