/* test_steplink.c - common/net/steplink.h: messages of any length in any pieces, and what is no
 * frame */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "common/base/wirenum.h"
#include "common/base/xalloc.h"
#include "common/net/steplink.h"

static void test_all_lengths_in_any_pieces(void **state)
{
	static const size_t lengths[] = { 0, 1, STEPLINK_DATA_MAX - 1, STEPLINK_DATA_MAX,
		STEPLINK_DATA_MAX + 1, 5 * STEPLINK_DATA_MAX + 3 };
	struct steplink *a = steplink_new(), *b = steplink_new();
	uint8_t *data = xcalloc(6 * STEPLINK_DATA_MAX, 1);
	struct steplink_message m;
	size_t got = 0, piece = 1, len;
	const uint8_t *bytes;

	(void)state;
	for (size_t i = 0; i < 6 * STEPLINK_DATA_MAX; i++)
		data[i] = (uint8_t)(i * 31 + i / 251);
	for (size_t i = 0; i < 6; i++)
		steplink_put(a, STEP_NEW + (unsigned)i, (uint32_t)i, data, lengths[i]);
	while (bytes = steplink_pending(a, &len), len) {
		size_t n = piece < len ? piece : len;

		piece = piece % 5000 + 37;
		assert_int_equal(steplink_feed(b, bytes, n, NULL), 0);
		steplink_sent(a, n);
		while (steplink_next(b, &m, NULL) == 1) {
			assert_int_equal(m.kind, STEP_NEW + got);
			assert_int_equal(m.step, got);
			assert_int_equal(m.len, lengths[got]);
			if (m.len)
				assert_memory_equal(m.data, data, m.len);
			got++;
		}
	}
	assert_int_equal(got, 6);
	free(data);
	steplink_free(a);
	steplink_free(b);
}

static void test_bytes_of_a_task(void **state)
{
	struct steplink *l = steplink_new();
	struct steplink_message m;
	const uint8_t *bytes;
	size_t len;

	(void)state;
	steplink_put_bytes(l, STEP_OUT, 3, 7, "hello", 5);
	bytes = steplink_pending(l, &len);
	assert_int_equal(steplink_feed(l, bytes, len, NULL), 0);
	assert_int_equal(steplink_next(l, &m, NULL), 1);
	assert_int_equal(m.kind, STEP_OUT);
	assert_int_equal(get_u32(m.data), 7);
	assert_int_equal(m.len, 9);
	assert_memory_equal(m.data + 4, "hello", 5);
	assert_int_equal(steplink_next(l, &m, NULL), 0);
	steplink_free(l);
}

static void test_what_is_no_frame(void **state)
{
	static const uint8_t shorter[7] = { 0, 4, STEP_OUT }, longer[7] = { 0xff, 0xff, STEP_OUT };
	struct steplink *l = steplink_new();
	struct steplink_message m;
	struct error err;
	uint8_t *part = xcalloc(7 + STEPLINK_DATA_MAX, 1);
	int r = 0;

	(void)state;
	steplink_feed(l, shorter, 7, NULL);
	assert_int_equal(steplink_next(l, &m, &err), -1);
	assert_int_equal(err.code, ERR_PROTOCOL);
	steplink_free(l);
	l = steplink_new();
	steplink_feed(l, longer, 7, NULL);
	assert_int_equal(steplink_next(l, &m, &err), -1);
	steplink_free(l);
	/* parts without an end */
	l = steplink_new();
	put_u16(part, 5 + STEPLINK_DATA_MAX);
	part[2] = STEP_PART;
	for (size_t i = 0; r == 0 && i <= STEPLINK_MESSAGE_MAX / STEPLINK_DATA_MAX; i++) {
		assert_int_equal(steplink_feed(l, part, 7 + STEPLINK_DATA_MAX, NULL), 0);
		r = steplink_next(l, &m, &err);
	}
	assert_int_equal(r, -1);
	steplink_free(l);
	free(part);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_lengths_in_any_pieces),
		cmocka_unit_test(test_bytes_of_a_task),
		cmocka_unit_test(test_what_is_no_frame),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
