/* test_core_depends.c - jobs that wait for other jobs */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <malloc.h>

#include "ctld/core/records/per_user_budget.h"
#include "testsuite/unit/lib/amount.h"
#include "testsuite/unit/lib/depends_world.h"

/* --- one for another ------------------------------------------------------------------------- */

static void each_type_after_each_end(void **state)
{
	static const struct {
		const char *type;
		int code; /* < 0: cancelled */
		bool met;
	} cases[] = {
		{ "afterok", 0, true },
		{ "afterok", 1, false },
		{ "afterok", -1, false },
		{ "afternotok", 0, false },
		{ "afternotok", 1, true },
		{ "afternotok", -1, true },
		{ "afterany", 0, true },
		{ "afterany", 1, true },
		{ "afterany", -1, true },
		{ "aftercorr", 0, true },
		{ "aftercorr", 1, false },
		{ "after", -1, true },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		for (int restart = 0; restart < 3; restart++) {
			struct world *w = ready();
			uint64_t first = world_submit(w, "h100:1"), id;

			id = submit_after(w, "%s:%llu", cases[i].type, U(first));
			is(w, id, "PENDING", "Dependency");
			if (restart == 1) {
				struct run_report r;

				world_run_starts(w, first);
				world_restart(w);
				r = world_alive(w, first);
				world_register(w, 0, "inc1", &r, 1);
			}
			end(w, first, cases[i].code);
			if (restart == 2) {
				world_restart(w);
				world_register_all(w);
				world_schedule(w);
			}
			is(w, id, cases[i].met ? "CONFIGURING" : "PENDING",
			        cases[i].met ? "" : "DependencyNeverSatisfied");
			/* What it waited for goes to history; what came of it stays. */
			world_seal(w);
			pass(w, w->conf->controller.keep_ended_s + 1);
			assert_string_equal(world_state(w, first), "none");
			world_restart(w);
			if (!cases[i].met)
				is(w, id, "PENDING", "DependencyNeverSatisfied");
			world_free(w);
		}
	}
}

static void after_the_start_and_some_minutes(void **state)
{
	struct world *w = ready();
	uint64_t first = world_submit(w, "h100:1");
	uint64_t at_start = submit_after(w, "after:%llu", U(first));
	uint64_t later = submit_after(w, "after:%llu+10", U(first));

	(void)state;
	pass(w, 700);
	is(w, at_start, "PENDING", "Dependency");
	world_run_starts(w, first);
	world_schedule(w);
	is(w, at_start, "CONFIGURING", "");
	is(w, later, "PENDING", "Dependency");
	end(w, first, 0);
	pass(w, 300);
	world_restart(w);
	world_register_all(w);
	is(w, later, "PENDING", "Dependency");
	pass(w, 301);
	is(w, later, "CONFIGURING", "");
	/* Of one that runs for long already. */
	first = world_submit(w, "h100:1");
	world_run_starts(w, first);
	pass(w, 601);
	is(w, submit_after(w, "after:%llu+10", U(first)), "CONFIGURING", "");
	world_free(w);
}

static void all_and_any(void **state)
{
	struct world *w = ready();
	uint64_t a = world_submit(w, "h100:1"), b = world_submit(w, "h100:1");
	uint64_t c = world_submit(w, "h100:1");
	uint64_t all = submit_after(w, "afterok:%llu:%llu,afternotok:%llu", U(a), U(b), U(c));
	uint64_t any = submit_after(w, "afterok:%llu?afterok:%llu", U(a), U(b));
	uint64_t none = submit_after(w, "afternotok:%llu?afternotok:%llu", U(a), U(b));

	(void)state;
	end(w, a, 3);
	is(w, any, "PENDING", "Dependency");
	is(w, none, "CONFIGURING", "");
	is(w, all, "PENDING", "DependencyNeverSatisfied");
	assert_non_null(strstr(why_of(w, all).blockers[0].text, "is FAILED"));
	end(w, b, 0);
	is(w, any, "CONFIGURING", "");
	end(w, c, 1);
	is(w, all, "PENDING", "DependencyNeverSatisfied");
	assert_non_null(strstr(world_view(w, all).dependency, "(failed)"));
	world_free(w);
}

