/* ghold.c - ghold; see ghold.h
 *
 *   ends      pipes or a terminal, and the program's ends to the shepherd
 *   rings     what the program has written, until it is taken
 *   client    one attached connection, and a few that have not attached yet
 *   program   its input, and what is left of it when it is over
 */
#include "config.h"

#include "noded/stream/ghold.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/fd_close.h"
#include "common/base/wirenum.h"
#include "common/base/xalloc.h"
#include "common/gpusched.pb-c.h"
#include "noded/record/fdpass.h"
#include "noded/stream/disconnect_timeout.h"
#include "noded/stream/local_channel.h"
#include "noded/stream/owner_grant.h"

#define CHUNK        (16 * 1024) /* of output in one message */
#define SIGNALS      64
#define NO_MOMENT    DISCONNECT_NEVER
#define GUESTS       4
#define END_AGAIN_MS 500

/* Bytes of the program, by their number since it began: free | taken .. sent .. end | free */
struct ring {
	int fd;       /* -1: no more comes */
	bool refused; /* it is no longer wanted */
	uint64_t taken, sent, end;
	uint8_t b[GHOLD_RING];
};

struct hold {
	const Gpusched__Interactive *what;
	bool pty;
	struct ring out, err;
	int in_fd; /* to the program; a terminal's is out.fd; -1: the program reads no more */
	uint8_t in[CHANNEL_IN_MAX];
	size_t in_n;
	uint64_t in_come, in_gone, in_told; /* byte numbers: received, written, acknowledged */
	bool in_end, in_closed;             /* no more comes; the program knows */
	struct local_channel client;
	struct local_channel guests[GUESTS]; /* not attached yet; the oldest first */
	bool over;                           /* the shepherd has gone */
	bool told_end;
	int64_t end_again; /* ms: a terminal's input ends once more; NO_MOMENT: not */
	struct disconnect_timeout without; /* a client */
};

/* --- ends ------------------------------------------------------------------------------------- */

static int send_ends(const int *fds, size_t n)
{
	struct ghold_note note = { .news = GHOLD_ENDS };

	return fdpass_send(GHOLD_SHEPHERD_FD, &note, sizeof(note), fds, n, 0);
}

static void set_window(int fd, uint32_t rows, uint32_t cols)
{
	struct winsize w = { .ws_row = (unsigned short)rows, .ws_col = (unsigned short)cols };

	if (rows && cols)
		ioctl(fd, TIOCSWINSZ, &w);
}

/* Made by the owner, so that it belongs to him, as after a login. */
static int make_terminal(struct hold *h)
{
	int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC), slave = -1, rc = -1;

	if (master >= 0 && grantpt(master) == 0 && unlockpt(master) == 0)
		slave = ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (slave >= 0) {
		set_window(master, h->what->rows, h->what->cols);
		rc = send_ends(&slave, 1);
		close(slave);
	}
	h->in_fd = h->out.fd = master;
	return rc;
}

static int make_pipes(struct hold *h)
{
	int in[2], out[2], err[2], ends[GHOLD_ENDS_MAX], rc;

	if (pipe2(in, O_CLOEXEC) < 0 || pipe2(out, O_CLOEXEC) < 0 || pipe2(err, O_CLOEXEC) < 0)
		return -1;
	h->in_fd = in[1];
	h->out.fd = out[0];
	h->err.fd = err[0];
	ends[0] = in[0];
	ends[1] = out[1];
	ends[2] = err[1];
	rc = send_ends(ends, 3);
	for (size_t i = 0; i < 3; i++)
		close(ends[i]);
	return rc;
}

static int make_ends(struct hold *h)
{
	if ((h->pty ? make_terminal(h) : make_pipes(h)) < 0)
		return -1;
	fcntl(h->in_fd, F_SETFL, O_NONBLOCK);
	fcntl(h->out.fd, F_SETFL, O_NONBLOCK);
	if (h->err.fd >= 0)
		fcntl(h->err.fd, F_SETFL, O_NONBLOCK);
	return 0;
}

