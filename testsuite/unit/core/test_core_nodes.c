/* test_core_nodes.c - nodes that come, go, lie and are declared dead */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "testsuite/unit/lib/core_world.h"

static const char fenced[] =
        "cluster = \"test\"; controller = { host = \"h\"; fence = \"/bin/fence\"; node_timeout = "
        "\"60s\";\n"
        "  fence_timeout = \"30s\"; };\n"
        "gpu_types = ( { name = \"h100\"; } );\n"
        "nodes = ( { name = \"n[0-1]\"; cpus = 8; mem = \"64G\"; gpus = \"h100:4\"; } );\n"
        "partitions = ( { name = \"batch\"; nodes = \"ALL\"; default = true; } );\n";

static const char impatient[] =
        "cluster = \"test\"; controller = { host = \"h\"; node_timeout = \"60s\"; unknown_is_off = "
        "\"10m\"; };\n"
        "gpu_types = ( { name = \"h100\"; } );\n"
        "nodes = ( { name = \"n[0-1]\"; cpus = 8; mem = \"64G\"; gpus = \"h100:4\"; } );\n"
        "partitions = ( { name = \"batch\"; nodes = \"ALL\"; default = true; } );\n";

/* --- reconciling ----------------------------------------------------------------------------- */

/* What a registration finds: the state of the run before, what the node says of it, and whether it
 * is the same incarnation. */
enum before { B_ORDERED, B_STARTING, B_RUNNING, B_ENDING };
enum says { S_NOTHING, S_STARTING, S_RUNNING, S_ENDED, S_NEVER };

struct reconcile_case {
	enum before before;
	enum says says;
	bool rebooted;
	const char
	        *state; /* of the job, right after; it may be requeued, and its node is drained */
	bool wanted;    /* the run is in the wanted set of the answer */
	bool end_again; /* EndRun goes out in the new session */
	const char *never; /* the state after the agent's NEVER to what it was asked for; NULL: - */
};

static const struct reconcile_case reconcile_cases[] = {
	{ B_ORDERED, S_NOTHING, false, "CONFIGURING", true, false, "PENDING" },
	{ B_ORDERED, S_STARTING, false, "CONFIGURING", true, false, NULL },
	{ B_ORDERED, S_RUNNING, false, "RUNNING", true, false, NULL },
	{ B_ORDERED, S_ENDED, false, "COMPLETED", false, false, NULL },
	{ B_ORDERED, S_NEVER, false, "PENDING", false, false, NULL },
	{ B_ORDERED, S_NOTHING, true, "PENDING", false, false, NULL },
	{ B_STARTING, S_NOTHING, false, "CONFIGURING", true, false, "PENDING" },
	{ B_STARTING, S_RUNNING, false, "RUNNING", true, false, NULL },
	{ B_STARTING, S_NOTHING, true, "PENDING", false, false, NULL },
	{ B_RUNNING, S_NOTHING, false, "RUNNING", true, false, "PENDING" },
	{ B_RUNNING, S_RUNNING, false, "RUNNING", true, false, NULL },
	{ B_RUNNING, S_ENDED, false, "COMPLETED", false, false, NULL },
	{ B_RUNNING, S_NOTHING, true, "PENDING", false, false, NULL },
	{ B_RUNNING, S_ENDED, true, "COMPLETED", false, false, NULL },
	{ B_ENDING, S_RUNNING, false, "COMPLETING", true, true, NULL },
	{ B_ENDING, S_ENDED, false, "CANCELLED", false, false, NULL },
	{ B_ENDING, S_NOTHING, false, "COMPLETING", true, true, "CANCELLED" },
	{ B_ENDING, S_NOTHING, true, "CANCELLED", false, false, NULL },
};

