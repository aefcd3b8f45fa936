/* prolog_epilog.c - see prolog_epilog.h */
#include "config.h"

#include "noded/exec/prolog_epilog.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/fd_close.h"
#include "common/base/text.h"
#include "common/base/xalloc.h"
#include "noded/contain/private_mounts.h"
#include "noded/contain/process_tracking.h"
#include "noded/exec/job_process.h"
#include "noded/record/record.h"

#define LOOK_MS 100

#define KILL_MS 10000 /* until processes that survive KILL are abandoned */

#define SAID_MAX 160

#define EXIT_UNABLE 127

#define PATH_ENV "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

static char *gpus_text(const Gpusched__RunReport *r)
{
	char *text = xstrdup("GPUSCHED_GPUS="), *more;

	for (size_t i = 0; i < r->n_gpus; i++) {
		more = xasprintf("%s%s%" PRIu32, text, i ? "," : "", r->gpus[i]);
		free(text);
		text = more;
	}
	return text;
}

/* The environment of root's programs; `launch` NULL: only the variables that need no run. */
static char **program_env(const Gpusched__LaunchRecord *launch, const char *node)
{
	char **env = xcalloc(6, sizeof(*env));
	size_t n = 0;

	env[n++] = xstrdup(PATH_ENV);
	env[n++] = xasprintf("GPUSCHED_NODE=%s", node);
	if (launch) {
		env[n++] = xasprintf("GPUSCHED_JOB_ID=%" PRIu64, launch->report->run->job);
		env[n++] = xasprintf("GPUSCHED_UID=%" PRIu32, launch->report->uid);
		env[n++] = gpus_text(launch->report);
	}
	return env;
}

static _Noreturn void execute(const struct program_run *what)
{
	char *path = xstrdup(what->path), *argv[] = { path, NULL };
	struct error err;

	if (program_recheck(path, &err) < 0) {
		dprintf(STDERR_FILENO, "%s\n", err.text);
		_exit(EXIT_UNABLE);
	}
	if (chdir("/") < 0)
		_exit(EXIT_UNABLE);
	umask(022);
	execve(path, argv, program_env(what->launch, what->node));
	dprintf(STDERR_FILENO, "cannot be executed: %s%s\n", strerror(errno),
	        program_exec_hint(errno));
	_exit(EXIT_UNABLE);
}

static _Noreturn void child(const struct program_run *what, int out, pid_t parent)
{
	int null = open("/dev/null", O_RDONLY);

	if (child_reset() < 0 || prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent ||
	        null < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(out, STDOUT_FILENO) < 0 ||
	        dup2(out, STDERR_FILENO) < 0)
		_exit(EXIT_UNABLE);
	if (what->kind == PROGRAM_TASK_EPILOG && private_join() < 0)
		_exit(EXIT_UNABLE);
	syscall(SYS_close_range, STDERR_FILENO + 1, ~0U, 0);
	if (what->kind == PROGRAM_TASK_EPILOG)
		child_run_after(what->launch, what->path, parent);
	execute(what);
}

struct waiting {
	struct contain *leaf, *outside_leaf;
	pid_t pid;
	int pidfd;
	int out; /* its output; -1: it has closed it */
	char said[SAID_MAX];
	size_t said_len;
	bool ended;
	int status;
};

/* All output is read, so that the program does not block; the beginning is kept. */
static void read_said(struct waiting *w)
{
	char b[4096];
	ssize_t n;

	while (w->out >= 0 && (n = read(w->out, b, sizeof(b))) != 0) {
		size_t room = sizeof(w->said) - 1 - w->said_len;

		if (n < 0)
			return;
		room = (size_t)n < room ? (size_t)n : room;
		memcpy(w->said + w->said_len, b, room);
		w->said_len += room;
	}
	fd_drop(&w->out);
}

static void reap(struct waiting *w)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		if (pid != w->pid)
			continue;
		w->ended = true;
		w->status = status;
	}
}

static void wait_step(struct waiting *w, int64_t ms)
{
	struct pollfd p[] = {
		{ .fd = w->pidfd, .events = POLLIN },
		{ .fd = w->out, .events = POLLIN },
	};

	poll(p, 2, (int)(ms < LOOK_MS ? ms : LOOK_MS));
	read_said(w);
	reap(w);
}

/* Kill all of it; false: a process survives. */
static bool kill_rest(struct waiting *w)
{
	int64_t until = clock_us(CLOCK_MONOTONIC) / 1000 + KILL_MS, pause = 1;

	for (;;) {
		struct timespec t = { 0, pause * 1000000 };

		reap(w);
		read_said(w);
		if (contain_is_empty(w->leaf) && contain_is_empty(w->outside_leaf))
			return true;
		if (clock_us(CLOCK_MONOTONIC) / 1000 >= until)
			return false;
		contain_kill(w->leaf);
		contain_kill(w->outside_leaf);
		nanosleep(&t, NULL);
		pause = pause < 64 ? pause * 2 : 100;
	}
}

