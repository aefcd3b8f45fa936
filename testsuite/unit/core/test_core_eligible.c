/* test_core_eligible.c - since when nothing but room and limits kept a job from its first start */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "testsuite/unit/lib/depends_world.h"

/* A node that is full, so that what follows waits. */
static struct world *full(uint64_t *filler)
{
	struct world *w = ready();

	*filler = world_submit(w, "h100:8");
	world_run_starts(w, *filler);
	return w;
}

static void since(struct world *w, uint64_t id, usec_t at)
{
	struct job_view v = world_view(w, id);

	assert_int_equal(v.eligible_time, at);
	world_seal(w); /* its row says the same */
}

static void at_once_and_for_long(void **state)
{
	struct world *w;
	uint64_t filler, id;
	usec_t submitted;

	(void)state;
	w = full(&filler);
	submitted = w->now.wall;
	id = world_submit(w, "h100:1");
	since(w, id, submitted);
	pass(w, 120);
	since(w, id, submitted);
	assert_int_equal(world_view(w, id).eligible_s, 120);
	world_again(w);
	since(w, id, submitted);
	end(w, filler, 0);
	is(w, id, "CONFIGURING", "");
	world_run_starts(w, id);
	since(w, id, submitted);
	assert_int_equal(world_view(w, id).eligible_s, 120);
	pass(w, 60);
	end(w, id, 0);
	assert_int_equal(world_view(w, id).eligible_s, 120);
	since(w, id, submitted);
	world_free(w);
}

/* A hold before the first start begins the time anew; one after it does not. */
static void after_a_hold(void **state)
{
	struct world *w;
	struct submit_job job;
	uint64_t filler, id;
	usec_t released;

	(void)state;
	w = full(&filler);
	job = world_job(w, "h100:1");
	job.hold = true;
	id = submit(w, &job);
	since(w, id, 0);
	pass(w, 30);
	world_control(w, world_user(OWNER), JOB_RELEASE, id);
	since(w, id, w->now.wall);
	pass(w, 30);
	world_control(w, world_user(OWNER), JOB_HOLD, id);
	since(w, id, 0);
	pass(w, 30);
	world_control(w, world_user(OWNER), JOB_RELEASE, id);
	released = w->now.wall;
	since(w, id, released);
	end(w, filler, 0);
	world_run_starts(w, id);
	world_control(w, world_user(OWNER), JOB_REQUEUE, id);
	world_control(w, world_user(OWNER), JOB_HOLD, id);
	since(w, id, released);
	world_free(w);
}

static void after_its_time_and_others(void **state)
{
	struct world *w;
	struct submit_job job;
	uint64_t filler, later, after;
	usec_t begin;

	(void)state;
	w = full(&filler);
	job = world_job(w, "h100:1");
	begin = job.begin_time = w->now.wall + 10 * MINUTE;
	later = submit(w, &job);
	after = submit_after(w, "afterany:%llu", U(later));
	since(w, later, 0);
	pass(w, 11 * 60);
	assert_true(world_view(w, later).eligible_time >= begin);
	assert_true(world_view(w, later).eligible_time <= begin + MINUTE);
	since(w, after, 0);
	world_again(w);
	since(w, after, 0);
	/* A job that is cancelled while it waits keeps it. */
	world_control(w, world_user(OWNER), JOB_CANCEL, later);
	assert_true(world_view(w, later).eligible_time >= begin);
	world_schedule(w);
	since(w, after, w->now.wall);
	world_free(w);
}

/* The tasks that an array's throttle keeps are not eligible. */
static void of_an_array(void **state)
{
	struct world *w = ready();
	struct submit_job job = world_job(w, "h100:1");
	usec_t submitted = w->now.wall, ended;
	struct run_id first = { 0 };
	uint64_t id;

	(void)state;
	job.array = "0-2%1";
	id = submit(w, &job);
	assert_int_equal(world_task_view(w, id, 0).eligible_time, submitted);
	assert_int_equal(world_task_view(w, id, 1).eligible_time, 0);
	pass(w, 60);
	ended = w->now.wall;
	world_seal(w);
	first.job = id;
	first.attempt = world_task_view(w, id, 0).attempt;
	world_say(w, 0, world_report(first, REPORT_RUNNING));
	world_say(w, 0, world_report(first, REPORT_ENDED));
	world_schedule(w);
	assert_int_equal(world_task_view(w, id, 1).eligible_time, ended);
	world_seal(w);
	world_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(at_once_and_for_long),
		cmocka_unit_test(after_a_hold),
		cmocka_unit_test(after_its_time_and_others),
		cmocka_unit_test(of_an_array),
	};

	return cmocka_run_group_tests_name("eligible", tests, NULL, NULL);
}
