/* stream_relay.c - see stream_relay.h */
#include "noded/net/stream_relay.h"

#include <stdlib.h>
#include <sys/queue.h>
#include <unistd.h>

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>

#include "common/base/each.h"
#include "common/base/xalloc.h"
#include "common/gpusched.pb-c.h"
#include "common/net/channel.h"

#define CREDIT_STEP (STREAM_WINDOW / 4) /* credit is sent when this much was taken */

struct conn {
	TAILQ_ENTRY(conn) link;
	struct relay *relay;
	uint64_t number;
	struct bufferevent *bev; /* NULL: the launcher has not answered */
	struct evbuffer *early;  /* until then */
	size_t held;             /* bytes from the controller for which no credit was sent yet */
	size_t credit;           /* bytes that we may send */
	bool eof;                /* gtap has closed its end */
};

struct relay {
	struct event_base *base;
	const struct relay_ops *ops;
	void *arg;
	TAILQ_HEAD(conns, conn) conns;
	size_t n;
};

struct relay *relay_new(struct event_base *base, const struct relay_ops *ops, void *arg)
{
	struct relay *r = xcalloc(1, sizeof(*r));

	r->base = base;
	r->ops = ops;
	r->arg = arg;
	TAILQ_INIT(&r->conns);
	return r;
}

static void conn_free(struct conn *c)
{
	TAILQ_REMOVE(&c->relay->conns, c, link);
	c->relay->n--;
	if (c->bev)
		bufferevent_free(c->bev);
	if (c->early)
		evbuffer_free(c->early);
	free(c);
}

void relay_lost(struct relay *r)
{
	struct conn *c;

	while ((c = TAILQ_FIRST(&r->conns)))
		conn_free(c);
}

void relay_free(struct relay *r)
{
	if (!r)
		return;
	relay_lost(r);
	free(r);
}

size_t relay_count(const struct relay *r)
{
	return r->n;
}

static struct conn *find_conn(const struct relay *r, uint64_t number)
{
	struct conn *c;

	TAILQ_FOREACH (c, &r->conns, link)
		if (c->number == number)
			return c;
	return NULL;
}

/* --- to the controller ------------------------------------------------------------------------ */

static void say_closed(struct relay *r, uint64_t number, const struct error *why)
{
	Gpusched__StreamClose m = GPUSCHED__STREAM_CLOSE__INIT;

	m.stream = number;
	m.code = why ? (uint32_t)why->code : 0;
	m.text = (char *)(uintptr_t)(why ? why->text : "");
	r->ops->send(r->arg, GPUSCHED__MSG_TYPE__MSG_STREAM_CLOSE, &m.base);
}

static void close_conn(struct conn *c, const struct error *why)
{
	say_closed(c->relay, c->number, why);
	conn_free(c);
}

static void send_data(struct conn *c, struct evbuffer *in, size_t n)
{
	Gpusched__StreamData m = GPUSCHED__STREAM_DATA__INIT;

	m.stream = c->number;
	m.data.data = evbuffer_pullup(in, (ev_ssize_t)n);
	m.data.len = n;
	c->credit -= n;
	c->relay->ops->send(c->relay->arg, GPUSCHED__MSG_TYPE__MSG_STREAM_DATA, &m.base);
	evbuffer_drain(in, n);
}

/* Send as much as credit and link allow. May free the stream. */
static void pump(struct conn *c)
{
	struct evbuffer *in;
	size_t n;

	if (!c->bev)
		return;
	in = bufferevent_get_input(c->bev);
	while ((n = evbuffer_get_length(in)) && c->credit && !c->relay->ops->full(c->relay->arg)) {
		n = n < c->credit ? n : c->credit;
		send_data(c, in, n < STREAM_CHUNK_MAX ? n : STREAM_CHUNK_MAX);
	}
	/* Nothing is read that cannot be sent. The event is disabled by hand: with a read watermark
	 * libevent would call us again and again. */
	if (n)
		bufferevent_disable(c->bev, EV_READ);
	else if (c->eof)
		close_conn(c, NULL);
	else
		bufferevent_enable(c->bev, EV_READ);
}

/* Streams take turns at being the first. */
void relay_room(struct relay *r)
{
	struct conn *c = TAILQ_FIRST(&r->conns), *next;

	if (!c)
		return;
	TAILQ_REMOVE(&r->conns, c, link);
	TAILQ_INSERT_TAIL(&r->conns, c, link);
	for (c = TAILQ_FIRST(&r->conns); c; c = next) {
		next = TAILQ_NEXT(c, link);
		pump(c);
	}
}

static void give_credit(struct conn *c)
{
	Gpusched__StreamCredit m = GPUSCHED__STREAM_CREDIT__INIT;
	size_t waits = evbuffer_get_length(bufferevent_get_output(c->bev));
	size_t taken = c->held - waits;

	if (taken == 0 || (taken < CREDIT_STEP && waits))
		return;
	c->held = waits;
	m.stream = c->number;
	m.bytes = (uint32_t)taken;
	c->relay->ops->send(c->relay->arg, GPUSCHED__MSG_TYPE__MSG_STREAM_CREDIT, &m.base);
}

