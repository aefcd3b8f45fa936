/* fork_server.c - see fork_server.h */
#include "config.h"

#include "noded/shepherd/fork_server.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "noded/record/fdpass.h"
#include "noded/record/inherit.h"

#define HIGH_FD 16 /* above the descriptors that a shepherd has */

struct request {
	char path[PATH_MAX];
	int fds[FDPASS_MAX];
	size_t n_fds;
};

/* The next request, its path terminated. False: no more will come. */
static bool read_request(struct request *r)
{
	ssize_t n = fdpass_receive(TEMPLATE_FD, r->path, sizeof(r->path) - 1, r->fds, &r->n_fds, 0);

	if (n <= 0)
		return false;
	r->path[n] = '\0';
	return true;
}

/* Make ps(1) show the path: the words of our command line lie one behind the other, and the kernel
 * reads them there. If it does not let us declare them shorter, NULs follow. Returns the path's
 * place. */
static char *show_path(char **argv, const char *path)
{
	static const char name[] = "gshepherd";
	char *at = argv[0], *end = argv[2] + strlen(argv[2]) + 1;
	size_t len = strlen(path) + 1;

	prctl(PR_SET_NAME, name);
	memset(at, 0, (size_t)(end - at));
	memcpy(at, name, sizeof(name));
	memcpy(at + sizeof(name), path, len);
	prctl(PR_SET_MM, PR_SET_MM_ARG_END, at + sizeof(name) + len, 0, 0);
	return at + sizeof(name);
}

/* Move the descriptors to the numbers that a shepherd expects: first all to high numbers. */
static int put_in_place(struct request *r)
{
	int high[FDPASS_MAX];

	for (size_t i = 0; i < r->n_fds; i++) {
		high[i] = fcntl(r->fds[i], F_DUPFD_CLOEXEC, HIGH_FD);
		if (high[i] < 0)
			return -1;
	}
	for (size_t i = 0; i < TEMPLATE_FDS; i++)
		if (i >= r->n_fds)
			close(SHEPHERD_LAUNCH_FD + (int)i);
		else if (dup2(high[i], SHEPHERD_LAUNCH_FD + (int)i) < 0)
			return -1;
	return 0; /* a shepherd closes all others itself */
}

static pid_t fork_sibling(void)
{
	struct clone_args args = { .flags = CLONE_PARENT };

	return (pid_t)syscall(SYS_clone3, &args, sizeof(args));
}

char *template_server_wait(char **argv)
{
	size_t room = strlen(argv[2]);
	struct request r;
	int32_t answer;

	/* so that it is not found when gshepherds are searched */
	prctl(PR_SET_NAME, "gsh-template");
	while (read_request(&r)) {
		answer = -ENAMETOOLONG;
		if (strlen(r.path) <= room) {
			answer = (int32_t)fork_sibling();
			if (answer < 0)
				answer = -errno;
		}
		if (answer == 0) {
			if (put_in_place(&r) < 0)
				_exit(1);
			return show_path(argv, r.path);
		}
		/* Close the lock first, which must be the shepherd's alone. */
		for (size_t i = 0; i < r.n_fds; i++)
			close(r.fds[i]);
		if (fdpass_send(TEMPLATE_FD, &answer, sizeof(answer), NULL, 0, MSG_DONTWAIT) < 0)
			break;
	}
	_exit(0);
}
