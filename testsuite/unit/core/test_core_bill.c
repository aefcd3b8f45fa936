/* test_core_bill.c - what runs used, in the accounts of their users: once, exactly, whatever
 * happens
 *
 * After each event core_check() compares usage with the sum over the runs, and each seal loads what
 * was written and compares that.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <string.h>
#include <cmocka.h>

#include "testsuite/unit/lib/amount.h"
#include "testsuite/unit/lib/core_world.h"

#define S ((usec_t)1000000)

static const char conf[] =
        "cluster = \"test\"; controller = { host = \"h\"; };\n"
        "prices = { cpu = 0.1; };\n"
        "gpu_types = ( { name = \"h100\"; mem = \"80G\"; price = 3.0; } );\n"
        "nodes = ( { name = \"n[0-1]\"; cpus = 8; mem = \"64G\"; gpus = \"h100:8\"; } );\n"
        "partitions = ( { name = \"batch\"; nodes = \"ALL\"; default = true;\n"
        "  max_time = \"2-00:00:00\"; default_time = \"1:00:00\";\n"
        "  limits = { gpu_hours = \"1000 / 1h\"; }; } );\n"
        "qos = ( { name = \"normal\"; default = true;\n"
        "    per_user = { gpu_hours = \"5000 / 10d\"; }; },\n"
        "  { name = \"cheap\"; usage_factor = 0.5; } );\n";

/* What a user used in an account; the tree as of the last start. */
static struct share_view used(struct world *w, const char *account, const char *user)
{
	struct share_view v;
	size_t cursor = 0;

	world_restart(w);
	world_register_all(w);
	while (core_share_next(w->core, &cursor, &v)) {
		if (!strcmp(v.account, account) && !strcmp(v.user, user))
			return v;
	}
	return (struct share_view){ 0 };
}

static uint64_t started(struct world *w, const char *gpus, const char *account, const char *qos)
{
	struct submit_job job = world_job(w, gpus);
	uint64_t id;

	job.account = account;
	job.qos = qos;
	job.requeue = true;
	job.max_attempts = 5;
	id = world_submit_job(w, &job, 1000);
	world_run_starts(w, id);
	return id;
}

static void one_run(void **state)
{
	struct world *w = world_new(conf);
	struct share_view v;
	uint64_t id;

	(void)state;
	world_register_all(w);
	id = started(w, "h100:2", "", "");
	world_pass(w, 1800);
	world_run_ends(w, id, 0);
	v = used(w, "", "ana");
	assert_int_equal(v.gpu_us, 3600 * S);
	assert_int_equal(v.cpu_us, 1800 * S);
	assert_float_equal(v.cost, 0.5 * (2 * 3 + 0.1), 1e-6);
	/* Half of the cost, all of the time. */
	id = started(w, "h100:2", "", "cheap");
	world_pass(w, 1800);
	world_run_ends(w, id, 1);
	v = used(w, "", "ana");
	assert_int_equal(v.gpu_us, 7200 * S);
	assert_float_equal(v.cost, 0.75 * (2 * 3 + 0.1), 1e-6);
	/* In history it counts as before. */
	world_pass(w, w->conf->controller.keep_ended_s + 1);
	assert_string_equal(world_state(w, id), "none");
	v = used(w, "", "ana");
	assert_int_equal(v.gpu_us, 7200 * S);
	world_free(w);
}

/* What it may cost at most is in the same money. */
static void estimates(void **state)
{
	struct world *w = world_new(conf);
	struct submit_job job = world_job(w, "h100:2");
	struct core_event e = { .kind = EV_SUBMIT,
		.caller = world_user(1000),
		.submit = { .jobs = &job, .n = 1, .test_only = true } };
	uint64_t id;

	(void)state;
	job.qos = "cheap";
	job.time_limit_s = 7200;
	job.hold = true;
	id = world_submit_job(w, &job, 1000);
	assert_float_equal(world_view(w, id).cost_max, 0.5 * 2 * (2 * 3 + 0.1), 1e-6);
	job = world_job(w, "h100:2");
	job.qos = "cheap";
	job.time_limit_s = 7200;
	world_register_all(w);
	world_clear(w);
	world_apply(w, &e);
	assert_float_equal(world_effect(w, EFFECT_SUBMITTED)->submitted.cost_max,
	        0.5 * 2 * (2 * 3 + 0.1), 1e-6);
	world_free(w);
}

/* Whose first run has just ended stands in the tree, also when nothing is to be scheduled. */
static void listed_at_once(void **state)
{
	struct world *w = world_new(conf);
	struct share_view v;
	size_t cursor = 0;
	uint64_t id, users = 0;

	(void)state;
	world_register_all(w);
	id = started(w, "h100:2", "", "");
	world_pass(w, 60);
	world_run_ends(w, id, 0);
	while (core_share_next(w->core, &cursor, &v))
		users += v.gpu_us;
	assert_int_equal(users, 120 * S);
	world_free(w);
}

static void late_and_truer(void **state)
{
	struct world *w = world_new(conf);
	struct run_report r;
	uint64_t id;

	(void)state;
	world_register_all(w);
	id = started(w, "h100:8", "", "");
	r = world_report(world_run(w, id), REPORT_ENDED);
	world_pass(w, 100);
	world_gone(w, 0);
	world_node(w, NODE_DOWN, 0, true);
	assert_int_equal(used(w, "", "ana").gpu_us, 800 * S);
	/* It had ended after a minute. */
	r.elapsed_us = 60 * S;
	world_register(w, 0, "inc1", &r, 1);
	assert_int_equal(used(w, "", "ana").gpu_us, 480 * S);
	/* And says so again. */
	world_register(w, 0, "inc1", &r, 1);
	assert_int_equal(used(w, "", "ana").gpu_us, 480 * S);
	world_free(w);
}

