/* test_core_suspend.c - jobs that are suspended and resumed
 *
 * A job is SUSPENDED when its nodes say that all that lives of it has stopped; what was ordered and
 * is not true yet is ordered again in every session.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <string.h>
#include <cmocka.h>

#include "testsuite/unit/lib/core_world.h"

#define S ((usec_t)1000000)

static struct run_id rank_of(struct world *w, uint64_t job, uint32_t rank)
{
	struct run_id id = world_run(w, job);

	id.rank = rank;
	return id;
}

static struct run_view run_of(struct world *w, uint64_t job, uint32_t rank)
{
	struct run_view v;

	assert_true(core_run_view(w->core, rank_of(w, job, rank), w->now, &v));
	return v;
}

/* Of a rank on the node of its number, which began at `began` and was suspended for so long. */
struct rank {
	uint64_t job;
	uint32_t rank;
	usec_t began; /* mono */
	uint64_t suspended_us;
};

static struct run_report report_of(struct world *w, const struct rank *k, bool suspended)
{
	struct run_report r = world_report(rank_of(w, k->job, k->rank), REPORT_RUNNING);
	struct run_view v = run_of(w, k->job, k->rank);

	r.start_time = v.start_time ? v.start_time : w->now.wall;
	r.nodes = v.n_nodes;
	r.gpus = v.gpus;
	r.elapsed_us = (uint64_t)(w->now.mono - k->began);
	r.suspended_us = k->suspended_us;
	r.suspended = suspended;
	return r;
}

static void says(struct world *w, const struct rank *k, bool suspended)
{
	world_say(w, k->rank, report_of(w, k, suspended));
}

static void registers(struct world *w, const struct rank *k, bool suspended)
{
	struct run_report r = report_of(w, k, suspended);

	world_register(w, k->rank, "inc1", &r, 1);
}

/* The orders since world_clear(): so many, the last of them to stop or to go on. */
static void ordered(struct world *w, size_t n, bool suspend)
{
	assert_int_equal(world_effect_count(w, EFFECT_SUSPEND_RUN), n);
	if (n)
		assert_int_equal(world_effect(w, EFFECT_SUSPEND_RUN)->run.suspend, suspend);
	world_clear(w);
}

/* A cluster whose nodes may be silent for a day. */
static struct world *make(unsigned nodes)
{
	return world_new(
	        nodes == 1 ? "cluster = \"test\"; controller = { host = \"h\"; node_timeout = "
	                     "\"1d\"; };"
	                     "gpu_types = ( { name = \"h100\"; mem = \"80G\"; } );"
	                     "nodes = ( { name = \"n0\"; cpus = 8; mem = \"64G\"; gpus = "
	                     "\"h100:4\"; } );"
	                     "partitions = ( { name = \"batch\"; nodes = \"ALL\"; default = true;"
	                     "  preempt_mode = \"requeue\"; min_run = \"0s\"; grace = \"30s\"; "
	                     "tier = 1; },"
	                     "  { name = \"urgent\"; nodes = \"ALL\"; tier = 9; } );"
	                   : "cluster = \"test\"; controller = { host = \"h\"; node_timeout = "
	                     "\"1d\"; };"
	                     "gpu_types = ( { name = \"h100\"; mem = \"80G\"; } );"
	                     "nodes = ( { name = \"n[0-1]\"; cpus = 8; mem = \"64G\";"
	                     "  gpus = \"h100:4\"; } );"
	                     "partitions = ( { name = \"batch\"; nodes = \"ALL\"; default = true; "
	                     "} );");
}

static struct world *running(struct rank *k, bool requeue)
{
	struct world *w = make(1);
	struct submit_job job;

	world_register_all(w);
	job = world_job(w, "h100:4");
	job.requeue = requeue;
	job.time_limit_s = 3600;
	*k = (struct rank){ .job = world_submit_job(w, &job, 1000), .began = w->now.mono };
	says(w, k, false);
	assert_string_equal(world_state(w, k->job), "RUNNING");
	world_clear(w);
	return w;
}

static struct world *suspended(struct rank *k, bool requeue)
{
	struct world *w = running(k, requeue);