static void reconciles_one(const struct reconcile_case *c, bool restart, size_t number)
{
	static const enum run_report_state said[] = { 0, REPORT_STARTING, REPORT_RUNNING,
		REPORT_ENDED, REPORT_NEVER };
	struct world *w = world_simple(1, "h100:4");
	struct run_report r;
	struct run_id run;
	uint64_t id;

	world_register_all(w);
	id = world_submit(w, "h100:4");
	run = world_run(w, id);
	world_node(w, NODE_DRAIN, 0, false);
	if (c->before == B_STARTING)
		world_say(w, 0, world_report(run, REPORT_STARTING));
	else if (c->before == B_RUNNING || c->before == B_ENDING)
		world_run_starts(w, id);
	if (c->before == B_ENDING)
		world_control(w, world_user(1000), JOB_CANCEL, id);
	if (restart)
		world_restart(w);
	else
		world_gone(w, 0);
	world_clear(w);
	w->n_wanted = 99;
	r = world_report(run, said[c->says]);
	r.gpus = 0xf;
	r.start_time = r.end_time = w->now.wall;
	world_register(w, 0, c->rebooted ? "inc2" : "inc1", &r, c->says != S_NOTHING);
	if (strcmp(world_state(w, id), c->state))
		fail_msg("case %zu: the job is %s", number, world_state(w, id));
	if (w->n_wanted != c->wanted)
		fail_msg("case %zu: %zu runs are wanted", number, w->n_wanted);
	if ((world_effect(w, EFFECT_END_RUN) != NULL) != c->end_again)
		fail_msg("case %zu: EndRun", number);
	assert_null(world_effect(w, EFFECT_START_RUN));
	if (c->says == S_ENDED || c->says == S_NEVER)
		assert_non_null(world_effect(w, EFFECT_FORGET_RUN));
	if (c->never) {
		world_say(w, 0, world_report(run, REPORT_NEVER));
		if (strcmp(world_state(w, id), c->never))
			fail_msg("case %zu: the job is %s after NEVER", number, world_state(w, id));
	}
	world_seal(w);
	world_free(w);
}

static void reconciles(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(reconcile_cases) / sizeof(reconcile_cases[0]); i++) {
		reconciles_one(&reconcile_cases[i], false, i);
		reconciles_one(&reconcile_cases[i], true, i);
	}
}

/* A StartRun that was lost with its session: the next attempt, and none was used up. */
static void lost_order(void **state)
{
	struct world *w = world_simple(1, "h100:4");
	struct submit_job job = world_job(w, "h100:4");
	struct run_id first;
	uint64_t id;
	int i;

	(void)state;
	job.max_attempts = 1;
	world_register_all(w);
	id = world_submit_job(w, &job, 1000);
	for (i = 0; i < 5; i++) {
		first = world_run(w, id);
		world_gone(w, 0);
		world_register_all(w);
		world_clear(w);
		world_say(w, 0, world_report(first, REPORT_NEVER));
		assert_string_equal(world_state(w, id), "CONFIGURING");
		assert_int_equal(world_view(w, id).attempt, first.attempt + 1);
		assert_int_equal(
		        world_effect(w, EFFECT_START_RUN)->run.run.attempt, first.attempt + 1);
	}
	world_run_starts(w, id);
	world_run_ends(w, id, 0);
	assert_string_equal(world_state(w, id), "COMPLETED");
	world_free(w);
}

/* Reports in a session that is not the node's present one are nothing. */
static void old_sessions(void **state)
{
	struct world *w = world_simple(2, "h100:4");
	struct core_event e = { .kind = EV_RUN_REPORT };
	uint64_t id = world_running(w, true), old = world_session(w, 0);

	(void)state;
	world_clear(w);
	world_register(w, 0, "inc1", (struct run_report[]){ world_alive(w, id) }, 1);
	assert_int_equal(world_effect(w, EFFECT_CLOSE_AGENT)->session, old);
	e.run.node = 0;
	e.run.session = old;
	e.run.report = world_report(world_run(w, id), REPORT_ENDED);
	world_apply(w, &e);
	assert_string_equal(world_state(w, id), "RUNNING");
	/* Nor may another node speak for the run. */
	world_register(w, 1, "inc1", NULL, 0);
	world_say(w, 1, world_report(world_run(w, id), REPORT_ENDED));
	assert_string_equal(world_state(w, id), "RUNNING");
	e.kind = EV_AGENT_GONE;
	e.agent.node = 0;
	e.agent.session = old;
	world_apply(w, &e);
	assert_int_not_equal(world_session(w, 0), 0);
	world_free(w);
}

/* --- silence --------------------------------------------------------------------------------- */

