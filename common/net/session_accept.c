/* session_accept.c - listening, and the server's half of the handshake */
#include "common/net/session_impl.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/fd_close.h"
#include "common/net/event_end.h"

#define BACKLOG     4096 /* the kernel cuts it to net.core.somaxconn */
#define TURN_ACCEPT 64   /* connections taken in one turn of the loop */
#define RETRY_MS    100  /* after running out of descriptors or places */

/* --- refusing --------------------------------------------------------------------------------- */

/* Tell the peer the code, and the owner why. The connection lingers. */
static void refuse(struct session *s, const struct error *why)
{
	struct sessions *ss = s->ss;
	char address[SESSION_ADDRESS_LEN];
	uint8_t answer[HELLO_ANSWER_MAX];

	if (s->job)
		worker_cancel(s->job);
	s->job = NULL;
	memcpy(address, s->peer.address, sizeof(address));
	session_write_wire(s, answer, hello_refusal(why->code, answer));
	session_farewell(s);
	ss->stats.refused++;
	if (ss->ops->refused)
		ss->ops->refused(ss, address, why, ss->arg);
}

void session_accept_timeout(struct session *s)
{
	struct error err;

	if (s->state == S_CONFIRM) {
		error_set(&err, ERR_TIMEOUT, "the greeting was not confirmed within %u ms",
		        s->ss->limits.handshake_ms);
		session_fail(s, &err);
		return;
	}
	error_set(&err, ERR_TIMEOUT,
	        s->state == S_VERIFY ? "munge did not answer within %u ms"
	                             : "the greeting was not complete within %u ms",
	        s->ss->limits.handshake_ms);
	refuse(s, &err);
}

/* --- the greeting, in a worker ---------------------------------------------------------------- */

struct verify {
	struct session *session; /* on the loop, and only if not cancelled */
	const struct mcred_ops *mcred;
	struct hello_rules rules; /* points to the three */
	char role[16], cluster[HELLO_NAME_MAX + 1], node[HELLO_NAME_MAX + 1];
	uint8_t bytes[HELLO_MAX];
	size_t len;
	/* results */
	bool ok;
	struct hello_peer peer;
	struct noise *noise;
	uint8_t answer[HELLO_ANSWER_MAX];
	size_t answer_len;
	struct error err;
};

static void verify_run(void *arg)
{
	struct verify *v = arg;

	v->ok = hello_accept(v->bytes, v->len, &v->rules, v->mcred, &v->peer, &v->noise, v->answer,
	                &v->answer_len, &v->err) == 0;
}

static void verify_free(void *arg)
{
	struct verify *v = arg;

	noise_free(v->noise);
	free(v);
}

/* May this peer come in? Its user is known. */
static int admit(struct session *s, struct error *err)
{
	struct sessions *ss = s->ss;
	int code;

	if (!ss->ops->admit)
		return 0;
	error_set(err, ERR_AUTH, "not admitted");
	code = ss->ops->admit(ss, &s->peer, ss->arg, err);
	if (code == 0)
		return 0;
	err->code = code > 0 ? code : err->code;
	return -1;
}

static void verify_done(void *arg)
{
	struct verify *v = arg;
	struct session *s = v->session;

	s->job = NULL;
	if (v->ok) {
		s->peer.uid = v->peer.uid;
		s->peer.gid = v->peer.gid;
		memcpy(s->peer.node, v->peer.node, sizeof(s->peer.node));
	}
	if (!v->ok || admit(s, &v->err) < 0) {
		refuse(s, &v->err);
		verify_free(v);
		return;
	}
	session_write_wire(s, v->answer, v->answer_len);
	s->agreed = v->noise;
	s->state = S_CONFIRM;
	v->noise = NULL;
	verify_free(v);
}

static const struct worker_ops verify_ops = { verify_run, verify_done, verify_free };

