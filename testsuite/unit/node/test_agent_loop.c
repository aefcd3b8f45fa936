/* test_agent_loop.c - one agent against a real listener: sessions, reconnection, orders
 *
 * The test is the controller (sessions of common/net/session.h, a stand-in munge); agent_loop.c,
 * controller_link.c and the core are the real ones, the launcher is simulated. Everything happens
 * on one event loop; nothing sleeps: until() turns the loop until a condition holds.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <event2/event.h>
#include <cmocka.h>

#include "common/base/arena.h"
#include "common/base/log.h"
#include "common/net/session.h"
#include "noded/net/agent_loop.h"
#include "noded/sim/sim_launcher.h"
#include "testsuite/sim/fake_munge.h"

#define T(name) GPUSCHED__MSG_TYPE__MSG_##name

enum { WAIT_S = 30 };

struct fixture {
	struct event_base *base;
	struct worker_pool *pool;
	struct fake_munge *munge;
	struct mcred_ops *agent_munge, *ctl_munge;
	struct conf_client client;
	/* the agent */
	struct net *net;
	struct node_facts facts;
	struct agent_loop *node;
	struct sim_launcher *launcher;
	/* the controller */
	struct sessions *sessions;
	struct arena *arena;
	uint64_t session; /* open; 0: none */
	unsigned opened, closed, registers, heartbeats;
	unsigned states[5]; /* reports by state */
	uint32_t exit_code;
	char address[SESSION_ADDRESS_LEN]; /* of the replica reported last */
	unsigned loads;
	bool takes_load;
	char node_name[HELLO_NAME_MAX + 1];
	size_t registered_runs;
};

static void turn(struct fixture *f)
{
	const struct timeval tick = { .tv_usec = 5000 };

	event_base_loopexit(f->base, &tick);
	event_base_loop(f->base, 0);
}

