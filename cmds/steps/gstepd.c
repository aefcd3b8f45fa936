/* gstepd.c - the step daemon of a run
 *
 * One process a run of a job with steps, without privilege, as the job's owner. On the first node
 *it is the job's manager of steps (manager.h) and starts the tasks of that node; on each other node
 *it starts that node's tasks, for the manager at the other end of a stream.
 *
 *	gstepd --serve                                as the program of a run, rank 1 and above
 *	gstepd --serve --allocation --patience=S      as the program of an allocation's first run
 *	gstepd --daemon                               from srun, in a batch job's first run
 *
 * Of the signals that are sent to all processes of a run it takes TERM alone: then it starts
 *nothing more, and ends when no task is left. As a daemon it lives until the run's processes are
 *killed.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "cmds/cli/cmd.h"
#include "cmds/steps/bridge.h"
#include "cmds/steps/loop.h"
#include "cmds/steps/manager.h"
#include "cmds/steps/peers.h"
#include "cmds/steps/taskenv.h"
#include "cmds/steps/worker.h"
#include "common/base/clock.h"
#include "common/base/daemon.h"
#include "common/base/hostlist.h"
#include "common/base/xalloc.h"

#include "config.h"

extern char **environ;

enum { OPT_SERVE = 0x100, OPT_DAEMON, OPT_ALLOCATION, OPT_PATIENCE, OPT_VERSION };

#define NO_PATIENCE UINT32_MAX

struct node {
	uint64_t peer; /* 0: no link yet */
	uint32_t rank;
	bool greeted;
};

struct gstepd {
	bool daemon, allocation;
	uint32_t patience_s;
	struct loop *loop;
	struct peers *peers;
	struct worker *worker;
	struct manager *manager; /* NULL: of another rank */
	struct step_bridge *bridge;
	int signals, lock;
	struct loop_watch *signal_watch;
	uint32_t noted; /* in the lock's file: the next step's number */
	char **names;   /* of the job's nodes, by rank */
	size_t n_names;
	struct node *nodes;
	uint32_t rank;
	uint64_t manager_peer; /* of the worker's manager; 0: it is not there */
	int64_t lonely_ms;     /* since when no client is there */
	bool ending, had_client;
	int status; /* -1: it goes on */
};

static const char *own(const char *name, const char *none)
{
	const char *v = taskenv_get(environ, name);

	return v && *v ? v : none;
}

static uint64_t own_number(const char *name, uint64_t none)
{
	const char *v = own(name, NULL);

	return v ? strtoull(v, NULL, 10) : none;
}

/* --- between manager and nodes ---------------------------------------------------------------- */

static void to_client(
        void *arg, uint64_t client, unsigned kind, uint32_t step, const void *data, size_t len)
{
	struct gstepd *g = arg;

	peers_put(g->peers, client, kind, step, data, len);
}

static void to_node(
        void *arg, uint32_t rank, unsigned kind, uint32_t step, const void *data, size_t len)
{
	struct gstepd *g = arg;
	struct steplink_message m = { .kind = kind, .step = step, .data = data, .len = len };

	if (rank == g->rank)
		worker_take(g->worker, &m, NULL);
	else if (g->nodes[rank].peer)
		peers_put(g->peers, g->nodes[rank].peer, kind, step, data, len);
}

static void need_node(void *arg, uint32_t rank)
{
	struct gstepd *g = arg;
	struct error err;
	int fd = step_bridge_open(g->bridge, rank, g->names[rank], &err);

	if (fd < 0) {
		fprintf(stderr, "gstepd: %s\n", err.text);
		return;
	}
	g->nodes[rank].peer = peers_add(g->peers, fd);
}

/* Should this process be killed, the next one goes on counting. */
static void note_number(struct gstepd *g)
{
	char text[16];
	int n = snprintf(text, sizeof(text), "%u\n", manager_next_number(g->manager));

	if (g->noted == manager_next_number(g->manager))
		return;
	g->noted = manager_next_number(g->manager);
	(void)!pwrite(g->lock, text, (size_t)n, 0);
}

static uint32_t noted_number(const struct gstepd *g)
{
	char text[16] = "";

	(void)!pread(g->lock, text, sizeof(text) - 1, 0);
	return (uint32_t)strtoul(text, NULL, 10);
}

static void report(void *arg, const Gpusched__StepReport *r)
{
	struct gstepd *g = arg;

	note_number(g);
	step_bridge_report(g->bridge, r);
}