static int start_child(const struct program_run *what, struct waiting *w, struct error *err)
{
	pid_t parent = getpid();
	int out[2];

	w->leaf = contain_new(what->leaf, err);
	if (!w->leaf)
		return -1;
	if (pipe2(out, O_CLOEXEC) < 0)
		return error_set(err, ERR_SYSTEM, "no pipe: %s", strerror(errno));
	fcntl(out[0], F_SETFL, O_NONBLOCK);
	w->out = out[0];
	w->pid = contain_fork(w->leaf);
	if (w->pid == 0)
		child(what, out[1], parent);
	close(out[1]);
	if (w->pid > 0)
		w->pidfd = (int)syscall(SYS_pidfd_open, w->pid, 0);
	return w->pid < 0 ? error_set(err, ERR_SYSTEM, "no process: %s", strerror(errno)) : 0;
}

static void explain(const struct program_run *what, const struct waiting *w, bool late, bool stuck,
        char trouble[PROGRAM_TROUBLE_MAX])
{
	char raw[SAID_MAX], line[SAID_MAX], how[80];

	memcpy(raw, w->said, sizeof(raw));
	raw[w->said_len] = '\0';
	raw[strcspn(raw, "\r\n")] = '\0';
	text_escape(line, sizeof(line), raw, strlen(raw));
	if (stuck)
		snprintf(how, sizeof(how), "cannot be killed");
	else if (late)
		snprintf(how, sizeof(how), "was killed after %" PRIu64 " s",
		        what->timeout_ms / 1000);
	else if (WIFSIGNALED(w->status))
		snprintf(how, sizeof(how), "was ended by signal %d", WTERMSIG(w->status));
	else
		snprintf(how, sizeof(how), "ended with exit code %d", WEXITSTATUS(w->status));
	snprintf(trouble, PROGRAM_TROUBLE_MAX, "%s %s%s%s", program_name(what->kind), how,
	        *line ? ": " : "", line);
}

static void finish(struct waiting *w)
{
	fd_close(w->out);
	fd_close(w->pidfd);
	if (w->leaf)
		contain_remove(w->leaf);
	contain_free(w->leaf);
	contain_free(w->outside_leaf);
}

enum program_end program_run(const struct program_run *what, char trouble[PROGRAM_TROUBLE_MAX])
{
	struct waiting w = {
		.pid = -1, .pidfd = -1, .out = -1, .outside_leaf = contain_new("", NULL)
	};
	int64_t now = clock_us(CLOCK_MONOTONIC) / 1000, until = now + (int64_t)what->timeout_ms;
	bool stopped = false, stuck;
	struct error err;

	trouble[0] = '\0';
	if (start_child(what, &w, &err) < 0) {
		snprintf(trouble, PROGRAM_TROUBLE_MAX, "%s: %.200s", program_name(what->kind),
		        err.text);
		finish(&w);
		return PROGRAM_FAILED;
	}
	while (!w.ended && !stopped && now < until) {
		wait_step(&w, until - now);
		stopped = what->go_on && !what->go_on(what->arg);
		now = clock_us(CLOCK_MONOTONIC) / 1000;
	}
	stuck = !kill_rest(&w);
	if (stuck || !(stopped || (w.ended && now < until && w.status == 0))) {
		explain(what, &w, now >= until, stuck, trouble);
		finish(&w);
		return PROGRAM_FAILED;
	}
	finish(&w);
	return stopped ? PROGRAM_STOPPED : PROGRAM_DONE;
}

/* The owner's program runs within the run's limits; root's program gets a leaf beside it. */
static char *leaf_of(const Gpusched__LaunchRecord *launch, enum program_kind kind)
{
	char *leaf = record_string(&launch->cgroup), *own;

	if (!*leaf || kind == PROGRAM_TASK_EPILOG)
		return leaf;
	own = xasprintf("%s" PROGRAM_LEAF, leaf);
	free(leaf);
	return own;
}

enum program_end program_run_of(const Gpusched__LaunchRecord *launch, enum program_kind kind,
        bool (*go_on)(void *arg), void *arg, char trouble[PROGRAM_TROUBLE_MAX])
{
	const Gpusched__RunProgram *p = program_of(launch, kind);
	struct program_run what = {
		.kind = kind, .launch = launch, .node = launch->node, .go_on = go_on, .arg = arg
	};
	char *path, *leaf;
	enum program_end end;

	trouble[0] = '\0';
	if (!p)
		return PROGRAM_DONE;
	path = record_string(&p->path);
	leaf = leaf_of(launch, kind);
	what.path = path;
	what.leaf = leaf;
	what.timeout_ms = p->timeout_ms;
	end = program_run(&what, trouble);
	free(leaf);
	free(path);
	return end;
}

enum program_end program_run_after(const Gpusched__LaunchRecord *launch, bool (*go_on)(void *arg),
        void *arg, char trouble[PROGRAM_TROUBLE_MAX])
{
	static const enum program_kind kinds[] = { PROGRAM_EPILOG, PROGRAM_SCRUB };
	char why[PROGRAM_TROUBLE_MAX];

	trouble[0] = '\0';
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		if (kinds[i] == PROGRAM_SCRUB && !launch->report->n_gpus)
			continue;
		if (program_run_of(launch, kinds[i], go_on, arg, why) == PROGRAM_FAILED &&
		        !*trouble)
			memcpy(trouble, why, sizeof(why));
	}
	return *trouble ? PROGRAM_FAILED : PROGRAM_DONE;
}
