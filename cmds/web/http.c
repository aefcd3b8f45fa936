/* http.c - listeners, the loop, connections and what they may cost; see http.h */
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "cmds/web/http_answer.h"
#include "cmds/web/http_impl.h"
#include "common/base/clock.h"
#include "common/base/fd_close.h"
#include "common/base/log.h"
#include "common/base/xalloc.h"
#include "common/net/event_end.h"
#include "common/net/listen_at.h"

#define BACKLOG    512
#define SLACK      64 /* connections that are accepted only to be closed */
#define SWEEP_MS   500
#define EVICT_MS   1000 /* a connection without a request makes room for another after that */

int64_t http_now_ms(void)
{
	return clock_us(CLOCK_MONOTONIC) / 1000;
}

/* --- connections ------------------------------------------------------------------------------ */

void http_phase(struct connection *conn, enum phase phase)
{
	struct connections *all = &conn->listener->http->connections;

	if (conn->phase == PHASE_CLOSED)
		return;
	conn->phase = phase;
	conn->since_ms = http_now_ms();
	TAILQ_REMOVE(all, conn, next);
	TAILQ_INSERT_TAIL(all, conn, next);
}

/* libmicrohttpd sees the end of the connection and closes it. */
static void shut(struct connection *conn)
{
	conn->listener->http->figures.slow++;
	http_phase(conn, PHASE_CLOSED);
	shutdown(conn->fd, SHUT_RDWR);
}

#define COST_MAX (HTTP_ANSWERS_MAX / 4 * 3)

/* --- answers that are not taken --------------------------------------------------------------- */

/* What the server keeps for its client. Of what is shut the memory is as good as free. No answer
 * counts as more than most of the room, so that one which is larger (the nodes of a very large
 * cluster) has it while others need little. */
static size_t cost_of(const struct connection *conn)
{
	size_t cost = conn->answer_bytes + (conn->shared ? http_body_cost(conn->shared) : 0);

	if (conn->phase == PHASE_CLOSED)
		return 0;
	return cost < COST_MAX ? cost : COST_MAX;
}

/* What it keeps for all. *most: for which address most; if others have as much, that of `conn`. */
static size_t cost_of_all(const struct connection *conn, uint32_t *most)
{
	struct http *h = conn->listener->http;
	const struct connection *other;
	size_t all = 0;

	TAILQ_FOREACH (other, &h->connections, next)
		h->held[other->bucket] = 0;
	*most = conn->bucket;
	TAILQ_FOREACH (other, &h->connections, next) {
		size_t cost = cost_of(other);

		h->held[other->bucket] += cost;
		all += cost;
	}
	TAILQ_FOREACH (other, &h->connections, next)
		if (h->held[other->bucket] > h->held[*most])
			*most = other->bucket;
	return all;
}

/* The client of that address, but for `conn`, that has taken longest; NULL. */
static struct connection *slowest(const struct connection *conn, uint32_t bucket)
{
	struct connection *other;

	TAILQ_FOREACH (other, &conn->listener->http->connections, next)
		if (other != conn && other->bucket == bucket && cost_of(other))
			return other;
	return NULL;
}

/* Shut the slowest clients of the address with most kept bytes, until all answers fit. False: that
 * is the address of `conn`, and it has no other client. */
static bool make_room(const struct connection *conn)
{
	struct connection *other;
	uint32_t most;

	if (conn->listener->http->answers <= HTTP_ANSWERS_MAX)
		return true;
	while (cost_of_all(conn, &most) > HTTP_ANSWERS_MAX) {
		other = slowest(conn, most);
		if (!other)
			return false;
		shut(other);
	}
	return true;
}

static size_t size_of(const struct connection *conn)
{
	return conn->answer_bytes + (conn->shared ? http_body_size(conn->shared) : 0);
}

bool http_hold_answer(struct connection *conn, const struct http_answer *a)
{
	conn->answer_bytes = a->shared ? 0 : a->body.len;
	conn->shared = a->shared;
	if (conn->shared)
		http_body_hold(conn->shared);
	conn->listener->http->answers += size_of(conn);
	if (make_room(conn))
		return true;
	http_drop_answer(conn);
	return false;
}

void http_drop_answer(struct connection *conn)
{
	conn->listener->http->answers -= size_of(conn);
	if (conn->shared)
		http_body_drop(conn->shared);
	conn->answer_bytes = 0;
	conn->shared = NULL;
}

