/* signals.c - see signals.h */
#include "noded/contain/signals.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/sched.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "common/base/fd_close.h"
#include "common/base/xalloc.h"

#define STATUS_MAX  8192
#define CALL_MAX    256
#define SIGNAL_MAX  64
#define LOOKS       100
#define LOOK_AGAIN  5000000  /* ns: 100 examinations take half a second */
#define MEANT_AFTER 10000000 /* ns of processor time, far more than a library blocks all for */
#define MEMORY_MS   200      /* until reading a process's memory is abandoned */
#define TELL_FD     3        /* of the reading process */
#define STOP_LOOKS  8        /* rounds for processes that fork while they are being stopped */
#define BIT(sig)    (UINT64_C(1) << ((sig) - 1))

/* A process that blocks all of these has not chosen to wait for one of them. */
#define EVERYTHING                                                                               \
	(BIT(SIGHUP) | BIT(SIGINT) | BIT(SIGQUIT) | BIT(SIGUSR1) | BIT(SIGUSR2) | BIT(SIGPIPE) | \
	        BIT(SIGALRM) | BIT(SIGTERM))

static bool memory_hangs; /* one read hung: no other process of this list is read */

bool signal_is_for_all(int sig)
{
	static const int all[] = { SIGKILL, SIGSTOP, SIGCONT, SIGTERM, SIGINT, SIGQUIT };

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (sig == all[i])
			return true;
	return false;
}

/* --- one examination -------------------------------------------------------------------------- */

/* In a process of its own. */
static _Noreturn void tell_memory(int to, pid_t pid, uint64_t where)
{
	char path[64];
	uint64_t value;
	int fd;

	/* If it hangs it must not be taken for the shepherd, whose lock is among these. */
	if (dup2(to, TELL_FD) < 0 || syscall(SYS_close_range, TELL_FD + 1U, ~0U, 0U) < 0)
		_exit(1);
	snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (pread(fd, &value, sizeof(value), (off_t)where) != (ssize_t)sizeof(value))
		_exit(1);
	_exit(write(TELL_FD, &value, sizeof(value)) != (ssize_t)sizeof(value));
}

/* The memory of a process may be a file in a file system of its owner's, which can make a reader
 * wait for ever (as in CVE-2018-1120). So another process reads it, and is abandoned if it does not
 * finish. It is a child of our parent's, so that we need not wait for it. */
static bool read_memory(pid_t pid, uint64_t where, uint64_t *value)
{
	int ends[2], pidfd = -1;
	struct clone_args args = { .flags = CLONE_PARENT | CLONE_PIDFD,
		.pidfd = (uintptr_t)&pidfd };
	struct pollfd come = { .events = POLLIN };
	bool got = false;
	long child;

	if (memory_hangs || pipe2(ends, O_CLOEXEC) < 0)
		return false;
	child = syscall(SYS_clone3, &args, sizeof(args));
	if (child == 0)
		tell_memory(ends[1], pid, where);
	close(ends[1]);
	come.fd = ends[0];
	if (child > 0 && poll(&come, 1, MEMORY_MS) == 1) {
		got = read(ends[0], value, sizeof(*value)) == (ssize_t)sizeof(*value);
	} else if (child > 0) {
		memory_hangs = true;
		syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0);
	}
	close(ends[0]);
	fd_close(pidfd);
	return got;
}

/* Is the thread in sigwait(3), sigwaitinfo(2) or sigtimedwait(2) for this signal? Meanwhile the
 * kernel shows the awaited signals as not blocked, so the arguments of the call are read. */
static bool is_in_sigwait(pid_t pid, pid_t tid, int sig)
{
	char line[CALL_MAX];
	uint64_t where, set = 0;
	long call;

	if (proc_read(line, sizeof(line), "%d/task/%d/syscall", (int)pid, (int)tid) <= 0 ||
	        sscanf(line, "%ld 0x%" SCNx64, &call, &where) != 2 || call != SYS_rt_sigtimedwait)
		return false;
	return read_memory(pid, where, &set) && set & BIT(sig);
}

static enum awaits thread_awaits(pid_t pid, pid_t tid, int sig)
{
	char status[STATUS_MAX];
	uint64_t blocked;

	if (proc_read(status, sizeof(status), "%d/task/%d/status", (int)pid, (int)tid) <= 0)
		return AWAITS_UNCLEAR; /* it has just ended, which says nothing of the others */
	if (proc_status_number(status, "\nSigCgt:", 16) & BIT(sig))
		return AWAITS_SIGNAL;
	blocked = proc_status_number(status, "\nSigBlk:", 16);
	if (!(blocked & BIT(sig)))
		return is_in_sigwait(pid, tid, sig) ? AWAITS_SIGNAL : AWAITS_NOT;
	if ((blocked & EVERYTHING) == EVERYTHING && !strstr(status, "\nState:\tS"))
		return AWAITS_UNCLEAR;
	return AWAITS_SIGNAL;
}