/* --- rings ------------------------------------------------------------------------------------ */

static bool has_space(const struct ring *r)
{
	return r->fd >= 0 && r->end - r->taken < GHOLD_RING;
}

/* The stretch of the ring behind `at`, at most up to `stop`. */
static size_t stretch(uint64_t at, uint64_t stop)
{
	size_t place = (size_t)(at % GHOLD_RING), n = GHOLD_RING - place;

	return stop - at < n ? (size_t)(stop - at) : n;
}

/* The other end of a terminal may be closed while data is on its way: EIO is the end. */
static void fill(struct hold *h, struct ring *r)
{
	ssize_t n;

	while (has_space(r)) {
		n = read(r->fd, r->b + r->end % GHOLD_RING, stretch(r->end, r->taken + GHOLD_RING));
		if (n > 0) {
			r->end += (uint64_t)n;
			continue;
		}
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN && !h->over)
			return;
		if (!h->pty)
			close(r->fd); /* of a terminal it is the input too, until we end */
		r->fd = -1;
	}
}

static bool is_drained(const struct ring *r)
{
	return r->fd < 0 && r->sent == r->end;
}

static bool is_taken(const struct ring *r)
{
	return r->fd < 0 && r->taken == r->end;
}

/* The output is no longer wanted: later writes of the program fail, as on a closed pipe. */
static void refuse(struct ring *r)
{
	fd_drop(&r->fd);
	r->refused = true;
	r->taken = r->sent = r->end;
}

static void send_ring(struct hold *h, struct ring *r, unsigned kind)
{
	while (r->sent < r->end && local_channel_has_room(&h->client)) {
		size_t n = stretch(r->sent, r->end);

		n = n < CHUNK ? n : CHUNK;
		local_channel_put(&h->client, kind, r->b + r->sent % GHOLD_RING, n);
		r->sent += n;
	}
}

/* --- the clock: without a client -------------------------------------------------------------- */

static void tell_shepherd(unsigned news, unsigned sig)
{
	struct ghold_note note = { .news = (uint8_t)news, .signal = (uint8_t)sig };

	send(GHOLD_SHEPHERD_FD, &note, sizeof(note), MSG_NOSIGNAL | MSG_DONTWAIT);
}

static bool write_end(const struct hold *h);

static void look_at_clock(struct hold *h)
{
	if (h->end_again != NO_MOMENT && clock_us(CLOCK_MONOTONIC) / 1000 >= h->end_again) {
		h->end_again = h->in_closed && h->in_end && !h->over
		                       ? clock_us(CLOCK_MONOTONIC) / 1000 + END_AGAIN_MS
		                       : NO_MOMENT;
		if (h->end_again != NO_MOMENT)
			write_end(h);
	}
	if (!disconnect_due(&h->without))
		return;
	if (h->over)
		exit(EXIT_SUCCESS);
	tell_shepherd(GHOLD_LOST, 0);
}

/* --- the shepherd ----------------------------------------------------------------------------- */

/* The shepherd sends nothing: if its socket is readable it has ended. */
static void hear_shepherd(struct hold *h)
{
	struct ghold_note note;

	if (recv(GHOLD_SHEPHERD_FD, &note, sizeof(note), MSG_DONTWAIT) < 0 &&
	        (errno == EAGAIN || errno == EINTR))
		return;
	h->over = true;
	disconnect_over(&h->without);
	if (h->client.fd < 0)
		disconnect_lost(&h->without);
	fill(h, &h->out);
	fill(h, &h->err);
}

/* --- the client ------------------------------------------------------------------------------- */

static void lose_client(struct hold *h)
{
	local_channel_close(&h->client);
	h->told_end = false;
	disconnect_lost(&h->without);
}

static void say_end(struct local_channel *io, int code, const char *text)
{
	uint8_t b[CHANNEL_END_MAX];
	struct error why = { .code = ERR_NONE };

	if (code)
		error_set(&why, code, "%s", text);
	if (local_channel_has_room(io))
		local_channel_put(io, CHANNEL_END, b, channel_put_end(b, &why));
}

