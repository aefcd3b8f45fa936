/* test_channel.c - common/net/channel.h: what is said inside a stream, and what must not pass for it */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "common/base/xalloc.h"
#include "common/net/channel.h"

/* Two ends after their handshake. */
static void ends_new(struct channel **a, struct channel **b)
{
	static const uint8_t psk[NOISE_PSK_LEN] = { 7 };
	struct noise *x = noise_new(true, psk, "p", 1), *y = noise_new(false, psk, "p", 1);
	uint8_t m[NOISE_HANDSHAKE_EXTRA], none[1];
	size_t n, got;

	assert_int_equal(noise_write(x, "", 0, m, sizeof(m), &n, NULL), 0);
	assert_int_equal(noise_read(y, m, n, none, 0, &got, NULL), 0);
	assert_int_equal(noise_write(y, "", 0, m, sizeof(m), &n, NULL), 0);
	assert_int_equal(noise_read(x, m, n, none, 0, &got, NULL), 0);
	*a = channel_new(x);
	*b = channel_new(y);
}

static void test_all_lengths_in_any_pieces(void **state)
{
	static const size_t lengths[] = { 0, 1, 2, 1000, CHANNEL_DATA_MAX - 1, CHANNEL_DATA_MAX };
	static uint8_t data[CHANNEL_DATA_MAX], wire[6 * CHANNEL_WIRE_MAX];
	struct channel *a, *b;
	size_t n = 0, at = 0, got = 0, piece = 1;
	struct channel_message m;
	struct error err;

	(void)state;
	ends_new(&a, &b);
	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)(i * 31);
	for (size_t i = 0; i < 6; i++) {
		size_t sealed = channel_seal(
		        a, CHANNEL_OUT + (unsigned)i % 2, data, lengths[i], wire + n, &err);

		assert_true(sealed > lengths[i]);
		n += sealed;
	}
	while (at < n) {
		size_t part = piece < n - at ? piece : n - at;

		piece = piece % 5000 + 37;
		at += channel_feed(b, wire + at, part);
		while (channel_next(b, &m, &err) == 1) {
			assert_int_equal(m.kind, CHANNEL_OUT + got % 2);
			assert_int_equal(m.len, lengths[got]);
			assert_memory_equal(m.data, data, m.len);
			got++;
		}
	}
	assert_int_equal(got, 6);
	assert_int_equal(channel_seal(a, 1, data, CHANNEL_DATA_MAX + 1, wire, &err), 0);
	channel_free(a);
	channel_free(b);
}

/* Every bit of a message; its length too. */
static void test_every_bit(void **state)
{
	uint8_t wire[CHANNEL_WIRE_MAX], bad[CHANNEL_WIRE_MAX];
	struct channel_message m;
	struct channel *a, *b;
	struct error err;
	size_t n;

	(void)state;
	for (size_t bit = 0; bit < 8 * 24; bit++) {
		int r;

		ends_new(&a, &b);
		n = channel_seal(a, CHANNEL_ERR, "abcde", 5, wire, &err);
		assert_int_equal(n, 24);
		memcpy(bad, wire, n);
		bad[bit / 8] ^= (uint8_t)(1 << bit % 8);
		assert_int_equal(channel_feed(b, bad, n), n);
		r = channel_next(b, &m, &err);
		/* a length that grew waits for bytes that never come; nothing is delivered */
		assert_true(r < 0 || (r == 0 && bit < 16));
		channel_free(a);
		channel_free(b);
	}
}

static void test_out_of_order_twice_and_reflected(void **state)
{
	uint8_t one[CHANNEL_WIRE_MAX], two[CHANNEL_WIRE_MAX];
	struct channel_message m;
	struct channel *a, *b;
	size_t n1, n2;
	struct error err;

	(void)state;
	ends_new(&a, &b);
	n1 = channel_seal(a, CHANNEL_OUT, "1", 1, one, &err);
	n2 = channel_seal(a, CHANNEL_OUT, "2", 1, two, &err);
	channel_feed(b, two, n2);
	assert_int_equal(channel_next(b, &m, &err), -1); /* the first is missing */
	channel_free(a);
	channel_free(b);

	ends_new(&a, &b);
	n1 = channel_seal(a, CHANNEL_OUT, "1", 1, one, &err);
	channel_feed(b, one, n1);
	assert_int_equal(channel_next(b, &m, &err), 1);
	channel_feed(b, one, n1);
	assert_int_equal(channel_next(b, &m, &err), -1); /* a second time */
	channel_free(a);
	channel_free(b);

	ends_new(&a, &b);
	n1 = channel_seal(a, CHANNEL_OUT, "1", 1, one, &err);
	channel_feed(a, one, n1);
	assert_int_equal(channel_next(a, &m, &err), -1); /* to where it came from */
	channel_free(a);
	channel_free(b);
}

static void test_too_long_is_refused_by_its_length(void **state)
{
	static const uint8_t lengths[][2] = { { 0, 0 }, { 0, 16 }, { 0xff, 0xff }, { 0x80, 0x12 } };
	struct channel_message m;
	struct channel *a, *b;
	struct error err;

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		ends_new(&a, &b);
		channel_feed(b, lengths[i], 2);
		assert_int_equal(channel_next(b, &m, &err), -1);
		assert_int_equal(err.code, ERR_PROTOCOL);
		channel_free(a);
		channel_free(b);
	}
}

