/* test_core_reload.c - a core that is loaded from older rows, or given another configuration */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "testsuite/unit/lib/core_world.h"

/* --- a restored backup ----------------------------------------------------------------------- */

static void suspended(void **state)
{
	struct world *w = world_simple(1, "h100:4");
	struct core_event e = { .kind = EV_AGENT_UP };
	uint64_t id = world_running(w, true), waiting = world_submit(w, "h100:1");
	struct run_report r = world_alive(w, id);
	struct error err;
	const char *text = NULL;

	(void)state;
	world_restart(w);
	world_clear(w);
	e.agent_up.session = 900;
	e.agent_up.boot_id = e.agent_up.incarnation = "inc1";
	e.agent_up.version = e.agent_up.containment = "";
	e.agent_up.cpus = 8;
	e.agent_up.mem_mb = 65536;
	e.agent_up.max_epoch = 50;
	world_apply(w, &e);
	assert_true(core_is_suspended(w->core, &text));
	assert_non_null(strstr(text, "epoch 50"));
	assert_int_equal(w->n_wanted, 0);
	assert_string_equal(world_state(w, id), "RUNNING");
	assert_string_equal(world_reason(w, waiting), "ControllerSuspended");
	world_control(w, world_admin(), JOB_CANCEL, waiting);
	assert_int_equal(w->error.code, ERR_EPOCH);
	world_say(w, 0, world_report(world_run(w, id), REPORT_ENDED));
	assert_string_equal(world_state(w, id), "RUNNING");
	world_pass(w, 100000);
	assert_null(world_effect(w, EFFECT_END_RUN));
	assert_null(world_effect(w, EFFECT_START_RUN));
	assert_null(world_effect(w, EFFECT_FORGET_RUN));
	/* Taken over: above all that was seen, and all that comes. */
	world_restart(w);
	core_takeover(w->core, 60, 70000);
	assert_false(core_is_suspended(w->core, &text));
	e.agent_up.max_epoch = 61;
	e.agent_up.max_job = 80000;
	e.agent_up.runs = &r;
	e.agent_up.n_runs = 1;
	world_apply(w, &e);
	world_schedule(w);
	assert_false(core_is_suspended(w->core, &text));
	assert_int_equal(world_submit(w, "h100:1"), 70001 + TASK_MAX + 1); /* one may be an array */
	assert_int_equal(w->n_wanted, 1);
	world_run_ends(w, id, 0);
	assert_string_equal(world_state(w, waiting), "CONFIGURING");
	assert_int_equal(core_check(w->core, &err), 0);
	world_seal(w);
	world_free(w);
}

/* The job id alone gives it away; and a job that the backup has as waiting is running. */
static void restored(void **state)
{
	struct world *w = world_simple(1, "h100:4");
	uint64_t id = world_submit(w, "h100:4");
	struct core_event e = { .kind = EV_AGENT_UP };
	struct run_report r;
	uint64_t last;

	(void)state;
	world_restart(w);
	last = core_last_event(w->core);
	core_takeover(w->core, 0, 0);
	assert_true(core_last_event(w->core) >= last + 1000000000);
	r = world_report((struct run_id){ id, 0, 2, 0 }, REPORT_RUNNING);
	r.gpus = 0xf;
	world_clear(w);
	world_register(w, 0, "inc1", &r, 1);
	assert_string_equal(world_state(w, id), "RUNNING");
	assert_int_equal(world_view(w, id).attempt, 2);
	assert_null(world_effect(w, EFFECT_START_RUN));
	world_run_ends(w, id, 0);
	assert_string_equal(world_state(w, id), "COMPLETED");
	world_restart(w);
	e.agent_up.session = 900;
	e.agent_up.boot_id = e.agent_up.incarnation = "inc1";
	e.agent_up.version = e.agent_up.containment = "";
	e.agent_up.max_job = 1000000;
	world_apply(w, &e);
	assert_true(core_is_suspended(w->core, NULL));
	world_free(w);
}

/* What runs sits where the backup has a job that has ended: its GPUs are not given to others, in
 * whatever order its node tells of the two. */
static void restored_where_another_was(void **state)
{
	struct world *w = world_simple(1, "h100:4");
	uint64_t ended, some;
	struct run_report r[2];
	struct error err;

	(void)state;
	world_register_all(w);
	ended = world_submit(w, "h100:4");
	world_run_starts(w, ended);
	r[0] = world_alive(w, ended);
	r[0].run = (struct run_id){ 999, 0, 1, 0 };
	r[0].gpus = 0x3;
	r[1] = world_report(world_run(w, ended), REPORT_ENDED);
	world_restart(w);
	core_takeover(w->core, 0, 0);
	world_clear(w);
	world_register(w, 0, "inc1", r, 2);
	assert_string_equal(world_state(w, ended), "COMPLETED");
	some = world_submit(w, "h100:2");
	assert_string_equal(world_state(w, some), "CONFIGURING");
	assert_string_equal(world_state(w, world_submit(w, "h100:1")), "PENDING");
	assert_int_equal(core_check(w->core, &err), 0);
	world_free(w);
}

