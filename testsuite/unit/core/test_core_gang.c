/* test_core_gang.c - one attempt on many nodes: whole, or ended as a whole */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <string.h>

#include "testsuite/unit/lib/core_world.h"

/* --- a gang ---------------------------------------------------------------------------------- */

static struct run_id rank_of(struct world *w, uint64_t job, uint32_t rank)
{
	return (struct run_id){ job, 0, world_view(w, job).attempt, rank };
}

static struct run_view run_of(struct world *w, uint64_t job, uint32_t rank)
{
	struct run_view v = { .state = "none", .node = "", .nodes = "", .detail = "" };

	core_run_view(w->core, rank_of(w, job, rank), w->now, &v);
	return v;
}

static uint32_t node_of(struct world *w, uint64_t job, uint32_t rank)
{
	const char *name = run_of(w, job, rank).node;
	uint32_t n;

	for (n = 0; n < w->conf->n_nodes; n++) {
		if (!strcmp(w->conf->nodes[n].name, name))
			return n;
	}
	fail_msg("rank %u of job %llu is nowhere", rank, (unsigned long long)job);
	return 0;
}

static struct run_report report_of(
        struct world *w, uint64_t job, uint32_t rank, enum run_report_state state)
{
	struct run_report r = world_report(rank_of(w, job, rank), state);
	struct run_view v = run_of(w, job, rank);

	r.start_time = v.start_time ? v.start_time : w->now.wall;
	r.nodes = v.n_nodes;
	r.gpus = v.gpus;
	return r;
}

static void starts(struct world *w, uint64_t job, uint32_t rank)
{
	world_say(w, node_of(w, job, rank), report_of(w, job, rank, REPORT_RUNNING));
}

static void ends(struct world *w, uint64_t job, uint32_t rank, enum end_cause cause, uint32_t code,
        uint32_t sig)
{
	struct run_report r = report_of(w, job, rank, REPORT_ENDED);

	r.cause = cause;
	r.exit_code = code;
	r.exit_signal = sig;
	r.end_time = w->now.wall;
	r.elapsed_us = (uint64_t)(r.end_time - r.start_time);
	world_say(w, node_of(w, job, rank), r);
}

static void never(struct world *w, uint64_t job, uint32_t rank)
{
	struct run_report r = world_report(rank_of(w, job, rank), REPORT_NEVER);

	r.detail = "no such user";
	world_say(w, node_of(w, job, rank), r);
}

static struct submit_job gang_job(struct world *w, const char *gpus, uint32_t nodes)
{
	struct submit_job job = world_job(w, gpus);

	job.nodes_min = nodes;
	job.gpus_per_node = true;
	return job;
}

static uint64_t submit_gang(struct world *w, const char *gpus, uint32_t nodes)
{
	struct submit_job job = gang_job(w, gpus, nodes);
	uint64_t id = world_submit_job(w, &job, 1000);

	if (!id)
		fail_msg("refused: %s", w->error.text);
	return id;
}

/* Three nodes of four GPUs, a gang on two of them; all of it runs. */
static struct world *running(uint64_t *id, bool requeue)
{
	struct world *w = world_simple(3, "h100:4");
	struct submit_job job = gang_job(w, "h100:4", 2);

	world_register_all(w);
	job.requeue = requeue;
	*id = world_submit_job(w, &job, 1000);
	starts(w, *id, 0);
	starts(w, *id, 1);
	assert_string_equal(world_state(w, *id), "RUNNING");
	world_clear(w);
	return w;
}

/* The one EndRun since world_clear() is for that rank, because of a peer. */
static void only_told(struct world *w, uint64_t job, uint32_t rank, bool requeue)
{
	const struct effect *e = world_effect(w, EFFECT_END_RUN);
	struct run_id id = rank_of(w, job, rank);

	assert_int_equal(world_effect_count(w, EFFECT_END_RUN), 1);
	assert_true(run_id_equal(&e->run.run, &id));
	assert_int_equal(e->run.cause, END_PEER);
	assert_int_equal(e->run.requeue, requeue);
	assert_int_equal(e->node, node_of(w, job, rank));
}

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

/* --- a restored backup ----------------------------------------------------------------------- */

