/* test_session.c - sessions on a loop: identity, limits, flow, ends */
#include <errno.h>

#include "testsuite/unit/lab.h"

/* --- helpers
 * ------------------------------------------------------------------------------------------ */

static void lab_credential(
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

static uint64_t dial_agent(const char *node)
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
static struct session *connected(const char *node, struct session **c)
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

static void raw_connect(struct raw *r)
{
	struct sockaddr_in sa = { .sin_family = AF_INET,
		.sin_port = htons((uint16_t)sessions_port(lab.ctl)),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };

	memset(r, 0, sizeof(*r));
	r->fd = socket(AF_INET, SOCK_STREAM, 0);
	assert_int_equal(connect(r->fd, (struct sockaddr *)&sa, sizeof(sa)), 0);
}

static void raw_greeting(struct raw *r)
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

static void raw_send(struct raw *r, const void *p, size_t len)
{
	assert_int_equal(send(r->fd, p, len, MSG_NOSIGNAL), len);
}

/* The next `len` bytes of the server, with the loop running meanwhile; how many came. */
static size_t raw_recv(struct raw *r, void *p, size_t len)
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
static unsigned raw_refusal(struct raw *r)
{
	uint8_t b[13];

	assert_int_equal(raw_recv(r, b, sizeof(b)), 12);
	assert_memory_equal(b, "GPUSCHED", 8);
	assert_int_equal(get_u16(b + 10), 0);
	return get_u16(b + 8);
}

/* The server's answer, as far as we can read it. */
static int raw_answer(struct raw *r)
{
	uint8_t answer[HELLO_ANSWER_MAX];
	size_t used;

	assert_int_equal(raw_recv(r, answer, sizeof(answer)), sizeof(answer));
	return hello_answer(r->hello, "x", answer, sizeof(answer), &used, &r->noise, NULL);
}

/* The greeting is sent: the rest of the handshake. */
static void raw_finish(struct raw *r)
{
	uint8_t confirm[HELLO_CONFIRM_LEN];
	int was = lab.s.opened;

	assert_int_equal(raw_answer(r), 1);
	assert_int_equal(hello_confirm(r->noise, confirm, NULL), 0);
	raw_send(r, confirm, sizeof(confirm));
	UNTIL(lab.s.opened > was);
}

static void raw_open(struct raw *r)
{
	raw_connect(r);
	raw_greeting(r);
	raw_send(r, r->greeting, r->len);
	raw_finish(r);
}

static void raw_send_frames(struct raw *r, const void *frames, size_t len)
{
	uint8_t *w = malloc(frame_sealed_len(len));

	assert_int_equal(frame_seal(r->noise, frames, len, w, NULL), 0);
	raw_send(r, w, frame_sealed_len(len));
	free(w);
}

static void raw_free(struct raw *r)
{
	if (r->fd >= 0)
		close(r->fd);
	hello_free(r->hello);
	noise_free(r->noise);
}

static void send_heartbeat(struct session *s, uint64_t id)
{
	Gpusched__Heartbeat h = GPUSCHED__HEARTBEAT__INIT;

	assert_int_equal(session_send(s, T(HEARTBEAT), id, &h.base, NULL), 0);
}

/* --- identity and the way in
 * ----------------------------------------------------------------------------- */

static void test_agent(void **state)
{
	Gpusched__Registered reg = GPUSCHED__REGISTERED__INIT;
	struct session *s, *c;

	(void)state;
	lab_new();
	s = connected("n7", &c);
	assert_int_equal(lab.asked_credentials, 1);
	assert_int_equal(session_peer(s)->uid, 0);
	assert_string_equal(session_peer(s)->node, "n7");
	assert_non_null(strstr(session_peer(s)->address, "127.0.0.1:"));
	assert_int_equal(session_peer(c)->uid, CTL_UID);
	send_heartbeat(c, 0);
	UNTIL(lab.s.frames == 1);
	assert_int_equal(lab.s.last_type, T(HEARTBEAT));
	reg.epoch = 7;
	assert_int_equal(session_send(s, T(REGISTERED), 0, &reg.base, NULL), 0);
	UNTIL(lab.c.frames == 1);
	assert_int_equal(lab.c.last_type, T(REGISTERED));
	session_close(c);
	UNTIL(lab.s.closed == 1);
	assert_int_equal(lab.c.closed, 0); /* whoever closes is not told */
	assert_int_equal(lab.s.why.code, ERR_UNREACHABLE);
	lab_free();
}

/* The credential may also be made by the set's own munge, in a worker, or later. */
static void test_credential_ways(void **state)
{
	struct session_to to = { "127.0.0.1", 0, { "controller", "c1", "n1" }, CTL_UID, NULL };

	(void)state;
	lab_new();
	to.port = sessions_port(lab.ctl);
	assert_true(session_dial(lab.out, &to, NULL) != 0);
	UNTIL(lab.c.opened == 1 && lab.s.opened == 1);
	assert_int_equal(lab.s.peer.uid, 0);
	fake_munge_set_down(lab.client_host, true);
	assert_true(session_dial(lab.out, &to, NULL) != 0);
	UNTIL(lab.c.closed == 1);
	assert_int_equal(lab.c.why.code, ERR_MUNGE_DOWN);
	dial_agent("n1");
	UNTIL(lab.c.closed == 2);
	assert_int_equal(lab.c.why.code, ERR_MUNGE_DOWN);
	lab_free();
}

static void test_refusals(void **state)
{
	enum { KEY, CLOCK, DOWN, CLUSTER, ADMIT, RESTRICTION, AES };
	static const struct {
		int wrong, want;
	} rows[] = {
		{ KEY, ERR_MUNGE_KEY },
		{ CLOCK, ERR_MUNGE_CLOCK },
		{ DOWN, ERR_MUNGE_DOWN },
		{ CLUSTER, ERR_CLUSTER },
		{ ADMIT, ERR_NO_NODE },
		{ RESTRICTION, ERR_AUTH },
		{ AES, ERR_AUTH },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct hello_rules other = { "controller", "c2", NULL, CTL_UID };
		struct fake_munge *elsewhere = fake_munge_new(2);
		int wrong = rows[i].wrong;

		lab_new();
		if (wrong == KEY) {
			mcred_ops_free(lab.agent);
			lab.agent = fake_munge_client(elsewhere, 0, 0);
		}
		if (wrong == CLOCK)
			fake_munge_set_time(lab.client_host, 1000000 - 400);
		fake_munge_set_down(lab.server_host, wrong == DOWN);
		if (wrong == CLUSTER)
			assert_int_equal(sessions_set_rules(lab.ctl, &other, NULL), 0);
		if (wrong == ADMIT)
			lab.s.refuse_with = ERR_NO_NODE;
		if (wrong == RESTRICTION)
			fake_munge_set_restriction(lab.client_host, true, MCRED_ANY_UID);
		fake_munge_set_aes256(lab.client_host, wrong != AES);
		dial_agent("n7");
		UNTIL(lab.c.closed == 1 && lab.s.refused == 1);
		if (lab.c.why.code != rows[i].want || lab.s.why.code != rows[i].want)
			fail_msg("row %zu: %d %s / %d %s", i, lab.c.why.code, lab.c.why.text,
			        lab.s.why.code, lab.s.why.text);
		assert_int_equal(lab.s.opened + lab.c.opened, 0);
		lab_free();
		fake_munge_free(elsewhere);
	}
}

static void test_unreachable(void **state)
{
	struct session_to to = { "127.0.0.1", 1, { "controller", "c1", "n" }, CTL_UID, NULL };

	(void)state;
	lab_new();
	assert_true(session_dial(lab.out, &to, NULL) != 0);
	UNTIL(lab.c.closed == 1);
	assert_int_equal(lab.c.why.code, ERR_UNREACHABLE);
	assert_non_null(strstr(lab.c.why.text, "127.0.0.1:1"));
	to.host = "no such host";
	assert_true(session_dial(lab.out, &to, NULL) != 0);
	UNTIL(lab.c.closed == 2);
	assert_int_equal(lab.c.why.code, ERR_UNREACHABLE);
	to.port = 0;
	assert_int_equal(session_dial(lab.out, &to, NULL), 0);
	lab_free();
}

/* A recorded greeting is refused; one that is altered or continued too early as well. */
static void test_raw_greetings(void **state)
{
	struct raw r, again;

	(void)state;
	lab_new();
	raw_open(&r);
	raw_connect(&again);
	raw_send(&again, r.greeting, r.len);
	assert_int_equal(raw_refusal(&again), ERR_MUNGE_REPLAY);
	raw_free(&again);

	raw_connect(&again);
	raw_greeting(&again);
	again.greeting[again.len] = 0;
	raw_send(&again, again.greeting, again.len + 1);
	assert_int_equal(raw_refusal(&again), ERR_PROTOCOL);
	raw_free(&again);

	raw_connect(&again);
	raw_greeting(&again);
	again.greeting[again.len - 1] ^= 1;
	raw_send(&again, again.greeting, again.len);
	assert_int_equal(raw_refusal(&again), ERR_AUTH);
	raw_free(&again);

	raw_connect(&again);
	raw_send(&again, "GET / HTTP/1.1\r\n\r\n", 18);
	assert_int_equal(raw_refusal(&again), ERR_PROTOCOL);
	raw_free(&again);

	/* byte by byte is fine */
	raw_connect(&again);
	raw_greeting(&again);
	for (size_t i = 0; i < again.len; i++) {
		raw_send(&again, again.greeting + i, 1);
		lab_turn();
	}
	raw_finish(&again);
	raw_free(&again);
	raw_free(&r);
	lab_free();
}

/* munge was restarted and forgot what it had seen, or it is another host's: the recording is
 * answered, and that is all. */
static void test_recording(void **state)
{
	struct session_limits l = { .handshake_ms = 100 };
	uint8_t confirm[HELLO_CONFIRM_LEN] = { 0, 16 };
	struct raw r, again;

	(void)state;
	lab_new_with(&l, 2);
	raw_open(&r);
	fake_munge_forget(lab.server_host);
	raw_connect(&again);
	raw_greeting(&again);
	raw_send(&again, r.greeting, r.len);
	assert_int_equal(raw_answer(&again), -1); /* we do not know its secret */
	UNTIL(lab.s.refused == 1);                /* silence */
	assert_int_equal(lab.s.why.code, ERR_TIMEOUT);
	raw_free(&again);

	fake_munge_forget(lab.server_host);
	raw_connect(&again);
	raw_greeting(&again);
	raw_send(&again, r.greeting, r.len);
	assert_int_equal(raw_answer(&again), -1);
	raw_send(&again, confirm, sizeof(confirm));
	UNTIL(lab.s.refused == 2);
	assert_int_equal(lab.s.why.code, ERR_AUTH);
	raw_free(&again);
	assert_int_equal(lab.s.opened, 1);
	raw_free(&r);
	lab_free();
}

/* After the greeting: garbage, the wrong side's messages and cut streams end that session alone. */
static void test_raw_frames(void **state)
{
	uint8_t h[FRAME_HEADER_LEN];
	struct raw r, fine;

	(void)state;
	lab_new();
	raw_open(&fine);

	raw_open(&r);
	raw_send(&r,
	        "\0\x14"
	        "01234567890123456789",
	        22);
	UNTIL(lab.s.closed == 1);
	assert_int_equal(lab.s.why.code, ERR_PROTOCOL);
	raw_free(&r);

	raw_open(&r);
	frame_put_header(h, T(REGISTER), 0, 0); /* a user is no agent */
	raw_send_frames(&r, h, sizeof(h));
	UNTIL(lab.s.closed == 2);
	assert_int_equal(lab.s.why.code, ERR_PROTOCOL);
	raw_free(&r);

	raw_open(&r);
	frame_put_header(h, T(PING), 0, 10); /* and no body */
	raw_send_frames(&r, h, sizeof(h));
	raw_free(&r);
	UNTIL(lab.s.closed == 3);
	assert_int_equal(lab.s.why.code, ERR_PROTOCOL);

	frame_put_header(h, T(PING), 5, 0);
	raw_send_frames(&fine, h, sizeof(h));
	UNTIL(lab.s.frames == 1);
	assert_int_equal(lab.s.last_id, 5);
	raw_free(&fine);
	lab_free();
}

/* --- limits
 * --------------------------------------------------------------------------------------------- */

static void test_slow_greeting(void **state)
{
	struct session_limits l = { .handshake_ms = 50 };
	struct raw r;

	(void)state;
	lab_new_with(&l, 2);
	raw_connect(&r);
	raw_greeting(&r);
	raw_send(&r, r.greeting, 40);
	assert_int_equal(raw_refusal(&r), ERR_TIMEOUT);
	assert_int_equal(lab.s.refused, 1);
	raw_free(&r);
	lab_free();
}

/* munge hangs: greetings time out, and nothing else notices. */
static void test_stalled_munge(void **state)
{
	struct session_limits l = { .handshake_ms = 200 };
	struct session *c;
	struct raw r[5];

	(void)state;
	lab_new_with(&l, 2);
	(void)connected("n1", &c);
	fake_munge_set_stalled(lab.server_host, true, 60000);
	for (int i = 0; i < 5; i++) {
		raw_connect(&r[i]);
		raw_greeting(&r[i]);
		raw_send(&r[i], r[i].greeting, r[i].len);
	}
	for (int i = 1; i <= 20; i++) {
		send_heartbeat(c, (uint64_t)i);
		UNTIL(lab.s.frames == i);
	}
	assert_int_equal(lab.s.opened, 1);
	for (int i = 0; i < 5; i++) {
		assert_int_equal(raw_refusal(&r[i]), ERR_TIMEOUT);
		raw_free(&r[i]);
	}
	send_heartbeat(c, 21);
	UNTIL(lab.s.frames == 21);
	fake_munge_set_stalled(lab.server_host, false, 0);
	connected("n2", NULL); /* and all is well again */
	lab_free();
}

/* Connections that say nothing do not keep others out: the oldest goes. */
static void test_pushed_out(void **state)
{
	struct session_limits l = { .max_unauth = 8, .max_unauth_per_address = 4, .silent_ms = 20 };
	struct session_stats st;
	struct raw r[6];

	(void)state;
	lab_new_with(&l, 2);
	for (int i = 0; i < 6; i++) {
		raw_connect(&r[i]);
		UNTIL((sessions_stats(lab.ctl, &st), st.accepted == (uint64_t)i + 1));
		lab_run_ms(30);
	}
	assert_int_equal(st.unauth, 4);
	assert_int_equal(st.pushed_out, 2);
	assert_int_equal(lab.s.why.code, ERR_BUSY);
	connected("n1", NULL);
	for (int i = 0; i < 6; i++)
		raw_free(&r[i]);
	lab_free();
}

/* All agents come back at once: nobody who waits for munge is thrown out for the next. */
static void test_storm(void **state)
{
	struct session_limits l = { .max_unauth = 4, .silent_ms = 60000 };
	struct session_stats st;

	(void)state;
	lab_new_with(&l, 2);
	fake_munge_set_stalled(lab.server_host, true, 60000);
	for (int i = 0; i < 100; i++)
		dial_agent("n1");
	UNTIL((sessions_stats(lab.ctl, &st), st.unauth == 4));
	lab_run_ms(20);
	sessions_stats(lab.ctl, &st);
	assert_int_equal(st.accepted, 4); /* the others wait in the kernel */
	fake_munge_set_stalled(lab.server_host, false, 0);
	UNTIL(lab.s.opened == 100 && lab.c.opened == 100);
	sessions_stats(lab.ctl, &st);
	assert_int_equal(st.pushed_out, 0);
	assert_int_equal(st.refused, 0);
	lab_free();
}

/* One address alone cannot fill the queue to munge. */
static void test_storm_of_one(void **state)
{
	struct session_limits l = { .max_unauth_per_address = 3 };
	struct raw r[4];

	(void)state;
	lab_new_with(&l, 2);
	fake_munge_set_stalled(lab.server_host, true, 60000);
	for (int i = 0; i < 4; i++) {
		raw_connect(&r[i]);
		raw_greeting(&r[i]);
		if (i < 3)
			raw_send(&r[i], r[i].greeting, r[i].len);
		lab_run_ms(5);
	}
	assert_int_equal(raw_refusal(&r[3]), ERR_BUSY);
	assert_int_equal(lab.s.refused, 1);
	fake_munge_set_stalled(lab.server_host, false, 0);
	for (int i = 0; i < 3; i++)
		raw_finish(&r[i]);
	for (int i = 0; i < 4; i++)
		raw_free(&r[i]);
	lab_free();
}

static void test_max_sessions(void **state)
{
	struct session_limits l = { .max_sessions = 3, .max_per_uid = 2 };
	struct raw r[4];

	(void)state;
	lab_new_with(&l, 2);
	raw_open(&r[0]);
	raw_open(&r[1]);
	raw_connect(&r[2]); /* a third of the same user */
	raw_greeting(&r[2]);
	raw_send(&r[2], r[2].greeting, r[2].len);
	assert_int_equal(raw_refusal(&r[2]), ERR_BUSY);
	raw_free(&r[2]);
	connected("n1", NULL); /* agents do not count there */
	raw_connect(&r[3]);    /* but here */
	assert_int_equal(raw_refusal(&r[3]), ERR_BUSY);
	raw_free(&r[3]);
	raw_free(&r[0]);
	raw_free(&r[1]);
	UNTIL(lab.s.closed == 2);
	raw_open(&r[0]); /* room again */
	raw_free(&r[0]);
	lab_free();
}

static void test_slow_frame(void **state)
{
	struct session_limits l = { .frame_ms = 50 };
	uint8_t h[FRAME_HEADER_LEN];
	struct raw r, idle;

	(void)state;
	lab_new_with(&l, 2);
	raw_open(&idle);
	raw_open(&r);
	frame_put_header(h, T(PING), 1, 0);
	raw_send_frames(&r, h, sizeof(h));
	UNTIL(lab.s.frames == 1);
	frame_put_header(h, T(PING), 1, 5);
	raw_send_frames(&r, h, sizeof(h));
	UNTIL(lab.s.closed == 1);
	assert_int_equal(lab.s.why.code, ERR_TIMEOUT);
	raw_free(&r);

	raw_open(&r); /* half a Noise message */
	raw_send(&r, "\x10", 1);
	UNTIL(lab.s.closed == 2);
	assert_int_equal(lab.s.why.code, ERR_TIMEOUT);
	raw_free(&r);
	frame_put_header(h, T(PING), 2, 0);
	raw_send_frames(&idle, h, sizeof(h)); /* silence between frames is fine */
	UNTIL(lab.s.frames == 2);
	raw_free(&idle);
	lab_free();
}

static void test_idle(void **state)
{
	struct session_limits l = { .idle_ms = 50 };
	struct raw r;

	(void)state;
	lab_new_with(&l, 2);
	raw_open(&r);
	UNTIL(lab.s.closed == 1);
	assert_int_equal(lab.s.why.code, ERR_TIMEOUT);
	raw_free(&r);
	lab_free();
}

/* Halves of large frames cannot fill the memory. */
static void test_max_input(void **state)
{
	struct session_limits l = { .max_input_bytes = 4 * 1024 * 1024 };
	size_t len = FRAME_HEADER_LEN + 600 * 1024;
	uint8_t *half = calloc(1, len);
	struct session_stats st;
	struct raw r[2];

	(void)state;
	lab_new_with(&l, 2);
	frame_put_header(half, T(SUBMIT), 1, 4 * 1024 * 1024);
	raw_open(&r[0]);
	raw_open(&r[1]);
	for (size_t at = 0; at < len; at += 60000) { /* in step: each has some 600 KiB */
		for (int i = 0; i < 2; i++) {
			size_t n = len - at < 60000 ? len - at : 60000;
			uint8_t *w = malloc(frame_sealed_len(n));

			assert_int_equal(frame_seal(r[i].noise, half + at, n, w, NULL), 0);
			(void)!send(r[i].fd, w, frame_sealed_len(n), MSG_NOSIGNAL);
			free(w);
			lab_turn();
		}
	}
	UNTIL(lab.s.closed == 1); /* a quarter of 4 MiB for one uid */
	assert_int_equal(lab.s.why.code, ERR_BUSY);
	UNTIL((sessions_stats(lab.ctl, &st), st.open == 1));
	raw_free(&r[0]);
	raw_free(&r[1]);
	UNTIL(lab.s.closed == 2);
	sessions_stats(lab.ctl, &st);
	assert_int_equal(st.input_held, 0);
	free(half);
	lab_free();
}

/* --- flow
 * -------------------------------------------------------------------------------------------------
 */

/* A peer that does not read: nothing more is read from it, until it does. */
static void test_high_water(void **state)
{
	struct session_limits l = { .output_high = 300000, .output_low = 100000 };
	Gpusched__Registered reg = GPUSCHED__REGISTERED__INIT;
	struct session *s, *c;
	char *big = malloc(60001);
	int sent = 0;

	(void)state;
	lab_new_with(&l, 2);
	memset(big, 'x', 60000);
	big[60000] = '\0';
	reg.cluster = big;
	s = connected("n1", &c);
	session_pause_reading(c, true);
	while (!session_full(s)) {
		assert_int_equal(session_send(s, T(REGISTERED), 0, &reg.base, NULL), 0);
		sent++;
		lab_turn();
		assert_true(sent < 10000);
	}
	assert_true(session_queued(s) > 300000);
	send_heartbeat(c, 1);
	lab_run_ms(50);
	assert_int_equal(lab.s.frames, 0);
	assert_int_equal(lab.s.writable, 0);
	session_pause_reading(c, false);
	UNTIL(lab.c.frames == sent && lab.s.frames == 1);
	assert_int_equal(lab.s.writable, 1);
	assert_false(session_full(s));
	assert_int_equal(session_queued(s), 0);
	free(big);
	lab_free();
}

static void test_output_max(void **state)
{
	struct session_limits l = { .output_high = 100000, .output_max = 400000 };
	Gpusched__Registered reg = GPUSCHED__REGISTERED__INIT;
	struct session *s, *c;
	char *big = malloc(60001);

	(void)state;
	lab_new_with(&l, 2);
	memset(big, 'x', 60000);
	big[60000] = '\0';
	reg.cluster = big;
	s = connected("n1", &c);
	session_pause_reading(c, true);
	while (session_queued(s) <= 400000) {
		assert_int_equal(session_send(s, T(REGISTERED), 0, &reg.base, NULL), 0);
		if (session_queued(s) <= 400000)
			lab_turn();
	}
	assert_int_equal(lab.s.closed, 0); /* not from within session_send() */
	UNTIL(lab.s.closed == 1);
	assert_int_equal(lab.s.why.code, ERR_TIMEOUT);
	free(big);
	lab_free();
}

static void test_pause_all(void **state)
{
	struct session *c[3];

	(void)state;
	lab_new();
	for (int i = 0; i < 3; i++)
		(void)connected("n1", &c[i]);
	sessions_pause_reading(lab.ctl, true);
	for (int i = 0; i < 2; i++)
		for (int k = 0; k < 10; k++)
			send_heartbeat(c[i], (uint64_t)k);
	session_finish(c[1]); /* it says its piece and goes */
	lab_run_ms(50);
	assert_int_equal(lab.s.frames, 0);
	connected("n2", NULL); /* handshakes go on */
	send_heartbeat(c[0], 11);
	lab_run_ms(20);
	assert_int_equal(lab.s.frames, 0);
	assert_int_equal(lab.s.closed, 0);
	sessions_pause_reading(lab.ctl, false);
	UNTIL(lab.s.frames == 21 && lab.s.closed == 1);
	send_heartbeat(c[2], 1);
	send_heartbeat(c[0], 1);
	UNTIL(lab.s.frames == 23);
	lab_free();
}

/* The owner pauses within a frame; what was read already waits. */
static int pause_after;
static void pausing_frame(struct session *s, const struct frame *f, void *arg)
{
	(void)s;
	(void)f;
	(void)arg;
	if (++lab.s.frames == pause_after)
		sessions_pause_reading(lab.ctl, true);
}

static void test_pause_within(void **state)
{
	static struct session_ops ops;
	struct session_config conf;
	struct hello_rules rules = { "controller", "c1", NULL, CTL_UID };
	struct session *c;

	(void)state;
	lab_new();
	sessions_free(lab.ctl);
	ops = lab_ops;
	ops.frame = pausing_frame;
	conf = (struct session_config){ lab.base, lab.pool, lab.server, { 0 }, &ops, &lab.s };
	lab.ctl = sessions_new(&conf, NULL);
	assert_int_equal(sessions_listen(lab.ctl, "127.0.0.1", 0, &rules, NULL), 0);
	(void)connected("n1", &c);
	pause_after = 100;
	for (int k = 0; k < 1000; k++)
		send_heartbeat(c, 1);
	UNTIL(lab.s.frames == 100);
	lab_run_ms(50);
	assert_int_equal(lab.s.frames, 100);
	sessions_pause_reading(lab.ctl, false);
	UNTIL(lab.s.frames == 1000);
	lab_free();
}

/* Many small frames in one go, in order, both ways. */
static void test_many(void **state)
{
	struct session *c, *s;
	struct session_stats st;

	(void)state;
	lab_new();
	s = connected("n1", &c);
	for (int i = 1; i <= 20000; i++)
		send_heartbeat(c, (uint64_t)i);
	UNTIL(lab.s.frames == 20000);
	assert_int_equal(lab.s.last_id, 20000);
	sessions_stats(lab.ctl, &st);
	assert_int_equal(st.frames_in, 20000);
	/* packed frames as bytes */
	for (int i = 1; i <= 100; i++) {
		Gpusched__ForgetRun f = GPUSCHED__FORGET_RUN__INIT;
		uint8_t *bytes;
		size_t len;

		assert_int_equal(
		        msg_pack_frame(T(FORGET_RUN), (uint64_t)i, &f.base, &bytes, &len, NULL), 0);
		assert_int_equal(session_send_bytes(s, bytes, len, NULL), 0);
		free(bytes);
	}
	UNTIL(lab.c.frames == 100);
	assert_int_equal(lab.c.last_id, 100);
	lab_free();
}

/* --- ends
 * ---------------------------------------------------------------------------------------------------
 */

/* What is queued arrives before the end. */
static void test_finish(void **state)
{
	Gpusched__Registered reg = GPUSCHED__REGISTERED__INIT;
	struct session *s, *c;
	char *big = malloc(900001);

	(void)state;
	lab_new();
	memset(big, 'x', 900000);
	big[900000] = '\0';
	reg.cluster = big;
	s = connected("n1", &c);
	for (int i = 0; i < 20; i++)
		assert_int_equal(session_send(s, T(REGISTERED), 0, &reg.base, NULL), 0);
	session_finish(s);
	assert_int_equal(session_send(s, T(REGISTERED), 0, &reg.base, NULL), -1);
	UNTIL(lab.c.closed == 1);
	assert_int_equal(lab.c.frames, 20);
	assert_int_equal(lab.s.closed, 0);
	free(big);
	lab_free();
}

static void test_close_in_callbacks(void **state)
{
	struct session *c, *s;
	uint64_t n;

	(void)state;
	lab_new();
	lab.s.close_on = ON_OPEN;
	n = dial_agent("n1");
	UNTIL(lab.c.closed == 1);
	assert_null(session_find(lab.out, n));
	lab.s.close_on = ON_FRAME;
	s = connected("n1", &c);
	n = session_number(s);
	assert_ptr_equal(session_find(lab.ctl, n), s);
	for (int i = 0; i < 100; i++)
		send_heartbeat(c, 1);
	UNTIL(lab.c.closed == 2);
	assert_int_equal(lab.s.frames, 1);
	assert_null(session_find(lab.ctl, n));
	lab.s.close_on = NOTHING;
	s = connected("n1", &c);
	assert_true(session_number(s) != n);
	assert_null(session_find(lab.ctl, n));
	lab.c.close_on = ON_OPEN;
	dial_agent("n2");
	UNTIL(lab.s.closed == 1);
	lab_free();
}

static void close_it(struct session *s, void *arg)
{
	(void)arg;
	session_close(s);
}

static void test_each(void **state)
{
	struct session_stats st;

	(void)state;
	lab_new();
	for (int i = 0; i < 5; i++)
		(void)connected("n1", NULL);
	sessions_each(lab.ctl, close_it, NULL);
	sessions_stats(lab.ctl, &st);
	assert_int_equal(st.open, 0);
	UNTIL(lab.c.closed == 5);
	lab_free();
}

/* Freed at any time, with everything under way. */
static void test_free_any_time(void **state)
{
	(void)state;
	for (int turns = 0; turns < 30; turns++) {
		struct raw r;

		lab_new();
		raw_connect(&r);
		raw_greeting(&r);
		raw_send(&r, r.greeting, r.len);
		dial_agent("n1");
		dial_agent("n2");
		for (int i = 0; i < turns; i++)
			lab_turn();
		if (turns % 2)
			lab_run_ms(turns / 4);
		raw_free(&r);
		lab_free();
	}
	sessions_free(NULL);
}

static void test_listen(void **state)
{
	static const struct {
		const char *address;
		int want;
	} rows[] = { { "", 0 }, { "127.0.0.1", 0 }, { "localhost", -1 }, { "300.0.0.1", -1 } };
	struct hello_rules rules = { "controller", "c1", NULL, CTL_UID };
	struct error err = { 0 };

	(void)state;
	lab_new();
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_int_equal(
		        sessions_listen(lab.ctl, rows[i].address, 0, &rules, &err), rows[i].want);
	/* the port is taken */
	assert_int_equal(
	        sessions_listen(lab.out, "127.0.0.1", sessions_port(lab.ctl), &rules, &err), -1);
	assert_int_equal(err.code, ERR_SYSTEM);
	lab_free();
}

#define DEADLINE_S 120 /* SIGALRM ends a test that hangs */

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_agent),
		cmocka_unit_test(test_credential_ways),
		cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_unreachable),
		cmocka_unit_test(test_raw_greetings),
		cmocka_unit_test(test_recording),
		cmocka_unit_test(test_raw_frames),
		cmocka_unit_test(test_slow_greeting),
		cmocka_unit_test(test_stalled_munge),
		cmocka_unit_test(test_pushed_out),
		cmocka_unit_test(test_storm),
		cmocka_unit_test(test_storm_of_one),
		cmocka_unit_test(test_max_sessions),
		cmocka_unit_test(test_slow_frame),
		cmocka_unit_test(test_idle),
		cmocka_unit_test(test_max_input),
		cmocka_unit_test(test_high_water),
		cmocka_unit_test(test_output_max),
		cmocka_unit_test(test_pause_all),
		cmocka_unit_test(test_pause_within),
		cmocka_unit_test(test_many),
		cmocka_unit_test(test_finish),
		cmocka_unit_test(test_close_in_callbacks),
		cmocka_unit_test(test_each),
		cmocka_unit_test(test_free_any_time),
		cmocka_unit_test(test_listen),
	};

	alarm(DEADLINE_S);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
