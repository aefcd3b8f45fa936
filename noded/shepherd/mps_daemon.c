/* mps_daemon.c - see mps_daemon.h */
#include "config.h"

#include "noded/shepherd/mps_daemon.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/fd_close.h"
#include "common/base/xalloc.h"
#include "noded/contain/devfilter.h"
#include "noded/contain/process_tracking.h"
#include "noded/exec/become_user.h"
#include "noded/exec/job_process.h"
#include "noded/record/inherit.h"
#include "noded/record/record.h"
#include "noded/record/rundir.h"
#include "noded/stream/owner_grant.h"

#define KILL_MS  2000 /* for a killed process to be gone */
#define PAUSE_MS 10   /* between two checks */
#define WHY_MAX  200  /* of the daemon's error text */
#define ASK      "get_server_list\n"
#define QUIT     "quit\n"
#define PID_FILE "nvidia-cuda-mps-control.pid" /* in the pipe directory */

struct mps {
	Gpusched__MpsOrder *order;
	char *program, *dir, *leaf; /* leaf: "" none */
	struct contain *in;
	int64_t deadline_ms;
	char said[WHY_MAX]; /* the last line of the program's output */
};

static bool pause_until(int64_t deadline_ms)
{
	poll(NULL, 0, PAUSE_MS);
	return clock_us(CLOCK_MONOTONIC) / 1000 < deadline_ms;
}

/* --- as the user ------------------------------------------------------------------------------ */

/* Kill the daemon by the id in its file; the user can write that file, but only kills his own
 * processes with it. */
