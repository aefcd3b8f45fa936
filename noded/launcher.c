/* launcher.c - see launcher.h; the parts are described in lpriv.h */
#include "config.h"

#include "noded/launcher.h"

#include <errno.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/frame.h"
#include "common/hello.h"
#include "common/log.h"
#include "common/msg.h"
#include "common/xalloc.h"
#include "noded/lpriv.h"
#include "noded/order.h"

#define LOCK_PATIENCE_S  10 /* for the launcher before us to end */
#define STATE_SAVE_S     10 /* how old max_job on disk may be */
#define POOL_THREADS     4  /* one for each kind of question (asked.c), and one to spare */
#define POOL_QUEUE       65536
#define HELLO_OVER_MAX   4096 /* of at most some 700 bytes: MSG_BODY_MAX_JOB holds them */
#define INCARNATION_FILE "incarnation"
#define STATE_FILE       "state"

/* --- before the fork: all that can be said to whoever starts the agent -------------------------
 */

static int fail(struct error *err, const char *what, const char *path)
{
	return error_set(err, ERR_SYSTEM, "%s '%s': %s", what, path, strerror(errno));
}

/* Make a directory if it is missing; it must be ours and nobody else's to write. */
static int open_own_dir(int at, const char *name, const char *path, mode_t mode, struct error *err)
{
	struct stat st;
	int fd;

	if (mkdirat(at, name, mode) < 0 && errno != EEXIST)
		return fail(err, "cannot make the directory", path);
	fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0) {
		fail(err, "cannot open the directory", path);
		goto error;
	}
	if (st.st_uid != geteuid() || (st.st_mode & 022)) {
		error_set(err, ERR_USAGE,
		        "directory '%s' is owned by uid %u with mode %03o; it must be ours and not "
		        "writable by others",
		        path, (unsigned)st.st_uid, st.st_mode & 0777);
		goto error;
	}
	if (fchmod(fd, mode) < 0) {
		fail(err, "cannot protect the directory", path);
		goto error;
	}
	return fd;
error:
	if (fd >= 0)
		close(fd);
	return -1;
}

static int open_sub_dir(
        int parent, const char *path, const char *name, mode_t mode, char **full, struct error *err)
{
	char *p = xasprintf("%s/%s", path, name);
	int fd = open_own_dir(parent, name, p, mode, err);

	if (full && fd >= 0)
		*full = p;
	else
		free(p);
	return fd;
}

static int make_dirs(struct launcher *l, struct error *err)
{
	const struct launcher_options *o = &l->options;
	struct statvfs vfs;

	if ((l->rundir = open_own_dir(AT_FDCWD, o->rundir, o->rundir, 0711, err)) < 0 ||
	        (l->spool = open_own_dir(AT_FDCWD, o->spool, o->spool, 0711, err)) < 0 ||
	        (l->runs = open_sub_dir(l->rundir, o->rundir, "runs", 0700, &l->runs_path, err)) <
	                0 ||
	        (l->spool_runs = open_sub_dir(
	                 l->spool, o->spool, "runs", 0711, &l->spool_runs_path, err)) < 0 ||
	        (l->exits = open_sub_dir(l->spool, o->spool, "exits", 0700, NULL, err)) < 0)
		return -1;
	if (fstatvfs(l->spool, &vfs) == 0 && (vfs.f_flag & ST_NOEXEC)) {
		error_set(err, ERR_USAGE,
		        "spool directory '%s' is mounted noexec: no job could "
		        "execute its script",
		        o->spool);
		return -1;
	}
	return 0;
}

/* The launcher before us may be ending just now. */
static int take_lock(struct launcher *l, struct error *err)
{
	l->lock = openat(l->rundir, "lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (l->lock < 0)
		return fail(err, "cannot open the lock in", l->options.rundir);
	for (int ms = 0; flock(l->lock, LOCK_EX | LOCK_NB) < 0; ms += 20) {
		if (errno != EWOULDBLOCK || ms > LOCK_PATIENCE_S * 1000)
			return error_set(err, ERR_USAGE, "'%s' is in use by another agent",
			        l->options.rundir);
		poll(NULL, 0, 20);
	}
	return 0;
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
		.allow_root = from->allow_root,
	};
}

