/* launcher.c - the launcher as a process: fork, parts, signals; see launcher.h */
#include "config.h"

#include "noded/launcher/launcher.h"

#include <errno.h>
#include <event2/event.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/base/error.h"
#include "common/base/fd_close.h"
#include "common/base/log.h"
#include "common/base/xalloc.h"
#include "common/conf/nodewords.h"
#include "common/job/run.h"
#include "common/net/event_end.h"
#include "common/net/munge.h"
#include "common/net/worker.h"
#include "noded/confine/containment_active.h"
#include "noded/confine/mps_pool.h"
#include "noded/confine/spool_full.h"
#include "noded/contain/process_tracking.h"
#include "noded/exec/site_program_allowed.h"
#include "noded/launcher/node_report.h"
#include "noded/launcher/node_settings.h"
#include "noded/launcher/order_dispatch.h"
#include "noded/launcher/recover.h"
#include "noded/launcher/start_run.h"
#include "noded/launcher/start_shepherd.h"
#include "noded/launcher/stream_grants.h"
#include "noded/launcher/upcalls.h"
#include "noded/record/order_socket.h"
#include "noded/record/record.h"
#include "noded/runs/agent_channel.h"
#include "noded/runs/epochs.h"
#include "noded/runs/launcher_dirs.h"
#include "noded/runs/launcher_options.h"
#include "noded/runs/launcher_state.h"
#include "noded/runs/munge_queries.h"
#include "noded/runs/replica_status.h"
#include "noded/runs/run_life.h"
#include "noded/runs/runs.h"
#include "noded/runs/service_ports.h"
#include "noded/runs/signature_uses.h"
#include "noded/runs/user_lookup.h"
#include "noded/watch/gpu_checks.h"
#include "noded/watch/gpu_faults.h"
#include "noded/watch/gpu_inventory.h"
#include "noded/watch/gpu_job_files.h"
#include "noded/watch/gpu_leftovers.h"
#include "noded/watch/gpu_reclaim.h"
#include "noded/watch/health_check.h"
#include "noded/watch/usage_sampling.h"

#define STATE_SAVE_S 10 /* how old max_job on disk may be */
#define POOL_THREADS 4  /* one for each kind of query (enum pool_key), and one to spare */
#define POOL_QUEUE   65536
#define DESCRIPTORS  65536 /* as many as runs (RUNS_MAX) */

struct launcher_loop {
	struct mcred_ops *munge;
	int news; /* the socket on which shepherds say that a record has changed */
	struct event *news_event, *state_event, *child_event, *hup_event;
	bool sweep; /* runs ended since leftover directories were last removed */
};

/* --- before the fork: errors still reach the terminal that starts the agent ------------------- */

static int fail(struct error *err, const char *what, const char *path)
{
	return error_set(err, ERR_SYSTEM, "%s '%s': %s", what, path, strerror(errno));
}

static char *absolute(const char *path)
{
	char *cwd, *full;

	if (path[0] == '/')
		return xstrdup(path);
	cwd = getcwd(NULL, 0);
	full = xasprintf("%s/%s", cwd ? cwd : "", path);
	free(cwd);
	return full;
}

static const char *or_empty(const char *s)
{
	return s ? s : "";
}

static void free_options(struct launcher_options *o)
{
	const char **all[] = { &o->node, &o->cluster, &o->rundir, &o->spool, &o->munge_socket,
		&o->munge_socket_2, &o->shepherd, &o->cgroup };

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		free((void *)(uintptr_t)*all[i]);
	free(o);
}

static struct launcher_options *copy_options(const struct launcher_options *from)
{
	struct launcher_options *to = xcalloc(1, sizeof(*to));

	*to = *from;
	to->node = xstrdup(from->node);
	to->cluster = xstrdup(from->cluster);
	to->rundir = absolute(from->rundir);
	to->spool = absolute(from->spool);
	to->munge_socket = xstrdup(or_empty(from->munge_socket));
	to->munge_socket_2 = xstrdup(or_empty(from->munge_socket_2));
	to->shepherd = absolute(from->shepherd);
	to->cgroup = xstrdup(or_empty(from->cgroup));
	to->containment = or_empty(from->containment);
	if (!to->signature_age_s)
		to->signature_age_s = LAUNCHER_SIGNATURE_AGE_S;
	if (!to->service_age_s)
		to->service_age_s = LAUNCHER_SERVICE_AGE_S;
	if (!to->mps)
		to->mps = LAUNCHER_MPS;
	if (!to->max_processes)
		to->max_processes = LAUNCHER_MAX_PROCESSES;
	if (!to->program_timeout_ms)
		to->program_timeout_ms = PROGRAM_TIMEOUT_MS;
	return to;
}