static void why_names_them(void **state)
{
	struct world *w = ready();
	uint64_t a = world_submit(w, "h100:1"), b;
	uint64_t id;
	char text[100];

	(void)state;
	world_run_starts(w, a);
	b = submit_after(w, "afterok:%llu", U(a));
	id = submit_after(w, "afterok:%llu,afterany:%llu", U(a), U(b));
	snprintf(text, sizeof(text), "afterok: job %llu is RUNNING, afterany: job %llu is PENDING",
	        U(a), U(b));
	assert_string_equal(why_of(w, id).blockers[0].text, text);
	snprintf(text, sizeof(text), "afterok:%llu,afterany:%llu", U(a), U(b));
	assert_string_equal(world_view(w, id).dependency, text);
	world_free(w);
}

static void never_is_ended_where_that_is_wished(void **state)
{
	struct world *w = ready();
	struct submit_job job = world_job(w, "h100:1");
	uint64_t first = world_submit(w, "h100:1"), chain[5], keeps;
	char text[60];

	(void)state;
	/* Each waits for the one before it to end well: all go, one after another. */
	for (size_t i = 0; i < 5; i++) {
		job = world_job(w, "h100:1");
		snprintf(text, sizeof(text), "afterok:%llu", U(i ? chain[i - 1] : first));
		job.depends = text;
		job.kill_invalid = KILL_YES;
		chain[i] = submit(w, &job);
	}
	job = world_job(w, "h100:1");
	snprintf(text, sizeof(text), "afterok:%llu", U(first));
	job.depends = text;
	job.kill_invalid = KILL_NO;
	keeps = submit(w, &job);
	end(w, first, 1);
	for (size_t i = 0; i < 5; i++)
		is(w, chain[i], "CANCELLED", "");
	is(w, keeps, "PENDING", "DependencyNeverSatisfied");
	assert_non_null(strstr(world_view(w, chain[0]).comment, "is FAILED"));
	/* At its submit. */
	job = world_job(w, "h100:1");
	snprintf(text, sizeof(text), "afterok:%llu", U(first));
	job.depends = text;
	job.kill_invalid = KILL_YES;
	is(w, submit(w, &job), "CANCELLED", "");
	world_free(w);
}

static void never_as_configured(void **state)
{
	static const char conf[] =
	        "cluster = \"lab\"; controller = { host = \"h\"; kill_invalid_dep = true; };\n"
	        "gpu_types = ( { name = \"h100\"; } );\n"
	        "nodes = ( { name = \"n0\"; cpus = 8; mem = \"64G\"; gpus = \"h100:8\"; } );\n"
	        "partitions = ( { name = \"batch\"; nodes = \"ALL\"; default = true; } );\n";
	struct world *w = world_new(conf);
	uint64_t first, id;

	(void)state;
	world_register_all(w);
	first = world_submit(w, "h100:1");
	id = submit_after(w, "afterok:%llu", U(first));
	end(w, first, 1);
	is(w, id, "CANCELLED", "");
	world_free(w);
}

static uint64_t submit_array(struct world *w, const char *array, const char *gpus)
{
	struct submit_job job = world_job(w, gpus);

	job.array = array;
	return submit(w, &job);
}

/* A task runs, and ends unless the code is < 0. */
static void task(struct world *w, uint64_t id, uint32_t number, int code)
{
	struct job_view v;
	struct run_report r;

	if (!core_job_view(w->core, core_task_ref(id, number), w->now, &v))
		fail_msg("no task %u", number);
	r = world_report((struct run_id){ id, number, v.attempt, 0 }, REPORT_RUNNING);
	r.start_time = w->now.wall;
	world_say(w, 0, r);
	if (code >= 0) {
		r.state = REPORT_ENDED;
		r.cause = END_EXIT;
		r.exit_code = (uint32_t)code;
		world_say(w, 0, r);
	}
	world_schedule(w);
}

