/* test_core_array.c - arrays: which task starts when, what is done to some of them, when it is over
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "ctld/core/records/job.h"
#include "testsuite/unit/lib/core_world.h"

static uint64_t submit_array(struct world *w, const char *array, const char *gpus)
{
	struct submit_job job = world_job(w, gpus);
	uint64_t id;

	job.array = array;
	id = world_submit_job(w, &job, 1000);
	if (!id)
		fail_msg("refused: %s", w->error.text);
	return id;
}

static const char *task_state(struct world *w, uint64_t id, uint32_t task)
{
	return world_task_view(w, id, task).state;
}

static struct run_id task_run(struct world *w, uint64_t id, uint32_t task)
{
	return (struct run_id){ id, task, world_task_view(w, id, task).attempt, 0 };
}

static void task_starts(struct world *w, uint64_t id, uint32_t task)
{
	world_say(w, 0, world_report(task_run(w, id, task), REPORT_RUNNING));
}

static void task_ends(struct world *w, uint64_t id, uint32_t task, uint32_t code)
{
	struct run_report r = world_report(task_run(w, id, task), REPORT_ENDED);

	r.cause = END_EXIT;
	r.exit_code = code;
	world_say(w, 0, r);
	world_schedule(w);
}

/* All rows of a listing: "7_[3-4] PD 7_0 R ". */
static const char *listing(struct world *w)
{
	static char text[2000];
	struct job_view v;
	uint64_t after = 0;
	size_t used = 0;

	text[0] = '\0';
	for (; core_job_next(w->core, after, w->now, &v); after = v.ref) {
		if (v.ended)
			continue;
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s%s %s ",
		        v.several ? "[" : "", v.tasks, v.several ? "]" : "", v.state_code);
	}
	return text;
}

static uint32_t control(
        struct world *w, struct caller by, enum job_verb verb, uint64_t id, const char *tasks)
{
	return tasks ? world_control_tasks(w, by, verb, id, tasks) : world_control(w, by, verb, id);
}

/* --- order ----------------------------------------------------------------------------------- */

static void tasks_start_in_order(void **state)
{
	struct world *w = world_simple(1, "h100:4");
	uint64_t id, other;
	uint32_t t;

	(void)state;
	world_register_all(w);
	id = submit_array(w, "0-20:2", "h100:2");
	other = world_submit(w, "h100:2");
	assert_string_equal(listing(w), "[4-20:2] PD 0 CF 2 CF  PD ");
	assert_int_equal(world_view(w, id).task_count, 9);
	assert_int_equal(world_view(w, id).tasks_running, 2);
	world_restart(w);
	assert_string_equal(listing(w), "[4-20:2] PD 0 CF 2 CF  PD ");
	world_register_all(w);
	task_starts(w, id, 0);
	task_starts(w, id, 2);
	task_ends(w, id, 2, 0);
	assert_string_equal(task_state(w, id, 2), "COMPLETED");
	assert_string_equal(listing(w), "[6-20:2] PD 0 R 4 CF  PD ");
	world_seal(w);
	for (t = 4; t <= 20; t += 2) {
		task_starts(w, id, t);
		task_ends(w, id, t, t == 10 ? 7 : 0);
		world_restart(w);
		world_register_all(w);
		world_schedule(w);
	}
	assert_string_equal(world_state(w, id), "PENDING");
	assert_string_equal(task_state(w, id, 10), "FAILED");
	assert_string_equal(world_state(w, other), "CONFIGURING");
	task_ends(w, id, 0, 0);
	assert_string_equal(world_state(w, id), "FAILED");
	assert_int_equal(world_view(w, id).exit_code, 7);
	assert_int_equal(world_view(w, id).tasks_failed, 1);
	assert_int_equal(world_view(w, id).tasks_ended, 11);
	world_seal(w);
	world_pass(w, 24 * 3600);
	world_seal(w);
	assert_string_equal(world_state(w, id), "none");
	assert_int_equal(w->history_jobs, 12);
	world_free(w);
}

