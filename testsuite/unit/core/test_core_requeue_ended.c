/* test_core_requeue_ended.c - an ended job is requeued as the same job, and requests that are refused */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <string.h>
#include <cmocka.h>

#include "common/job/mail_types.h"
#include "ctld/core/records/job.h"
#include "testsuite/unit/lib/core_world.h"

#define OWNER 1000

static void task_runs(struct world *w, uint64_t id, uint32_t task, uint32_t code)
{
	struct run_id run = { id, task, world_task_view(w, id, task).attempt, 0 };
	struct run_report r = world_report(run, REPORT_ENDED);

	world_say(w, 0, world_report(run, REPORT_RUNNING));
	r.cause = END_EXIT;
	r.exit_code = code;
	world_say(w, 0, r);
	world_schedule(w);
}

static void runs_once_more(struct world *w, uint64_t id, uint32_t code)
{
	world_schedule(w);
	world_run_starts(w, id);
	world_run_ends(w, id, code);
	world_schedule(w);
}

static void refused(struct world *w, uint64_t id, int code, const char *part)
{
	const char *was = world_state(w, id);

	assert_int_equal(world_control(w, world_user(OWNER), JOB_REQUEUE, id), 0);
	if (w->error.code != code || !strstr(w->error.text, part))
		fail_msg("refused with %d: %s", w->error.code, w->error.text);
	assert_string_equal(world_state(w, id), was);
}

static void the_same_again(void **state)
{
	struct world *w = world_simple(1, "h100:2");
	struct submit_job job = world_job(w, "h100:2");
	uint64_t id, billed;

	(void)state;
	job.mail_types = MAIL_REQUEUE;
	world_register_all(w);
	id = world_submit_job(w, &job, OWNER);
	runs_once_more(w, id, 3);
	assert_string_equal(world_state(w, id), "FAILED");
	assert_int_equal(world_view(w, id).exit_code, 3);
	world_pass(w, 60);
	world_clear(w);
	if (world_control(w, world_user(OWNER), JOB_REQUEUE_HOLD, id) != 1)
		fail_msg("%s", w->error.text);
	assert_int_equal(world_effect(w, EFFECT_MAIL)->mail.type, MAIL_REQUEUE);
	assert_string_equal(world_reason(w, id), "JobHeldUser");
	assert_string_equal(world_view(w, id).reason_text, "requeued by ana from login1");
	assert_int_equal(world_view(w, id).exit_code, 0);
	world_restart(w);
	world_register_all(w);
	assert_string_equal(world_state(w, id), "PENDING");
	world_control(w, world_user(OWNER), JOB_RELEASE, id);
	world_schedule(w);
	assert_int_equal(world_view(w, id).attempt, 2);
	world_run_starts(w, id);
	billed = w->audit_rows;
	world_run_ends(w, id, 0);
	assert_string_equal(world_state(w, id), "COMPLETED");
	/* It is listed as ended once, and goes to the history with both its attempts. */
	world_seal(w);
	assert_true(w->audit_rows >= billed);
	world_pass(w, 24 * 3600);
	world_seal(w);
	assert_string_equal(world_state(w, id), "none");
	assert_int_equal(w->history_runs, 2);
	refused(w, id, ERR_NO_JOB, "there is no job");
	assert_non_null(strstr(w->error.hint, "history"));
	refused(w, id + 1000000, ERR_NO_JOB, "there is no job");
	assert_string_equal(w->error.hint, "");
	world_free(w);
}

static void not_these(void **state)
{
	struct world *w = world_simple(1, "h100:2");
	struct submit_job job = world_job(w, "h100:2");
	uint64_t once, late, cut, old;
	usec_t age;

	(void)state;
	world_register_all(w);
	job.max_attempts = 1;
	once = world_submit_job(w, &job, OWNER);
	runs_once_more(w, once, 1);
	refused(w, once, ERR_JOB_STATE, "started 1 times of 1");
	job = world_job(w, "h100:2");
	job.deadline = w->now.wall + 7200 * (usec_t)1000000;
	job.time_limit_s = 3600;
	late = world_submit_job(w, &job, OWNER);
	runs_once_more(w, late, 1);
	if (world_control(w, world_user(OWNER), JOB_REQUEUE_HOLD, late) != 1)
		fail_msg("%s", w->error.text);
	world_control(w, world_user(OWNER), JOB_CANCEL, late);
	w->now.wall += 3601 * (usec_t)1000000;
	refused(w, late, ERR_JOB_STATE, "deadline");
	/* What it waited for can never come true. */
	job = world_job(w, "h100:2");
	job.depends = "afterok:1";
	job.kill_invalid = KILL_NO;
	cut = world_submit_job(w, &job, OWNER);
	assert_string_equal(world_reason(w, cut), "DependencyNeverSatisfied");
	world_control(w, world_user(OWNER), JOB_CANCEL, cut);
	refused(w, cut, ERR_JOB_STATE, "never be satisfied");
	/* Its signature is too old, until it is signed anew. */
	old = world_submit(w, "h100:2");
	runs_once_more(w, old, 0);
	age = (usec_t)w->conf->controller.signature_age_s * 1000000;
	assert_true(age > 0);
	w->now.wall += age;
	refused(w, old, ERR_SIGNATURE, "too long ago");
	assert_non_null(strstr(w->error.hint, "gctl renew"));
	world_free(w);
}