static int resume(struct ring *r, uint64_t from)
{
	if (r->refused)
		return 0;
	if (from < r->taken || from > r->end)
		return -1;
	r->taken = r->sent = from;
	return 0;
}

static void say_attached(struct hold *h)
{
	struct channel_attached a = { .pty = h->pty,
		.in_ended = h->in_end,
		.in = h->in_come,
		.in_taken = h->in_gone,
		.out = h->out.sent,
		.err = h->err.sent };
	uint8_t b[CHANNEL_ATTACHED_LEN];

	channel_put_attached(b, &a);
	local_channel_put(&h->client, CHANNEL_ATTACHED, b, sizeof(b));
}

/* The guest becomes the client and replaces the previous one. */
static void attach(struct hold *h, struct local_channel *guest, const struct channel_attach *a)
{
	if (a->resume && (resume(&h->out, a->out) < 0 || resume(&h->err, a->err) < 0)) {
		say_end(guest, ERR_JOB_STATE, "what was written meanwhile is not there any more");
		local_channel_write(guest);
		local_channel_close(guest);
		return;
	}
	if (h->client.fd >= 0) {
		say_end(&h->client, ERR_JOB_STATE, "another client has attached to it");
		local_channel_write(&h->client);
		local_channel_close(&h->client);
	}
	h->client = *guest;
	guest->fd = -1;
	disconnect_attached(&h->without);
	h->told_end = false;
	if (!a->resume) {
		h->out.sent = h->out.taken;
		h->err.sent = h->err.taken;
		if (h->pty) /* a terminal's end of input is a character, and more may follow */
			h->in_end = h->in_closed = false;
	}
	h->in_told = h->in_gone;
	set_window(h->pty ? h->in_fd : -1, a->rows, a->cols);
	say_attached(h);
}

/* A connection that has not attached yet. The launcher makes some that send nothing, to see whether
 * this process is still alive (start_ghold.c), so one guest must not displace another. Only if
 * there are too many the oldest is closed: silent guests could keep all others out. */
static void take_guest(struct hold *h)
{
	int fd = accept4(GHOLD_LISTEN_FD, NULL, NULL, SOCK_CLOEXEC);
	size_t i = 0;

	if (fd < 0)
		return;
	while (i < GUESTS && h->guests[i].fd >= 0)
		i++;
	if (i == GUESTS) {
		local_channel_close(&h->guests[0]);
		memmove(&h->guests[0], &h->guests[1], (GUESTS - 1) * sizeof(h->guests[0]));
		i = GUESTS - 1;
	}
	local_channel_init(&h->guests[i], fd);
}

static void hear_guest(struct hold *h, struct local_channel *guest)
{
	struct channel_message m;
	struct channel_attach a;

	local_channel_read(guest);
	if (local_channel_next(guest, &m) > 0) {
		if (channel_get_attach(&m, &a, NULL) == 0) {
			attach(h, guest, &a);
			return;
		}
		guest->closed = true;
	}
	if (guest->closed)
		local_channel_close(guest);
}

static bool take_taken(struct ring *r, uint64_t n)
{
	if (r->refused)
		return true;
	if (n < r->taken || n > r->sent)
		return false;
	r->taken = n;
	return true;
}

static bool take_in(struct hold *h, const struct channel_message *m)
{
	if (h->in_end || m->len > sizeof(h->in) - h->in_n)
		return false;
	h->in_come += m->len;
	if (h->in_closed) { /* read, and dropped */
		h->in_gone += m->len;
		return true;
	}
	if (m->len)
		memcpy(h->in + h->in_n, m->data, m->len);
	h->in_n += m->len;
	return true;
}

static void close_output(struct hold *h, unsigned which)
{
	if (h->pty) /* the terminal has gone */
		tell_shepherd(GHOLD_SIGNAL, SIGHUP);
	else
		refuse(which == 1 ? &h->out : &h->err);
}

