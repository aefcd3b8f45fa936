/* process_tracking.c - see process_tracking.h */
#include "noded/contain/process_tracking.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/fd_close.h"
#include "common/base/xalloc.h"
#include "noded/contain/cgroup_limits.h"
#include "noded/contain/cgroupfs.h"
#include "noded/contain/devfilter.h"
#include "noded/contain/procs.h"
#include "noded/contain/signals.h"

#define LEAF_PREFIX "run-"
#define OWN_LEAF    "agent" /* for the launcher, its helpers and the shepherds */
#define NESTED_MAX  16      /* nested cgroups that are removed with a leaf */
#define PROBE_LOOKS 5000    /* a millisecond each */

struct contain_root {
	char *path; /* NULL: subreaper */
	char why[160];
	int shortage; /* errno: a test failed for lack of a resource that may be there next time */
	bool named;   /* by the site: delegated to us */
	bool devices;
	struct cgroup_limits_root *limits;
};

struct contain {
	char *path;        /* "": subreaper */
	int dirfd, events; /* -1 */
};

/* --- the root --------------------------------------------------------------------------------- */

/* Does cgroup.kill end a process that was created in a leaf below `path`? */
static int try_path(const char *path)
{
	char *leaf = xasprintf("%s/" LEAF_PREFIX "probe", path);
	struct contain *c = contain_new(leaf, NULL);
	int r = -1, saved, looks = 0;
	siginfo_t si = { 0 };
	pid_t pid = -1;

	if (c)
		pid = contain_fork(c);
	if (pid == 0) {
		for (;;)
			pause();
	}
	if (pid > 0) {
		r = cgroupfs_write_at(c->dirfd, "cgroup.kill", "1");
		saved = errno;
		if (r < 0)
			kill(pid, SIGKILL);
		waitid(P_PID, (id_t)pid, &si, WEXITED);
		errno = saved;
	}
	saved = errno;
	if (c) {
		while (!contain_is_empty(c) && looks++ < PROBE_LOOKS)
			usleep(1000); /* it is dead; only its exit has not completed */
		contain_remove(c);
	}
	contain_free(c);
	free(leaf);
	errno = saved;
	return r;
}

static int shortage_of(int error)
{
	return error == EMFILE || error == ENFILE || error == ENOMEM ? error : 0;
}

/* Needs root, and a kernel that has it. */
static bool try_filter(const char *path, int *shortage)
{
	char *leaf = xasprintf("%s/" LEAF_PREFIX "probe", path);
	struct contain *c = contain_new(leaf, NULL);
	bool works = c && devfilter_attach(c->dirfd, NULL, 0, NULL) == 0;

	if (!works)
		*shortage = shortage_of(errno);
	if (c)
		contain_remove(c);
	contain_free(c);
	free(leaf);
	return works;
}

/* As root all agents of the host use one root, whatever cgroup they were started in: a restarted
 * agent must find the leaves again. Other agents have only what was delegated to them: their own
 * cgroup. */
static char *choose_path(const char *mount, const char *want, const char *tag)
{
	char *own, *path;

	if (want && *want)
		return xasprintf("%s/%s", mount, want + (*want == '/'));
	if (geteuid() == 0)
		return xasprintf("%s/gpusched/%s", mount, tag);
	own = cgroupfs_own();
	path = xasprintf("%s%s/gpusched-%s", mount, strcmp(own, "/") == 0 ? "" : own, tag);
	free(own);
	return path;
}

static int use_cgroup(
        struct contain_root *root, const char *want, const char *tag, const char *demanded)
{
	char *mount, *path = NULL;

	errno = 0;
	mount = cgroupfs_mount();
	if (!mount) {
		root->shortage = shortage_of(errno);
		snprintf(root->why, sizeof(root->why), "no cgroup2 hierarchy is mounted");
		return -1;
	}
	path = choose_path(mount, want, tag);
	if (cgroupfs_make(path, strlen(mount) + 1) < 0 || try_path(path) < 0) {
		root->shortage = shortage_of(errno);
		snprintf(root->why, sizeof(root->why), "%.100s: %s", path, strerror(errno));
		rmdir(path);
		free(path);
		path = NULL;
	}
	root->path = path;
	root->named = want && *want;
	root->devices = path && try_filter(path, &root->shortage);
	root->limits = path ? cgroup_limits_root_new(mount, path, demanded) : NULL;
	free(mount);
	return path ? 0 : -1;
}

