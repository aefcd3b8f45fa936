/* lab.h - a server, its clients and their munge on one event loop, for test_session(_limits) and
 * test_dial
 *
 * The server answers PING with PONG and REPLY; what it does otherwise is set by the fields below.
 * Blocking clients run in a thread of their own while the main thread runs the loop.
 */
#ifndef UNIT_LAB_H
#define UNIT_LAB_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include <event2/event.h>

#include "common/base/wirenum.h"
#include "common/net/dial.h"
#include "common/net/session.h"
#include "testsuite/sim/fake_munge.h"

#define T(sym) GPUSCHED__MSG_TYPE__MSG_##sym

#define CTL_UID  900
#define USER_UID 1000

/* What one side has seen. */
struct seen {
	int opened, frames, writable, closed, refused;
	uint64_t last;    /* number of the session that opened last */
	uint64_t last_id; /* request id of the last frame */
	unsigned last_type;
	size_t last_len;
	struct session_peer peer;
	struct error why; /* of the last closed or refused */
	int refuse_with;  /* admit() says so */
	enum { NOTHING, ON_OPEN, ON_FRAME, ON_WRITABLE } close_on;
	size_t queued, held; /* what was told last */
	size_t holds_max;    /* 0: any number */
};

struct lab {
	struct event_base *base;
	struct worker_pool *pool;
	struct fake_munge *client_host, *server_host;
	struct mcred_ops *client, *server, *agent;
	struct sessions *ctl, *out;
	struct seen s, c; /* the server's, the dialling sessions' */
	int asked_credentials;
};

static struct lab lab;

static struct seen *side(struct session *s)
{
	return session_find(lab.ctl, session_number(s)) == s ? &lab.s : &lab.c;
}

/* `arg` is the side's struct seen. */
static int lab_admit(
        struct sessions *ss, const struct session_peer *peer, void *arg, struct error *err)
{
	struct seen *v = arg;

	(void)ss;
	v->peer = *peer;
	if (v->refuse_with)
		error_set(err, v->refuse_with, "the test says no");
	return v->refuse_with;
}

static void lab_opened(struct session *s, void *arg)
{
	struct seen *v = arg;

	assert_ptr_equal(side(s), v);
	assert_true(session_is_open(s));
	v->opened++;
	v->last = session_number(s);
	if (v->close_on == ON_OPEN)
		session_close(s);
}

static void lab_frame(struct session *s, const struct frame *f, void *arg)
{
	Gpusched__Pong pong = GPUSCHED__PONG__INIT;
	Gpusched__Reply reply = GPUSCHED__REPLY__INIT;
	struct seen *v = arg;

	v->frames++;
	v->last_type = f->type;
	v->last_id = f->id;
	v->last_len = f->len;
	if (v->close_on == ON_FRAME) {
		session_close(s);
		/* the body is still there */
		assert_true(f->len == 0 || f->body[f->len - 1] == f->body[f->len - 1]);
		return;
	}
	if (f->type != T(PING) && f->type != T(SUBMIT))
		return;
	pong.uid = session_peer(s)->uid;
	pong.cluster = (char *)"c1";
	assert_int_equal(session_send(s, T(PONG), f->id, &pong.base, NULL), 0);
	assert_int_equal(session_send(s, T(REPLY), f->id, &reply.base, NULL), 0);
}

static void lab_writable(struct session *s, void *arg)
{
	struct seen *v = arg;

	v->writable++;
	if (v->close_on == ON_WRITABLE)
		session_close(s);
}

static void lab_closed(struct session *s, const struct error *why, void *arg)
{
	struct seen *v = arg;

	assert_false(session_is_open(s));
	v->closed++;
	v->why = *why;
	session_close(s); /* harmless */
}

static void lab_refused(
        struct sessions *ss, const char *address, const struct error *why, void *arg)
{
	struct seen *v = arg;

	(void)ss;
	assert_non_null(strstr(address, "127.0.0.1:"));
	v->refused++;
	v->why = *why;
}

static void lab_queued(struct session *s, void *arg)
{
	struct seen *v = arg;

	v->queued = session_queued(s);
}

/* Of all sessions of a test together. */
static int lab_holds(struct session *s, size_t bytes, void *arg, struct error *err)
{
	struct seen *v = arg;

	(void)s;
	v->held = bytes;
	if (!v->holds_max || bytes <= v->holds_max)
		return 0;
	return error_set(err, ERR_BUSY, "the test takes no more");
}

