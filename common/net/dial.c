/* dial.c - see dial.h */
#include "common/net/dial.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/fd_close.h"
#include "common/net/hello.h"

#define OPEN_MS      10000
#define RETRY_MIN_MS 50
#define RETRY_MAX_MS 2000
#define CALL_MS      30000
#define ARENA_CAP    (1024 * 1024) /* msg_unpack() sets its own */
#define READ_STEP    (2 * NOISE_MSG_MAX)

/* Bytes at..len are in use. */
struct bytes {
	uint8_t *p;
	size_t at, len, cap;
};

struct dial {
	int fd, reader_fd; /* or -1 */
	char peer[300]; /* host:port */
	struct noise *noise;
	struct frame_reader *reader;
	struct bytes
	        plain;    /* frames to send, not yet encrypted: small ones share a Noise message */
	struct bytes out; /* encrypted */
	struct bytes in;  /* from the wire */
	struct arena *arena;
	uint64_t last_id;
	bool eof;
};

/* --- small parts ----------------------------------------------------------------------------- */

/* A moment from which on there is no waiting; INT64_MAX: never. */
static int64_t deadline_in(int timeout_ms)
{
	return timeout_ms < 0 ? INT64_MAX : clock_ms(CLOCK_MONOTONIC) + timeout_ms;
}

static int left_ms(int64_t deadline)
{
	int64_t left;

	if (deadline == INT64_MAX)
		return -1;
	left = deadline - clock_ms(CLOCK_MONOTONIC);
	return left < 0 ? 0 : left > INT32_MAX ? INT32_MAX : (int)left;
}

/* Room for n more bytes behind the others; NULL: out of memory. */
static uint8_t *bytes_room(struct bytes *b, size_t n)
{
	size_t used = b->len - b->at, cap = b->cap ? b->cap : 4096;
	uint8_t *p;

	if (b->at == b->len)
		b->at = b->len = 0;
	if (b->cap - b->len >= n)
		return b->p + b->len;
	if (b->at > 0) {
		memmove(b->p, b->p + b->at, used);
		b->at = 0;
		b->len = used;
	}
	while (cap - used < n)
		cap *= 2;
	if (cap > b->cap) {
		p = realloc(b->p, cap);
		if (!p)
			return NULL;
		b->p = p;
		b->cap = cap;
	}
	return b->p + b->len;
}

static size_t bytes_used(const struct bytes *b)
{
	return b->len - b->at;
}

static const uint8_t *bytes_at(const struct bytes *b)
{
	return b->p ? b->p + b->at : (const uint8_t *)"";
}

static int out_of_memory(struct error *err)
{
	return error_set(err, ERR_SYSTEM, "out of memory");
}

/* Wait until the socket is as wanted. 1; 0: the deadline has passed; -1. */
static int wait_for(const struct dial *d, short events, int64_t deadline, struct error *err)
{
	struct pollfd pfd[2] = { { .fd = d->fd, .events = events }, { .fd = d->reader_fd } };
	int n;

	do
		n = poll(pfd, 2, left_ms(deadline));
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return error_set(err, ERR_SYSTEM, "poll: %s", strerror(errno));
	if (pfd[1].revents & (POLLERR | POLLHUP)) {
		raise(SIGPIPE);
		return error_set(err, ERR_SYSTEM, "nobody reads the output any more");
	}
	return n > 0;
}

/* --- connecting ------------------------------------------------------------------------------- */

static int unreachable(const struct dial *d, const char *why, struct error *err)
{
	error_set(err, ERR_UNREACHABLE, "cannot reach the controller at %s: %s", d->peer, why);
	return error_hint(err, "is gctld running there, and is the address right?");
}

static int look_up(
        const struct dial *d, const struct dial_to *to, struct addrinfo **out, struct error *err)
{
	struct addrinfo hints = { .ai_family = AF_UNSPEC,
		.ai_socktype = SOCK_STREAM,
		.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV };
	char port[8];
	int e;

	if (to->port == 0 || to->port > UINT16_MAX)
		return error_set(err, ERR_USAGE, "%u is no port", to->port);
	snprintf(port, sizeof(port), "%u", to->port);
	/* A numeric address needs none of the name service's files and sockets. */
	e = getaddrinfo(to->host, port, &hints, out);
	if (e == EAI_NONAME) {
		hints.ai_flags = AI_NUMERICSERV;
		e = getaddrinfo(to->host, port, &hints, out);
	}
	if (e == 0)
		return 0;
	return unreachable(d, e == EAI_SYSTEM ? strerror(errno) : gai_strerror(e), err);
}