static void silence(void **state)
{
	struct world *w = world_simple(1, "h100:4");
	struct core_event beat = { .kind = EV_HEARTBEAT };
	uint64_t id = world_running(w, true);

	(void)state;
	beat.agent.session = world_session(w, 0);
	assert_string_equal(world_node_view(w, 0).state, "allocated");
	world_pass(w, w->conf->controller.node_timeout_s - 1);
	assert_string_equal(world_node_view(w, 0).state, "allocated");
	world_apply(w, &beat);
	world_pass(w, w->conf->controller.node_timeout_s - 1);
	assert_string_equal(world_node_view(w, 0).state, "allocated");
	world_pass(w, 2);
	assert_string_equal(world_node_view(w, 0).state, "unknown");
	assert_string_equal(world_state(w, id), "RUNNING");
	assert_string_equal(world_reason(w, id), "NodeUnknown");
	assert_int_equal(world_node_view(w, 0).gpus[0].free, 0);
	world_pass(w, 1000000);
	assert_string_equal(world_state(w, id), "RUNNING");
	/* The same session speaks again. */
	world_apply(w, &beat);
	assert_string_equal(world_node_view(w, 0).state, "allocated");
	/* A start of the controller knows no node until it registers. */
	world_restart(w);
	assert_string_equal(world_node_view(w, 0).state, "unknown");
	assert_string_equal(world_state(w, id), "RUNNING");
	assert_int_equal(world_node_view(w, 0).gpus[0].free, 0);
	world_free(w);
}

static void fences(void **state)
{
	struct world *w = world_new(fenced);
	struct core_event done = { .kind = EV_FENCED };
	uint64_t id = world_running(w, true);

	(void)state;
	world_register(w, 1, "inc1", NULL, 0);
	world_node(w, NODE_DRAIN, 1, false);
	world_clear(w);
	world_pass(w, 61);
	/* Node 1 has no runs: nobody shoots it. */
	assert_int_equal(world_effect_count(w, EFFECT_FENCE), 1);
	assert_int_equal(world_effect(w, EFFECT_FENCE)->node, 0);
	done.fenced.off = false;
	world_apply(w, &done);
	assert_string_equal(world_state(w, id), "RUNNING");
	world_pass(w, 61);
	assert_int_equal(world_effect_count(w, EFFECT_FENCE), 2);
	/* No answer at all: asked again in the end. */
	world_pass(w, 30 + 61);
	assert_int_equal(world_effect_count(w, EFFECT_FENCE), 3);
	done.fenced.off = true;
	world_apply(w, &done);
	assert_string_equal(world_state(w, id), "PENDING");
	assert_int_equal(world_node_view(w, 0).n_runs, 0);
	/* A second answer, or one after the node has come back, says nothing. */
	world_apply(w, &done);
	world_register(w, 0, "inc2", NULL, 0);
	assert_string_equal(world_state(w, id), "CONFIGURING");
	world_apply(w, &done);
	assert_string_equal(world_state(w, id), "CONFIGURING");
	world_free(w);
}

static void fence_races_return(void **state)
{
	struct world *w = world_new(fenced);
	struct core_event done = { .kind = EV_FENCED };
	uint64_t id = world_running(w, true);

	(void)state;
	world_pass(w, 61);
	assert_non_null(world_effect(w, EFFECT_FENCE));
	world_register(w, 0, "inc1", (struct run_report[]){ world_alive(w, id) }, 1);
	done.fenced.off = true;
	world_apply(w, &done);
	assert_string_equal(world_state(w, id), "RUNNING");
	/* Of a node that had not been heard since the start, too. */
	world_restart(w);
	world_clear(w);
	world_pass(w, 61);
	assert_int_equal(world_effect_count(w, EFFECT_FENCE), 1);
	world_apply(w, &done);
	assert_string_equal(world_state(w, id), "PENDING");
	world_free(w);
}

static void unknown_is_off(void **state)
{
	struct world *w = world_new(impatient);
	uint64_t stays = world_running(w, false), again;

	(void)state;
	world_register(w, 1, "inc1", NULL, 0);
	again = world_submit(w, "h100:4");
	world_run_starts(w, again);
	world_pass(w, 599);
	assert_string_equal(world_state(w, stays), "RUNNING");
	world_pass(w, 2);
	assert_string_equal(world_state(w, stays), "NODE_FAIL");
	assert_string_equal(world_state(w, again), "PENDING");
	world_free(w);
}

/* --- operators ------------------------------------------------------------------------------- */