static void for_one_task(void **state)
{
	struct world *w = ready();
	uint64_t array = submit_array(w, "0-9", "h100:4"), ok, ill, any, started, gone;

	(void)state;
	ok = submit_after(w, "afterok:%llu_7", U(array));
	ill = submit_after(w, "afternotok:%llu_1", U(array));
	any = submit_after(w, "afterany:%llu_1:%llu_2", U(array), U(array));
	started = submit_after(w, "after:%llu_3", U(array));
	assert_int_equal(submit_after(w, "afterok:%llu_10", U(array)), 0);
	assert_non_null(strstr(w->error.text, "has no task 10: its array is 0-9"));
	is(w, ok, "PENDING", "Dependency");
	assert_non_null(strstr(why_of(w, ok).blockers[0].text, "_7 is PENDING"));
	world_restart(w);
	world_register_all(w);
	task(w, array, 0, 0);
	task(w, array, 1, 5);
	assert_string_not_equal(world_reason(w, ill), "Dependency");
	is(w, any, "PENDING", "Dependency");
	world_restart(w);
	world_register_all(w);
	task(w, array, 2, 0);
	assert_string_not_equal(world_reason(w, any), "Dependency");
	is(w, started, "PENDING", "Dependency");
	task(w, array, 3, -1);
	assert_string_not_equal(world_reason(w, started), "Dependency");
	/* One that was cancelled with others is known by their record. */
	world_control(w, world_user(OWNER), JOB_CANCEL, array);
	is(w, ok, "PENDING", "DependencyNeverSatisfied");
	gone = submit_after(w, "afternotok:%llu_9", U(array));
	world_schedule(w);
	assert_string_not_equal(world_reason(w, gone), "Dependency");
	world_seal(w);
	world_free(w);
}

/* after:ARRAY, as in Slurm: when none of its tasks has yet to start. */
static void after_all_tasks(void **state)
{
	struct world *w = ready();
	uint64_t array = submit_array(w, "0-2", "h100:4"), all, later;

	(void)state;
	all = submit_after(w, "after:%llu", U(array));
	later = submit_after(w, "after:%llu+10", U(array));
	task(w, array, 0, -1);
	is(w, all, "PENDING", "Dependency");
	task(w, array, 1, 0);
	is(w, all, "PENDING", "Dependency");
	world_restart(w);
	world_register_all(w);
	task(w, array, 2, -1);
	assert_string_not_equal(world_reason(w, all), "Dependency");
	is(w, later, "PENDING", "Dependency");
	world_seal(w);
	pass(w, 601);
	assert_string_not_equal(world_reason(w, later), "Dependency");
	world_free(w);
}

static void refused(void **state)
{
	struct world *w = ready();
	uint64_t first = world_submit(w, "h100:1"), ended = world_submit(w, "h100:1"), a, b, c;
	char text[60];

	(void)state;
	assert_int_equal(submit_after(w, "afterok:%llu", U(ended + 1)), 0);
	assert_int_equal(w->error.code, ERR_NO_JOB);
	assert_int_equal(submit_after(w, "afterok:%llu_3", U(first)), 0);
	assert_non_null(strstr(w->error.text, "is not an array: it has no task 3"));
	assert_int_equal(submit_after(w, "afterok"), 0);
	assert_int_equal(w->error.code, ERR_JOB_SPEC);
	/* Itself, a circle, a circle over a singleton. */
	a = submit_after(w, "afterok:%llu", U(first));
	b = submit_after(w, "afterok:%llu", U(a));
	c = submit_after(w, "afterok:%llu,singleton", U(b));
	snprintf(text, sizeof(text), "afterok:%llu", U(a));
	assert_int_equal(
	        update(w, a, (struct submit_job){ .depends = text }, UPDATE_DEPENDENCY), 0);
	assert_non_null(strstr(w->error.text, "cannot wait for itself"));
	snprintf(text, sizeof(text), "afterany:%llu", U(c));
	assert_int_equal(
	        update(w, a, (struct submit_job){ .depends = text }, UPDATE_DEPENDENCY), 0);
	assert_non_null(strstr(w->error.text, "would wait for itself"));
	assert_int_equal(update(w, a, (struct submit_job){ .depends = "" }, UPDATE_DEPENDENCY), 1);
	is(w, a, "CONFIGURING", "");
	world_free(w);
}