/* False: the message violates the protocol. */
static bool obey(struct hold *h, const struct channel_message *m)
{
	struct channel_taken taken;
	unsigned byte = m->len ? m->data[0] : 0;

	switch (m->kind) {
	case CHANNEL_IN:
		return take_in(h, m);
	case CHANNEL_IN_END:
		h->in_end = true;
		return true;
	case CHANNEL_TAKEN:
		return channel_get_taken(m, &taken, NULL) == 0 && take_taken(&h->out, taken.out) &&
		       take_taken(&h->err, taken.err);
	case CHANNEL_SIGNAL:
		if (m->len != 1 || byte < 1 || byte > SIGNALS)
			return false;
		tell_shepherd(GHOLD_SIGNAL, byte);
		return true;
	case CHANNEL_WINDOW:
		if (m->len != 4)
			return false;
		set_window(h->pty ? h->in_fd : -1, get_u16(m->data), get_u16(m->data + 2));
		return true;
	case CHANNEL_CLOSED:
		if (m->len != 1 || byte < 1 || byte > 2)
			return false;
		close_output(h, byte);
		return true;
	case CHANNEL_DETACH:
		local_channel_close(&h->client);
		disconnect_detached(&h->without);
		return true;
	default:
		return false;
	}
}

static void hear_client(struct hold *h)
{
	struct channel_message m;

	local_channel_read(&h->client);
	while (local_channel_next(&h->client, &m) > 0) {
		if (!obey(h, &m))
			h->client.closed = true;
		if (h->client.fd < 0)
			return; /* detached */
	}
	if (h->client.closed)
		lose_client(h);
}

static void tell_client(struct hold *h)
{
	uint8_t gone[8];

	if (h->client.fd < 0)
		return;
	if (h->in_told != h->in_gone && local_channel_has_room(&h->client)) {
		put_u64(gone, h->in_gone);
		local_channel_put(&h->client, CHANNEL_IN_TAKEN, gone, sizeof(gone));
		h->in_told = h->in_gone;
	}
	send_ring(h, &h->out, CHANNEL_OUT);
	send_ring(h, &h->err, CHANNEL_ERR);
	if (!h->told_end && h->over && is_drained(&h->out) && is_drained(&h->err) &&
	        local_channel_has_room(&h->client)) {
		say_end(&h->client, ERR_NONE, "");
		h->told_end = true;
	}
	local_channel_write(&h->client);
	if (h->client.closed)
		lose_client(h);
}

/* --- the program's input ---------------------------------------------------------------------- */

/* The end of a terminal's input is a character, which is consumed by the process that reads it: a
 * shell that was still reading its profile, or whose last line was incomplete, or the next program.
 * So it is sent again as long as a process reads: at the end of a file every reader sees the
 * end. */
static bool write_end(const struct hold *h)
{
	struct termios t;

	if (!h->pty)
		return close(h->in_fd) == 0;
	if (tcgetattr(h->in_fd, &t) < 0)
		return true;
	return write(h->in_fd, &t.c_cc[VEOF], 1) >= 0 || errno != EAGAIN;
}

static void feed(struct hold *h)
{
	ssize_t n;

	while (h->in_n && !h->in_closed) {
		n = write(h->in_fd, h->in, h->in_n);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return;
		if (n < 0) { /* the program has closed its end, and reads no more */
			h->in_closed = true;
			if (!h->pty)
				close(h->in_fd);
			n = (ssize_t)h->in_n;
		}
		h->in_n -= (size_t)n;
		h->in_gone += (uint64_t)n;
		memmove(h->in, h->in + n, h->in_n);
	}
	if (h->in_end && !h->in_closed && !h->in_n)
		h->in_closed = write_end(h);
	if (h->pty && h->in_end && h->in_closed && h->end_again == NO_MOMENT)
		h->end_again = clock_us(CLOCK_MONOTONIC) / 1000 + END_AGAIN_MS;
}

static bool wants_to_feed(const struct hold *h)
{
	return !h->in_closed && (h->in_n || h->in_end);
}

/* --- the process ------------------------------------------------------------------------------ */

