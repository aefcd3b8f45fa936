/* forked.c - see forked.h */
#include "noded/gpu/forked.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

int forked_begin(const char *name, int keep, int null, pid_t parent)
{
	sigset_t none;

	prctl(PR_SET_NAME, name);
	for (int sig = 1; sig < NSIG; sig++)
		signal(sig, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		return -1;
	dup2(null, 0);
	dup2(null, 1);
	dup2(null, 2);
	if (dup2(keep, FORKED_KEPT) < 0)
		return -1;
	syscall(SYS_close_range, FORKED_KEPT + 1U, ~0U, 0U);
	return 0;
}

int forked_pidfd(pid_t pid)
{
	int fd = (int)syscall(SYS_pidfd_open, pid, 0), saved = errno;

	if (fd < 0)
		kill(pid, SIGKILL); /* our own child, not reaped yet: the number is still its */
	errno = saved;
	return fd;
}