static void close_if(int fd)
{
	if (fd >= 0)
		close(fd);
}

static void launcher_free(struct launcher *l)
{
	l->closing = true;
	asked_free(l->asked);
	lstart_free_dropped(l);
	lruns_free(l);
	worker_pool_free(l->pool);
	worker_pool_free(l->disk);
	if (l->news_event)
		event_free(l->news_event);
	if (l->state_event)
		event_free(l->state_event);
	if (l->child_event)
		event_free(l->child_event);
	if (l->hup_event)
		event_free(l->hup_event);
	if (l->agent)
		bufferevent_free(l->agent);
	frame_reader_free(l->reader);
	arena_free(l->arena);
	if (l->base)
		event_base_free(l->base);
	mcred_ops_free(l->munge);
	mcred_ops_free(l->second);
	uses_free(l->uses);
	contain_root_free(l->contain);
	close_if(l->news);
	close_if(l->exits);
	close_if(l->spool_runs);
	close_if(l->runs);
	close_if(l->spool);
	close_if(l->rundir);
	close_if(l->lock);
	free(l->runs_path);
	free(l->spool_runs_path);
	free_options(&l->options);
	free(l);
}

static struct launcher *launcher_new(const struct launcher_options *options, struct error *err)
{
	struct launcher *l = xcalloc(1, sizeof(*l));

	l->lock = l->rundir = l->runs = l->spool = l->spool_runs = l->exits = l->news = -1;
	l->root = geteuid() == 0;
	copy_options(&l->options, options);
	if (access(l->options.shepherd, X_OK) < 0)
		fail(err, "cannot execute the shepherd", l->options.shepherd);
	else if (make_dirs(l, err) == 0 && take_lock(l, err) == 0)
		return l;
	launcher_free(l);
	return NULL;
}

/* --- what is remembered ----------------------------------------------------------------------- */

static void load_state(struct launcher *l, int dirfd)
{
	ProtobufCMessage *m;
	struct error err;
	Gpusched__LauncherState *s;
	int r = record_read(dirfd, STATE_FILE, &gpusched__launcher_state__descriptor, &m, &err);

	if (r < 0)
		log_error("what the launcher remembered: %s", err.text);
	if (r <= 0)
		return;
	s = (Gpusched__LauncherState *)m;
	if (s->max_epoch > l->max_epoch)
		l->max_epoch = s->max_epoch;
	if (s->max_job > l->max_job)
		l->max_job = s->max_job;
	protobuf_c_message_free_unpacked(m, NULL);
}

static void save_state(struct launcher *l, int dirfd, unsigned flags)
{
	Gpusched__LauncherState s = GPUSCHED__LAUNCHER_STATE__INIT;
	struct error err;

	s.max_epoch = l->max_epoch;
	s.max_job = l->max_job;
	if (record_write(dirfd, STATE_FILE, &s.base, flags, &err) < 0)
		log_error("highest epoch and job id: %s", err.text);
}

void launcher_saw_epoch(struct launcher *l, uint64_t epoch)
{
	if (epoch <= l->max_epoch)
		return;
	l->max_epoch = epoch;
	save_state(l, l->rundir, 0);
	save_state(l, l->spool, RECORD_SYNC); /* once in a controller's life */
}

void launcher_saw_job(struct launcher *l, uint64_t job)
{
	if (job <= l->max_job)
		return;
	l->max_job = job;
	l->job_unsaved = true;
	save_state(l, l->rundir, 0);
}

static void state_due(evutil_socket_t fd, short what, void *arg)
{
	struct launcher *l = arg;

	(void)fd;
	(void)what;
	if (l->job_unsaved)
		save_state(l, l->spool, 0);
	l->job_unsaved = false;
}

