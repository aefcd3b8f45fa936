/* test_services.c - services in the core: replicas that stay up, updates, the end */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "ctld/core/records/job.h"
#include "ctld/core/records/run.h"
#include "ctld/core/rows/state.h"
#include "ctld/core/services/services.h"
#include "ctld/wire/convert.h"
#include "testsuite/unit/lib/core_world.h"

#define OWNER 1000

static const char conf[] =
        "cluster = \"test\"; controller = { host = \"h\"; node_timeout = \"60s\"; };\n"
        "gpu_types = ( { name = \"h100\"; mem = \"80G\"; } );\n"
        "nodes = ( { name = \"n[0-1]\"; cpus = 8; mem = \"64G\"; gpus = \"h100:4\"; } );\n"
        "partitions = ( { name = \"batch\"; nodes = \"ALL\"; default = true; services = true; },\n"
        "  { name = \"jobs\"; nodes = \"ALL\"; } );\n";

static struct submit_service chat(uint32_t min, uint32_t max)
{
	return (struct submit_service){ .name = "chat",
		.burst_qos = "",
		.spec = "",
		.policy = { .min = min, .max = max, .kept = min, .surge = 1, .settle_s = 10 },
		.drain_s = 30,
		.valid_days = 90 };
}

static uint64_t submit(struct world *w, const struct submit_service *s)
{
	struct submit_job job = world_job(w, "h100:1");

	job.service = s;
	job.array = "0-24";
	return world_submit_job(w, &job, OWNER);
}

static struct service *service(struct world *w)
{
	return services_find(w->core->services, "chat");
}

/* A replica's node says: it runs, and its health. */
static void says(struct world *w, const struct replica *r, enum replica_health health)
{
	struct run_report report = world_report(run_info(r->run)->id, REPORT_RUNNING);

	report.replica.health = health;
	report.replica.ready_time = health == HEALTH_READY ? w->now.wall : 0;
	report.replica.ports[0] = 20000 + r->slot;
	report.replica.n_ports = 1;
	world_say(w, run_info(r->run)->node[1] - '0', report);
	world_schedule(w);
}

static void ends(struct world *w, const struct replica *r, uint32_t code)
{
	struct run_report report = world_report(run_info(r->run)->id, REPORT_ENDED);

	report.cause = run_info(r->run)->end_wanted ? run_info(r->run)->end_wanted : END_EXIT;
	report.exit_code = code;
	world_say(w, run_info(r->run)->node[1] - '0', report);
	world_schedule(w);
}

/* How many replicas of this generation are in the state; the last of them in *found. */
static unsigned count(struct world *w, enum generation_role role, enum replica_state state,
        struct replica *found)
{
	struct replica_walk at = { 0 };
	struct replica r;
	unsigned n = 0;

	while (service_each(service(w), &at, &r)) {
		if (r.role != role || r.state != state)
			continue;
		n++;
		if (found)
			*found = r;
	}
	return n;
}

/* All replicas that were ordered come up. */
static void all_ready(struct world *w)
{
	struct replica r;

	for (int g = 0; g < GEN_COUNT; g++)
		while (count(w, (enum generation_role)g, REPLICA_CONFIGURING, &r) ||
		        count(w, (enum generation_role)g, REPLICA_LOADING, &r))
			says(w, &r, HEALTH_READY);
}

static struct error ask(struct world *w, enum service_verb verb, uint32_t min, uint32_t max)
{
	struct core_event e = { .kind = EV_SERVICE_CONTROL, .caller = world_user(OWNER) };

	e.service.verb = verb;
	e.service.name = "chat";
	e.service.min = min;
	e.service.max = max;
	e.service.kept = UINT32_MAX;
	world_apply(w, &e);
	world_schedule(w);
	return w->error;
}

static const char *state(struct world *w)
{
	static char text[400];

	return service_state_name(service_state(w->core, service(w), text, sizeof(text)));
}

static struct world *serving(uint32_t min, uint32_t max)
{
	struct world *w = world_new(conf);
	struct submit_service s = chat(min, max);

	world_register_all(w);
	assert_true(submit(w, &s));
	all_ready(w);
	assert_int_equal(count(w, GEN_PRESENT, REPLICA_READY, NULL), min);
	assert_string_equal(state(w), "SERVING");
	return w;
}

static void as_many_as_wanted(void **unused)
{
	struct world *w = serving(2, 8);

	(void)unused;
	assert_int_equal(ask(w, SERVICE_SCALE, 4, 8).code, ERR_NONE);
	assert_string_equal(state(w), "DEGRADED");
	all_ready(w);
	assert_int_equal(count(w, GEN_PRESENT, REPLICA_READY, NULL), 4);
	world_restart(w);
	world_register_all(w);
	assert_int_equal(service_info(service(w))->wanted, 4);
	world_free(w);
}