static void orphans_pay(void **state)
{
	struct world *w = world_new(conf);
	struct run_report r;
	uint64_t id;

	(void)state;
	world_register_all(w);
	id = started(w, "h100:8", "", "");
	r = world_report(world_run(w, id), REPORT_RUNNING);
	world_pass(w, 100);
	world_gone(w, 0);
	world_node(w, NODE_DOWN, 0, true);
	/* It was alive all the time, and is told to end. */
	world_register(w, 0, "inc1", &r, 1);
	r = world_report(r.run, REPORT_ENDED);
	r.elapsed_us = 150 * S;
	world_say(w, 0, r);
	assert_int_equal(used(w, "", "ana").gpu_us, 1200 * S);
	/* One of no job that is known: whose user is known by number only. */
	r = world_report((struct run_id){ .job = 9000, .attempt = 1 }, REPORT_RUNNING);
	r.uid = 77;
	r.gpus = 3;
	r.gpu_type = "h100";
	r.cpus = 1;
	world_register(w, 0, "inc1", &r, 1);
	r.state = REPORT_ENDED;
	r.elapsed_us = 5 * S;
	world_say(w, 0, r);
	assert_int_equal(used(w, "", "uid 77").gpu_us, 10 * S);
	world_free(w);
}

/* What never ran costs nothing; each attempt is paid for by itself. */
static void attempts(void **state)
{
	struct world *w = world_new(conf);
	struct run_report r;
	uint64_t id;

	(void)state;
	world_register_all(w);
	id = started(w, "h100:1", "", "");
	world_pass(w, 30);
	assert_int_equal(world_control(w, world_user(1000), JOB_REQUEUE, id), 1);
	world_run_ends(w, id, 0);
	r = world_report(world_run(w, id), REPORT_NEVER);
	world_say(w, world_node_of(w, id), r);
	world_run_starts(w, id);
	world_pass(w, 12);
	world_run_ends(w, id, 0);
	assert_string_equal(world_state(w, id), "COMPLETED");
	assert_int_equal(used(w, "", "ana").gpu_us, 42 * S);
	world_free(w);
}

/* A node may say what it likes. */
static void absurd_times(void **state)
{
	struct world *w = world_new(conf);
	struct run_report r;
	uint64_t id;

	(void)state;
	world_register_all(w);
	for (int i = 0; i < 3; i++) {
		id = started(w, "h100:8", "", "");
		r = world_report(world_run(w, id), REPORT_ENDED);
		r.elapsed_us = i == 0 ? UINT64_MAX : i == 1 ? (uint64_t)INT64_MAX : 1ull << 60;
		world_say(w, world_node_of(w, id), r);
		world_seal(w);
	}
	assert_int_equal(used(w, "", "ana").gpu_us, 3 * (8ull << 50));
	world_free(w);
}

/* --- kills ----------------------------------------------------------------------------------- */

static uint64_t rng = 88172645463325252ull;

static unsigned pick(unsigned n)
{
	rng ^= rng << 13;
	rng ^= rng >> 7;
	rng ^= rng << 17;
	return (unsigned)(rng >> 11) % n;
}

#define JOBS 40

/* Killed again and again: what was sealed is billed once, what was not never happened, and the node
 * says it again. */
static void kills(void **state)
{
	struct world *w = world_new(conf);
	struct {
		uint64_t job, elapsed_us;
		struct run_report report;
	} v[JOBS] = { 0 };
	uint64_t want = 0;

	(void)state;
	world_register_all(w);
	for (uint64_t kill = 0, kills_wanted = amount("BILL_KILLS", 200); kill < kills_wanted;) {
		unsigned i = pick(JOBS);

		if (!v[i].job) {
			struct submit_job job = world_job(w, "h100:1");

			v[i].job = world_submit_job(w, &job, 1000);
			world_seal(w);
		} else if (!strcmp(world_state(w, v[i].job), "CONFIGURING")) {
			world_run_starts(w, v[i].job);
			world_seal(w);
		} else if (!strcmp(world_state(w, v[i].job), "RUNNING")) {
			struct run_report r = world_report(world_run(w, v[i].job), REPORT_ENDED);
			uint32_t node = world_node_of(w, v[i].job);
			bool killed = pick(2);

			r.elapsed_us = 1 + pick(100000);
			r.start_time = world_view(w, v[i].job).start_time;
			r.end_time = w->now.wall;
			world_say(w, node, r);
			if (killed) {
				world_crash(w);
				world_register_all(w);
				world_say(w, node, r);
				kill++;
			}
			world_seal(w);
			want += r.elapsed_us;
			v[i].job = 0;
		} else {
			world_pass(w, 1);
			world_seal(w);
		}
	}
	assert_int_equal(used(w, "", "ana").gpu_us, want);
	world_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_run),
		cmocka_unit_test(estimates),
		cmocka_unit_test(listed_at_once),
		cmocka_unit_test(late_and_truer),
		cmocka_unit_test(orphans_pay),
		cmocka_unit_test(attempts),
		cmocka_unit_test(absurd_times),
		cmocka_unit_test(kills),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
