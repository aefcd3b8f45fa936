/* splice.c - see splice.h */
#include "cmds/feed/splice.h"

#include <stdlib.h>
#include <sys/socket.h>

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>

#include "common/base/xalloc.h"

struct side {
	struct splice *splice;
	struct side *other;
	struct bufferevent *bev;
	bool ended;  /* there is no more from it */
	bool broken; /* and nothing can go to it */
	bool shut;   /* the end of the other was passed on to it */
};

struct splice {
	struct side sides[2];
	void (*done)(void *arg);
	void *arg;
};

static size_t unsent(const struct side *s)
{
	return evbuffer_get_length(bufferevent_get_output(s->bev));
}

static void finish(struct splice *sp)
{
	void (*done)(void *arg) = sp->done;
	void *arg = sp->arg;

	for (size_t i = 0; i < 2; i++)
		bufferevent_free(sp->sides[i].bev);
	free(sp);
	done(arg);
}

/* What came from `s` goes to the other. */
static void forward(struct side *s)
{
	struct evbuffer *in = bufferevent_get_input(s->bev);

	if (s->other->broken)
		evbuffer_drain(in, evbuffer_get_length(in));
	else
		evbuffer_add_buffer(bufferevent_get_output(s->other->bev), in);
	if (unsent(s->other) > SPLICE_MAX)
		bufferevent_disable(s->bev, EV_READ);
}

/* Everything that may follow from a change: the end is passed on behind the last byte. May free
 * it. */
static void go_on(struct splice *sp)
{
	const struct timeval linger = { SPLICE_LINGER_S, 0 };
	bool over = true;

	for (size_t i = 0; i < 2; i++) {
		struct side *s = &sp->sides[i], *to = s->other;

		if (!s->ended && unsent(to) <= SPLICE_MAX / 2)
			bufferevent_enable(s->bev, EV_READ);
		if (s->ended && !to->shut && (to->broken || !unsent(to))) {
			to->shut = true;
			if (!to->broken)
				shutdown(bufferevent_getfd(to->bev), SHUT_WR);
			if (i == 1)
				bufferevent_set_timeouts(to->bev, &linger, NULL);
		}
		over &= to->shut;
	}
	/* One that is broken takes nothing: it is over when the other has all. */
	over |= (sp->sides[0].broken && sp->sides[1].shut) ||
	        (sp->sides[1].broken && sp->sides[0].shut);
	if (over)
		finish(sp);
}

static void on_read(struct bufferevent *bev, void *arg)
{
	(void)bev;
	forward(arg);
}

static void on_written(struct bufferevent *bev, void *arg)
{
	struct side *s = arg;

	(void)bev;
	go_on(s->splice);
}

static void on_event(struct bufferevent *bev, short what, void *arg)
{
	struct side *s = arg;

	(void)bev;
	if (!(what & (BEV_EVENT_EOF | BEV_EVENT_ERROR | BEV_EVENT_TIMEOUT)))
		return;
	forward(s);
	s->ended = true;
	s->broken |= (what & (BEV_EVENT_ERROR | BEV_EVENT_TIMEOUT)) != 0;
	go_on(s->splice);
}

/* What is in its input came before there was another side. */
static void begin(evutil_socket_t fd, short what, void *arg)
{
	struct splice *sp = arg;

	(void)fd, (void)what;
	for (size_t i = 0; i < 2; i++)
		forward(&sp->sides[i]);
	go_on(sp);
}

static void add_side(struct splice *sp, size_t i, struct bufferevent *bev, bool ended)
{
	struct side *s = &sp->sides[i];

	*s = (struct side){ .splice = sp, .other = &sp->sides[1 - i], .bev = bev, .ended = ended };
	bufferevent_set_timeouts(bev, NULL, NULL);
	bufferevent_setwatermark(bev, EV_READ, 0, 0);
	bufferevent_setwatermark(bev, EV_WRITE, SPLICE_MAX / 2, 0);
	bufferevent_setcb(bev, on_read, on_written, on_event, s);
	bufferevent_enable(bev, EV_WRITE);
}

void splice_new(struct bufferevent *a, bool a_ended, struct bufferevent *b, void (*done)(void *arg),
        void *arg)
{
	struct splice *sp = xcalloc(1, sizeof(*sp));
	const struct timeval now = { 0, 0 };

	sp->done = done;
	sp->arg = arg;
	bufferevent_disable(a, EV_READ);
	add_side(sp, 0, a, a_ended);
	add_side(sp, 1, b, false);
	event_base_once(bufferevent_get_base(a), -1, EV_TIMEOUT, begin, sp, &now);
}