static int kill_by_file(void)
{
	char text[32] = "";
	int fd = open(MPS_PIPE_DIR "/" PID_FILE, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	long pid;

	if (fd < 0 || read(fd, text, sizeof(text) - 1) <= 0)
		return 1;
	pid = strtol(text, NULL, 10);
	return pid > 1 && pid <= INT32_MAX ? kill((pid_t)pid, SIGKILL) != 0 : 1;
}

/* `option` NULL: it reads commands; "": kill_by_file(). */
static _Noreturn void run_as_user(const struct mps *m, const char *option)
{
	const Gpusched__MpsOrder *o = m->order;
	struct become_user_to to = {
		.uid = o->uid, .gid = o->gid, .groups = o->groups, .n_groups = o->n_groups
	};
	char path[] = "PATH=/usr/bin:/bin", *opt = option ? xstrdup(option) : NULL;
	char *argv[] = { basename(xstrdup(m->program)), opt, NULL };
	char *env[] = { path, xasprintf("CUDA_MPS_PIPE_DIRECTORY=%s/" MPS_PIPE_DIR, m->dir),
		xasprintf("CUDA_MPS_LOG_DIRECTORY=%s/" MPS_LOG_DIR, m->dir),
		xasprintf("CUDA_VISIBLE_DEVICES=%s", o->gpu_uuid), NULL };

	if (child_reset() < 0 ||
	        (o->switch_user ? become_user_for_good(&become_user_system_calls, &to, NULL)
	                        : become_user_prove(&become_user_system_calls, &to, NULL)) < 0 ||
	        prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || chdir(m->dir) < 0)
		_exit(126);
	umask(077);
	mkdir(MPS_PIPE_DIR, 0700);
	mkdir(MPS_LOG_DIR, 0700);
	if (option && !*option)
		_exit(kill_by_file());
	execve(m->program, argv, env);
	dprintf(2, "%s\n", strerror(errno));
	_exit(127);
}

/* A memory file and no pipe: the daemon may keep it open, and we do not wait for its end. */
static int text_fd(const char *text)
{
	int fd = memfd_create("mps", MFD_CLOEXEC);

	if (fd >= 0 && *text && (write(fd, text, strlen(text)) < 0 || lseek(fd, 0, SEEK_SET) < 0)) {
		close(fd);
		return -1;
	}
	return fd;
}

static void take_said(struct mps *m, int fd)
{
	ssize_t n = pread(fd, m->said, sizeof(m->said) - 1, 0);
	char *line;

	m->said[n > 0 ? n : 0] = '\0';
	m->said[strcspn(m->said, "\n")] = '\0';
	for (line = m->said; *line; line++)
		if ((unsigned char)*line < 0x20 || *line == 0x7f)
			*line = ' ';
}

/* A child that hangs in the kernel is abandoned. */
static int wait_for(pid_t pid, int64_t deadline_ms)
{
	int status, left;
	struct pollfd end = { .fd = (int)syscall(SYS_pidfd_open, pid, 0), .events = POLLIN };
	bool ended;

	left = (int)(deadline_ms - clock_us(CLOCK_MONOTONIC) / 1000);
	ended = end.fd >= 0 && poll(&end, 1, left > 0 ? left : 0) == 1;
	if (!ended) {
		kill(pid, SIGKILL); /* our own child, not waited for yet */
		ended = end.fd < 0 || poll(&end, 1, KILL_MS) == 1;
	}
	fd_close(end.fd);
	if (!ended)
		return -1;
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* The program's exit status; -1: a signal killed it, for example at the deadline. */
static int run(struct mps *m, const char *option, const char *input, int64_t deadline_ms)
{
	int in = text_fd(input), out = text_fd(""), r = -1;
	pid_t pid = -1;

	m->said[0] = '\0';
	if (in >= 0 && out >= 0)
		pid = contain_fork(m->in);
	if (pid == 0) {
		if (dup2(in, 0) < 0 || dup2(out, 1) < 0 || dup2(out, 2) < 0)
			_exit(126);
		syscall(SYS_close_range, 3U, ~0U, 0U);
		run_as_user(m, option);
	}
	if (pid > 0) {
		r = wait_for(pid, deadline_ms);
		take_said(m, out);
	}
	fd_close(in);
	fd_close(out);
	return r;
}

static bool answers(struct mps *m)
{
	return run(m, NULL, ASK, m->deadline_ms) == 0;
}

/* --- the leaf --------------------------------------------------------------------------------- */

static bool kill_all(struct mps *m)
{
	while (!contain_is_empty(m->in)) {
		contain_kill(m->in);
		if (!pause_until(m->deadline_ms))
			return contain_is_empty(m->in);
	}
	return true;
}

static int open_leaf(struct mps *m, struct error *err)
{
	const Gpusched__MpsOrder *o = m->order;
	struct device granted[DEVFILTER_MAX];
	size_t n = o->n_devices < DEVFILTER_MAX ? o->n_devices : DEVFILTER_MAX;

	m->in = *m->leaf ? contain_open(m->leaf, NULL) : NULL;
	if (m->in && !contain_is_empty(m->in))
		return 0;
	contain_free(m->in);
	m->in = contain_new(m->leaf, err);
	if (!m->in)
		return -1;
	for (size_t i = 0; i < n; i++)
		granted[i] = (struct device){ o->devices[i]->block ? 'b' : 'c',
			o->devices[i]->major, o->devices[i]->minor };
	return o->device_filter ? devfilter_attach(contain_dir(m->in), granted, n, err) : 0;
}

/* --- the tasks -------------------------------------------------------------------------------- */

/* Root makes the directory; its content is the user's. */
static int make_dir(const struct mps *m, struct error *err)
{
	const Gpusched__MpsOrder *o = m->order;
	int fd = -1, r = -1;

	if ((mkdir(m->dir, 0700) == 0 || errno == EEXIST) &&
	        (fd = open(m->dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)) >= 0 &&
	        (!o->switch_user || fchown(fd, o->uid, o->gid) == 0))
		r = 0;
	if (r < 0)
		error_set(err, ERR_LAUNCH, "MPS: '%.80s': %s", m->dir, strerror(errno));
	fd_close(fd);
	return r;
}

static int start_daemon(struct mps *m, struct error *err)
{
	int status;

	if (make_dir(m, err) < 0 || open_leaf(m, err) < 0)
		return -1;
	if (answers(m))
		return 0;
	if (*m->leaf && !kill_all(m))
		return error_set(
		        err, ERR_LAUNCH, "MPS: the previous daemon neither answers nor exits");
	status = run(m, "-d", "", m->deadline_ms);
	if (status != 0)
		return error_set(err, ERR_LAUNCH, "MPS: '%.80s -d' %s%s%.80s", m->program,
		        status < 0 ? "did not end in time" : "failed", *m->said ? ": " : "",
		        m->said);
	while (!answers(m))
		if (!pause_until(m->deadline_ms))
			return error_set(err, ERR_LAUNCH, "MPS: the daemon does not answer");
	return 0;
}

/* The daemon gets half of the time to end by itself. */
static int stop(struct mps *m, struct error *err)
{
	int64_t own_ms = clock_us(CLOCK_MONOTONIC) / 1000 +
	                 (m->deadline_ms - clock_us(CLOCK_MONOTONIC) / 1000) / 2;
	char *name = xstrdup(m->dir), *parent = xstrdup(m->dir);
	int fd, r = 0;

	if (open_leaf(m, err) < 0) {
		r = -1;
		goto out;
	}
	run(m, NULL, QUIT, own_ms);
	while (*m->leaf ? !contain_is_empty(m->in) : answers(m))
		if (!pause_until(own_ms))
			break;
	if (*m->leaf ? !kill_all(m) : answers(m) && run(m, "", "", m->deadline_ms) != 0)
		r = error_set(err, ERR_LAUNCH, "MPS: the daemon does not end");
	if (*m->leaf)
		contain_remove(m->in);
	fd = open(dirname(parent), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (r == 0 && fd >= 0)
		rundir_remove(fd, basename(name));
	fd_close(fd);
out:
	free(name);
	free(parent);
	return r;
}

static void prepare(void)
{
	sigset_t all;

	setsid();
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	syscall(SYS_close_range, MPS_ORDER_FD + 1U, ~0U, 0U);
	fcntl(SHEPHERD_RESULT_FD, F_SETFD, FD_CLOEXEC);
	fcntl(MPS_ORDER_FD, F_SETFD, FD_CLOEXEC);
}

int mps_daemon_main(void)
{
	struct mps m = { .in = NULL };
	struct error err;
	const char *result = SHEPHERD_CHECK_OK;

	prepare();
	m.order = (Gpusched__MpsOrder *)owner_grant_read(
	        MPS_ORDER_FD, &gpusched__mps_order__descriptor);
	if (!m.order)
		return 1;
	m.program = record_string(&m.order->program);
	m.dir = record_string(&m.order->dir);
	m.leaf = record_string(&m.order->leaf);
	m.deadline_ms = clock_us(CLOCK_MONOTONIC) / 1000 + (int64_t)m.order->timeout_ms;
	if ((m.order->stop ? stop(&m, &err) : start_daemon(&m, &err)) < 0)
		result = err.text;
	contain_free(m.in);
	free(m.program);
	free(m.dir);
	free(m.leaf);
	protobuf_c_message_free_unpacked(&m.order->base, NULL);
	return write(SHEPHERD_RESULT_FD, result, strlen(result)) < 0;
}
