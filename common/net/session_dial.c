/* session_dial.c - names, connecting, and the client's half of the handshake */
#include "common/net/session_impl.h"

#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#define HOST_MAX 255
#define NAME_KEY (UINT64_MAX - 7) /* worker key: hanging name servers do not hold all threads */

struct dialling {
	char host[HOST_MAX + 1];
	char port[8];
	uid_t server_uid;
	void (*credential)(
	        struct session *s, const void *payload, size_t len, uid_t server_uid, void *arg);
	struct addrinfo *addresses, *next;
	struct error last;   /* why the last address did not do */
	struct hello *hello; /* here, or lent to a job */
};

void session_dialling_free(struct dialling *d)
{
	if (!d)
		return;
	if (d->addresses)
		freeaddrinfo(d->addresses);
	hello_free(d->hello);
	free(d);
}

void session_dial_timeout(struct session *s)
{
	struct error err;

	if (s->state == S_CONNECT) {
		error_set(&s->dialling->last, ERR_UNREACHABLE, "no answer within %u ms",
		        s->ss->limits.connect_ms);
		session_dial_event(s, 0);
		return;
	}
	error_set(&err, ERR_TIMEOUT, "%s: the greeting was not answered within %u ms",
	        s->peer.address, s->ss->limits.handshake_ms);
	session_fail(s, &err);
}

/* --- one worker job for all four operations --------------------------------------------------- */

/* What a job needs and finds. It holds no pointer into the session but for done(), which is called
 * only while the session is there. */
struct step {
	struct session *session;
	int (*run)(struct step *step);
	void (*done)(struct session *s, struct step *step); /* after success */
	bool ok;
	struct error err;

	char host[HOST_MAX + 1], port[8];
	struct addrinfo *addresses;
	const struct mcred_ops *mcred;
	uid_t server_uid;
	struct hello *hello; /* of the session, on loan */
	char *credential;
	char peer[SESSION_ADDRESS_LEN];
	uint8_t bytes[HELLO_ANSWER_MAX + 1];
	size_t len;
	struct noise *noise;
};

static void step_run(void *arg)
{
	struct step *step = arg;

	step->ok = step->run(step) == 0;
}

static void step_free(void *arg)
{
	struct step *step = arg;

	if (step->addresses)
		freeaddrinfo(step->addresses);
	if (step->credential)
		sodium_memzero(step->credential, strlen(step->credential));
	free(step->credential);
	hello_free(step->hello);
	noise_free(step->noise);
	free(step);
}

static void step_done(void *arg)
{
	struct step *step = arg;
	struct session *s = step->session;

	s->job = NULL;
	if (step->hello) {
		s->dialling->hello = step->hello;
		step->hello = NULL;
	}
	if (step->ok)
		step->done(s, step);
	else
		session_fail(s, &step->err);
	step_free(step);
}

static const struct worker_ops step_ops = { step_run, step_done, step_free };

static struct step *step_new(struct session *s, int (*run)(struct step *step),
        void (*done)(struct session *s, struct step *step))
{
	struct step *step = calloc(1, sizeof(*step));

	if (!step)
		return NULL;
	step->session = s;
	step->run = run;
	step->done = done;
	memcpy(step->peer, s->peer.address, sizeof(step->peer));
	return step;
}

/* `step` may be NULL (out of memory). -1: it is gone, with `err`. */
static int step_start(struct session *s, struct step *step, uint64_t key, struct error *err)
{
	if (!step)
		return error_set(err, ERR_SYSTEM, "out of memory");
	s->job = worker_submit(s->ss->pool, key, &step_ops, step, err);
	if (!s->job) {
		/* what was lent goes back */
		if (step->hello)
			s->dialling->hello = step->hello;
		step->hello = NULL;
		step_free(step);
		return -1;
	}
	return 0;
}

static void lend_hello(struct session *s, struct step *step)
{
	step->hello = s->dialling->hello;
	s->dialling->hello = NULL;
}

/* --- ANSWER, AGREE ---------------------------------------------------------------------------- */