	world_pass(w, 100);
	assert_int_equal(world_control(w, world_user(1000), JOB_SUSPEND, k->job), 1);
	ordered(w, 1, true);
	assert_string_equal(world_state(w, k->job), "RUNNING"); /* it is not true yet */
	says(w, k, true);
	assert_string_equal(world_state(w, k->job), "SUSPENDED");
	return w;
}

/* --- the way there and back ------------------------------------------------------------------ */

static void there_and_back(void **state)
{
	struct rank k;
	struct world *w = suspended(&k, false);
	struct job_view v;

	(void)state;
	assert_non_null(strstr(world_view(w, k.job).comment, "suspended by "));
	world_pass(w, 500);
	v = world_view(w, k.job);
	assert_int_equal(v.elapsed_s, 100);
	assert_int_equal(v.suspended_s, 500);
	assert_string_equal(v.state_code, "S");
	assert_string_equal(run_of(w, k.job, 0).state, "SUSPENDED");
	assert_int_equal(v.gpus_held, 4); /* nobody else gets them */
	assert_string_equal(world_state(w, world_submit(w, "h100:1")), "PENDING");
	assert_int_equal(world_control(w, world_admin(), JOB_RESUME, k.job), 1);
	ordered(w, 1, false);
	assert_string_equal(world_state(w, k.job), "SUSPENDED");
	k.suspended_us = 500 * S;
	says(w, &k, false);
	assert_string_equal(world_state(w, k.job), "RUNNING");
	world_pass(w, 10);
	v = world_view(w, k.job);
	assert_int_equal(v.elapsed_s, 110);
	assert_int_equal(v.suspended_s, 500);
	ordered(w, 0, false);
	world_seal(w);
	world_free(w);
}

/* Asked for again it is as it was; what was never suspended cannot be resumed. */
static void said_twice(void **state)
{
	struct rank k;
	struct world *w = running(&k, false);

	(void)state;
	assert_int_equal(world_control(w, world_user(1000), JOB_RESUME, k.job), 0);
	assert_int_equal(w->error.code, ERR_JOB_STATE);
	assert_int_equal(world_control(w, world_user(1001), JOB_SUSPEND, k.job), 0);
	assert_int_equal(w->error.code, ERR_NOT_PERMITTED);
	world_control(w, world_user(1000), JOB_SUSPEND, k.job);
	says(w, &k, true);
	world_clear(w);
	assert_int_equal(world_control(w, world_user(1000), JOB_SUSPEND, k.job), 1);
	ordered(w, 0, true);
	assert_int_equal(world_control(w, world_user(1001), JOB_RESUME, k.job), 0);
	assert_int_equal(world_control(w, world_user(1000), JOB_RESUME, k.job), 1);
	assert_int_equal(world_control(w, world_user(1000), JOB_RESUME, k.job), 1);
	ordered(w, 2, false); /* until it is true: who asks again wants it */
	assert_int_equal(world_control(w, world_user(1000), JOB_SIGNAL, k.job), 0);
	world_free(w);
}

/* Taken back before it was true. */
static void changed_his_mind(void **state)
{
	struct rank k;
	struct world *w = running(&k, false);

	(void)state;
	world_control(w, world_user(1000), JOB_SUSPEND, k.job);
	ordered(w, 1, true);
	assert_int_equal(world_control(w, world_user(1000), JOB_RESUME, k.job), 1);
	ordered(w, 1, false);
	says(w, &k, false);
	assert_string_equal(world_state(w, k.job), "RUNNING");
	ordered(w, 0, false);
	/* The first order was still under way, and the second is lost: it is given again. */
	says(w, &k, true);
	assert_string_equal(world_state(w, k.job), "SUSPENDED");
	ordered(w, 1, false);
	says(w, &k, false);
	assert_string_equal(world_state(w, k.job), "RUNNING");
	world_free(w);
}

/* --- what outlives what ---------------------------------------------------------------------- */