/* Of jobs in history is known how they ended; not of ids that were never used. */
static void after_what_is_in_history(void **state)
{
	struct world *w = ready();
	uint64_t good = world_submit(w, "h100:1"), bad = world_submit(w, "h100:1"), lives, id;
	struct submit_job job = world_job(w, "h100:1");
	char text[60];

	(void)state;
	end(w, good, 0);
	end(w, bad, 3);
	pass(w, w->conf->controller.keep_ended_s + 1);
	assert_string_equal(world_state(w, good), "none");
	world_restart(w);
	world_register_all(w);
	lives = world_submit(w, "h100:1");
	is(w, submit_after(w, "afterok:%llu,afterany:%llu,after:%llu+5", U(good), U(bad), U(bad)),
	        "CONFIGURING", "");
	is(w, submit_after(w, "afternotok:%llu", U(bad)), "CONFIGURING", "");
	is(w, submit_after(w, "afterok:%llu?afterok:%llu", U(lives), U(good)), "CONFIGURING", "");
	is(w, submit_after(w, "afterok:%llu?afterok:%llu", U(lives), U(bad)), "PENDING",
	        "Dependency");
	id = submit_after(w, "afterok:%llu:%llu", U(lives), U(bad));
	is(w, id, "PENDING", "DependencyNeverSatisfied");
	assert_non_null(strstr(why_of(w, id).blockers[0].text, "ended otherwise"));
	is(w, submit_after(w, "afternotok:%llu?afterok:%llu", U(good), U(bad)), "PENDING",
	        "DependencyNeverSatisfied");
	snprintf(text, sizeof(text), "afterok:%llu", U(bad));
	job.depends = text;
	job.kill_invalid = KILL_YES;
	is(w, submit(w, &job), "CANCELLED", "");
	assert_int_equal(submit_after(w, "afterany:%llu", U(bad + 100)), 0);
	assert_non_null(strstr(w->error.text, "there is no job"));
	world_restart(w);
	is(w, id, "PENDING", "DependencyNeverSatisfied");
	world_free(w);
}

static void changed_while_it_waits(void **state)
{
	struct world *w = ready();
	uint64_t first = world_submit(w, "h100:1"), second = world_submit(w, "h100:1");
	uint64_t id = submit_after(w, "afterok:%llu", U(first));
	char text[60];

	(void)state;
	snprintf(text, sizeof(text), "afterok:%llu", U(second));
	assert_int_equal(
	        update(w, id, (struct submit_job){ .depends = text }, UPDATE_DEPENDENCY), 1);
	end(w, first, 1);
	is(w, id, "PENDING", "Dependency");
	/* What is not named stays as it is. */
	assert_int_equal(update(w, id, (struct submit_job){ .begin_time = w->now.wall + MINUTE },
	                         UPDATE_BEGIN),
	        1);
	is(w, id, "PENDING", "Dependency");
	end(w, second, 0);
	is(w, id, "PENDING", "BeginTime");
	assert_int_equal(update(w, id, (struct submit_job){ .begin_time = 0 }, UPDATE_BEGIN), 1);
	is(w, id, "CONFIGURING", "");
	world_free(w);
}

/* --- many ------------------------------------------------------------------------------------ */

#define MANY 5000

/* Nothing is done for those who wait until what they wait for ends; then all are told, in slices.
 */
static void many_wait_for_one(void **state)
{
	struct world *w = ready();
	uint64_t first = world_submit(w, "h100:1");
	struct core_event e = { .kind = EV_CLOCK };
	struct job_view v;
	unsigned waiting = 0, slices = 0;

	(void)state;
	w->unchecked = true;
	for (unsigned i = 0; i < MANY; i++)
		submit_after(w, "afterany:%llu", U(first));
	world_seal(w);
	core_apply(w->core, &e, w->now);
	assert_false(core_schedule(w->core, w->now, 1000));
	core_effects_clear(w->core);
	world_run_starts(w, first);
	e = (struct core_event){ .kind = EV_RUN_REPORT };
	e.run.session = world_session(w, 0);
	e.run.report = world_report(world_run(w, first), REPORT_ENDED);
	e.run.report.cause = END_EXIT;
	core_apply(w->core, &e, w->now);
	for (waiting = MANY; waiting; slices++) {
		assert_true(core_schedule(w->core, w->now, 0));
		waiting = 0;
		for (uint64_t id = first; core_job_next(w->core, id, w->now, &v); id = v.id)
			waiting += !strcmp(v.reason, "Dependency");
	}
	assert_in_range(slices, MANY / 256, MANY / 256 + 2);
	world_free(w);
}

/* --- dense ----------------------------------------------------------------------------------- */

#define NAMED 1000
#define DENSE 100

