/* test_stream_relay.c - noded/net/stream_relay.h: bounds and ends of streams, with the test as
 * everybody else */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <event2/event.h>
#include <cmocka.h>

#include "common/gpusched.pb-c.h"
#include "common/net/channel.h"
#include "noded/net/stream_relay.h"

#define T(name) GPUSCHED__MSG_TYPE__MSG_##name

struct world {
	struct event_base *base;
	struct relay *relay;
	bool full;
	size_t data, credit, asked; /* bytes and numbers sent */
	unsigned closed, code;      /* times; the last one's */
};

static void on_send(void *arg, unsigned type, const ProtobufCMessage *m)
{
	struct world *w = arg;

	if (type == T(STREAM_DATA)) {
		w->data += ((const Gpusched__StreamData *)m)->data.len;
		assert_true(((const Gpusched__StreamData *)m)->data.len <= STREAM_CHUNK_MAX);
	} else if (type == T(STREAM_CREDIT)) {
		w->credit += ((const Gpusched__StreamCredit *)m)->bytes;
	} else {
		assert_int_equal(type, T(STREAM_CLOSE));
		w->closed++;
		w->code = ((const Gpusched__StreamClose *)m)->code;
	}
}

static bool on_full(void *arg)
{
	return ((struct world *)arg)->full;
}

static void on_ask(void *arg, unsigned type, const ProtobufCMessage *m)
{
	(void)m;
	assert_int_equal(type, T(LAUNCHER_STREAM));
	((struct world *)arg)->asked++;
}

static const struct relay_ops ops = { .send = on_send, .full = on_full, .ask = on_ask };

static int make(void **state)
{
	struct world *w = calloc(1, sizeof(*w));

	w->base = event_base_new();
	w->relay = relay_new(w->base, &ops, w);
	*state = w;
	return 0;
}

static int unmake(void **state)
{
	struct world *w = *state;

	relay_free(w->relay);
	event_base_free(w->base);
	free(w);
	return 0;
}

static void turn(struct world *w)
{
	for (int i = 0; i < 50; i++)
		event_base_loop(w->base, EVLOOP_NONBLOCK);
}

static void open_stream(struct world *w, uint64_t n)
{
	Gpusched__StreamOpen m = GPUSCHED__STREAM_OPEN__INIT;

	m.stream = n;
	relay_message(w->relay, T(STREAM_OPEN), &m.base);
}

