/* agent_channel.c - see agent_channel.h */
#include "config.h"

#include "noded/runs/agent_channel.h"

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <stdlib.h>

#include "common/base/error.h"
#include "common/base/log.h"
#include "common/base/xalloc.h"
#include "common/net/frame.h"
#include "common/net/msg.h"
#include "noded/runs/launcher_state.h"

struct agent_channel {
	struct launcher *l;
	struct bufferevent *bev;
	struct frame_reader *reader;
	agent_channel_fn *fn;
};

void agent_send(struct launcher *l, unsigned type, const ProtobufCMessage *m)
{
	struct error err;
	uint8_t *bytes;
	size_t len;

	if (!l->agent)
		return;
	if (frame_pack(type, 0, m, &bytes, &len, &err) < 0) {
		log_error("message to the agent: %s", err.text);
		return;
	}
	bufferevent_write(l->agent->bev, bytes, len);
	free(bytes);
}

static void end_launcher(struct launcher *l, const char *why)
{
	log_info("launcher ends: %s", why);
	event_base_loopexit(l->base, NULL);
}

/* A message that cannot be decoded ends the connection; one that makes no sense is ignored. */
static int take_frames(struct agent_channel *c, struct error *err)
{
	struct frame f;
	struct error why;
	int r;

	while ((r = frame_reader_next(c->reader, &f, err)) > 0) {
		if (c->fn(c->l, &f, &why) == 0)
			continue;
		if (why.code == ERR_PROTOCOL) {
			*err = why;
			return -1;
		}
		log_warning("order ignored: %s", why.text);
	}
	return r;
}

static void agent_sent(struct bufferevent *bev, void *arg)
{
	struct agent_channel *c = arg;
	struct evbuffer *in = bufferevent_get_input(bev);
	struct error err;
	size_t n, used;

	while ((n = evbuffer_get_contiguous_space(in)) > 0) {
		if (frame_reader_feed(c->reader, evbuffer_pullup(in, (ssize_t)n), n, &used, &err) <
		                0 ||
		        take_frames(c, &err) < 0) {
			log_error("the agent's network half: %s", err.text);
			end_launcher(c->l, "it cannot be trusted any more");
			return;
		}
		evbuffer_drain(in, used);
	}
}

static void agent_gone(struct bufferevent *bev, short what, void *arg)
{
	const struct agent_channel *c = arg;

	(void)bev;
	if (what & (BEV_EVENT_EOF | BEV_EVENT_ERROR))
		end_launcher(c->l, "the agent has ended");
}

struct agent_channel *agent_channel_new(struct launcher *l, int sock, agent_channel_fn *fn)
{
	struct agent_channel *c = xcalloc(1, sizeof(*c));

	c->l = l;
	c->fn = fn;
	c->reader = frame_reader_new(NULL, MSG_BY_AGENT_LOCAL);
	c->bev = bufferevent_socket_new(l->base, sock, BEV_OPT_CLOSE_ON_FREE);
	if (!c->reader || !c->bev)
		abort();
	return c;
}

void agent_channel_begin(struct agent_channel *c)
{
	bufferevent_setcb(c->bev, agent_sent, NULL, agent_gone, c);
	bufferevent_enable(c->bev, EV_READ | EV_WRITE);
}

void agent_channel_free(struct agent_channel *c)
{
	if (!c)
		return;
	bufferevent_free(c->bev);
	frame_reader_free(c->reader);
	free(c);
}