/* Boot id, and a random id that lives as long as tmpfs does. */
static int find_incarnation(struct launcher *l, struct error *err)
{
	char path[] = "/proc/sys/kernel/random/boot_id", known[sizeof(l->incarnation)] = "";
	FILE *f = fopen(path, "re");
	uint64_t chance;
	int fd, n;

	if (!f || !fgets(l->boot_id, sizeof(l->boot_id), f))
		n = -1;
	else
		n = 0;
	if (f)
		fclose(f);
	if (n < 0)
		return fail(err, "cannot read", path);
	l->boot_id[strcspn(l->boot_id, "\n")] = '\0';
	fd = openat(l->rundir, INCARNATION_FILE, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd >= 0) {
		n = (int)read(fd, known, sizeof(known) - 1);
		known[n > 0 ? n : 0] = '\0';
		close(fd);
	}
	n = (int)strlen(l->boot_id);
	if (strncmp(known, l->boot_id, (size_t)n) == 0 && known[n] == '-' &&
	        strlen(known) == (size_t)n + 1 + 16) {
		memcpy(l->incarnation, known, sizeof(known));
		return 0;
	}
	l->fresh = true;
	if (getrandom(&chance, sizeof(chance), 0) != sizeof(chance))
		return fail(err, "no randomness from", "getrandom");
	snprintf(l->incarnation, sizeof(l->incarnation), "%s-%016llx", l->boot_id,
	        (unsigned long long)chance);
	return 0;
}

/* Written last: an incarnation is one only when nothing of the one before it is left. */
static int save_incarnation(struct launcher *l, struct error *err)
{
	static const char tmp[] = INCARNATION_FILE ".tmp";
	size_t n = strlen(l->incarnation);
	int fd;

	if (!l->fresh)
		return 0;
	unlinkat(l->rundir, tmp, 0);
	fd = openat(l->rundir, tmp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0 || write(fd, l->incarnation, n) != (ssize_t)n ||
	        renameat(l->rundir, tmp, l->rundir, INCARNATION_FILE) < 0) {
		fail(err, "cannot write the incarnation in", l->options.rundir);
		close_if(fd);
		return -1;
	}
	close(fd);
	return 0;
}

/* --- messages --------------------------------------------------------------------------------- */

void launcher_send(struct launcher *l, unsigned type, const ProtobufCMessage *m)
{
	struct error err;
	uint8_t *bytes;
	size_t len;

	if (!l->agent)
		return;
	if (msg_pack_frame(type, 0, m, &bytes, &len, &err) < 0) {
		log_error("message to the agent: %s", err.text);
		return;
	}
	bufferevent_write(l->agent, bytes, len);
	free(bytes);
}

struct hello_list {
	Gpusched__RunReport **v;
	size_t n, over; /* entries; those of runs that are over */
};

/* Runs that live, and so many that are over as surely fit into one message. */
static void list_run(struct lrun *r, void *arg)
{
	struct hello_list *list = arg;

	if (r->report && (r->state != LRUN_OVER || list->over++ < HELLO_OVER_MAX))
		list->v[list->n++] = r->report;
}

/* The rest one by one. */
static void tell_rest(struct lrun *r, void *arg)
{
	struct hello_list *list = arg;

	if (r->state == LRUN_OVER && list->over++ >= HELLO_OVER_MAX)
		lrun_tell(r);
}

static void send_hello(struct launcher *l)
{
	Gpusched__LauncherHello h = GPUSCHED__LAUNCHER_HELLO__INIT;
	struct hello_list list = { .v = xcalloc(l->n_runs + 1, sizeof(*list.v)) };
	char version[] = PACKAGE_VERSION;

	lruns_each(l, list_run, &list);
	h.incarnation = l->incarnation;
	h.boot_id = l->boot_id;
	h.containment = (char *)(uintptr_t)contain_root_kind(l->contain);
	h.max_epoch = l->max_epoch;
	h.max_job = l->max_job;
	h.n_runs = list.n;
	h.runs = list.v;
	h.version = version;
	launcher_send(l, GPUSCHED__MSG_TYPE__MSG_LAUNCHER_HELLO, &h.base);
	free(list.v);
	list.over = 0;
	lruns_each(l, tell_rest, &list);
}

