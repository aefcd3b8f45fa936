/* test_core_life.c - a job's way from submit to history */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <string.h>
#include <cmocka.h>

#include "testsuite/unit/lib/core_world.h"

static void whole_life(void **state)
{
	struct world *w = world_simple(2, "h100:4");
	uint64_t id;

	(void)state;
	id = world_submit(w, "h100:2");
	assert_string_equal(world_state(w, id), "PENDING");
	assert_string_equal(world_reason(w, id), "ReqNodeNotAvail");
	world_seal(w);
	world_register_all(w);
	assert_string_equal(world_state(w, id), "CONFIGURING");
	assert_int_equal(world_view(w, id).gpu_set, 3);
	assert_non_null(world_effect(w, EFFECT_START_RUN));
	world_seal(w);
	world_run_starts(w, id);
	assert_string_equal(world_state(w, id), "RUNNING");
	world_seal(w);
	world_pass(w, 30);
	assert_int_equal(world_view(w, id).elapsed_s, 30);
	world_run_ends(w, id, 0);
	assert_string_equal(world_state(w, id), "COMPLETED");
	assert_non_null(world_effect(w, EFFECT_FORGET_RUN));
	world_seal(w);
	world_restart(w);
	assert_string_equal(world_state(w, id), "COMPLETED");
	assert_int_equal(world_view(w, id).elapsed_s, 30);
	world_pass(w, w->conf->controller.keep_ended_s + 1);
	assert_string_equal(world_state(w, id), "none");
	world_seal(w);
	assert_int_equal(w->history_jobs, 1);
	assert_int_equal(w->history_runs, 1);
	world_free(w);
}

/* Checkpoints are kept and never go back; progress is of the moment. */
static void what_it_says_while_it_runs(void **state)
{
	struct world *w = world_simple(1, "h100:4");
	uint64_t id = world_running(w, false), change;
	struct run_report r = world_alive(w, id);
	usec_t saved = w->now.wall;

	(void)state;
	assert_int_equal(world_view(w, id).checkpoint_time, 0);
	assert_string_equal(world_view(w, id).progress, "");
	r.checkpoint_time = saved;
	r.progress = "epoch 1 of 3";
	world_say(w, 0, r);
	assert_int_equal(world_view(w, id).checkpoint_time, saved);
	assert_string_equal(world_view(w, id).progress, "epoch 1 of 3");
	change = core_change(w->core);
	r.progress = "epoch 2 of 3";
	r.checkpoint_time = saved - 1;
	world_say(w, 0, r);
	assert_string_equal(world_view(w, id).progress, "epoch 2 of 3");
	assert_int_equal(world_view(w, id).checkpoint_time, saved);
	assert_int_equal(core_change(w->core), change); /* nothing to be kept */
	world_restart(w);
	assert_int_equal(world_view(w, id).checkpoint_time, saved);
	assert_string_equal(world_view(w, id).progress, "");
	r.elapsed_us = 7000000;
	world_register(w, 0, "inc1", &r, 1);
	assert_string_equal(world_view(w, id).progress, "epoch 2 of 3");
	assert_int_equal(world_view(w, id).elapsed_s, 7);
	r.state = REPORT_ENDED;
	r.checkpoint_time = saved + 5; /* its last words */
	r.end_time = saved + 6;
	world_say(w, 0, r);
	assert_string_equal(world_state(w, id), "COMPLETED");
	assert_int_equal(world_view(w, id).checkpoint_time, saved + 5);
	assert_string_equal(world_view(w, id).progress, "");
	world_seal(w);
	world_free(w);
}

/* Who is stopped for another is whoever loses least: of the present attempt, since its start or
 * since the last checkpoint. */
static void what_is_safe_is_not_lost(void **state)
{
	static const char conf[] =
	        "cluster = \"test\"; controller = { host = \"h\"; node_timeout = \"1:00:00\"; };\n"
	        "gpu_types = ( { name = \"h100\"; mem = \"80G\"; } );\n"
	        "nodes = ( { name = \"n0\"; cpus = 8; mem = \"64G\"; gpus = \"h100:8\"; } );\n"
	        "partitions = ( { name = \"batch\"; nodes = \"ALL\"; default = true; tier = 1;\n"
	        "    preempt_mode = \"cancel\"; grace = \"30s\"; min_run = \"0s\"; },\n"
	        "  { name = \"urgent\"; nodes = \"ALL\"; tier = 2; } );\n";
	int round;

	(void)state;
	for (round = 0; round < 3; round++) { /* without, with, with one before a restart */
		struct world *w = world_new(conf);
		struct submit_job urgent;
		struct run_report r;
		uint64_t old, young, id;

		world_register_all(w);
		old = world_submit(w, "h100:4");
		world_run_starts(w, old);
		world_pass(w, 3000);
		young = world_submit(w, "h100:4");
		world_run_starts(w, young);
		world_pass(w, 500);
		if (round) {
			r = world_report(world_run(w, old), REPORT_RUNNING);
			r.checkpoint_time = w->now.wall;
			world_say(w, 0, r);
		}
		if (round == 2) {
			struct run_report both[] = { r, r };

			world_restart(w);
			both[1].run = world_run(w, young);
			both[0].checkpoint_time = both[1].checkpoint_time = 0; /* not said again */
			both[0].elapsed_us = 3500000000;
			both[1].elapsed_us = 500000000;
			both[0].gpus = 0xf;
			both[1].gpus = 0xf0;
			world_register(w, 0, "inc1", both, 2);
		}
		world_pass(w, 10);
		urgent = world_job(w, "h100:4");
		urgent.partition = "urgent";
		id = world_submit_job(w, &urgent, 1000);
		assert_true(id);
		assert_string_equal(world_state(w, round ? old : young), "COMPLETING");
		assert_string_equal(world_state(w, round ? young : old), "RUNNING");
		world_free(w);
	}
}

