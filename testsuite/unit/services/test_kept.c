/* test_kept.c - the replicas of a service that are kept: their quality of service, which slots have
 * it, and that others make room before them, and when */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "ctld/core/attempts/attempt.h"
#include "ctld/core/records/job.h"
#include "ctld/core/records/run.h"
#include "ctld/core/rows/state.h"
#include "ctld/core/services/services.h"
#include "testsuite/unit/lib/core_world.h"

#define OWNER 1000
#define OTHER 1001

static const char conf[] =
        "cluster = \"test\"; controller = { host = \"h\"; node_timeout = \"60s\"; };\n"
        "gpu_types = ( { name = \"h100\"; mem = \"80G\"; } );\n"
        "nodes = ( { name = \"n[0-1]\"; cpus = 8; mem = \"64G\"; gpus = \"h100:2\"; } );\n"
        "partitions = ( { name = \"batch\"; nodes = \"ALL\"; default = true; services = true; "
        "preempt_mode = \"requeue\"; grace = \"2s\"; } );\n"
        "accounts = (\n"
        "  { name = \"serving\"; members = [ \"*\" ]; quota = { guaranteed = \"h100:2\"; }; },\n"
        "  { name = \"lab\"; members = [ \"*\" ]; } );\n"
        "qos = ( { name = \"normal\"; default = true; },\n"
        "  { name = \"first\"; priority = 200; },\n"
        "  { name = \"production\"; priority = 100; preempts = [ \"scavenger\" ]; },\n"
        "  { name = \"scavenger\"; priority = -100; min_run = \"0s\"; } );\n";

static struct service *service(struct world *w)
{
	return services_find(w->core->services, "chat");
}

static struct submit_service chat(uint32_t min, uint32_t max, uint32_t kept)
{
	return (struct submit_service){ .name = "chat",
		.burst_qos = "scavenger",
		.spec = "",
		.policy = { .min = min, .max = max, .kept = kept, .surge = 1, .settle_s = 10 },
		.drain_s = 30,
		.valid_days = 90 };
}

static uint64_t serve(struct world *w, uint32_t min, uint32_t max, uint32_t kept)
{
	struct submit_service s = chat(min, max, kept);
	struct submit_job job = world_job(w, "h100:1");

	job.service = &s;
	job.array = "0-12";
	job.account = "serving";
	job.qos = "production";
	return world_submit_job(w, &job, OWNER);
}

/* Each has a class of its own, and so its own preemption search. */
static uint64_t lab(struct world *w, const char *qos, const char *gpus)
{
	static uint32_t hours;
	struct submit_job job = world_job(w, gpus);

	job.time_limit_s = 3600 * ++hours;
	job.account = "lab";
	job.qos = qos;
	job.requeue = true;
	return world_submit_job(w, &job, OTHER);
}

static uint32_t node_of(const struct run *run)
{
	return (uint32_t)(run_info(run)->node[1] - '0');
}

static void says(struct world *w, const struct run *run, enum replica_health health)
{
	struct run_report report = world_report(run_info(run)->id, REPORT_RUNNING);

	report.replica.health = health;
	report.replica.ready_time = health == HEALTH_READY ? w->now.wall : 0;
	report.replica.n_ports = 1;
	world_say(w, node_of(run), report);
}

static void ends(struct world *w, const struct run *run, uint32_t code)
{
	struct run_report report = world_report(run_info(run)->id, REPORT_ENDED);

	report.cause = run_info(run)->end_wanted ? run_info(run)->end_wanted : END_EXIT;
	report.exit_code = code;
	world_say(w, node_of(run), report);
}

/* The replicas in that state with that QOS (NULL: with any); the last one in *found. */
static unsigned count(
        struct world *w, enum replica_state state, const char *qos, struct replica *found)
{
	struct replica_walk at = { 0 };
	struct replica r;
	unsigned n = 0;

	while (service_each(service(w), &at, &r)) {
		if (r.state != state || (qos && strcmp(job_info(r.job)->qos, qos) != 0))
			continue;
		n++;
		if (found)
			*found = r;
	}
	return n;
}

/* All that were ordered come up, and what was told to end has ended. */
static void settle(struct world *w)
{
	struct replica r;

	world_schedule(w);
	while (count(w, REPLICA_CONFIGURING, NULL, &r) || count(w, REPLICA_LOADING, NULL, &r)) {
		says(w, r.run, HEALTH_READY);
		world_schedule(w);
	}
	while (service(w) && count(w, REPLICA_DRAINING, NULL, &r)) {
		ends(w, r.run, 0);
		world_schedule(w);
	}
}

