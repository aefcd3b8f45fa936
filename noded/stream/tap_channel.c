/* tap_channel.c - see tap_channel.h */
#include "config.h"

#include "noded/stream/tap_channel.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#include "noded/stream/tap_fds.h"

void tap_send(const void *bytes, size_t len)
{
	const uint8_t *p = bytes;
	ssize_t n;

	while (len > 0) {
		n = write(TAP_SOCKET_FD, p, len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			exit(EXIT_SUCCESS);
		p += n;
		len -= (size_t)n;
	}
}

void tap_say(struct tap *t, unsigned kind, const void *data, size_t len)
{
	uint8_t wire[CHANNEL_WIRE_MAX];
	struct error err;
	size_t n = channel_seal(t->channel, kind, data, len, wire, &err);

	if (n == 0)
		exit(EXIT_FAILURE);
	tap_send(wire, n);
}

void tap_end(struct tap *t, const struct error *why)
{
	uint8_t b[CHANNEL_END_MAX];

	tap_say(t, CHANNEL_END, b, channel_put_end(b, why));
	exit(EXIT_SUCCESS);
}

bool tap_wait(int ms)
{
	struct pollfd p = { .fd = TAP_SOCKET_FD, .events = POLLIN };

	return poll(&p, 1, ms) > 0;
}

bool tap_hear(struct tap *t, struct channel_message *m, int ms)
{
	uint8_t b[4096];
	struct error err;
	ssize_t n;
	int r;

	while ((r = channel_next(t->channel, m, &err)) == 0) {
		if (!tap_wait(ms))
			return false;
		n = read(TAP_SOCKET_FD, b, sizeof(b));
		if (n <= 0 || channel_feed(t->channel, b, (size_t)n) != (size_t)n)
			exit(EXIT_SUCCESS);
	}
	if (r < 0)
		exit(EXIT_FAILURE);
	return true;
}