/* A task that is requeued stands before those that have not been started. */
static void requeued_task_is_next(void **state)
{
	struct world *w = world_simple(1, "h100:4");
	uint64_t id;

	(void)state;
	world_register_all(w);
	id = submit_array(w, "1-9", "h100:4");
	task_starts(w, id, 1);
	assert_int_equal(control(w, world_user(1000), JOB_REQUEUE, id, "1"), 1);
	assert_string_equal(listing(w), "[2-9] PD 1 CG ");
	task_ends(w, id, 1, 0);
	assert_string_equal(listing(w), "[2-9] PD 1 CF ");
	assert_int_equal(world_task_view(w, id, 1).attempt, 2);
	world_restart(w);
	assert_string_equal(listing(w), "[2-9] PD 1 CF ");
	world_free(w);
}

/* --- how many at a time ---------------------------------------------------------------------- */

static struct core_event throttle_event(uint64_t *id, struct submit_job *change, uint32_t at_once)
{
	struct core_event e = { .kind = EV_JOB_CONTROL, .caller = world_user(1000) };

	change->array_at_once = at_once;
	e.job.verb = JOB_UPDATE;
	e.job.ids = id;
	e.job.n = 1;
	e.job.change = change;
	e.job.fields = UPDATE_AT_ONCE;
	return e;
}

static void throttled(void **state)
{
	struct world *w = world_simple(1, "h100:4");
	struct submit_job change = world_job(w, "");
	struct core_event e;
	uint64_t id, plain;

	(void)state;
	world_register_all(w);
	id = submit_array(w, "0-9%2", "");
	assert_string_equal(listing(w), "[2-9] PD 0 CF 1 CF ");
	assert_string_equal(world_reason(w, id), "JobArrayTaskLimit");
	world_restart(w);
	world_register_all(w);
	assert_string_equal(listing(w), "[2-9] PD 0 CF 1 CF ");
	task_starts(w, id, 0);
	task_ends(w, id, 0, 0);
	assert_string_equal(listing(w), "[3-9] PD 1 CF 2 CF ");
	e = throttle_event(&id, &change, 4);
	world_apply(w, &e);
	world_schedule(w);
	assert_string_equal(listing(w), "[5-9] PD 1 CF 2 CF 3 CF 4 CF ");
	e = throttle_event(&id, &change, 1);
	world_apply(w, &e);
	task_starts(w, id, 1);
	task_ends(w, id, 1, 0);
	assert_string_equal(listing(w), "[5-9] PD 2 CF 3 CF 4 CF ");
	world_restart(w);
	world_register_all(w);
	assert_int_equal(world_view(w, id).at_once, 1);
	e = throttle_event(&id, &change, 0);
	world_apply(w, &e);
	world_schedule(w);
	assert_string_equal(listing(w), "2 CF 3 CF 4 CF 5 CF 6 CF 7 CF 8 CF 9 CF ");
	plain = world_submit(w, "");
	e = throttle_event(&plain, &change, 1);
	world_apply(w, &e);
	assert_int_equal(w->error.code, ERR_JOB_STATE);
	world_free(w);
}

/* --- some of the tasks ----------------------------------------------------------------------- */

static void ranges_are_held(void **state)
{
	struct world *w = world_simple(1, "h100:4");
	struct caller ana = world_user(1000), other = world_user(1001);
	uint64_t id;

	(void)state;
	id = submit_array(w, "0-9", "h100:4");
	assert_int_equal(control(w, ana, JOB_HOLD, id, "0-2,5"), 1);
	assert_int_equal(control(w, ana, JOB_HOLD, id, "7"), 1);
	assert_string_equal(listing(w), "[3-4,6,8-9] PD 7 PD [0-2,5] PD ");
	world_restart(w);
	assert_string_equal(listing(w), "[3-4,6,8-9] PD 7 PD [0-2,5] PD ");
	assert_int_equal(control(w, ana, JOB_RELEASE, id, "1-7"), 1);
	assert_string_equal(listing(w), "[3-4,6,8-9] PD 7 PD [0] PD [1-2,5] PD ");
	assert_string_equal(world_task_view(w, id, 0).reason, "JobHeldUser");
	assert_int_equal(control(w, other, JOB_HOLD, id, "1"), 0);
	assert_int_equal(w->error.code, ERR_NOT_PERMITTED);
	assert_int_equal(control(w, ana, JOB_HOLD, id, "10"), 0);
	assert_string_equal(w->error.text, "job 1 has no task 10: its array is 0-9");
	/* Held or not, the lowest of those that may start is first. */
	world_register_all(w);
	world_schedule(w);
	assert_string_equal(task_state(w, id, 1), "CONFIGURING");
	task_starts(w, id, 1);
	assert_int_equal(control(w, ana, JOB_HOLD, id, "1"), 0);
	assert_string_equal(w->error.text, "job 1_1 cannot be held: it is RUNNING");
	assert_int_equal(control(w, ana, JOB_CANCEL, id, "0-4"), 1);
	assert_string_equal(task_state(w, id, 0), "CANCELLED");
	assert_string_equal(task_state(w, id, 1), "COMPLETING");
	assert_string_equal(listing(w), "[6,8-9] PD 1 CG 7 PD [5] PD ");
	task_ends(w, id, 1, 0);
	assert_string_equal(task_state(w, id, 5), "CONFIGURING");
	assert_int_equal(control(w, ana, JOB_CANCEL, id, "3"), 0);
	assert_string_equal(w->error.text, "job 1_[3]: all of that has ended");
	assert_int_equal(control(w, ana, JOB_CANCEL, id, NULL), 1);
	task_starts(w, id, 5);
	task_ends(w, id, 5, 0);
	assert_string_equal(world_state(w, id), "CANCELLED");
	world_seal(w);
	world_pass(w, 24 * 3600);
	world_seal(w);
	assert_string_equal(world_state(w, id), "none");
	world_free(w);
}

