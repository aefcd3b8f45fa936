/* held_connections.c - see held_connections.h */
#include "cmds/feed/held_connections.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/listener.h>

#include "cmds/feed/service_finder.h"
#include "cmds/feed/service_unavailable.h"
#include "cmds/feed/splice.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/xalloc.h"

#define BACKLOG  1024
#define PAUSE_MS 1000 /* without descriptors for new connections */

enum held_state { SILENT, WAITING, CONNECTING };

struct service_port;

struct held {
	TAILQ_ENTRY(held) next;
	struct service_port *port;
	struct bufferevent *client, *server; /* server: CONNECTING */
	struct event *timer;
	enum held_state state;
	bool ended; /* the client says no more */
};

struct service_port {
	struct held_connections *all;
	const char *name;
	size_t number;
	struct evconnlistener *listener;
	TAILQ_HEAD(, held) held;
	uint32_t waiting;        /* WAITING or CONNECTING */
	uint32_t told;           /* the number that the controller was told */
	struct service_finder_address *v; /* where it answers */
	size_t n, turn;
	int64_t found_ms; /* as it was then; INT64_MIN: not known */
	bool known;       /* the controller had the service once */
};

struct held_connections {
	struct event_base *base;
	struct service_finder *finder;
	struct held_connections_limits limits;
	struct service_port *v;
	size_t n;
	unsigned held, spliced, refused;
	struct event *look, *wake, *resume;
	bool full_logged; /* it was said */
};

static void run_after(struct event *timer, uint64_t ms)
{
	const struct timeval t = { (time_t)(ms / 1000), (suseconds_t)(ms % 1000 * 1000) };

	evtimer_add(timer, &t);
}

/* Asks the timers' questions again only while something waits. */
static void run_timers(struct held_connections *g)
{
	if (!evtimer_pending(g->look, NULL))
		run_after(g->look, HELD_POLL_MS);
	if (!evtimer_pending(g->wake, NULL))
		run_after(g->wake, HELD_WAKE_MS);
}

static void tell(struct service_port *port)
{
	port->told = port->waiting;
	service_finder_wake(port->all->finder, port->number, port->waiting);
}

/* --- the end of waiting ----------------------------------------------------------------------- */

static void stop_waiting(struct held *h)
{
	struct service_port *port = h->port;

	if (h->state == SILENT)
		return;
	port->waiting--;
	if (!port->waiting && port->told)
		tell(port);
}

/* All but the connections. */
static void held_free(struct held *h)
{
	stop_waiting(h);
	h->port->all->held--;
	TAILQ_REMOVE(&h->port->held, h, next);
	event_free(h->timer);
	free(h);
}

static void drop(struct held *h)
{
	bufferevent_free(h->client);
	if (h->server)
		bufferevent_free(h->server);
	held_free(h);
}

/* `what`: the rest of a sentence that begins with the service; the client gets it. */
static void give_up(struct held *h, const char *what)
{
	struct held_connections *g = h->port->all;
	struct bufferevent *client = h->client;
	char why[SERVICE_UNAVAILABLE_WHY];

	snprintf(why, sizeof(why), "service %.64s %s", h->port->name, what);
	if (h->server)
		bufferevent_free(h->server);
	held_free(h);
	service_unavailable(client, &g->refused, why);
}

static void on_spliced_end(void *arg)
{
	struct held_connections *g = arg;

	g->spliced--;
}

static void pass_on(struct held *h)
{
	struct held_connections *g = h->port->all;
	struct bufferevent *client = h->client, *server = h->server;
	bool ended = h->ended;

	held_free(h);
	g->spliced++;
	splice_new(client, ended, server, on_spliced_end, g);
}

/* --- connecting to a replica ------------------------------------------------------------------ */

static void set_options(struct bufferevent *bev)
{
	int fd = bufferevent_getfd(bev), on = 1, idle = 30, every = 10;

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof(idle));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &every, sizeof(every));
}

static void on_server(struct bufferevent *bev, short what, void *arg)
{
	struct held *h = arg;

	if (what & BEV_EVENT_CONNECTED) {
		set_options(bev);
		pass_on(h);
		return;
	}
	/* The replica is not reachable any more, or not yet: try the next endpoint from the
	 * controller. */
	bufferevent_free(bev);
	h->server = NULL;
	h->state = WAITING;
	h->port->found_ms = INT64_MIN;
	run_timers(h->port->all);
}

