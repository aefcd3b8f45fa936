/* launcher_socket.c - see launcher_socket.h */
#include "noded/net/launcher_socket.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <sodium.h>

#include "common/base/arena.h"
#include "common/base/xalloc.h"
#include "common/net/frame.h"
#include "common/net/msg.h"

struct launcher_socket {
	struct bufferevent *bev;
	struct frame_reader *reader;
	struct arena *arena;
	const struct launcher_socket_ops *ops;
	void *arg;
	bool gone;
	struct event
	        *fault; /* calls gone() from the loop, not from within launcher_socket_send() */
	struct error why;
};

static void give_up_launcher(struct launcher_socket *b)
{
	if (b->gone)
		return;
	b->gone = true;
	bufferevent_disable(b->bev, EV_READ | EV_WRITE);
	event_active(b->fault, 0, 0);
}

static void on_fault(evutil_socket_t fd, short what, void *arg)
{
	struct launcher_socket *b = arg;

	(void)fd;
	(void)what;
	b->ops->gone(b->arg, &b->why);
}

/* --- from the launcher ----------------------------------------------------------------------- */

static void take_credential(struct launcher_socket *b, const Gpusched__LauncherCred *m)
{
	struct error err;

	if (m->error)
		error_set(&err, (int)m->error, "%s", m->error_text);
	b->ops->credential(b->arg, m->id, m->error ? NULL : m->credential, &err);
}

static int take_frame(struct launcher_socket *b, const struct frame *f, struct error *err)
{
	ProtobufCMessage *m = msg_unpack(f->type, f->body, f->len, b->arena, err);

	if (!m)
		return -1;
	if (f->type != GPUSCHED__MSG_TYPE__MSG_LAUNCHER_CRED)
		return b->ops->message(b->arg, f->type, m, err);
	take_credential(b, (const Gpusched__LauncherCred *)m);
	return 0;
}

static int take_frames(struct launcher_socket *b, struct error *err)
{
	struct frame f;
	int rc;

	while (!b->gone && (rc = frame_reader_next(b->reader, &f, err)) != 0) {
		if (rc < 0 || take_frame(b, &f, err) < 0)
			return -1;
	}
	return 0;
}

static void on_read(struct bufferevent *bev, void *arg)
{
	struct evbuffer *in = bufferevent_get_input(bev);
	struct launcher_socket *b = arg;
	size_t n, used;

	while (!b->gone && (n = evbuffer_get_contiguous_space(in))) {
		if (frame_reader_feed(
		            b->reader, evbuffer_pullup(in, (ev_ssize_t)n), n, &used, &b->why) < 0 ||
		        take_frames(b, &b->why) < 0) {
			error_wrap(&b->why, "from the launcher");
			give_up_launcher(b);
			return;
		}
		evbuffer_drain(in, used);
	}
}

static void on_event(struct bufferevent *bev, short what, void *arg)
{
	struct launcher_socket *b = arg;

	(void)bev;
	if (what & BEV_EVENT_EOF)
		error_set(&b->why, ERR_SYSTEM, "the launcher has ended");
	else
		error_set(&b->why, ERR_SYSTEM, "launcher: %s",
		        evutil_socket_error_to_string(EVUTIL_SOCKET_ERROR()));
	give_up_launcher(b);
}

/* --- to the launcher ------------------------------------------------------------------------- */

static void wipe_and_free(const void *bytes, size_t len, void *arg)
{
	(void)arg;
	sodium_memzero((void *)bytes, len);
	free((void *)bytes);
}

void launcher_socket_send(struct launcher_socket *b, unsigned type, const ProtobufCMessage *message)
{
	struct evbuffer *out = bufferevent_get_output(b->bev);
	uint8_t *bytes;
	size_t len;

	if (b->gone)
		return;
	if (evbuffer_get_length(out) > LAUNCHER_SOCKET_QUEUE_MAX) {
		error_set(&b->why, ERR_SYSTEM, "the launcher takes nothing any more");
		give_up_launcher(b);
	} else if (frame_pack(type, 0, message, &bytes, &len, &b->why) < 0) {
		error_wrap(&b->why, "%s to the launcher", msg_name(type));
		give_up_launcher(b);
	} else if (evbuffer_add_reference(out, bytes, len, wipe_and_free, NULL) < 0) {
		abort(); /* out of memory */
	}
}

void launcher_socket_ask_credential(struct launcher_socket *b, uint64_t id, const void *payload,
        size_t len, uint32_t restrict_uid)
{
	Gpusched__LauncherCred m = GPUSCHED__LAUNCHER_CRED__INIT;

	m.id = id;
	m.payload.data = (uint8_t *)payload;
	m.payload.len = len;
	m.restrict_uid = restrict_uid;
	launcher_socket_send(b, GPUSCHED__MSG_TYPE__MSG_LAUNCHER_CRED, &m.base);
}

/* --- the whole ------------------------------------------------------------------------------- */

struct launcher_socket *launcher_socket_new(
        struct event_base *base, int fd, const struct launcher_socket_ops *ops, void *arg)
{
	struct launcher_socket *b = xcalloc(1, sizeof(*b));

	b->ops = ops;
	b->arg = arg;
	b->bev = bufferevent_socket_new(base, fd, BEV_OPT_CLOSE_ON_FREE);
	b->reader = frame_reader_new(NULL, MSG_BY_LAUNCHER);
	b->arena = arena_new(MSG_BODY_MAX);
	b->fault = event_new(base, -1, 0, on_fault, b);
	if (!b->bev || !b->reader || !b->arena || !b->fault)
		abort(); /* out of memory */
	bufferevent_setcb(b->bev, on_read, NULL, on_event, b);
	bufferevent_enable(b->bev, EV_READ | EV_WRITE);
	return b;
}

void launcher_socket_free(struct launcher_socket *b)
{
	if (!b)
		return;
	bufferevent_free(b->bev);
	frame_reader_free(b->reader);
	arena_free(b->arena);
	event_free(b->fault);
	free(b);
}