static void outlives_the_controller(void **state)
{
	struct rank k;
	struct world *w = suspended(&k, false);

	(void)state;
	world_pass(w, 50);
	world_restart(w);
	assert_string_equal(world_state(w, k.job), "SUSPENDED");
	assert_int_equal(world_view(w, k.job).elapsed_s, 100);
	assert_int_equal(world_view(w, k.job).suspended_s, 50);
	world_clear(w);
	k.suspended_us = 50 * S;
	registers(w, &k, true);
	ordered(w, 0, true); /* it is as it should be */
	assert_int_equal(world_view(w, k.job).elapsed_s, 100);
	world_pass(w, 20);
	assert_int_equal(world_view(w, k.job).suspended_s, 70);
	world_control(w, world_user(1000), JOB_RESUME, k.job);
	world_restart(w); /* the order is lost with the session */
	world_clear(w);
	k.suspended_us = 70 * S;
	registers(w, &k, true);
	ordered(w, 1, false);
	says(w, &k, false);
	assert_string_equal(world_state(w, k.job), "RUNNING");
	assert_int_equal(world_view(w, k.job).elapsed_s, 100);
	world_pass(w, 5);
	assert_int_equal(world_view(w, k.job).elapsed_s, 105);
	world_free(w);
}

/* The node is away: the order goes out when it comes back. */
static void ordered_when_it_can_be(void **state)
{
	struct rank k;
	struct world *w = running(&k, false);

	(void)state;
	world_gone(w, 0);
	world_clear(w);
	assert_int_equal(world_control(w, world_user(1000), JOB_SUSPEND, k.job), 1);
	ordered(w, 0, true);
	registers(w, &k, false);
	ordered(w, 1, true);
	says(w, &k, true);
	assert_string_equal(world_state(w, k.job), "SUSPENDED");
	world_free(w);
}

/* --- its end --------------------------------------------------------------------------------- */

static struct run_report end_of(struct world *w, const struct rank *k, enum end_cause cause)
{
	struct run_report r = report_of(w, k, false);

	r.state = REPORT_ENDED;
	r.cause = cause;
	r.end_time = w->now.wall;
	return r;
}

static void cancelled(void **state)
{
	struct rank k;
	struct world *w = suspended(&k, true);

	(void)state;
	world_pass(w, 30);
	assert_int_equal(world_control(w, world_user(1000), JOB_CANCEL, k.job), 1);
	assert_string_equal(world_state(w, k.job), "COMPLETING");
	assert_int_equal(world_effect_count(w, EFFECT_END_RUN), 1);
	/* The shepherd lets it go on, so that it can react; nobody orders otherwise. */
	world_gone(w, 0);
	world_clear(w);
	registers(w, &k, true);
	ordered(w, 0, false);
	k.suspended_us = 30 * S;
	says(w, &k, false);
	assert_string_equal(world_state(w, k.job), "COMPLETING");
	world_pass(w, 2);
	world_say(w, 0, end_of(w, &k, END_CANCEL));
	assert_string_equal(world_state(w, k.job), "CANCELLED");
	assert_int_equal(world_view(w, k.job).elapsed_s, 102);
	assert_int_equal(world_view(w, k.job).suspended_s, 30);
	world_seal(w);
	world_restart(w);
	assert_int_equal(world_view(w, k.job).elapsed_s, 102);
	world_free(w);
}

static void requeued_by_its_owner(void **state)
{
	struct rank k;
	struct world *w = suspended(&k, true);

	(void)state;
	assert_int_equal(world_control(w, world_user(1000), JOB_REQUEUE, k.job), 1);
	assert_true(world_effect(w, EFFECT_END_RUN)->run.requeue);
	world_say(w, 0, end_of(w, &k, END_CANCEL));
	assert_string_equal(world_state(w, k.job), "CONFIGURING");
	k.began = w->now.mono;
	says(w, &k, false);
	assert_string_equal(world_state(w, k.job), "RUNNING"); /* it starts afresh */
	assert_int_equal(world_view(w, k.job).suspended_s, 0);
	world_free(w);
}

static void preempted(void **state)
{
	struct rank k;
	struct world *w = suspended(&k, true);
	struct submit_job urgent = world_job(w, "h100:4");
	uint64_t id;

	(void)state;
	urgent.partition = "urgent";
	id = world_submit_job(w, &urgent, 1000);
	assert_string_equal(world_state(w, k.job), "COMPLETING");
	assert_int_equal(world_effect(w, EFFECT_END_RUN)->run.cause, END_PREEMPT);
	world_say(w, 0, end_of(w, &k, END_PREEMPT));
	assert_string_equal(world_state(w, k.job), "PENDING");
	assert_string_equal(world_state(w, id), "CONFIGURING");
	world_free(w);
}