static uint64_t memory_of(struct world *w, uint32_t uid)
{
	return budget_used(core_budget(w->core), uid, BUDGET_MEMORY);
}

/* "afterany:FIRST:FIRST+1:...": each the same, so that the text itself is there once. */
static char *names_all(uint64_t first)
{
	struct strbuf text = { 0 };

	strbuf_adds(&text, "afterany");
	for (unsigned i = 0; i < NAMED; i++)
		strbuf_addf(&text, ":%llu", U(first + i));
	return strbuf_take(&text);
}

static struct world *dense_world(uint64_t *first)
{
	struct world *w = ready();

	w->unchecked = true;
	world_node(w, NODE_DRAIN, 0, false);
	*first = world_submit(w, "h100:1");
	for (unsigned i = 1; i < NAMED; i++)
		world_submit(w, "h100:1");
	return w;
}

/* A thousand jobs that each of many waits for: in memory that is not much more than their text, and so
 * it is after a restart. The owner's account knows. */
static void dense_dependencies_cost_little(void **state)
{
	uint64_t first, last = 0, charged;
	struct world *w = dense_world(&first);
	char *text = names_all(first);
	size_t before = mallinfo2().uordblks, took;

	(void)state;
	charged = memory_of(w, OTHER);
	for (unsigned i = 0; i < DENSE; i++) {
		struct submit_job job = world_job(w, "h100:1");

		job.depends = text;
		last = world_submit_job(w, &job, OTHER);
		assert_int_not_equal(last, 0);
	}
	took = mallinfo2().uordblks - before;
	charged = memory_of(w, OTHER) - charged;
	if (before) /* the allocator of a sanitizer tells nothing */
		assert_in_range(took / DENSE / NAMED, 9, 24);
	world_seal(w);
	assert_in_range(charged, DENSE * strlen(text), DENSE * 6 * strlen(text));
	w->unchecked = false;
	world_restart(w);
	assert_int_equal(memory_of(w, OTHER), charged);
	is(w, last, "PENDING", "Dependency");
	free(text);
	world_free(w);
}

/* One of the thousand ends: those that wait are told a few at a time, since the text of each is
 * written anew. */
static void dense_dependencies_are_told_in_steps(void **state)
{
	uint64_t first, last = 0;
	struct world *w = dense_world(&first);
	char *text = names_all(first);
	unsigned slices = 1, dense = DENSE / (unsigned)sparse();

	(void)state;
	for (unsigned i = 0; i < dense; i++) {
		struct submit_job job = world_job(w, "h100:1");

		job.depends = text;
		last = world_submit_job(w, &job, OTHER);
	}
	world_seal(w);
	for (unsigned i = 0; i < NAMED - 1; i++) {
		struct core_event e = { .kind = EV_JOB_CONTROL, .caller = world_user(OWNER) };
		uint64_t id = first + i;

		e.job.verb = JOB_CANCEL;
		e.job.ids = &id;
		e.job.n = 1;
		core_apply(w->core, &e, w->now);
		if (i)
			continue;
		while (core_schedule(w->core, w->now, 1000))
			slices++;
		assert_in_range(slices, dense / 10, dense);
	}
	while (core_schedule(w->core, w->now, 1000))
		continue;
	core_effects_clear(w->core);
	world_restart(w);
	is(w, last, "PENDING", "Dependency");
	assert_true(core_job_next(w->core, last - 1, w->now, &(struct job_view){ 0 }));
	assert_string_not_equal(world_view(w, last).dependency, "");
	assert_null(strchr(strchr(world_view(w, last).dependency, ':') + 1, ':'));
	free(text);
	world_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_type_after_each_end),
		cmocka_unit_test(after_the_start_and_some_minutes),
		cmocka_unit_test(all_and_any),
		cmocka_unit_test(why_names_them),
		cmocka_unit_test(never_is_ended_where_that_is_wished),
		cmocka_unit_test(never_as_configured),
		cmocka_unit_test(for_one_task),
		cmocka_unit_test(after_all_tasks),
		cmocka_unit_test(refused),
		cmocka_unit_test(after_what_is_in_history),
		cmocka_unit_test(changed_while_it_waits),
		cmocka_unit_test(many_wait_for_one),
		cmocka_unit_test(dense_dependencies_cost_little),
		cmocka_unit_test(dense_dependencies_are_told_in_steps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
