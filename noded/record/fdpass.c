/* fdpass.c - see fdpass.h */
#include "noded/record/fdpass.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>

union control {
	char bytes[CMSG_SPACE(FDPASS_MAX * sizeof(int))];
	struct cmsghdr align;
};

int fdpass_send(int sock, const void *bytes, size_t len, const int *fds, size_t n, int flags)
{
	union control control = { { 0 } };
	struct iovec iov = { (void *)(uintptr_t)bytes, len };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1 };
	struct cmsghdr *c;

	if (n > 0) {
		m.msg_control = control.bytes;
		m.msg_controllen = CMSG_SPACE(n * sizeof(int));
		c = CMSG_FIRSTHDR(&m);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(n * sizeof(int));
		memcpy(CMSG_DATA(c), fds, n * sizeof(int));
	}
	return sendmsg(sock, &m, flags | MSG_NOSIGNAL) < 0 ? -1 : 0;
}

ssize_t fdpass_receive(int sock, void *bytes, size_t len, int fds[FDPASS_MAX], size_t *n, int flags)
{
	union control control;
	struct iovec iov = { bytes, len };
	struct msghdr m;
	struct cmsghdr *c;
	ssize_t got;

	do {
		m = (struct msghdr){ .msg_iov = &iov,
			.msg_iovlen = 1,
			.msg_control = control.bytes,
			.msg_controllen = sizeof(control.bytes) };
		got = recvmsg(sock, &m, flags | MSG_CMSG_CLOEXEC);
	} while (got < 0 && errno == EINTR);
	*n = 0;
	c = got < 0 ? NULL : CMSG_FIRSTHDR(&m);
	if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS) {
		*n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		memcpy(fds, CMSG_DATA(c), *n * sizeof(int));
	}
	return got;
}