/* It ends all the same: killed from outside, or with its node. */
static void ended_by_others(void **state)
{
	struct rank k;
	struct world *w = suspended(&k, true);
	struct run_report r;

	(void)state;
	world_pass(w, 10);
	k.suspended_us = 10 * S;
	r = end_of(w, &k, END_EXIT);
	r.exit_signal = 9;
	world_say(w, 0, r);
	assert_string_equal(world_state(w, k.job), "FAILED");
	assert_int_equal(world_view(w, k.job).elapsed_s, 100);
	world_free(w);
	w = suspended(&k, true);
	world_pass(w, 10);
	world_register(w, 0, "inc2", NULL, 0);
	assert_string_equal(world_state(w, k.job), "CONFIGURING");
	world_seal(w);
	world_free(w);
}

/* --- gangs ----------------------------------------------------------------------------------- */

/* SUSPENDED when all of it is that lives, RUNNING as soon as any of it is not. */
static void a_gang_as_a_whole(void **state)
{
	struct world *w = make(2);
	struct submit_job job;
	struct rank k[2];
	uint64_t id;

	(void)state;
	world_register_all(w);
	job = world_job(w, "h100:4");
	job.nodes_min = 2;
	job.gpus_per_node = true;
	id = world_submit_job(w, &job, 1000);
	k[0] = (struct rank){ .job = id, .rank = 0, .began = w->now.mono };
	k[1] = (struct rank){ .job = id, .rank = 1, .began = w->now.mono };
	says(w, &k[0], false);
	says(w, &k[1], false);
	world_clear(w);
	world_control(w, world_user(1000), JOB_SUSPEND, id);
	ordered(w, 2, true);
	says(w, &k[1], true);
	assert_string_equal(world_state(w, id), "RUNNING");
	assert_string_equal(run_of(w, id, 1).state, "SUSPENDED");
	says(w, &k[0], true);
	assert_string_equal(world_state(w, id), "SUSPENDED");
	world_control(w, world_user(1000), JOB_RESUME, id);
	says(w, &k[0], false);
	assert_string_equal(world_state(w, id), "RUNNING");
	/* One that has ended well need not be stopped. */
	world_say(w, 0, end_of(w, &k[0], END_EXIT));
	assert_string_equal(world_state(w, id), "SUSPENDED");
	says(w, &k[1], false);
	assert_string_equal(world_state(w, id), "RUNNING");
	world_say(w, 1, end_of(w, &k[1], END_EXIT));
	assert_string_equal(world_state(w, id), "COMPLETED");
	world_seal(w);
	world_free(w);
}

/* --- a restored backup ----------------------------------------------------------------------- */

/* A run that the database does not know is taken over as it is. */
static void taken_over_as_it_is(void **state)
{
	struct world *w = make(1);
	struct run_report r;
	struct rank k;

	(void)state;
	k.job = world_submit(w, "h100:4");
	r = world_report((struct run_id){ k.job, 0, 1, 0 }, REPORT_RUNNING);
	r.suspended = true;
	r.elapsed_us = 60 * S;
	r.suspended_us = 20 * S;
	r.start_time = w->now.wall - 60 * S;
	r.gpus = 0xf;
	r.cpus = 1;
	r.nodes = 1;
	world_clear(w);
	world_register(w, 0, "inc1", &r, 1);
	assert_string_equal(world_state(w, k.job), "SUSPENDED");
	assert_int_equal(world_view(w, k.job).elapsed_s, 40);
	ordered(w, 0, true);
	assert_int_equal(world_control(w, world_user(1000), JOB_RESUME, k.job), 1);
	ordered(w, 1, false);
	world_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(there_and_back),
		cmocka_unit_test(said_twice),
		cmocka_unit_test(changed_his_mind),
		cmocka_unit_test(outlives_the_controller),
		cmocka_unit_test(ordered_when_it_can_be),
		cmocka_unit_test(cancelled),
		cmocka_unit_test(requeued_by_its_owner),
		cmocka_unit_test(preempted),
		cmocka_unit_test(ended_by_others),
		cmocka_unit_test(a_gang_as_a_whole),
		cmocka_unit_test(taken_over_as_it_is),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
