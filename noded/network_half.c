/* network_half.c - see network_half.h
 *
 * Wires the network half: the session to the controller (net/controller_link.h), the node's core
 * around it (net/agent_loop.h), the launcher's socket and the relay of streams. None of them
 * knows the others; what one causes in another is a callback here.
 */
#include "noded/network_half.h"

#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <event2/event.h>

#include "common/base/daemon.h"
#include "common/base/fd_close.h"
#include "common/base/log.h"
#include "common/base/xalloc.h"
#include "common/net/event_end.h"
#include "common/net/msg.h"
#include "common/net/worker.h"
#include "noded/cpus_and_memory.h"
#include "noded/launcher/launcher.h"
#include "noded/net/agent_loop.h"
#include "noded/net/launcher_socket.h"
#include "noded/net/stream_relay.h"
#include "noded/record/fdpass.h"
#include "noded/runs/agent_channel.h"
#include "noded/supervise.h"

enum { N_SIGNALS = 2 };

struct gnoded {
	const struct gnoded_options *options;
	struct node_facts facts;
	struct event_base *base;
	struct worker_pool *pool;
	struct net *net;
	struct launcher_socket *launcher_socket;
	struct relay *relay;
	struct event *streams; /* descriptors from the launcher */
	struct agent_loop *node;
	Gpusched__Inventory *inventory; /* the launcher's latest; owned */
	Gpusched__GpuReport *faults;    /* the same for faults that are not acknowledged */
	struct event *signals[N_SIGNALS];
	int ready_fd; /* -1: done, no process waits any more */
	int status;
};

static void end_loop(struct gnoded *g, int status)
{
	g->status = status;
	event_base_loopbreak(g->base);
}

/* --- node to launcher ------------------------------------------------------------------------ */

static void send_effect(void *arg, const struct agent_effect *effect, unsigned type,
        const ProtobufCMessage *message)
{
	struct gnoded *g = arg;

	(void)effect;
	launcher_socket_send(g->launcher_socket, type, message);
}

static void ask_credential(
        void *arg, uint64_t session, const void *payload, size_t len, uint32_t restrict_uid)
{
	struct gnoded *g = arg;

	launcher_socket_ask_credential(g->launcher_socket, session, payload, len, restrict_uid);
}

static void tell_settings(void *arg, const ProtobufCMessage *message)
{
	struct gnoded *g = arg;

	launcher_socket_send(g->launcher_socket, GPUSCHED__MSG_TYPE__MSG_NODE_SETTINGS, message);
}

/* --- streams --------------------------------------------------------------------------------- */

static void relay_send(void *arg, unsigned type, const ProtobufCMessage *message)
{
	struct gnoded *g = arg;

	agent_loop_send_stream(g->node, type, message);
}

static bool relay_full(void *arg)
{
	struct gnoded *g = arg;

	return agent_loop_is_full(g->node);
}

static void relay_ask(void *arg, unsigned type, const ProtobufCMessage *message)
{
	struct gnoded *g = arg;

	launcher_socket_send(g->launcher_socket, type, message);
}

static const struct relay_ops relay_ops = {
	.send = relay_send, .full = relay_full, .ask = relay_ask
};

static void take_stream(void *arg, unsigned type, const ProtobufCMessage *message)
{
	struct gnoded *g = arg;

	relay_message(g->relay, type, message);
}

static void stream_room(void *arg)
{
	struct gnoded *g = arg;

	relay_room(g->relay);
}

static void stream_lost(void *arg)
{
	struct gnoded *g = arg;

	relay_lost(g->relay);
}

/* The launcher has sent a descriptor: the log file, or, with a stream's number, the socket to
 * gtap. */
static void on_descriptor(evutil_socket_t fd, short what, void *arg)
{
	struct gnoded *g = arg;
	uint64_t stream;
	int fds[FDPASS_MAX];
	size_t n_fds;
	ssize_t n;

	(void)what;
	for (;;) {
		stream = 0;
		n = fdpass_receive(fd, &stream, sizeof(stream), fds, &n_fds, MSG_DONTWAIT);
		if (n == 0)
			event_del(g->streams); /* launcher_socket.h notices the launcher's end */
		if (n <= 0)
			return;
		if (n_fds != 1)
			continue;
		if (n == LAUNCHER_LOG_LEN)
			log_take(fds[0]);
		else
			relay_granted(g->relay, stream, fds[0]);
	}
}

static void on_refused(struct gnoded *g, const Gpusched__LauncherStream *m)
{
	struct error why;

	error_set(&why, m->error < ERR_COUNT ? (int)m->error : ERR_INTERNAL, "%s", m->error_text);
	relay_refused(g->relay, m->stream, &why);
}

/* --- faults of GPUs -------------------------------------------------------------------------- */