struct contain_root *contain_root_new(
        const char *want, const char *tag, const char *demanded, struct error *err)
{
	struct contain_root *root = xcalloc(1, sizeof(*root));
	bool wanted = !want || strcmp(want, "none") != 0;

	if (!wanted) {
		snprintf(root->why, sizeof(root->why), "--cgroup=none");
	} else if (use_cgroup(root, want, tag, demanded) < 0 && want && *want) {
		error_set(err, ERR_SYSTEM, "cgroup '%s' cannot be used: %s", want, root->why);
		contain_root_free(root);
		return NULL;
	}
	if (root->shortage) {
		error_set(err, ERR_SYSTEM, "what holds runs here cannot be found out: %s",
		        strerror(root->shortage));
		contain_root_free(root);
		return NULL;
	}
	return root;
}

int contain_root_enter(const struct contain_root *root, struct error *err)
{
	char *own;
	int r;

	if (!root->named || !root->path)
		return 0;
	own = xasprintf("%s/" OWN_LEAF, root->path);
	r = mkdir(own, 0755) < 0 && errno != EEXIST ? -1 : cgroupfs_write(own, "cgroup.procs", "0");
	if (r < 0)
		error_set(err, ERR_SYSTEM, "cannot enter cgroup '%s': %s", own, strerror(errno));
	free(own);
	return r;
}

void contain_root_free(struct contain_root *root)
{
	if (!root)
		return;
	if (root->path)
		rmdir(root->path); /* fails, as it should, while runs are in it */
	cgroup_limits_root_free(root->limits);
	free(root->path);
	free(root);
}

const char *contain_root_kind(const struct contain_root *root)
{
	return root->path ? "cgroup2" : "subreaper";
}

const char *contain_root_why(const struct contain_root *root)
{
	return root->path ? "" : root->why;
}

void contain_root_active(const struct contain_root *root, bool filter, char *out, size_t size)
{
	size_t n = (size_t)snprintf(
	        out, size, "%s%s", contain_root_kind(root), filter ? "," CONTAIN_DEVICES : "");

	for (int k = 0; k < LIMIT_KINDS && n < size; k++)
		if (cgroup_limits_root_has(root->limits, (enum limit_kind)k))
			n += (size_t)snprintf(
			        out + n, size - n, ",%s", limit_name((enum limit_kind)k));
}

bool contain_root_filters_devices(const struct contain_root *root)
{
	return root->devices;
}

void contain_root_demand(struct contain_root *root, const char *demanded)
{
	char *mount = root->path ? cgroupfs_mount() : NULL;

	if (mount)
		cgroup_limits_root_demand(root->limits, mount, demanded);
	free(mount);
}

const struct cgroup_limits_root *contain_root_limits(const struct contain_root *root)
{
	return root->limits;
}

char *contain_root_leaf(const struct contain_root *root, const char *id)
{
	return root->path ? xasprintf("%s/" LEAF_PREFIX "%s", root->path, id) : xstrdup("");
}

void contain_root_each(
        const struct contain_root *root, void (*fn)(const char *id, void *arg), void *arg)
{
	struct dirent **v;
	int n = root->path ? scandir(root->path, &v, NULL, alphasort) : 0;

	for (int i = 0; i < n; i++) {
		if (v[i]->d_type == DT_DIR &&
		        strncmp(v[i]->d_name, LEAF_PREFIX, strlen(LEAF_PREFIX)) == 0)
			fn(v[i]->d_name + strlen(LEAF_PREFIX), arg);
		free(v[i]);
	}
	if (n > 0)
		free(v);
}

/* --- a leaf ----------------------------------------------------------------------------------- */

static struct contain *open_leaf(const char *path)
{
	struct contain *c = xcalloc(1, sizeof(*c));
	int saved;

	c->path = xstrdup(path);
	c->dirfd = c->events = -1;
	if (!*path)
		return c;
	c->dirfd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (c->dirfd >= 0)
		c->events = openat(c->dirfd, "cgroup.events", O_RDONLY | O_CLOEXEC);
	if (c->events >= 0)
		return c;
	saved = errno;
	contain_free(c);
	errno = saved;
	return NULL;
}

/* Any process may remove an empty root while its agent lives: then the whole path is made again. */
static bool make_leaf(const char *path)
{
	char *again;
	bool made;

	if (mkdir(path, 0755) == 0 || errno == EEXIST)
		return true;
	if (errno != ENOENT)
		return false;
	again = xstrdup(path);
	made = cgroupfs_make(again, 1) == 0;
	free(again);
	return made;
}

struct contain *contain_new(const char *path, struct error *err)
{
	struct contain *c = NULL;

	if (!*path || make_leaf(path))
		c = open_leaf(path);
	if (!c)
		error_set(err, ERR_SYSTEM, "cannot make cgroup '%s': %s", path, strerror(errno));
	return c;
}

struct contain *contain_open(const char *path, struct error *err)
{
	struct contain *c = *path ? open_leaf(path) : NULL;
	int saved = *path ? errno : ENOENT;

	if (!c)
		error_set(err, ERR_NO_JOB, "no cgroup '%s': %s", path, strerror(saved));
	errno = saved;
	return c;
}

