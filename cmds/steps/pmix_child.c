/* pmix_child.c - see pmix_child.h */
#include "cmds/steps/pmix_child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/xalloc.h"

#define PROGRAM    "gpmix" /* beside gstepd */
#define READ_BYTES 65536

struct pmix_child {
	int fd; /* -1: it has ended */
	struct loop_watch *watch;
	struct steplink *link;
	pmix_child_fn *say;
	void *arg;
};

/* The program beside this one; false: there is no such name. */
static bool find_program(char *path, size_t size)
{
	ssize_t n = readlink("/proc/self/exe", path, size - sizeof(PROGRAM));
	char *slash;

	if (n < 0)
		return false;
	path[n] = '\0';
	slash = strrchr(path, '/');
	if (!slash)
		return false;
	strcpy(slash + 1, PROGRAM);
	return access(path, X_OK) == 0;
}

static void __attribute__((noreturn)) become(const char *path, int fd, char *const *env)
{
	char *argv[] = { (char[]){ PROGRAM }, NULL };
	sigset_t none;

	prctl(PR_SET_PDEATHSIG, SIGKILL); /* as its tasks */
	setsid();
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (dup2(fd, STDIN_FILENO) == STDIN_FILENO)
		execve(path, argv, env);
	_exit(127);
}

static void gone(struct pmix_child *c)
{
	loop_close(&c->watch, &c->fd);
	c->say(c->arg, NULL);
}

static int read_messages(struct pmix_child *c)
{
	static uint8_t b[READ_BYTES];
	ssize_t n = read(c->fd, b, sizeof(b));
	struct steplink_message m;
	int rc;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n <= 0 || steplink_feed(c->link, b, (size_t)n, NULL) < 0)
		return -1;
	while ((rc = steplink_next(c->link, &m, NULL)) > 0)
		c->say(c->arg, &m);
	return rc;
}

static int write_messages(struct pmix_child *c)
{
	size_t len;
	const uint8_t *data;

	while ((data = steplink_pending(c->link, &len)) && len) {
		ssize_t n = send(c->fd, data, len, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno == EAGAIN ? 0 : -1;
		steplink_sent(c->link, (size_t)n);
	}
	return 0;
}

static void on_ready(uint32_t events, void *arg)
{
	struct pmix_child *c = arg;
	size_t len;

	if (((events & ~(uint32_t)EPOLLOUT) && read_messages(c) < 0) || write_messages(c) < 0) {
		gone(c);
		return;
	}
	steplink_pending(c->link, &len);
	loop_want(c->watch, len ? EPOLLIN | EPOLLOUT : EPOLLIN);
}

struct pmix_child *pmix_child_new(
        struct loop *loop, char *const *env, pmix_child_fn *say, void *arg, struct error *err)
{
	struct pmix_child *c;
	char path[4096];
	int s[2];
	pid_t pid;

	if (!find_program(path, sizeof(path))) {
		error_set(err, ERR_SYSTEM, "there is no PMIx server on this node");
		return NULL;
	}
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, s) < 0) {
		error_set(err, ERR_SYSTEM, "socketpair: %s", strerror(errno));
		return NULL;
	}
	pid = fork();
	if (pid == 0)
		become(path, s[1], env);
	close(s[1]);
	if (pid < 0) {
		close(s[0]);
		error_set(err, ERR_SYSTEM, "fork: %s", strerror(errno));
		return NULL;
	}
	c = xcalloc(1, sizeof(*c));
	*c = (struct pmix_child){ .fd = s[0], .link = steplink_new(), .say = say, .arg = arg };
	fcntl(c->fd, F_SETFL, O_NONBLOCK);
	c->watch = loop_watch(loop, c->fd, EPOLLIN, on_ready, c);
	return c;
}

void pmix_child_put(struct pmix_child *c, const struct steplink_message *m)
{
	if (c->fd < 0)
		return;
	steplink_put(c->link, m->kind, m->step, m->data, m->len);
	loop_want(c->watch, EPOLLIN | EPOLLOUT);
}

void pmix_child_free(struct pmix_child *c)
{
	if (!c)
		return;
	loop_close(&c->watch, &c->fd);
	steplink_free(c->link);
	free(c);
}