/* --- time, and the number of connections ------------------------------------------------------ */

static int64_t patience_ms(const struct connection *conn)
{
	int64_t request_ms = conn->listener->http->config->request_ms;

	switch (conn->phase) {
	case PHASE_REQUEST:
		return request_ms ? request_ms : HTTP_REQUEST_S * 1000;
	case PHASE_ANSWER:
		return conn->limit_ms;
	case PHASE_STREAM:
		return HTTP_STREAM_S * 1000;
	default:
		return INT64_MAX;
	}
}

static void sweep(evutil_socket_t fd, short what, void *arg)
{
	const struct timeval again = { 0, SWEEP_MS * 1000 };
	struct http *h = arg;
	struct connection *conn, *next;
	int64_t now = http_now_ms();

	(void)fd, (void)what;
	/* What is shut moves to the end, behind the last one of now. */
	for (conn = TAILQ_FIRST(&h->connections); conn && conn->since_ms < now; conn = next) {
		next = TAILQ_NEXT(conn, next);
		if (now - conn->since_ms > patience_ms(conn))
			shut(conn);
	}
	streams_wake(h, false);
	evtimer_add(h->sweep, &again);
}

/* IPv4 addresses, and the /64 of IPv6 ones, hashed with a secret number: addresses in one bucket
 * share its limit, and no client can choose its bucket. */
static uint32_t bucket_of(const struct http *h, const struct sockaddr *sa)
{
	const uint8_t *bytes = NULL;
	uint64_t hash = h->seed;
	size_t n = 0;

	if (sa && sa->sa_family == AF_INET) {
		bytes = (const uint8_t *)&((const struct sockaddr_in *)sa)->sin_addr;
		n = 4;
	} else if (sa && sa->sa_family == AF_INET6) {
		bytes = ((const struct sockaddr_in6 *)sa)->sin6_addr.s6_addr;
		n = 8;
	}
	for (size_t i = 0; i < n; i++) {
		hash = (hash ^ bytes[i]) * 0x9e3779b97f4a7c15U;
		hash ^= hash >> 29;
	}
	return (uint32_t)(hash % BUCKETS);
}

/* Close the connection that has waited longest for a request. */
static bool evict(struct http *h)
{
	int64_t now = http_now_ms();
	struct connection *conn;

	TAILQ_FOREACH (conn, &h->connections, next)
		if (conn->phase == PHASE_REQUEST && now - conn->since_ms > EVICT_MS) {
			shut(conn);
			return true;
		}
	return false;
}

static enum MHD_Result on_accept(void *arg, const struct sockaddr *sa, socklen_t len)
{
	struct listener *l = arg;
	struct http *h = l->http;

	(void)len;
	if ((!l->path && h->buckets[bucket_of(h, sa)] >= h->config->max_per_address) ||
	        h->figures.open >= h->config->max_connections + SLACK / 2 ||
	        (h->figures.open >= h->config->max_connections && !evict(h))) {
		h->figures.refused++;
		return MHD_NO;
	}
	return MHD_YES;
}

static void on_connection(void *arg, struct MHD_Connection *c, void **own,
        enum MHD_ConnectionNotificationCode what)
{
	struct listener *l = arg;
	struct http *h = l->http;
	struct connection *conn = *own;

	if (what == MHD_CONNECTION_NOTIFY_STARTED) {
		const union MHD_ConnectionInfo *address =
		        MHD_get_connection_info(c, MHD_CONNECTION_INFO_CLIENT_ADDRESS);

		*own = conn = xcalloc(1, sizeof(*conn));
		conn->listener = l;
		conn->fd = MHD_get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD)
		                   ->connect_fd;
		conn->bucket = bucket_of(h, address ? address->client_addr : NULL);
		conn->since_ms = http_now_ms();
		TAILQ_INSERT_TAIL(&h->connections, conn, next);
		h->buckets[conn->bucket] += !l->path;
		h->figures.open++;
		h->figures.connections++;
		return;
	}
	if (!conn)
		return;
	http_drop_answer(conn);
	TAILQ_REMOVE(&h->connections, conn, next);
	h->buckets[conn->bucket] -= !l->path;
	h->figures.open--;
	free(conn);
	*own = NULL;
}

