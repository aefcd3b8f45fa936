/* attach_relay.c - see attach_relay.h */
#include "noded/stream/attach_relay.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/xalloc.h"
#include "noded/stream/local_channel.h"
#include "noded/stream/tap_fds.h"

struct tapio {
	struct channel *channel;
	struct local_channel hold;
	bool client_gone;
	uint8_t in[4096]; /* from the client, not yet fed to the channel */
	size_t in_at, in_n;
	uint8_t out[CHANNEL_WIRE_MAX]; /* one message to the client */
	size_t out_at, out_n;
};

static bool is_client_kind(const struct tapio *t, unsigned kind)
{
	if (t->hold.raw)
		return kind == t->hold.raw;
	return kind >= CHANNEL_ATTACH && kind <= CHANNEL_DETACH;
}

/* --- from the client -------------------------------------------------------------------------- */

static void read_client(struct tapio *t)
{
	ssize_t n = recv(TAP_SOCKET_FD, t->in, sizeof(t->in), MSG_DONTWAIT);

	if (n > 0) {
		t->in_at = 0;
		t->in_n = (size_t)n;
	} else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
		t->client_gone = true;
	}
}

/* Take the client's messages, as far as the other side has room. */
static void take_client(struct tapio *t)
{
	struct channel_message m;
	struct error err;
	int r;

	while (local_channel_has_room(&t->hold)) {
		r = channel_next(t->channel, &m, &err);
		if (r < 0 || (r > 0 && !is_client_kind(t, m.kind))) {
			t->client_gone = true;
			return;
		}
		if (r > 0)
			local_channel_put(&t->hold, m.kind, m.data, m.len);
		else if (t->in_at < t->in_n)
			t->in_at += channel_feed(t->channel, t->in + t->in_at, t->in_n - t->in_at);
		else
			return;
	}
}

/* --- to the client ---------------------------------------------------------------------------- */

static void write_client(struct tapio *t)
{
	while (t->out_at < t->out_n) {
		ssize_t n = send(TAP_SOCKET_FD, t->out + t->out_at, t->out_n - t->out_at,
		        MSG_DONTWAIT | MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			t->client_gone |= errno != EAGAIN;
			return;
		}
		t->out_at += (size_t)n;
	}
	t->out_at = t->out_n = 0;
}

static void take_hold(struct tapio *t)
{
	struct channel_message m;
	struct error err;

	while (t->out_n == 0 && !t->client_gone && local_channel_next(&t->hold, &m) > 0) {
		t->out_n = channel_seal(t->channel, m.kind, m.data, m.len, t->out, &err);
		if (t->out_n == 0)
			t->client_gone = true;
		write_client(t);
	}
}

/* --- the process ------------------------------------------------------------------------------ */

static bool is_over(const struct tapio *t)
{
	return t->client_gone || (t->hold.closed && t->out_n == 0);
}

static void serve(struct tapio *t)
{
	struct pollfd p[] = {
		{ .fd = TAP_SOCKET_FD,
		        .events = (short)((t->in_at == t->in_n ? POLLIN : 0) |
		                          (t->out_n ? POLLOUT : 0)) },
		{ .fd = t->hold.closed ? -1 : t->hold.fd,
		        .events = local_channel_events(&t->hold, t->out_n == 0) },
	};

	if (poll(p, 2, -1) < 0 && errno != EINTR)
		exit(EXIT_FAILURE);
	if ((p[0].revents & (POLLIN | POLLHUP | POLLERR)) && t->in_at == t->in_n)
		read_client(t);
	if (p[0].revents & (POLLHUP | POLLERR))
		t->client_gone |= t->in_at == t->in_n;
	if (p[1].revents && t->out_n == 0)
		local_channel_read(&t->hold);
	write_client(t);
	take_hold(t);
	take_client(t);
	local_channel_write(&t->hold);
}

static _Noreturn void relay(struct tapio *t)
{
	take_client(t);
	while (!is_over(t))
		serve(t);
	channel_free(t->channel);
	explicit_bzero(t, sizeof(*t));
	free(t);
	exit(EXIT_SUCCESS);
}

void attach_relay(struct channel *c, const struct channel_message *first)
{
	struct tapio *t = xcalloc(1, sizeof(*t));

	t->channel = c;
	local_channel_init(&t->hold, TAP_HOLD_FD);
	local_channel_put(&t->hold, first->kind, first->data, first->len);
	local_channel_write(&t->hold);
	relay(t);
}

void attach_relay_steps(struct channel *c, int fd)
{
	struct tapio *t = xcalloc(1, sizeof(*t));
	struct error err;

	t->channel = c;
	local_channel_init(&t->hold, fd);
	t->hold.raw = CHANNEL_STEP_DATA;
	t->out_n = channel_seal(c, CHANNEL_STEPS, NULL, 0, t->out, &err);
	if (t->out_n == 0)
		exit(EXIT_FAILURE);
	relay(t);
}