/* Returns gtap's end. */
static int grant(struct world *w, uint64_t n)
{
	int pair[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
	relay_granted(w->relay, n, pair[0]);
	return pair[1];
}

static void data(struct world *w, uint64_t n, size_t len)
{
	static uint8_t zeros[STREAM_WINDOW + 1];
	Gpusched__StreamData m = GPUSCHED__STREAM_DATA__INIT;

	m.stream = n;
	m.data.data = zeros;
	m.data.len = len;
	relay_message(w->relay, T(STREAM_DATA), &m.base);
}

static void credit(struct world *w, uint64_t n, uint32_t bytes)
{
	Gpusched__StreamCredit m = GPUSCHED__STREAM_CREDIT__INIT;

	m.stream = n;
	m.bytes = bytes;
	relay_message(w->relay, T(STREAM_CREDIT), &m.base);
}

static void close_stream(struct world *w, uint64_t n)
{
	Gpusched__StreamClose m = GPUSCHED__STREAM_CLOSE__INIT;

	m.stream = n;
	relay_message(w->relay, T(STREAM_CLOSE), &m.base);
}

static size_t read_all(int fd)
{
	uint8_t b[4096];
	size_t n = 0;
	ssize_t got;

	while ((got = read(fd, b, sizeof(b))) > 0)
		n += (size_t)got;
	return n;
}

static size_t write_all(int fd, size_t max)
{
	static uint8_t b[4096];
	size_t n = 0;
	ssize_t put;

	while (n < max && (put = write(fd, b, sizeof(b))) > 0)
		n += (size_t)put;
	return n;
}

static void test_bytes_from_before_the_grant_arrive(void **state)
{
	struct world *w = *state;
	int tap;

	open_stream(w, 5);
	assert_int_equal(w->asked, 1);
	data(w, 5, 1000);
	data(w, 5, 24);
	tap = grant(w, 5);
	turn(w);
	assert_int_equal(read_all(tap), 1024);
	assert_int_equal(w->credit, 1024);
	close(tap);
	turn(w);
	assert_int_equal(w->closed, 1);
	assert_int_equal(w->code, 0);
	assert_int_equal(relay_count(w->relay), 0);
}

static void test_last_words_arrive(void **state)
{
	struct world *w = *state;
	int tap;

	open_stream(w, 5);
	tap = grant(w, 5);
	turn(w);
	data(w, 5, 1000);
	close_stream(w, 5);
	assert_int_equal(relay_count(w->relay), 0);
	assert_int_equal(read_all(tap), 1000);
	turn(w);
	assert_int_equal(read(tap, &(char){ 0 }, 1), 0); /* and then the end */
	close(tap);
}

static void test_no_more_than_the_window_is_held(void **state)
{
	struct world *w = *state;

	open_stream(w, 1); /* never granted */
	data(w, 1, STREAM_WINDOW);
	assert_int_equal(w->closed, 0);
	data(w, 1, 1);
	assert_int_equal(w->closed, 1);
	assert_int_equal(w->code, ERR_PROTOCOL);
	open_stream(w, 2);
	credit(w, 2, 1);
	assert_int_equal(w->closed, 2);
	assert_int_equal(relay_count(w->relay), 0);
	data(w, 2, 1); /* of streams that there are not: nothing */
	credit(w, 2, 1);
	close_stream(w, 2);
}

static void test_without_credit_nothing_is_sent(void **state)
{
	struct world *w = *state;
	size_t wrote, first;
	int tap;

	open_stream(w, 1);
	tap = grant(w, 1);
	wrote = 0;
	for (int i = 0; i < 20; i++) {
		wrote += write_all(tap, 1 << 20);
		turn(w);
	}
	assert_int_equal(w->data, STREAM_WINDOW);
	assert_true(wrote < 4u << 20); /* the rest waits in gtap */
	first = w->data;
	credit(w, 1, 100);
	turn(w);
	assert_int_equal(w->data, first + 100);
	w->full = true; /* the link */
	credit(w, 1, 1000);
	turn(w);
	assert_int_equal(w->data, first + 100);
	w->full = false;
	relay_room(w->relay);
	assert_int_equal(w->data, first + 1100);
	/* gtap ends: what it has written still goes out, then the end */
	close(tap);
	while (w->closed == 0) {
		size_t before = w->data;

		credit(w, 1, STREAM_WINDOW / 2);
		turn(w);
		assert_true(w->data > before || w->closed);
	}
	assert_int_equal(w->data, wrote);
	assert_int_equal(w->code, 0);
}

static void test_a_slow_one_holds_up_no_other(void **state)
{
	struct world *w = *state;
	int slow, quick;

	open_stream(w, 1);
	open_stream(w, 2);
	slow = grant(w, 1); /* takes nothing */
	quick = grant(w, 2);
	data(w, 1, STREAM_WINDOW);
	turn(w);
	w->credit = 0;
	for (int i = 0; i < 100; i++) {
		data(w, 2, STREAM_CHUNK_MAX);
		turn(w);
		assert_int_equal(read_all(quick), STREAM_CHUNK_MAX);
	}
	assert_int_equal(w->credit, 100 * STREAM_CHUNK_MAX);
	assert_int_equal(w->closed, 0);
	close(slow);
	close(quick);
}

static void test_refused_closed_and_lost(void **state)
{
	struct world *w = *state;
	struct error why;
	uint8_t b;
	int tap;

	open_stream(w, 1);
	error_set(&why, ERR_NOT_PERMITTED, "no");
	relay_refused(w->relay, 1, &why);
	assert_int_equal(w->closed, 1);
	assert_int_equal(w->code, ERR_NOT_PERMITTED);
	/* Closed by the client before the launcher answered: the descriptor goes at once. */
	open_stream(w, 2);
	close_stream(w, 2);
	tap = grant(w, 2);
	assert_int_equal(read(tap, &b, 1), 0);
	close(tap);
	/* A number that is in use, or a second grant for it, changes nothing. */
	open_stream(w, 3);
	tap = grant(w, 3);
	open_stream(w, 3);
	assert_int_equal(relay_count(w->relay), 1);
	close(grant(w, 3));
	turn(w);
	assert_int_equal(relay_count(w->relay), 1);
	relay_lost(w->relay);
	assert_int_equal(relay_count(w->relay), 0);
	turn(w);
	assert_int_equal(read(tap, &b, 1), 0);
	assert_int_equal(w->closed, 1);
	close(tap);
}

static void test_too_many(void **state)
{
	struct world *w = *state;

	for (uint64_t i = 1; i <= RELAY_STREAMS_MAX; i++)
		open_stream(w, i);
	assert_int_equal(w->closed, 0);
	open_stream(w, RELAY_STREAMS_MAX + 1);
	assert_int_equal(w->closed, 1);
	assert_int_equal(w->code, ERR_BUSY);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
		        test_bytes_from_before_the_grant_arrive, make, unmake),
		cmocka_unit_test_setup_teardown(test_last_words_arrive, make, unmake),
		cmocka_unit_test_setup_teardown(test_no_more_than_the_window_is_held, make, unmake),
		cmocka_unit_test_setup_teardown(test_without_credit_nothing_is_sent, make, unmake),
		cmocka_unit_test_setup_teardown(test_a_slow_one_holds_up_no_other, make, unmake),
		cmocka_unit_test_setup_teardown(test_refused_closed_and_lost, make, unmake),
		cmocka_unit_test_setup_teardown(test_too_many, make, unmake),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