static void operators(void **state)
{
	struct world *w = world_simple(2, "h100:4");
	struct core_event e = { .kind = EV_NODE_CONTROL, .caller = world_user(1000) };
	uint32_t nodes[2] = { 0, 7 };
	uint64_t id = world_running(w, true), next;

	(void)state;
	e.node.verb = NODE_DRAIN;
	e.node.nodes = nodes;
	e.node.n = 1;
	e.node.reason = "ECC";
	world_apply(w, &e);
	assert_int_equal(w->error.code, ERR_NOT_PERMITTED);
	e.caller = world_admin();
	e.node.reason = "";
	world_apply(w, &e);
	assert_int_equal(w->error.code, ERR_USAGE);
	e.node.reason = "ECC";
	e.node.n = 2;
	world_apply(w, &e);
	assert_int_equal(w->error.code, ERR_NO_NODE);
	assert_string_equal(world_node_view(w, 0).state, "allocated");
	e.node.n = 1;
	world_apply(w, &e);
	assert_int_equal(w->error.code, ERR_NONE);
	assert_string_equal(world_node_view(w, 0).state, "draining");
	assert_string_equal(world_node_view(w, 0).reason, "ECC");
	assert_int_equal(world_node_view(w, 0).reason_time, w->now.wall);
	world_run_ends(w, id, 0);
	assert_string_equal(world_node_view(w, 0).state, "drained");
	next = world_submit(w, "h100:4");
	assert_string_equal(world_reason(w, next), "ReqNodeNotAvail");
	world_restart(w);
	world_register(w, 0, "inc1", NULL, 0);
	assert_string_equal(world_node_view(w, 0).state, "drained");
	world_register(w, 1, "inc1", NULL, 0);
	assert_string_equal(world_state(w, next), "CONFIGURING");
	assert_int_equal(world_node_of(w, next), 1);
	assert_int_equal(world_node(w, NODE_RESUME, 0, false), ERR_NONE);
	assert_string_equal(world_node_view(w, 0).state, "idle");
	/* A node that was heard just now is not off, whatever anybody says. */
	assert_int_equal(world_node(w, NODE_DOWN, 1, true), ERR_NODE_STATE);
	assert_int_equal(world_node(w, NODE_DOWN, 1, false), ERR_NONE);
	assert_string_equal(world_node_view(w, 1).state, "down");
	assert_string_equal(world_state(w, next), "CONFIGURING");
	world_gone(w, 1);
	assert_int_equal(world_node(w, NODE_DOWN, 1, true), ERR_NONE);
	assert_string_equal(world_state(w, next), "CONFIGURING"); /* again, on node 0 */
	assert_int_equal(world_node_of(w, next), 0);
	assert_int_equal(world_view(w, next).attempt, 2);
	world_free(w);
}

/* Declared off, and it was not: the run is alive beside its successor. Its GPUs are booked, it is
 * told to end, and its end changes nothing but itself. */
static void operator_was_wrong(void **state)
{
	struct world *w = world_simple(2, "h100:4");
	uint64_t id = world_running(w, true), blocked;
	struct run_report r = world_alive(w, id);
	struct run_view v;

	(void)state;
	world_gone(w, 0);
	world_register(w, 1, "inc1", NULL, 0);
	world_node(w, NODE_DOWN, 0, true);
	world_run_starts(w, id);
	assert_int_equal(world_view(w, id).attempt, 2);
	world_restart(w);
	world_clear(w);
	world_node(w, NODE_RESUME, 0, false);
	world_register(w, 0, "inc1", &r, 1);
	assert_non_null(world_effect(w, EFFECT_END_RUN));
	assert_int_equal(world_effect(w, EFFECT_END_RUN)->run.run.attempt, 1);
	blocked = world_submit(w, "h100:1");
	assert_string_equal(world_state(w, blocked), "PENDING");
	assert_int_equal(world_node_view(w, 0).n_runs, 1);
	world_restart(w);
	world_register(w, 0, "inc1", &r, 1);
	assert_int_equal(w->n_wanted, 1);
	r = world_report(r.run, REPORT_ENDED);
	r.exit_code = 9;
	r.elapsed_us = 123;
	world_say(w, 0, r);
	assert_string_equal(world_state(w, blocked), "CONFIGURING");
	assert_string_equal(world_state(w, id), "RUNNING");
	assert_int_equal(world_view(w, id).exit_code, 0);
	assert_true(core_run_view(w->core, r.run, w->now, &v));
	assert_string_equal(v.state, "ENDED");
	world_seal(w);
	world_free(w);
}

