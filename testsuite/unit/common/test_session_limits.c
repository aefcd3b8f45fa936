/* test_session_limits.c - sessions on a loop: what one peer, or many, can take */
#include "testsuite/unit/lib/lab_session.h"

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

/* So many bytes of a frame of `of`. */
static void send_part(struct raw *r, size_t bytes, size_t of)
{
	size_t len = FRAME_HEADER_LEN + bytes;
	uint8_t *half = calloc(1, len);

	frame_put_header(half, T(SUBMIT), 1, (uint32_t)of);
	for (size_t at = 0; at < len; at += 60000) {
		size_t n = len - at < 60000 ? len - at : 60000;
		uint8_t *w = malloc(frame_sealed_len(n));

		assert_int_equal(frame_seal(r->noise, half + at, n, w, NULL), 0);
		(void)!send(r->fd, w, frame_sealed_len(n), MSG_NOSIGNAL);
		free(w);
		lab_turn();
	}
	free(half);
}

/* Halves of large frames cannot fill the memory: all together, and as the owner says. */
static void test_max_input(void **state)
{
	struct session_limits l = { .max_input_bytes = 1024 * 1024 };
	struct session_stats st;
	struct raw r[2];

	(void)state;
	lab_new_with(&l, 2);
	raw_open(&r[0]);
	raw_open(&r[1]);
	send_part(&r[0], 600 * 1024, 4 << 20);
	UNTIL(lab.s.held > 600 * 1024);
	assert_int_equal(lab.s.closed, 0);
	send_part(&r[1], 600 * 1024, 4 << 20);
	UNTIL(lab.s.closed == 1);
	assert_int_equal(lab.s.why.code, ERR_BUSY);
	raw_free(&r[1]);
	lab.s.holds_max = 650 * 1024;
	send_part(&r[0], 100 * 1024, 4 << 20);
	UNTIL(lab.s.closed == 2);
	assert_string_equal(lab.s.why.text, "the test takes no more");
	raw_free(&r[0]);
	sessions_stats(lab.ctl, &st);
	assert_int_equal(st.input_held, 0);
	lab_free();
}

/* What was held is given back when the frame is whole, also if nothing comes behind it. */
static void test_input_is_given_back(void **state)
{
	struct session_limits l = { 0 };
	struct raw r;

	(void)state;
	lab_new_with(&l, 2);
	raw_open(&r);
	send_part(&r, 1 << 20, 1 << 20);
	UNTIL(lab.s.frames == 1);
	UNTIL(lab.s.held == 0);
	raw_free(&r);
	lab_free();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_slow_greeting),
		cmocka_unit_test(test_stalled_munge),
		cmocka_unit_test(test_pushed_out),
		cmocka_unit_test(test_storm),
		cmocka_unit_test(test_storm_of_one),
		cmocka_unit_test(test_slow_frame),
		cmocka_unit_test(test_idle),
		cmocka_unit_test(test_max_input),
		cmocka_unit_test(test_input_is_given_back),
	};

	alarm(DEADLINE_S);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
