/* test_core_notifications.c - remarks, mail, running again after chosen ends, signals to the script
 * alone
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "common/job/mail_types.h"
#include "common/job/requeue_on.h"
#include "testsuite/unit/lib/core_world.h"

#define OWNER 1000
#define OTHER 1001

static struct world *ready(void)
{
	struct world *w = world_simple(1, "h100:8");

	world_register_all(w);
	return w;
}

/* Each time another job. */
static uint64_t submit(struct world *w, struct submit_job job)
{
	struct submit_job fresh = world_job(w, "");

	memcpy(job.nonce, fresh.nonce, sizeof(job.nonce));
	return world_submit_job(w, &job, OWNER);
}

static uint32_t update(
        struct world *w, struct caller by, uint64_t id, struct submit_job change, uint64_t fields)
{
	struct core_event e = { .kind = EV_JOB_CONTROL,
		.caller = by,
		.job = { .verb = JOB_UPDATE,
		        .ids = &id,
		        .n = 1,
		        .change = &change,
		        .fields = fields } };

	w->error.code = 0;
	world_apply(w, &e);
	world_schedule(w);
	return w->done;
}

static void end_by_signal(struct world *w, uint64_t id, uint32_t sig)
{
	struct run_report r = world_report(world_run(w, id), REPORT_ENDED);

	r.cause = END_EXIT;
	r.exit_signal = sig;
	world_say(w, 0, r);
}

static uint32_t mail_of(struct world *w, uint64_t id)
{
	const struct effect *e = world_effect(w, EFFECT_MAIL);

	return e && e->mail.job == id ? e->mail.type : 0;
}

/* --- texts ----------------------------------------------------------------------------------- */

static void ends_as_text(void **state)
{
	static const char *const good[] = { "", "exit:1", "exit:255", "exit:75,exit:80-90,signal:9",
		"signal:64,exit:2-2" };
	static const char *const bad[] = { "75", "exit:", "exit:0", "exit:256", "exit:5-4",
		"exit:5-", "signal:0", "signal:65", "signal:1-3", "signal:KILL", "exit:1,",
		",exit:1", "exit:1 ", "exit:99999999999", "exit:1;exit:2" };
	struct error err;

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		assert_int_equal(requeue_on_check(good[i], &err), 0);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		if (requeue_on_check(bad[i], &err) == 0)
			fail_msg("'%s' is taken", bad[i]);
	}
	assert_true(requeue_on_wanted(good[3], 75, 0));
	assert_true(requeue_on_wanted(good[3], 85, 0));
	assert_true(requeue_on_wanted(good[3], 0, 9));
	assert_false(requeue_on_wanted(good[3], 79, 0));
	assert_false(requeue_on_wanted(good[3], 9, 0));
	assert_false(requeue_on_wanted(good[3], 75, 15));
	assert_false(requeue_on_wanted("", 1, 0));
	assert_false(requeue_on_wanted("exit:1", 0, 0));
}

static void mail_as_text(void **state)
{
	static const char *const bad[] = { "-f", "-ana@x", ".ana", "ana@", "a@b@c", "ana x",
		"ana;ls", "ana$(id)", "ana|sh", "ana\nx", "@x", "a/b", "ana@-x", "'ana'",
		"ana\\@x" };
	char buf[MAIL_TEXT_MAX], longest[MAIL_ADDRESS_MAX + 2];
	uint32_t types;
	struct error err;

	(void)state;
	assert_int_equal(mail_types_parse("end,Fail", &types, &err), 0);
	assert_string_equal(mail_types_format(buf, types), "END,FAIL");
	assert_int_equal(mail_types_parse("ALL", &types, &err), 0);
	assert_string_equal(mail_types_format(buf, types), "BEGIN,END,FAIL,REQUEUE,INVALID_DEPEND");
	assert_int_equal(mail_types_parse("none", &types, &err), 0);
	assert_int_equal(types, 0);
	assert_string_equal(mail_types_format(buf, MAIL_ALL_BITS),
	        "BEGIN,END,FAIL,REQUEUE,INVALID_DEPEND,TIME_LIMIT,ARRAY_TASKS");
	assert_int_equal(mail_types_parse("END,", &types, &err), -1);
	assert_int_equal(mail_types_parse("", &types, &err), -1);
	assert_int_equal(mail_types_parse("END,NONE", &types, &err), -1);
	assert_int_equal(mail_address_check("ana", &err), 0);
	assert_int_equal(mail_address_check("", &err), 0);
	assert_int_equal(mail_address_check("a.b+c_d-e%f@x-1.example.org", &err), 0);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		if (mail_address_check(bad[i], &err) == 0)
			fail_msg("'%s' is taken", bad[i]);
	}
	memset(longest, 'a', sizeof(longest) - 1);
	longest[MAIL_ADDRESS_MAX + 1] = '\0';
	assert_int_equal(mail_address_check(longest, &err), -1);
	longest[MAIL_ADDRESS_MAX] = '\0';
	assert_int_equal(mail_address_check(longest, &err), 0);
}