/* The same, before its successor has started: that one waits for its end. */
static void one_at_a_time(void **state)
{
	struct world *w = world_simple(2, "h100:4");
	uint64_t id = world_running(w, true);
	struct run_report r = world_alive(w, id);

	(void)state;
	world_gone(w, 0);
	world_node(w, NODE_DOWN, 0, true);
	assert_string_equal(world_state(w, id), "PENDING");
	world_register(w, 0, "inc1", &r, 1);
	world_register(w, 1, "inc1", NULL, 0);
	assert_string_equal(world_state(w, id), "PENDING");
	assert_string_equal(world_reason(w, id), "AttemptAlive");
	world_restart(w);
	world_register(w, 1, "inc1", NULL, 0);
	assert_string_equal(world_state(w, id), "PENDING");
	world_register(w, 0, "inc1", &r, 1);
	r = world_report(r.run, REPORT_ENDED);
	world_say(w, 0, r);
	assert_string_equal(world_state(w, id), "CONFIGURING");
	assert_int_equal(world_view(w, id).attempt, 2);
	world_seal(w);
	world_free(w);
}

/* An attempt that was given up had ended before: its record is the true one, for the run. */
static void late_record(void **state)
{
	struct world *w = world_simple(1, "h100:4");
	uint64_t id = world_running(w, false);
	struct run_report r = world_report(world_run(w, id), REPORT_ENDED);

	(void)state;
	world_gone(w, 0);
	world_node(w, NODE_DOWN, 0, true);
	assert_string_equal(world_state(w, id), "NODE_FAIL");
	r.exit_code = 4;
	r.elapsed_us = 9000000;
	world_clear(w);
	world_register(w, 0, "inc1", &r, 1);
	assert_string_equal(world_state(w, id), "NODE_FAIL");
	assert_int_equal(world_view(w, id).exit_code, 0);
	assert_int_equal(world_view(w, id).elapsed_s, 9);
	assert_non_null(world_effect(w, EFFECT_FORGET_RUN));
	world_seal(w);
	world_free(w);
}

/* A run of no job that is known is not killed: it holds what it has. */
static void adopts(void **state)
{
	struct world *w = world_simple(1, "h100:4");
	struct run_report r = world_report((struct run_id){ 0, 0, 1, 0 }, REPORT_RUNNING);
	uint64_t id;

	(void)state;
	/* Below every id that this core hands out. */
	world_restart(w);
	r.run.job = 5;
	r.gpus = 3;
	r.cpus = 2;
	r.mem_mb = 1024;
	r.uid = 4711;
	world_clear(w);
	world_register(w, 0, "inc1", &r, 1);
	assert_null(world_effect(w, EFFECT_END_RUN));
	assert_int_equal(world_node_view(w, 0).gpus[0].free, 2);
	assert_int_equal(world_node_view(w, 0).cpus_free, 6);
	assert_non_null(strstr(world_node_view(w, 0).reason, "belongs to no known job"));
	id = world_submit(w, "h100:3");
	assert_string_equal(world_state(w, id), "PENDING");
	world_restart(w);
	world_register(w, 0, "inc1", &r, 1);
	assert_int_equal(world_node_view(w, 0).gpus[0].free, 2);
	/* Nothing ends it but the word of an administrator; the agent may be told again. */
	world_clear(w);
	assert_int_equal(world_node(w, NODE_CLEAR, 0, false), ERR_NONE);
	assert_int_equal(world_effect(w, EFFECT_END_RUN)->run.run.job, 5);
	assert_string_equal(world_state(w, id), "PENDING");
	world_restart(w);
	world_clear(w);
	world_register(w, 0, "inc1", &r, 1);
	assert_int_equal(world_effect(w, EFFECT_END_RUN)->run.run.job, 5);
	/* The agent has no record of it any more. */
	world_gone(w, 0);
	world_register(w, 0, "inc1", NULL, 0);
	assert_int_equal(w->n_wanted, 1);
	r.state = REPORT_NEVER;
	world_say(w, 0, r);
	assert_string_equal(world_state(w, id), "CONFIGURING");
	world_seal(w);
	assert_int_equal(w->history_runs, 1);
	/* The late copy of an old report is no run. */
	r.state = REPORT_RUNNING;
	world_say(w, 0, r);
	assert_int_equal(world_node_view(w, 0).n_runs, 1);
	world_free(w);
}

/* --- inventory ------------------------------------------------------------------------------- */

struct inventory_case {
	uint32_t cpus;
	uint64_t mem_mb;
	const char *trouble; /* of all GPUs */
	const char *reason;  /* "": it is as demanded */
};

