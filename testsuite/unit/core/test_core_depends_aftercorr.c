/* test_core_depends_aftercorr.c - aftercorr: task by task, or by the whole where there is no such task */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "ctld/core/records/job.h"
#include "testsuite/unit/lib/core_world.h"

#define OWNER 1000
#define U(id) ((unsigned long long)(id))

static uint64_t submit(
        struct world *w, const char *array, const char *gpus, uint8_t kill, const char *depends)
{
	struct submit_job job = world_job(w, gpus);
	uint64_t id;

	job.array = array;
	job.depends = depends;
	job.kill_invalid = kill;
	id = world_submit_job(w, &job, OWNER);
	if (!id)
		fail_msg("refused: %s", w->error.text);
	return id;
}

static uint64_t __attribute__((format(printf, 4, 5)))
after(struct world *w, const char *array, uint8_t kill, const char *depends, ...)
{
	char text[200];
	va_list ap;

	va_start(ap, depends);
	vsnprintf(text, sizeof(text), depends, ap);
	va_end(ap);
	return submit(w, array, "h100:1", kill, text);
}

static struct world *ready(const char *gpus)
{
	struct world *w = world_simple(1, gpus);

	world_register_all(w);
	return w;
}

/* The task runs, and ends. */
static void ends(struct world *w, uint64_t id, uint32_t task, uint32_t code)
{
	struct run_id run = { id, task, world_task_view(w, id, task).attempt, 0 };
	struct run_report r = world_report(run, REPORT_ENDED);

	if (!strcmp(world_task_view(w, id, task).state, "CONFIGURING"))
		world_say(w, 0, world_report(run, REPORT_RUNNING));
	r.cause = END_EXIT;
	r.exit_code = code;
	world_say(w, 0, r);
	world_schedule(w);
}

/* "[2-3] PD(Dependency) 0 CF() ": its records that have not ended. */
static const char *records(struct world *w, uint64_t id)
{
	static char text[2000];
	struct job_view v;
	uint64_t after_ref = 0;
	size_t used = 0;

	text[0] = '\0';
	for (; core_job_next(w->core, after_ref, w->now, &v); after_ref = v.ref) {
		if (v.ended || v.id != id)
			continue;
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s%s %s(%s) ",
		        v.several ? "[" : "", v.tasks, v.several ? "]" : "", v.state_code,
		        v.reason);
	}
	return text;
}

static void is(struct world *w, uint64_t id, uint32_t task, const char *state, const char *reason)
{
	struct job_view v = world_task_view(w, id, task);

	if (strcmp(v.state, state) != 0 || strcmp(v.reason, reason) != 0)
		fail_msg("%llu_%u is %s (%s: %s), not %s (%s)\n%s", U(id), task, v.state, v.reason,
		        v.reason_text, state, reason, records(w, id));
}

/* --- task by task ---------------------------------------------------------------------------- */

static void each_after_its_own(void **state)
{
	struct world *w = ready("h100:8");
	uint64_t a = submit(w, "0-3", "h100:1", KILL_AS_CONFIGURED, NULL);
	uint64_t b = after(w, "0-3", KILL_NO, "aftercorr:%llu", U(a));

	(void)state;
	assert_string_equal(records(w, b), "[0-3] PD(Dependency) ");
	assert_non_null(strstr(world_view(w, b).reason_text, "each task waits for the same"));
	ends(w, a, 2, 0);
	assert_string_equal(records(w, b), "[0-1,3] PD(Dependency) 2 CF() ");
	world_again(w);
	assert_string_equal(records(w, b), "[0-1,3] PD(Dependency) 2 R() ");
	ends(w, a, 0, 1);
	is(w, b, 0, "PENDING", "DependencyNeverSatisfied");
	assert_string_equal(world_task_view(w, b, 0).dependency, "aftercorr:1(failed)");
	assert_non_null(strstr(world_task_view(w, b, 0).reason_text, "1_0 is FAILED"));
	world_again(w);
	is(w, b, 0, "PENDING", "DependencyNeverSatisfied");
	is(w, b, 1, "PENDING", "Dependency");
	ends(w, a, 1, 0);
	ends(w, a, 3, 0);
	assert_string_equal(world_state(w, a), "FAILED");
	is(w, b, 1, "CONFIGURING", "");
	is(w, b, 3, "CONFIGURING", "");
	world_again(w);
	is(w, b, 0, "PENDING", "DependencyNeverSatisfied");
	for (uint32_t t = 1; t <= 3; t++)
		ends(w, b, t, 0);
	assert_string_equal(records(w, b), "[0] PD(DependencyNeverSatisfied) ");
	/* Its owner gives up waiting for it. */
	{
		struct submit_job change = { .depends = "" };
		struct core_event e = { .kind = EV_JOB_CONTROL,
			.caller = world_user(OWNER),
			.job = { .verb = JOB_UPDATE,
			        .ids = &b,
			        .n = 1,
			        .change = &change,
			        .fields = UPDATE_DEPENDENCY } };

		world_apply(w, &e);
		world_schedule(w);
	}
	assert_int_equal(w->done, 1);
	is(w, b, 0, "CONFIGURING", "");
	ends(w, b, 0, 0);
	assert_string_equal(world_state(w, b), "COMPLETED");
	world_seal(w);
	world_free(w);
}