#define until(f, condition)                                                          \
	do {                                                                         \
		time_t end_ = time(NULL) + WAIT_S;                                   \
		while (!(condition)) {                                               \
			if (time(NULL) > end_)                                       \
				fail_msg("waited %d s for: %s", WAIT_S, #condition); \
			turn(f);                                                     \
		}                                                                    \
	} while (0)

/* --- the controller -------------------------------------------------------------------------- */

static void ctl_send(struct fixture *f, unsigned type, const ProtobufCMessage *m)
{
	struct session *s = session_find(f->sessions, f->session);

	assert_non_null(s);
	assert_int_equal(session_send(s, type, 0, m, NULL), 0);
}

static void ctl_opened(struct session *s, void *arg)
{
	struct fixture *f = arg;

	f->session = session_number(s);
	f->opened++;
	snprintf(f->node_name, sizeof(f->node_name), "%s", session_peer(s)->node);
}

static void ctl_closed(struct session *s, const struct error *why, void *arg)
{
	struct fixture *f = arg;

	(void)why;
	f->closed++;
	if (session_number(s) == f->session)
		f->session = 0;
}

static void ctl_frame(struct session *s, const struct frame *frame, void *arg)
{
	struct fixture *f = arg;
	struct error err;
	ProtobufCMessage *m = msg_unpack(frame->type, frame->body, frame->len, f->arena, &err);

	(void)s;
	assert_non_null(m);
	if (frame->type == T(REGISTER)) {
		const Gpusched__Register *r = (const Gpusched__Register *)m;

		assert_string_equal(r->node, "n1");
		assert_int_equal(r->cpus, 4);
		assert_true(r->takes_services);
		assert_int_equal(r->service_ports, f->facts.service_ports);
		assert_int_equal(r->tmp_mb, f->facts.tmp_mb);
		f->registered_runs = r->n_runs;
		f->registers++;
	} else if (frame->type == T(RUN_REPORT)) {
		const Gpusched__RunReport *r = (const Gpusched__RunReport *)m;

		f->states[r->state]++;
		f->exit_code = r->exit_code;
		snprintf(f->address, sizeof(f->address), "%s",
		        r->replica ? r->replica->address : "");
	} else if (frame->type == T(RUNS_LOAD)) {
		f->loads++;
	} else {
		assert_int_equal(frame->type, T(HEARTBEAT));
		f->heartbeats++;
	}
}

static const struct session_ops ctl_ops = {
	.opened = ctl_opened, .frame = ctl_frame, .closed = ctl_closed
};

static void ctl_listen(struct fixture *f)
{
	const struct session_config config = {
		.base = f->base, .pool = f->pool, .mcred = f->ctl_munge, .ops = &ctl_ops, .arg = f
	};
	const struct hello_rules rules = {
		.role = "controller", .cluster = "test", .self = geteuid()
	};
	struct error err;

	f->sessions = sessions_new(&config, &err);
	assert_non_null(f->sessions);
	assert_int_equal(
	        sessions_listen(f->sessions, "127.0.0.1", f->client.port, &rules, &err), 0);
	f->client.port = sessions_port(f->sessions);
}

static void ctl_registered(struct fixture *f, uint64_t wanted)
{
	Gpusched__Registered m = GPUSCHED__REGISTERED__INIT;
	Gpusched__RunId id = GPUSCHED__RUN_ID__INIT, *ids[] = { &id };

	id.job = wanted;
	id.attempt = 1;
	m.epoch = 1;
	m.heartbeat_ms = 50;
	m.takes_load = f->takes_load;
	m.wanted = ids;
	m.n_wanted = wanted != 0;
	ctl_send(f, T(REGISTERED), &m.base);
}

static void ctl_start(struct fixture *f, uint64_t job, const char *sim, uint32_t gpu)
{
	Gpusched__StartRun m = GPUSCHED__START_RUN__INIT;
	Gpusched__RunId id = GPUSCHED__RUN_ID__INIT;
	Gpusched__KeyValue label = GPUSCHED__KEY_VALUE__INIT, *labels[] = { &label };

	id.job = job;
	id.attempt = 1;
	label.key = (char *)"sim";
	label.value = (char *)sim;
	m.run = &id;
	m.epoch = 1;
	m.incarnation = (char *)"boot-1";
	m.gpus = &gpu;
	m.n_gpus = 1;
	m.labels = labels;
	m.n_labels = 1;
	ctl_send(f, T(START_RUN), &m.base);
}

static void ctl_forget(struct fixture *f, uint64_t job)
{
	Gpusched__ForgetRun m = GPUSCHED__FORGET_RUN__INIT;
	Gpusched__RunId id = GPUSCHED__RUN_ID__INIT, *ids[] = { &id };

	id.job = job;
	id.attempt = 1;
	m.runs = ids;
	m.n_runs = 1;
	ctl_send(f, T(FORGET_RUN), &m.base);
}

static void ctl_close(struct fixture *f)
{
	session_close(session_find(f->sessions, f->session));
	f->session = 0;
}

/* --- the agent ------------------------------------------------------------------------------- */

static struct clocks now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (struct clocks){ .wall = 1,
		.mono = (usec_t)ts.tv_sec * 1000000 + ts.tv_nsec / 1000 };
}

static void tell(void *arg, const struct agent_effect *effect, unsigned type,
        const ProtobufCMessage *message)
{
	struct fixture *f = arg;

	(void)type;
	(void)message;
	sim_launcher_tell(f->launcher, effect, now());
}

static const struct agent_loop_launcher launcher_ops = { .tell = tell };

static void launcher_speaks(struct fixture *f)
{
	struct agent_event event;

	while (sim_launcher_next(f->launcher, &event, now()))
		agent_loop_event(f->node, &event);
}

static bool registered(const struct fixture *f)
{
	struct agent_stats stats;

	agent_stats(agent_loop_agent(f->node), &stats);
	return stats.registered;
}

static void agent_make(struct fixture *f)
{
	struct agent_loop_config config = {
		.base = f->base, .facts = &f->facts, .launcher = &launcher_ops, .arg = f
	};
	struct error err;

	f->facts = (struct node_facts){ .node = "n1", .version = "1", .cpus = 4, .mem_mb = 64 };
	config.net = f->net = net_new(f->base, f->pool, &f->client, f->agent_munge, &err);
	assert_non_null(f->net);
	f->node = agent_loop_new(&config);
	f->launcher = sim_launcher_new("boot-1", NULL);
}