static const struct inventory_case inventory_cases[] = {
	{ 8, 65536, "", "" },
	{ 128, 1 << 20, "", "" },
	{ 7, 65536, "", "CPUs 7 instead of 8" },
	{ 8, 65535, "", "memory 65535M instead of 65536M" },
	{ 8, 65536, "nvmlInit: Driver Not Loaded", "GPUs: nvmlInit: Driver Not Loaded" },
	{ 4, 1024, "no", "CPUs 4 instead of 8, memory 1024M instead of 65536M, GPUs: no" },
};

static void inventory(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(inventory_cases) / sizeof(inventory_cases[0]); i++) {
		const struct inventory_case *c = &inventory_cases[i];
		struct world *w = world_simple(1, "h100:4");
		struct core_event e = { .kind = EV_AGENT_UP };
		uint64_t id = world_submit(w, "h100:1");

		e.agent_up.session = 900;
		e.agent_up.boot_id = e.agent_up.incarnation = "inc1";
		e.agent_up.version = e.agent_up.containment = "";
		e.agent_up.cpus = c->cpus;
		e.agent_up.mem_mb = c->mem_mb;
		e.agent_up.gpu_trouble = c->trouble;
		world_apply(w, &e);
		world_schedule(w);
		assert_string_equal(world_node_view(w, 0).reason, c->reason);
		assert_string_equal(world_node_view(w, 0).state, *c->reason ? "invalid" : "mixed");
		assert_string_equal(world_state(w, id), *c->reason ? "PENDING" : "CONFIGURING");
		world_free(w);
	}
}

/* An agent from before NodeSettings: where the configuration demands what it cannot be told nothing
 * is started, until it is upgraded or the demand is gone. */
static const struct {
	const char *keys, *reason;
} demands[] = {
	{ "", "" },
	{ "sample_every = \"1s\";", "" },
	{ "private = [ \"tmp\" ];", "private: its agent (0.1) cannot be told" },
	{ "rlimits = [ \"nofile=64\" ]; max_processes = 9;",
	        "rlimits, max_processes: its agent (0.1) cannot be told" },
	{ "cpus = 9; devices = [ \"/dev/null\" ];",
	        "CPUs 8 instead of 9, devices: its agent (0.1) cannot be told" },
	{ "prolog = \"/p\";", "programs: its agent (0.1) cannot be told" },
	{ "epilog = \"\"; prolog_timeout = \"1s\";", "" },
	{ "health_check = \"/h\";", "health_check: its agent (0.1) cannot be told" },
	{ "prolog = \"/p\"; health_check = \"/h\";",
	        "programs, health_check: its agent (0.1) cannot be told" },
	{ "health_check = \"\"; health_interval = \"1s\";", "" },
	{ "private_tmp = \"1G\"; kill_wait = \"1s\";",
	        "private_tmp: its agent (0.1) cannot be told" },
};

static void old_agent(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(demands) / sizeof(*demands); i++) {
		struct core_event e = { .kind = EV_AGENT_UP };
		struct world *w;
		char text[600];
		uint64_t id;

		snprintf(text, sizeof(text),
		        "cluster = \"t\"; controller = { host = \"h\"; };"
		        "nodes = ( { name = \"n0\"; mem = \"64G\"; %s } );"
		        "partitions = ( { name = \"batch\"; nodes = \"ALL\"; default = true; } );",
		        demands[i].keys);
		w = world_new(text);
		id = world_submit(w, "");
		for (int old = 1; old >= 0; old--) {
			e.agent_up.session = 900 + (uint64_t)old;
			e.agent_up.boot_id = e.agent_up.incarnation = "inc1";
			e.agent_up.version = "0.1";
			e.agent_up.containment = "";
			e.agent_up.cpus = i == 4 && !old ? 9 : 8;
			e.agent_up.mem_mb = 65536;
			e.agent_up.no_settings = old && i != 5; /* that may know others */
			e.agent_up.no_programs = old;
			e.agent_up.no_health_check = e.agent_up.no_private_tmp = old;
			world_apply(w, &e);
			world_schedule(w);
			assert_string_equal(
			        world_node_view(w, 0).reason, old ? demands[i].reason : "");
			assert_string_equal(world_state(w, id),
			        old && *demands[i].reason ? "PENDING" : "CONFIGURING");
		}
		world_free(w);
	}
}