static void fewer_drain(void **unused)
{
	struct world *w = serving(3, 8);
	struct replica r;

	(void)unused;
	ask(w, SERVICE_SCALE, 1, 1);
	assert_int_equal(count(w, GEN_PRESENT, REPLICA_READY, NULL), 1);
	assert_int_equal(count(w, GEN_PRESENT, REPLICA_DRAINING, &r), 2);
	assert_false(r.serves);
	assert_int_equal(run_info(r.run)->end_wanted, END_SCALE);
	while (count(w, GEN_PRESENT, REPLICA_DRAINING, &r))
		ends(w, &r, 0);
	assert_string_equal(state(w), "SERVING");
	assert_int_equal(count(w, GEN_PRESENT, REPLICA_CONFIGURING, NULL), 0);
	world_free(w);
}

/* Time passes, and the nodes are heard. */
static void pass(struct world *w, double seconds)
{
	for (; seconds > 0; seconds -= 10) {
		world_pass(w, seconds < 10 ? seconds : 10);
		for (uint32_t n = 0; n < 2; n++) {
			struct core_event e = { .kind = EV_HEARTBEAT };

			e.agent.node = n;
			e.agent.session = world_session(w, n);
			world_apply(w, &e);
		}
	}
	world_schedule(w);
}

/* A replica that ends by itself is started again after a delay, whatever its exit code. */
static void failures_back_off(void **unused)
{
	struct world *w = serving(1, 2);
	struct replica r;

	(void)unused;
	for (unsigned n = 0, delay = 10; n < 4; n++, delay *= 2) {
		assert_int_equal(count(w, GEN_PRESENT, REPLICA_READY, &r) +
		                         count(w, GEN_PRESENT, REPLICA_CONFIGURING, &r),
		        1);
		ends(w, &r, 3);
		assert_string_equal(state(w), "FAILING");
		pass(w, delay - 1);
		assert_int_equal(count(w, GEN_PRESENT, REPLICA_CONFIGURING, NULL), 0);
		pass(w, 2);
		assert_int_equal(count(w, GEN_PRESENT, REPLICA_CONFIGURING, NULL), 1);
	}
	world_free(w);
}

static void update_takes_over(void **unused)
{
	struct world *w = serving(2, 4);
	struct submit_service next = chat(2, 4);
	struct replica r;

	(void)unused;
	next.update = true;
	assert_true(submit(w, &next));
	assert_string_equal(state(w), "ROLLING");
	for (unsigned n = 0; n < 2; n++) {
		assert_int_equal(count(w, GEN_PRESENT, REPLICA_READY, NULL), 2 - n);
		assert_int_equal(count(w, GEN_NEXT, REPLICA_CONFIGURING, NULL), 1);
		all_ready(w);
		assert_int_equal(count(w, GEN_PRESENT, REPLICA_DRAINING, NULL), 0);
		pass(w, 11);
		for (int g = 0; g < GEN_COUNT; g++)
			while (count(w, (enum generation_role)g, REPLICA_DRAINING, &r))
				ends(w, &r, 0);
	}
	assert_string_equal(state(w), "SERVING");
	assert_int_equal(service_info(service(w))->gens[GEN_PRESENT].number, 2);
	assert_int_equal(count(w, GEN_PRESENT, REPLICA_READY, NULL), 2);
	assert_int_equal(count(w, GEN_UNDO, REPLICA_READY, NULL), 0);
	/* And back, without another signature. */
	assert_int_equal(ask(w, SERVICE_UNDO, 0, 0).code, ERR_NONE);
	assert_string_equal(state(w), "ROLLING");
	assert_int_equal(count(w, GEN_NEXT, REPLICA_CONFIGURING, NULL), 1);
	world_restart(w);
	world_register_all(w);
	assert_int_equal(service_info(service(w))->gens[GEN_NEXT].number, 1);
	world_free(w);
}

/* What an undo gives up counts until it has ended: nothing starts beside it beyond the surge. */
static void undone_update_counts(void **unused)
{
	struct world *w = serving(2, 4);
	struct submit_service next = chat(2, 4);
	struct replica r;

	(void)unused;
	next.update = true;
	assert_true(submit(w, &next));
	all_ready(w);
	pass(w, 11);
	assert_int_equal(count(w, GEN_NEXT, REPLICA_READY, NULL), 1);
	assert_int_equal(count(w, GEN_PRESENT, REPLICA_DRAINING, &r), 1);
	ask(w, SERVICE_UNDO, 0, 0);
	assert_int_equal(count(w, GEN_LEAVING, REPLICA_DRAINING, NULL), 1);
	assert_int_equal(count(w, GEN_PRESENT, REPLICA_READY, NULL), 1);
	assert_int_equal(count(w, GEN_PRESENT, REPLICA_CONFIGURING, NULL), 0);
	world_restart(w);
	world_register_all(w);
	assert_int_equal(count(w, GEN_LEAVING, REPLICA_DRAINING, NULL), 1);
	while (service_info(service(w))->gens[GEN_LEAVING].job && count(w, GEN_LEAVING, REPLICA_DRAINING, &r))
		ends(w, &r, 0);
	assert_int_equal(service_info(service(w))->gens[GEN_LEAVING].job, 0);
	world_free(w);
}

