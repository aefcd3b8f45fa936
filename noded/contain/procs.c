/* procs.c - see procs.h */
#include "noded/contain/procs.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/base/xalloc.h"

#define NAME_SIZE   64
#define STAT_MAX    1024
#define STATUS_MAX  8192
#define ENVIRON_MAX (4 * 1024 * 1024)

#define FORKED_NOT_EXECUTED \
	0x40 /* PF_FORKNOEXEC of the kernel's sched.h, in proc(5) stat field 9 */

ssize_t proc_read(char *buf, size_t size, const char *name, ...)
{
	char path[NAME_SIZE] = "/proc/";
	size_t n = strlen(path);
	ssize_t r = 0;
	va_list ap;
	int fd;

	va_start(ap, name);
	vsnprintf(path + n, sizeof(path) - n, name, ap);
	va_end(ap);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	n = 0;
	while (n < size - 1 && (r = read(fd, buf + n, size - 1 - n)) > 0)
		n += (size_t)r;
	close(fd);
	buf[n] = '\0';
	return r < 0 ? -1 : (ssize_t)n;
}

/* proc(5): the name in parentheses may hold anything, so the other fields are counted from its end.
 */
static int parse_stat(char *text, struct proc_stat *out)
{
	char *open = strchr(text, '('), *end = strrchr(text, ')');
	int n = end ? sscanf(end + 1,
	                      " %c %d %*d %*d %*d %*d %u %*u %*u %*u %*u %" SCNu64 " %" SCNu64
	                      " %" SCNu64 " %" SCNu64 " %*d %*d %d %*d %" SCNu64 " %*u %" SCNu64,
	                      &out->state, &out->ppid, &out->flags, &out->user, &out->system,
	                      &out->ended_user, &out->ended_system, &out->threads, &out->ticks,
	                      &out->pages)
	            : 0;

	if (n != 10 || !open)
		return -1;
	*end = '\0';
	snprintf(out->name, sizeof(out->name), "%s", open + 1);
	return 0;
}

int proc_stat(pid_t pid, struct proc_stat *out)
{
	char buf[STAT_MAX];

	return proc_read(buf, sizeof(buf), "%d/stat", (int)pid) <= 0 ? -1 : parse_stat(buf, out);
}

int proc_stat_thread(pid_t pid, pid_t tid, struct proc_stat *out)
{
	char buf[STAT_MAX];
	ssize_t n = proc_read(buf, sizeof(buf), "%d/task/%d/stat", (int)pid, (int)tid);

	if (n < 0)
		return -1;
	errno = ESRCH;
	return n == 0 ? -1 : parse_stat(buf, out);
}

static bool is_gone(const struct proc_stat *st)
{
	return st->state == 'Z' || st->state == 'X';
}

/* True also if that cannot be determined now. */
static bool thread_lives(pid_t pid, pid_t tid)
{
	struct proc_stat st;

	if (proc_stat_thread(pid, tid, &st) < 0)
		return errno != ENOENT && errno != ESRCH;
	return !is_gone(&st);
}

/* `st`: of the process. */
static pid_t living_thread(pid_t pid, const struct proc_stat *st)
{
	char path[NAME_SIZE];
	struct dirent *e;
	pid_t found = 0;
	DIR *d;

	if (!is_gone(st))
		return pid;
	if (st->threads <= 1)
		return 0;
	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	d = opendir(path);
	if (!d)
		return errno == ENOENT ? 0 : pid;
	while (!found && (e = readdir(d))) {
		pid_t tid = (pid_t)atoi(e->d_name);

		if (tid > 0 && thread_lives(pid, tid))
			found = tid;
	}
	closedir(d);
	return found;
}

pid_t proc_thread(pid_t pid)
{
	struct proc_stat st;

	return proc_stat(pid, &st) == 0 ? living_thread(pid, &st) : 0;
}

bool proc_executed(pid_t pid)
{
	struct proc_stat st;

	return proc_stat(pid, &st) == 0 && !(st.flags & FORKED_NOT_EXECUTED);
}

uint64_t proc_ticks(pid_t pid)
{
	struct proc_stat st;

	return proc_stat(pid, &st) == 0 ? st.ticks : 0;
}

uint64_t proc_status_number(const char *status, const char *field, int base)
{
	const char *p = strstr(status, field);

	return p ? strtoull(p + strlen(field), NULL, base) : 0;
}

bool proc_is_stopped(pid_t pid)
{
	char buf[STATUS_MAX];
	const char *state;
	uint64_t pending;
	pid_t thread = proc_thread(pid);

	if (!thread || proc_read(buf, sizeof(buf), "%d/task/%d/status", (int)pid, (int)thread) <= 0)
		return true; /* there is none any more */
	state = strstr(buf, "\nState:\t");
	if (!state)
		return false;
	pending =
	        proc_status_number(buf, "\nSigPnd:", 16) | proc_status_number(buf, "\nShdPnd:", 16);
	switch (state[strlen("\nState:\t")]) {
	case 'T':
	case 't':
	case 'Z':
	case 'X':
		return true;
	case 'D':
		return pending >> (SIGSTOP - 1) & 1;
	default:
		return false;
	}
}

int proc_open(struct proc p)
{
	int fd = (int)syscall(SYS_pidfd_open, p.pid, 0);

	if (fd < 0)
		return -1;
	if (proc_ticks(p.pid) == p.ticks)
		return fd;
	close(fd);
	errno = ESRCH;
	return -1;
}

/* --- the list of processes -------------------------------------------------------------------- */

struct entry {
	pid_t pid, ppid;
	uint64_t ticks;
	bool ours;
	pid_t thread; /* proc_thread() */
};