static struct launcher_loop *loop_new(void)
{
	struct launcher_loop *loop = xcalloc(1, sizeof(*loop));

	loop->news = -1;
	return loop;
}

static void loop_free_events(struct launcher_loop *loop)
{
	event_end(loop->news_event);
	event_end(loop->state_event);
	event_end(loop->child_event);
	event_end(loop->hup_event);
}

static void loop_free(struct launcher_loop *loop)
{
	mcred_ops_free(loop->munge);
	fd_close(loop->news);
	free(loop);
}

/* Pools and parts whose callbacks call other parts go first. */
static void launcher_free(struct launcher *l)
{
	l->closing = true;
	munge_queries_free(l->munge_queries);
	user_lookup_free(l->user_lookup);
	runs_free(l->runs);
	replicas_free(l->replicas);
	service_ports_free(l->service_ports);
	starts_free(l->starts);
	worker_pool_free(l->pool);
	worker_pool_free(l->disk);
	spool_full_free(l->spool_full);
	gpu_job_files_free(l->gpu_job_files);
	gpu_leftovers_free(l->gpu_leftovers);
	gpu_checks_free(l->gpu_checks);
	gpu_faults_free(l->gpu_faults);
	gpu_inventory_free(l->gpu_inventory);
	health_free(l->health);
	usage_sampling_free(l->usage_sampling);
	gpu_reclaim_free(l->gpu_reclaim);
	mps_pool_free(l->mps_pool);
	template_client_free(l->template_client);
	loop_free_events(l->loop);
	settings_free(l->settings);
	agent_channel_free(l->agent);
	node_report_free(l->node_report);
	if (l->base)
		event_base_free(l->base);
	loop_free(l->loop);
	signature_uses_free(l->signature_uses);
	containment_free(l->containment);
	streams_free(l->streams);
	launcher_dirs_free(l->dirs);
	free_options((struct launcher_options *)(uintptr_t)l->options);
	free(l);
}

/* A user who can change a program that root runs has root's power. */
static int check_programs(const struct launcher *l, struct error *err)
{
	for (int k = 0; k < PROGRAM_KINDS; k++)
		if (l->options->programs[k] &&
		        program_check(l->options->programs[k], l->root, err) < 0)
			return error_wrap(err, "%s", program_name((enum program_kind)k));
	return 0;
}

static struct launcher *launcher_new(const struct launcher_options *options, struct error *err)
{
	struct launcher *l = xcalloc(1, sizeof(*l));

	l->loop = loop_new();
	l->hooks = launcher_hooks();
	l->root = geteuid() == 0;
	l->options = copy_options(options);
	if (access(l->options->shepherd, X_OK) < 0)
		fail(err, "cannot execute the shepherd", l->options->shepherd);
	else if (check_programs(l, err) == 0 && launcher_dirs_make(l, err) == 0 &&
	         launcher_dirs_lock(l, err) == 0)
		return l;
	launcher_free(l);
	return NULL;
}

static void state_due(evutil_socket_t fd, short what, void *arg)
{
	struct launcher *l = arg;
	struct error err;

	(void)fd;
	(void)what;
	epochs_save_job(l);
	/* The job that should have removed them may have been killed, or have failed. */
	if (l->loop->sweep && recover_leftovers(l, &err) == 0)
		l->loop->sweep = false;
}

void launcher_sweep_later(struct launcher *l)
{
	l->loop->sweep = true;
}

/* --- news of shepherds ------------------------------------------------------------------------ */

static void news_come(evutil_socket_t fd, short what, void *arg)
{
	struct launcher *l = arg;
	char name[RECORD_ID_MAX];
	struct run_id id;
	struct run *r;
	ssize_t n;

	(void)what;
	while ((n = recv(fd, name, sizeof(name) - 1, MSG_DONTWAIT)) >= 0) {
		name[n] = '\0';
		r = record_id_parse(name, &id) == 0 ? run_find(l, id) : NULL;
		if (r)
			run_poll(r);
	}
}

