/* session.c - open sessions: sending, receiving, saying farewell; see session.h, session_impl.h */
#include "common/net/session_impl.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>

#define TURN_FRAMES  64          /* frames of one session in one turn of the loop */
#define SMALL_INPUT  4096 /* what is held below it is not counted */
#define INPUT_HIGH   (2 * NOISE_MSG_MAX)
#define OUTPUT_CHUNK (256 * 1024) /* encrypted ahead of the kernel */
#define LINGER_MS    2000

/* --- sending ---------------------------------------------------------------------------------- */

size_t session_queued(const struct session *s)
{
	if (!s->bev || !s->pending)
		return 0;
	return evbuffer_get_length(s->pending) +
	       evbuffer_get_length(bufferevent_get_output(s->bev));
}

/* It ends, with this error, on the next turn of the loop. */
static void doom(struct session *s, const struct error *err)
{
	if (s->doomed)
		return;
	s->doomed = malloc(sizeof(*s->doomed));
	if (s->doomed)
		*s->doomed = *err;
	event_active(s->work, EV_WRITE, 0);
}

/* Straight to the kernel if nothing is before it: that saves a turn of the loop. Errors show up
 * when libevent tries again with what is left. */
void session_write_wire(struct session *s, const void *bytes, size_t len)
{
	struct evbuffer *out = bufferevent_get_output(s->bev);
	const uint8_t *p = bytes;
	struct error err;
	ssize_t n = 0;

	if (evbuffer_get_length(out) == 0) {
		n = send(bufferevent_getfd(s->bev), p, len, MSG_DONTWAIT | MSG_NOSIGNAL);
		if (n < 0)
			n = 0;
	}
	s->ss->stats.bytes_out += len;
	if ((size_t)n < len && evbuffer_add(out, p + n, len - (size_t)n) < 0) {
		error_set(&err, ERR_SYSTEM, "out of memory");
		doom(s, &err);
	}
}

/* Encrypt and send as much as the kernel takes and a little ahead. */
static void flush_pending(struct session *s)
{
	struct evbuffer *out = bufferevent_get_output(s->bev);
	struct error err;

	while (evbuffer_get_length(s->pending) > 0 && evbuffer_get_length(out) < OUTPUT_CHUNK) {
		int n = evbuffer_remove(s->pending, s->ss->plain, FRAME_CHUNK_MAX);

		if (n <= 0)
			break;
		if (frame_seal(s->noise, s->ss->plain, (size_t)n, s->ss->sealed, &err) < 0) {
			doom(s, &err);
			return;
		}
		session_write_wire(s, s->ss->sealed, frame_sealed_len((size_t)n));
	}
}

/* The owner hears of each change of what is queued. */
static void tell_queued(struct session *s)
{
	size_t n = session_queued(s);

	if (n == s->told || !s->ss->ops->queued || s->state != S_OPEN)
		return;
	s->told = n;
	s->ss->ops->queued(s, s->ss->arg);
}

/* What follows from the output having become shorter. */
static void output_shrank(struct session *s)
{
	tell_queued(s);
	if (s->full && session_queued(s) <= s->ss->limits.output_low) {
		s->full = false;
		if (s->ss->ops->writable && s->state == S_OPEN)
			s->ss->ops->writable(s, s->ss->arg);
		if (s->state == S_OPEN)
			session_start_reading(s);
	}
}

/* After something was queued. */
static int queued_more(struct session *s)
{
	size_t n = session_queued(s);
	struct error err;

	if (n > s->ss->limits.output_high)
		s->full = true;
	if (n > s->ss->limits.output_max) {
		error_set(&err, ERR_TIMEOUT, "the peer does not take what it asked for");
		doom(s, &err);
	}
	event_active(s->work, EV_WRITE, 0);
	tell_queued(s);
	return 0;
}

int session_send(
        struct session *s, unsigned type, uint64_t id, const ProtobufCMessage *m, struct error *err)
{
	struct evbuffer_iovec v;
	int64_t n;
	size_t len;

