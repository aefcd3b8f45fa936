/* daemon.c - see daemon.h */
#include "common/daemon.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/xalloc.h"

#define READY_BYTE "r"

/* The parent of the daemon: waits for the word. */
static void wait_for_word(int fd)
{
	char byte;
	ssize_t n;

	do
		n = read(fd, &byte, 1);
	while (n < 0 && errno == EINTR);
	_exit(n == 1 ? 0 : 1);
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
		if (null >= 0)
			close(null);
		return -1;
	}
	if (pid > 0) {
		close(pair[1]);
		wait_for_word(pair[0]);
	}
	close(pair[0]);
	setsid();
	if (chdir("/") < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(null, STDOUT_FILENO) < 0)
		return error_set(err, ERR_SYSTEM, "detach: %s", strerror(errno));
	close(null);
	*ready_fd = pair[1];
	return 0;
}

void daemon_ready(int ready_fd, const char *status)
{
	char *lines = xasprintf("READY=1\nSTATUS=%s", status);

	daemon_notify(lines);
	free(lines);
	if (ready_fd < 0)
		return;
	if (write(ready_fd, READY_BYTE, 1) == 1) {
		int null = open("/dev/null", O_RDWR | O_CLOEXEC);

		/* Nobody looks at the terminal any more. */
		if (null >= 0) {
			dup2(null, STDERR_FILENO);
			close(null);
		}
	}
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

int daemon_write_pid(const char *path, struct error *err)
{
	char *text, *new;
	int fd, ok;

	if (!*path)
		return 0;
	new = xasprintf("%s.new", path);
	text = xasprintf("%ld\n", (long)getpid());
	unlink(new);
	fd = open(new, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
	ok = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text) &&
	     rename(new, path) == 0;
	if (!ok)
		error_set(err, ERR_SYSTEM, "%s: %s", path, strerror(errno));
	if (fd >= 0)
		close(fd);
	free(new);
	free(text);
	return ok ? 0 : -1;
}

void daemon_remove_pid(const char *path)
{
	FILE *f = *path ? fopen(path, "re") : NULL;
	long pid = 0;

	if (!f)
		return;
	if (fscanf(f, "%ld", &pid) == 1 && pid == (long)getpid())
		unlink(path);
	fclose(f);
}

void daemon_keep_secrets(void)
{
	const struct rlimit none = { 0, 0 };

	setrlimit(RLIMIT_CORE, &none);
#ifndef __SANITIZE_ADDRESS__ /* the leak check looks into its own process */
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
#endif
}