static int agree_run(struct step *step)
{
	size_t used;
	int n = hello_answer(
	        step->hello, step->peer, step->bytes, step->len, &used, &step->noise, &step->err);

	if (n == 0)
		return error_set(&step->err, ERR_PROTOCOL, "%s: half an answer", step->peer);
	step->len = used;
	return n < 0 ? -1 : 0;
}

static void agree_done(struct session *s, struct step *step)
{
	struct noise *noise = step->noise;
	uint8_t bytes[HELLO_CONFIRM_LEN];
	struct error err;

	if (hello_confirm(noise, bytes, &err) < 0) {
		session_fail(s, &err);
		return;
	}
	session_write_wire(s, bytes, sizeof(bytes));
	evbuffer_drain(bufferevent_get_input(s->bev), step->len);
	step->noise = NULL;
	session_dialling_free(s->dialling);
	s->dialling = NULL;
	s->ss->stats.authenticated++;
	session_open(s, noise);
}

void session_dial_read(struct session *s)
{
	struct evbuffer *in = bufferevent_get_input(s->bev);
	uint8_t bytes[HELLO_ANSWER_MAX];
	ev_ssize_t n = evbuffer_copyout(in, bytes, sizeof(bytes));
	struct step *step;
	struct error err;

	if (n < 0 || !hello_answer_ready(bytes, (size_t)n))
		return;
	s->state = S_AGREE;
	step = step_new(s, agree_run, agree_done);
	if (step) {
		lend_hello(s, step);
		memcpy(step->bytes, bytes, (size_t)n);
		step->len = (size_t)n;
	}
	if (step_start(s, step, s->number, &err) < 0)
		session_fail(s, &err);
}

/* --- CRED, KEYS ------------------------------------------------------------------------------- */

static int keys_run(struct step *step)
{
	const uint8_t *bytes;
	size_t len;

	return hello_finish(step->hello, step->credential, &bytes, &len, &step->err);
}

static void keys_done(struct session *s, struct step *step)
{
	size_t len;
	const uint8_t *bytes = hello_bytes(s->dialling->hello, &len);

	(void)step;
	s->state = S_ANSWER;
	session_write_wire(s, bytes, len);
	s->reading = true;
	bufferevent_enable(s->bev, EV_READ);
}

/* Both operations of a dialling client that has munge at hand, in one job. */
static int cred_run(struct step *step)
{
	size_t len;
	const uint8_t *payload = hello_payload(step->hello, &len);

	if (step->mcred->encode(
	            step->mcred, payload, len, step->server_uid, &step->credential, &step->err) < 0)
		return -1;
	return keys_run(step);
}

void session_credential(struct session *s, const char *credential, const struct error *err)
{
	struct error e;
	struct step *step;

	if (s->state != S_CRED || s->job)
		return;
	if (!credential) {
		error_set(&e, ERR_MUNGE_DOWN, "no credential for the greeting");
		session_fail(s, err ? err : &e);
		return;
	}
	s->state = S_KEYS;
	step = step_new(s, keys_run, keys_done);
	if (step) {
		lend_hello(s, step);
		step->credential = strdup(credential);
		if (!step->credential) {
			s->dialling->hello = step->hello;
			step->hello = NULL;
			step_free(step);
			step = NULL;
		}
	}
	if (step_start(s, step, s->number, &e) < 0)
		session_fail(s, &e);
}

static void want_credential(struct session *s)
{
	struct dialling *d = s->dialling;
	const uint8_t *payload;
	struct error err;
	struct step *step;
	size_t len;

	s->state = S_CRED;
	session_set_deadline(s, s->ss->limits.handshake_ms);
	if (d->credential) {
		payload = hello_payload(d->hello, &len);
		d->credential(s, payload, len, d->server_uid, s->ss->arg);
		return;
	}
	step = step_new(s, cred_run, keys_done);
	if (step) {
		lend_hello(s, step);
		step->mcred = s->ss->mcred;
		step->server_uid = d->server_uid;
	}
	if (step_start(s, step, s->number, &err) < 0)
		session_fail(s, &err);
}

/* --- CONNECT ---------------------------------------------------------------------------------- */