/* The second attempt runs on two nodes, and the database has the job waiting for its first. */
static struct world *restored(uint64_t *id, struct run_report r[2])
{
	struct world *w = world_simple(3, "h100:4");
	struct submit_job job = gang_job(w, "h100:4", 2);
	uint32_t rank;

	*id = world_submit_job(w, &job, 1000);
	world_restart(w);
	core_takeover(w->core, 0, 0);
	for (rank = 0; rank < 2; rank++) {
		r[rank] = world_report((struct run_id){ *id, 0, 2, rank }, REPORT_RUNNING);
		r[rank].gpus = 0xf;
		r[rank].nodes = 2;
	}
	return w;
}

static void adopted(void **state)
{
	struct run_report r[2];
	uint64_t id;
	struct world *w = restored(&id, r);

	(void)state;
	world_register(w, 2, "inc1", NULL, 0);
	world_register(w, 1, "inc1", &r[1], 1);
	assert_string_equal(world_state(w, id), "CONFIGURING"); /* until all of it is known */
	world_restart(w);
	world_register(w, 0, "inc1", &r[0], 1);
	assert_string_equal(world_state(w, id), "RUNNING");
	assert_string_equal(world_view(w, id).nodes, "n[0-1]");
	world_register(w, 1, "inc1", &r[1], 1);
	world_seal(w);
	ends(w, id, 1, END_EXIT, 0, 0);
	ends(w, id, 0, END_EXIT, 0, 0);
	assert_string_equal(world_state(w, id), "COMPLETED");
	world_free(w);
}

/* One had ended when the node registered: it says so then, or where there is no room for it in that
 * message, just after it. */
static void adopted_ended(void **state)
{
	static const struct {
		uint32_t code;
		bool later;
		const char *state;
	} rows[] = { { 0, false, "COMPLETED" }, { 5, false, "FAILED" }, { 0, true, "COMPLETED" },
		{ 5, true, "FAILED" } };
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct run_report r[2];
		uint64_t id;
		struct world *w = restored(&id, r);

		world_register(w, 1, "inc1", &r[1], 1);
		r[0].state = REPORT_ENDED;
		r[0].exit_code = rows[i].code;
		r[0].cause = END_EXIT;
		world_register(w, 0, "inc1", &r[0], !rows[i].later);
		if (rows[i].later)
			world_say(w, 0, r[0]);
		if (rows[i].code)
			only_told(w, id, 1, false);
		else
			assert_string_equal(world_state(w, id), "RUNNING");
		ends(w, id, 1, rows[i].code ? END_PEER : END_EXIT, 0, rows[i].code ? 15 : 0);
		assert_string_equal(world_state(w, id), rows[i].state);
		assert_int_equal(world_view(w, id).exit_code, rows[i].code);
		world_free(w);
	}
}

/* A rank turns up when the attempt is being ended. */
static void adopted_too_late(void **state)
{
	struct run_report r[2];
	uint64_t id;
	struct world *w = restored(&id, r);

	(void)state;
	world_register(w, 1, "inc1", &r[1], 1);
	world_control(w, world_user(1000), JOB_CANCEL, id);
	world_clear(w);
	world_register(w, 0, "inc1", &r[0], 1);
	only_told(w, id, 0, false);
	ends(w, id, 0, END_PEER, 0, 15);
	assert_string_equal(world_state(w, id), "COMPLETING");
	ends(w, id, 1, END_CANCEL, 0, 15);
	assert_string_equal(world_state(w, id), "CANCELLED");
	world_free(w);
}

/* The other rank is never heard of: nobody knows whether it lives. */
static void adopted_in_part(void **state)
{
	struct run_report r[2];
	uint64_t id;
	struct world *w = restored(&id, r);

	(void)state;
	world_register(w, 1, "inc1", &r[1], 1);
	world_register(w, 2, "inc1", NULL, 0);
	ends(w, id, 1, END_EXIT, 0, 0);
	assert_string_equal(world_state(w, id), "PENDING");
	assert_string_equal(world_reason(w, id), "JobHeldUser");
	/* It does, and holds what it has; the job waits for it. */
	world_register(w, 0, "inc1", &r[0], 1);
	assert_int_equal(world_control(w, world_user(1000), JOB_RELEASE, id), 1);
	assert_string_equal(world_reason(w, id), "AttemptAlive");
	r[0].state = REPORT_ENDED;
	r[0].cause = END_EXIT;
	world_say(w, 0, r[0]);
	assert_string_equal(world_state(w, id), "CONFIGURING");
	/* Nobody knows how many more there were. */
	assert_int_equal(world_view(w, id).attempt, 103);
	world_seal(w);
	world_free(w);
}

