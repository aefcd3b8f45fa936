/* daemon.c - see daemon.h */
#include "common/base/daemon.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/fd_close.h"
#include "common/base/xalloc.h"

#define READY '\0' /* on the pipe that is the daemon's stderr until then */

/* The parent of the daemon: shows what it says, until the word. */
static _Noreturn void wait_for_word(int fd)
{
	char text[512];
	ssize_t n;

	while ((n = read(fd, text, sizeof(text))) > 0 || (n < 0 && errno == EINTR)) {
		const char *word = n > 0 ? memchr(text, READY, (size_t)n) : NULL;
		size_t len = word ? (size_t)(word - text) : n > 0 ? (size_t)n : 0;

		(void)!write(STDERR_FILENO, text, len);
		if (word)
			_exit(0);
	}
	_exit(1);
}

int daemon_detach(int *ready_fd, struct error *err)
{
	int pair[2], null;
	pid_t pid;

	if (pipe2(pair, O_CLOEXEC) < 0)
		return error_set(err, ERR_SYSTEM, "pipe: %s", strerror(errno));
	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	pid = null < 0 ? -1 : fork();
	if (pid < 0) {
		error_set(err, ERR_SYSTEM, "%s: %s", null < 0 ? "/dev/null" : "fork",
		        strerror(errno));
		close(pair[0]);
		close(pair[1]);
		fd_close(null);
		return -1;
	}
	if (pid > 0) {
		close(pair[1]);
		wait_for_word(pair[0]);
	}
	close(pair[0]);
	setsid();
	signal(SIGPIPE, SIG_IGN);
	if (chdir("/") < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(null, STDOUT_FILENO) < 0 ||
	        dup2(pair[1], STDERR_FILENO) < 0)
		return error_set(err, ERR_SYSTEM, "detach: %s", strerror(errno));
	close(null);
	*ready_fd = pair[1];
	return 0;
}

void daemon_ready(int ready_fd, const char *status)
{
	char *lines = xasprintf("READY=1\nSTATUS=%s", status);
	int null;

	daemon_notify(lines);
	free(lines);
	if (ready_fd < 0)
		return;
	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (null >= 0) {
		dup2(null, STDERR_FILENO);
		close(null);
	}
	(void)!write(ready_fd, &(char){ READY }, 1); /* fails if no process waits any more */
	close(ready_fd);
}

void daemon_notify(const char *lines)
{
	const char *path = getenv("NOTIFY_SOCKET");
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	size_t n = path ? strlen(path) : 0;
	int fd;

	if (n < 2 || n >= sizeof(to.sun_path) || (*path != '/' && *path != '@'))
		return;
	memcpy(to.sun_path, path, n);
	if (*path == '@')
		to.sun_path[0] = '\0';
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return;
	/* A manager that does not listen is its own trouble. */
	(void)!sendto(fd, lines, strlen(lines), MSG_NOSIGNAL, (struct sockaddr *)&to,
	        (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n));
	close(fd);
}

void daemon_keep_secrets(void)
{
	const struct rlimit none = { 0, 0 };

	setrlimit(RLIMIT_CORE, &none);
#ifndef __SANITIZE_ADDRESS__ /* the leak check looks into its own process */
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
#endif
}

uint64_t daemon_raise_files(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return 0;
	limit.rlim_cur = limit.rlim_max;
	if (setrlimit(RLIMIT_NOFILE, &limit) < 0)
		getrlimit(RLIMIT_NOFILE, &limit);
	return limit.rlim_cur;
}

char *daemon_path(const char *path)
{
	char *here = path && *path && *path != '/' ? getcwd(NULL, 0) : NULL;
	char *full = here ? xasprintf("%s/%s", here, path) : path ? xstrdup(path) : NULL;

	free(here);
	return full;
}
