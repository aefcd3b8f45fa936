/* stdio.c - see stdio.h */
#include "noded/shepherd/stdio.h"

#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "noded/stream/ghold.h"

int stdio_receive(int fd, struct child_ends *ends)
{
	struct hold_note note = { 0 };
	union {
		char bytes[CMSG_SPACE(HOLD_ENDS_MAX * sizeof(int))];
		struct cmsghdr align;
	} control;
	struct iovec iov = { &note, sizeof(note) };
	struct msghdr m = { .msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control.bytes,
		.msg_controllen = sizeof(control.bytes) };
	struct pollfd p = { .fd = fd, .events = POLLIN };
	struct cmsghdr *c;

	if (poll(&p, 1, HOLD_ENDS_MS) <= 0 || recvmsg(fd, &m, MSG_CMSG_CLOEXEC) != sizeof(note))
		return -1;
	c = CMSG_FIRSTHDR(&m);
	if (!c || c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
		return -1;
	ends->n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
	memcpy(ends->fds, CMSG_DATA(c), ends->n * sizeof(int));
	if (note.news == HOLD_ENDS && (ends->n == 1 || ends->n == HOLD_ENDS_MAX))
		return 0;
	for (size_t i = 0; i < ends->n; i++)
		close(ends->fds[i]);
	ends->n = 0;
	return -1;
}