/* The backup has the first attempt running, on nodes 0 and 1. In truth the second one came since,
 * on nodes 0 and 2, and node 2 tells of its rank while the first is not known to be over: it is a
 * orphan run. */
static struct world *overtaken(uint64_t *id, struct run_report r[2], const struct run_report *as)
{
	struct world *w = running(id, true);
	uint32_t rank;

	world_restart(w);
	core_takeover(w->core, 0, 0);
	for (rank = 0; rank < 2; rank++) {
		r[rank] = world_report((struct run_id){ *id, 0, 2, rank }, REPORT_RUNNING);
		r[rank].gpus = 0xf;
		r[rank].nodes = 2;
	}
	r[1].state = as->state;
	r[1].cause = as->cause;
	r[1].exit_code = as->exit_code;
	world_register(w, 2, "inc1", &r[1], 1);
	assert_string_equal(world_state(w, *id), "RUNNING");
	world_register(w, 1, "inc1", NULL, 0);
	assert_string_equal(world_state(w, *id), "COMPLETING");
	/* That ends the first attempt, so the job waits when this node tells of the second. */
	world_register(w, 0, "inc1", &r[0], 1);
	return w;
}

/* A job goes on with all of an attempt or with none of it: where one rank is an orphan run, or
 * ended badly while the job was at another attempt, the others are orphan runs too. */
static void adopted_whole_or_not(void **state)
{
	static const struct run_report orphans[] = {
		{ .state = REPORT_STARTING },
		{ .state = REPORT_RUNNING },
		{ .state = REPORT_ENDED, .cause = END_EXIT, .exit_code = 3 },
		{ .state = REPORT_ENDED, .cause = END_NODE_FAIL },
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(orphans) / sizeof(*orphans); i++) {
		struct run_report r[2];
		uint64_t id;
		struct world *w = overtaken(&id, r, &orphans[i]);
		uint32_t rank;

		assert_string_equal(world_state(w, id), "PENDING");
		assert_string_equal(world_reason(w, id), "AttemptAlive");
		assert_int_equal(world_view(w, id).attempt, 1);
		world_restart(w);
		for (rank = 0; rank < 2; rank++)
			world_register(w, rank ? 2 : 0, "inc1", &r[rank], 1);
		world_register(w, 1, "inc1", NULL, 0);
		assert_string_equal(world_reason(w, id), "AttemptAlive");
		for (rank = 0; rank < 2; rank++) {
			r[rank].state = REPORT_ENDED;
			r[rank].cause = END_EXIT;
			world_say(w, rank ? 2 : 0, r[rank]);
		}
		assert_string_equal(world_state(w, id), "CONFIGURING");
		assert_int_equal(world_view(w, id).attempt, 103);
		world_seal(w);
		world_free(w);
	}
}

/* A rank that ended well leaves nothing to be ended: the job goes on with the other one. */
static void adopted_after_a_good_end(void **state)
{
	const struct run_report ended = { .state = REPORT_ENDED, .cause = END_EXIT };
	struct run_report r[2];
	uint64_t id;
	struct world *w = overtaken(&id, r, &ended);

	(void)state;
	assert_string_equal(world_state(w, id), "RUNNING");
	assert_int_equal(world_view(w, id).attempt, 2);
	world_restart(w);
	world_register(w, 0, "inc1", &r[0], 1);
	ends(w, id, 0, END_EXIT, 0, 0);
	assert_string_equal(world_state(w, id), "COMPLETED");
	world_seal(w);
	world_free(w);
}

/* --------------------------------------------------------------------------------------------- */

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
		cmocka_unit_test(cancelled),
		cmocka_unit_test(cancelled_late),
		cmocka_unit_test(requeued),
		cmocka_unit_test(signalled),
		cmocka_unit_test(adopted),
		cmocka_unit_test(adopted_ended),
		cmocka_unit_test(adopted_too_late),
		cmocka_unit_test(adopted_in_part),
		cmocka_unit_test(adopted_whole_or_not),
		cmocka_unit_test(adopted_after_a_good_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