static void pass_gpus(void *arg, unsigned type, const ProtobufCMessage *message)
{
	struct gnoded *g = arg;

	launcher_socket_send(g->launcher_socket, type, message);
}

static void tell_faults(void *arg, const Gpusched__Registered *message)
{
	struct gnoded *g = arg;

	(void)message;
	if (g->faults)
		agent_loop_tell_gpus(g->node, &g->faults->base);
}

/* Keep a copy of the faults for a controller that registers later. Answers to GPU_CHECK are not
 * kept: the controller asks again. */
static void keep_faults(struct gnoded *g, const Gpusched__GpuReport *m)
{
	Gpusched__GpuReport faults = GPUSCHED__GPU_REPORT__INIT;

	if (g->faults)
		gpusched__gpu_report__free_unpacked(g->faults, NULL);
	g->faults = NULL;
	if (!m || !m->n_faults)
		return;
	faults.n_faults = m->n_faults;
	faults.faults = m->faults;
	g->faults = (Gpusched__GpuReport *)msg_copy(&faults.base);
}

static const struct agent_loop_launcher launcher = {
	.tell = send_effect,
	.credential = ask_credential,
	.settings = tell_settings,
	.stream = take_stream,
	.stream_room = stream_room,
	.stream_lost = stream_lost,
	.gpus = pass_gpus,
	.registered = tell_faults,
};

/* --- launcher to node ------------------------------------------------------------------------ */

/* The start-up line. */
static void say_hello(struct gnoded *g, const Gpusched__LauncherHello *hello)
{
	const struct conf_client *client = g->options->client;
	char *status = xasprintf("node %s, controller %s:%u, cluster %s", g->facts.node,
	        client->host, client->port, client->cluster);

	log_info("gnoded %s: node %s, incarnation %s, containment %s, %u CPUs, %llu MiB%s, %zu "
	         "runs; controller %s:%u, cluster %s",
	        g->facts.version, g->facts.node, hello->incarnation, hello->containment,
	        g->facts.cpus, (unsigned long long)g->facts.mem_mb,
	        g->facts.pretended ? " (pretended)" : "", hello->n_runs, client->host, client->port,
	        client->cluster);
	daemon_ready(g->ready_fd, status);
	g->ready_fd = -1;
	free(status);
}

/* Makes a copy, because the message is freed after the call. */
static void keep_inventory(struct gnoded *g, const Gpusched__Inventory *m)
{
	if (g->inventory)
		gpusched__inventory__free_unpacked(g->inventory, NULL);
	g->inventory = m ? (Gpusched__Inventory *)msg_copy(&m->base) : NULL;
	g->facts.inventory = g->inventory;
}

static int on_message(void *arg, unsigned type, const ProtobufCMessage *message, struct error *err)
{
	struct gnoded *g = arg;

	if (type == GPUSCHED__MSG_TYPE__MSG_LAUNCHER_STREAM) {
		on_refused(g, (const Gpusched__LauncherStream *)message);
		return 0;
	}
	if (type == GPUSCHED__MSG_TYPE__MSG_LAUNCHER_USED) {
		agent_loop_send_used(g->node, message);
		return 0;
	}
	if (type == GPUSCHED__MSG_TYPE__MSG_RUNS_LOAD) {
		agent_loop_send_load(g->node, message);
		return 0;
	}
	if (type == GPUSCHED__MSG_TYPE__MSG_GPU_REPORT) {
		keep_faults(g, (const Gpusched__GpuReport *)message);
		agent_loop_tell_gpus(g->node, message);
		return 0;
	}
	if (type == GPUSCHED__MSG_TYPE__MSG_LAUNCHER_HELLO)
		say_hello(g, (const Gpusched__LauncherHello *)message);
	if (type == GPUSCHED__MSG_TYPE__MSG_LAUNCHER_HELLO)
		keep_inventory(g, ((const Gpusched__LauncherHello *)message)->inventory);
	if (type == GPUSCHED__MSG_TYPE__MSG_LAUNCHER_GPUS) {
		keep_inventory(g, (const Gpusched__Inventory *)message);
		log_info("the GPUs, the node's health or containment have changed; registering "
		         "again");
		agent_loop_register_again(g->node);
		return 0;
	}
	return agent_loop_launcher_message(g->node, type, message, err);
}

static void on_credential(void *arg, uint64_t id, const char *credential, const struct error *err)
{
	struct gnoded *g = arg;

	agent_loop_credential(g->node, id, credential, err);
}

static void on_gone(void *arg, const struct error *why)
{
	struct gnoded *g = arg;

	log_error("%s", why->text);
	agent_loop_event(g->node, &(struct agent_event){ .kind = AGENT_LAUNCHER_GONE });
	end_loop(g, SUPERVISE_AGAIN);
}

