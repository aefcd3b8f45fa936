/* ghold_ends.c - see ghold_ends.h */
#include "noded/shepherd/ghold_ends.h"

#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "noded/record/fdpass.h"
#include "noded/stream/ghold.h"

int ghold_ends_receive(int fd, struct child_ends *ends)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	struct ghold_note note = { 0 };
	int fds[FDPASS_MAX];
	size_t n;
	ssize_t len;

	if (poll(&p, 1, GHOLD_ENDS_MS) <= 0)
		return -1;
	len = fdpass_receive(fd, &note, sizeof(note), fds, &n, 0);
	if (len == sizeof(note) && note.news == GHOLD_ENDS && (n == 1 || n == GHOLD_ENDS_MAX)) {
		ends->n = n;
		memcpy(ends->fds, fds, n * sizeof(int));
		return 0;
	}
	for (size_t i = 0; i < n; i++)
		close(fds[i]);
	ends->n = 0;
	return -1;
}