/* --- again ----------------------------------------------------------------------------------- */

static void runs_again_after_chosen_ends(void **state)
{
	struct world *w = ready();
	struct submit_job job = world_job(w, "h100:1");
	uint64_t id;

	(void)state;
	job.requeue_on = "exit:75,signal:9";
	job.max_attempts = 3;
	id = submit(w, job);
	world_run_starts(w, id);
	world_run_ends(w, id, 75);
	assert_non_null(strstr(world_view(w, id).comment, "requeued: attempt 1 on n"));
	assert_non_null(strstr(world_view(w, id).comment, ": exit code 75"));
	world_schedule(w);
	assert_string_equal(world_state(w, id), "CONFIGURING");
	assert_int_equal(world_view(w, id).attempt, 2);
	world_run_starts(w, id);
	end_by_signal(w, id, 9);
	assert_non_null(strstr(world_view(w, id).comment, ": signal 9"));
	world_schedule(w);
	assert_string_equal(world_state(w, id), "CONFIGURING");
	/* As often as its owner signed, and no more. */
	world_run_starts(w, id);
	world_run_ends(w, id, 75);
	world_schedule(w);
	assert_string_equal(world_state(w, id), "FAILED");
	/* Another end is an end; so is a cancel, whatever the program says. */
	id = submit(w, job);
	world_run_starts(w, id);
	world_run_ends(w, id, 1);
	assert_string_equal(world_state(w, id), "FAILED");
	id = submit(w, job);
	world_run_starts(w, id);
	world_control(w, world_user(OWNER), JOB_CANCEL, id);
	world_run_ends(w, id, 75);
	assert_string_equal(world_state(w, id), "CANCELLED");
	world_seal(w);
	world_free(w);
}

static void backs_off(void **state)
{
	struct world *w = ready();
	struct submit_job job = world_job(w, "h100:1");
	usec_t wait = 20000000;
	uint64_t id;

	(void)state;
	job.requeue_on = "exit:75";
	job.requeue_delay_s = 20;
	job.max_attempts = 100;
	id = submit(w, job);
	for (int i = 0; i < 5; i++, wait *= 2) {
		struct core_event e = { .kind = EV_HEARTBEAT };

		world_run_starts(w, id);
		world_run_ends(w, id, 75);
		assert_string_equal(world_reason(w, id), "BeginTime");
		assert_true(world_view(w, id).begin_time == w->now.wall + wait);
		e.agent.session = world_session(w, 0);
		for (usec_t passed = 0; passed < wait; passed += 20000000) {
			assert_string_equal(world_state(w, id), "PENDING");
			world_pass(w, 20);
			world_apply(w, &e);
		}
		world_schedule(w);
		assert_string_equal(world_state(w, id), "CONFIGURING");
	}
	/* Who is asked to run again runs at once. */
	world_run_starts(w, id);
	world_control(w, world_user(OWNER), JOB_REQUEUE, id);
	end_by_signal(w, id, 15);
	world_schedule(w);
	assert_string_equal(world_state(w, id), "CONFIGURING");
	world_seal(w);
	world_free(w);
}

