/* script.c - see script.h */
#include "cmds/services/script.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define EXIT_NOT_EXECUTED 126 /* as shells have it */
#define EXIT_NOT_FOUND    127

static _Noreturn void execute(char **program, const sigset_t *mask, pid_t parent)
{
	int error;

	setpgid(0, 0);
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent)
		_exit(EXIT_NOT_EXECUTED);
	sigprocmask(SIG_SETMASK, mask, NULL);
	execvp(program[0], program);
	error = errno;
	fprintf(stderr, "gprobe: error: %s: %s\n", program[0], strerror(error));
	_exit(error == ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTED);
}

pid_t script_start(char **program, const sigset_t *mask, struct error *err)
{
	pid_t parent = getpid(), pid = fork();

	if (pid < 0)
		return error_set(err, ERR_SYSTEM, "fork: %s", strerror(errno));
	if (pid == 0)
		execute(program, mask, parent);
	setpgid(pid, pid); /* here too, so that a signal that follows at once finds the group */
	return pid;
}

void script_signal(pid_t script, int sig)
{
	kill(script, sig);
}

void script_signal_group(pid_t script, int sig)
{
	kill(-script, sig);
}

bool script_reap(pid_t script, int *status)
{
	return waitpid(script, status, WNOHANG) == script;
}

void script_end_alike(int status)
{
	sigset_t all;
	int sig = WTERMSIG(status);

	if (!WIFSIGNALED(status))
		_exit(WEXITSTATUS(status));
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0); /* a core would be of the wrong program */
	signal(sig, SIG_DFL);
	raise(sig);
	sigfillset(&all);
	sigprocmask(SIG_UNBLOCK, &all, NULL);
	_exit(128 + sig);
}
