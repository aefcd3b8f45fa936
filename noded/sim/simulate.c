/* simulate.c - see simulate.h */
#include "noded/sim/simulate.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <time.h>

#include <event2/event.h>

#include "common/base/clock.h"
#include "common/base/daemon.h"
#include "common/base/each.h"
#include "common/base/log.h"
#include "common/base/xalloc.h"
#include "common/net/event_end.h"
#include "common/net/munge.h"
#include "common/net/worker.h"
#include "noded/net/agent_loop.h"
#include "noded/sim/sim_launcher.h"
#include "noded/sim/sim_samples.h"

#define SPARE_FILES 64 /* descriptors that are no session */

/* So often are the GPUs of a node sampled: of a thousand nodes, and of more. */
#define FEW_NODES     1000
#define FEW_PERIOD_S  10
#define MANY_PERIOD_S 60

enum { N_SIGNALS = 2 };

#define LOADS_MS    10 /* one of LOADS_PARTS of the nodes tells loads each */
#define LOADS_PARTS 100
#define LOADS_MAX   256 /* of one node */
#define LOAD_PERIOD 60  /* seconds in which a load rises and falls */

struct sim_node {
	struct node_facts facts;
	struct agent_loop *node;
	struct sim_launcher *launcher;
	struct sim_gpu_samples gpus;
	struct event *timer; /* the launcher has a message */
};

struct simulation {
	const struct simulate_options *options;
	struct event_base *base;
	struct worker_pool *pool;
	struct mcred_ops *mcred;
	struct net *net;
	struct sim_node *nodes;
	struct event *signals[N_SIGNALS];
	struct event *loads;
	size_t part;         /* of the nodes, whose turn it is */
	struct event *count; /* once a second: how many are registered */
	size_t registered;
	char trouble[512]; /* last logged; "" none */
	uint64_t seconds;  /* since the start */
};

static struct clocks clocks_now(void)
{
	return (struct clocks){ .wall = clock_us(CLOCK_REALTIME),
		.mono = clock_us(CLOCK_MONOTONIC) };
}

/* --- one node -------------------------------------------------------------------------------- */

static void send_effect(void *arg, const struct agent_effect *effect, unsigned type,
        const ProtobufCMessage *message)
{
	struct sim_node *sim = arg;

	(void)type;
	(void)message;
	sim_launcher_tell(sim->launcher, effect, clocks_now());
	event_active(sim->timer, 0, 0);
}

static void take_registered(void *arg, const Gpusched__Registered *message)
{
	sim_gpu_samples_configure(&((struct sim_node *)arg)->gpus, message);
}

static const struct agent_loop_launcher launcher = { .tell = send_effect,
	.registered = take_registered };

static void send_samples(struct sim_node *sim)
{
	Gpusched__RunsUsed m = GPUSCHED__RUNS_USED__INIT;
	Gpusched__GpuSample samples[SIM_NODE_GPUS_MAX], *list[SIM_NODE_GPUS_MAX];

	m.n_gpus = sim_gpu_samples_take(&sim->gpus, sim->launcher, clocks_now(), samples);
	m.gpus = list;
	for (size_t i = 0; i < m.n_gpus; i++)
		list[i] = &samples[i];
	if (m.n_gpus)
		agent_loop_send_used(sim->node, &m.base);
}

static void on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct sim_node *sim = arg;
	struct clocks now = clocks_now();
	struct agent_event event;
	struct timeval tv;
	usec_t at;

	(void)fd;
	(void)what;
	while (sim_launcher_next(sim->launcher, &event, now))
		agent_loop_event(sim->node, &event);
	at = sim_launcher_next_timer(sim->launcher);
	if (at == INT64_MAX)
		return;
	at = at > now.mono ? at - now.mono : 0;
	tv = (struct timeval){ .tv_sec = at / 1000000, .tv_usec = at % 1000000 };
	evtimer_add(sim->timer, &tv);
}