/* What waits of an array is one thing in a listing, and can be meant alone. */
/* Also of a record that has more tasks than were named, and is as it should be already. */
static void named_tasks_are_counted(void **state)
{
	static const struct {
		enum job_verb verb;
		const char *tasks;
		uint32_t n;
	} cases[] = {
		{ JOB_HOLD, "2-5", 4 },
		{ JOB_HOLD, "4", 1 },
		{ JOB_HOLD, "5-7", 3 },
		{ JOB_RELEASE, "3,6", 2 },
		{ JOB_RELEASE, "8", 1 },
		{ JOB_HOLD, NULL, 10 },
		{ JOB_CANCEL, "0-1,9", 3 },
	};
	struct world *w = world_simple(1, "h100:4");
	uint64_t id = submit_array(w, "0-9", "h100:1");

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct effect *fx;

		assert_int_equal(
		        control(w, world_user(1000), cases[i].verb, id, cases[i].tasks), 1);
		fx = world_effect(w, EFFECT_CONTROLLED);
		if (fx->controlled.tasks != cases[i].n)
			fail_msg("case %zu: %u tasks", i, fx->controlled.tasks);
	}
	world_free(w);
}

static void only_what_waits(void **state)
{
	struct world *w = world_simple(1, "h100:4");
	uint64_t id;
	struct job_view v;

	(void)state;
	world_register_all(w);
	id = submit_array(w, "0-9%1", "");
	v = world_view(w, id);
	assert_int_equal(control(w, world_admin(), JOB_CANCEL, v.ref, NULL), 1);
	assert_string_equal(listing(w), "0 CF ");
	assert_string_equal(world_state(w, id), "PENDING");
	task_starts(w, id, 0);
	task_ends(w, id, 0, 0);
	assert_string_equal(world_state(w, id), "CANCELLED");
	world_free(w);
}

static void updated_in_part(void **state)
{
	struct world *w = world_simple(1, "h100:4");
	struct submit_job change = world_job(w, "");
	struct core_event e = { .kind = EV_JOB_CONTROL, .caller = world_user(1000) };
	uint64_t id = submit_array(w, "0-9", "h100:4");
	struct taskset set;
	const struct taskset *sets[1] = { &set };

	(void)state;
	taskset_parse("4-6", &set, NULL);
	change.time_limit_s = 60;
	e.job.verb = JOB_UPDATE;
	e.job.ids = &id;
	e.job.tasks = sets;
	e.job.n = 1;
	e.job.change = &change;
	e.job.fields = UPDATE_TIME;
	world_apply(w, &e);
	assert_int_equal(w->done, 1);
	assert_int_equal(world_task_view(w, id, 5).time_limit_s, 60);
	assert_int_equal(world_task_view(w, id, 7).time_limit_s, 3600);
	world_restart(w);
	assert_string_equal(listing(w), "[0-3,7-9] PD [4-6] PD ");
	assert_int_equal(world_task_view(w, id, 5).time_limit_s, 60);
	taskset_clear(&set);
	world_free(w);
}

