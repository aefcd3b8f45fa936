/* ltemplate.c - shepherds are forked from a template (template.h); see lpriv.h */
#include "config.h"

#include "noded/lpriv.h"

#include <errno.h>
#include <event2/event.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/log.h"
#include "common/xalloc.h"
#include "noded/shepherd.h"
#include "noded/template.h"

#define ANSWER_MS 5000 /* for a fork(2), on a machine that is short of everything */
#define AGAIN_S   60   /* after one that has not lasted */

struct ltemplate {
	struct launcher *l;
	pid_t pid;
	int fd, pidfd; /* -1: there is none */
	struct event *gone;
	time_t next; /* CLOCK_MONOTONIC: none is started before */
};

static time_t now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec;
}

/* It ends of itself without its socket; one that hangs has to be made to. */
static void drop(struct ltemplate *t)
{
	if (t->gone)
		event_free(t->gone);
	if (t->pidfd >= 0) {
		syscall(SYS_pidfd_send_signal, t->pidfd, SIGKILL, NULL, 0);
		close(t->pidfd);
	}
	if (t->fd >= 0)
		close(t->fd);
	t->gone = NULL;
	t->pidfd = t->fd = -1;
}

static void went(evutil_socket_t fd, short what, void *arg)
{
	struct ltemplate *t = arg;

	(void)fd;
	(void)what;
	log_warning("the shepherds' template %d has ended; each is executed until there is another",
	        (int)t->pid);
	drop(t);
}

static void make(struct ltemplate *t)
{
	char name[] = "gshepherd", duty[] = SHEPHERD_TEMPLATE;
	size_t room = strlen(t->l->runs_path) + 1 + RECORD_ID_MAX;
	char *blank = xcalloc(1, room + 1), *argv[] = { name, duty, blank, NULL };
	struct error err;
	int pair[2];

	t->next = now_s() + AGAIN_S;
	memset(blank, ' ', room);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0) {
		free(blank);
		return;
	}
	if (lspawn(t->l->options.shepherd, argv, &pair[1], 1, &t->pid, &err) == 0) {
		t->fd = pair[0];
		t->pidfd = (int)syscall(SYS_pidfd_open, t->pid, 0);
		t->gone = event_new(t->l->base, t->fd, EV_READ, went, t);
		if (!t->gone || event_add(t->gone, NULL) < 0)
			abort();
	} else {
		close(pair[0]);
	}
	close(pair[1]);
	free(blank);
}

struct ltemplate *ltemplate_new(struct launcher *l)
{
	struct ltemplate *t = xcalloc(1, sizeof(*t));

	*t = (struct ltemplate){ .l = l, .fd = -1, .pidfd = -1 };
	make(t);
	return t;
}

void ltemplate_free(struct ltemplate *t)
{
	if (t)
		drop(t);
	free(t);
}

/* 1: *pid; 0: nothing was started; -1: nobody knows. */
static int ask(struct ltemplate *t, const char *path, const int *fds, size_t n, pid_t *pid)
{
	struct pollfd p = { .fd = t->fd, .events = POLLIN };
	int32_t answer = 0;
	int r;

	if (template_send(t->fd, path, strlen(path), fds, n) < 0)
		return 0;
	do
		r = poll(&p, 1, ANSWER_MS);
	while (r < 0 && errno == EINTR);
	if (r != 1 || recv(t->fd, &answer, sizeof(answer), MSG_DONTWAIT) != sizeof(answer))
		return -1;
	*pid = answer;
	return answer > 0;
}

int ltemplate_spawn(
        struct ltemplate *t, const char *path, const int fds[3], pid_t *pid, struct error *err)
{
	char name[] = "gshepherd", *own, *argv[] = { name, NULL, NULL };
	int r = 0;

	*pid = 0;
	if (t->fd < 0 && now_s() >= t->next)
		make(t);
	if (t->fd >= 0)
		r = ask(t, path, fds, fds[2] < 0 ? 2 : 3, pid);
	if (r > 0)
		return 0;
	if (r < 0) {
		log_error("the shepherds' template did not answer when it was to start %s", path);
		drop(t);
		*pid = 0;
		return 0;
	}
	argv[1] = own = xstrdup(path);
	r = lspawn(t->l->options.shepherd, argv, fds, TEMPLATE_FDS, pid, err);
	free(own);
	return r;
}