/* --- reasons --------------------------------------------------------------------------------- */

static void reasons(void **state)
{
	struct world *w = world_simple(4, "h100:4");
	uint64_t a, b, c;
	struct job_why why;
	char behind[80];
	unsigned n;

	(void)state;
	for (n = 0; n < 3; n++)
		world_register(w, n, "inc1", NULL, 0);
	for (n = 0; n < 3; n++)
		world_submit(w, "h100:3");
	world_node(w, NODE_DRAIN, 2, false);
	a = world_submit(w, "h100:2");
	b = world_submit(w, "h100:2");
	assert_string_equal(world_reason(w, a), "Resources");
	assert_string_equal(world_view(w, a).reason_text,
	        "needs h100:2 on one node of batch: 2 nodes have "
	        "fewer free (n0 1, n1 1), 1 is drained (n2), 1 does not respond (n3)");
	/* Who comes after one that asks for the same, too: as --why says. */
	assert_string_equal(world_reason(w, b), "Resources");
	snprintf(behind, sizeof(behind), "behind job %llu, which asks for the same; needs h100:2 ",
	        (unsigned long long)a);
	assert_true(!strncmp(world_view(w, b).reason_text, behind, strlen(behind)));
	assert_true(core_job_why(w->core, b, w->now, &why));
	assert_string_equal(why.blockers[0].reason, "Resources");
	c = world_submit(w, "h100:4");
	assert_string_equal(world_reason(w, c), "Resources");
	world_control(w, world_user(1000), JOB_HOLD, a);
	assert_string_equal(world_reason(w, a), "JobHeldUser");
	assert_string_equal(world_view(w, a).reason_text, "held by ana from login1");
	assert_string_equal(world_reason(w, b), "Resources");
	world_control(w, world_admin(), JOB_HOLD, a);
	assert_string_equal(world_reason(w, a), "JobHeldAdmin");
	for (n = 0; n < 2; n++)
		world_node(w, NODE_DOWN, n, false);
	world_pass(w, 2);
	assert_string_equal(world_reason(w, b), "ReqNodeNotAvail");
	assert_string_equal(world_view(w, b).reason_text,
	        "needs h100:2 on one node of batch: 1 is drained "
	        "(n2), 2 are down (n0, n1), 1 does not respond (n3)");
	world_free(w);
}

/* --- clocks ---------------------------------------------------------------------------------- */

static void clock_jumps(void **state)
{
	struct world *w = world_simple(1, "h100:4");
	struct run_report r;
	struct job_view v;
	uint64_t id;

	(void)state;
	world_register_all(w);
	id = world_submit(w, "h100:1");
	world_run_starts(w, id);
	w->now.wall -= 3600 * 1000000ll;
	world_pass(w, 20);
	assert_int_equal(world_view(w, id).elapsed_s, 20);
	w->now.wall += 864000 * 1000000ll;
	world_pass(w, 20);
	assert_int_equal(world_view(w, id).elapsed_s, 40);
	/* After a start only the wall clock can tell, until the node does. */
	w->now.wall = world_view(w, id).start_time - 5000000;
	world_restart(w);
	assert_int_equal(world_view(w, id).elapsed_s, 0);
	r = world_report(world_run(w, id), REPORT_RUNNING);
	r.elapsed_us = 50000000;
	world_register(w, 0, "inc1", &r, 1);
	world_pass(w, 1);
	assert_int_equal(world_view(w, id).elapsed_s, 51);
	r.state = REPORT_ENDED;
	r.cause = END_EXIT;
	r.start_time = world_view(w, id).start_time;
	r.end_time = r.start_time - 1000000000;
	r.elapsed_us = 52000000;
	world_say(w, 0, r);
	v = world_view(w, id);
	assert_true(v.end_time >= v.start_time);
	assert_int_equal(v.elapsed_s, 52);
	/* Far in the past or the future, an ended job is kept for its time and no longer. */
	w->now.wall -= 864000 * 1000000ll;
	world_restart(w);
	world_pass(w, w->conf->controller.keep_ended_s - 1);
	assert_string_equal(world_state(w, id), "COMPLETED");
	world_pass(w, 2);
	assert_string_equal(world_state(w, id), "none");
	world_free(w);
}