/* rules with their strings, so that a reload meanwhile does not matter. */
static void copy_rules(struct verify *v, const struct sessions *ss)
{
	memcpy(v->role, ss->role, sizeof(v->role));
	memcpy(v->cluster, ss->cluster, sizeof(v->cluster));
	memcpy(v->node, ss->node, sizeof(v->node));
	v->rules = (struct hello_rules){ v->role, v->cluster, ss->rules.node ? v->node : NULL,
		ss->rules.self };
}

static int verify_start(struct session *s, size_t len, struct error *err)
{
	struct verify *v = calloc(1, sizeof(*v));

	if (!v)
		return error_set(err, ERR_BUSY, "out of memory");
	v->session = s;
	v->mcred = s->ss->mcred;
	v->len = len;
	copy_rules(v, s->ss);
	evbuffer_remove(bufferevent_get_input(s->bev), v->bytes, len);
	s->job = worker_submit(s->ss->pool, s->address->key, &verify_ops, v, err);
	if (!s->job) {
		verify_free(v);
		return -1;
	}
	s->state = S_VERIFY;
	return 0;
}

/* Check the client's last message: it proves that the greeting was not a recording. */
static void read_confirm(struct session *s)
{
	struct evbuffer *in = bufferevent_get_input(s->bev);
	struct noise *noise = s->agreed;
	uint8_t bytes[HELLO_CONFIRM_LEN];
	struct error err;

	if (evbuffer_get_length(in) < sizeof(bytes))
		return;
	evbuffer_remove(in, bytes, sizeof(bytes));
	if (hello_check_confirm(noise, bytes, &err) < 0) {
		session_fail(s, &err);
		return;
	}
	s->agreed = NULL;
	s->ss->stats.authenticated++;
	session_open(s, noise);
}

void session_accept_read(struct session *s)
{
	struct evbuffer *in = bufferevent_get_input(s->bev);
	size_t have = evbuffer_get_length(in), need = 0;
	struct error err;
	int n = -1;

	if (s->state == S_CONFIRM) {
		read_confirm(s);
		return;
	}
	if (s->state == S_VERIFY || have > HELLO_MAX) {
		error_set(&err, ERR_PROTOCOL, "more bytes than a greeting has");
	} else {
		n = hello_peek(evbuffer_pullup(in, -1), have, &need, &err);
		if (n == 0)
			return;
		if (n > 0 && have != need)
			n = error_set(&err, ERR_PROTOCOL, "more bytes than a greeting has");
		if (n > 0)
			n = verify_start(s, need, &err);
	}
	if (n < 0) {
		evbuffer_drain(in, evbuffer_get_length(in));
		refuse(s, &err);
	}
}

/* --- connections ----------------------------------------------------------------------------- */

static int64_t now_ms(void)
{
	return clock_us(CLOCK_MONOTONIC_COARSE) / 1000;
}

/* Another connection must be closed for a new one. Honest peers send everything they have at once,
 * so it is the oldest connection that has been silent for a while. It is not one whose greeting is
 * complete and waits for munge: under a storm of honest peers that would close the next one to be
 * served. False: there is no such connection. */
static bool push_out(struct sessions *ss, const struct tally_row *address)
{
	struct session *s;
	struct error err;

	TAILQ_FOREACH (s, &ss->unauth, link)
		if (s->state != S_VERIFY && (!address || s->address == address))
			break;
	if (!s || now_ms() - s->since_ms < ss->limits.silent_ms)
		return false;
	ss->stats.pushed_out++;
	error_set(&err, ERR_BUSY,
	        address ? "too many connections of this address are being greeted"
	                : "too many connections are being greeted");
	session_fail(s, &err);
	return true;
}

/* The kernel's buffer of a new socket takes a refusal. */
static void turn_away(struct sessions *ss, int fd, const struct sockaddr *sa, const char *why)
{
	char address[SESSION_ADDRESS_LEN];
	uint8_t answer[HELLO_ANSWER_MAX];
	struct error err;

	error_set(&err, ERR_BUSY, "%s", why);
	(void)!send(fd, answer, hello_refusal(ERR_BUSY, answer), MSG_DONTWAIT | MSG_NOSIGNAL);
	close(fd);
	ss->stats.refused++;
	session_format_address(sa, address);
	if (ss->ops->refused)
		ss->ops->refused(ss, address, &err, ss->arg);
}

