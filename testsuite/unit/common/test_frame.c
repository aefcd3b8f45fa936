/* test_frame.c - frames in and out, whole, in pieces and damaged */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "common/base/wirenum.h"
#include "common/net/frame.h"
#include "common/net/msg.h"

#define PING   GPUSCHED__MSG_TYPE__MSG_PING
#define SUBMIT GPUSCHED__MSG_TYPE__MSG_SUBMIT

static void pair(struct noise **a, struct noise **b)
{
	uint8_t psk[32] = { 3 }, m[64], none[1];
	size_t n;

	*a = noise_new(true, psk, "x", 1);
	*b = noise_new(false, psk, "x", 1);
	assert_int_equal(noise_write(*a, "", 0, m, sizeof(m), &n, NULL), 0);
	assert_int_equal(noise_read(*b, m, n, none, 0, &n, NULL), 0);
	assert_int_equal(noise_write(*b, "", 0, m, sizeof(m), &n, NULL), 0);
	assert_int_equal(noise_read(*a, m, n, none, 0, &n, NULL), 0);
}

/* A frame with a body of `len` bytes that tell their place. */
static uint8_t *make(unsigned type, uint64_t id, size_t len)
{
	uint8_t *f = malloc(FRAME_HEADER_LEN + len);

	frame_put_header(f, type, id, (uint32_t)len);
	for (size_t i = 0; i < len; i++)
		f[FRAME_HEADER_LEN + i] = (uint8_t)(i * 31 + i / 251);
	return f;
}

/* Sizes around all borders, sent in one stream, delivered in pieces of `step` bytes. */
static void roundtrip(bool encrypted, size_t step)
{
	static const struct {
		unsigned type;
		size_t len;
	} frames[] = {
		{ PING, 0 },
		{ PING, 1 },
		{ PING, 100 },
		{ SUBMIT, FRAME_CHUNK_MAX - 17 },
		{ SUBMIT, FRAME_CHUNK_MAX - 16 },
		{ SUBMIT, FRAME_CHUNK_MAX },
		{ SUBMIT, 3 * FRAME_CHUNK_MAX + 5 },
		{ PING, MSG_BODY_MAX },
		{ SUBMIT, MSG_BODY_MAX_JOB },
		{ PING, 0 },
	};
	size_t n_frames = sizeof(frames) / sizeof(frames[0]), wire_len = 0, at = 0, have = 0,
	       seen = 0;
	struct noise *a, *b;
	struct frame_reader *r;
	uint8_t *wire = NULL;
	struct frame f;
	struct error err = { 0 };

	pair(&a, &b);
	for (size_t i = 0; i < n_frames; i++) {
		uint8_t *p = make(frames[i].type, i + 1, frames[i].len);
		size_t len = FRAME_HEADER_LEN + frames[i].len;
		size_t sealed = encrypted ? frame_sealed_len(len) : len;

		wire = realloc(wire, wire_len + sealed);
		if (encrypted)
			assert_int_equal(frame_seal(a, p, len, wire + wire_len, &err), 0);
		else
			memcpy(wire + wire_len, p, len);
		wire_len += sealed;
		free(p);
	}
	r = frame_reader_new(encrypted ? b : NULL, MSG_BY_USER);
	while (at < wire_len) {
		size_t used;

		have = have + step > wire_len - at ? wire_len - at : have + step;
		assert_int_equal(frame_reader_feed(r, wire + at, have, &used, &err), 0);
		at += used;
		have -= used;
		while (frame_reader_next(r, &f, &err) == 1) {
			uint8_t *p = make(frames[seen].type, seen + 1, frames[seen].len);

			assert_int_equal(f.type, frames[seen].type);
			assert_int_equal(f.id, seen + 1);
			assert_int_equal(f.len, frames[seen].len);
			assert_memory_equal(f.body, p + FRAME_HEADER_LEN, f.len);
			free(p);
			seen++;
		}
	}
	assert_int_equal(seen, n_frames);
	assert_int_equal(frame_reader_held(r), 0);
	frame_reader_free(r);
	noise_free(a);
	noise_free(b);
	free(wire);
}

static void test_roundtrip(void **state)
{
	static const size_t steps[] = { 1000, 4097, 65537, 1 << 20, 100 << 20 };

	(void)state;
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		roundtrip(true, steps[i]);
		roundtrip(false, steps[i]);
	}
}

/* Every cut of a short stream is no frame, and not an error either until the stream ends. */
static void test_truncated(void **state)
{
	uint8_t *p = make(PING, 9, 20), wire[256];
	size_t len = FRAME_HEADER_LEN + 20, sealed = frame_sealed_len(len), used;
	struct frame f;

	(void)state;
	for (size_t cut = 0; cut < sealed; cut++) {
		struct noise *a, *b;
		struct frame_reader *r;

		pair(&a, &b);
		r = frame_reader_new(b, MSG_BY_USER);
		assert_int_equal(frame_seal(a, p, len, wire, NULL), 0);
		assert_int_equal(frame_reader_feed(r, wire, cut, &used, NULL), 0);
		assert_int_equal(used, 0);
		assert_int_equal(frame_reader_next(r, &f, NULL), 0);
		frame_reader_free(r);
		noise_free(a);
		noise_free(b);
	}
	for (size_t cut = 0; cut < len; cut++) {
		struct frame_reader *r = frame_reader_new(NULL, MSG_BY_USER);

		assert_int_equal(frame_reader_feed(r, p, cut, &used, NULL), 0);
		assert_int_equal(used, cut);
		assert_int_equal(frame_reader_next(r, &f, NULL), 0);
		assert_int_equal(frame_reader_held(r), cut);
		frame_reader_free(r);
	}
	free(p);
}