static void bad_update_stops(void **unused)
{
	struct world *w = serving(2, 4);
	struct submit_service next = chat(2, 4);
	struct replica r;

	(void)unused;
	next.update = true;
	assert_true(submit(w, &next));
	for (unsigned n = 0; n < 3; n++) {
		assert_int_equal(count(w, GEN_NEXT, REPLICA_CONFIGURING, &r), 1);
		ends(w, &r, 1);
		assert_int_equal(count(w, GEN_PRESENT, REPLICA_READY, NULL), 2);
		pass(w, (10 << n) + 1);
	}
	assert_string_equal(state(w), "SERVING");
	assert_non_null(strstr(service_info(service(w))->trouble, "was given up"));
	assert_int_equal(service_info(service(w))->gens[GEN_NEXT].job, 0);
	assert_int_equal(count(w, GEN_PRESENT, REPLICA_READY, NULL), 2);
	world_free(w);
}

static void stops(void **unused)
{
	struct world *w = serving(2, 4);
	struct replica r;

	(void)unused;
	assert_int_equal(ask(w, SERVICE_STOP, 0, 0).code, ERR_NONE);
	assert_string_equal(state(w), "STOPPED");
	assert_int_equal(count(w, GEN_PRESENT, REPLICA_DRAINING, NULL), 2);
	while (service(w) && count(w, GEN_PRESENT, REPLICA_DRAINING, &r))
		ends(w, &r, 0);
	assert_null(service(w));
	world_seal(w);
	world_free(w);
}

static void pauses(void **unused)
{
	struct world *w = serving(2, 4);
	struct replica r;

	(void)unused;
	ask(w, SERVICE_PAUSE, 0, 0);
	while (count(w, GEN_PRESENT, REPLICA_DRAINING, &r))
		ends(w, &r, 0);
	assert_string_equal(state(w), "PAUSED");
	ask(w, SERVICE_RESUME, 0, 0);
	all_ready(w);
	assert_string_equal(state(w), "SERVING");
	world_free(w);
}

/* A replica whose node does not answer stays booked, and another one starts. */
static void spare_for_a_lost_node(void **unused)
{
	struct world *w = serving(2, 4);
	struct replica r;
	uint32_t node;

	(void)unused;
	count(w, GEN_PRESENT, REPLICA_READY, &r);
	node = (uint32_t)(run_info(r.run)->node[1] - '0');
	world_gone(w, node);
	for (unsigned n = 0; n < 8; n++) {
		struct core_event e = { .kind = EV_HEARTBEAT };

		world_pass(w, 10);
		e.agent.node = !node;
		e.agent.session = world_session(w, !node);
		world_apply(w, &e);
	}
	world_schedule(w);
	count(w, GEN_PRESENT, REPLICA_CONFIGURING, &r);
	assert_true(run_info(r.run)->node[1] - '0' != (int)node);
	all_ready(w);
	world_free(w);
}

static void refused(void **unused)
{
	struct world *w = serving(2, 4);
	struct submit_service s = chat(2, 4);
	struct submit_job job;
	struct core_event e = { .kind = EV_SERVICE_CONTROL, .caller = world_user(OWNER + 1) };

	(void)unused;
	assert_false(submit(w, &s));
	assert_int_equal(w->error.code, ERR_JOB_STATE);
	s = chat(3, 2);
	s.name = "other";
	assert_false(submit(w, &s));
	assert_non_null(strstr(w->error.text, "MIN is above MAX"));
	s = chat(1, 2);
	s.name = "No";
	assert_false(submit(w, &s));
	s.name = "other";
	job = world_job(w, "h100:1");
	job.service = &s;
	job.array = "0-24";
	job.partition = "jobs";
	assert_false(world_submit_job(w, &job, OWNER));
	assert_non_null(strstr(w->error.text, "takes no services"));
	s.update = true;
	assert_false(submit(w, &s));
	assert_int_equal(w->error.code, ERR_NO_SERVICE);
	assert_int_equal(ask(w, SERVICE_SCALE, 2, 100).code, ERR_JOB_SPEC);
	assert_int_equal(ask(w, SERVICE_UNDO, 0, 0).code, ERR_JOB_STATE);
	e.service.verb = SERVICE_STOP;
	e.service.name = "chat";
	world_apply(w, &e);
	assert_int_equal(w->error.code, ERR_NOT_PERMITTED);
	s = chat(2, 4);
	s.update = true;
	assert_true(submit(w, &s));
	assert_false(submit(w, &s));
	assert_int_equal(w->error.code, ERR_JOB_STATE);
	world_free(w);
}

