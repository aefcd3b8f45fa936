/* fuzz_frame.c - streams of frames, before and after encryption
 *
 * The first byte says whose stream it is and how it is cut. The same stream goes through a reader
 * in the clear and, sealed, through one behind the handshake: both must give the same frames and
 * the same end. Every frame's body is decoded as its type says.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/net/frame.h"
#include "common/net/msg.h"
#include "testsuite/fuzz/fuzz.h"

/* A hash of everything a reader gave. */
struct outcome {
	uint64_t hash;
	int frames;
	int failed;
	size_t held;
};

static void mix(struct outcome *o, const void *bytes, size_t len)
{
	const uint8_t *p = bytes;

	for (size_t i = 0; i < len; i++)
		o->hash = (o->hash ^ p[i]) * 0x100000001b3u;
}

static void take(struct frame_reader *r, struct arena *arena, struct outcome *o)
{
	struct frame f;
	int n;

	while ((n = frame_reader_next(r, &f, NULL)) > 0) {
		mix(o, &f.type, sizeof(f.type));
		mix(o, &f.id, sizeof(f.id));
		mix(o, f.body, f.len);
		o->frames++;
		msg_unpack(f.type, f.body, f.len, arena, NULL);
	}
	if (n < 0)
		o->failed = 1;
}

static void pair(struct noise **a, struct noise **b)
{
	static const uint8_t psk[32] = { 1 };
	uint8_t m[64], none[1];
	size_t n;

	*a = noise_new(true, psk, "", 0);
	*b = noise_new(false, psk, "", 0);
	FUZZ_CHECK(*a && *b);
	FUZZ_CHECK(noise_write(*a, "", 0, m, sizeof(m), &n, NULL) == 0);
	FUZZ_CHECK(noise_read(*b, m, n, none, 0, &n, NULL) == 0);
	FUZZ_CHECK(noise_write(*b, "", 0, m, sizeof(m), &n, NULL) == 0);
	FUZZ_CHECK(noise_read(*a, m, n, none, 0, &n, NULL) == 0);
}

static void in_clear(const uint8_t *data, size_t size, unsigned from, size_t step,
        struct arena *arena, struct outcome *o)
{
	struct frame_reader *r = frame_reader_new(NULL, from);
	size_t used;

	for (size_t at = 0; at < size && !o->failed; at += step) {
		size_t n = size - at < step ? size - at : step;

		FUZZ_CHECK(frame_reader_feed(r, data + at, n, &used, NULL) == 0 && used == n);
		take(r, arena, o);
	}
	o->held = frame_reader_held(r);
	frame_reader_free(r);
}

static void sealed(const uint8_t *data, size_t size, unsigned from, size_t step,
        struct arena *arena, struct outcome *o)
{
	struct noise *a, *b;
	struct frame_reader *r;
	uint8_t *wire = malloc(frame_sealed_len(step));
	size_t used;

	pair(&a, &b);
	r = frame_reader_new(b, from);
	for (size_t at = 0; at < size && !o->failed; at += step) {
		size_t n = size - at < step ? size - at : step;

		FUZZ_CHECK(frame_seal(a, data + at, n, wire, NULL) == 0);
		FUZZ_CHECK(frame_reader_feed(r, wire, frame_sealed_len(n), &used, NULL) == 0);
		FUZZ_CHECK(used == frame_sealed_len(n));
		take(r, arena, o);
	}
	o->held = frame_reader_held(r);
	frame_reader_free(r);
	noise_free(a);
	noise_free(b);
	free(wire);
}

/* Noise messages that nobody sealed: refused, or waited for. */
static void unsealed(const uint8_t *data, size_t size, unsigned from)
{
	struct noise *a, *b;
	struct frame_reader *r;
	struct frame f;
	size_t used;

	pair(&a, &b);
	r = frame_reader_new(b, from);
	if (frame_reader_feed(r, data, size, &used, NULL) == 0) {
		FUZZ_CHECK(used == 0);
		FUZZ_CHECK(frame_reader_next(r, &f, NULL) == 0);
	}
	frame_reader_free(r);
	noise_free(a);
	noise_free(b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct outcome clear = { 0 }, secret = { 0 };
	struct arena *arena;
	unsigned from;
	size_t step;

	if (size < 2)
		return 0;
	from = 1u << data[0] % 5;
	step = (size_t)1 + data[0] / 5 * 7;
	arena = arena_new(1 << 20);
	in_clear(data + 1, size - 1, from, step, arena, &clear);
	sealed(data + 1, size - 1, from, step, arena, &secret);
	FUZZ_CHECK(clear.hash == secret.hash && clear.frames == secret.frames);
	FUZZ_CHECK(clear.failed == secret.failed);
	FUZZ_CHECK(clear.failed || clear.held == secret.held);
	arena_free(arena);
	unsealed(data, size, from);
	return 0;
}
