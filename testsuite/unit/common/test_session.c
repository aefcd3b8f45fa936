/* test_session.c - sessions on a loop: identity, flow, ends */
#include "testsuite/unit/lib/lab_session.h"

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
	struct session_limits l = { .handshake_ms = 1000 };
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
	lab_run_ms(50);
	session_close(c[1]); /* it has said its piece */
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
		        frame_pack(T(FORGET_RUN), (uint64_t)i, &f.base, &bytes, &len, NULL), 0);
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
		cmocka_unit_test(test_high_water),
		cmocka_unit_test(test_output_max),
		cmocka_unit_test(test_pause_all),
		cmocka_unit_test(test_pause_within),
		cmocka_unit_test(test_many),
		cmocka_unit_test(test_close_in_callbacks),
		cmocka_unit_test(test_each),
		cmocka_unit_test(test_free_any_time),
		cmocka_unit_test(test_listen),
	};

	alarm(DEADLINE_S);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