/* Its dependencies wait with it; others that waited for its end have been told. */
static void waits_and_awaited(void **state)
{
	struct world *w = world_simple(1, "h100:2");
	struct submit_job job = world_job(w, "h100:2");
	uint64_t first, then, single, next;
	char text[32];

	(void)state;
	world_register_all(w);
	first = world_submit(w, "h100:2");
	job.depends = "afterok:1";
	then = world_submit_job(w, &job, OWNER);
	job = world_job(w, "h100:2");
	job.depends = "singleton";
	job.name = "one";
	single = world_submit_job(w, &job, OWNER);
	job = world_job(w, "h100:2");
	job.depends = "singleton";
	job.name = "one";
	next = world_submit_job(w, &job, OWNER);
	world_control(w, world_user(OWNER), JOB_CANCEL, then);
	world_control(w, world_user(OWNER), JOB_CANCEL, single);
	if (world_control(w, world_user(OWNER), JOB_REQUEUE, then) != 1)
		fail_msg("%s", w->error.text);
	assert_string_equal(world_reason(w, then), "Dependency");
	/* It was first of its name: `next` is not any more. */
	if (world_control(w, world_user(OWNER), JOB_REQUEUE, single) != 1)
		fail_msg("%s", w->error.text);
	assert_string_equal(world_reason(w, next), "Dependency");
	world_restart(w);
	world_register_all(w);
	runs_once_more(w, first, 0);
	world_schedule(w);
	snprintf(text, sizeof(text), "%s", world_reason(w, then));
	assert_string_not_equal(text, "Dependency");
	/* `then` has been told; that the first runs again changes nothing. */
	if (world_control(w, world_user(OWNER), JOB_REQUEUE, first) != 1)
		fail_msg("%s", w->error.text);
	assert_string_not_equal(world_reason(w, then), "Dependency");
	world_seal(w);
	world_free(w);
}

static void tasks_again(void **state)
{
	struct world *w = world_simple(1, "h100:2");
	struct submit_job job = world_job(w, "h100:2");
	uint64_t id;
	uint32_t t;

	(void)state;
	world_register_all(w);
	job.array = "0-7";
	id = world_submit_job(w, &job, OWNER);
	for (t = 0; t < 4; t++)
		task_runs(w, id, t, t == 2 ? 9 : 0);
	assert_int_equal(world_control_tasks(w, world_user(OWNER), JOB_CANCEL, id, "4-7"), 1);
	task_runs(w, id, 4, 0);
	assert_string_equal(world_state(w, id), "FAILED");
	world_seal(w);
	/* One that failed, and two of a range that was cancelled. */
	assert_int_equal(world_control_tasks(w, world_user(OWNER), JOB_REQUEUE, id, "2,5-6"), 1);
	assert_string_equal(world_state(w, id), "PENDING");
	assert_int_equal(world_view(w, id).tasks_ended, 5);
	assert_string_equal(world_task_view(w, id, 7).state, "CANCELLED");
	assert_string_equal(world_task_view(w, id, 2).state, "CONFIGURING");
	world_restart(w);
	world_register_all(w);
	world_schedule(w);
	task_runs(w, id, 2, 0);
	task_runs(w, id, 5, 0);
	task_runs(w, id, 6, 0);
	assert_string_equal(world_state(w, id), "CANCELLED");
	world_seal(w);
	/* All of it. */
	if (world_control(w, world_user(OWNER), JOB_REQUEUE, id) != 1)
		fail_msg("%s", w->error.text);
	for (t = 0; t < 8; t++)
		task_runs(w, id, t, 0);
	assert_string_equal(world_state(w, id), "COMPLETED");
	assert_int_equal(world_view(w, id).exit_code, 0);
	assert_int_equal(world_task_view(w, id, 2).attempt, 3);
	world_seal(w);
	assert_int_equal(world_control_tasks(w, world_user(OWNER), JOB_REQUEUE, id, "8"), 0);
	assert_int_equal(w->error.code, ERR_NO_JOB);
	world_pass(w, 24 * 3600);
	world_seal(w);
	assert_string_equal(world_state(w, id), "none");
	world_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_same_again),
		cmocka_unit_test(not_these),
		cmocka_unit_test(waits_and_awaited),
		cmocka_unit_test(tasks_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
