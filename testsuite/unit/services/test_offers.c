/* test_offers.c - what agents say their nodes have for jobs: a disk for temporary data, replicas,
 * ports; and nodes that a service avoids */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "ctld/core/records/job.h"
#include "ctld/core/records/node.h"
#include "ctld/core/records/run.h"
#include "ctld/core/rows/state.h"
#include "ctld/core/services/services.h"
#include "testsuite/unit/lib/core_world.h"

#define OWNER 1000

static const char conf[] =
        "cluster = \"test\"; controller = { host = \"h\"; node_timeout = \"60s\"; };\n"
        "gpu_types = ( { name = \"h100\"; mem = \"80G\"; } );\n"
        "nodes = ( { name = \"n[0-1]\"; cpus = 8; mem = \"64G\"; gpus = \"h100:4\"; } );\n"
        "partitions = ( { name = \"batch\"; nodes = \"ALL\"; default = true; services = true; } "
        ");\n";

static void up(struct world *w, uint32_t node, struct node_offers offers)
{
	struct core_event e = { .kind = EV_AGENT_UP };

	e.agent_up.node = node;
	e.agent_up.session = w->next_session++;
	e.agent_up.boot_id = "boot";
	e.agent_up.incarnation = "inc1";
	e.agent_up.version = "1";
	e.agent_up.containment = "none";
	e.agent_up.cpus = 8;
	e.agent_up.mem_mb = 65536;
	e.agent_up.no_services = offers.no_services;
	e.agent_up.service_ports = offers.ports;
	e.agent_up.tmp_mb = offers.tmp_mb;
	world_apply(w, &e);
	world_schedule(w);
}

static uint64_t serve(struct world *w, uint32_t replicas, uint32_t ports)
{
	const struct submit_service s = { .name = "chat",
		.burst_qos = "",
		.spec = "",
		.policy = { .min = replicas, .max = replicas, .kept = replicas, .surge = 1 },
		.drain_s = 30,
		.valid_days = 90 };
	struct submit_job job = world_job(w, "h100:1");

	job.service = &s;
	job.replica_of = "chat";
	job.ports = ports;
	job.array = "0-24";
	return world_submit_job(w, &job, OWNER);
}

/* The replicas that are on that node, whatever their state. */
static unsigned on(struct world *w, const char *node, struct replica *found)
{
	struct service *s = services_find(w->core->services, "chat");
	struct replica_walk at = { 0 };
	struct replica r;
	unsigned n = 0;

	while (service_each(s, &at, &r)) {
		if (!r.run || strcmp(run_info(r.run)->node, node) != 0)
			continue;
		n++;
		if (found)
			*found = r;
	}
	return n;
}

static void says(struct world *w, const struct replica *r, enum replica_health health)
{
	struct run_report report = world_report(run_info(r->run)->id, REPORT_RUNNING);

	report.replica.health = health;
	report.replica.ready_time = health == HEALTH_READY ? w->now.wall : 0;
	report.replica.n_ports = 1;
	world_say(w, run_info(r->run)->node[1] - '0', report);
	world_schedule(w);
}

static void ends(struct world *w, const struct replica *r)
{
	struct run_report report = world_report(run_info(r->run)->id, REPORT_ENDED);

	report.cause = END_EXIT;
	report.exit_code = 3;
	world_say(w, run_info(r->run)->node[1] - '0', report);
	world_schedule(w);
}

