/* test_core_gang.c - one attempt on many nodes: whole, or ended as a whole */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <string.h>
#include <cmocka.h>

#include "testsuite/unit/lib/gang_world.h"

/* --- the good life --------------------------------------------------------------------------- */

static void whole_life(void **state)
{
	struct world *w = world_simple(4, "h100:4");
	struct job_view v;
	uint64_t id, other;
	uint32_t rank;

	(void)state;
	world_register_all(w);
	id = submit_gang(w, "h100:3", 3);
	assert_string_equal(world_state(w, id), "CONFIGURING");
	assert_int_equal(world_effect_count(w, EFFECT_START_RUN), 3);
	v = world_view(w, id);
	assert_string_equal(v.nodes, "n[0-2]");
	assert_string_equal(v.node, "n0");
	assert_int_equal(v.n_nodes, 3);
	assert_int_equal(v.gpus_held, 9);
	for (rank = 0; rank < 3; rank++) {
		assert_int_equal(node_of(w, id, rank), rank);
		assert_string_equal(run_of(w, id, rank).nodes, "n[0-2]");
		assert_int_equal(run_of(w, id, rank).n_nodes, 3);
		assert_int_equal(run_of(w, id, rank).gpus, 7);
	}
	other = submit_gang(w, "h100:4", 2); /* only n3 has four free */
	assert_string_equal(world_state(w, other), "PENDING");
	starts(w, id, 2);
	starts(w, id, 0);
	assert_string_equal(world_state(w, id), "CONFIGURING");
	world_restart(w);
	world_register_all(w); /* nothing is reported: that is of no weight, they are wanted */
	assert_int_equal(w->n_wanted, 0);
	assert_string_equal(world_view(w, id).nodes, "n[0-2]");
	world_pass(w, 5);
	starts(w, id, 1);
	assert_string_equal(world_state(w, id), "RUNNING");
	world_seal(w);
	world_pass(w, 30);
	/* Those that are ready wait for the others. */
	world_clear(w);
	ends(w, id, 0, END_EXIT, 0, 0);
	assert_string_equal(world_state(w, id), "RUNNING");
	assert_null(world_effect(w, EFFECT_END_RUN));
	assert_int_equal(world_effect_count(w, EFFECT_FORGET_RUN), 1);
	world_restart(w);
	world_register_all(w);
	assert_string_equal(world_state(w, id), "RUNNING");
	ends(w, id, 2, END_EXIT, 0, 0);
	assert_string_equal(world_state(w, other), "CONFIGURING");
	world_pass(w, 10);
	ends(w, id, 1, END_EXIT, 0, 0);
	v = world_view(w, id);
	assert_string_equal(v.state, "COMPLETED");
	assert_int_equal(v.end_time, w->now.wall);
	assert_int_equal(v.exit_code, 0);
	assert_string_equal(v.reason_text, "");
	world_pass(w, w->conf->controller.keep_ended_s + 1);
	assert_string_equal(world_state(w, id), "none");
	world_seal(w);
	assert_int_equal(w->history_jobs, 1);
	assert_int_equal(w->history_runs, 3);
	world_free(w);
}

/* Ranks go by the names of the nodes, however the configuration lists them. */
static void ranks_by_name(void **state)
{
	struct world *w = world_new(
	        "cluster = \"test\"; controller = { host = \"h\"; };\n"
	        "gpu_types = ( { name = \"h100\"; mem = \"80G\"; } );\n"
	        "nodes = ( { name = \"n[9-10]\"; cpus = 8; mem = \"64G\"; gpus = \"h100:4\"; },\n"
	        "  { name = \"n[1-2]\"; cpus = 8; mem = \"64G\"; gpus = \"h100:4\"; } );\n"
	        "partitions = ( { name = \"batch\"; nodes = \"ALL\"; default = true; } );\n");
	uint64_t id;

	(void)state;
	world_register_all(w);
	id = submit_gang(w, "h100:4", 4);
	assert_string_equal(world_view(w, id).nodes, "n[1-2,9-10]");
	assert_string_equal(run_of(w, id, 0).node, "n1");
	assert_string_equal(run_of(w, id, 1).node, "n2");
	assert_string_equal(run_of(w, id, 2).node, "n9");
	assert_string_equal(run_of(w, id, 3).node, "n10");
	world_free(w);
}

/* --- a job with steps ------------------------------------------------------------------------ */