static void quit(void *arg, uint32_t exit_code)
{
	struct gstepd *g = arg;

	g->status = (int)exit_code;
}

static int64_t now_ms(void *arg)
{
	(void)arg;
	return loop_now_ms();
}

static int64_t wall_us(void *arg)
{
	(void)arg;
	return clock_us(CLOCK_REALTIME);
}

static uint64_t random_number(void *arg)
{
	uint64_t n;

	(void)arg;
	if (getentropy(&n, sizeof(n)) < 0)
		abort();
	return n;
}

/* Passes the worker's messages to the manager, in this process or at the other end of the link. */
static void from_worker(void *arg, unsigned kind, uint32_t step, const void *data, size_t len)
{
	struct gstepd *g = arg;
	struct steplink_message m = { .kind = kind, .step = step, .data = data, .len = len };

	if (g->manager)
		manager_node(g->manager, g->rank, &m, NULL);
	else
		peers_put(g->peers, g->manager_peer, kind, step, data, len);
}

/* --- peers ------------------------------------------------------------------------------------ */

static struct node *find_node(const struct gstepd *g, uint64_t peer)
{
	for (size_t i = 0; i < g->n_names; i++)
		if (g->nodes[i].peer == peer)
			return &g->nodes[i];
	return NULL;
}

/* The peer of a node's gstepd is the manager; a later one has taken the place of the first. */
static void say_hello(struct gstepd *g, uint64_t peer)
{
	Gpusched__StepHello h = GPUSCHED__STEP_HELLO__INIT;
	char **gpus = xcalloc(worker_gpus(g->worker), sizeof(*gpus)), none[] = "";
	size_t len;
	uint8_t *data;

	h.node = (char *)(uintptr_t)worker_node(g->worker);
	h.rank = g->rank;
	h.cpus = worker_cpus(g->worker);
	h.n_gpus = worker_gpus(g->worker);
	h.gpus = gpus;
	for (size_t i = 0; i < h.n_gpus; i++)
		gpus[i] = none;
	len = gpusched__step_hello__get_packed_size(&h);
	data = xcalloc(len, 1);
	gpusched__step_hello__pack(&h, data);
	peers_put(g->peers, peer, STEP_HELLO, STEP_NONE, data, len);
	free(data);
	free(gpus);
}

static void peer_arrived(void *arg, uint64_t peer)
{
	struct gstepd *g = arg;

	g->had_client = true;
	if (g->manager)
		return;
	worker_forget(g->worker);
	g->manager_peer = peer;
	say_hello(g, peer);
}

static int take_hello(
        struct gstepd *g, struct node *node, const struct steplink_message *m, struct error *err)
{
	Gpusched__StepHello *h = gpusched__step_hello__unpack(NULL, m->len, m->data);

	if (!h || h->rank != node->rank) {
		if (h)
			gpusched__step_hello__free_unpacked(h, NULL);
		return error_set(err, ERR_PROTOCOL, "another node's greeting");
	}
	manager_node_known(g->manager, node->rank, h->cpus, (uint32_t)h->n_gpus);
	gpusched__step_hello__free_unpacked(h, NULL);
	return 0;
}

static int peer_message(
        void *arg, uint64_t peer, const struct steplink_message *m, struct error *err)
{
	struct gstepd *g = arg;
	struct node *node;

	if (!g->manager)
		return worker_take(g->worker, m, err);
	if (g->ending && m->kind == STEP_NEW)
		return error_set(err, ERR_JOB_STATE, "the job ends");
	node = find_node(g, peer);
	if (node && m->kind == STEP_HELLO)
		return take_hello(g, node, m, err);
	return node ? manager_node(g->manager, node->rank, m, err)
	            : manager_client(g->manager, peer, m, err);
}

static void peer_gone(void *arg, uint64_t peer)
{
	struct gstepd *g = arg;
	struct node *node = find_node(g, peer);

	if (node)
		manager_node_lost(g->manager, node->rank);
	else if (g->manager)
		manager_client_gone(g->manager, peer);
	else if (peer == g->manager_peer) {
		g->manager_peer = 0;
		worker_forget(g->worker);
	}
}

/* --- signals ---------------------------------------------------------------------------------- */

static void on_signal(uint32_t events, void *arg)
{
	struct gstepd *g = arg;
	struct signalfd_siginfo info;

	(void)events;
	while (read(g->signals, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo == SIGCHLD)
			worker_reap(g->worker);
		else
			g->ending = true;
	}
}