/* All four ids must match, so that another user's setuid program is not taken for this user's. */
static bool is_of(pid_t pid, uid_t uid)
{
	char buf[STATUS_MAX];
	unsigned real, effective, saved, files;
	const char *line;

	if (proc_read(buf, sizeof(buf), "%d/status", (int)pid) <= 0)
		return false;
	line = strstr(buf, "\nUid:");
	return line && sscanf(line, "\nUid: %u %u %u %u", &real, &effective, &saved, &files) == 4 &&
	       real == uid && effective == uid && saved == uid && files == uid;
}

/* `uid`: of that user alone; NULL: of all. -1: descriptors or memory are short, so the list would
 * be incomplete. */
static ssize_t list_all(struct entry **list, const uid_t *uid)
{
	DIR *d = opendir("/proc");
	struct entry *v = NULL;
	size_t cap = 0, n = 0;
	struct dirent *e;
	struct proc_stat st;
	bool all = d != NULL;

	while (d && (e = readdir(d))) {
		if (!isdigit((unsigned char)e->d_name[0]))
			continue;
		errno = 0;
		if (proc_stat((pid_t)atoi(e->d_name), &st) < 0) {
			all = all && errno != EMFILE && errno != ENFILE && errno != ENOMEM;
			continue;
		}
		if (uid && !is_of((pid_t)atoi(e->d_name), *uid))
			continue;
		*XADD(v, n, cap) = (struct entry){ .pid = (pid_t)atoi(e->d_name),
			.ppid = st.ppid,
			.ticks = st.ticks,
			.thread = living_thread((pid_t)atoi(e->d_name), &st) };
	}
	if (d)
		closedir(d);
	*list = v;
	return all ? (ssize_t)n : -1;
}

static bool is_ours(const struct entry *v, ssize_t n, pid_t root, pid_t ppid)
{
	if (ppid == root)
		return true;
	for (ssize_t i = 0; i < n; i++)
		if (v[i].pid == ppid)
			return v[i].ours;
	return false;
}

/* Memory for all of them; NULL: the list is not known. */
static struct proc *room_for(ssize_t n)
{
	return n < 0 ? NULL : xcalloc((size_t)n + 1, sizeof(struct proc));
}

ssize_t procs_descendants(pid_t root, struct proc **list)
{
	struct entry *v;
	ssize_t n = list_all(&v, NULL), found = n < 0 ? -1 : 0;
	bool more = n > 0;

	*list = room_for(n);
	while (more) { /* children mostly come after their parents: few rounds */
		more = false;
		for (ssize_t i = 0; i < n; i++) {
			if (v[i].ours || v[i].pid == root || !is_ours(v, n, root, v[i].ppid))
				continue;
			v[i].ours = more = true;
		}
	}
	for (ssize_t i = 0; i < n; i++)
		if (v[i].ours && v[i].thread)
			(*list)[found++] = (struct proc){ v[i].pid, v[i].ticks };
	free(v);
	return found;
}

/* --- by a mark in their environment ----------------------------------------------------------- */

/* To read this the kernel opens no file that the process may have mapped there, so no user can
 * delay the reader (CVE-2018-1120, fixed in Linux 4.17). */
static bool is_marked(const struct entry *e, const char *mark, char *buf, ssize_t *n)
{
	*n = proc_read(buf, ENVIRON_MAX, "%d/task/%d/environ", (int)e->pid, (int)e->thread);
	for (ssize_t i = 0; i < *n; i += (ssize_t)strlen(buf + i) + 1)
		if (strcmp(buf + i, mark) == 0)
			return true;
	return false;
}

ssize_t procs_marked(const char *mark, uid_t uid, struct proc **list)
{
	struct entry *v;
	ssize_t n = list_all(&v, &uid), found = n < 0 ? -1 : 0, len;
	char *buf = xcalloc(1, ENVIRON_MAX);
	bool gone = false;

	*list = room_for(n);
	for (ssize_t i = 0; i < n; i++) {
		if (v[i].pid == getpid() || !v[i].thread)
			continue;
		if (is_marked(&v[i], mark, buf, &len))
			(*list)[found++] = (struct proc){ v[i].pid, v[i].ticks };
		else if (len <= 0)
			gone |= proc_ticks(v[i].pid) != v[i].ticks;
	}
	free(buf);
	free(v);
	/* A process that ended before it was read may have forked. */
	return found == 0 && gone ? -1 : found;
}

/* --- by their command line -------------------------------------------------------------------- */

static bool is_called(pid_t pid, const char *program, const char *argument)
{
	char path[64], buf[PATH_MAX + 256], *name;
	struct stat st;
	ssize_t n;

	n = proc_read(buf, sizeof(buf), "%d/cmdline", (int)pid);
	if (n <= 0)
		return false;
	name = strrchr(buf, '/') ? strrchr(buf, '/') + 1 : buf;
	if (strcmp(name, program) != 0 || (size_t)n <= strlen(buf) + 1 ||
	        strcmp(buf + strlen(buf) + 1, argument) != 0)
		return false;
	/* A program can write its own command line, but not its owner. A process that is not
	 * dumpable looks like root's. */
	snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	return stat(path, &st) == 0 && (st.st_uid == geteuid() || st.st_uid == 0);
}

ssize_t procs_called(const char *program, const char *argument, struct proc **list)
{
	struct entry *v;
	ssize_t n = list_all(&v, NULL), found = n < 0 ? -1 : 0;

	*list = room_for(n);
	for (ssize_t i = 0; i < n; i++)
		if (v[i].thread && is_called(v[i].pid, program, argument))
			(*list)[found++] = (struct proc){ v[i].pid, v[i].ticks };
	free(v);
	return found;
}