/* Begin to connect; the result is known when the socket is writable. -1 with errno. */
static int begin_connect(const struct addrinfo *ai)
{
	int fd = socket(ai->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), on = 1, e;

	if (fd < 0)
		return -1;
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	if (connect(fd, ai->ai_addr, ai->ai_addrlen) == 0 || errno == EINPROGRESS)
		return fd;
	e = errno;
	close(fd);
	errno = e;
	return -1;
}

/* 0, or an errno. */
static int end_connect(const struct dial *d, int64_t deadline)
{
	int e = 0, n = wait_for(d, POLLOUT, deadline, NULL);
	socklen_t len = sizeof(e);

	if (n <= 0)
		return ETIMEDOUT;
	if (getsockopt(d->fd, SOL_SOCKET, SO_ERROR, &e, &len) < 0)
		return errno;
	return e;
}

/* The greeting, made while the first connection is on its way. */
static struct hello *make_hello(const struct dial_to *to, struct error *err)
{
	struct hello_to dest = { "controller", to->cluster, to->node };
	struct hello *h = hello_new(&dest, err);
	const uint8_t *p;
	char *cred;
	size_t len;
	int r;

	if (!h)
		return NULL;
	p = hello_payload(h, &len);
	if (to->mcred->encode(to->mcred, p, len, to->server_uid, &cred, err) < 0) {
		hello_free(h);
		return NULL;
	}
	r = hello_finish(h, cred, &p, &len, err);
	free(cred);
	if (r < 0) {
		hello_free(h);
		return NULL;
	}
	return h;
}

/* Connect to the first address that answers. Each gets its part of the time that is left. */
static int connect_any(struct dial *d, const struct dial_to *to, int64_t deadline,
        struct hello **hello, struct error *err)
{
	struct addrinfo *list = NULL, *ai;
	int n = 0, e = 0;

	if (look_up(d, to, &list, err) < 0)
		return -1;
	for (ai = list; ai; ai = ai->ai_next)
		n++;
	for (ai = list; ai; ai = ai->ai_next, n--) {
		d->fd = begin_connect(ai);
		if (d->fd < 0)
			e = errno;
		if (!*hello && !(*hello = make_hello(to, err)))
			break;
		if (d->fd < 0)
			continue;
		e = end_connect(d, clock_ms(CLOCK_MONOTONIC) + left_ms(deadline) / n);
		if (e == 0)
			break;
		close(d->fd);
		d->fd = -1;
	}
	freeaddrinfo(list);
	if (!*hello)
		return -1;
	return d->fd < 0 ? unreachable(d, strerror(e), err) : 0;
}

/* --- bytes in and out ------------------------------------------------------------------------- */

static int lost(const struct dial *d, int e, struct error *err)
{
	return error_set(err, ERR_UNREACHABLE,
	        "the connection to the controller at %s was lost: %s", d->peer, strerror(e));
}

/* Take what is there into `in`. 1: something; 0: nothing now, or the end (d->eof). */
static int read_some(struct dial *d, struct error *err)
{
	uint8_t *p = bytes_room(&d->in, READ_STEP);
	ssize_t n;

	if (!p)
		return out_of_memory(err);
	do
		n = recv(d->fd, p, READ_STEP, MSG_DONTWAIT);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return errno == EAGAIN ? 0 : lost(d, errno, err);
	if (n == 0)
		d->eof = true;
	d->in.len += (size_t)n;
	return n > 0;
}

/* Encrypt the next piece, if nothing encrypted waits. */
static int seal_some(struct dial *d, struct error *err)
{
	size_t n = bytes_used(&d->plain);
	uint8_t *p;

	if (bytes_used(&d->out) > 0 || n == 0)
		return 0;
	if (n > FRAME_CHUNK_MAX)
		n = FRAME_CHUNK_MAX;
	p = bytes_room(&d->out, frame_sealed_len(n));
	if (!p)
		return out_of_memory(err);
	if (frame_seal(d->noise, d->plain.p + d->plain.at, n, p, err) < 0)
		return -1;
	d->out.len += frame_sealed_len(n);
	d->plain.at += n;
	return 0;
}