/* --- mail ------------------------------------------------------------------------------------ */

static void mail_of_each_kind(void **state)
{
	static const struct {
		uint32_t wished;
		int code; /* < 0: cancelled */
		uint32_t begin, end;
	} cases[] = {
		{ MAIL_BEGIN, 0, MAIL_BEGIN, 0 },
		{ MAIL_END, 0, 0, MAIL_END },
		{ MAIL_END, 1, 0, MAIL_END },
		{ MAIL_END, -1, 0, MAIL_END },
		{ MAIL_FAIL, 0, 0, 0 },
		{ MAIL_FAIL, 1, 0, MAIL_FAIL },
		{ MAIL_FAIL, -1, 0, 0 },
		{ MAIL_BEGIN | MAIL_END | MAIL_FAIL, 1, MAIL_BEGIN, MAIL_END },
		{ 0, 1, 0, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct world *w = ready();
		struct submit_job job = world_job(w, "h100:1");
		uint64_t id;

		job.mail_types = cases[i].wished;
		id = submit(w, job);
		world_clear(w);
		world_run_starts(w, id);
		assert_int_equal(mail_of(w, id), cases[i].begin);
		world_clear(w);
		if (cases[i].code < 0) {
			world_control(w, world_user(OWNER), JOB_CANCEL, id);
			end_by_signal(w, id, 15);
		} else {
			world_run_ends(w, id, (uint32_t)cases[i].code);
		}
		assert_int_equal(mail_of(w, id), cases[i].end);
		assert_int_equal(world_effect_count(w, EFFECT_MAIL), cases[i].end != 0);
		world_free(w);
	}
}

static void mail_of_requeues_and_vain_hopes(void **state)
{
	struct world *w = ready();
	struct submit_job job = world_job(w, "h100:1");
	char text[40];
	uint64_t id, vain;

	(void)state;
	job.mail_types = MAIL_REQUEUE;
	job.requeue_on = "exit:75";
	job.max_attempts = 2;
	id = submit(w, job);
	job = world_job(w, "h100:1");
	job.mail_types = MAIL_INVALID_DEPEND;
	snprintf(text, sizeof(text), "afterok:%llu", (unsigned long long)id);
	job.depends = text;
	vain = submit(w, job);
	world_run_starts(w, id);
	world_clear(w);
	world_run_ends(w, id, 75);
	assert_int_equal(mail_of(w, id), MAIL_REQUEUE);
	world_schedule(w);
	world_run_starts(w, id);
	world_clear(w);
	world_run_ends(w, id, 75);
	world_schedule(w);
	assert_int_equal(mail_of(w, vain), MAIL_INVALID_DEPEND);
	assert_int_equal(world_effect_count(w, EFFECT_MAIL), 1);
	world_free(w);
}

/* --- changes --------------------------------------------------------------------------------- */

static void may_change_while_it_runs(void **state)
{
	struct world *w = ready();
	struct submit_job job = world_job(w, "h100:1");
	uint64_t id;

	(void)state;
	job.remark = "first try";
	id = submit(w, job);
	assert_string_equal(world_view(w, id).remark, "first try");
	world_run_starts(w, id);
	assert_int_equal(update(w, world_user(OTHER), id, (struct submit_job){ .remark = "x" },
	                         UPDATE_REMARK),
	        0);
	assert_int_equal(
	        update(w, world_user(OWNER), id,
	                (struct submit_job){ .remark = "second",
	                        .mail_types = MAIL_END,
	                        .mail_user = "ana@example.org",
	                        .requeue_on = "exit:3" },
	                UPDATE_REMARK | UPDATE_MAIL_TYPE | UPDATE_MAIL_USER | UPDATE_REQUEUE_ON),
	        1);
	assert_string_equal(world_view(w, id).remark, "second");
	assert_string_equal(world_view(w, id).mail_user, "ana@example.org");
	assert_int_equal(update(w, world_user(OWNER), id, (struct submit_job){ .mail_user = "-x" },
	                         UPDATE_MAIL_USER),
	        0);
	assert_int_equal(update(w, world_user(OWNER), id, (struct submit_job){ .requeue_on = "x" },
	                         UPDATE_REQUEUE_ON),
	        0);
	/* Whether it is run again; as often as was signed, whatever else is wished. */
	assert_true(world_view(w, id).requeue);
	assert_int_equal(update(w, world_user(OWNER), id, (struct submit_job){ .requeue = false },
	                         UPDATE_NO_REQUEUE),
	        1);
	assert_false(world_view(w, id).requeue);
	assert_int_equal(update(w, world_user(OWNER), id, (struct submit_job){ .requeue = true },
	                         UPDATE_NO_REQUEUE),
	        1);
	assert_true(world_view(w, id).requeue);
	/* What concerns the scheduler stays for those that wait. */
	assert_int_equal(
	        update(w, world_user(OWNER), id, (struct submit_job){ .remark = "x", .nice = 5 },
	                UPDATE_REMARK | UPDATE_NICE),
	        0);
	assert_int_equal(w->error.code, ERR_JOB_STATE);
	assert_string_equal(world_view(w, id).remark, "second");
	world_seal(w);
	world_run_ends(w, id, 0);
	assert_int_equal(update(w, world_user(OWNER), id, (struct submit_job){ .remark = "x" },
	                         UPDATE_REMARK),
	        0);
	world_free(w);
}

static void what_was_signed_to_start_once_does(void **state)
{
	struct world *w = ready();
	struct submit_job job = world_job(w, "h100:1");
	uint64_t id;

	(void)state;
	job.max_attempts = 1;
	job.requeue = false;
	id = submit(w, job);
	assert_int_equal(update(w, world_admin(), id, (struct submit_job){ .requeue = true },
	                         UPDATE_NO_REQUEUE),
	        0);
	assert_int_equal(w->error.code, ERR_JOB_SPEC);
	assert_false(world_view(w, id).requeue);
	world_free(w);
}

/* The node was told a longer limit: the controller ends it, also after a restart. */
static void a_shorter_limit_of_a_job_that_runs(void **state)
{
	struct world *w = ready();
	struct submit_job job = world_job(w, "h100:1"), change = { .time_limit_s = 600 };
	struct core_event beat = { .kind = EV_HEARTBEAT };
	struct run_report r;
	uint64_t id;

	(void)state;
	job.time_limit_s = 3600;
	id = submit(w, job);
	world_run_starts(w, id);
	assert_int_equal(update(w, world_user(OTHER), id, change, UPDATE_TIME), 0);
	change.time_limit_s = 3600;
	assert_int_equal(update(w, world_admin(), id, change, UPDATE_TIME), 0);
	assert_non_null(strstr(w->error.text, "a limit of 1:00:00"));
	change.time_limit_s = 600;
	assert_int_equal(update(w, world_user(OWNER), id, change, UPDATE_TIME), 1);
	assert_int_equal(world_view(w, id).time_limit_s, 600);
	r = world_alive(w, id);
	world_restart(w);
	r.elapsed_us = 0;
	world_register(w, 0, "inc1", &r, 1);
	beat.agent.session = world_session(w, 0);
	for (int s = 0; s < 595; s += 35) {
		assert_string_equal(world_state(w, id), "RUNNING");
		world_pass(w, 35);
		world_apply(w, &beat);
	}
	assert_string_equal(world_state(w, id), "RUNNING");
	world_clear(w);
	world_pass(w, 6);
	assert_string_equal(world_state(w, id), "COMPLETING");
	assert_int_equal(world_effect(w, EFFECT_END_RUN)->run.cause, END_TIME_LIMIT);
	r = world_report(world_run(w, id), REPORT_ENDED);
	r.cause = END_TIME_LIMIT;
	world_say(w, 0, r);
	assert_string_equal(world_state(w, id), "TIMEOUT");
	world_seal(w);
	world_free(w);
}

/* By an operator alone, and while there is time: the node is told, in each session again. */
static void a_longer_limit_of_a_job_that_runs(void **state)
{
	struct world *w = ready();
	struct submit_job job = world_job(w, "h100:1"), change = { .time_limit_s = 7200 };
	struct core_event beat = { .kind = EV_HEARTBEAT };
	struct run_report r;
	uint64_t id;

	(void)state;
	job.time_limit_s = 600;
	job.warn_before_s = 60;
	id = submit(w, job);
	/* before it has begun: the order to start it may be on its way */
	assert_int_equal(update(w, world_user(OWNER), id, change, UPDATE_TIME), 0);
	assert_int_equal(w->error.code, ERR_NOT_PERMITTED);
	change.time_limit_s = 660;
	assert_int_equal(update(w, world_admin(), id, change, UPDATE_TIME), 1);
	world_clear(w);
	world_run_starts(w, id);
	assert_int_equal(world_effect(w, EFFECT_SUSPEND_RUN)->run.limit_s, 660);
	assert_false(world_effect(w, EFFECT_SUSPEND_RUN)->run.suspend);
	world_clear(w);
	change.time_limit_s = 7200;
	assert_int_equal(update(w, world_admin(), id, change, UPDATE_TIME), 1);
	assert_int_equal(world_effect(w, EFFECT_SUSPEND_RUN)->run.limit_s, 7200);
	assert_int_equal(world_view(w, id).time_limit_s, 7200);
	r = world_alive(w, id);
	world_restart(w);
	world_clear(w);
	r.elapsed_us = (uint64_t)7000 * 1000000;
	world_register(w, 0, "inc1", &r, 1);
	assert_int_equal(world_effect(w, EFFECT_SUSPEND_RUN)->run.limit_s, 7200);
	beat.agent.session = world_session(w, 0);
	change.time_limit_s = TIME_LIMIT_NONE;
	assert_int_equal(update(w, world_admin(), id, change, UPDATE_TIME), 1);
	assert_int_equal(world_effect(w, EFFECT_SUSPEND_RUN)->run.limit_s, TIME_LIMIT_NONE);
	world_seal(w);
	for (int s = 0; s < 400; s += 35) {
		world_pass(w, 35);
		world_apply(w, &beat);
	}
	assert_string_equal(world_state(w, id), "RUNNING");
	/* too late: it was warned */
	change.time_limit_s = 7450;
	assert_int_equal(update(w, world_user(OWNER), id, change, UPDATE_TIME), 1);
	change.time_limit_s = 7500;
	assert_int_equal(update(w, world_admin(), id, change, UPDATE_TIME), 0);
	assert_non_null(strstr(w->error.text, "was already told"));
	world_free(w);
}

static void signals_go_where_they_are_to(void **state)
{
	struct world *w = ready();
	uint64_t id = world_submit(w, "h100:1");
	struct core_event e = { .kind = EV_JOB_CONTROL,
		.caller = world_user(OWNER),
		.job = { .verb = JOB_SIGNAL, .ids = &id, .n = 1, .signal = 12 } };

	(void)state;
	world_run_starts(w, id);
	world_apply(w, &e);
	assert_false(world_effect(w, EFFECT_SIGNAL_RUN)->run.script_only);
	world_clear(w);
	e.job.script_only = true;
	world_apply(w, &e);
	assert_true(world_effect(w, EFFECT_SIGNAL_RUN)->run.script_only);
	assert_int_equal(world_effect(w, EFFECT_SIGNAL_RUN)->run.signal, 12);
	world_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ends_as_text),
		cmocka_unit_test(mail_as_text),
		cmocka_unit_test(runs_again_after_chosen_ends),
		cmocka_unit_test(backs_off),
		cmocka_unit_test(mail_of_each_kind),
		cmocka_unit_test(mail_of_requeues_and_vain_hopes),
		cmocka_unit_test(may_change_while_it_runs),
		cmocka_unit_test(what_was_signed_to_start_once_does),
		cmocka_unit_test(a_shorter_limit_of_a_job_that_runs),
		cmocka_unit_test(a_longer_limit_of_a_job_that_runs),
		cmocka_unit_test(signals_go_where_they_are_to),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