static void ended_as_asked(void **state)
{
	struct world *w = ready("h100:8");
	uint64_t a = submit(w, "0-11", "h100:1", KILL_AS_CONFIGURED, NULL);
	uint64_t b = after(w, "0-11", KILL_YES, "aftercorr:%llu", U(a));

	(void)state;
	ends(w, a, 5, 1);
	is(w, b, 5, "CANCELLED", "");
	assert_non_null(strstr(world_task_view(w, b, 5).comment, "DependencyNeverSatisfied"));
	ends(w, a, 6, 0);
	/* A range at once. */
	assert_int_equal(world_control_tasks(w, world_user(OWNER), JOB_CANCEL, a, "10-11"), 1);
	world_again(w);
	is(w, b, 10, "CANCELLED", "");
	is(w, b, 11, "CANCELLED", "");
	is(w, b, 4, "PENDING", "Dependency");
	for (uint32_t t = 0; t <= 9; t++)
		if (t != 5 && t != 6)
			ends(w, a, t, 0);
	assert_string_equal(world_state(w, a), "FAILED");
	for (uint32_t t = 0; t <= 9; t++)
		if (t != 5)
			ends(w, b, t, 0);
	assert_string_equal(world_state(w, b), "CANCELLED");
	world_seal(w);
	world_free(w);
}

/* As in Slurm: who has no counterpart is judged by all of it. */
static void arrays_of_different_sizes(void **state)
{
	struct world *w = ready("h100:8");
	uint64_t a = submit(w, "0-1", "h100:1", KILL_AS_CONFIGURED, NULL);
	uint64_t more = after(w, "0-3", KILL_NO, "aftercorr:%llu", U(a));
	uint64_t less = after(w, "1", KILL_NO, "aftercorr:%llu", U(a));
	uint64_t none = after(w, "7-8", KILL_YES, "aftercorr:%llu", U(a));
	struct submit_job plain = world_job(w, "h100:1");
	uint64_t job;
	char text[40];

	(void)state;
	snprintf(text, sizeof(text), "aftercorr:%llu", U(a));
	plain.depends = text;
	job = world_submit_job(w, &plain, OWNER);
	ends(w, a, 1, 0);
	is(w, more, 1, "CONFIGURING", "");
	is(w, less, 1, "CONFIGURING", "");
	is(w, more, 3, "PENDING", "Dependency");
	is(w, none, 7, "PENDING", "Dependency");
	assert_string_equal(world_reason(w, job), "Dependency");
	world_again(w);
	ends(w, a, 0, 0);
	is(w, more, 0, "CONFIGURING", "");
	is(w, more, 3, "CONFIGURING", "");
	is(w, none, 7, "CONFIGURING", "");
	assert_string_equal(world_state(w, job), "CONFIGURING");
	world_again(w);
	world_free(w);

	w = ready("h100:8");
	a = submit(w, "0-1", "h100:1", KILL_AS_CONFIGURED, NULL);
	more = after(w, "0-3", KILL_NO, "aftercorr:%llu", U(a));
	none = after(w, "7-8", KILL_YES, "aftercorr:%llu", U(a));
	ends(w, a, 0, 0);
	ends(w, a, 1, 1);
	is(w, more, 0, "CONFIGURING", "");
	is(w, more, 2, "PENDING", "DependencyNeverSatisfied");
	assert_string_equal(world_state(w, none), "CANCELLED");
	world_again(w);
	is(w, more, 1, "PENDING", "DependencyNeverSatisfied");
	is(w, more, 2, "PENDING", "DependencyNeverSatisfied");
	world_free(w);
}

static void an_array_after_a_plain_job(void **state)
{
	struct world *w = ready("h100:8");
	uint64_t a = world_submit(w, "h100:1");
	uint64_t b = after(w, "0-3", KILL_NO, "aftercorr:%llu", U(a));

	(void)state;
	assert_string_equal(records(w, b), "[0-3] PD(Dependency) ");
	world_run_starts(w, a);
	world_run_ends(w, a, 0);
	world_schedule(w);
	is(w, b, 3, "CONFIGURING", "");
	world_seal(w);
	world_free(w);
}