/* Is there room for one more of this address? Then it is counted in. */
static struct tally_row *take_place(struct sessions *ss, uint64_t key, const char **why)
{
	struct tally_row *row;

	*why = "out of memory";
	row = tally_take(&ss->addresses, key);
	if (!row)
		return NULL;
	*why = "too many connections of this address are being greeted";
	if (row->n <= ss->limits.max_unauth_per_address || push_out(ss, row))
		return row;
	tally_drop(row);
	return NULL;
}

static void take_connection(struct sessions *ss, int fd, const struct sockaddr *sa)
{
	struct tally_row *address;
	struct session *s;
	const char *why;

	ss->stats.accepted++;
	address = take_place(ss, worker_key_address(sa), &why);
	if (!address) {
		turn_away(ss, fd, sa, why);
		return;
	}
	s = session_make(ss, false, S_HELLO);
	if (!s) {
		tally_drop(address);
		turn_away(ss, fd, sa, "out of memory");
		return;
	}
	s->address = address;
	s->since_ms = now_ms();
	session_format_address(sa, s->peer.address);
	if (session_attach(s, fd) < 0) {
		close(fd);
		session_close(s);
		return;
	}
	session_socket_options(s, fd);
	bufferevent_setwatermark(s->bev, EV_READ, 0, HELLO_MAX + 1);
	session_set_deadline(s, ss->limits.handshake_ms);
	s->reading = true;
	bufferevent_enable(s->bev, EV_READ);
}

void session_accept_again(struct sessions *ss)
{
	struct listener *l;

	ss->full = false;
	TAILQ_FOREACH (l, &ss->listeners, link)
		event_add(l->event, NULL);
}

/* The limit of handshakes is reached, and no connection may be closed for it: the kernel keeps new
 * connections in its queue until a handshake has ended. */
static bool stop_accepting(struct sessions *ss)
{
	static const struct timeval retry = { 0, RETRY_MS * 1000 };
	struct listener *l;

	if (ss->n_unauth < ss->limits.max_unauth || push_out(ss, NULL))
		return false;
	ss->full = true;
	TAILQ_FOREACH (l, &ss->listeners, link) {
		event_del(l->event);
		evtimer_add(l->retry, &retry); /* by then a connection may have been silent for too
					        * long */
	}
	return true;
}

static void on_retry(evutil_socket_t fd, short what, void *arg)
{
	struct listener *l = arg;

	(void)fd;
	(void)what;
	event_add(l->event, NULL);
}

static void on_accept(evutil_socket_t fd, short what, void *arg)
{
	static const struct timeval retry = { 0, RETRY_MS * 1000 };
	struct listener *l = arg;

	(void)what;
	for (int i = 0; i < TURN_ACCEPT; i++) {
		struct sockaddr_storage sa = { 0 };
		socklen_t len = sizeof(sa);
		int c;

		if (stop_accepting(l->ss))
			return;
		c = accept4(fd, (struct sockaddr *)&sa, &len, SOCK_NONBLOCK | SOCK_CLOEXEC);
		if (c >= 0) {
			take_connection(l->ss, c, (struct sockaddr *)&sa);
			continue;
		}
		if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS) {
			event_del(l->event);
			evtimer_add(l->retry, &retry);
		}
		/* A connection that was closed before it was accepted is no error. */
		if (errno != ECONNABORTED && errno != EINTR)
			return;
	}
}

/* --- listening -------------------------------------------------------------------------------- */

void session_listener_free(struct listener *l)
{
	if (l->ss)
		TAILQ_REMOVE(&l->ss->listeners, l, link);
	event_end(l->event);
	event_end(l->retry);
	fd_close(l->fd);
	free(l);
}