static void scale(struct world *w, uint32_t min, uint32_t max, uint32_t kept)
{
	struct core_event e = { .kind = EV_SERVICE_CONTROL, .caller = world_user(OWNER) };

	e.service.verb = SERVICE_SCALE;
	e.service.name = "chat";
	e.service.min = min;
	e.service.max = max;
	e.service.kept = kept;
	world_apply(w, &e);
	assert_int_equal(w->error.code, ERR_NONE);
	world_schedule(w);
}

/* A job that was told to end for another one has ended. */
static bool makes_room(struct world *w, const uint64_t *jobs, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct job *job = jobs_find(w->core->jobs, jobs[i]);

		if (job_info(job)->state != JOB_COMPLETING)
			continue;
		ends(w, job_run(job), 0);
		world_schedule(w);
		return true;
	}
	return false;
}

static void pass(struct world *w, double seconds)
{
	for (; seconds > 0; seconds--) {
		world_pass(w, 1);
		for (uint32_t n = 0; n < 2; n++) {
			struct core_event e = { .kind = EV_HEARTBEAT };

			e.agent.node = n;
			e.agent.session = world_session(w, n);
			world_apply(w, &e);
		}
	}
	world_schedule(w);
}

/* The guarantee was lent: what is taken back, one GPU after the other, is for replicas that are
 * kept. */
static void reclaimed_for_the_kept(void **unused)
{
	struct world *w = world_new(conf);
	uint64_t jobs[4];

	(void)unused;
	world_register_all(w);
	for (unsigned i = 0; i < 4; i++) {
		jobs[i] = lab(w, "normal", "h100:1");
		world_run_starts(w, jobs[i]);
	}
	pass(w, 100);
	assert_true(serve(w, 2, 4, 2));
	pass(w, 3);
	while (makes_room(w, jobs, 4))
		settle(w);
	assert_int_equal(count(w, REPLICA_READY, NULL, NULL), 2);
	assert_int_equal(count(w, REPLICA_READY, "production", NULL), 2);
	world_free(w);
}

/* So many as are kept have the QOS, also where one of them stands on a node that does not answer or
 * in a slot that waits for its back-off. */
static void another_slot_in_its_place(void **unused)
{
	struct world *w = world_new(conf);
	struct replica r;
	uint32_t node;

	(void)unused;
	world_register_all(w);
	assert_true(serve(w, 2, 4, 2));
	settle(w);
	assert_int_equal(count(w, REPLICA_READY, "production", &r), 2);
	node = node_of(r.run);
	world_gone(w, node);
	for (unsigned n = 0; n < 80; n++) {
		struct core_event e = { .kind = EV_HEARTBEAT };

		world_pass(w, 1);
		e.agent.node = !node;
		e.agent.session = world_session(w, !node);
		world_apply(w, &e);
	}
	world_schedule(w);
	assert_true(count(w, REPLICA_CONFIGURING, NULL, NULL) > 0);
	assert_int_equal(count(w, REPLICA_CONFIGURING, "scavenger", NULL), 0);
	world_free(w);
}

/* Of four the two that are kept start first; the others have the burst QOS, whichever slots. */
static void others_at_the_burst_qos(void **unused)
{
	struct world *w = world_new(conf);
	struct replica r;

	(void)unused;
	world_register_all(w);
	assert_true(serve(w, 4, 4, 2));
	settle(w);
	assert_int_equal(count(w, REPLICA_READY, "production", &r), 2);
	assert_int_equal(count(w, REPLICA_READY, "scavenger", NULL), 2);
	/* A kept one fails: what comes in its place is kept. */
	ends(w, r.run, 3);
	pass(w, 12);
	settle(w);
	assert_int_equal(count(w, REPLICA_READY, "production", NULL), 2);
	assert_int_equal(count(w, REPLICA_READY, "scavenger", &r), 2);
	ends(w, r.run, 3);
	pass(w, 12);
	settle(w);
	assert_int_equal(count(w, REPLICA_READY, "scavenger", NULL), 2);
	world_restart(w);
	world_free(w);
}

/* Of those that are kept one loads again. So one with the burst QOS is left alone for jobs that may
 * stop it, until as many as are kept are READY without it. */
