/* service_unavailable.c - see service_unavailable.h */
#include "cmds/feed/service_unavailable.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>

#include "common/base/xalloc.h"

#define METHOD_MIN 3
#define METHOD_MAX 7 /* OPTIONS, CONNECT */

static const char answer[] =
        "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 10\r\n"
        "Content-Type: text/plain; charset=utf-8\r\nContent-Length: %zu\r\n"
        "Connection: close\r\n\r\n";

struct refusal {
	struct bufferevent *bev;
	struct event *timer;
	unsigned *count;
	bool answered;
	char why[SERVICE_UNAVAILABLE_WHY];
};

bool service_unavailable_is_http(const char *bytes, size_t n)
{
	size_t letters = 0;

	while (letters < n && letters <= METHOD_MAX && bytes[letters] >= 'A' &&
	        bytes[letters] <= 'Z')
		letters++;
	return letters >= METHOD_MIN && letters <= METHOD_MAX && letters < n &&
	       bytes[letters] == ' ';
}

static void finish(struct refusal *r)
{
	--*r->count;
	event_free(r->timer);
	bufferevent_free(r->bev);
	free(r);
}

static void say(struct refusal *r, const char *first, size_t n)
{
	static const char head[] = "HEAD ";
	struct evbuffer *out = bufferevent_get_output(r->bev);
	bool is_head = n >= sizeof(head) - 1 && !memcmp(first, head, sizeof(head) - 1);

	r->answered = true;
	evbuffer_add_printf(out, answer, strlen(r->why) + 1);
	if (!is_head)
		evbuffer_add_printf(out, "%s\n", r->why);
}

/* What is not read when a connection is closed makes the answer vanish: so it is read. */
static void on_read(struct bufferevent *bev, void *arg)
{
	struct evbuffer *in = bufferevent_get_input(bev);
	struct refusal *r = arg;
	char first[METHOD_MAX + 1];
	ssize_t n;

	if (!r->answered) {
		n = evbuffer_copyout(in, first, sizeof(first));
		if (n <= 0)
			return;
		if (!service_unavailable_is_http(first, (size_t)n)) {
			finish(r);
			return;
		}
		say(r, first, (size_t)n);
	}
	evbuffer_drain(in, evbuffer_get_length(in));
}

static void on_written(struct bufferevent *bev, void *arg)
{
	const struct refusal *r = arg;

	if (r->answered)
		shutdown(bufferevent_getfd(bev), SHUT_WR);
}

static void on_event(struct bufferevent *bev, short what, void *arg)
{
	struct refusal *r = arg;

	(void)bev;
	/* A client that has closed its half gets the answer all the same. */
	if (!(what & BEV_EVENT_EOF) || !r->answered ||
	        !evbuffer_get_length(bufferevent_get_output(r->bev)))
		finish(r);
}

static void on_time(evutil_socket_t fd, short what, void *arg)
{
	(void)fd, (void)what;
	finish(arg);
}

void service_unavailable(struct bufferevent *bev, unsigned *count, const char *why)
{
	const struct timeval second = { 1, 0 };
	struct refusal *r;

	if (*count >= SERVICE_UNAVAILABLE_MAX) {
		bufferevent_free(bev);
		return;
	}
	++*count;
	r = xcalloc(1, sizeof(*r));
	*r = (struct refusal){ .bev = bev, .count = count };
	snprintf(r->why, sizeof(r->why), "%s", why);
	r->timer = evtimer_new(bufferevent_get_base(bev), on_time, r);
	evtimer_add(r->timer, &second);
	bufferevent_set_timeouts(bev, NULL, NULL);
	bufferevent_setwatermark(bev, EV_READ, 0, 0);
	bufferevent_setcb(bev, on_read, on_written, on_event, r);
	bufferevent_enable(bev, EV_READ | EV_WRITE);
	on_read(bev, r);
}