/* --- order and views ------------------------------------------------------------------------- */

static const char tiers[] =
        "cluster = \"test\"; controller = { host = \"h\"; };\n"
        "gpu_types = ( { name = \"h100\"; mem = \"80G\"; } );\n"
        "nodes = ( { name = \"n[0-1]\"; cpus = 8; mem = \"64G\"; gpus = \"h100:4\"; } );\n"
        "partitions = ( { name = \"batch\"; nodes = \"ALL\"; default = true; tier = 1; },\n"
        "  { name = \"urgent\"; nodes = \"n1\"; tier = 10; } );\n";

static void who_is_next(void **state)
{
	struct world *w = world_new(tiers);
	struct submit_job job;
	uint64_t first, nicer, urgent;

	(void)state;
	first = world_submit(w, "h100:3");
	job = world_job(w, "h100:3");
	job.nice = 10;
	nicer = world_submit_job(w, &job, 1001);
	job = world_job(w, "h100:3");
	job.partition = "urgent";
	job.nice = 100;
	urgent = world_submit_job(w, &job, 1002);
	world_register(w, 1, "inc1", NULL, 0);
	assert_string_equal(world_state(w, urgent), "CONFIGURING");
	assert_string_equal(world_state(w, first), "PENDING");
	world_run_ends(w, urgent, 0);
	assert_string_equal(world_state(w, first), "CONFIGURING");
	assert_string_equal(world_state(w, nicer), "PENDING");
	world_run_ends(w, first, 0);
	assert_string_equal(world_state(w, nicer), "CONFIGURING");
	world_free(w);
}

static void numbers(void **state)
{
	struct world *w = world_new(tiers);
	struct partition_view p;
	struct node_view n;
	struct core_stats s;
	struct run_view r;
	struct run_id runs[4];
	uint64_t id;

	(void)state;
	world_register_all(w);
	id = world_submit(w, "h100:3");
	world_submit(w, "h100:2");
	world_submit(w, "h100:4");
	world_node(w, NODE_DRAIN, 1, false);
	assert_true(core_partition_view(w->core, 0, &p));
	assert_int_equal(p.nodes_ok, 1);
	assert_int_equal(p.nodes_drain, 1);
	assert_int_equal(p.nodes_down, 0);
	assert_int_equal(p.jobs_pending, 1);
	assert_int_equal(p.jobs_running, 2);
	assert_int_equal(p.n_gpus, 1);
	assert_int_equal(p.gpus[0].total, 8);
	assert_int_equal(p.gpus[0].free, 1); /* what is free on a drained node is nobody's */
	assert_int_equal(p.gpus[0].largest, 1);
	assert_string_equal(p.gpus[0].largest_node, "n0");
	assert_true(core_partition_view(w->core, 1, &p));
	assert_int_equal(p.gpus[0].largest, 0);
	assert_string_equal(p.gpus[0].largest_node, "");
	assert_false(core_partition_view(w->core, 2, &p));
	assert_true(core_node_view(w->core, 0, w->now, &n));
	assert_string_equal(n.state, "mixed");
	assert_int_equal(n.cpus_free, 7);
	assert_int_equal(n.n_runs, 1);
	assert_int_equal(core_node_runs(w->core, 0, runs, 4), 1);
	assert_int_equal(runs[0].job, id);
	assert_false(core_node_view(w->core, 2, w->now, &n));
	assert_true(core_run_view(w->core, runs[0], w->now, &r));
	assert_string_equal(r.state, "ORDERED");
	assert_string_equal(r.incarnation, "inc1");
	assert_int_equal(r.gpus, 7);
	assert_int_equal(r.gpu_mem_mb, 81920);
	assert_int_equal(r.epoch, 1);
	core_stats(w->core, &s);
	assert_int_equal(s.jobs, 3);
	assert_int_equal(s.jobs_pending, 1);
	assert_int_equal(s.jobs_running, 2);
	assert_int_equal(s.classes_parked, 1);
	assert_int_equal(s.nodes_up, 2);
	assert_int_equal(s.started, 2);
	/* Who did what: three submits and the drain. */
	world_seal(w);
	assert_int_equal(w->audit_rows, 4);
	world_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whole_life),
		cmocka_unit_test(what_it_says_while_it_runs),
		cmocka_unit_test(what_is_safe_is_not_lost),
		cmocka_unit_test(reasons),
		cmocka_unit_test(clock_jumps),
		cmocka_unit_test(who_is_next),
		cmocka_unit_test(numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
