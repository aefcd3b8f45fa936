/* launcher.c - see launcher.h; the parts are described in lpriv.h */
#include "config.h"

#include "noded/launcher/launcher.h"

#include <errno.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
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

#include "common/base/log.h"
#include "common/base/xalloc.h"
#include "common/net/frame.h"
#include "common/net/msg.h"
#include "noded/launcher/lpriv.h"
#include "noded/record/order.h"

#define STATE_SAVE_S 10 /* how old max_job on disk may be */
#define POOL_THREADS 4  /* one for each kind of query (lookup.c), and one to spare */
#define POOL_QUEUE   65536
#define DESCRIPTORS  65536 /* as many as runs (RUNS_MAX) */

usec_t launcher_clock_us(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return (usec_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

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
}

static void copy_options(struct launcher_options *to, const struct launcher_options *from)
{
	*to = (struct launcher_options){
		.node = xstrdup(from->node),
		.cluster = xstrdup(from->cluster),
		.rundir = absolute(from->rundir),
		.spool = absolute(from->spool),
		.munge_socket = xstrdup(or_empty(from->munge_socket)),
		.munge_socket_2 = xstrdup(or_empty(from->munge_socket_2)),
		.shepherd = absolute(from->shepherd),
		.cgroup = xstrdup(or_empty(from->cgroup)),
		.signature_age_s =
		        from->signature_age_s ? from->signature_age_s : LAUNCHER_SIGNATURE_AGE_S,
		.kill_wait_ms = from->kill_wait_ms,
		.launch_timeout_ms = from->launch_timeout_ms,
		.spool_min_free_mb = from->spool_min_free_mb,
		.gpu_timeout_ms = from->gpu_timeout_ms,
		.gpu_recheck_ms = from->gpu_recheck_ms,
		.sample_ms = from->sample_ms,
		.over_memory = from->over_memory,
		.over_memory_said = from->over_memory_said,
		.share_users_one = from->share_users_one,
		.mps = from->mps ? from->mps : LAUNCHER_MPS,
		.allow_root = from->allow_root,
		.max_processes = from->max_processes ? from->max_processes : LAUNCHER_MAX_PROCESSES,
		.devices = from->devices,
		.containment = or_empty(from->containment),
		.program_timeout_ms =
		        from->program_timeout_ms ? from->program_timeout_ms : PROGRAM_TIMEOUT_MS,
		.health_interval_s = from->health_interval_s,
		.private_kinds = from->private_kinds,
		.private_tmp_mb = from->private_tmp_mb,
		.rlimits = from->rlimits,
		.n_rlimits = from->n_rlimits,
	};
	to->programs_of = from->programs_of;
	memcpy(to->programs, from->programs, sizeof(to->programs));
}

static void close_if(int fd)
{
	if (fd >= 0)
		close(fd);
}

static void launcher_free(struct launcher *l)
{
	l->closing = true;
	lookup_free(l->lookup);
	start_free_dropped(l);
	runs_free(l);
	worker_pool_free(l->pool);
	worker_pool_free(l->disk);
	spool_guard_free(l);
	gpu_occupants_free(l->left);
	gpu_faults_free(l->faults);
	gpu_inventory_free(l->gpus);
	health_free(l->checks);
	usage_loop_free(l->watch);
	gpu_reclaim_free(l->burst);
	mps_pool_free(l->mps);
	template_client_free(l->shepherds);
	if (l->news_event)
		event_free(l->news_event);
	if (l->state_event)
		event_free(l->state_event);
	if (l->child_event)
		event_free(l->child_event);
	if (l->hup_event)
		event_free(l->hup_event);
	if (l->programs_event)
		event_free(l->programs_event);
	if (l->agent)
		bufferevent_free(l->agent);
	frame_reader_free(l->reader);
	arena_free(l->arena);
	if (l->base)
		event_base_free(l->base);
	mcred_ops_free(l->munge);
	sigcount_free(l->sigcount);
	contain_root_free(l->contain);
	device_grants_free(l->device_grants);
	settings_free(l);
	close_if(l->news);
	close_if(l->streams);
	close_if(l->outputs);
	close_if(l->holds);
	close_if(l->private_dir);
	close_if(l->mps_dir);
	close_if(l->exits);
	close_if(l->spool_runs);
	close_if(l->runs);
	close_if(l->spool);
	close_if(l->rundir);
	close_if(l->lock);
	free(l->runs_path);
	free(l->spool_runs_path);
	free(l->private_path);
	free(l->mps_path);
	free_options(&l->options);
	free(l);
}

/* A user who can change a program that root runs has root's power. */
static int check_programs(const struct launcher *l, struct error *err)
{
	for (int k = 0; k < PROGRAM_KINDS; k++)
		if (l->options.programs[k] &&
		        program_check(l->options.programs[k], l->root, err) < 0)
			return error_wrap(err, "%s", program_name((enum program_kind)k));
	return 0;
}

static struct launcher *launcher_new(const struct launcher_options *options, struct error *err)
{
	struct launcher *l = xcalloc(1, sizeof(*l));

	l->lock = l->rundir = l->runs = l->spool = l->spool_runs = l->exits = l->outputs = l->news =
	        -1;
	l->streams = l->private_dir = l->mps_dir = l->holds = -1;
	l->root = geteuid() == 0;
	copy_options(&l->options, options);
	if (access(l->options.shepherd, X_OK) < 0)
		fail(err, "cannot execute the shepherd", l->options.shepherd);
	else if (check_programs(l, err) == 0 && places_make(l, err) == 0 &&
	         places_lock(l, err) == 0)
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
	places_save_job(l);
	/* The job that should have removed them may have been killed, or have failed. */
	if (l->sweep && recover_leftovers(l, &err) == 0)
		l->sweep = false;
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

/* A tag for the cgroup root, from the directory: two clusters on one host may use the same node
 * name, but not the same directory. */
static char *contain_tag(const struct launcher *l)
{
	char *real = realpath(l->options.rundir, NULL);
	uint64_t h = 0xcbf29ce484222325u;

	for (const char *p = real ? real : l->options.rundir; *p; p++)
		h = (h ^ (uint8_t)*p) * 0x100000001b3u;
	free(real);
	return xasprintf("%s.%08x", l->options.node, (unsigned)(h ^ h >> 32));
}

/* Why demanded containment is not active: each reason once, joined by "; ". */
static void say_why_not(struct launcher *l)
{
	const char *root = contain_root_why(l->contain), *why[3] = { NULL };
	size_t n = 0;

	if (contain_words_have(l->lacks, CONTAIN_DEVICES))
		why[0] = *root ? root : "the kernel takes no filter of devices from us";
	if (contain_words_lack(l->lacks, CONTAIN_DEVICES ", " PRIVATE_WORDS))
		why[1] = *root ? root : "cgroups have no such controller for us";
	for (int k = 0; k < PRIVATE_KINDS; k++)
		if (contain_words_have(l->lacks, private_name((enum private_kind)k)))
			why[2] = private_why((enum private_kind)k, l->private_path);
	if (why[0] == why[1])
		why[1] = NULL;
	l->active_why[0] = '\0';
	for (int i = 0; i < 3 && n < sizeof(l->active_why); i++)
		if (why[i])
			n += (size_t)snprintf(l->active_why + n, sizeof(l->active_why) - n, "%s%s",
			        n ? "; " : "", why[i]);
}

static void say_active(struct launcher *l)
{
	const char *lacks;
	size_t n;

	contain_root_active(l->contain, l->filter, l->active, sizeof(l->active));
	for (int k = 0; k < PRIVATE_KINDS; k++) {
		n = strlen(l->active);
		if (l->private_kinds & 1u << k)
			snprintf(l->active + n, sizeof(l->active) - n, ",%s",
			        private_name((enum private_kind)k));
	}
	lacks = contain_words_lack(l->rules.containment, l->active);
	snprintf(l->lacks, sizeof(l->lacks), "%s", lacks ? lacks : "");
	say_why_not(l);
}

void launcher_filter_devices(struct launcher *l)
{
	l->filter = contain_root_filters_devices(l->contain);
	say_active(l);
}

static void try_private(struct launcher *l)
{
	char *probe = xasprintf("%s/probe", l->private_path);
	uint32_t wanted = l->rules.private_kinds;

	l->private_kinds = private_works(wanted, probe, l->rules.private_tmp_mb);
	for (int k = 0; k < PRIVATE_KINDS; k++)
		if (wanted & ~l->private_kinds & 1u << k)
			log_warning("runs share '%s': %s", private_name((enum private_kind)k),
			        private_why((enum private_kind)k, l->private_path));
	free(probe);
}

static void name_devices(struct launcher *l)
{
	struct error err;

	device_grants_free(l->device_grants);
	l->device_grants = device_grants_new(&l->rules.devices, &err);
	if (l->device_grants)
		return;
	log_error("the GPUs' device files as the controller names them: %s", err.text);
	l->rules.devices.gpus = l->options.devices.gpus; /* these could be read at the start */
	l->rules.devices.gpus_told = false;
	l->device_grants = device_grants_new(&l->rules.devices, &err);
	if (!l->device_grants)
		abort();
}

/* Devices are filtered if the GPUs' files are known, found by us or named, and if the site demands
 * it. */
void launcher_contain(struct launcher *l)
{
	contain_root_demand(l->contain, l->rules.containment);
	name_devices(l);
	try_private(l);
	l->filter = contain_root_filters_devices(l->contain) &&
	            (device_grants_know_gpus(l->device_grants) || gpu_inventory_found(l->gpus) ||
	                    contain_words_have(l->rules.containment, CONTAIN_DEVICES));
	say_active(l);
}

/* Containment that the agent's own options demand must be available, or the agent does not start.
 * If only the controller demands it, runs are refused (settings_allow()) and the agent stays: it
 * has to say why, watch the runs that exist, and receive a configuration that demands less. */
static int choose_containment(struct launcher *l, struct error *err)
{
	struct device_grants *own = device_grants_new(&l->options.devices, err);
	const char *lacks;

	device_grants_free(own);
	if (!own)
		return -1;
	launcher_contain(l);
	lacks = contain_words_lack(l->options.containment, l->active);
	if (lacks)
		return error_set(err, ERR_CONFIG,
		        "--containment: %s cannot be had here (%s); active would be %s", lacks,
		        l->active_why, l->active);
	return 0;
}

static int open_parts(struct launcher *l, int sock, struct error *err)
{
	struct worker_limits ask = {
		.threads = POOL_THREADS, .max_queued = POOL_QUEUE, .max_per_key = POOL_QUEUE
	};
	struct worker_limits disk = {
		.threads = 1, .max_queued = POOL_QUEUE, .max_per_key = POOL_QUEUE
	};
	int64_t oldest = (int64_t)time(NULL) - (int64_t)l->options.signature_age_s;
	char *tag = contain_tag(l);

	settings_load(l);
	l->contain = contain_root_new(l->options.cgroup, tag, l->rules.containment, err);
	free(tag);
	if (!l->contain || contain_root_enter(l->contain, err) < 0 ||
	        choose_containment(l, err) < 0)
		return -1;
	l->base = event_base_new();
	l->arena = arena_new(MSG_BODY_MAX_JOB);
	l->reader = frame_reader_new(NULL, MSG_BY_AGENT_LOCAL);
	l->munge = mcred_munge_new(l->options.munge_socket, l->options.munge_socket_2);
	if (!l->base || !l->arena || !l->reader || !l->munge)
		abort();
	if ((l->news = order_socket(l->rundir, NOTIFY_SOCKET, err)) < 0 ||
	        !(l->pool = worker_pool_new(l->base, &ask, err)) ||
	        !(l->disk = worker_pool_new(l->base, &disk, err)) ||
	        !(l->sigcount = sigcount_new(l->spool, oldest, err)))
		return -1;
	l->burst = gpu_reclaim_new();
	spool_guard_start(l);
	l->watch = usage_loop_new(l);
	l->lookup = lookup_new(l->base, l->pool, l->munge);
	l->agent = bufferevent_socket_new(l->base, sock, BEV_OPT_CLOSE_ON_FREE);
	l->news_event = event_new(l->base, l->news, EV_READ | EV_PERSIST, news_come, l);
	l->state_event = event_new(l->base, -1, EV_PERSIST, state_due, l);
	l->child_event = evsignal_new(l->base, SIGCHLD, children_ended, l);
	l->hup_event = evsignal_new(l->base, SIGHUP, hung_up, l);
	if (!l->agent || !l->news_event || !l->state_event || !l->child_event || !l->hup_event)
		abort();
	return 0;
}

static int start(struct launcher *l, int sock, struct error *err)
{
	static const struct timeval save = { .tv_sec = STATE_SAVE_S };

	if (open_parts(l, sock, err) < 0)
		return -1;
	places_load(l);
	/* The socket for news exists already: events during the scan are not lost. */
	if (places_incarnation(l, err) < 0)
		return -1;
	event_add(l->child_event, NULL);
	event_add(l->hup_event, NULL);
	if (recover_runs(l, err) < 0 || places_save_incarnation(l, err) < 0)
		return -1;
	bufferevent_setcb(l->agent, protocol_read, NULL, protocol_event, l);
	bufferevent_enable(l->agent, EV_READ | EV_WRITE);
	event_add(l->news_event, NULL);
	event_add(l->state_event, &save);
	log_info("launcher of node %s: %s%s%s%s, %zu runs, incarnation %s%s", l->options.node,
	        l->active, *contain_root_why(l->contain) ? " (" : "", contain_root_why(l->contain),
	        *contain_root_why(l->contain) ? ")" : "", l->n_runs, l->incarnation,
	        l->fresh ? " (new)" : "");
	if (settings_allow(l, err) < 0)
		settings_log(l);
	l->shepherds = template_client_new(l);
	l->mps = mps_pool_start(l);
	l->checks = health_start(l);
	settings_watch(l);
	l->faults = gpu_faults_new(l);
	l->left = gpu_occupants_new(l);
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
	int keep[] = { sock, l->lock, l->rundir, l->runs, l->spool, l->spool_runs, l->exits,
		l->outputs, l->holds, l->private_dir, l->mps_dir, l->streams, log_keep() };
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
	r = start(l, sock, &err);
	if (r < 0)
		log_error("launcher: %s", err.text);
	else
		event_base_dispatch(l->base);
	places_save_job(l);
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
	if (!streams)
		return 0;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) < 0) {
		close(ours[0]);
		close(*its);
		return fail(err, "cannot make a pair of sockets for", "streams");
	}
	ours[1] = pair[0];
	l->streams = pair[1];
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
		close_if(ours[1]);
		launcher_main(l, its);
	}
	close(its);
	if (child < 0) {
		fail(err, "cannot fork", "the launcher");
		close(ours[0]);
		close_if(ours[1]);
	}
	launcher_free(l); /* the lock is the child's */
	if (child < 0)
		return -1;
	*pid = child;
	if (streams)
		*streams = ours[1];
	return ours[0];
}