static void connect_to_replica(struct held *h)
{
	const struct timeval limit = { HELD_CONNECT_S, 0 };
	struct service_port *port = h->port;
	struct service_finder_address *to = &port->v[port->turn++ % port->n];

	h->state = CONNECTING;
	h->server = bufferevent_socket_new(port->all->base, -1, BEV_OPT_CLOSE_ON_FREE);
	if (!h->server) {
		h->state = WAITING;
		return;
	}
	bufferevent_setcb(h->server, NULL, NULL, on_server, h);
	bufferevent_set_timeouts(h->server, NULL, &limit);
	/* A failure is told by on_server, too, which may have been called when this returns. */
	bufferevent_socket_connect(h->server, (struct sockaddr *)&to->to, (int)to->len);
}

static void connect_all(struct service_port *port)
{
	struct held *h, *next;

	for (h = TAILQ_FIRST(&port->held); h && port->n; h = next) {
		next = TAILQ_NEXT(h, next);
		if (h->state == WAITING)
			connect_to_replica(h);
	}
}

/* No replica is expected. */
static void give_up_all(struct service_port *port)
{
	struct held *h, *next;

	for (h = TAILQ_FIRST(&port->held); h; h = next) {
		next = TAILQ_NEXT(h, next);
		if (h->state == WAITING)
			give_up(h, "is stopped or gone");
	}
}

/* An unknown service may be submitted soon; a service that existed before has been stopped. */
static void on_found(void *arg, size_t service, enum service_finder_state state,
        const struct service_finder_address *v, size_t n)
{
	struct held_connections *g = arg;
	struct service_port *port = &g->v[service];

	free(port->v);
	port->v = n ? xmemdup(v, n * sizeof(*v)) : NULL;
	port->n = n;
	port->found_ms = clock_ms(CLOCK_MONOTONIC);
	port->known |= state != SERVICE_FINDER_UNKNOWN;
	connect_all(port);
	if (port->known && state != SERVICE_FINDER_STANDS)
		give_up_all(port);
}

/* --- the client ------------------------------------------------------------------------------- */

/* The first bytes: from now on it counts. */
static void begin_waiting(struct held *h)
{
	struct service_port *port = h->port;

	h->state = WAITING;
	port->waiting++;
	run_after(h->timer, port->all->limits.wake_wait_ms);
	if (port->n && clock_ms(CLOCK_MONOTONIC) - HELD_FRESH_MS < port->found_ms) {
		connect_to_replica(h);
		return;
	}
	if (port->waiting == 1)
		tell(port);
	service_finder_ask(port->all->finder);
	run_timers(port->all);
}

static void on_read(struct bufferevent *bev, void *arg)
{
	struct held *h = arg;

	(void)bev;
	if (h->state == SILENT)
		begin_waiting(h);
}

static void on_client(struct bufferevent *bev, short what, void *arg)
{
	struct held *h = arg;

	(void)bev;
	h->ended = true;
	/* One that only closed its half still wants its answer. */
	if ((what & BEV_EVENT_ERROR) || h->state == SILENT)
		drop(h);
}

static void on_time(evutil_socket_t fd, short what, void *arg)
{
	struct held *h = arg;

	(void)fd, (void)what;
	if (h->state == SILENT)
		drop(h);
	else
		give_up(h, "had no replica in time");
}

static void log_full(struct held_connections *g)
{
	if (!g->full_logged)
		log_warning("%u connections are held: more are refused (--max-held)", g->held);
	g->full_logged = true;
}

static void on_accept(struct evconnlistener *listener, evutil_socket_t fd, struct sockaddr *from,
        int len, void *arg)
{
	struct service_port *port = arg;
	struct held_connections *g = port->all;
	struct bufferevent *bev = bufferevent_socket_new(g->base, fd, BEV_OPT_CLOSE_ON_FREE);
	struct held *h;

	(void)listener, (void)from, (void)len;
	if (!bev) {
		evutil_closesocket(fd);
		return;
	}
	set_options(bev);
	if (g->held >= g->limits.max_held) {
		log_full(g);
		service_unavailable(bev, &g->refused, "more requests wait for replicas than may");
		return;
	}
	g->full_logged = false;
	g->held++;
	h = xcalloc(1, sizeof(*h));
	*h = (struct held){ .port = port, .client = bev };
	h->timer = evtimer_new(g->base, on_time, h);
	run_after(h->timer, (uint64_t)HELD_SILENT_S * 1000);
	TAILQ_INSERT_TAIL(&port->held, h, next);
	bufferevent_setwatermark(bev, EV_READ, 0, SPLICE_MAX);
	bufferevent_setcb(bev, on_read, NULL, on_client, h);
	bufferevent_enable(bev, EV_READ);
}