/* The next address, or the end. */
static void connect_next(struct session *s)
{
	struct dialling *d = s->dialling;
	struct error err;

	while (d->next) {
		struct addrinfo *ai = d->next;

		d->next = ai->ai_next;
		if (s->bev)
			bufferevent_free(s->bev);
		s->bev = NULL;
		if (session_attach(s, -1) < 0)
			break;
		session_set_deadline(s, s->ss->limits.connect_ms);
		if (bufferevent_socket_connect(s->bev, ai->ai_addr, (int)ai->ai_addrlen) == 0)
			return;
		error_set(&d->last, ERR_UNREACHABLE, "%s",
		        evutil_socket_error_to_string(EVUTIL_SOCKET_ERROR()));
	}
	error_set(&err, ERR_UNREACHABLE, "cannot reach %s: %s", s->peer.address, d->last.text);
	session_fail(s, &err);
}

void session_dial_event(struct session *s, short what)
{
	int e = EVUTIL_SOCKET_ERROR();

	if (what & BEV_EVENT_CONNECTED) {
		session_socket_options(s, bufferevent_getfd(s->bev));
		want_credential(s);
		return;
	}
	if (what)
		error_set(&s->dialling->last, ERR_UNREACHABLE, "%s",
		        evutil_socket_error_to_string(e));
	connect_next(s);
}

/* --- NAME ------------------------------------------------------------------------------------- */

static int look_up(
        const char *host, const char *port, int flags, struct addrinfo **out, struct error *err)
{
	struct addrinfo hints = { .ai_family = AF_UNSPEC,
		.ai_socktype = SOCK_STREAM,
		.ai_flags = flags | AI_NUMERICSERV };
	int e = getaddrinfo(host, port, &hints, out);

	if (e == 0)
		return 0;
	return error_set(err, ERR_UNREACHABLE, "cannot find the address of %s: %s", host,
	        e == EAI_SYSTEM ? strerror(errno) : gai_strerror(e));
}

static int name_run(struct step *step)
{
	return look_up(step->host, step->port, 0, &step->addresses, &step->err);
}

void session_dial_start(struct session *s)
{
	s->state = S_CONNECT;
	connect_next(s);
}

static void name_done(struct session *s, struct step *step)
{
	s->dialling->addresses = s->dialling->next = step->addresses;
	step->addresses = NULL;
	session_dial_start(s);
}

/* The way on begins with the loop's next turn: session_dial() itself makes no callbacks. A numeric
 * address needs no name service and so no worker. */
static int find_name(struct session *s, struct error *err)
{
	struct dialling *d = s->dialling;
	struct step *step;

	if (look_up(d->host, d->port, AI_NUMERICHOST, &d->addresses, NULL) == 0) {
		d->next = d->addresses;
		event_active(s->work, EV_WRITE, 0);
		return 0;
	}
	step = step_new(s, name_run, name_done);
	if (step) {
		memcpy(step->host, s->dialling->host, sizeof(step->host));
		memcpy(step->port, s->dialling->port, sizeof(step->port));
	}
	return step_start(s, step, NAME_KEY, err);
}

uint64_t session_dial(struct sessions *ss, const struct session_to *to, struct error *err)
{
	struct dialling *d;
	struct session *s;

	if (strlen(to->host) > HOST_MAX || to->port == 0 || to->port > UINT16_MAX ||
	        (!to->credential && !ss->mcred)) {
		error_set(err, ERR_USAGE, "cannot dial '%s' port %u", to->host, to->port);
		return 0;
	}
	s = session_make(ss, true, S_NAME);
	d = calloc(1, sizeof(*d));
	if (!s || !d) {
		free(d);
		if (s)
			session_close(s);
		error_set(err, ERR_BUSY, "out of memory");
		return 0;
	}
	s->dialling = d;
	snprintf(d->host, sizeof(d->host), "%s", to->host);
	snprintf(d->port, sizeof(d->port), "%u", to->port);
	d->server_uid = to->server_uid;
	d->credential = to->credential;
	s->peer.uid = to->server_uid;
	s->peer.gid = (gid_t)-1;
	snprintf(s->peer.address, sizeof(s->peer.address), "%s:%u", to->host, to->port);
	d->hello = hello_new(&to->hello, err);
	if (!d->hello || find_name(s, err) < 0) {
		session_close(s);
		return 0;
	}
	return s->number;
}
