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

#include "cmds/feed/controller_queries.h"
#include "cmds/feed/service_unavailable.h"
#include "cmds/feed/splice.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/xalloc.h"

#define BACKLOG  1024
#define PAUSE_MS 1000 /* without descriptors for new connections */

enum held_state { SILENT, WAITING, CONNECTING };

struct gate;

struct held {
	TAILQ_ENTRY(held) next;
	struct gate *gate;
	struct bufferevent *client, *server; /* server: CONNECTING */
	struct event *timer;
	enum held_state state;
	bool ended; /* the client says no more */
};

struct gate {
	struct gates *all;
	const char *name;
	size_t number;
	struct evconnlistener *listener;
	TAILQ_HEAD(, held) held;
	uint32_t waiting;        /* WAITING or CONNECTING */
	uint32_t told;           /* the number that the controller was told */
	struct asker_address *v; /* where it answers */
	size_t n, turn;
	int64_t found_ms; /* as it was then; INT64_MIN: not known */
	bool known;       /* the controller had the service once */
};

struct gates {
	struct event_base *base;
	struct asker *asker;
	struct gates_limits limits;
	struct gate *v;
	size_t n;
	unsigned held, spliced, refused;
	struct event *look, *wake, *resume;
	bool crowded; /* it was said */
};

static void run_after(struct event *timer, uint64_t ms)
{
	const struct timeval t = { (time_t)(ms / 1000), (suseconds_t)(ms % 1000 * 1000) };

	evtimer_add(timer, &t);
}

/* Asks the timers' questions again only while something waits. */
static void run_timers(struct gates *g)
{
	if (!evtimer_pending(g->look, NULL))
		run_after(g->look, GATE_LOOK_MS);
	if (!evtimer_pending(g->wake, NULL))
		run_after(g->wake, GATE_WAKE_MS);
}

static void tell(struct gate *gate)
{
	gate->told = gate->waiting;
	asker_wake(gate->all->asker, gate->number, gate->waiting);
}

/* --- the end of waiting ----------------------------------------------------------------------- */

static void stop_waiting(struct held *h)
{
	struct gate *gate = h->gate;

	if (h->state == SILENT)
		return;
	gate->waiting--;
	if (!gate->waiting && gate->told)
		tell(gate);
}

/* All but the connections. */
static void held_free(struct held *h)
{
	stop_waiting(h);
	h->gate->all->held--;
	TAILQ_REMOVE(&h->gate->held, h, next);
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
	struct gates *g = h->gate->all;
	struct bufferevent *client = h->client;
	char why[REFUSE_WHY];

	snprintf(why, sizeof(why), "service %.64s %s", h->gate->name, what);
	if (h->server)
		bufferevent_free(h->server);
	held_free(h);
	refuse(client, &g->refused, why);
}

static void on_spliced_end(void *arg)
{
	struct gates *g = arg;

	g->spliced--;
}

static void pass_on(struct held *h)
{
	struct gates *g = h->gate->all;
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
	h->gate->found_ms = INT64_MIN;
	run_timers(h->gate->all);
}

static void connect_to_replica(struct held *h)
{
	const struct timeval limit = { GATE_CONNECT_S, 0 };
	struct gate *gate = h->gate;
	struct asker_address *to = &gate->v[gate->turn++ % gate->n];

	h->state = CONNECTING;
	h->server = bufferevent_socket_new(gate->all->base, -1, BEV_OPT_CLOSE_ON_FREE);
	if (!h->server) {
		h->state = WAITING;
		return;
	}
	bufferevent_setcb(h->server, NULL, NULL, on_server, h);
	bufferevent_set_timeouts(h->server, NULL, &limit);
	/* A failure is told by on_server, too, which may have been called when this returns. */
	bufferevent_socket_connect(h->server, (struct sockaddr *)&to->to, (int)to->len);
}

static void connect_all(struct gate *gate)
{
	struct held *h, *next;

	for (h = TAILQ_FIRST(&gate->held); h && gate->n; h = next) {
		next = TAILQ_NEXT(h, next);
		if (h->state == WAITING)
			connect_to_replica(h);
	}
}

/* No replica is expected. */
static void give_up_all(struct gate *gate)
{
	struct held *h, *next;

	for (h = TAILQ_FIRST(&gate->held); h; h = next) {
		next = TAILQ_NEXT(h, next);
		if (h->state == WAITING)
			give_up(h, "is stopped or gone");
	}
}

/* An unknown service may be submitted soon; a service that existed before has been stopped. */
static void on_found(void *arg, size_t service, enum asker_state state,
        const struct asker_address *v, size_t n)
{
	struct gates *g = arg;
	struct gate *gate = &g->v[service];

	free(gate->v);
	gate->v = n ? xmemdup(v, n * sizeof(*v)) : NULL;
	gate->n = n;
	gate->found_ms = clock_ms(CLOCK_MONOTONIC);
	gate->known |= state != ASKER_UNKNOWN;
	connect_all(gate);
	if (gate->known && state != ASKER_STANDS)
		give_up_all(gate);
}

/* --- the client ------------------------------------------------------------------------------- */