/* Its script runs on rank 0: the end of that run is the job's, and the other nodes are told. */
static void first_rank_decides(void **state)
{
	static const struct {
		uint32_t code;
		const char *state;
	} rows[] = { { 0, "COMPLETED" }, { 7, "FAILED" } };

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct world *w = world_simple(3, "h100:4");
		struct submit_job job = gang_job(w, "h100:4", 3);
		uint64_t id;

		world_register_all(w);
		job.steps = 1;
		id = world_submit_job(w, &job, 1000);
		for (uint32_t rank = 0; rank < 3; rank++)
			starts(w, id, rank);
		world_seal(w);
		world_clear(w);
		world_restart(w); /* that it has steps is known afterwards */
		world_register_all(w);
		world_clear(w);
		ends(w, id, 0, END_EXIT, rows[i].code, 0);
		assert_int_equal(world_effect_count(w, EFFECT_END_RUN), 2);
		assert_string_equal(world_state(w, id), "COMPLETING");
		ends(w, id, 1, END_PEER, 0, 0);
		ends(w, id, 2, END_PEER, 0, 15);
		assert_string_equal(world_state(w, id), rows[i].state);
		assert_int_equal(world_view(w, id).exit_code, rows[i].code);
		world_free(w);
	}
}

/* Where another node is lost, that is the job's end. */
static void other_rank_is_lost(void **state)
{
	struct world *w = world_simple(2, "h100:4");
	struct submit_job job = gang_job(w, "h100:4", 2);
	uint64_t id;

	(void)state;
	world_register_all(w);
	job.steps = 1;
	job.requeue = false;
	id = world_submit_job(w, &job, 1000);
	starts(w, id, 0);
	starts(w, id, 1);
	ends(w, id, 1, END_LOST, 0, 0);
	ends(w, id, 0, END_PEER, 0, 0);
	assert_string_equal(world_state(w, id), "NODE_FAIL");
	world_free(w);
}

/* --- a rank ends badly ----------------------------------------------------------------------- */

static const struct {
	enum end_cause cause;
	uint32_t code, sig;
	bool requeue;
	const char *state; /* when all is over */
	const char *reason, *text;
} bad_ends[] = {
	{ END_EXIT, 7, 0, true, "FAILED", "NonZeroExitCode",
	        "rank 1 on n1: ended with exit code 7" },
	{ END_EXIT, 0, 11, true, "FAILED", "NonZeroExitCode",
	        "rank 1 on n1: ended with signal 11" },
	{ END_TIME_LIMIT, 0, 15, true, "TIMEOUT", "TimeLimit", "rank 1 on n1: " },
	{ END_OUT_OF_MEMORY, 0, 9, true, "OUT_OF_MEMORY", "OutOfMemory", "rank 1 on n1: " },
	{ END_LOST, 0, 0, false, "NODE_FAIL", "NodeDown", "rank 1 on n1: " },
	{ END_LOST, 0, 0, true, "PENDING", NULL, NULL },
};

static void one_ends_badly(void **state)
{
	uint64_t id;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(bad_ends) / sizeof(bad_ends[0]); i++) {
		struct world *w = running(&id, bad_ends[i].requeue);
		bool again = !strcmp(bad_ends[i].state, "PENDING");
		struct job_view v;

		world_node(w, NODE_DRAIN, 2, false); /* so that it waits if it comes again */
		world_node(w, NODE_DRAIN, 0, false);
		ends(w, id, 1, bad_ends[i].cause, bad_ends[i].code, bad_ends[i].sig);
		only_told(w, id, 0, again);
		assert_string_equal(world_state(w, id), "COMPLETING");
		world_restart(w); /* it is not forgotten who was first */
		world_register(w, 0, "inc1",
		        (struct run_report[]){ report_of(w, id, 0, REPORT_RUNNING) }, 1);
		assert_int_equal(world_effect(w, EFFECT_END_RUN)->run.cause, END_PEER);
		assert_string_equal(world_state(w, id), "COMPLETING");
		ends(w, id, 0, END_PEER, 0, 15);
		v = world_view(w, id);
		assert_string_equal(v.state, bad_ends[i].state);
		if (!again) {
			assert_int_equal(v.exit_code, bad_ends[i].code);
			assert_int_equal(v.exit_signal, bad_ends[i].sig);
			assert_string_equal(v.reason, bad_ends[i].reason);
			assert_string_equal(v.reason_text, bad_ends[i].text);
		}
		world_seal(w);
		world_free(w);
	}
}