static void pass(struct world *w, unsigned seconds)
{
	for (; seconds; seconds--) {
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

/* 0: refused. */
static uint64_t with_tmp(struct world *w, uint64_t mb)
{
	struct submit_job job = world_job(w, "h100:1");

	job.tmp_mb = mb;
	return world_submit_job(w, &job, OWNER);
}

static void disks(void **unused)
{
	struct world *w = world_new(conf);
	uint64_t id;

	(void)unused;
	up(w, 0, (struct node_offers){ .tmp_mb = 1024 });
	id = with_tmp(w, 4096); /* the other node may have it */
	assert_string_equal(world_state(w, id), "PENDING");
	up(w, 1, (struct node_offers){ .tmp_mb = 4096 });
	assert_int_equal(world_node_of(w, id), 1);
	assert_int_equal(world_view(w, id).tmp_mb, 4096);
	assert_int_equal(world_node_view(w, 1).tmp_mb, 4096);
	assert_false(with_tmp(w, 4097));
	assert_string_equal(w->error.text,
	        "--tmp=4097M: the largest disk for temporary data in batch has 4096M");
	/* It comes back with less: nothing that asks for more starts there, and what runs stays. */
	up(w, 1, (struct node_offers){ .tmp_mb = 100 });
	assert_int_equal(world_node_of(w, with_tmp(w, 1000)), 0);
	world_free(w);
}

static void old_agents_start_no_replica(void **unused)
{
	struct world *w = world_new(conf);

	(void)unused;
	up(w, 0, (struct node_offers){ .no_services = true });
	up(w, 1, (struct node_offers){ .no_services = false });
	assert_true(serve(w, 2, 0));
	assert_int_equal(on(w, "n0", NULL), 0);
	assert_int_equal(on(w, "n1", NULL), 2);
	world_free(w);
	w = world_new(conf);
	up(w, 0, (struct node_offers){ .no_services = true });
	up(w, 1, (struct node_offers){ .no_services = true });
	assert_false(serve(w, 1, 0));
	assert_string_equal(w->error.text, "--service: no node of batch starts replicas");
	world_free(w);
}

/* What holds the slots that wait. */
static const char *why_of(struct world *w)
{
	static struct job_why why;
	struct service *s = services_find(w->core->services, "chat");
	struct replica_walk at = { 0 };
	struct replica r;
	uint64_t ref = service_info(s)->gens[GEN_PRESENT].job;

	while (service_each(s, &at, &r))
		if (r.state == REPLICA_PENDING)
			ref = job_ref(r.job);
	memset(&why, 0, sizeof(why));
	assert_true(core_job_why(w->core, ref, w->now, &why));
	for (size_t i = 0; i < why.n_blockers; i++)
		if (!strcmp(why.blockers[i].reason, "Resources"))
			return why.blockers[i].text;
	return why.n_blockers ? why.blockers[0].text : "";
}

static void ports_run_out(void **unused)
{
	struct world *w = world_new(conf);
	struct replica r;

	(void)unused;
	up(w, 0, (struct node_offers){ .ports = 3 });
	up(w, 1, (struct node_offers){ .ports = 1 });
	assert_false(serve(w, 1, 4));
	assert_string_equal(w->error.text,
	        "--ports=4: no node of batch has more than 3 for replicas "
	        "(gnoded --service-ports)");
	assert_true(serve(w, 3, 2));
	assert_int_equal(on(w, "n0", &r), 1);
	assert_int_equal(on(w, "n1", NULL), 0);
	assert_string_equal(why_of(w), "needs h100:1 on one node of batch: "
	                               "1 node has too few free ports for replicas");
	/* What it had is given to another slot when it ends. */
	ends(w, &r);
	assert_int_equal(on(w, "n0", &r), 1);
	/* The node comes back with more. */
	up(w, 1, (struct node_offers){ .ports = 2 });
	assert_int_equal(on(w, "n1", NULL), 1);
	world_free(w);
}

/* --- nodes that are avoided ------------------------------------------------------------------ */

/* One replica, which is unready again and again: each time it is ended. */
static const char *fails(struct world *w)
{
	static char node[8];
	struct replica r;

	if (!on(w, "n0", &r))
		assert_int_equal(on(w, "n1", &r), 1);
	strcpy(node, run_info(r.run)->node);
	says(w, &r, HEALTH_READY);
	says(w, &r, HEALTH_UNREADY);
	ends(w, &r);
	pass(w, 400); /* its back-off, at most */
	return node;
}

static void two_up(struct world *w)
{
	up(w, 0, (struct node_offers){ .ports = 8 });
	up(w, 1, (struct node_offers){ .ports = 8 });
}

static void avoided_after_two(void **unused)
{
	struct world *w = world_new(conf);
	char first[8], said[200];

	(void)unused;
	w->audit_kind = "service.avoid";
	two_up(w);
	assert_true(serve(w, 1, 1));
	strcpy(first, fails(w));
	world_seal(w);
	assert_string_equal(w->audit_text, "");
	assert_string_equal(fails(w), first);
	snprintf(said, sizeof(said),
	        "chat prefers other nodes to %s for 60 min: replicas there failed or were unready 2 "
	        "times in a row",
	        first);
	world_seal(w);
	assert_string_equal(w->audit_text, said);
	assert_string_not_equal(fails(w), first);
	assert_string_not_equal(fails(w), first);
	/* Now it is avoided as well, and neither is: the service has to run. */
	fails(w);
	assert_int_equal(on(w, "n0", NULL) + on(w, "n1", NULL), 1);
	world_free(w);
}

static void not_forever(void **unused)
{
	struct world *w = world_new(conf);
	struct replica r;
	char first[8];

	(void)unused;
	two_up(w);
	assert_true(serve(w, 1, 1));
	strcpy(first, fails(w));
	fails(w);
	up(w, *first == 'n' && first[1] == '0', (struct node_offers){ .no_services = true });
	/* Only the node that is avoided is left. */
	assert_true(on(w, "n0", &r) + on(w, "n1", &r));
	ends(w, &r);
	pass(w, 400);
	assert_int_equal(on(w, first, &r), 1);
	world_free(w);
}

static void an_hour(void **unused)
{
	struct world *w = world_new(conf);
	struct replica r;
	char first[8];

	(void)unused;
	two_up(w);
	assert_true(serve(w, 1, 1));
	strcpy(first, fails(w));
	fails(w);
	assert_int_equal(on(w, first, NULL), 0);
	assert_int_equal(on(w, "n0", &r) + on(w, "n1", &r), 1);
	pass(w, SERVICE_AVOID_S);
	assert_false(request_avoids(job_info(r.job)->gpus, 0) ||
	             request_avoids(job_info(r.job)->gpus, 1));
	world_free(w);
}

/* A restart of the controller does not make it forget which nodes a service avoids, nor for how long. */
static void known_after_a_restart(void **unused)
{
	struct world *w = world_new(conf);
	const struct service_link *l;
	char first[8];

	(void)unused;
	two_up(w);
	assert_true(serve(w, 1, 1));
	strcpy(first, fails(w));
	world_restart(w);
	two_up(w);
	assert_string_equal(fails(w), first);
	assert_int_equal(on(w, first, NULL), 0);
	world_clear(w);
	world_restart(w);
	two_up(w);
	l = service_link_of(services_find(w->core->services, "chat"));
	assert_int_equal(l->n_avoids, 1);
	assert_true(service_avoids(&l->avoids[0]));
	assert_string_not_equal(fails(w), first);
	assert_int_equal(on(w, first, NULL), 0);
	pass(w, SERVICE_AVOID_S);
	for (uint32_t i = 0; i < l->n_avoids; i++)
		assert_string_not_equal(l->avoids[i].node, first);
	world_restart(w);
	world_free(w);
}

static void as_a_text(void **unused)
{
	static const char *const bad[] = { "n0", "n0;", "n0 1", "n0 1 2", "n0 1 2 0", " 1 2 0;",
		"n0 1 2 0;n1", "n0 -1 2 0;", "n0 4294967296 2 0;", "n0 1 2 0 ;" };
	static const char good[] = "n0 1 2000000 0;n1 7 3000000 1;";
	struct service_link l = { .n_avoids = 0 };
	struct error err;
	char *text;

	(void)unused;
	assert_int_equal(service_read_avoids(&l, good, &err), 0);
	text = service_avoids_text(&l);
	assert_string_equal(text, good);
	free(text);
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		assert_int_equal(service_read_avoids(&l, bad[i], &err), -1);
	while (l.n_avoids)
		free(l.avoids[--l.n_avoids].node);
}

/* A clock that is set back by a day does not make an hour a day. */
static void clock_set_back(void **unused)
{
	struct world *w = world_new(conf);
	char first[8];

	(void)unused;
	two_up(w);
	assert_true(serve(w, 1, 1));
	strcpy(first, fails(w));
	fails(w);
	assert_int_equal(service_link_of(services_find(w->core->services, "chat"))->n_avoids, 1);
	w->now.wall -= (usec_t)86400 * 1000000;
	pass(w, 60);
	/* It is avoided for an hour from then, and no longer. */
	for (int hours = 0; hours < 2; hours++) {
		struct service *s = services_find(w->core->services, "chat");

		service_expire_avoids(w->core->services, s,
		        w->now.wall + (usec_t)hours * 3601 * 1000000);
		assert_int_equal(service_link_of(s)->n_avoids, hours ? 0 : 1);
	}
	world_free(w);
}

/* Of more nodes than SERVICE_AVOIDS_MAX the first are forgotten. */
static void many_nodes(void **unused)
{
	struct world *w = world_new(conf);
	struct service *s;
	const struct service_link *l;
	char name[16];

	(void)unused;
	two_up(w);
	assert_true(serve(w, 1, 1));
	s = services_find(w->core->services, "chat");
	l = service_link_of(s);
	for (int i = 0; i < SERVICE_AVOIDS_MAX + 3; i++) {
		snprintf(name, sizeof(name), "m%d", i);
		service_note_unready(w->core->services, s, name, 0, w->now);
		service_note_unready(w->core->services, s, i ? "m1" : name, 0, w->now);
	}
	assert_int_equal(l->n_avoids, SERVICE_AVOIDS_MAX);
	assert_string_equal(l->avoids[SERVICE_AVOIDS_MAX - 1].node, "m1");
	assert_int_equal(l->avoids[SERVICE_AVOIDS_MAX - 1].times, SERVICE_AVOIDS_MAX + 3);
	assert_string_equal(l->avoids[0].node, "m4");
	assert_false(service_avoids(&l->avoids[0]));
	world_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(disks),
		cmocka_unit_test(old_agents_start_no_replica),
		cmocka_unit_test(ports_run_out),
		cmocka_unit_test(avoided_after_two),
		cmocka_unit_test(not_forever),
		cmocka_unit_test(an_hour),
		cmocka_unit_test(known_after_a_restart),
		cmocka_unit_test(as_a_text),
		cmocka_unit_test(clock_set_back),
		cmocka_unit_test(many_nodes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