/* Give the kernel what it takes. 1: all is sent; 0: it takes no more now. */
static int write_some(struct dial *d, struct error *err)
{
	for (;;) {
		ssize_t n;

		if (seal_some(d, err) < 0)
			return -1;
		if (bytes_used(&d->out) == 0)
			return 1;
		n = send(d->fd, d->out.p + d->out.at, bytes_used(&d->out),
		        MSG_DONTWAIT | MSG_NOSIGNAL);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno == EAGAIN ? 0 : lost(d, errno, err);
		d->out.at += (size_t)n;
	}
}

/* --- the handshake ---------------------------------------------------------------------------- */

static int timed_out(const struct dial *d, struct error *err)
{
	error_set(err, ERR_TIMEOUT, "the controller at %s does not answer", d->peer);
	return error_hint(err, "it may be overloaded; try again");
}

static int greet(struct dial *d, struct hello *hello, int64_t deadline, struct error *err)
{
	size_t len, used;
	const uint8_t *p = hello_bytes(hello, &len);
	uint8_t *room = bytes_room(&d->out, len);
	int n;

	if (!room)
		return out_of_memory(err);
	memcpy(room, p, len);
	d->out.len += len;
	n = write_some(d, err); /* it fits a new socket's buffer */
	while (n >= 0) {
		n = hello_answer(hello, d->peer, bytes_at(&d->in), bytes_used(&d->in), &used,
		        &d->noise, err);
		if (n != 0)
			break;
		if (d->eof)
			return error_set(err, ERR_UNREACHABLE,
			        "%s closed the connection during the greeting", d->peer);
		n = wait_for(d, POLLIN, deadline, err);
		if (n == 0)
			return timed_out(d, err);
		if (n > 0)
			n = read_some(d, err);
	}
	if (n < 0)
		return -1;
	d->in.at += used;
	room = bytes_room(&d->out, HELLO_CONFIRM_LEN);
	if (!room)
		return out_of_memory(err);
	if (hello_confirm(d->noise, room, err) < 0)
		return -1;
	d->out.len += HELLO_CONFIRM_LEN;
	return write_some(d, err) < 0 ? -1 : 0;
}

void dial_for_reader(struct dial *d, int fd)
{
	d->reader_fd = fd;
}

struct dial *dial_open(const struct dial_to *to, struct error *err)
{
	struct dial *d = calloc(1, sizeof(*d));
	int64_t deadline = clock_ms(CLOCK_MONOTONIC) + (to->timeout_ms > 0 ? to->timeout_ms : OPEN_MS);
	struct hello *hello = NULL;
	int n;

	if (!d) {
		out_of_memory(err);
		return NULL;
	}
	d->fd = d->reader_fd = -1;
	snprintf(d->peer, sizeof(d->peer), strchr(to->host, ':') ? "[%s]:%u" : "%s:%u", to->host,
	        to->port);
	n = connect_any(d, to, deadline, &hello, err);
	if (n == 0)
		n = greet(d, hello, deadline, err);
	hello_free(hello);
	if (n == 0) {
		d->reader = frame_reader_new(d->noise, MSG_BY_CONTROLLER);
		d->arena = arena_new(ARENA_CAP);
		if (!d->reader || !d->arena)
			n = out_of_memory(err);
	}
	if (n < 0) {
		dial_close(d);
		return NULL;
	}
	return d;
}

void dial_close(struct dial *d)
{
	if (!d)
		return;
	fd_close(d->fd);
	frame_reader_free(d->reader);
	noise_free(d->noise);
	arena_free(d->arena);
	free(d->plain.p);
	free(d->out.p);
	free(d->in.p);
	free(d);
}

int dial_fd(const struct dial *d)
{
	return d->fd;
}

/* --- frames ----------------------------------------------------------------------------------- */

uint64_t dial_send(struct dial *d, unsigned type, const ProtobufCMessage *m, struct error *err)
{
	int64_t n = msg_packed_size(type, m, err);
	uint8_t *p;

	if (n < 0)
		return 0;
	p = bytes_room(&d->plain, FRAME_HEADER_LEN + (size_t)n);
	if (!p) {
		out_of_memory(err);
		return 0;
	}
	frame_put_header(p, type, ++d->last_id, (uint32_t)n);
	protobuf_c_message_pack(m, p + FRAME_HEADER_LEN);
	d->plain.len += FRAME_HEADER_LEN + (size_t)n;
	return d->last_id;
}