static int catch_signals(struct gstepd *g, struct error *err)
{
	sigset_t all, ours;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	sigemptyset(&ours);
	sigaddset(&ours, SIGCHLD);
	sigaddset(&ours, SIGTERM);
	g->signals = signalfd(-1, &ours, SFD_CLOEXEC | SFD_NONBLOCK);
	if (g->signals < 0)
		return error_set(err, ERR_SYSTEM, "signalfd: %s", strerror(errno));
	g->signal_watch = loop_watch(g->loop, g->signals, EPOLLIN, on_signal, g);
	return 0;
}

/* --- the whole -------------------------------------------------------------------------------- */

static int read_nodes(struct gstepd *g, struct error *err)
{
	const char *list = own("GPUSCHED_NODELIST", own("GPUSCHED_NODE", "localhost"));

	if (hostlist_expand(list, HOSTLIST_MAX, &g->names, &g->n_names, err) < 0)
		return -1;
	g->rank = (uint32_t)own_number("GPUSCHED_NODE_RANK", 0);
	if (g->rank >= g->n_names)
		return error_set(err, ERR_USAGE, "rank %u of %zu nodes", g->rank, g->n_names);
	g->nodes = xcalloc(g->n_names, sizeof(*g->nodes));
	for (size_t i = 0; i < g->n_names; i++)
		g->nodes[i].rank = (uint32_t)i;
	return 0;
}

static void make_manager(struct gstepd *g)
{
	struct manager_ops ops = { .to_client = to_client,
		.to_node = to_node,
		.need_node = need_node,
		.report = report,
		.quit = g->allocation ? quit : NULL,
		.now_ms = now_ms,
		.time = wall_us,
		.random = random_number,
		.arg = g };

	g->manager = manager_new(&ops, (const char *const *)g->names, g->n_names);
	manager_go_on(g->manager, noted_number(g));
	manager_node_known(g->manager, 0, worker_cpus(g->worker), worker_gpus(g->worker));
}

/* One gstepd a run: of two that srun has started at once, the second one ends, and its srun finds
 * the first. The socket of a killed gstepd is removed. */
static int be_the_one(struct gstepd *g, const char *dir, const char *socket_path, struct error *err)
{
	char *path = xasprintf("%s/step.lock", dir);
	int rc = 0;

	g->lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (g->lock < 0)
		rc = error_set(err, ERR_SYSTEM, "%s: %s", path, strerror(errno));
	else if (flock(g->lock, LOCK_EX | LOCK_NB) < 0)
		rc = error_set(err, ERR_BUSY, "another gstepd serves this run");
	else
		unlink(socket_path);
	free(path);
	return rc;
}

static int set_up(struct gstepd *g, struct error *err)
{
	const char *dir = own("GPUSCHED_RUN_DIR", NULL);
	struct peers_ops ops = {
		.arrived = peer_arrived, .message = peer_message, .gone = peer_gone, .arg = g
	};
	struct step_bridge_of of = { .job = own_number("GPUSCHED_JOB_ID", 0),
		.task = (uint32_t)own_number("GPUSCHED_ARRAY_TASK_ID", 0),
		.attempt = (uint32_t)own_number(
		        "GPUSCHED_ATTEMPT", own_number("GPUSCHED_RESTART_COUNT", 0) + 1) };
	char *path;

	if (!dir)
		return error_set(err, ERR_USAGE, "GPUSCHED_RUN_DIR is not set: this is no run");
	daemon_raise_files();
	g->loop = loop_new();
	if (read_nodes(g, err) < 0 || catch_signals(g, err) < 0)
		return -1;
	g->worker = worker_new(g->loop, environ, from_worker, g);
	g->bridge = step_bridge_new(&of);
	ops.for_ever = g->rank > 0;
	path = xasprintf("%s/%s", dir, STEP_SOCKET);
	if (be_the_one(g, dir, path, err) == 0)
		g->peers = peers_new(g->loop, path, &ops, err);
	free(path);
	if (!g->peers)
		return -1;
	if (g->rank == 0)
		make_manager(g);
	g->lonely_ms = loop_now_ms();
	return 0;
}

/* Clients: peers that are no node's. */
static size_t count_clients(const struct gstepd *g)
{
	size_t n = peers_count(g->peers);

	for (size_t i = 0; i < g->n_names; i++)
		n -= g->nodes[i].peer != 0;
	return n;
}

