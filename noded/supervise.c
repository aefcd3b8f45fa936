/* supervise.c - see supervise.h */
#include "noded/supervise.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/log.h"

struct supervisor {
	pid_t pid;    /* the worker; 0: none */
	bool ending;  /* we were told to end */
	int status;   /* of the last worker, as waitpid(2) has it */
	unsigned nth; /* workers so far */
	sigset_t wanted, before;
};

static int start_worker(struct supervisor *s, supervise_fn *work, void *arg, struct error *err)
{
	pid_t pid = fork();

	if (pid < 0)
		return error_set(err, ERR_SYSTEM, "fork: %s", strerror(errno));
	if (pid == 0) {
		setpgid(0, 0);
		sigprocmask(SIG_SETMASK, &s->before, NULL);
		exit(work(arg, s->nth));
	}
	setpgid(pid, pid); /* both processes do it, so that neither depends on the other */
	s->pid = pid;
	s->nth++;
	return 0;
}

/* Take one signal, or wait `ms` for one (negative: for ever). */
static void take_signal(struct supervisor *s, int64_t ms)
{
	struct timespec ts = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 };
	int sig = sigtimedwait(&s->wanted, NULL, ms < 0 ? NULL : &ts);
	int status;

	if (sig == SIGCHLD) {
		if (s->pid && waitpid(s->pid, &status, WNOHANG) == s->pid) {
			s->pid = 0;
			s->status = status;
		}
	} else if (sig == SIGHUP) {
		log_reopen(NULL);
		if (s->pid)
			kill(-s->pid, sig);
	} else if (sig > 0) {
		s->ending = true;
		if (s->pid)
			kill(s->pid, sig);
	}
}

static bool start_again(const struct supervisor *s)
{
	return !s->ending && (WIFSIGNALED(s->status) || WEXITSTATUS(s->status) == SUPERVISE_AGAIN);
}

static void wait_before(struct supervisor *s, unsigned ms)
{
	uint64_t until = (uint64_t)clock_us(CLOCK_MONOTONIC) / 1000 + ms, now;

	if (WIFSIGNALED(s->status))
		log_error("the agent was killed by signal %d; starting it again in %u ms",
		        WTERMSIG(s->status), ms);
	else
		log_warning("starting the launcher again in %u ms", ms);
	while (!s->ending && (now = (uint64_t)clock_us(CLOCK_MONOTONIC) / 1000) < until)
		take_signal(s, (int64_t)(until - now));
}

static int supervise_all(struct supervisor *s, supervise_fn *work, void *arg, struct error *err)
{
	unsigned ms = SUPERVISE_WAIT_MS;

	for (;;) {
		uint64_t began = (uint64_t)clock_us(CLOCK_MONOTONIC) / 1000;

		if (start_worker(s, work, arg, err) < 0)
			return -1;
		while (s->pid)
			take_signal(s, -1);
		if (!start_again(s))
			break;
		/* A failpoint that has killed the worker is not hit again. */
		unsetenv("GPUSCHED_FAILPOINT");
		if ((uint64_t)clock_us(CLOCK_MONOTONIC) / 1000 - began > SUPERVISE_MAX_MS)
			ms = SUPERVISE_WAIT_MS;
		wait_before(s, ms);
		if (s->ending)
			return 0;
		ms = ms * 2 < SUPERVISE_MAX_MS ? ms * 2 : SUPERVISE_MAX_MS;
	}
	if (!WIFSIGNALED(s->status))
		return WEXITSTATUS(s->status);
	/* The worker did not yet handle signals: this counts as an orderly end. */
	if (WTERMSIG(s->status) == SIGTERM || WTERMSIG(s->status) == SIGINT)
		return 0;
	return 128 + WTERMSIG(s->status);
}

int supervise(supervise_fn *work, void *arg, struct error *err)
{
	struct supervisor s = { .nth = 0 };
	int rc;

	signal(SIGCHLD, SIG_DFL); /* inherited SIG_IGN would hide the worker's end */
	sigemptyset(&s.wanted);
	sigaddset(&s.wanted, SIGTERM);
	sigaddset(&s.wanted, SIGINT);
	sigaddset(&s.wanted, SIGHUP);
	sigaddset(&s.wanted, SIGCHLD);
	sigprocmask(SIG_BLOCK, &s.wanted, &s.before);
	rc = supervise_all(&s, work, arg, err);
	sigprocmask(SIG_SETMASK, &s.before, NULL);
	return rc;
}

bool supervise_me(pid_t parent)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	return getppid() == parent;
}