static bool run_named(const Gpusched__RunId *run)
{
	return run && run->job > 0 && run->attempt > 0;
}

static int on_start(struct launcher *l, const struct frame *f, struct error *err)
{
	(void)err;
	lstart_order(l, f->body, f->len);
	return 0;
}

static int on_end(struct launcher *l, const struct frame *f, struct error *err)
{
	const Gpusched__EndRun *m =
	        (const Gpusched__EndRun *)msg_unpack(f->type, f->body, f->len, l->arena, err);

	if (!m || !run_named(m->run))
		return m ? error_set(err, ERR_USAGE, "no run") : -1;
	lrun_end(l, m);
	return 0;
}

static int on_signal(struct launcher *l, const struct frame *f, struct error *err)
{
	const Gpusched__SignalRun *m =
	        (const Gpusched__SignalRun *)msg_unpack(f->type, f->body, f->len, l->arena, err);

	if (!m || !run_named(m->run))
		return m ? error_set(err, ERR_USAGE, "no run") : -1;
	if (m->signal < 1 || m->signal > 64)
		return error_set(err, ERR_USAGE, "signal %u", m->signal);
	lrun_signal(l, m);
	return 0;
}

static int on_forget(struct launcher *l, const struct frame *f, struct error *err)
{
	const Gpusched__ForgetRun *m =
	        (const Gpusched__ForgetRun *)msg_unpack(f->type, f->body, f->len, l->arena, err);

	if (!m)
		return -1;
	for (size_t i = 0; i < m->n_runs; i++)
		lrun_forget(l, lrun_id(m->runs[i]));
	return 0;
}

static int on_epoch(struct launcher *l, const struct frame *f, struct error *err)
{
	const Gpusched__LauncherEpoch *m = (const Gpusched__LauncherEpoch *)msg_unpack(
	        f->type, f->body, f->len, l->arena, err);

	if (!m)
		return -1;
	launcher_saw_epoch(l, m->epoch);
	return 0;
}

/* A question of the network half for a credential, while munge has it. */
struct cred_ask {
	struct launcher *l;
	uint64_t id;
};

static void cred_reply(struct launcher *l, uint64_t id, const char *cred, const struct error *err)
{
	Gpusched__LauncherCred m = GPUSCHED__LAUNCHER_CRED__INIT;

	m.id = id;
	if (cred) {
		m.credential = (char *)(uintptr_t)cred;
	} else {
		m.error = (uint32_t)err->code;
		m.error_text = (char *)(uintptr_t)err->text;
	}
	launcher_send(l, GPUSCHED__MSG_TYPE__MSG_LAUNCHER_CRED, &m.base);
}

static void cred_made(const char *credential, const struct error *err, void *arg)
{
	struct cred_ask *ask = arg;

	cred_reply(ask->l, ask->id, credential, err);
	free(ask);
}

/* Only what a hello of this node to its controller says is signed; never a job. */
static int on_cred(struct launcher *l, const struct frame *f, struct error *err)
{
	const Gpusched__LauncherCred *m =
	        (const Gpusched__LauncherCred *)msg_unpack(f->type, f->body, f->len, l->arena, err);
	struct hello_to to = {
		.role = "controller", .cluster = l->options.cluster, .node = l->options.node
	};
	struct cred_ask *ask;
	struct error why;

	if (!m)
		return -1;
	if (hello_payload_check(m->payload.data, m->payload.len, &to, &why) < 0 ||
	        (m->restrict_uid == (uint32_t)MCRED_ANY_UID &&
	                error_set(&why, ERR_AUTH, "a hello must be restricted to its reader"))) {
		log_warning("credential refused to the network half: %s", why.text);
		cred_reply(l, m->id, NULL, &why);
		return 0;
	}
	ask = xcalloc(1, sizeof(*ask));
	*ask = (struct cred_ask){ .l = l, .id = m->id };
	asked_make(
	        l->asked, m->payload.data, m->payload.len, (uid_t)m->restrict_uid, cred_made, ask);
	return 0;
}