/* --- waiting, limits ------------------------------------------------------------------------- */

static void wait_for(struct world *w, uint64_t ref)
{
	struct core_event e = { .kind = EV_WAIT_JOB, .caller = world_user(1000) };

	e.wait = ref;
	world_clear(w);
	world_apply(w, &e);
}

static void waited_for(void **state)
{
	struct world *w = world_simple(1, "h100:4");
	uint64_t id = submit_array(w, "0-3", "");

	(void)state;
	wait_for(w, core_task_ref(id, 2));
	assert_int_equal(world_effect_count(w, EFFECT_JOB_ENDED), 0);
	wait_for(w, id);
	control(w, world_admin(), JOB_CANCEL, id, "1-2");
	assert_int_equal(world_effect_count(w, EFFECT_JOB_ENDED), 1);
	assert_true(world_effect(w, EFFECT_JOB_ENDED)->job == core_task_ref(id, 2));
	world_clear(w);
	control(w, world_admin(), JOB_CANCEL, id, NULL);
	assert_int_equal(world_effect_count(w, EFFECT_JOB_ENDED), 1);
	assert_true(world_effect(w, EFFECT_JOB_ENDED)->job == id);
	wait_for(w, core_task_ref(id, 9));
	assert_string_equal(w->error.text, "there is no job 1_9");
	world_free(w);
}

static void limits_count_tasks(void **state)
{
	struct world *w = world_new(
	        "cluster = \"test\"; controller = { host = \"h\"; };\n"
	        "nodes = ( { name = \"n0\"; cpus = 8; mem = \"64G\"; } );\n"
	        "partitions = ( { name = \"batch\"; nodes = \"ALL\"; default = true; } );\n"
	        "accounts = ( { name = \"a\"; members = [ \"*\" ];\n"
	        "  limits = { queued = 10; running = 3; }; } );\n");
	struct submit_job job = world_job(w, "");
	uint64_t id;

	(void)state;
	world_register_all(w);
	id = submit_array(w, "0-6", "");
	assert_string_equal(listing(w), "[3-6] PD 0 CF 1 CF 2 CF ");
	job.array = "0-3";
	assert_int_equal(world_submit_job(w, &job, 1000), 0);
	assert_string_equal(w->error.text,
	        "account a has 7 jobs that wait or run, and its limit is 10; this array has 4 "
	        "tasks");
	task_starts(w, id, 0);
	task_ends(w, id, 0, 0);
	assert_string_equal(listing(w), "[4-6] PD 1 CF 2 CF 3 CF ");
	world_restart(w);
	job = world_job(w, "");
	job.array = "0-3";
	assert_int_not_equal(world_submit_job(w, &job, 1000), 0);
	world_free(w);
}

/* --- what nodes say -------------------------------------------------------------------------- */

/* The database is older than what runs: tasks that wait by it run, and are taken over. */
static void tasks_are_adopted(void **state)
{
	struct world *w = world_simple(1, "h100:4");
	uint64_t id = submit_array(w, "0-9", "h100:1");
	struct run_report r = world_report((struct run_id){ id, 5, 1, 0 }, REPORT_RUNNING);

	(void)state;
	r.uid = 1000;
	r.nodes = 1;
	r.gpus = 2;
	r.gpu_type = "h100";
	r.cpus = 1;
	world_register(w, 0, "inc1", &r, 1);
	assert_string_equal(task_state(w, id, 5), "RUNNING");
	world_schedule(w);
	assert_string_equal(listing(w), "[3-4,6-9] PD 0 CF 1 CF 2 CF 5 R ");
	world_restart(w);
	assert_string_equal(task_state(w, id, 5), "RUNNING");
	world_free(w);
}