/* The one that was told to end fails by itself meanwhile: the first one counts. */
static void two_end_badly(void **state)
{
	uint64_t id;
	struct world *w = running(&id, true);

	(void)state;
	ends(w, id, 1, END_EXIT, 7, 0);
	ends(w, id, 0, END_EXIT, 3, 0);
	assert_string_equal(world_state(w, id), "FAILED");
	assert_int_equal(world_view(w, id).exit_code, 7);
	world_free(w);
}

/* Before all of them run. */
static void bad_while_configuring(void **state)
{
	struct world *w = world_simple(2, "h100:4");
	uint64_t id;

	(void)state;
	world_register_all(w);
	id = submit_gang(w, "h100:4", 2);
	starts(w, id, 0);
	ends(w, id, 0, END_EXIT, 1, 0);
	only_told(w, id, 1, false);
	never(w, id, 1);
	assert_string_equal(world_state(w, id), "FAILED");
	assert_int_equal(world_view(w, id).exit_code, 1);
	world_free(w);
}

/* --- launches -------------------------------------------------------------------------------- */

/* One refusal is one failed launch, whatever the other ranks did. Three hold the job. */
static void not_launched(void **state)
{
	struct world *w = world_simple(2, "h100:4");
	struct submit_job job = gang_job(w, "h100:4", 2);
	unsigned n;
	uint64_t id;

	(void)state;
	job.max_attempts = 10;
	world_register_all(w);
	id = world_submit_job(w, &job, 1000);
	for (n = 1; n <= 3; n++) {
		assert_string_equal(world_state(w, id), "CONFIGURING");
		assert_int_equal(world_view(w, id).attempt, n);
		starts(w, id, 0);
		world_clear(w);
		never(w, id, 1);
		only_told(w, id, 0, true);
		ends(w, id, 0, END_PEER, 0, 15);
	}
	assert_string_equal(world_state(w, id), "PENDING");
	assert_string_equal(world_reason(w, id), "JobLaunchFailure");
	assert_string_equal(
	        world_view(w, id).comment, "launch failed 3 times, the last on n1: no such user");
	world_seal(w);
	world_free(w);
}

/* Where its owner allows one start only, and one was made. */
static void not_launched_again(void **state)
{
	struct world *w = world_simple(2, "h100:4");
	struct submit_job job = gang_job(w, "h100:4", 2);
	uint64_t id;

	(void)state;
	job.max_attempts = 1;
	world_register_all(w);
	id = world_submit_job(w, &job, 1000);
	starts(w, id, 0);
	never(w, id, 1);
	ends(w, id, 0, END_PEER, 0, 15);
	assert_string_equal(world_state(w, id), "FAILED");
	assert_string_equal(world_reason(w, id), "JobLaunchFailure");
	assert_string_equal(world_view(w, id).reason_text, "rank 1 on n1: no such user");
	world_free(w);
}

/* The order of one rank was lost: the whole attempt is ended, tried again, and nothing counted. */
static void one_order_lost(void **state)
{
	struct world *w = world_simple(2, "h100:4");
	struct run_report r;
	unsigned n;
	uint64_t id;

	(void)state;
	world_register_all(w);
	id = submit_gang(w, "h100:4", 2);
	for (n = 1; n <= 4; n++) {
		assert_string_equal(world_state(w, id), "CONFIGURING");
		assert_int_equal(world_view(w, id).attempt, n);
		r = report_of(w, id, 0, REPORT_STARTING);
		world_say(w, 0, r);
		world_clear(w);
		world_gone(w, 1);
		world_register(w, 1, "inc1", NULL, 0);
		assert_int_equal(w->n_wanted, 1);
		assert_int_equal(w->wanted[0].rank, 1);
		never(w, id, 1);
		only_told(w, id, 0, true);
		assert_string_equal(world_state(w, id), "COMPLETING");
		r = report_of(w, id, 0, REPORT_NEVER);
		world_say(w, 0, r); /* it had not begun */
	}
	assert_string_equal(world_state(w, id), "CONFIGURING");
	assert_int_equal(world_view(w, id).attempt, 5);
	world_seal(w);
	world_free(w);
}

/* --- nodes ----------------------------------------------------------------------------------- */