static int make(void **state)
{
	const struct worker_limits limits = { .threads = 2, .max_queued = 64, .max_per_key = 64 };
	struct fixture *f = calloc(1, sizeof(*f));
	struct passwd *me = getpwuid(geteuid());
	struct error err;

	if (!f || !me || log_open("/dev/null", "debug", "test", &err) < 0)
		return -1;
	f->base = event_base_new();
	f->pool = worker_pool_new(f->base, &limits, &err);
	f->munge = fake_munge_new(1);
	f->agent_munge = fake_munge_client(f->munge, geteuid(), getegid());
	f->ctl_munge = fake_munge_client(f->munge, geteuid(), getegid());
	f->arena = arena_new(MSG_BODY_MAX);
	f->client = (struct conf_client){ .cluster = (char *)"test",
		.host = (char *)"127.0.0.1",
		.controller_user = strdup(me->pw_name),
		.munge_socket = (char *)"" };
	ctl_listen(f);
	agent_make(f);
	*state = f;
	return 0;
}

static int unmake(void **state)
{
	struct fixture *f = *state;

	agent_loop_free(f->node);
	net_free(f->net);
	sim_launcher_free(f->launcher);
	sessions_free(f->sessions);
	worker_pool_free(f->pool);
	mcred_ops_free(f->agent_munge);
	mcred_ops_free(f->ctl_munge);
	fake_munge_free(f->munge);
	arena_free(f->arena);
	event_base_free(f->base);
	free(f->client.controller_user);
	free(f);
	log_close();
	return 0;
}

static void come_up(struct fixture *f)
{
	launcher_speaks(f); /* its hello */
	until(f, f->registers == 1);
	ctl_registered(f, 0);
	until(f, registered(f));
}

/* --- the tests ------------------------------------------------------------------------------- */

static void a_run_from_start_to_forget(void **state)
{
	struct fixture *f = *state;

	come_up(f);
	assert_string_equal(f->node_name, "n1");
	ctl_start(f, 7, "0:3", 0);
	until(f, sim_launcher_records(f->launcher) == 1);
	launcher_speaks(f);
	until(f, f->states[REPORT_ENDED] == 1);
	assert_int_equal(f->states[REPORT_STARTING], 1);
	assert_int_equal(f->states[REPORT_RUNNING], 1);
	assert_int_equal(f->exit_code, 3);
	ctl_forget(f, 7);
	until(f, sim_launcher_records(f->launcher) == 0);
	until(f, f->heartbeats >= 2);
}

/* Its clients find it at the node's end of the connection; load goes to a controller that knows
 * it. */
static void a_replica_has_an_address_and_load(void **state)
{
	struct fixture *f = *state;
	Gpusched__RunReport report = GPUSCHED__RUN_REPORT__INIT;
	Gpusched__RunId id = GPUSCHED__RUN_ID__INIT;
	Gpusched__Replica replica = GPUSCHED__REPLICA__INIT;
	Gpusched__RunsLoad load = GPUSCHED__RUNS_LOAD__INIT;
	unsigned beats;

	f->facts.service_ports = 10;
	f->facts.tmp_mb = 1 << 20;
	come_up(f);
	id.job = id.attempt = 1;
	report.run = &id;
	report.state = GPUSCHED__RUN_REPORT__STATE__RUNNING;
	report.replica = &replica;
	replica.health = GPUSCHED__REPLICA__HEALTH__READY;
	assert_int_equal(
	        agent_loop_launcher_message(f->node, T(LAUNCHER_RUN), &report.base, NULL), 0);
	until(f, f->states[REPORT_RUNNING] == 1);
	assert_string_equal(f->address, "127.0.0.1");
	agent_loop_send_load(f->node, &load.base);
	beats = f->heartbeats;
	until(f, f->heartbeats >= beats + 2);
	assert_int_equal(f->loads, 0);
	ctl_close(f);
	until(f, f->registers == 2);
	agent_loop_send_load(f->node, &load.base); /* not registered yet */
	f->takes_load = true;
	ctl_registered(f, 0);
	until(f, registered(f));
	agent_loop_send_load(f->node, &load.base);
	until(f, f->loads == 1);
}