	if (s->state != S_OPEN)
		return error_set(err, ERR_SYSTEM, "the session is not open");
	n = msg_packed_size(type, m, err);
	if (n < 0)
		return -1;
	len = FRAME_HEADER_LEN + (size_t)n;
	if (evbuffer_reserve_space(s->pending, (ev_ssize_t)len, &v, 1) != 1)
		return error_set(err, ERR_SYSTEM, "out of memory");
	frame_put_header(v.iov_base, type, id, (uint32_t)n);
	protobuf_c_message_pack(m, (uint8_t *)v.iov_base + FRAME_HEADER_LEN);
	v.iov_len = len;
	if (evbuffer_commit_space(s->pending, &v, 1) < 0)
		return error_set(err, ERR_SYSTEM, "out of memory");
	s->ss->stats.frames_out++;
	return queued_more(s);
}

int session_send_bytes(struct session *s, const void *frames, size_t len, struct error *err)
{
	if (s->state != S_OPEN)
		return error_set(err, ERR_SYSTEM, "the session is not open");
	if (evbuffer_add(s->pending, frames, len) < 0)
		return error_set(err, ERR_SYSTEM, "out of memory");
	s->ss->stats.frames_out++;
	return queued_more(s);
}

bool session_full(const struct session *s)
{
	return s->full;
}

/* --- receiving -------------------------------------------------------------------------------- */

static bool may_deliver(const struct session *s)
{
	return s->state == S_OPEN && !s->paused && !s->ss->paused && !s->full && !s->doomed;
}

/* One Noise message from the input into the reader. 1: done; 0: none is complete. */
static int feed_one(struct session *s, struct error *err)
{
	struct evbuffer *in = bufferevent_get_input(s->bev);
	size_t have = evbuffer_get_length(in), want, used;
	uint8_t head[FRAME_WIRE_HEAD];
	const uint8_t *p;

	if (have < FRAME_WIRE_HEAD)
		return 0;
	evbuffer_copyout(in, head, sizeof(head));
	want = FRAME_WIRE_HEAD + (size_t)(head[0] << 8 | head[1]);
	if (have < want)
		return 0;
	p = evbuffer_pullup(in, (ev_ssize_t)want);
	if (!p)
		return error_set(err, ERR_SYSTEM, "out of memory");
	if (frame_reader_feed(s->reader, p, want, &used, err) < 0)
		return -1;
	evbuffer_drain(in, used);
	s->ss->stats.bytes_in += used;
	return 1;
}

/* Large frames in the making are what an authenticated user could fill our memory with. */
static int check_held(struct session *s, struct error *err)
{
	const struct session_limits *l = &s->ss->limits;
	size_t held = frame_reader_held(s->reader);

	held = held > SMALL_INPUT ? held : 0;
	if (held == s->held)
		return 0;
	session_count_held(s, held);
	if (s->ss->stats.input_held > l->max_input_bytes)
		return error_set(err, ERR_BUSY, "too many large messages at once");
	if (!s->ss->ops->holds || s->ss->ops->holds(s, held, s->ss->arg, err) == 0)
		return 0;
	return -1;
}

/* Deliver frames until there are none, or until it is the turn of another session: 1. -1: fail
 * with `err`. */
static int deliver_frames(struct session *s, struct error *err)
{
	struct frame f;
	int n, done = 0;

	while (may_deliver(s)) {
		n = frame_reader_next(s->reader, &f, err);
		if (n == 0) {
			n = feed_one(s, err);
			if (n > 0 && check_held(s, err) < 0)
				n = -1;
			if (n == 0)
				return check_held(s, err);
			if (n < 0)
				return -1;
			continue;
		}
		if (n < 0)
			return -1;
		s->frames++;
		s->ss->stats.frames_in++;
		s->ss->ops->frame(s, &f, s->ss->arg);
		if (++done == TURN_FRAMES)
			return 1;
	}
	return s->state == S_OPEN ? check_held(s, err) : 0;
}