enum awaits proc_awaits(pid_t pid, int sig)
{
	enum awaits of_all = AWAITS_SIGNAL, one = AWAITS_SIGNAL;
	struct dirent *e;
	char path[64];
	DIR *d = NULL;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	if (sig >= 1 && sig <= SIGNAL_MAX)
		d = opendir(path);
	if (!d)
		return AWAITS_NOT; /* there is none any more */
	/* The kernel offers the signal to the first thread first: if that is in sigwait(3) the
	 * others do not matter. */
	if (is_in_sigwait(pid, pid, sig)) {
		closedir(d);
		return AWAITS_SIGNAL;
	}
	while (one != AWAITS_NOT && (e = readdir(d))) {
		if (!isdigit((unsigned char)e->d_name[0]))
			continue;
		one = thread_awaits(pid, (pid_t)atoi(e->d_name), sig);
		if (one != AWAITS_SIGNAL)
			of_all = one;
	}
	closedir(d);
	return of_all;
}

/* --- to all of a list ------------------------------------------------------------------------- */

/* A process that must be examined again, held by its pidfd. */
struct unclear {
	struct proc proc;
	int fd;
	int64_t cpu_ns; /* what it had used at the first look */
};

static int64_t cpu_time_ns(pid_t pid)
{
	clockid_t clock;
	struct timespec ts;

	if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &ts) < 0)
		return 0;
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

static size_t send_one(int fd, int sig)
{
	return syscall(SYS_pidfd_send_signal, fd, sig, NULL, 0) == 0;
}

/* Is it clear by now? Then the signal was sent, or not; closes its fd. */
static bool send_if_decided(const struct unclear *u, int sig, size_t *sent)
{
	enum awaits awaits = proc_awaits(u->proc.pid, sig);

	if (awaits == AWAITS_UNCLEAR && cpu_time_ns(u->proc.pid) - u->cpu_ns < MEANT_AFTER)
		return false;
	if (awaits != AWAITS_NOT)
		*sent += send_one(u->fd, sig);
	close(u->fd);
	return true;
}

static size_t settle_all(struct unclear *v, size_t n, int sig)
{
	static const struct timespec moment = { 0, LOOK_AGAIN };
	size_t sent = 0;

	for (int look = 0; n > 0 && look < LOOKS; look++) {
		size_t left = 0;

		nanosleep(&moment, NULL);
		for (size_t i = 0; i < n; i++)
			if (!send_if_decided(&v[i], sig, &sent))
				v[left++] = v[i];
		n = left;
	}
	while (n > 0)
		close(v[--n].fd);
	return sent;
}

size_t procs_signal(const struct proc *list, size_t n, int sig, bool only_awaiting,
        bool (*still)(pid_t pid, void *arg), void *arg)
{
	struct unclear *unclear = NULL;
	size_t sent = 0, looks = 0;

	memory_hangs = false;
	for (size_t i = 0; i < n; i++) {
		enum awaits awaits = AWAITS_NOT;
		int fd = proc_open(list[i]);

		if (fd < 0)
			continue;
		/* With the pidfd open, whatever is read about this pid now is about this process.
		 */
		if (!still || still(list[i].pid, arg))
			awaits = only_awaiting ? proc_awaits(list[i].pid, sig) : AWAITS_SIGNAL;
		if (awaits == AWAITS_UNCLEAR) {
			unclear = xrealloc(unclear, looks + 1, sizeof(*unclear));
			unclear[looks++] =
			        (struct unclear){ list[i], fd, cpu_time_ns(list[i].pid) };
			continue;
		}
		if (awaits == AWAITS_SIGNAL)
			sent += send_one(fd, sig);
		close(fd);
	}
	sent += settle_all(unclear, looks, sig);
	free(unclear);
	return sent;
}

/* --- to all that are marked ------------------------------------------------------------------- */

static bool all_stopped(const struct proc *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!proc_is_stopped(list[i].pid))
			return false;
	return true;
}

bool procs_kill_marked(const char *mark, uid_t uid)
{
	struct proc *list;
	ssize_t n;
	bool stopped;

	for (int look = 1;; look++) {
		n = procs_marked(mark, uid, &list);
		stopped = n <= 0 || all_stopped(list, (size_t)n);
		if (stopped || look == STOP_LOOKS)
			break;
		procs_signal(list, (size_t)n, SIGSTOP, false, NULL, NULL);
		free(list);
	}
	if (n > 0)
		procs_signal(list, (size_t)n, SIGKILL, false, NULL, NULL);
	free(list);
	return n == 0;
}