/* The first bytes: from now on it counts. */
static void begin_waiting(struct held *h)
{
	struct gate *gate = h->gate;

	h->state = WAITING;
	gate->waiting++;
	run_after(h->timer, gate->all->limits.wake_wait_ms);
	if (gate->n && clock_ms(CLOCK_MONOTONIC) - GATE_FRESH_MS < gate->found_ms) {
		connect_to_replica(h);
		return;
	}
	if (gate->waiting == 1)
		tell(gate);
	asker_look(gate->all->asker);
	run_timers(gate->all);
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

static void say_crowded(struct gates *g)
{
	if (!g->crowded)
		log_warning("%u connections are held: more are refused (--max-held)", g->held);
	g->crowded = true;
}

static void on_accept(struct evconnlistener *listener, evutil_socket_t fd, struct sockaddr *from,
        int len, void *arg)
{
	struct gate *gate = arg;
	struct gates *g = gate->all;
	struct bufferevent *bev = bufferevent_socket_new(g->base, fd, BEV_OPT_CLOSE_ON_FREE);
	struct held *h;

	(void)listener, (void)from, (void)len;
	if (!bev) {
		evutil_closesocket(fd);
		return;
	}
	set_options(bev);
	if (g->held >= g->limits.max_held) {
		say_crowded(g);
		refuse(bev, &g->refused, "more requests wait for replicas than may");
		return;
	}
	g->crowded = false;
	g->held++;
	h = xcalloc(1, sizeof(*h));
	*h = (struct held){ .gate = gate, .client = bev };
	h->timer = evtimer_new(g->base, on_time, h);
	run_after(h->timer, (uint64_t)GATE_SILENT_S * 1000);
	TAILQ_INSERT_TAIL(&gate->held, h, next);
	bufferevent_setwatermark(bev, EV_READ, 0, SPLICE_MAX);
	bufferevent_setcb(bev, on_read, NULL, on_client, h);
	bufferevent_enable(bev, EV_READ);
}

/* No descriptor is left, most likely: connections end before others begin. */
static void on_accept_error(struct evconnlistener *listener, void *arg)
{
	struct gate *gate = arg;
	struct gates *g = gate->all;

	log_warning("no new connections for a second: %s", strerror(errno));
	evconnlistener_disable(listener);
	run_after(g->resume, PAUSE_MS);
}

/* --- timers ----------------------------------------------------------------------------------- */

static void on_look(evutil_socket_t fd, short what, void *arg)
{
	struct gates *g = arg;
	uint32_t waiting = 0;

	(void)fd, (void)what;
	for (size_t i = 0; i < g->n; i++)
		waiting += g->v[i].waiting;
	if (!waiting)
		return;
	asker_look(g->asker);
	run_after(g->look, GATE_LOOK_MS);
}

static void on_wake(evutil_socket_t fd, short what, void *arg)
{
	struct gates *g = arg;
	bool waits = false;

	(void)fd, (void)what;
	for (size_t i = 0; i < g->n; i++) {
		if (!g->v[i].waiting)
			continue;
		tell(&g->v[i]);
		waits = true;
	}
	if (waits)
		run_after(g->wake, GATE_WAKE_MS);
}

static void on_resume(evutil_socket_t fd, short what, void *arg)
{
	struct gates *g = arg;

	(void)fd, (void)what;
	for (size_t i = 0; i < g->n; i++)
		if (g->v[i].listener)
			evconnlistener_enable(g->v[i].listener);
}

/* --- all of them ------------------------------------------------------------------------------ */

static int open_gate(
        struct gates *g, size_t i, const char *name, const struct gate_at *at, struct error *err)
{
	const unsigned flags = LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC | LEV_OPT_REUSEABLE;
	struct gate *gate = &g->v[i];

	*gate = (struct gate){ .all = g, .name = name, .number = i, .found_ms = INT64_MIN };
	TAILQ_INIT(&gate->held);
	gate->listener = evconnlistener_new_bind(g->base, on_accept, gate, flags, BACKLOG,
	        (const struct sockaddr *)&at->at, (int)at->len);
	if (!gate->listener)
		return error_set(
		        err, ERR_SYSTEM, "service %s: its port: %s", name, strerror(errno));
	evconnlistener_set_error_cb(gate->listener, on_accept_error);
	return 0;
}

struct gates *gates_new(struct event_base *base, char *const *names, const struct gate_at *at,
        size_t n, const struct gates_limits *limits, struct error *err)
{
	struct gates *g = xcalloc(1, sizeof(*g));
	const struct asker_ops ops = { on_found, g };
	int rc = 0;

	*g = (struct gates){ .base = base, .limits = *limits, .n = n };
	g->v = xcalloc(n, sizeof(*g->v));
	g->look = evtimer_new(base, on_look, g);
	g->wake = evtimer_new(base, on_wake, g);
	g->resume = evtimer_new(base, on_resume, g);
	g->asker = asker_new(base, names, n, &ops, err);
	for (size_t i = 0; g->asker && rc >= 0 && i < n; i++)
		rc = open_gate(g, i, names[i], &at[i], err);
	if (g->asker && rc >= 0)
		return g;
	gates_free(g);
	return NULL;
}

static void close_listener(struct gate *gate)
{
	if (gate->listener)
		evconnlistener_free(gate->listener);
	gate->listener = NULL;
}

void gates_free(struct gates *g)
{
	if (!g)
		return;
	asker_free(g->asker);
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

void gates_close(struct gates *g)
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

bool gates_are_empty(const struct gates *g)
{
	return !g->held && !g->spliced && !g->refused;
}