/* While part of a frame is here the rest must come in time. */
static void watch_partial(struct session *s)
{
	bool partial = frame_reader_held(s->reader) > 0 ||
	               evbuffer_get_length(bufferevent_get_input(s->bev)) > 0;

	if (!partial || !may_deliver(s)) {
		session_set_deadline(s, 0);
	} else if (!evtimer_pending(s->deadline, NULL) || s->frames_seen != s->frames) {
		s->frames_seen = s->frames;
		session_set_deadline(s, s->ss->limits.frame_ms);
	}
}

/* It has, or may have, something to say when the pause is over. */
static void stall(struct session *s)
{
	if (s->stalled)
		return;
	s->stalled = true;
	TAILQ_INSERT_TAIL(&s->ss->stalled, s, stalled_link);
}

static void receive(struct session *s)
{
	static const struct timeval at_once = { 0, 0 };
	struct error err;
	int n = deliver_frames(s, &err);

	if (s->state != S_OPEN)
		return;
	if (n < 0) {
		session_fail(s, &err);
		return;
	}
	if (n > 0) { /* a timer of 0: others' input is polled first */
		event_add(s->work, &at_once);
		return;
	}
	if (s->ss->paused)
		stall(s);
	if (s->eof && may_deliver(s)) {
		if (frame_reader_held(s->reader) ||
		        evbuffer_get_length(bufferevent_get_input(s->bev)))
			error_set(&err, ERR_PROTOCOL, "the connection was cut within a message");
		else
			error_set(&err, ERR_UNREACHABLE, "the connection was closed");
		session_fail(s, &err);
		return;
	}
	watch_partial(s);
}

void session_on_work(evutil_socket_t fd, short what, void *arg)
{
	struct session *s = arg;

	(void)fd;
	(void)what;
	if (s->state == S_NAME && !s->job) {
		session_dial_start(s);
		return;
	}
	if (s->doomed && s->state == S_OPEN) {
		struct error err = *s->doomed;

		session_fail(s, &err);
		return;
	}
	if (s->state == S_OPEN)
		receive(s);
	if (s->state == S_OPEN) {
		flush_pending(s);
		output_shrank(s);
	}
}

void session_on_deadline(evutil_socket_t fd, short what, void *arg)
{
	struct session *s = arg;
	struct error err;

	(void)fd;
	(void)what;
	if (s->state == S_OPEN && !may_deliver(s))
		return; /* this side does not read; the rest of the time starts again later */
	s->ss->stats.timed_out++;
	if (s->state <= S_CONFIRM) {
		session_accept_timeout(s);
	} else if (s->state < S_OPEN) {
		session_dial_timeout(s);
	} else if (s->state == S_OPEN) {
		error_set(&err, ERR_TIMEOUT, "a message was not complete within %u ms",
		        s->ss->limits.frame_ms);
		session_fail(s, &err);
	} else {
		session_close(s);
	}
}

/* --- libevent --------------------------------------------------------------------------------- */

static void on_read(struct bufferevent *bev, void *arg)
{
	struct session *s = arg;

	if (s->state <= S_CONFIRM) {
		session_accept_read(s);
	} else if (s->state == S_ANSWER) {
		session_dial_read(s);
	} else if (s->state == S_OPEN && may_deliver(s)) {
		/* The replies leave together, behind the last frame of this turn. */
		event_active(s->work, EV_READ, 0);
	} else if (s->state == S_OPEN) {
		/* Paused: nothing more is taken from the kernel until it is over. */
		s->reading = false;
		bufferevent_disable(bev, EV_READ);
		if (s->ss->paused)
			stall(s);
	} else if (s->state == S_LINGER) {
		struct evbuffer *in = bufferevent_get_input(bev);

		evbuffer_drain(in, evbuffer_get_length(in));
	}
}

static void on_write(struct bufferevent *bev, void *arg)
{
	struct session *s = arg;

	(void)bev;
	if (s->state == S_LINGER)
		session_farewell(s);
	if (s->state != S_OPEN)
		return;
	flush_pending(s);
	output_shrank(s);
}