static int wait_ms(const struct hold *h)
{
	int64_t left, lost = disconnect_at(&h->without);
	int64_t next = lost < h->end_again ? lost : h->end_again;

	if (next == NO_MOMENT)
		return -1;
	left = next - clock_us(CLOCK_MONOTONIC) / 1000;
	return left < 0 ? 0 : left > 3600000 ? 3600000 : (int)left;
}

static void serve(struct hold *h)
{
	enum { FIRST_GUEST = 6 };
	struct pollfd p[] = {
		{ .fd = h->over ? -1 : GHOLD_SHEPHERD_FD, .events = POLLIN },
		{ .fd = GHOLD_LISTEN_FD, .events = POLLIN },
		{ .fd = h->client.fd, .events = local_channel_events(&h->client, true) },
		{ .fd = has_space(&h->out) ? h->out.fd : -1, .events = POLLIN },
		{ .fd = has_space(&h->err) ? h->err.fd : -1, .events = POLLIN },
		{ .fd = wants_to_feed(h) ? h->in_fd : -1, .events = POLLOUT },
		[FIRST_GUEST + GUESTS - 1] = { .fd = -1 },
	};

	for (size_t i = 0; i < GUESTS; i++)
		p[FIRST_GUEST + i] = (struct pollfd){ .fd = h->guests[i].fd, .events = POLLIN };
	if (poll(p, sizeof(p) / sizeof(p[0]), wait_ms(h)) < 0 && errno != EINTR)
		exit(EXIT_FAILURE);
	if (p[3].revents)
		fill(h, &h->out);
	if (p[4].revents)
		fill(h, &h->err);
	if (p[0].revents)
		hear_shepherd(h);
	if (p[2].revents)
		hear_client(h);
	for (size_t i = 0; i < GUESTS; i++)
		if (p[FIRST_GUEST + i].revents)
			hear_guest(h, &h->guests[i]);
	if (p[1].revents)
		take_guest(h);
	if (wants_to_feed(h))
		feed(h);
	tell_client(h);
	look_at_clock(h);
}

int main(int argc, char **argv)
{
	struct hold *h;
	static Gpusched__HoldGrant *g; /* good until the process is gone */

	if (argc == 2 && strcmp(argv[1], "--version") == 0)
		return puts("ghold (gpusched) " PACKAGE_VERSION) < 0;
	if (argc != 1 || fcntl(GHOLD_GRANT_FD, F_GETFD) < 0) {
		fprintf(stderr, "usage: ghold\nStarted by gnoded for each interactive run; not for "
		                "use by hand.\n");
		return 2;
	}
	signal(SIGPIPE, SIG_IGN);
	g = (Gpusched__HoldGrant *)owner_grant_read(
	        GHOLD_GRANT_FD, &gpusched__hold_grant__descriptor);
	if (!g || !g->run || !g->interactive ||
	        owner_grant_become_owner(g->run, GHOLD_GRANT_FD) < 0)
		return EXIT_FAILURE;
	h = xcalloc(1, sizeof(*h));
	h->what = g->interactive;
	h->pty = g->interactive->kind == GPUSCHED__INTERACTIVE__KIND__PTY;
	h->in_fd = h->out.fd = h->err.fd = -1;
	h->client.fd = -1;
	for (size_t i = 0; i < GUESTS; i++)
		h->guests[i].fd = -1;
	if (make_ends(h) < 0)
		return EXIT_FAILURE;
	h->end_again = NO_MOMENT;
	disconnect_init(&h->without, g->interactive->patience_s);
	while (!h->over || h->client.fd >= 0 || disconnect_at(&h->without) != NO_MOMENT) {
		serve(h);
		/* When a client has all output it may leave, and this process may end, once the
		 * message about that is out: output that it refused may be queued before it. */
		if (h->told_end && is_taken(&h->out) && is_taken(&h->err) &&
		        !(local_channel_events(&h->client, false) & POLLOUT))
			break;
	}
	free(h);
	protobuf_c_message_free_unpacked(&g->base, NULL);
	return EXIT_SUCCESS;
}