/* Shepherds are followed by pidfd. They are reaped here and nowhere else, so that the id of a
 * shepherd that was just started cannot be another process's. */
static void children_ended(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	(void)arg;
	while (waitpid(-1, NULL, WNOHANG) > 0)
		;
}

/* The network half's user may be unable to open the log, so it is sent our descriptor. */
static void hung_up(evutil_socket_t sig, short what, void *arg)
{
	struct error err;
	int fd;

	(void)sig;
	(void)what;
	if (log_reopen(&err) < 0)
		log_error("%s", err.text);
	else if ((fd = log_keep()) >= 0)
		streams_hand_log(arg, fd);
}

/* --- the process ------------------------------------------------------------------------------ */

static int open_parts(struct launcher *l, int sock, struct error *err)
{
	struct worker_limits ask = {
		.threads = POOL_THREADS, .max_queued = POOL_QUEUE, .max_per_key = POOL_QUEUE
	};
	struct worker_limits disk = {
		.threads = 1, .max_queued = POOL_QUEUE, .max_per_key = POOL_QUEUE
	};
	int64_t oldest = signature_uses_oldest((int64_t)time(NULL), l->options->signature_age_s);
	struct launcher_loop *loop = l->loop;

	settings_load(l);
	if (containment_start(l, err) < 0)
		return -1;
	l->base = event_base_new();
	loop->munge = mcred_munge_new(l->options->munge_socket, l->options->munge_socket_2);
	if (!l->base || !loop->munge)
		abort();
	if ((loop->news = order_socket_open(l->dirs->rundir, NOTIFY_SOCKET_NAME, err)) < 0 ||
	        !(l->pool = worker_pool_new(l->base, &ask, err)) ||
	        !(l->disk = worker_pool_new(l->base, &disk, err)) ||
	        !(l->signature_uses = signature_uses_new(l->dirs->spool, oldest, err)))
		return -1;
	l->runs = runs_new();
	l->replicas = replicas_new(l);
	l->service_ports = service_ports_new();
	l->starts = starts_new();
	l->gpu_reclaim = gpu_reclaim_new();
	l->spool_full = spool_full_new(l);
	l->usage_sampling = usage_sampling_new(l);
	l->munge_queries = munge_queries_new(l->base, l->pool, loop->munge);
	l->user_lookup = user_lookup_new(l->pool);
	l->agent = agent_channel_new(l, sock, order_dispatch);
	l->node_report = node_report_new();
	loop->news_event = event_new(l->base, loop->news, EV_READ | EV_PERSIST, news_come, l);
	loop->state_event = event_new(l->base, -1, EV_PERSIST, state_due, l);
	loop->child_event = evsignal_new(l->base, SIGCHLD, children_ended, l);
	loop->hup_event = evsignal_new(l->base, SIGHUP, hung_up, l);
	if (!loop->news_event || !loop->state_event || !loop->child_event || !loop->hup_event)
		abort();
	return 0;
}

static int start_launcher(struct launcher *l, int sock, struct error *err)
{
	static const struct timeval save = { .tv_sec = STATE_SAVE_S };

	if (open_parts(l, sock, err) < 0)
		return -1;
	epochs_load(l);
	/* The socket for news exists already: events during the scan are not lost. */
	if (launcher_dirs_incarnation(l, err) < 0)
		return -1;
	event_add(l->loop->child_event, NULL);
	event_add(l->loop->hup_event, NULL);
	if (recover_runs(l, err) < 0 || launcher_dirs_save_incarnation(l, err) < 0)
		return -1;
	agent_channel_begin(l->agent);
	event_add(l->loop->news_event, NULL);
	event_add(l->loop->state_event, &save);
	log_info("launcher of node %s: %s%s%s%s, %zu runs, incarnation %s%s", l->options->node,
	        l->containment->active, *contain_root_why(l->containment->root) ? " (" : "",
	        contain_root_why(l->containment->root),
	        *contain_root_why(l->containment->root) ? ")" : "", runs_count(l),
	        l->dirs->incarnation, l->dirs->fresh ? " (new)" : "");
	if (settings_allow(l, err) < 0)
		settings_log(l);
	l->template_client = template_client_new(l);
	l->mps_pool = mps_pool_start(l);
	l->health = health_start(l);
	settings_watch(l);
	l->gpu_faults = gpu_faults_new(l);
	l->gpu_checks = gpu_checks_new();
	l->gpu_leftovers = gpu_leftovers_new(l);
	l->gpu_job_files = gpu_job_files_new(l);
	gpu_inventory_start(l);
	return 0;
}