static const struct {
	unsigned type;
	int (*handle)(struct launcher *l, const struct frame *f, struct error *err);
} handlers[] = {
	{ GPUSCHED__MSG_TYPE__MSG_START_RUN, on_start },
	{ GPUSCHED__MSG_TYPE__MSG_END_RUN, on_end },
	{ GPUSCHED__MSG_TYPE__MSG_SIGNAL_RUN, on_signal },
	{ GPUSCHED__MSG_TYPE__MSG_FORGET_RUN, on_forget },
	{ GPUSCHED__MSG_TYPE__MSG_LAUNCHER_CRED, on_cred },
	{ GPUSCHED__MSG_TYPE__MSG_LAUNCHER_EPOCH, on_epoch },
};

static int dispatch(struct launcher *l, const struct frame *f, struct error *err)
{
	for (size_t i = 0; i < sizeof(handlers) / sizeof(handlers[0]); i++)
		if (handlers[i].type == f->type)
			return handlers[i].handle(l, f, err);
	return error_set(err, ERR_PROTOCOL, "a message of type %u", f->type);
}

static void leave(struct launcher *l, const char *why)
{
	log_info("launcher ends: %s", why);
	event_base_loopexit(l->base, NULL);
}

/* What cannot be understood ends a connection; what only makes no sense is left undone. */
static int take_frames(struct launcher *l, struct error *err)
{
	struct frame f;
	struct error why;
	int r;

	while ((r = frame_reader_next(l->reader, &f, err)) > 0) {
		if (dispatch(l, &f, &why) == 0)
			continue;
		if (why.code == ERR_PROTOCOL) {
			*err = why;
			return -1;
		}
		log_warning("order ignored: %s", why.text);
	}
	return r;
}

static void agent_read(struct bufferevent *bev, void *arg)
{
	struct launcher *l = arg;
	struct evbuffer *in = bufferevent_get_input(bev);
	struct error err;
	size_t n, used;

	while ((n = evbuffer_get_contiguous_space(in)) > 0) {
		if (frame_reader_feed(l->reader, evbuffer_pullup(in, (ssize_t)n), n, &used, &err) <
		                0 ||
		        take_frames(l, &err) < 0) {
			log_error("the agent's network half: %s", err.text);
			leave(l, "it cannot be trusted any more");
			return;
		}
		evbuffer_drain(in, used);
	}
}

static void agent_event(struct bufferevent *bev, short what, void *arg)
{
	(void)bev;
	if (what & (BEV_EVENT_EOF | BEV_EVENT_ERROR))
		leave(arg, "the agent has ended");
}

/* --- news of shepherds ------------------------------------------------------------------------ */

static void news_come(evutil_socket_t fd, short what, void *arg)
{
	struct launcher *l = arg;
	char name[RECORD_ID_MAX];
	struct run_id id;
	struct lrun *r;
	ssize_t n;

	(void)what;
	while ((n = recv(fd, name, sizeof(name) - 1, MSG_DONTWAIT)) >= 0) {
		name[n] = '\0';
		r = record_id_parse(name, &id) == 0 ? lrun_find(l, id) : NULL;
		if (r)
			lrun_look(r);
	}
}

/* Shepherds are followed by pidfd; here their remains are taken away, and only here, so that the id
 * of one that was just started cannot be another's. */
static void children_ended(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	(void)arg;
	while (waitpid(-1, NULL, WNOHANG) > 0)
		;
}