static const struct launcher_socket_ops launcher_socket_ops = {
	.message = on_message, .credential = on_credential, .gone = on_gone
};

/* --- signals --------------------------------------------------------------------------------- */

static void on_end_signal(evutil_socket_t sig, short what, void *arg)
{
	(void)what;
	log_info("ending: %s; runs go on", strsignal(sig));
	daemon_notify("STOPPING=1");
	end_loop(arg, 0);
}

static void catch_signals(struct gnoded *g)
{
	static const struct {
		int sig;
		event_callback_fn fn;
	} rows[N_SIGNALS] = { { SIGTERM, on_end_signal }, { SIGINT, on_end_signal } };

	for (int i = 0; i < N_SIGNALS; i++) {
		g->signals[i] = evsignal_new(g->base, rows[i].sig, rows[i].fn, g);
		if (!g->signals[i] || evsignal_add(g->signals[i], NULL) < 0)
			abort();
	}
	signal(SIGPIPE, SIG_IGN);
	signal(SIGHUP, SIG_IGN); /* the launcher opens the log again, for both: on_descriptor() */
}

/* --- the whole ------------------------------------------------------------------------------- */

static void refresh(struct node_facts *facts)
{
	inventory_now("", &facts->load, &facts->mem_free_mb);
}

static int make(struct gnoded *g, struct error *err)
{
	/* Only key exchanges: the launcher asks munge. */
	const struct worker_limits limits = { .threads = 1, .max_queued = 16, .max_per_key = 16 };
	struct agent_loop_config config = {
		.facts = &g->facts, .launcher = &launcher, .arg = g, .refresh = refresh
	};

	g->base = event_base_new();
	if (!g->base)
		return error_set(err, ERR_SYSTEM, "no event base");
	catch_signals(g);
	g->pool = worker_pool_new(g->base, &limits, err);
	if (!g->pool)
		return -1;
	g->net = net_new(g->base, g->pool, g->options->client, NULL, err);
	if (!g->net)
		return -1;
	config.base = g->base;
	config.net = g->net;
	g->relay = relay_new(g->base, &relay_ops, g);
	g->streams =
	        event_new(g->base, g->options->streams_fd, EV_READ | EV_PERSIST, on_descriptor, g);
	if (!g->streams || event_add(g->streams, NULL) < 0)
		abort();
	g->node = agent_loop_new(&config);
	g->launcher_socket =
	        launcher_socket_new(g->base, g->options->launcher_fd, &launcher_socket_ops, g);
	return 0;
}

static void unmake(struct gnoded *g)
{
	agent_loop_free(g->node);
	keep_inventory(g, NULL);
	keep_faults(g, NULL);
	relay_free(g->relay);
	event_end(g->streams);
	close(g->options->streams_fd);
	net_free(g->net);
	worker_pool_free(g->pool);
	if (g->launcher_socket)
		launcher_socket_free(g->launcher_socket);
	else
		close(g->options->launcher_fd);
	for (int i = 0; i < N_SIGNALS; i++)
		event_end(g->signals[i]);
	if (g->base)
		event_base_free(g->base);
	fd_close(g->ready_fd);
}

#define LAUNCHER_END_MS 5000 /* to notice the end; then the launcher counts as hung */

/* The pair is closed, so the launcher ends; wait, so that its lock is free when we are gone.
 * Returns whether restarting it makes sense. */
static bool reap_launcher(pid_t pid)
{
	struct pollfd ended = { .fd = (int)syscall(SYS_pidfd_open, pid, 0), .events = POLLIN };
	int status, n = poll(&ended, 1, LAUNCHER_END_MS);

	fd_close(ended.fd);
	if (n == 0)
		log_warning("the launcher (process %ld) does not end", (long)pid);
	else if (waitpid(pid, &status, WNOHANG) != pid)
		return true;
	else if (WIFSIGNALED(status))
		log_error("the launcher was killed by signal %d", WTERMSIG(status));
	else if (WEXITSTATUS(status) == LAUNCHER_NEVER)
		return false;
	else if (WEXITSTATUS(status))
		log_error("the launcher ended with exit code %d", WEXITSTATUS(status));
	return true;
}

int gnoded_run(const struct gnoded_options *options)
{
	struct gnoded g = {
		.options = options, .facts = options->facts, .ready_fd = options->ready_fd
	};
	struct error err;

	prctl(PR_SET_NAME, "gnoded-net", 0, 0, 0); /* the launcher has a name of its own too */
	if (make(&g, &err) < 0) {
		log_error("%s", err.text);
		g.status = EXIT_REFUSED;
	} else {
		event_base_dispatch(g.base);
	}
	unmake(&g);
	if (!reap_launcher(options->launcher_pid))
		g.status = EXIT_REFUSED;
	return g.status;
}