/* A task has ended since the backup, and there was no room for that in its node's registration. */
static void tasks_ended_since_the_backup(void **state)
{
	struct world *w = world_simple(1, "h100:4");
	uint64_t id = submit_array(w, "0-9", "h100:1");
	struct run_report r = world_report((struct run_id){ id, 5, 1, 0 }, REPORT_ENDED);

	(void)state;
	world_restart(w);
	core_takeover(w->core, 0, 0);
	world_register(w, 0, "inc1", NULL, 0);
	r.uid = 1000;
	r.nodes = 1;
	r.gpus = 1;
	r.gpu_type = "h100";
	r.cpus = 1;
	r.cause = END_EXIT;
	r.elapsed_us = 7000000;
	world_say(w, 0, r);
	assert_string_equal(task_state(w, id, 5), "COMPLETED");
	assert_int_equal(world_task_view(w, id, 5).elapsed_s, 7);
	/* Its late copy changes nothing. */
	world_say(w, 0, r);
	world_restart(w);
	assert_string_equal(task_state(w, id, 5), "COMPLETED");
	assert_string_equal(task_state(w, id, 6), "PENDING");
	world_free(w);
}

/* --- a million ------------------------------------------------------------------------------- */

static void a_million_tasks(void **state)
{
	struct world *w = world_simple(1, "h100:4");
	struct mallinfo2 before = mallinfo2(), after;
	struct submit_job job = world_job(w, "h100:4");
	uint64_t id;

	(void)state;
	w->unchecked = true;
	world_register_all(w);
	job.array = "0-999999%1";
	id = world_submit_job(w, &job, 1000);
	after = mallinfo2();
	assert_true(after.uordblks - before.uordblks < 1000000);
	assert_int_equal(world_view(w, id).task_count, 999999);
	assert_int_equal(control(w, world_user(1000), JOB_HOLD, id, "500000-999999"), 1);
	assert_int_equal(control(w, world_user(1000), JOB_CANCEL, id, "2-999999:2"), 1);
	assert_int_equal(world_view(w, id).task_count, 250000);
	world_restart(w);
	assert_int_equal(world_view(w, id).task_count, 250000);
	assert_int_equal(control(w, world_user(1000), JOB_CANCEL, id, NULL), 1);
	world_seal(w);
	world_free(w);
}

static void no_row(void *arg, const struct row *row)
{
	(void)arg;
	(void)row;
}

static size_t in_use(struct world *w)
{
	struct mallinfo2 info;

	core_seal(w->core, no_row, NULL);
	free(w->effects);
	w->effects = NULL;
	w->n_effects = w->effects_size = 0;
	info = mallinfo2();
	return info.uordblks + info.hblkhd;
}

#define STARTED 8000
static void memory_of_started_tasks(void **state)
{
	struct world *w = world_simple(STARTED / 8, "");
	struct submit_job job = world_job(w, "");
	struct core_stats stats;
	size_t before, each;

	(void)state;
	w->unchecked = true;
	world_register_all(w);
	before = in_use(w);
	job.array = "0-999999";
	job.cpus = 1;
	job.mem_mb = 1;
	assert_int_not_equal(world_submit_job(w, &job, 1000), 0);
	core_stats(w->core, &stats);
	assert_int_equal(stats.runs, STARTED);
	each = (in_use(w) - before) / STARTED;
	printf("%zu bytes for each of %d started tasks\n", each, STARTED);
	assert_true(each <= 1024); /* 0: a sanitizer's allocator tells nothing */
	world_free(w);
}

/* How some have ended is the array's, and not of those that wait. */
static void who_waits_has_not_ended(void **state)
{
	struct world *w = world_simple(1, "h100:1");
	struct job_view v;
	uint64_t id, after = 0;

	(void)state;
	world_register_all(w);
	id = submit_array(w, "0-3", "h100:1");
	task_starts(w, id, 0);
	task_ends(w, id, 0, 7);
	control(w, world_admin(), JOB_HOLD, id, "2-3");
	for (; core_job_next(w->core, after, w->now, &v); after = v.ref)
		assert_int_equal(v.exit_code, v.ended ? 7 : 0);
	world_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_waits_has_not_ended),
		cmocka_unit_test(tasks_start_in_order),
		cmocka_unit_test(requeued_task_is_next),
		cmocka_unit_test(throttled),
		cmocka_unit_test(ranges_are_held),
		cmocka_unit_test(named_tasks_are_counted),
		cmocka_unit_test(only_what_waits),
		cmocka_unit_test(updated_in_part),
		cmocka_unit_test(waited_for),
		cmocka_unit_test(limits_count_tasks),
		cmocka_unit_test(tasks_are_adopted),
		cmocka_unit_test(tasks_ended_since_the_backup),
		cmocka_unit_test(a_million_tasks),
		cmocka_unit_test(memory_of_started_tasks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