void contain_free(struct contain *c)
{
	if (!c)
		return;
	fd_close(c->events);
	fd_close(c->dirfd);
	free(c->path);
	free(c);
}

int contain_dir(const struct contain *c)
{
	return c->dirfd;
}

pid_t contain_fork(const struct contain *c)
{
	struct clone_args args = { .exit_signal = SIGCHLD };

	if (c->dirfd >= 0) {
		args.flags |= CLONE_INTO_CGROUP;
		args.cgroup = (uint64_t)c->dirfd;
	}
	return (pid_t)syscall(SYS_clone3, &args, sizeof(args));
}

/* --- its processes ---------------------------------------------------------------------------- */

/* Reads cgroup.procs of the leaf alone: only a user who may write there can make cgroups below it,
 * and root's own jobs are trusted not to. */
static size_t list_cgroup(const struct contain *c, struct proc **list)
{
	int fd = openat(c->dirfd, "cgroup.procs", O_RDONLY | O_CLOEXEC);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "r");
	size_t n = 0, cap = 0;
	int pid;

	*list = NULL;
	while (f && fscanf(f, "%d", &pid) == 1) {
		*XADD(*list, n, cap) = (struct proc){ (pid_t)pid, proc_ticks((pid_t)pid) };
	}
	if (f)
		fclose(f);
	return n;
}

static pid_t disowned;

void contain_disown(pid_t child)
{
	disowned = child;
}

static size_t without_disowned(struct proc *list, size_t n)
{
	for (size_t i = 0; disowned && i < n; i++) {
		if (list[i].pid == disowned)
			list[i--] = list[--n];
	}
	return n;
}

static size_t list_of(const struct contain *c, struct proc **list)
{
	ssize_t n;

	if (c->dirfd >= 0)
		n = (ssize_t)list_cgroup(c, list);
	else
		n = procs_descendants(getpid(), list);
	return n < 0 ? 0 : without_disowned(*list, (size_t)n);
}