static void never_below_kept(void **unused)
{
	struct world *w = world_new(conf);
	struct replica kept;

	(void)unused;
	world_register_all(w);
	world_run_starts(w, lab(w, "production", "h100:1"));
	assert_true(serve(w, 3, 3, 2));
	settle(w);
	assert_int_equal(count(w, REPLICA_READY, "production", &kept), 2);
	ends(w, kept.run, 3);
	pass(w, 12);
	assert_int_equal(count(w, REPLICA_CONFIGURING, "production", &kept), 1);
	says(w, kept.run, HEALTH_LOADING);
	lab(w, "production", "h100:1");
	pass(w, 10);
	assert_int_equal(count(w, REPLICA_READY, "production", NULL), 1);
	assert_int_equal(count(w, REPLICA_READY, "scavenger", NULL), 1);
	says(w, kept.run, HEALTH_READY);
	pass(w, 10);
	assert_int_equal(count(w, REPLICA_READY, "production", NULL), 2);
	assert_int_equal(count(w, REPLICA_DRAINING, "scavenger", NULL), 1);
	world_free(w);
}

/* A replica that loads is kept as well while there are no others. */
static void loading_is_kept(void **unused)
{
	struct world *w = world_new(conf);
	struct replica r;

	(void)unused;
	world_register_all(w);
	assert_true(serve(w, 2, 4, 1));
	settle(w);
	assert_int_equal(count(w, REPLICA_READY, "scavenger", &r), 1);
	ends(w, r.run, 3);
	pass(w, 12);
	assert_int_equal(count(w, REPLICA_CONFIGURING, "scavenger", &r), 1);
	says(w, r.run, HEALTH_LOADING);
	scale(w, 2, 4, 2);
	lab(w, "production", "h100:2");
	lab(w, "production", "h100:1");
	pass(w, 10);
	assert_int_equal(count(w, REPLICA_DRAINING, NULL, NULL), 0);
	assert_int_equal(count(w, REPLICA_LOADING, NULL, NULL), 1);
	world_free(w);
}

/* Also one of which its node has said nothing yet. */
static void configuring_is_kept(void **unused)
{
	struct world *w = world_new(conf);
	struct replica r;

	(void)unused;
	world_register_all(w);
	assert_true(serve(w, 2, 4, 1));
	settle(w);
	assert_int_equal(count(w, REPLICA_READY, "scavenger", &r), 1);
	ends(w, r.run, 3);
	pass(w, 12);
	assert_int_equal(count(w, REPLICA_CONFIGURING, "scavenger", &r), 1);
	scale(w, 2, 4, 2);
	lab(w, "production", "h100:2");
	lab(w, "production", "h100:1");
	pass(w, 10);
	assert_int_equal(count(w, REPLICA_DRAINING, NULL, NULL), 0);
	assert_int_equal(run_info(r.run)->end_wanted, END_NONE);
	world_free(w);
}

/* More is to be kept than the account is guaranteed: what was kept before stays guarded. */
static void the_first_stay_guarded(void **unused)
{
	struct world *w = world_new(conf);
	struct replica r;

	(void)unused;
	world_register_all(w);
	assert_true(serve(w, 2, 4, 1));
	settle(w);
	assert_int_equal(count(w, REPLICA_READY, "scavenger", &r), 1);
	scale(w, 2, 4, 2);
	scale(w, 3, 4, 3);
	settle(w);
	assert_int_equal(count(w, REPLICA_READY, NULL, NULL), 3);
	assert_int_equal(count(w, REPLICA_READY, "scavenger", NULL), 1);
	lab(w, "production", "h100:2");
	pass(w, 10);
	assert_int_equal(run_info(r.run)->end_wanted, END_NONE);
	assert_int_equal(count(w, REPLICA_READY, NULL, NULL), 3);
	world_free(w);
}

/* What is beyond `kept` makes room. */
static void the_others_make_room(void **unused)
{
	struct world *w = world_new(conf);
	uint64_t urgent;

	(void)unused;
	world_register_all(w);
	assert_true(serve(w, 4, 4, 2));
	settle(w);
	urgent = lab(w, "production", "h100:1");
	pass(w, 10);
	settle(w);
	assert_string_equal(world_state(w, urgent), "CONFIGURING");
	assert_int_equal(count(w, REPLICA_READY, "production", NULL), 2);
	assert_int_equal(count(w, REPLICA_READY, "scavenger", NULL), 1);
	world_free(w);
}