/* --- the loop --------------------------------------------------------------------------------- */

static void work(evutil_socket_t fd, short what, void *arg)
{
	struct listener *l = arg;
	MHD_UNSIGNED_LONG_LONG ms;
	struct timeval again;

	(void)fd, (void)what;
	MHD_run(l->daemon);
	if (MHD_get_timeout(l->daemon, &ms) != MHD_YES)
		return;
	if (ms > SWEEP_MS)
		ms = SWEEP_MS;
	again = (struct timeval){ 0, (suseconds_t)ms * 1000 };
	evtimer_add(l->again, &again);
}

void http_kick(struct listener *l)
{
	const struct timeval now = { 0, 0 };

	evtimer_add(l->again, &now);
}

/* --- listeners -------------------------------------------------------------------------------- */

static int listen_unix(const char *path, unsigned mode, struct error *err)
{
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	struct stat st;
	int fd;

	if (strlen(path) >= sizeof(sa.sun_path))
		return error_set(err, ERR_USAGE, "%s: the path of a socket has %zu bytes at most",
		        path, sizeof(sa.sun_path) - 1);
	strcpy(sa.sun_path, path);
	if (lstat(path, &st) == 0 && S_ISSOCK(st.st_mode))
		unlink(path); /* of a gweb before */
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0 || bind(fd, (struct sockaddr *)&sa, sizeof(sa)) < 0 ||
	        chmod(path, (mode_t)mode) < 0 || listen(fd, BACKLOG) < 0) {
		error_set(err, ERR_SYSTEM, "%s: %s", path, strerror(errno));
		fd_close(fd);
		return -1;
	}
	return fd;
}

static int listen_tcp(struct listener *l, const char *text, struct error *err)
{
	struct addrinfo *found = listen_at(text, 0, err);
	struct sockaddr_storage at;
	socklen_t len = sizeof(at);
	char host[64], port[8];
	int fd, one = 1;

	if (!found)
		return error_set(err, ERR_USAGE,
		        "'%s': expected [ADDRESS:]PORT, with an address in numbers, or unix:PATH",
		        text);
	fd = socket(found->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd >= 0)
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (fd >= 0 && found->ai_family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof(one));
	if (fd < 0 || bind(fd, found->ai_addr, found->ai_addrlen) < 0 || listen(fd, BACKLOG) < 0) {
		error_set(err, ERR_SYSTEM, "%s: %s", text, strerror(errno));
		fd_close(fd);
		freeaddrinfo(found);
		return -1;
	}
	freeaddrinfo(found);
	if (getsockname(fd, (struct sockaddr *)&at, &len) == 0 &&
	        getnameinfo((struct sockaddr *)&at, len, host, sizeof(host), port, sizeof(port),
	                NI_NUMERICHOST | NI_NUMERICSERV) == 0)
		snprintf(l->at, sizeof(l->at), at.ss_family == AF_INET6 ? "[%s]:%s" : "%s:%s", host,
		        port);
	return fd;
}

static void __attribute__((format(printf, 2, 0))) on_log(void *arg, const char *fmt, va_list ap)
{
	char text[512];

	(void)arg;
	if (log_wants(LOG_LEVEL_DEBUG) && vsnprintf(text, sizeof(text), fmt, ap) > 0)
		log_debug("http: %s", text);
}

/* libmicrohttpd decodes nothing: texts of a request are decoded where they are checked
 * (http_parse.h). */
static size_t leave_escaped(void *arg, struct MHD_Connection *c, char *s)
{
	(void)arg, (void)c;
	return strlen(s);
}

