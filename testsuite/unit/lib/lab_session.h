/* lab_session.h - sessions in the laboratory (lab.h): dialled as ours are, or made by hand
 *
 * For test_session and test_session_limits.
 */
#ifndef UNIT_LAB_SESSION_H
#define UNIT_LAB_SESSION_H

#include <errno.h>

#include "testsuite/unit/lib/lab.h"

#define DEADLINE_S 120 /* SIGALRM ends a test that hangs */

static inline void lab_credential(
        struct session *s, const void *payload, size_t len, uid_t server_uid, void *arg)
{
	struct error err = { 0 };
	char *cred = NULL;

	(void)arg;
	lab.asked_credentials++;
	if (lab.agent->encode(lab.agent, payload, len, server_uid, &cred, &err) < 0)
		session_credential(s, NULL, &err);
	else
		session_credential(s, cred, NULL);
	free(cred);
}

static inline uint64_t dial_agent(const char *node)
{
	struct session_to to = { "127.0.0.1", sessions_port(lab.ctl), { "controller", "c1", node },
		CTL_UID, lab_credential };
	struct error err = { 0 };
	uint64_t n = session_dial(lab.out, &to, &err);

	if (!n)
		fail_msg("%s", err.text);
	return n;
}

/* Both ends of a new session, the dialling one in *c. */
static inline struct session *connected(const char *node, struct session **c)
{
	int was = lab.s.opened;
	uint64_t n = dial_agent(node);

	UNTIL(lab.s.opened > was && session_find(lab.out, n) &&
	        session_is_open(session_find(lab.out, n)));
	if (c)
		*c = session_find(lab.out, n);
	return session_find(lab.ctl, lab.s.last);
}

/* A client made by hand, to send what none of ours would. */
struct raw {
	int fd;
	struct hello *hello;
	struct noise *noise;
	uint8_t greeting[HELLO_MAX];
	size_t len;
};

static inline void raw_connect(struct raw *r)
{
	struct sockaddr_in sa = { .sin_family = AF_INET,
		.sin_port = htons((uint16_t)sessions_port(lab.ctl)),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };

	memset(r, 0, sizeof(*r));
	r->fd = socket(AF_INET, SOCK_STREAM, 0);
	assert_int_equal(connect(r->fd, (struct sockaddr *)&sa, sizeof(sa)), 0);
}

static inline void raw_greeting(struct raw *r)
{
	struct hello_to to = { "controller", "c1", NULL };
	const uint8_t *p;
	size_t len;
	char *cred;

	r->hello = hello_new(&to, NULL);
	p = hello_payload(r->hello, &len);
	assert_int_equal(lab.client->encode(lab.client, p, len, CTL_UID, &cred, NULL), 0);
	assert_int_equal(hello_finish(r->hello, cred, &p, &len, NULL), 0);
	memcpy(r->greeting, p, len);
	r->len = len;
	free(cred);
}

static inline void raw_send(struct raw *r, const void *p, size_t len)
{
	assert_int_equal(send(r->fd, p, len, MSG_NOSIGNAL), len);
}

/* The next `len` bytes of the server, with the loop running meanwhile; how many came. */
static inline size_t raw_recv(struct raw *r, void *p, size_t len)
{
	size_t have = 0;

	while (have < len) {
		ssize_t n = recv(r->fd, (uint8_t *)p + have, len - have, MSG_DONTWAIT);

		if (n == 0 || (n < 0 && errno != EAGAIN))
			break;
		if (n < 0)
			event_base_loop(lab.base, EVLOOP_NONBLOCK);
		else
			have += (size_t)n;
	}
	return have;
}

/* The refusal code that comes back. */
static inline unsigned raw_refusal(struct raw *r)
{
	uint8_t b[13];

	assert_int_equal(raw_recv(r, b, sizeof(b)), 12);
	assert_memory_equal(b, "GPUSCHED", 8);
	assert_int_equal(get_u16(b + 10), 0);
	return get_u16(b + 8);
}

/* The server's answer, as far as we can read it. */
static inline int raw_answer(struct raw *r)
{
	uint8_t answer[HELLO_ANSWER_MAX];
	size_t used;

	assert_int_equal(raw_recv(r, answer, sizeof(answer)), sizeof(answer));
	return hello_answer(r->hello, "x", answer, sizeof(answer), &used, &r->noise, NULL);
}

/* The greeting is sent: the rest of the handshake. */
static inline void raw_finish(struct raw *r)
{
	uint8_t confirm[HELLO_CONFIRM_LEN];
	int was = lab.s.opened;

	assert_int_equal(raw_answer(r), 1);
	assert_int_equal(hello_confirm(r->noise, confirm, NULL), 0);
	raw_send(r, confirm, sizeof(confirm));
	UNTIL(lab.s.opened > was);
}

static inline void raw_open(struct raw *r)
{
	raw_connect(r);
	raw_greeting(r);
	raw_send(r, r->greeting, r->len);
	raw_finish(r);
}

static inline void raw_send_frames(struct raw *r, const void *frames, size_t len)
{
	uint8_t *w = malloc(frame_sealed_len(len));

	assert_int_equal(frame_seal(r->noise, frames, len, w, NULL), 0);
	raw_send(r, w, frame_sealed_len(len));
	free(w);
}

static inline void raw_free(struct raw *r)
{
	if (r->fd >= 0)
		close(r->fd);
	hello_free(r->hello);
	noise_free(r->noise);
}

static inline void send_heartbeat(struct session *s, uint64_t id)
{
	Gpusched__Heartbeat h = GPUSCHED__HEARTBEAT__INIT;

	assert_int_equal(session_send(s, T(HEARTBEAT), id, &h.base, NULL), 0);
}

#endif