/* --- with others ----------------------------------------------------------------------------- */

static void all_of_several(void **state)
{
	struct world *w = ready("h100:8");
	uint64_t a = submit(w, "0-2", "h100:1", KILL_AS_CONFIGURED, NULL);
	uint64_t c = submit(w, "0-1", "h100:1", KILL_AS_CONFIGURED, NULL);
	uint64_t j = world_submit(w, "h100:1");
	uint64_t b = after(w, "0-2", KILL_NO, "aftercorr:%llu:%llu,afterok:%llu", U(a), U(c), U(j));

	(void)state;
	ends(w, a, 0, 0);
	world_again(w);
	ends(w, c, 0, 0);
	is(w, b, 0, "PENDING", "Dependency");
	assert_string_equal(records(w, b), "[1-2] PD(Dependency) [0] PD(Dependency) ");
	world_again(w);
	world_run_ends(w, j, 0);
	world_schedule(w);
	is(w, b, 0, "CONFIGURING", "");
	is(w, b, 1, "PENDING", "Dependency");
	ends(w, c, 1, 1);
	is(w, b, 1, "PENDING", "DependencyNeverSatisfied");
	/* c is over and has no task 2. */
	is(w, b, 2, "PENDING", "DependencyNeverSatisfied");
	world_again(w);
	ends(w, a, 1, 0);
	ends(w, a, 2, 0);
	is(w, b, 1, "PENDING", "DependencyNeverSatisfied");
	world_seal(w);
	world_free(w);
}

static void any_of_several(void **state)
{
	struct world *w = ready("h100:8");
	uint64_t a = submit(w, "0-3", "h100:1", KILL_AS_CONFIGURED, NULL);
	uint64_t j = world_submit(w, "h100:1");
	uint64_t b = after(w, "0-3", KILL_YES, "aftercorr:%llu?afterok:%llu", U(a), U(j));

	(void)state;
	ends(w, a, 2, 0);
	is(w, b, 2, "CONFIGURING", "");
	ends(w, a, 1, 1);
	is(w, b, 1, "PENDING", "Dependency");
	world_again(w);
	world_run_ends(w, j, 0);
	world_schedule(w);
	is(w, b, 1, "CONFIGURING", "");
	is(w, b, 0, "CONFIGURING", "");
	world_free(w);

	w = ready("h100:8");
	a = submit(w, "0-3", "h100:1", KILL_AS_CONFIGURED, NULL);
	j = world_submit(w, "h100:1");
	b = after(w, "0-4", KILL_YES, "aftercorr:%llu?afterok:%llu", U(a), U(j));
	ends(w, a, 1, 1);
	ends(w, a, 2, 0);
	world_again(w);
	world_run_ends(w, j, 1);
	world_schedule(w);
	is(w, b, 1, "CANCELLED", "");
	is(w, b, 0, "PENDING", "Dependency");
	is(w, b, 2, "RUNNING", "");
	world_again(w);
	ends(w, a, 0, 0);
	ends(w, a, 3, 0);
	is(w, b, 0, "CONFIGURING", "");
	is(w, b, 4, "CANCELLED", "");
	world_seal(w);
	world_free(w);
}

/* What was held or changed for itself is told apart still. */
static void parts_of_its_own(void **state)
{
	struct world *w = ready("h100:8");
	uint64_t a = submit(w, "0-5", "h100:1", KILL_AS_CONFIGURED, NULL);
	uint64_t b = after(w, "0-5", KILL_NO, "aftercorr:%llu", U(a));

	(void)state;
	assert_int_equal(world_control_tasks(w, world_user(OWNER), JOB_HOLD, b, "1-3"), 1);
	ends(w, a, 1, 0);
	ends(w, a, 4, 0);
	ends(w, a, 2, 1);
	is(w, b, 1, "PENDING", "JobHeldUser");
	is(w, b, 4, "CONFIGURING", "");
	world_again(w);
	assert_int_equal(world_control_tasks(w, world_user(OWNER), JOB_RELEASE, b, "1-3"), 1);
	is(w, b, 1, "CONFIGURING", "");
	is(w, b, 2, "PENDING", "DependencyNeverSatisfied");
	is(w, b, 3, "PENDING", "Dependency");
	ends(w, a, 3, 0);
	is(w, b, 3, "CONFIGURING", "");
	world_seal(w);
	world_free(w);
}

/* --- memory ---------------------------------------------------------------------------------- */