static void make_node(struct simulation *s, struct sim_node *sim, const char *name, uint64_t start)
{
	struct agent_loop_config config = { .base = s->base,
		.net = s->net,
		.facts = &sim->facts,
		.launcher = &launcher,
		.arg = sim,
		.quiet = true };
	char *incarnation = xasprintf("simulated-%016" PRIx64 "-%s", start, name);

	sim->facts = s->options->facts;
	sim->facts.node = name;
	sim->launcher = sim_launcher_new(incarnation, NULL);
	sim->node = agent_loop_new(&config);
	sim->timer = evtimer_new(s->base, on_timer, sim);
	if (!sim->timer)
		abort();
	event_active(sim->timer, 0, 0); /* its hello */
	free(incarnation);
}

/* --- all of them ----------------------------------------------------------------------------- */

static void on_signal(evutil_socket_t sig, short what, void *arg)
{
	struct simulation *s = arg;

	(void)what;
	log_info("ending: %s", strsignal(sig));
	daemon_notify("STOPPING=1");
	event_base_loopbreak(s->base);
}

/* The reason why nodes are not registered is logged once, for one of them. */
static void log_trouble(struct simulation *s, const struct sim_node *sim)
{
	const char *trouble = agent_loop_trouble(sim->node);

	if (!*trouble || strcmp(trouble, s->trouble) == 0)
		return;
	log_warning("node %s: %s", sim->facts.node, trouble);
	snprintf(s->trouble, sizeof(s->trouble), "%s", trouble);
}

/* A part of the nodes each second, so that each has its turn once in a period. */
static void sample_some(struct simulation *s)
{
	size_t period = s->options->n <= FEW_NODES ? FEW_PERIOD_S : MANY_PERIOD_S;

	for (size_t i = s->seconds++ % period; i < s->options->n; i += period)
		send_samples(&s->nodes[i]);
}

static void on_count(evutil_socket_t fd, short what, void *arg)
{
	struct simulation *s = arg;
	const struct sim_node *out = NULL;
	size_t n = 0;

	(void)fd;
	(void)what;
	for (size_t i = 0; i < s->options->n; i++) {
		struct agent_stats stats;

		agent_stats(agent_loop_agent(s->nodes[i].node), &stats);
		n += stats.registered;
		if (!stats.registered && !out)
			out = &s->nodes[i];
	}
	if (n != s->registered)
		log_info("%zu of %zu nodes are registered", n, s->options->n);
	s->registered = n;
	sample_some(s);
	if (out)
		log_trouble(s, out);
	else
		s->trouble[0] = '\0';
}

/* A load that rises and falls, at another time for each replica. */
static double load_of(const struct run_report *r, usec_t mono)
{
	int64_t at = (mono / 1000000 + (int64_t)(r->run.job * 7 + r->run.task * 13)) % LOAD_PERIOD;

	return (double)(at < LOAD_PERIOD / 2 ? at : LOAD_PERIOD - at);
}

static void tell_loads(struct sim_node *sim, struct clocks now)
{
	Gpusched__RunLoad loads[LOADS_MAX], *list[LOADS_MAX];
	Gpusched__RunsLoad m = GPUSCHED__RUNS_LOAD__INIT;
	Gpusched__RunId ids[LOADS_MAX];
	const struct run_report *r;
	const void *at = NULL;

	while (m.n_runs < LOADS_MAX && (r = sim_launcher_each(sim->launcher, &at))) {
		size_t i = m.n_runs;

		if (r->replica.health != HEALTH_READY || r->state != REPORT_RUNNING)
			continue;
		gpusched__run_id__init(&ids[i]);
		COPY_FIELDS(&ids[i], &r->run, job, task, attempt, rank);
		gpusched__run_load__init(&loads[i]);
		loads[i].run = &ids[i];
		loads[i].known = true;
		loads[i].running = load_of(r, now.mono);
		loads[i].time = now.wall;
		list[i] = &loads[i];
		m.n_runs++;
	}
	m.runs = list;
	if (m.n_runs)
		agent_loop_send_load(sim->node, &m.base);
}