/* Each living run holds a descriptor, and the usual 1024 are too few for a large node. */
static void raise_descriptors(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur >= DESCRIPTORS)
		return;
	limit.rlim_cur = limit.rlim_max < DESCRIPTORS ? limit.rlim_max : DESCRIPTORS;
	setrlimit(RLIMIT_NOFILE, &limit);
}

/* Keep nothing of the agent's: neither descriptors nor handlers. A terminal or a service manager
 * stops the agent, and the launcher ends when the agent does. */
static void become_launcher(const struct launcher *l, int sock)
{
	const struct launcher_dirs *p = l->dirs;
	int keep[] = { sock, p->lock, p->rundir, p->runs, p->spool, p->spool_runs, p->exits,
		p->outputs, p->holds, p->private_dir, p->mps_dir, streams_fd(l->streams),
		log_keep() };
	struct sigaction ign = { .sa_handler = SIG_IGN };
	int high = 2;

	for (size_t i = 0; i < sizeof(keep) / sizeof(keep[0]); i++)
		high = keep[i] > high ? keep[i] : high;
	for (int fd = 3; fd <= high; fd++) {
		bool kept = false;

		for (size_t i = 0; i < sizeof(keep) / sizeof(keep[0]); i++)
			kept = kept || keep[i] == fd;
		if (!kept)
			close(fd);
	}
	syscall(SYS_close_range, high + 1, ~0U, 0);
	for (int sig = 1; sig < NSIG; sig++)
		signal(sig, SIG_DFL);
	sigaction(SIGINT, &ign, NULL);
	sigaction(SIGHUP, &ign, NULL);
	sigaction(SIGTERM, &ign, NULL);
	sigaction(SIGQUIT, &ign, NULL);
	sigaction(SIGPIPE, &ign, NULL);
	prctl(PR_SET_NAME, "gnoded-launcher");
#ifndef __SANITIZE_ADDRESS__ /* the leak checker looks into its own process by ptrace(2) */
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
#endif
	umask(077);
	raise_descriptors();
}

static _Noreturn void launcher_main(struct launcher *l, int sock)
{
	struct error err;
	int r;

	become_launcher(l, sock);
	r = start_launcher(l, sock, &err);
	if (r < 0)
		log_error("launcher: %s", err.text);
	else
		event_base_dispatch(l->base);
	epochs_save_job(l);
	launcher_free(l);
	log_close();
	exit(r == 0 ? EXIT_SUCCESS : err.code == ERR_CONFIG ? LAUNCHER_NEVER : EXIT_FAILURE);
}

/* The agent's ends are ours[0] and, if there are streams, ours[1]. */
static int make_pairs(struct launcher *l, bool streams, int ours[2], int *its, struct error *err)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) < 0)
		return fail(err, "cannot make a pair of sockets for", "the launcher");
	ours[0] = pair[0];
	*its = pair[1];
	if (!streams) {
		l->streams = streams_new(-1);
		return 0;
	}
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) < 0) {
		close(ours[0]);
		close(*its);
		return fail(err, "cannot make a pair of sockets for", "streams");
	}
	ours[1] = pair[0];
	l->streams = streams_new(pair[1]);
	return 0;
}

int launcher_fork(
        const struct launcher_options *options, int *streams, pid_t *pid, struct error *err)
{
	struct launcher *l = launcher_new(options, err);
	int ours[2] = { -1, -1 }, its = -1;
	pid_t child;

	if (!l)
		return -1;
	if (make_pairs(l, streams != NULL, ours, &its, err) < 0) {
		launcher_free(l);
		return -1;
	}
	child = fork();
	if (child == 0) {
		close(ours[0]);
		fd_close(ours[1]);
		launcher_main(l, its);
	}
	close(its);
	if (child < 0) {
		fail(err, "cannot fork", "the launcher");
		close(ours[0]);
		fd_close(ours[1]);
	}
	launcher_free(l); /* the lock is the child's */
	if (child < 0)
		return -1;
	*pid = child;
	if (streams)
		*streams = ours[1];
	return ours[0];
}