static void what_has_gone(void **state)
{
	struct world *w = ready("h100:2");
	uint64_t a = submit(w, "0-2", "h100:1", KILL_AS_CONFIGURED, NULL), b;

	(void)state;
	ends(w, a, 0, 0);
	ends(w, a, 1, 0);
	for (int i = 0; i < 24 * 60; i++) {
		struct core_event e = { .kind = EV_HEARTBEAT };

		e.agent.session = world_session(w, 0);
		world_pass(w, 20);
		world_apply(w, &e);
	}
	world_seal(w);
	assert_int_equal(w->history_jobs, 2);
	b = after(w, "0-2", KILL_NO, "aftercorr:%llu", U(a));
	is(w, b, 0, "CONFIGURING", ""); /* all that are gone went well */
	is(w, b, 1, "PENDING", "Resources");
	is(w, b, 2, "PENDING", "Dependency");
	world_again(w);
	ends(w, a, 2, 0);
	is(w, b, 1, "CONFIGURING", "");
	world_seal(w);
	world_free(w);
}

/* Tasks that come free while there is no room for them are not told apart. */
static void gathered(void **state)
{
	struct world *w = ready("h100:1");
	uint64_t a, b;
	const char *shown;

	(void)state;
	a = submit(w, "0-39", "h100:1", KILL_AS_CONFIGURED, NULL);
	b = after(w, "0-39", KILL_NO, "aftercorr:%llu", U(a));
	for (uint32_t t = 0; t < 40; t += 2) {
		ends(w, a, t, 0);
		if (t == 10)
			world_again(w);
		ends(w, a, t + 1, t == 20 || t == 22);
	}
	shown = records(w, b);
	/* What gathered before the restart gathers no more. */
	assert_string_equal(shown, "0 CF() [1-10] PD(Resources) [11-20,22,24-39] PD(Resources) "
	                           "[21,23] PD(DependencyNeverSatisfied) ");
	world_seal(w);
	world_free(w);
}

static void a_million(void **state)
{
	struct world *w = ready("h100:1");
	uint64_t a, b, c;

	(void)state;
	w->unchecked = true;
	a = submit(w, "0-999999", "h100:1", KILL_AS_CONFIGURED, NULL);
	b = after(w, "0-999999", KILL_YES, "aftercorr:%llu", U(a));
	c = after(w, "0-1999998:2", KILL_NO, "aftercorr:%llu", U(b));
	assert_int_equal(
	        world_control_tasks(w, world_user(OWNER), JOB_CANCEL, a, "500000-999999"), 1);
	assert_int_equal(world_view(w, b).task_count, 500000);
	is(w, c, 500000, "PENDING", "DependencyNeverSatisfied");
	is(w, c, 499998, "PENDING", "Dependency");
	is(w, c, 1999998, "PENDING", "Dependency");
	ends(w, a, 0, 0);
	world_restart(w);
	assert_int_equal(world_view(w, b).task_count, 499999);
	assert_string_equal(records(w, c), "[0-499998:2,1000000-1999998:2] PD(Dependency) "
	                                   "[500000-999998:2] PD(DependencyNeverSatisfied) ");
	world_seal(w);
	world_free(w);
}

static void refused(void **state)
{
	struct world *w = ready("h100:1");
	struct submit_job job = world_job(w, "h100:1");
	uint64_t a = submit(w, "0-3", "h100:1", KILL_AS_CONFIGURED, NULL), id = 1, last = 0;
	int n = 0;

	(void)state;
	job.array = "0-3";
	job.depends = "aftercorr:1_2";
	assert_int_equal(world_submit_job(w, &job, OWNER), 0);
	assert_non_null(strstr(w->error.text, "aftercorr:1"));
	job.depends = "aftercorr:1";
	for (; id && n < 100; n++) {
		last = id > 1 ? id : last;
		id = world_submit_job(w, &job, OWNER);
		job = world_job(w, "h100:1");
		job.array = "0-3";
		job.depends = "aftercorr:1";
	}
	assert_int_equal(n, 65); /* ARRAYS_MAX, and the one that was refused */
	assert_non_null(strstr(w->error.text, "too many arrays"));
	/* They are all told. */
	assert_int_equal(world_control_tasks(w, world_user(OWNER), JOB_CANCEL, a, "0-3"), 1);
	ends(w, a, 0, 1);
	is(w, last, 3, "PENDING", "DependencyNeverSatisfied");
	is(w, a + 5, 0, "PENDING", "DependencyNeverSatisfied");
	world_seal(w);
	world_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_after_its_own),
		cmocka_unit_test(ended_as_asked),
		cmocka_unit_test(arrays_of_different_sizes),
		cmocka_unit_test(an_array_after_a_plain_job),
		cmocka_unit_test(all_of_several),
		cmocka_unit_test(any_of_several),
		cmocka_unit_test(parts_of_its_own),
		cmocka_unit_test(what_has_gone),
		cmocka_unit_test(gathered),
		cmocka_unit_test(a_million),
		cmocka_unit_test(refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