/* No descriptor is left, most likely: connections end before others begin. */
static void on_accept_error(struct evconnlistener *listener, void *arg)
{
	struct service_port *port = arg;
	struct held_connections *g = port->all;

	log_warning("no new connections for a second: %s", strerror(errno));
	evconnlistener_disable(listener);
	run_after(g->resume, PAUSE_MS);
}

/* --- timers ----------------------------------------------------------------------------------- */

static void on_look(evutil_socket_t fd, short what, void *arg)
{
	struct held_connections *g = arg;
	uint32_t waiting = 0;

	(void)fd, (void)what;
	for (size_t i = 0; i < g->n; i++)
		waiting += g->v[i].waiting;
	if (!waiting)
		return;
	service_finder_ask(g->finder);
	run_after(g->look, HELD_POLL_MS);
}

static void on_wake(evutil_socket_t fd, short what, void *arg)
{
	struct held_connections *g = arg;
	bool waits = false;

	(void)fd, (void)what;
	for (size_t i = 0; i < g->n; i++) {
		if (!g->v[i].waiting)
			continue;
		tell(&g->v[i]);
		waits = true;
	}
	if (waits)
		run_after(g->wake, HELD_WAKE_MS);
}

static void on_resume(evutil_socket_t fd, short what, void *arg)
{
	struct held_connections *g = arg;

	(void)fd, (void)what;
	for (size_t i = 0; i < g->n; i++)
		if (g->v[i].listener)
			evconnlistener_enable(g->v[i].listener);
}

/* --- all of them ------------------------------------------------------------------------------ */

static int open_port(struct held_connections *g, size_t i, const char *name,
        const struct held_connections_at *at, struct error *err)
{
	const unsigned flags = LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC | LEV_OPT_REUSEABLE;
	struct service_port *port = &g->v[i];

	*port = (struct service_port){ .all = g, .name = name, .number = i, .found_ms = INT64_MIN };
	TAILQ_INIT(&port->held);
	port->listener = evconnlistener_new_bind(g->base, on_accept, port, flags, BACKLOG,
	        (const struct sockaddr *)&at->at, (int)at->len);
	if (!port->listener)
		return error_set(
		        err, ERR_SYSTEM, "service %s: its port: %s", name, strerror(errno));
	evconnlistener_set_error_cb(port->listener, on_accept_error);
	return 0;
}

struct held_connections *held_connections_new(struct event_base *base, char *const *names,
        const struct held_connections_at *at, size_t n,
        const struct held_connections_limits *limits, struct error *err)
{
	struct held_connections *g = xcalloc(1, sizeof(*g));
	const struct service_finder_ops ops = { on_found, g };
	int rc = 0;

	*g = (struct held_connections){ .base = base, .limits = *limits, .n = n };
	g->v = xcalloc(n, sizeof(*g->v));
	g->look = evtimer_new(base, on_look, g);
	g->wake = evtimer_new(base, on_wake, g);
	g->resume = evtimer_new(base, on_resume, g);
	g->finder = service_finder_new(base, names, n, &ops, err);
	for (size_t i = 0; g->finder && rc >= 0 && i < n; i++)
		rc = open_port(g, i, names[i], &at[i], err);
	if (g->finder && rc >= 0)
		return g;
	held_connections_free(g);
	return NULL;
}

static void close_listener(struct service_port *port)
{
	if (port->listener)
		evconnlistener_free(port->listener);
	port->listener = NULL;
}

void held_connections_free(struct held_connections *g)
{
	if (!g)
		return;
	service_finder_free(g->finder);
	for (size_t i = 0; i < g->n; i++) {
		close_listener(&g->v[i]);
		free(g->v[i].v);
	}
	event_free(g->look);
	event_free(g->wake);
	event_free(g->resume);
	free(g->v);
	free(g);
}

void held_connections_close(struct held_connections *g)
{
	for (size_t i = 0; i < g->n; i++) {
		struct held *h, *next;

		close_listener(&g->v[i]);
		for (h = TAILQ_FIRST(&g->v[i].held); h; h = next) {
			next = TAILQ_NEXT(h, next);
			if (h->state == SILENT)
				drop(h);
			else
				give_up(h, "has no replica, and gactivate ends");
		}
	}
}

bool held_connections_are_none(const struct held_connections *g)
{
	return !g->held && !g->spliced && !g->refused;
}