/* --- a replica that drains ------------------------------------------------------------------- */

/* One replica, whose drain takes so long, and it is READY. Returns its run. */
static const struct run *drains_for(struct world *w, uint32_t seconds)
{
	struct submit_service s = chat(1, 1, 0);
	struct submit_job job = world_job(w, "h100:1");
	struct replica r;

	s.drain_s = seconds;
	job.service = &s;
	job.array = "0-12";
	job.account = "lab";
	job.qos = "production";
	assert_true(world_submit_job(w, &job, OWNER));
	settle(w);
	assert_int_equal(count(w, REPLICA_READY, "scavenger", &r), 1);
	return r.run;
}

static uint64_t lab_for(
        struct world *w, uint32_t seconds, uint32_t nodes, const char *qos, const char *gpus)
{
	struct submit_job job = world_job(w, gpus);

	job.time_limit_s = seconds;
	job.nodes_min = nodes;
	job.gpus_per_node = true;
	job.account = "lab";
	job.qos = qos;
	return world_submit_job(w, &job, OTHER);
}

/* There is a place between now and a planned start, for a job for which a replica would make room.
 * If the replica drains for longer than that, it is not told to end, and the start stays. */
static void no_room_once_drained(void **unused)
{
	static const uint32_t drain_s[] = { 30, 300 };

	(void)unused;
	for (size_t i = 0; i < 2; i++) {
		struct world *w = world_new(conf);
		uint64_t planned, backfilled;
		const struct run *replica;
		usec_t start;

		world_register_all(w);
		world_run_starts(w, lab_for(w, 400, 1, "normal", "h100:2"));
		replica = drains_for(w, drain_s[i]);
		pass(w, 100);
		planned = lab_for(w, 3600, 2, "first", "h100:1");
		start = world_view(w, planned).planned_start;
		assert_in_range(start - w->now.wall, 290 * 1000000, 320 * 1000000);
		backfilled = lab_for(w, 60, 1, "production", "h100:2");
		pass(w, 10);
		assert_int_equal(run_info(replica)->end_wanted, i ? END_NONE : END_PREEMPT);
		assert_true(i || world_view(w, backfilled).planned_start > 0);
		assert_int_equal(world_view(w, planned).planned_start, start);
		world_free(w);
	}
}

/* The replica is spared, because the other victim is on its node as well: nothing waits for its
 * drain. */
static void not_for_one_that_is_spared(void **unused)
{
	struct world *w = world_new(conf);
	const struct run *replica;
	uint64_t gang, job;

	(void)unused;
	world_register_all(w);
	gang = lab_for(w, 7200, 2, "scavenger", "h100:1");
	world_run_starts(w, gang);
	pass(w, 100);
	replica = drains_for(w, 300);
	world_run_starts(w, lab_for(w, 7200, 1, "normal", "h100:1"));
	job = lab_for(w, 3600, 2, "production", "h100:1");
	pass(w, 5);
	assert_int_equal(run_info(replica)->end_wanted, END_NONE);
	assert_string_equal(world_state(w, gang), "COMPLETING");
	assert_in_range(world_view(w, job).planned_start - w->now.wall, 1, 60 * 1000000);
	world_free(w);
}

/* A service with slots that never ran ends. */
static void stops(void **unused)
{
	struct world *w = world_new(conf);
	struct core_event e = { .kind = EV_SERVICE_CONTROL, .caller = world_user(OWNER) };

	(void)unused;
	world_register_all(w);
	assert_true(serve(w, 4, 4, 2));
	settle(w);
	e.service.verb = SERVICE_STOP;
	e.service.name = "chat";
	world_apply(w, &e);
	settle(w);
	assert_null(service(w));
	world_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reclaimed_for_the_kept),
		cmocka_unit_test(another_slot_in_its_place),
		cmocka_unit_test(others_at_the_burst_qos),
		cmocka_unit_test(never_below_kept),
		cmocka_unit_test(loading_is_kept),
		cmocka_unit_test(configuring_is_kept),
		cmocka_unit_test(the_first_stay_guarded),
		cmocka_unit_test(the_others_make_room),
		cmocka_unit_test(no_room_once_drained),
		cmocka_unit_test(not_for_one_that_is_spared),
		cmocka_unit_test(stops),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