static const struct session_ops lab_ops = {
	.admit = lab_admit,
	.opened = lab_opened,
	.frame = lab_frame,
	.writable = lab_writable,
	.queued = lab_queued,
	.holds = lab_holds,
	.closed = lab_closed,
	.refused = lab_refused,
};

static void lab_new_with(const struct session_limits *limits, unsigned threads)
{
	struct worker_limits wl = { threads, 256, 128 };
	struct hello_rules rules = { "controller", "c1", NULL, CTL_UID };
	struct session_config conf = { 0 };
	struct error err = { 0 };

	memset(&lab, 0, sizeof(lab));
	lab.base = event_base_new();
	lab.client_host = fake_munge_new(1);
	lab.server_host = fake_munge_new(1);
	lab.client = fake_munge_client(lab.client_host, USER_UID, 100);
	lab.agent = fake_munge_client(lab.client_host, 0, 0);
	lab.server = fake_munge_client(lab.server_host, CTL_UID, CTL_UID);
	lab.pool = worker_pool_new(lab.base, &wl, &err);
	assert_non_null(lab.pool);
	conf = (struct session_config){ lab.base, lab.pool, lab.server, *limits, &lab_ops, &lab.s };
	lab.ctl = sessions_new(&conf, &err);
	conf.mcred = lab.agent;
	conf.arg = &lab.c;
	lab.out = sessions_new(&conf, &err);
	assert_non_null(lab.ctl);
	assert_non_null(lab.out);
	if (sessions_listen(lab.ctl, "127.0.0.1", 0, &rules, &err) < 0)
		fail_msg("%s", err.text);
	assert_true(sessions_port(lab.ctl) > 0);
}

static inline void lab_new(void)
{
	static const struct session_limits none;

	lab_new_with(&none, 2);
}

static void lab_free(void)
{
	sessions_free(lab.ctl);
	sessions_free(lab.out);
	worker_pool_free(lab.pool);
	mcred_ops_free(lab.client);
	mcred_ops_free(lab.server);
	mcred_ops_free(lab.agent);
	fake_munge_free(lab.client_host);
	fake_munge_free(lab.server_host);
	event_base_free(lab.base);
}

/* Run the loop until the condition holds. */
#define UNTIL(cond)                                             \
	do {                                                    \
		while (!(cond))                                 \
			event_base_loop(lab.base, EVLOOP_ONCE); \
	} while (0)

/* Everything that is due now, without waiting for more. */
static inline void lab_turn(void)
{
	event_base_loop(lab.base, EVLOOP_NONBLOCK);
}

static inline void lab_wake(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	*(bool *)arg = true;
}

/* Run the loop for `ms`: for what must not happen, not for what must. */
static inline void lab_run_ms(long ms)
{
	struct timeval tv = { ms / 1000, ms % 1000 * 1000 };
	bool over = false;

	event_base_once(lab.base, -1, EV_TIMEOUT, lab_wake, &over, &tv);
	UNTIL(over);
}

/* --- blocking clients
 * ------------------------------------------------------------------------------- */

struct lab_thread {
	void (*fn)(void *arg);
	void *arg;
	int fd;
};

static inline void *lab_thread_main(void *arg)
{
	struct lab_thread *t = arg;

	t->fn(t->arg);
	assert_int_equal(write(t->fd, "", 1), 1);
	return NULL;
}

/* Run fn in a thread, and the loop until it has returned. fn must not use cmocka's asserts. */
static inline void lab_client(void (*fn)(void *arg), void *arg)
{
	struct lab_thread t = { fn, arg, -1 };
	bool over = false;
	pthread_t thread;
	int p[2];

	assert_int_equal(pipe(p), 0);
	t.fd = p[1];
	event_base_once(lab.base, p[0], EV_READ, lab_wake, &over, NULL);
	assert_int_equal(pthread_create(&thread, NULL, lab_thread_main, &t), 0);
	UNTIL(over);
	pthread_join(thread, NULL);
	close(p[0]);
	close(p[1]);
}

static inline struct dial_to lab_dial_to(void)
{
	return (struct dial_to){ .host = "127.0.0.1",
		.port = sessions_port(lab.ctl),
		.cluster = "c1",
		.server_uid = CTL_UID,
		.mcred = lab.client,
		.timeout_ms = 20000 };
}

#endif