int dial_send_bytes(struct dial *d, const void *frames, size_t len, struct error *err)
{
	uint8_t *p = bytes_room(&d->plain, len);

	if (!p)
		return out_of_memory(err);
	memcpy(p, frames, len);
	d->plain.len += len;
	return 0;
}

int dial_flush(struct dial *d, int timeout_ms, struct error *err)
{
	int64_t deadline = deadline_in(timeout_ms);
	int n;

	while ((n = write_some(d, err)) == 0) {
		n = wait_for(d, d->eof ? POLLOUT : POLLIN | POLLOUT, deadline, err);
		if (n == 0)
			return timed_out(d, err);
		if (n < 0)
			return -1;
		/* The controller stops reading from a client that does not read its answers. */
		if (!d->eof && read_some(d, err) < 0)
			return -1;
	}
	return n < 0 ? -1 : 0;
}

bool dial_is_sending(const struct dial *d)
{
	return bytes_used(&d->plain) > 0 || bytes_used(&d->out) > 0;
}

/* A frame out of what was read already. 1, 0, -1 as frame_reader_next(). */
static int next_frame(struct dial *d, struct frame *out, struct error *err)
{
	size_t used;
	int n;

	for (;;) {
		n = frame_reader_next(d->reader, out, err);
		if (n != 0)
			return n;
		if (frame_reader_feed(d->reader, bytes_at(&d->in), bytes_used(&d->in), &used, err) <
		        0)
			return -1;
		if (used == 0)
			return 0;
		d->in.at += used;
	}
}

int dial_recv(struct dial *d, struct frame *out, int timeout_ms, struct error *err)
{
	int64_t deadline = deadline_in(timeout_ms);
	int n;

	for (;;) {
		n = next_frame(d, out, err);
		if (n < 0)
			return error_wrap(err, "the controller at %s", d->peer);
		if (n > 0)
			return 1;
		if (d->eof)
			return error_set(err, ERR_UNREACHABLE,
			        "the controller at %s closed the connection", d->peer);
		n = write_some(d, err);
		if (n >= 0)
			n = wait_for(d, n ? POLLIN : POLLIN | POLLOUT, deadline, err);
		if (n <= 0)
			return n;
		if (read_some(d, err) < 0)
			return -1;
	}
}

/* --- whole requests --------------------------------------------------------------------------- */

int dial_reply_error(const Gpusched__Reply *reply, struct error *err)
{
	if (reply->code == ERR_NONE)
		return 0;
	error_set(err, reply->code < ERR_COUNT ? (int)reply->code : ERR_INTERNAL, "%s",
	        *reply->text ? reply->text : error_meaning((int)reply->code));
	return *reply->hint ? error_hint(err, "%s", reply->hint) : -1;
}

static int one_answer(
        struct dial *d, const struct dial_call *call, const struct frame *f, struct error *err)
{
	ProtobufCMessage *m = msg_unpack(f->type, f->body, f->len, d->arena, err);

	if (!m)
		return error_wrap(err, "the controller at %s", d->peer);
	if (f->type == GPUSCHED__MSG_TYPE__MSG_REPLY) {
		const Gpusched__Reply *r = (const Gpusched__Reply *)m;

		if (dial_reply_error(r, err) < 0)
			return -1;
		if (*r->warning && call->on_warning)
			call->on_warning(r->warning, call->arg);
		return 1;
	}
	return call->on_chunk ? call->on_chunk(f->type, m, call->arg, err) : 0;
}

int dial_call(struct dial *d, const struct dial_call *call, struct error *err)
{
	int timeout = call->timeout_ms ? call->timeout_ms : CALL_MS, n;
	uint64_t id = dial_send(d, call->type, call->request, err);
	struct frame f;

	if (id == 0)
		return -1;
	for (;;) {
		n = dial_recv(d, &f, timeout, err);
		if (n == 0)
			return timed_out(d, err);
		if (n < 0)
			return -1;
		if (f.id != id)
			return error_set(err, ERR_PROTOCOL,
			        "the controller at %s answers what was not asked", d->peer);
		n = one_answer(d, call, &f, err);
		if (n != 0)
			return n < 0 ? -1 : 0;
	}
}

bool dial_may_retry(const struct error *err)
{
	return err->code == ERR_UNREACHABLE || err->code == ERR_TIMEOUT || err->code == ERR_BUSY ||
	       err->code == ERR_SESSIONS || err->code == ERR_MUNGE_REPLAY;
}