static void hung_up(evutil_socket_t sig, short what, void *arg)
{
	struct error err;

	(void)sig;
	(void)what;
	(void)arg;
	if (log_reopen(&err) < 0)
		log_error("%s", err.text);
}

/* --- the process ------------------------------------------------------------------------------ */

/* For the cgroup root: node names of two clusters on one host may be equal, directories not. */
static char *contain_tag(const struct launcher *l)
{
	char *real = realpath(l->options.rundir, NULL);
	uint64_t h = 0xcbf29ce484222325u;

	for (const char *p = real ? real : l->options.rundir; *p; p++)
		h = (h ^ (uint8_t)*p) * 0x100000001b3u;
	free(real);
	return xasprintf("%s.%08x", l->options.node, (unsigned)(h ^ h >> 32));
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

	l->contain = contain_root_new(l->options.cgroup, tag, err);
	free(tag);
	l->base = event_base_new();
	l->arena = arena_new(MSG_BODY_MAX_JOB);
	l->reader = frame_reader_new(NULL, MSG_BY_AGENT_LOCAL);
	l->munge = mcred_munge_new(l->options.munge_socket);
	if (l->options.munge_socket_2[0])
		l->second = mcred_munge_new(l->options.munge_socket_2);
	if (!l->base || !l->arena || !l->reader || !l->munge)
		abort();
	if (!l->contain || (l->news = order_socket(l->rundir, NOTIFY_SOCKET, err)) < 0 ||
	        !(l->pool = worker_pool_new(l->base, &ask, err)) ||
	        !(l->disk = worker_pool_new(l->base, &disk, err)) ||
	        !(l->uses = uses_new(l->spool, oldest, err)))
		return -1;
	l->asked = asked_new(l->base, l->pool, l->munge, l->second);
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
	load_state(l, l->rundir);
	load_state(l, l->spool);
	/* The socket for news is there: what happens during the scan is not missed. */
	if (find_incarnation(l, err) < 0)
		return -1;
	event_add(l->child_event, NULL);
	event_add(l->hup_event, NULL);
	if (lscan(l, err) < 0 || save_incarnation(l, err) < 0)
		return -1;
	bufferevent_setcb(l->agent, agent_read, NULL, agent_event, l);
	bufferevent_enable(l->agent, EV_READ | EV_WRITE);
	event_add(l->news_event, NULL);
	event_add(l->state_event, &save);
	log_info("launcher of node %s: %s%s%s%s, %zu runs, incarnation %s%s", l->options.node,
	        contain_root_kind(l->contain), *contain_root_why(l->contain) ? " (" : "",
	        contain_root_why(l->contain), *contain_root_why(l->contain) ? ")" : "", l->n_runs,
	        l->incarnation, l->fresh ? " (new)" : "");
	send_hello(l);
	return 0;
}

/* Nothing of the agent's: neither descriptors nor handlers. It is the agent that is told to end, by
 * a terminal or a service manager; its end is ours. */
static void become_launcher(const struct launcher *l, int sock)
{
	int keep[] = { sock, l->lock, l->rundir, l->runs, l->spool, l->spool_runs, l->exits,
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
	state_due(-1, 0, l);
	launcher_free(l);
	log_close();
	exit(r < 0 ? EXIT_FAILURE : EXIT_SUCCESS);
}

int launcher_fork(const struct launcher_options *options, pid_t *pid, struct error *err)
{
	struct launcher *l = launcher_new(options, err);
	int pair[2];
	pid_t child;

	if (!l)
		return -1;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) < 0) {
		fail(err, "cannot make a pair of sockets for", "the launcher");
		launcher_free(l);
		return -1;
	}
	child = fork();
	if (child == 0) {
		close(pair[0]);
		launcher_main(l, pair[1]);
	}
	close(pair[1]);
	if (child < 0) {
		fail(err, "cannot fork", "the launcher");
		close(pair[0]);
	}
	launcher_free(l); /* the lock is the child's */
	if (child < 0)
		return -1;
	*pid = child;
	return pair[0];
}