static void check_end(struct gstepd *g)
{
	int64_t now = loop_now_ms();

	if (g->ending && worker_is_idle(g->worker) && !g->daemon)
		g->status = 0;
	if (!g->allocation || g->patience_s == NO_PATIENCE)
		return;
	if (count_clients(g) || manager_steps(g->manager))
		g->lonely_ms = now;
	else if (now - g->lonely_ms >= (int64_t)g->patience_s * 1000)
		g->status = 0;
}

static int earlier(int a, int64_t b)
{
	return b < 0 ? a : a < 0 || b < a ? (int)b : a;
}

static int wait_ms(const struct gstepd *g)
{
	int ms = worker_wait_ms(g->worker);

	ms = earlier(ms, peers_wait_ms(g->peers));
	if (g->manager)
		ms = earlier(ms, manager_wait_ms(g->manager));
	if (g->allocation && g->patience_s != NO_PATIENCE)
		ms = earlier(ms, 1000);
	return ms;
}

static int serve(struct gstepd *g)
{
	while (g->status < 0) {
		loop_run(g->loop, wait_ms(g));
		worker_tick(g->worker);
		if (g->manager)
			manager_tick(g->manager);
		peers_tick(g->peers);
		check_end(g);
	}
	worker_signal_all(g->worker, SIGKILL);
	peers_free(g->peers);
	step_bridge_free(g->bridge);
	return g->status;
}

/* srun goes on when the socket is there; nothing else of it stays. What waits for events is made
 * behind the fork, since it belongs to the process that makes it. Returns the descriptor that says
 * so. */
static int become_daemon(void)
{
	int p[2];
	char ok;
	pid_t pid;

	/* What srun inherited from its caller, which may wait until all have closed it */
	syscall(SYS_close_range, STDERR_FILENO + 1, ~0U, 0);
	if (pipe2(p, O_CLOEXEC) < 0 || (pid = fork()) < 0) {
		perror("gstepd");
		exit(EXIT_FAILURE);
	}
	if (pid > 0) {
		close(p[1]);
		_exit(read(p[0], &ok, 1) == 1 ? EXIT_SUCCESS : EXIT_FAILURE);
	}
	close(p[0]);
	setsid();
	return p[1];
}

static void daemon_is_ready(int fd)
{
	int null = open("/dev/null", O_RDWR);

	for (int i = 0; i <= 2 && null >= 0; i++)
		dup2(null, i);
	if (null > 2)
		close(null);
	(void)!chdir("/");
	(void)!write(fd, "", 1);
	close(fd);
}

static int usage(void)
{
	fprintf(stderr,
	        "usage: gstepd --serve [--allocation] [--patience=SECONDS] | --daemon\n"
	        "Started for jobs with steps by gnoded and by srun; not for use by hand.\n");
	return EXIT_USAGE;
}

int main(int argc, char **argv)
{
	static const struct option options[] = { { "serve", no_argument, NULL, OPT_SERVE },
		{ "daemon", no_argument, NULL, OPT_DAEMON },
		{ "allocation", no_argument, NULL, OPT_ALLOCATION },
		{ "patience", required_argument, NULL, OPT_PATIENCE },
		{ "version", no_argument, NULL, OPT_VERSION }, { 0 } };
	static struct gstepd g = { .patience_s = 30, .status = -1 };
	struct error err;
	bool chosen = false;
	int c, ready = -1;

	cmd_occupy_standard_files();
	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (c == OPT_VERSION)
			return puts("gstepd (gpusched) " PACKAGE_VERSION) < 0;
		if (c == '?')
			return usage();
		chosen |= c == OPT_SERVE || c == OPT_DAEMON;
		g.daemon |= c == OPT_DAEMON;
		g.allocation |= c == OPT_ALLOCATION;
		if (c == OPT_PATIENCE)
			g.patience_s = (uint32_t)strtoul(optarg, NULL, 10);
	}
	if (!chosen || optind < argc)
		return usage();
	if (g.daemon)
		ready = become_daemon();
	if (set_up(&g, &err) < 0) {
		if (g.daemon && err.code == ERR_BUSY)
			return EXIT_SUCCESS;
		fprintf(stderr, "gstepd: error: %s\n", err.text);
		return EXIT_FAILURE;
	}
	if (g.daemon)
		daemon_is_ready(ready);
	return serve(&g);
}