/* An agent that keeps users apart by its own option: nothing is started there until gpusched.conf
 * says so too, since it would refuse what is placed. */
static const struct {
	const char *keys, *reason;
} aparts[] = {
	{ "", "" },
	{ "share = \"watch\";", "share_users \"any\": its agent has --share-users=one" },
	{ "share = \"watch\"; share_users = \"one\";", "" },
	{ "cpus = 9; share = \"mps\";",
	        "CPUs 8 instead of 9, share_users \"any\": its agent has --share-users=one" },
};

static void strict_agent(void **state)
{
	struct world *w = world_simple(1, "h100:4");

	(void)state;
	for (size_t i = 0; i < sizeof(aparts) / sizeof(*aparts); i++) {
		struct core_event e = { .kind = EV_AGENT_UP };
		char text[600];

		snprintf(text, sizeof(text),
		        "cluster = \"t\"; controller = { host = \"h\"; };"
		        "nodes = ( { name = \"n0\"; mem = \"64G\"; %s } );"
		        "partitions = ( { name = \"batch\"; nodes = \"ALL\"; default = true; } );",
		        aparts[i].keys);
		world_reconfigure(w, text);
		e.agent_up.session = 900 + i;
		e.agent_up.boot_id = e.agent_up.incarnation = "inc1";
		e.agent_up.version = "0.1";
		e.agent_up.containment = "";
		e.agent_up.cpus = 8;
		e.agent_up.mem_mb = 65536;
		e.agent_up.share_users_one = true;
		world_apply(w, &e);
		assert_string_equal(world_node_view(w, 0).reason, aparts[i].reason);
		assert_string_equal(
		        world_node_view(w, 0).state, *aparts[i].reason ? "invalid" : "idle");
	}
	/* A reload is enough. */
	world_reconfigure(w, "cluster = \"t\"; controller = { host = \"h\"; };"
	                     "nodes = ( { name = \"n0\"; share = \"mps\"; } );"
	                     "partitions = ( { name = \"batch\"; nodes = \"ALL\"; } );");
	assert_string_equal(world_node_view(w, 0).reason, aparts[1].reason);
	world_reconfigure(w,
	        "cluster = \"t\"; controller = { host = \"h\"; };"
	        "nodes = ( { name = \"n0\"; share = \"mps\"; share_users = \"one\"; } );"
	        "partitions = ( { name = \"batch\"; nodes = \"ALL\"; } );");
	assert_string_equal(world_node_view(w, 0).state, "idle");
	world_free(w);
}

/* --- a broken node --------------------------------------------------------------------------- */

static void broken_node(void **state)
{
	struct world *w = world_simple(1, "h100:4");
	struct submit_job job;
	uint64_t id[2];
	int i;

	(void)state;
	world_register_all(w);
	for (i = 0; i < 2; i++) {
		job = world_job(w, "h100:4");
		id[i] = world_submit_job(w, &job, 1000 + (uint32_t)i);
	}
	for (i = 0; i < 4; i++) {
		uint64_t at = strcmp(world_state(w, id[0]), "PENDING") ? id[0] : id[1];
		struct run_report r = world_report(world_run(w, at), REPORT_NEVER);

		r.detail = "no cgroup";
		assert_string_equal(world_node_view(w, 0).state, "allocated");
		world_say(w, 0, r);
	}
	assert_string_equal(world_node_view(w, 0).state, "drained");
	assert_string_equal(
	        world_node_view(w, 0).reason, "4 launches in a row failed, the last: no cgroup");
	assert_string_equal(world_reason(w, id[0]), "JobLaunchFailure");
	assert_string_equal(world_reason(w, id[1]), "ReqNodeNotAvail");
	world_seal(w);
	world_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reconciles),
		cmocka_unit_test(lost_order),
		cmocka_unit_test(old_sessions),
		cmocka_unit_test(silence),
		cmocka_unit_test(fences),
		cmocka_unit_test(fence_races_return),
		cmocka_unit_test(unknown_is_off),
		cmocka_unit_test(operators),
		cmocka_unit_test(operator_was_wrong),
		cmocka_unit_test(one_at_a_time),
		cmocka_unit_test(late_record),
		cmocka_unit_test(adopts),
		cmocka_unit_test(inventory),
		cmocka_unit_test(old_agent),
		cmocka_unit_test(strict_agent),
		cmocka_unit_test(broken_node),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