static void node_off(void **state)
{
	uint64_t id;
	struct world *w = running(&id, true);

	(void)state;
	world_gone(w, 1);
	world_pass(w, 3600);
	assert_string_equal(world_state(w, id), "RUNNING"); /* nobody knows */
	assert_string_equal(world_reason(w, id), "NodeUnknown");
	world_clear(w);
	world_register(
	        w, 0, "inc1", (struct run_report[]){ report_of(w, id, 0, REPORT_RUNNING) }, 1);
	world_register(w, 2, "inc1", NULL, 0);
	world_clear(w);
	world_node(w, NODE_DOWN, 1, true);
	only_told(w, id, 0, true);
	assert_string_equal(world_state(w, id), "COMPLETING");
	ends(w, id, 0, END_PEER, 0, 15);
	assert_string_equal(world_state(w, id), "CONFIGURING");
	assert_int_equal(world_view(w, id).attempt, 2);
	assert_string_equal(world_view(w, id).nodes, "n[0,2]");
	assert_string_equal(world_view(w, id).comment,
	        "requeued: attempt 1 on n1: an operator confirmed that the node is off");
	world_seal(w);
	world_free(w);
}

static void node_reboots(void **state)
{
	uint64_t id;
	struct world *w = running(&id, false);

	(void)state;
	world_register(w, 1, "inc2", NULL, 0);
	only_told(w, id, 0, false);
	ends(w, id, 0, END_PEER, 0, 15);
	assert_string_equal(world_state(w, id), "NODE_FAIL");
	world_free(w);
}

/* A rank that was given up lives: nothing starts beside it, and the job does not wait for it. */
static void orphan_ranks(void **state)
{
	uint64_t id;
	struct world *w = running(&id, true);
	struct run_report r = report_of(w, id, 1, REPORT_RUNNING);
	const struct effect *e;

	(void)state;
	world_gone(w, 1);
	world_node(w, NODE_DOWN, 1, true);
	world_clear(w);
	world_register(w, 1, "inc1", &r, 1);
	e = world_effect(w, EFFECT_END_RUN);
	assert_non_null(e);
	assert_int_equal(e->run.run.rank, 1);
	assert_string_equal(world_state(w, id), "COMPLETING");
	world_restart(w);
	world_register(
	        w, 0, "inc1", (struct run_report[]){ report_of(w, id, 0, REPORT_RUNNING) }, 1);
	world_register(w, 1, "inc1", &r, 1);
	world_register(w, 2, "inc1", NULL, 0);
	ends(w, id, 0, END_PEER, 0, 15);
	assert_string_equal(world_state(w, id), "PENDING");
	assert_string_equal(world_reason(w, id), "AttemptAlive");
	world_node(w, NODE_RESUME, 1, false);
	r.state = REPORT_ENDED;
	r.cause = END_NODE_FAIL;
	world_say(w, 1, r);
	assert_string_equal(world_state(w, id), "CONFIGURING");
	assert_int_equal(world_view(w, id).attempt, 2);
	world_seal(w);
	world_free(w);
}

/* The orphan run ends before the others do. */
static void orphan_ends_first(void **state)
{
	uint64_t id;
	struct world *w = running(&id, false);
	struct run_report r = report_of(w, id, 1, REPORT_RUNNING);

	(void)state;
	world_gone(w, 1);
	world_node(w, NODE_DOWN, 1, true);
	world_register(w, 1, "inc1", &r, 1);
	r.state = REPORT_ENDED;
	r.cause = END_NODE_FAIL;
	r.exit_signal = 15;
	world_say(w, 1, r);
	assert_string_equal(world_state(w, id), "COMPLETING");
	ends(w, id, 0, END_PEER, 0, 15);
	assert_string_equal(world_state(w, id), "NODE_FAIL"); /* and not requeued */
	world_free(w);
}

/* The truth about a rank that was given up comes before the others have ended. */
static void late_truth(void **state)
{
	static const struct {
		uint32_t code;
		bool other_well;
		const char *state;
	} rows[] = {
		{ 3, false, "FAILED" },
		{ 0, false, "NODE_FAIL" },
		{ 0, true, "COMPLETED" },
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint64_t id;
		struct world *w = running(&id, false);
		struct run_report r = report_of(w, id, 1, REPORT_ENDED);

		world_gone(w, 1);
		world_node(w, NODE_DOWN, 1, true);
		r.exit_code = rows[i].code;
		r.cause = END_EXIT;
		world_register(w, 1, "inc1", &r, 1);
		assert_string_equal(world_state(w, id), "COMPLETING");
		if (rows[i].other_well)
			ends(w, id, 0, END_EXIT, 0, 0);
		else
			ends(w, id, 0, END_PEER, 0, 15);
		assert_string_equal(world_state(w, id), rows[i].state);
		assert_int_equal(world_view(w, id).exit_code, rows[i].code);
		world_free(w);
	}
}

/* --- what people say ------------------------------------------------------------------------- */