static void test_every_bit(void **state)
{
	uint8_t *p = make(PING, 9, 20), wire[256];
	size_t len = FRAME_HEADER_LEN + 20, sealed = frame_sealed_len(len), used;
	struct frame f;

	(void)state;
	for (size_t bit = 0; bit < sealed * 8; bit++) {
		struct noise *a, *b;
		struct frame_reader *r;
		int n;

		pair(&a, &b);
		r = frame_reader_new(b, MSG_BY_USER);
		assert_int_equal(frame_seal(a, p, len, wire, NULL), 0);
		wire[bit / 8] ^= (uint8_t)(1 << bit % 8);
		/* refused, or (a longer length) waits for more; never a frame */
		n = frame_reader_feed(r, wire, sealed, &used, NULL);
		if (n == 0)
			assert_true(bit < 16 && used == 0);
		assert_int_not_equal(frame_reader_next(r, &f, NULL), 1);
		frame_reader_free(r);
		noise_free(a);
		noise_free(b);
	}
	free(p);
}

/* What a header must not say, from whom. */
static void test_headers(void **state)
{
	static const struct {
		const char *what;
		unsigned type, flags, from;
		uint32_t len;
		int want;
	} rows[] = {
		{ "fine", PING, 0, MSG_BY_USER, 0, 1 },
		{ "waits for its body", PING, 0, MSG_BY_USER, 1, 0 },
		{ "largest", PING, 0, MSG_BY_USER, MSG_BODY_MAX, 0 },
		{ "too large", PING, 0, MSG_BY_USER, MSG_BODY_MAX + 1, -1 },
		{ "much too large", PING, 0, MSG_BY_USER, UINT32_MAX, -1 },
		{ "large submit", SUBMIT, 0, MSG_BY_USER, MSG_BODY_MAX_JOB, 0 },
		{ "too large submit", SUBMIT, 0, MSG_BY_USER, MSG_BODY_MAX_JOB + 1, -1 },
		{ "type 0", 0, 0, MSG_BY_USER, 0, -1 },
		{ "unknown type", 999, 0, MSG_BY_USER, 0, -1 },
		{ "flags", PING, 1, MSG_BY_USER, 0, -1 },
		{ "agent's from a user", GPUSCHED__MSG_TYPE__MSG_REGISTER, 0, MSG_BY_USER, 0, -1 },
		{ "agent's from an agent", GPUSCHED__MSG_TYPE__MSG_REGISTER, 0, MSG_BY_AGENT, 0,
		        1 },
		{ "user's from an agent", PING, 0, MSG_BY_AGENT, 0, -1 },
		{ "controller's from a user", GPUSCHED__MSG_TYPE__MSG_REPLY, 0, MSG_BY_USER, 0,
		        -1 },
		{ "order from an agent", GPUSCHED__MSG_TYPE__MSG_START_RUN, 0, MSG_BY_AGENT, 0,
		        -1 },
		{ "order to the launcher", GPUSCHED__MSG_TYPE__MSG_START_RUN, 0, MSG_BY_AGENT_LOCAL,
		        0, 1 },
		{ "launcher's from a user", GPUSCHED__MSG_TYPE__MSG_LAUNCHER_CRED, 0, MSG_BY_USER,
		        0, -1 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct frame_reader *r = frame_reader_new(NULL, rows[i].from);
		uint8_t h[FRAME_HEADER_LEN];
		struct error err = { 0 };
		struct frame f;
		size_t used;

		frame_put_header(h, rows[i].type, 5, rows[i].len);
		put_u16(h + 6, (uint16_t)rows[i].flags);
		assert_int_equal(frame_reader_feed(r, h, sizeof(h), &used, NULL), 0);
		if (frame_reader_next(r, &f, &err) != rows[i].want)
			fail_msg("%s", rows[i].what);
		if (rows[i].want < 0) {
			assert_int_equal(err.code, ERR_PROTOCOL);
			/* dead: a good frame behind it does not help */
			frame_put_header(h, PING, 5, 0);
			assert_int_equal(frame_reader_feed(r, h, sizeof(h), &used, NULL), -1);
			assert_int_equal(frame_reader_next(r, &f, NULL), -1);
		}
		frame_reader_free(r);
	}
}

static void test_empty_message(void **state)
{
	struct noise *a, *b;
	struct frame_reader *r;
	uint8_t wire[64];
	size_t n, used;

	(void)state;
	pair(&a, &b);
	r = frame_reader_new(b, MSG_BY_USER);
	assert_int_equal(noise_write(a, "", 0, wire + 2, 62, &n, NULL), 0);
	put_u16(wire, (uint16_t)n);
	assert_int_equal(frame_reader_feed(r, wire, n + 2, &used, NULL), -1);
	frame_reader_free(r);
	noise_free(a);
	noise_free(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_roundtrip),
		cmocka_unit_test(test_truncated),
		cmocka_unit_test(test_every_bit),
		cmocka_unit_test(test_headers),
		cmocka_unit_test(test_empty_message),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