/* Each node once a second, and not all of them at once. */
static void on_loads(evutil_socket_t fd, short what, void *arg)
{
	struct simulation *s = arg;
	struct clocks now = clocks_now();

	(void)fd;
	(void)what;
	s->part = (s->part + 1) % LOADS_PARTS;
	for (size_t i = s->part; i < s->options->n; i += LOADS_PARTS)
		tell_loads(&s->nodes[i], now);
}

static int allow_files(size_t n, struct error *err)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return error_set(err, ERR_SYSTEM, "getrlimit");
	if (limit.rlim_cur < n && limit.rlim_max >= n) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
	if (limit.rlim_cur < n) {
		error_set(err, ERR_SYSTEM, "%zu nodes need %zu open files, the limit is %llu",
		        n - SPARE_FILES, n, (unsigned long long)limit.rlim_max);
		return error_hint(err, "ulimit -Hn, or several processes");
	}
	return 0;
}

static void catch_signals(struct simulation *s)
{
	static const int sigs[N_SIGNALS] = { SIGTERM, SIGINT };

	for (int i = 0; i < N_SIGNALS; i++) {
		s->signals[i] = evsignal_new(s->base, sigs[i], on_signal, s);
		if (!s->signals[i] || evsignal_add(s->signals[i], NULL) < 0)
			abort();
	}
	signal(SIGPIPE, SIG_IGN);
}

static int make(struct simulation *s, struct error *err)
{
	const struct worker_limits limits = {
		.threads = 4, .max_queued = 4096, .max_per_key = 4096
	};
	const struct timeval second = { .tv_sec = 1 }, often = { .tv_usec = LOADS_MS * 1000 };
	uint64_t start = 0;

	if (allow_files(s->options->n + SPARE_FILES, err) < 0)
		return -1;
	s->base = event_base_new();
	s->mcred = mcred_munge_new(s->options->client->munge_socket, NULL);
	if (!s->base || !s->mcred)
		return error_set(err, ERR_SYSTEM, "no event base");
	catch_signals(s);
	s->pool = worker_pool_new(s->base, &limits, err);
	if (!s->pool)
		return -1;
	s->net = net_new(s->base, s->pool, s->options->client, s->mcred, err);
	if (!s->net)
		return -1;
	s->count = event_new(s->base, -1, EV_PERSIST, on_count, s);
	s->loads = event_new(s->base, -1, EV_PERSIST, on_loads, s);
	if (!s->count || evtimer_add(s->count, &second) < 0 || !s->loads ||
	        evtimer_add(s->loads, &often) < 0)
		abort();
	if (getrandom(&start, sizeof(start), 0) != (ssize_t)sizeof(start))
		return error_set(err, ERR_SYSTEM, "getrandom");
	s->nodes = xcalloc(s->options->n, sizeof(*s->nodes));
	for (size_t i = 0; i < s->options->n; i++)
		make_node(s, &s->nodes[i], s->options->names[i], start);
	return 0;
}

static void unmake(struct simulation *s)
{
	for (size_t i = 0; s->nodes && i < s->options->n; i++) {
		agent_loop_free(s->nodes[i].node);
		sim_launcher_free(s->nodes[i].launcher);
		event_end(s->nodes[i].timer);
	}
	free(s->nodes);
	net_free(s->net);
	worker_pool_free(s->pool);
	mcred_ops_free(s->mcred);
	for (int i = 0; i < N_SIGNALS; i++)
		event_end(s->signals[i]);
	event_end(s->count);
	event_end(s->loads);
	if (s->base)
		event_base_free(s->base);
}

int simulate_run(const struct simulate_options *options)
{
	struct simulation s = { .options = options };
	int status = 0;
	struct error err;

	if (make(&s, &err) < 0) {
		log_error("%s%s%s", err.text, *err.hint ? "; " : "", err.hint);
		status = EXIT_REFUSED;
	} else {
		log_info("gnoded %s: %zu simulated nodes, controller %s:%u, cluster %s",
		        options->facts.version, options->n, options->client->host,
		        options->client->port, options->client->cluster);
		daemon_ready(options->ready_fd, "simulated nodes");
		event_base_dispatch(s.base);
	}
	unmake(&s);
	return status;
}