/* Jobs of a service that are cancelled as jobs, and asked for again. */
static void as_jobs(void **unused)
{
	struct world *w = serving(1, 2);
	struct submit_service next = chat(1, 2);
	uint64_t second;
	struct replica r;

	(void)unused;
	next.update = true;
	second = submit(w, &next);
	assert_int_equal(world_control(w, world_user(OWNER), JOB_CANCEL, second), 1);
	while (count(w, GEN_NEXT, REPLICA_DRAINING, &r))
		ends(w, &r, 0);
	assert_string_equal(state(w), "SERVING");
	assert_int_equal(service_info(service(w))->gens[GEN_NEXT].job, 0);
	world_pass(w, 100000); /* its record goes */
	world_seal(w);
	world_free(w);
}

static void beyond_the_limits(void **unused)
{
	struct world *w = serving(1, 2);
	struct submit_service s = chat(1, SERVICE_REPLICAS_MAX + 1);
	char name[SERVICE_NAME_MAX + 2] = { 0 }, path[SERVICE_SPEC_MAX + 1] = { 0 };
	Gpusched__ServiceSpec spec = GPUSCHED__SERVICE_SPEC__INIT;
	Gpusched__ServiceRequest request = GPUSCHED__SERVICE_REQUEST__INIT;
	const struct submit_service *out;
	struct error err;
	struct arena *arena = arena_new(1 << 20);

	(void)unused;
	s.name = "other";
	assert_false(submit(w, &s));
	assert_non_null(strstr(w->error.text, "1 to 1000"));
	memset(name, 'a', SERVICE_NAME_MAX + 1);
	s = chat(1, 2);
	s.name = name;
	assert_false(submit(w, &s));
	name[SERVICE_NAME_MAX] = '\0';
	assert_true(submit(w, &s));
	memset(path, '/', SERVICE_SPEC_MAX);
	spec.metrics_path = path;
	assert_int_equal(wire_submit_service(&spec, &request, arena, &out, &err), -1);
	assert_int_equal(err.code, ERR_JOB_SPEC);
	arena_free(arena);
	world_free(w);
}

/* The last replica's node tells its load, with so many tokens until now. */
static void tells(struct world *w, uint64_t tokens)
{
	struct core_event e = { .kind = EV_RUNS_LOAD };
	struct run_load load = { .known = true, .tokens = tokens };
	struct replica r;

	assert_int_equal(count(w, GEN_PRESENT, REPLICA_READY, &r), 1);
	load.run = run_info(r.run)->id;
	e.load.node = (uint32_t)(run_info(r.run)->node[1] - '0');
	e.load.session = world_session(w, e.load.node);
	e.load.runs = &load;
	e.load.n = 1;
	world_apply(w, &e);
	world_schedule(w);
}

/* A server that does not count requests and whose requests are never seen in flight: its tokens say
 * that it is asked, and only without more of them does it end. */
static void tokens_keep_it_awake(void **unused)
{
	struct world *w = world_new(conf);
	struct submit_service s = chat(0, 1);

	(void)unused;
	s.policy.target_milli = 1000;
	s.policy.to_zero_s = 60;
	s.policy.scale_down_s = 10;
	world_register_all(w);
	assert_true(submit(w, &s));
	ask(w, SERVICE_WAKE, UINT32_MAX, UINT32_MAX);
	all_ready(w);
	for (uint64_t i = 1; i <= 20; i++) {
		world_pass(w, 10);
		tells(w, 5 * i);
		assert_int_equal(service_info(service(w))->wanted, 1);
	}
	for (int i = 0; i < 7; i++) {
		world_pass(w, 10);
		if (service_info(service(w))->wanted)
			tells(w, 100);
	}
	assert_int_equal(service_info(service(w))->wanted, 0);
	world_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(as_many_as_wanted),
		cmocka_unit_test(fewer_drain),
		cmocka_unit_test(failures_back_off),
		cmocka_unit_test(update_takes_over),
		cmocka_unit_test(undone_update_counts),
		cmocka_unit_test(bad_update_stops),
		cmocka_unit_test(stops),
		cmocka_unit_test(pauses),
		cmocka_unit_test(spare_for_a_lost_node),
		cmocka_unit_test(refused),
		cmocka_unit_test(as_jobs),
		cmocka_unit_test(beyond_the_limits),
		cmocka_unit_test(tokens_keep_it_awake),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