/* Is the process, whose pidfd is open by now, still in our leaf? */
static bool still_inside(pid_t pid, void *arg)
{
	const struct contain *c = arg;
	char path[64], buf[PATH_MAX + 512], *line, *end;
	const char *leaf = strrchr(c->path, '/');
	int fd;

	if (c->dirfd < 0)
		return true; /* a descendant: proc_open() has compared its start time */
	snprintf(path, sizeof(path), "/proc/%d/cgroup", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	cgroupfs_read(fd, buf, sizeof(buf));
	close(fd);
	line = strncmp(buf, "0::", 3) == 0 ? buf : strstr(buf, "\n0::");
	if (!line || !leaf)
		return false;
	end = strchr(line + 1, '\n');
	if (end)
		*end = '\0';
	line = strrchr(line, '/');
	return line && strcmp(line, leaf) == 0;
}

/* Is a signal meant for the process? */
typedef bool meant_fn(pid_t pid, pid_t other);

static bool is_beyond(pid_t pid, pid_t session)
{
	return getsid(pid) != session;
}

static bool is_another(pid_t pid, pid_t other)
{
	return pid != other;
}

static bool is_child(pid_t pid, pid_t parent)
{
	struct proc_stat st;

	return proc_stat(pid, &st) == 0 && st.ppid == parent;
}

/* `meant` NULL: for all. */
static size_t send_signal_to(
        struct contain *c, int sig, bool only_awaiting, meant_fn *meant, pid_t other)
{
	struct proc *list;
	size_t all = list_of(c, &list), n = 0, sent;

	for (size_t i = 0; i < all; i++)
		if (!meant || meant(list[i].pid, other))
			list[n++] = list[i];
	sent = procs_signal(list, n, sig, only_awaiting, still_inside, c);
	free(list);
	return sent;
}

static size_t send_signal(struct contain *c, int sig, bool only_awaiting)
{
	return send_signal_to(c, sig, only_awaiting, NULL, 0);
}

size_t contain_name_one(struct contain *c, char *text, size_t size)
{
	struct proc *list;
	size_t n = list_of(c, &list), living = 0;
	struct proc_stat st;

	*text = '\0';
	for (size_t i = 0; i < n; i++) {
		pid_t thread = proc_thread(list[i].pid);

		living += thread > 0;
		if (thread && !*text && proc_stat_thread(list[i].pid, thread, &st) == 0)
			snprintf(text, size, "%d (%s), state %c", (int)thread, st.name, st.state);
	}
	free(list);
	return living;
}

size_t contain_warn(struct contain *c, int sig)
{
	return send_signal(c, sig, true);
}

size_t contain_warn_except(struct contain *c, int sig, pid_t pid)
{
	return send_signal_to(c, sig, true, is_another, pid);
}

/* By the rule of signals.h. */
static size_t signal_by_rule(struct contain *c, int sig, meant_fn *meant, pid_t other)
{
	size_t sent = 0;

	if (!signal_is_for_all(sig))
		sent = send_signal_to(c, sig, true, meant, other);
	return sent ? sent : send_signal_to(c, sig, false, meant, other);
}

size_t contain_signal_beyond(struct contain *c, int sig, pid_t session)
{
	return signal_by_rule(c, sig, is_beyond, session);
}

size_t contain_signal_except(struct contain *c, int sig, pid_t pid)
{
	return signal_by_rule(c, sig, is_another, pid);
}

size_t contain_signal_children(struct contain *c, int sig, pid_t parent)
{
	return send_signal_to(c, sig, false, is_child, parent);
}

size_t contain_signal(struct contain *c, int sig)
{
	return signal_by_rule(c, sig, NULL, 0);
}

/* cgroup.kill sends the signal to the first thread of each process. That fails if this thread has
 * ended and others have not [kernel: __cgroup_kill()]: those would survive. */
static void kill_the_rest(const struct contain *c)
{
	struct proc *list;
	size_t n = list_cgroup(c, &list);

	for (size_t i = 0; i < n; i++) {
		pid_t thread = proc_thread(list[i].pid);

		if (thread && thread != list[i].pid)
			procs_signal(
			        &list[i], 1, SIGKILL, false, still_inside, (void *)(uintptr_t)c);
	}
	free(list);
}

void contain_kill(struct contain *c)
{
	if (c->dirfd >= 0 && cgroupfs_write_at(c->dirfd, "cgroup.kill", "1") == 0) {
		kill_the_rest(c);
		return;
	}
	/* A stopped process cannot fork while the others are looked up. */
	send_signal(c, SIGSTOP, false);
	send_signal(c, SIGKILL, false);
}

/* --- stopping it ------------------------------------------------------------------------------ */

static bool is_frozen(const struct contain *c)
{
	char buf[256];

	return cgroupfs_read(c->events, buf, sizeof(buf)) <= 0 || strstr(buf, "frozen 1");
}

/* A process that is not stopped may be forking: repeat until no running process is found. */
static bool stop_all(struct contain *c)
{
	struct proc *list;
	size_t n = list_of(c, &list);
	bool all = true;

	for (size_t i = 0; i < n; i++) {
		if (proc_is_stopped(list[i].pid))
			continue;
		all = false;
		procs_signal(&list[i], 1, SIGSTOP, false, still_inside, c);
	}
	free(list);
	return all;
}

bool contain_suspend(struct contain *c)
{
	if (c->dirfd >= 0 && cgroupfs_write_at(c->dirfd, "cgroup.freeze", "1") == 0)
		return is_frozen(c);
	return stop_all(c);
}

void contain_resume(struct contain *c)
{
	if (c->dirfd < 0 || cgroupfs_write_at(c->dirfd, "cgroup.freeze", "0") < 0)
		send_signal(c, SIGCONT, false);
}

bool contain_is_empty(struct contain *c)
{
	struct proc *list;
	char buf[256];
	ssize_t n;

	if (c->events >= 0) {
		if (cgroupfs_read(c->events, buf, sizeof(buf)) < 0)
			return errno == ENODEV; /* the leaf itself is gone */
		if (!disowned || strstr(buf, "populated 0"))
			return strstr(buf, "populated 0") != NULL;
		n = (ssize_t)list_cgroup(c, &list);
	} else {
		n = procs_descendants(getpid(), &list);
	}
	if (n > 0)
		n = (ssize_t)without_disowned(list, (size_t)n);
	free(list);
	return n == 0;
}

int contain_events_fd(const struct contain *c)
{
	return c->events;
}

uint64_t contain_cpu_time_us(const struct contain *c)
{
	uint64_t us = 0;

	if (c->dirfd < 0 || cgroupfs_read_key(c->dirfd, "cpu.stat", "usage_usec", &us) < 0)
		return 0;
	return us;
}

/* With the cgroups that root's own job may have made below it. */
static int remove_below(int dirfd, unsigned depth)
{
	int fd = openat(dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), sub;
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;

	if (!d)
		return -1;
	while ((e = readdir(d))) {
		if (e->d_type != DT_DIR || e->d_name[0] == '.')
			continue;
		sub = openat(dirfd, e->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (sub >= 0 && depth > 0)
			remove_below(sub, depth - 1);
		fd_close(sub);
		unlinkat(dirfd, e->d_name, AT_REMOVEDIR);
	}
	closedir(d);
	return 0;
}

int contain_remove(struct contain *c)
{
	if (c->dirfd < 0 || rmdir(c->path) == 0)
		return 0;
	if (errno != EBUSY || remove_below(c->dirfd, NESTED_MAX) < 0)
		return -1;
	return rmdir(c->path);
}