static void test_parts(void **state)
{
	struct channel_log log = { 1, 0, INT64_MAX, UINT64_C(1) << 40, 0 }, got;
	uint8_t b[CHANNEL_END_MAX];
	struct channel_message m = { .kind = CHANNEL_LOG, .data = b, .len = CHANNEL_LOG_LEN };
	struct error why, err;
	uint64_t at;

	(void)state;
	channel_put_log(b, &log);
	assert_int_equal(channel_get_log(&m, &got, &err), 0);
	assert_int_equal(got.error, 1);
	assert_int_equal(got.follow, 0);
	assert_true(got.lines == log.lines);
	assert_true(got.at == log.at);
	assert_true(got.had == 0);
	log = (struct channel_log){ 0, 1, UINT64_MAX, CHANNEL_LOG_NEW, INT64_MAX - 1 };
	channel_put_log(b, &log);
	assert_int_equal(channel_get_log(&m, &got, &err), 0);
	assert_true(
	        got.had == INT64_MAX - 1 && got.lines == UINT64_MAX && got.at == CHANNEL_LOG_NEW);
	b[0] = 2;
	assert_int_equal(channel_get_log(&m, &got, &err), -1);
	m.len--;
	b[0] = 1;
	assert_int_equal(channel_get_log(&m, &got, &err), -1);
	m.len = CHANNEL_LOG_LEN;
	m.kind = CHANNEL_FINISH;
	assert_int_equal(channel_get_log(&m, &got, &err), -1);

	channel_put_at(b, UINT64_MAX - 1);
	m.kind = CHANNEL_AT;
	assert_int_equal(channel_get_at(&m, &at, &err), -1); /* too long */
	m.len = CHANNEL_AT_LEN;
	assert_int_equal(channel_get_at(&m, &at, &err), 0);
	assert_true(at == UINT64_MAX - 1);
	m.kind = CHANNEL_OUT;
	assert_int_equal(channel_get_at(&m, &at, &err), -1);

	error_set(&why, ERR_NO_JOB, "gone\x1b[2J");
	m.kind = CHANNEL_END;
	m.len = channel_put_end(b, &why);
	assert_int_equal(channel_get_end(&m, &why, &err), 0);
	assert_int_equal(why.code, ERR_NO_JOB);
	assert_string_equal(why.text, "gone\\x1B[2J"); /* an owner's text reaches no terminal raw */
	b[0] = b[1] = 0xff;
	assert_int_equal(channel_get_end(&m, &why, &err), 0);
	assert_int_equal(why.code, ERR_INTERNAL);
	m.len = 1;
	assert_int_equal(channel_get_end(&m, &why, &err), -1);
}

static void test_parts_of_an_attached_client(void **state)
{
	struct channel_attach attach = { 1, 1ULL << 40, 3, 24, 65535 }, got;
	struct channel_taken taken = { UINT64_MAX, 7 }, got_taken;
	struct channel_attached attached = { 1, 0, 5, 4, 1ULL << 50, 6 }, got_attached;
	uint8_t b[CHANNEL_END_MAX];
	struct channel_message m = { .kind = CHANNEL_ATTACH, .data = b, .len = CHANNEL_ATTACH_LEN };
	struct error err;

	(void)state;
	channel_put_attach(b, &attach);
	assert_int_equal(channel_get_attach(&m, &got, &err), 0);
	assert_true(got.resume && got.out == attach.out && got.err == 3);
	assert_true(got.rows == 24 && got.cols == 65535);
	b[0] = 2;
	assert_int_equal(channel_get_attach(&m, &got, &err), -1);
	m.len++;
	assert_int_equal(channel_get_attach(&m, &got, &err), -1);

	m = (struct channel_message){ CHANNEL_TAKEN, b, CHANNEL_TAKEN_LEN };
	channel_put_taken(b, &taken);
	assert_int_equal(channel_get_taken(&m, &got_taken, &err), 0);
	assert_true(got_taken.out == UINT64_MAX && got_taken.err == 7);
	m.len--;
	assert_int_equal(channel_get_taken(&m, &got_taken, &err), -1);

	m = (struct channel_message){ CHANNEL_ATTACHED, b, CHANNEL_ATTACHED_LEN };
	channel_put_attached(b, &attached);
	assert_int_equal(channel_get_attached(&m, &got_attached, &err), 0);
	assert_true(got_attached.pty && !got_attached.in_ended);
	assert_true(got_attached.in == 5 && got_attached.in_taken == 4);
	assert_true(got_attached.out == 1ULL << 50 && got_attached.err == 6);
	b[1] = 2;
	assert_int_equal(channel_get_attached(&m, &got_attached, &err), -1);
	m.kind = CHANNEL_ATTACH;
	assert_int_equal(channel_get_attached(&m, &got_attached, &err), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_lengths_in_any_pieces),
		cmocka_unit_test(test_every_bit),
		cmocka_unit_test(test_out_of_order_twice_and_reflected),
		cmocka_unit_test(test_too_long_is_refused_by_its_length),
		cmocka_unit_test(test_parts),
		cmocka_unit_test(test_parts_of_an_attached_client),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