static void nothing_is_dialled_before_the_launcher_is_up(void **state)
{
	struct fixture *f = *state;

	for (int i = 0; i < 20; i++)
		turn(f);
	assert_int_equal(f->opened, 0);
	come_up(f);
}

static void a_lost_session_comes_back_with_its_runs(void **state)
{
	struct fixture *f = *state;

	come_up(f);
	ctl_start(f, 7, "1000", 0);
	until(f, sim_launcher_records(f->launcher) == 1);
	launcher_speaks(f);
	until(f, f->states[REPORT_RUNNING] == 1);
	ctl_close(f);
	until(f, f->registers == 2);
	assert_int_equal(f->registered_runs, 1);
	ctl_registered(f, 8); /* wanted, and not here */
	until(f, sim_launcher_records(f->launcher) == 2);
	launcher_speaks(f);
	until(f, f->states[REPORT_NEVER] == 1);
}

static void a_controller_that_is_away_is_found_again(void **state)
{
	struct fixture *f = *state;

	come_up(f);
	sessions_free(f->sessions); /* connections are refused from now on */
	f->sessions = NULL;
	f->session = 0;
	until(f, !registered(f));
	for (int i = 0; i < 20; i++)
		turn(f);
	ctl_listen(f); /* the same port */
	until(f, f->registers == 2);
	ctl_registered(f, 0);
	until(f, registered(f));
}

static void nonsense_closes_the_session(void **state)
{
	struct fixture *f = *state;
	Gpusched__Registered late = GPUSCHED__REGISTERED__INIT;

	come_up(f);
	ctl_start(f, 7, "0", 64); /* there is no GPU 64 */
	until(f, f->registers == 2);
	assert_int_equal(sim_launcher_records(f->launcher), 0);
	ctl_send(f, T(REGISTERED), &late.base);
	until(f, registered(f));
}

static void launcher_gone_means_session_gone(void **state)
{
	struct fixture *f = *state;

	come_up(f);
	agent_loop_event(f->node, &(struct agent_event){ .kind = AGENT_LAUNCHER_GONE });
	until(f, f->closed == 1);
	for (int i = 0; i < 20; i++)
		turn(f);
	assert_int_equal(f->opened, 1);
	sim_launcher_restart(f->launcher);
	launcher_speaks(f);
	until(f, f->registers == 2);
}

static void munge_that_is_down_is_tried_again(void **state)
{
	struct fixture *f = *state;

	fake_munge_set_down(f->munge, true);
	launcher_speaks(f);
	for (int i = 0; i < 20; i++)
		turn(f);
	assert_int_equal(f->opened, 0);
	fake_munge_set_down(f->munge, false);
	until(f, f->registers == 1);
}

static void a_controller_of_another_cluster_is_no_controller(void **state)
{
	struct fixture *f = *state;
	const struct hello_rules other = {
		.role = "controller", .cluster = "other", .self = geteuid()
	};

	assert_int_equal(sessions_set_rules(f->sessions, &other, NULL), 0);
	launcher_speaks(f);
	for (int i = 0; i < 20; i++)
		turn(f);
	assert_int_equal(f->opened, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make, unmake)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_run_from_start_to_forget),
		TEST(a_replica_has_an_address_and_load),
		TEST(nothing_is_dialled_before_the_launcher_is_up),
		TEST(a_lost_session_comes_back_with_its_runs),
		TEST(a_controller_that_is_away_is_found_again),
		TEST(nonsense_closes_the_session),
		TEST(launcher_gone_means_session_gone),
		TEST(munge_that_is_down_is_tried_again),
		TEST(a_controller_of_another_cluster_is_no_controller),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