/* A listening socket; -1 with errno. */
static int listen_on(const struct sockaddr *sa, socklen_t len)
{
	int fd = socket(sa->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	int on = 1, off = 0, e;

	if (fd < 0)
		return -1;
	(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (sa->sa_family == AF_INET6)
		(void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
	if (bind(fd, sa, len) == 0 && listen(fd, BACKLOG) == 0)
		return fd;
	e = errno;
	close(fd);
	errno = e;
	return -1;
}

/* All addresses: one socket for IPv6 and IPv4, or IPv4 alone on a host without IPv6. */
static int listen_address(const char *address, unsigned port, struct error *err)
{
	struct sockaddr_in6 v6 = { .sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port) };
	struct sockaddr_in v4 = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };
	bool any = !*address, is6 = inet_pton(AF_INET6, address, &v6.sin6_addr) == 1;
	int fd = -1;

	if (port > UINT16_MAX)
		return error_set(err, ERR_SYSTEM, "%u is no port", port);
	if (!any && !is6 && inet_pton(AF_INET, address, &v4.sin_addr) != 1)
		return error_set(
		        err, ERR_SYSTEM, "cannot listen on '%s': not a numeric address", address);
	if (any || is6)
		fd = listen_on((struct sockaddr *)&v6, sizeof(v6));
	if (!is6 && (!any || (fd < 0 && errno != EADDRINUSE)))
		fd = listen_on((struct sockaddr *)&v4, sizeof(v4));
	if (fd < 0)
		return error_set(err, ERR_SYSTEM, "cannot listen on %s port %u: %s",
		        any ? "all addresses" : address, port, strerror(errno));
	return fd;
}

int sessions_set_rules(struct sessions *ss, const struct hello_rules *rules, struct error *err)
{
	const char *node = rules->node ? rules->node : "";

	if (strlen(rules->role) >= sizeof(ss->role) || strlen(rules->cluster) > HELLO_NAME_MAX ||
	        strlen(node) > HELLO_NAME_MAX)
		return error_set(err, ERR_USAGE, "the name of the cluster or node is too long");
	snprintf(ss->role, sizeof(ss->role), "%s", rules->role);
	snprintf(ss->cluster, sizeof(ss->cluster), "%s", rules->cluster);
	snprintf(ss->node, sizeof(ss->node), "%s", node);
	ss->rules = (struct hello_rules){ ss->role, ss->cluster, rules->node ? ss->node : NULL,
		rules->self };
	return 0;
}

int sessions_listen(struct sessions *ss, const char *address, unsigned port,
        const struct hello_rules *rules, struct error *err)
{
	struct sockaddr_storage sa = { 0 };
	socklen_t len = sizeof(sa);
	struct listener *l;

	if (sessions_set_rules(ss, rules, err) < 0)
		return -1;
	l = calloc(1, sizeof(*l));
	if (!l)
		return error_set(err, ERR_SYSTEM, "out of memory");
	l->fd = listen_address(address, port, err);
	if (l->fd < 0) {
		session_listener_free(l);
		return -1;
	}
	l->event = event_new(ss->base, l->fd, EV_READ | EV_PERSIST, on_accept, l);
	l->retry = evtimer_new(ss->base, on_retry, l);
	if (!l->event || !l->retry || event_add(l->event, NULL) < 0 ||
	        getsockname(l->fd, (struct sockaddr *)&sa, &len) < 0) {
		session_listener_free(l);
		return error_set(err, ERR_SYSTEM, "cannot watch the listening socket");
	}
	l->ss = ss;
	TAILQ_INSERT_TAIL(&ss->listeners, l, link);
	ss->port = ntohs(sa.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&sa)->sin6_port
	                                          : ((struct sockaddr_in *)&sa)->sin_port);
	return 0;
}

unsigned sessions_port(const struct sessions *ss)
{
	return ss->port;
}