static void on_event(struct bufferevent *bev, short what, void *arg)
{
	struct session *s = arg;
	struct error err;
	int e = EVUTIL_SOCKET_ERROR();

	(void)bev;
	if (s->state == S_CONNECT) {
		session_dial_event(s, what);
		return;
	}
	s->reading = false;
	if (s->state == S_AGREE) { /* a refusal may be in what was read already */
		s->eof = true;
		return;
	}
	if (what & BEV_EVENT_EOF) {
		s->eof = true;
		if (s->state == S_OPEN) {
			event_active(s->work, EV_READ, 0);
			return;
		}
		error_set(&err, ERR_UNREACHABLE, "%s closed the connection during the greeting",
		        s->dialled ? s->peer.address : "the peer");
	} else if (what & BEV_EVENT_TIMEOUT) {
		error_set(&err, ERR_TIMEOUT, "nothing was heard for %u ms", s->ss->limits.idle_ms);
	} else {
		error_set(&err, ERR_UNREACHABLE, "the connection was lost: %s",
		        evutil_socket_error_to_string(e));
	}
	session_fail(s, &err);
}

void session_socket_options(const struct session *s, int fd)
{
	int on = 1, k = (int)s->ss->limits.keepalive_s, count = 2, user_ms = 3 * k * 1000;

	/* A socket that does not take them works all the same. */
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	(void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
	(void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &k, sizeof(k));
	(void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &k, sizeof(k));
	(void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &count, sizeof(count));
	(void)setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &user_ms, sizeof(user_ms));
}

int session_attach(struct session *s, int fd)
{
	s->bev = bufferevent_socket_new(s->ss->base, fd, BEV_OPT_CLOSE_ON_FREE);
	if (!s->bev)
		return -1;
	bufferevent_setcb(s->bev, on_read, on_write, on_event, s);
	return 0;
}

void session_open(struct session *s, struct noise *noise)
{
	struct sessions *ss = s->ss;
	struct timeval idle = { ss->limits.idle_ms / 1000, ss->limits.idle_ms % 1000 * 1000 };
	unsigned from = s->dialled ? MSG_BY_CONTROLLER : *s->peer.node ? MSG_BY_AGENT : MSG_BY_USER;
	struct error err;

	session_set_deadline(s, 0);
	session_unlist(s);
	s->noise = noise;
	TAILQ_INSERT_TAIL(&ss->open, s, link);
	ss->n_open++;
	s->state = S_OPEN;
	s->reader = frame_reader_new(noise, from);
	s->pending = evbuffer_new();
	if (!s->reader || !s->pending) {
		error_set(&err, ERR_SYSTEM, "out of memory");
		session_fail(s, &err);
		return;
	}
	bufferevent_setwatermark(s->bev, EV_READ, 0, INPUT_HIGH);
	bufferevent_setwatermark(s->bev, EV_WRITE, OUTPUT_CHUNK / 4, 0);
	if (ss->limits.idle_ms)
		bufferevent_set_timeouts(s->bev, &idle, NULL);
	if (ss->ops->opened)
		ss->ops->opened(s, ss->arg);
	if (s->state == S_OPEN)
		session_start_reading(s);
}

void session_farewell(struct session *s)
{
	struct evbuffer *in = bufferevent_get_input(s->bev);

	if (s->state != S_LINGER) {
		s->state = S_LINGER;
		bufferevent_setwatermark(s->bev, EV_READ, 0, 0);
		bufferevent_setwatermark(s->bev, EV_WRITE, 0, 0);
		session_set_deadline(s, LINGER_MS);
	}
	if (evbuffer_get_length(bufferevent_get_output(s->bev)) > 0)
		return;
	shutdown(bufferevent_getfd(s->bev), SHUT_WR);
	evbuffer_drain(in, evbuffer_get_length(in));
	bufferevent_enable(s->bev, EV_READ);
	if (s->eof)
		session_close(s);
}

void session_start_reading(struct session *s)
{
	if (!s->reading && s->bev && !s->eof) {
		s->reading = true;
		bufferevent_enable(s->bev, EV_READ);
	}
	event_active(s->work, EV_READ, 0);
}

void session_pause_reading(struct session *s, bool pause)
{
	if (s->paused == pause)
		return;
	s->paused = pause;
	if (s->state != S_OPEN)
		return;
	if (pause)
		session_set_deadline(s, 0);
	else
		session_start_reading(s);
}
