/* bridge.c - the program's side; see bridge.h */
#include "cmds/steps/bridge.h"

#include "config.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cmds/steps/bridge_impl.h"
#include "common/base/wirenum.h"
#include "common/base/xalloc.h"

struct step_bridge {
	struct step_bridge_of of;
	int *fds; /* of its processes */
	size_t n_fds;
	size_t n_links; /* of the last one */
};

struct step_bridge *step_bridge_new(const struct step_bridge_of *of)
{
	struct step_bridge *b = xcalloc(1, sizeof(*b));

	b->of = *of;
	return b;
}

void step_bridge_free(struct step_bridge *b)
{
	for (size_t i = 0; b && i < b->n_fds; i++)
		close(b->fds[i]);
	if (b)
		free(b->fds);
	free(b);
}

/* All but its own descriptor are another's, whose ends must not depend on this process. */
static void keep_only(int fd)
{
	sigset_t none;

	if (fd > 3)
		syscall(SYS_close_range, 3, (unsigned)fd - 1, 0);
	syscall(SYS_close_range, (unsigned)fd + 1, ~0U, 0);
	for (int sig = 1; sig < NSIG; sig++)
		signal(sig, SIG_DFL);
	signal(SIGINT, SIG_IGN); /* the terminal's: srun decides what becomes of the step */
	signal(SIGPIPE, SIG_IGN);
	signal(SIGQUIT, SIG_IGN);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

/* The process is not waited for: gstepd takes the ends of all its children, and srun ends. */
static int start(struct step_bridge *b, struct error *err)
{
	int s[2], size = 1024 * 1024;
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, s) < 0)
		return error_set(err, ERR_SYSTEM, "socketpair: %s", strerror(errno));
	setsockopt(s[0], SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
	pid = fork();
	if (pid < 0) {
		error_set(err, ERR_SYSTEM, "fork: %s", strerror(errno));
		close(s[0]);
		close(s[1]);
		return -1;
	}
	if (pid == 0) {
		keep_only(s[1]);
		bridge_process(&b->of, s[1]);
	}
	close(s[1]);
	b->fds = xrealloc(b->fds, b->n_fds + 1, sizeof(*b->fds));
	b->fds[b->n_fds++] = s[0];
	b->n_links = 0;
	return 0;
}

static int send_fd(int to, const void *data, size_t len, int fd)
{
	struct iovec iov = { .iov_base = (void *)(uintptr_t)data, .iov_len = len };
	union {
		struct cmsghdr head;
		char space[CMSG_SPACE(sizeof(int))];
	} control;
	struct msghdr m = { .msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control.space,
		.msg_controllen = sizeof(control.space) };
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &fd, sizeof(fd));
	return sendmsg(to, &m, MSG_NOSIGNAL) == (ssize_t)len ? 0 : -1;
}

/* A test makes do with fewer nodes. */
static size_t links_of_one(void)
{
#ifdef ENABLE_FAILPOINTS
	const char *text = getenv("GPUSCHED_BRIDGE_LINKS");
	unsigned long n = text ? strtoul(text, NULL, 10) : 0;

	if (n && n < BRIDGE_LINKS)
		return n;
#endif
	return BRIDGE_LINKS;
}

int step_bridge_open(struct step_bridge *b, uint32_t rank, const char *node, struct error *err)
{
	uint8_t d[512];
	size_t len = strlen(node);
	int s[2];

	if (len > sizeof(d) - 5)
		return error_set(err, ERR_USAGE, "%s: too long for a node", node);
	if ((!b->n_fds || b->n_links >= links_of_one()) && start(b, err) < 0)
		return -1;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, s) < 0)
		return error_set(err, ERR_SYSTEM, "socketpair: %s", strerror(errno));
	d[0] = 'L';
	put_u32(d + 1, rank);
	memcpy(d + 5, node, len);
	if (send_fd(b->fds[b->n_fds - 1], d, 5 + len, s[1]) < 0) {
		error_set(err, ERR_SYSTEM, "the bridge to node %s: %s", node, strerror(errno));
		close(s[0]);
		close(s[1]);
		return -1;
	}
	close(s[1]);
	b->n_links++;
	return s[0];
}

/* The kernel keeps what the process has not read; where that is too much, a report is lost, and the
 * next one of the step says all of it again. */
void step_bridge_report(struct step_bridge *b, const Gpusched__StepReport *r)
{
	size_t len = gpusched__step_report__get_packed_size(r);
	uint8_t *d;

	if ((!b->n_fds && start(b, NULL) < 0) || len >= BRIDGE_DATAGRAM_MAX)
		return;
	d = xcalloc(1 + len, 1);
	d[0] = 'R';
	gpusched__step_report__pack(r, d + 1);
	(void)!send(b->fds[0], d, 1 + len, MSG_NOSIGNAL | MSG_DONTWAIT);
	free(d);
}