static void cancelled(void **state)
{
	uint64_t id;
	struct world *w = running(&id, true);
	const struct effect *e;

	(void)state;
	ends(w, id, 0, END_EXIT, 0, 0);
	world_gone(w, 1);
	world_clear(w);
	assert_int_equal(world_control(w, world_user(1000), JOB_CANCEL, id), 1);
	assert_null(world_effect(w, EFFECT_END_RUN)); /* the one is over, the other not there */
	assert_string_equal(world_state(w, id), "COMPLETING");
	world_register(
	        w, 1, "inc1", (struct run_report[]){ report_of(w, id, 1, REPORT_RUNNING) }, 1);
	e = world_effect(w, EFFECT_END_RUN);
	assert_int_equal(e->run.cause, END_CANCEL);
	assert_int_equal(e->run.requeue, false);
	ends(w, id, 1, END_CANCEL, 0, 15);
	assert_string_equal(world_state(w, id), "CANCELLED");
	assert_int_equal(world_view(w, id).exit_signal, 15);
	world_free(w);
}

/* While its ranks are ending because one failed. */
static void cancelled_late(void **state)
{
	uint64_t id;
	struct world *w = running(&id, true);

	(void)state;
	ends(w, id, 1, END_LOST, 0, 0);
	world_clear(w);
	assert_int_equal(world_control(w, world_user(1000), JOB_CANCEL, id), 1);
	assert_null(world_effect(w, EFFECT_END_RUN)); /* it was told */
	ends(w, id, 0, END_PEER, 0, 15);
	assert_string_equal(world_state(w, id), "CANCELLED");
	world_free(w);
}

static void requeued(void **state)
{
	uint64_t id;
	struct world *w = running(&id, false);
	const struct effect *e;

	(void)state;
	ends(w, id, 0, END_EXIT, 0, 0);
	world_clear(w);
	assert_int_equal(world_control(w, world_user(1000), JOB_REQUEUE, id), 1);
	e = world_effect(w, EFFECT_END_RUN);
	assert_int_equal(world_effect_count(w, EFFECT_END_RUN), 1);
	assert_int_equal(e->run.run.rank, 1);
	assert_int_equal(e->run.requeue, true);
	world_restart(w);
	world_register_all(w);
	ends(w, id, 1, END_CANCEL, 0, 15);
	assert_string_equal(world_state(w, id), "CONFIGURING");
	assert_int_equal(world_view(w, id).attempt, 2);
	world_free(w);
}

static void signalled(void **state)
{
	uint64_t id;
	struct world *w = running(&id, true);
	struct core_event e = { .kind = EV_JOB_CONTROL, .caller = world_user(1000) };

	(void)state;
	e.job.verb = JOB_SIGNAL;
	e.job.ids = &id;
	e.job.n = 1;
	e.job.signal = 10;
	world_apply(w, &e);
	assert_int_equal(world_effect_count(w, EFFECT_SIGNAL_RUN), 2);
	world_gone(w, 1);
	world_clear(w);
	world_apply(w, &e);
	assert_int_equal(w->error.code, ERR_NODE_STATE);
	assert_int_equal(world_effect_count(w, EFFECT_SIGNAL_RUN), 0);
	ends(w, id, 0, END_EXIT, 0, 0);
	world_register(
	        w, 1, "inc1", (struct run_report[]){ report_of(w, id, 1, REPORT_RUNNING) }, 1);
	world_clear(w);
	world_apply(w, &e);
	assert_int_equal(world_effect_count(w, EFFECT_SIGNAL_RUN), 1);
	assert_int_equal(world_effect(w, EFFECT_SIGNAL_RUN)->run.run.rank, 1);
	world_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whole_life),
		cmocka_unit_test(ranks_by_name),
		cmocka_unit_test(one_ends_badly),
		cmocka_unit_test(two_end_badly),
		cmocka_unit_test(bad_while_configuring),
		cmocka_unit_test(not_launched),
		cmocka_unit_test(not_launched_again),
		cmocka_unit_test(one_order_lost),
		cmocka_unit_test(node_off),
		cmocka_unit_test(node_reboots),
		cmocka_unit_test(orphan_ranks),
		cmocka_unit_test(orphan_ends_first),
		cmocka_unit_test(late_truth),
		cmocka_unit_test(first_rank_decides),
		cmocka_unit_test(other_rank_is_lost),
		cmocka_unit_test(cancelled),
		cmocka_unit_test(cancelled_late),
		cmocka_unit_test(requeued),
		cmocka_unit_test(signalled),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