/* --- gtap ------------------------------------------------------------------------------------- */

static void on_read(struct bufferevent *bev, void *arg)
{
	(void)bev;
	pump(arg);
}

static void on_write(struct bufferevent *bev, void *arg)
{
	(void)bev;
	give_credit(arg);
}

static void on_event(struct bufferevent *bev, short what, void *arg)
{
	struct conn *c = arg;

	(void)bev;
	if (what & (BEV_EVENT_EOF | BEV_EVENT_ERROR)) {
		c->eof = true;
		pump(c);
	}
}

void relay_granted(struct relay *r, uint64_t stream, int fd)
{
	struct conn *c = find_conn(r, stream);

	if (!c || c->bev) {
		close(fd);
		return;
	}
	c->bev = bufferevent_socket_new(r->base, fd, BEV_OPT_CLOSE_ON_FREE);
	if (!c->bev || evutil_make_socket_nonblocking(fd) < 0)
		abort(); /* out of memory */
	bufferevent_setcb(c->bev, on_read, on_write, on_event, c);
	bufferevent_set_max_single_read(c->bev, RELAY_INPUT_MAX);
	bufferevent_setwatermark(c->bev, EV_WRITE, STREAM_WINDOW, 0);
	evbuffer_add_buffer(bufferevent_get_output(c->bev), c->early);
	evbuffer_free(c->early);
	c->early = NULL;
	bufferevent_enable(c->bev, EV_READ | EV_WRITE);
}

void relay_refused(struct relay *r, uint64_t stream, const struct error *why)
{
	struct conn *c = find_conn(r, stream);

	if (c && !c->bev)
		close_conn(c, why);
}

/* --- from the controller ---------------------------------------------------------------------- */

static void on_open(struct relay *r, const Gpusched__StreamOpen *m)
{
	Gpusched__LauncherStream ask = GPUSCHED__LAUNCHER_STREAM__INIT;
	struct error why;
	struct conn *c;

	if (find_conn(r, m->stream))
		return;
	if (r->n >= RELAY_STREAMS_MAX) {
		error_set(&why, ERR_BUSY, "the node has too many streams");
		say_closed(r, m->stream, &why);
		return;
	}
	c = xcalloc(1, sizeof(*c));
	c->relay = r;
	c->number = m->stream;
	c->credit = STREAM_WINDOW;
	c->early = evbuffer_new();
	TAILQ_INSERT_TAIL(&r->conns, c, link);
	r->n++;
	COPY_FIELDS(&ask, m, stream, run, hello);
	r->ops->ask(r->arg, GPUSCHED__MSG_TYPE__MSG_LAUNCHER_STREAM, &ask.base);
}

static void on_data(struct relay *r, const Gpusched__StreamData *m)
{
	struct conn *c = find_conn(r, m->stream);
	struct error why;

	if (!c)
		return;
	c->held += m->data.len;
	if (c->held > STREAM_WINDOW) {
		error_set(&why, ERR_PROTOCOL, "more bytes than the node has asked for");
		close_conn(c, &why);
		return;
	}
	evbuffer_add(c->bev ? bufferevent_get_output(c->bev) : c->early, m->data.data, m->data.len);
}

static void on_credit(struct relay *r, const Gpusched__StreamCredit *m)
{
	struct conn *c = find_conn(r, m->stream);
	struct error why;

	if (!c)
		return;
	if (m->bytes > STREAM_WINDOW - c->credit) {
		error_set(&why, ERR_PROTOCOL, "credit for what never came");
		close_conn(c, &why);
		return;
	}
	c->credit += m->bytes;
	pump(c);
}

/* The client has gone. Its last bytes may decide what becomes of the run, so gtap gets what it can
 * take at once. */
static void on_close(struct conn *c)
{
	struct evbuffer *out = c->bev ? bufferevent_get_output(c->bev) : NULL;

	if (out && evbuffer_get_length(out)) {
		evbuffer_unfreeze(out, 1);
		evbuffer_write(out, bufferevent_getfd(c->bev));
	}
	conn_free(c);
}

void relay_message(struct relay *r, unsigned type, const ProtobufCMessage *message)
{
	struct conn *c;

	switch (type) {
	case GPUSCHED__MSG_TYPE__MSG_STREAM_OPEN:
		on_open(r, (const Gpusched__StreamOpen *)message);
		break;
	case GPUSCHED__MSG_TYPE__MSG_STREAM_DATA:
		on_data(r, (const Gpusched__StreamData *)message);
		break;
	case GPUSCHED__MSG_TYPE__MSG_STREAM_CREDIT:
		on_credit(r, (const Gpusched__StreamCredit *)message);
		break;
	case GPUSCHED__MSG_TYPE__MSG_STREAM_CLOSE:
		c = find_conn(r, ((const Gpusched__StreamClose *)message)->stream);
		if (c)
			on_close(c);
		break;
	}
}