static void two_backups(void **state)
{
	struct world *w = world_simple(1, "h100:4");
	struct core *core;
	struct error err;
	struct row row = { .table = TABLE_META, .change = ROW_PUT, .n = 2 };

	(void)state;
	row.v[0] = (struct value){ .type = VALUE_TEXT, .p = "cluster", .n = 7 };
	row.v[1] = (struct value){ .type = VALUE_TEXT, .p = "other", .n = 5 };
	core = core_new(w->conf, 1);
	assert_int_equal(core_load(core, &row, &err), 0);
	assert_int_equal(core_start(core, w->now, &err), -1);
	assert_int_equal(err.code, ERR_CLUSTER);
	core_free(core);
	world_free(w);
}

/* --- another configuration ------------------------------------------------------------------- */

static const char grown[] =
        "cluster = \"test\"; controller = { host = \"h\"; };\n"
        "gpu_types = ( { name = \"l40s\"; mem = \"48G\"; }, { name = \"h100\"; mem = \"80G\"; } "
        ");\n"
        "nodes = ( { name = \"m[0-4]\"; cpus = 8; mem = \"64G\"; gpus = \"h100:8\"; },\n"
        "  { name = \"n1\"; cpus = 8; mem = \"64G\"; gpus = \"h100:4\"; } );\n"
        "partitions = ( { name = \"other\"; nodes = \"n1\"; },\n"
        "  { name = \"batch\"; nodes = \"ALL\"; default = true; } );\n";
static const char shrunk[] =
        "cluster = \"test\"; controller = { host = \"h\"; };\n"
        "gpu_types = ( { name = \"l40s\"; } );\n"
        "nodes = ( { name = \"n[0-1]\"; cpus = 8; mem = \"64G\"; gpus = \"l40s:2\"; } );\n"
        "partitions = ( { name = \"new\"; nodes = \"ALL\"; default = true; } );\n";
static const char original[] =
        "cluster = \"test\"; controller = { host = \"h\"; };\n"
        "gpu_types = ( { name = \"h100\"; mem = \"80G\"; }, { name = \"l40s\"; mem = \"48G\"; } "
        ");\n"
        "nodes = ( { name = \"n[0-1]\"; cpus = 8; mem = \"64G\"; gpus = \"h100:4\"; } );\n"
        "partitions = ( { name = \"batch\"; nodes = \"ALL\"; default = true; } );\n";

static void reconfigures(void **state)
{
	struct world *w = world_new(original);
	uint64_t id = world_running(w, true), waiting, wide;
	struct partition_view p;

	(void)state;
	waiting = world_submit(w, "h100:4");
	wide = world_submit(w, "h100:3");
	/* Node n0 leaves under its run, n1 becomes number 5. */
	world_clear(w);
	world_reconfigure(w, grown);
	assert_non_null(world_effect(w, EFFECT_CLOSE_AGENT));
	assert_string_equal(w->close_text, "the node has left the configuration");
	assert_string_equal(world_state(w, id), "RUNNING");
	assert_string_equal(world_view(w, id).node, "n0");
	world_register(w, 5, "inc1", NULL, 0);
	assert_string_equal(world_state(w, waiting), "CONFIGURING");
	assert_int_equal(world_node_of(w, waiting), 5);
	assert_true(core_partition_view(w->core, 1, &p));
	assert_int_equal(p.jobs_pending, 1);
	assert_int_equal(p.jobs_running, 2);
	world_seal(w);
	/* Partition and type go, nodes stay with fewer GPUs than are booked. */
	world_reconfigure(w, shrunk);
	assert_string_equal(world_reason(w, wide), "BadConstraints");
	assert_string_equal(world_state(w, id), "RUNNING");
	assert_int_equal(world_node_view(w, 0).gpus[0].free, 0);
	world_restart(w);
	assert_string_equal(world_reason(w, wide), "");
	world_schedule(w);
	assert_string_equal(world_reason(w, wide), "BadConstraints");
	assert_string_equal(world_state(w, id), "RUNNING");
	/* And back: all is as it was, after registration too. */
	world_reconfigure(w, original);
	world_register(w, 0, "inc1", (struct run_report[]){ world_alive(w, id) }, 1);
	assert_string_equal(world_state(w, id), "RUNNING");
	assert_string_equal(world_reason(w, wide), "Resources");
	world_run_ends(w, id, 0);
	assert_string_equal(world_state(w, wide), "CONFIGURING");
	world_seal(w);
	world_free(w);
}

static void shrinks_below(void **state)
{
	struct world *w = world_new(grown);
	uint64_t id;

	(void)state;
	world_register(w, 0, "inc1", NULL, 0);
	id = world_submit(w, "h100:8");
	assert_string_equal(world_state(w, id), "CONFIGURING");
	world_gone(w, 0);
	world_say(w, 0, world_report(world_run(w, id), REPORT_RUNNING));
	world_node(w, NODE_DOWN, 0, true);
	assert_string_equal(world_state(w, id), "PENDING");
	world_reconfigure(w, original);
	assert_string_equal(world_reason(w, id), "BadConstraints");
	assert_string_equal(world_view(w, id).reason_text,
	        "--gpus=h100:8 on one node: the largest node in batch has h100:4");
	world_seal(w);
	world_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(suspended),
		cmocka_unit_test(restored),
		cmocka_unit_test(restored_where_another_was),
		cmocka_unit_test(two_backups),
		cmocka_unit_test(reconfigures),
		cmocka_unit_test(shrinks_below),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