static int start(struct listener *l, int fd, struct error *err)
{
	struct http *h = l->http;
	const union MHD_DaemonInfo *info;

	l->daemon = MHD_start_daemon(MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG,
	        0, on_accept, l, http_call_go_on, h,
	        /* first: what follows may log */
	        MHD_OPTION_EXTERNAL_LOGGER, on_log, NULL, MHD_OPTION_LISTEN_SOCKET, fd,
	        MHD_OPTION_CONNECTION_LIMIT, h->config->max_connections + SLACK,
	        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)HTTP_HEAD_MAX,
	        MHD_OPTION_CONNECTION_MEMORY_INCREMENT, (size_t)1024,
	        MHD_OPTION_CONNECTION_TIMEOUT, 0U, MHD_OPTION_STRICT_FOR_CLIENT, 1,
	        MHD_OPTION_SIGPIPE_HANDLED_BY_APP, 1, MHD_OPTION_NOTIFY_CONNECTION, on_connection,
	        l, MHD_OPTION_URI_LOG_CALLBACK, http_call_begin, h, MHD_OPTION_NOTIFY_COMPLETED,
	        http_call_end, h, MHD_OPTION_UNESCAPE_CALLBACK, leave_escaped, NULL,
	        MHD_OPTION_END);
	if (!l->daemon) {
		close(fd);
		return error_set(err, ERR_SYSTEM, "%s: libmicrohttpd does not start", l->at);
	}
	info = MHD_get_daemon_info(l->daemon, MHD_DAEMON_INFO_EPOLL_FD);
	l->ready = event_new(h->base, info->epoll_fd, EV_READ | EV_PERSIST, work, l);
	l->again = evtimer_new(h->base, work, l);
	event_add(l->ready, NULL);
	return 0;
}

static int open_listener(struct http *h, const char *text, struct error *err)
{
	struct listener *l = &h->listeners[h->n_listeners++];
	int fd;

	l->http = h;
	if (!strncmp(text, "unix:", 5)) {
		snprintf(l->at, sizeof(l->at), "%s", text);
		fd = listen_unix(text + 5, h->config->unix_mode, err);
		l->path = fd < 0 ? NULL : xstrdup(text + 5);
	} else {
		fd = listen_tcp(l, text, err);
	}
	return fd < 0 ? -1 : start(l, fd, err);
}

static void close_listener(struct listener *l)
{
	if (l->daemon)
		MHD_stop_daemon(l->daemon); /* and its socket */
	event_end(l->ready);
	event_end(l->again);
	if (l->path)
		unlink(l->path);
	free(l->path);
}

/* --- the server ------------------------------------------------------------------------------- */

/* This host's name, with its domain and without, and those of the configuration. */
static void find_names(struct http *h)
{
	char host[256] = "";
	size_t n = 0;

	gethostname(host, sizeof(host) - 1);
	h->names = xcalloc(h->config->n_hosts + 3, sizeof(*h->names));
	h->own_name = xcalloc(2, sizeof(host));
	strcpy(h->own_name, host);
	h->names[n++] = h->own_name;
	h->names[n++] = strcpy(h->own_name + sizeof(host), host);
	h->own_name[sizeof(host) + strcspn(host, ".")] = '\0';
	for (size_t i = 0; i < h->config->n_hosts; i++)
		h->names[n++] = h->config->hosts[i];
}

struct http *http_new(struct event_base *base, const struct http_config *config,
        const struct http_routes *tables, size_t n_tables, struct snapshots *snapshots,
        struct error *err)
{
	struct http *h = xcalloc(1, sizeof(*h));

	h->base = base;
	h->config = config;
	h->tables = tables;
	h->n_tables = n_tables;
	h->snapshots = snapshots;
	TAILQ_INIT(&h->connections);
	TAILQ_INIT(&h->streams);
	find_names(h);
	h->listeners = xcalloc(config->n_listen, sizeof(*h->listeners));
	h->sweep = evtimer_new(base, sweep, h);
	h->asks = asks_new(h, err);
	if (getrandom(&h->seed, sizeof(h->seed), 0) < 0 || !h->asks)
		goto failed;
	for (size_t i = 0; i < config->n_listen; i++)
		if (open_listener(h, config->listen[i], err) < 0)
			goto failed;
	sweep(-1, 0, h);
	return h;
failed:
	http_free(h);
	return NULL;
}

void http_free(struct http *h)
{
	if (!h)
		return;
	asks_free(h->asks); /* resumes what waits for it */
	h->asks = NULL;
	streams_wake(h, true); /* nothing may be suspended when libmicrohttpd stops */
	for (size_t i = 0; i < h->n_listeners; i++)
		close_listener(&h->listeners[i]);
	event_free(h->sweep);
	free(h->listeners);
	free(h->names);
	free(h->own_name);
	free(h);
}

const char *http_at(const struct http *h, size_t i)
{
	return i < h->n_listeners ? h->listeners[i].at : "";
}

void http_published(struct http *h)
{
	streams_wake(h, true);
}

const struct http_figures *http_figures(const struct http *h)
{
	return &h->figures;
}
