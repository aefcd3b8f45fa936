/* fuzz_channel.c - what gtap and its client say to each other
 *
 * The first byte is the kind of a message with the rest in it, sealed as the other end would: what
 * comes out must be what went in, and each of its readers takes it or says why not. The same bytes
 * unsealed must be refused, or waited for.
 */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "common/base/text.h"
#include "common/net/channel.h"
#include "testsuite/fuzz/fuzz.h"

static void pair(struct channel **a, struct channel **b)
{
	static const uint8_t psk[32] = { 1 };
	struct noise *x = noise_new(true, psk, "", 0), *y = noise_new(false, psk, "", 0);
	uint8_t m[64], none[1];
	size_t n;

	FUZZ_CHECK(x && y);
	FUZZ_CHECK(noise_write(x, "", 0, m, sizeof(m), &n, NULL) == 0);
	FUZZ_CHECK(noise_read(y, m, n, none, 0, &n, NULL) == 0);
	FUZZ_CHECK(noise_write(y, "", 0, m, sizeof(m), &n, NULL) == 0);
	FUZZ_CHECK(noise_read(x, m, n, none, 0, &n, NULL) == 0);
	*a = channel_new(x);
	*b = channel_new(y);
}

static void read_parts(const struct channel_message *m)
{
	struct error err = { .text = "" }, why;
	struct channel_attached attached;
	struct channel_attach attach;
	struct channel_taken taken;
	struct channel_tail tail;
	struct channel_log log;
	uint64_t at;

	FUZZ_CHECK(channel_get_log(m, &log, &err) == 0 || *err.text);
	FUZZ_CHECK(channel_get_tail(m, &tail, &err) == 0 || *err.text);
	FUZZ_CHECK(channel_get_at(m, &at, &err) == 0 || *err.text);
	FUZZ_CHECK(channel_get_attach(m, &attach, &err) == 0 || *err.text);
	FUZZ_CHECK(channel_get_taken(m, &taken, &err) == 0 || *err.text);
	FUZZ_CHECK(channel_get_attached(m, &attached, &err) == 0 || *err.text);
	if (channel_get_end(m, &why, &err) == 0)
		FUZZ_CHECK(text_plain_prefix(why.text, strlen(why.text)) == strlen(why.text));
}

static void sealed(unsigned kind, const uint8_t *data, size_t size)
{
	static uint8_t wire[CHANNEL_WIRE_MAX];
	struct channel_message m;
	struct channel *a, *b;
	size_t n, half;
	int got;

	pair(&a, &b);
	n = channel_seal(a, kind, data, size, wire, NULL);
	if (n) {
		half = n / 2;
		FUZZ_CHECK(channel_feed(b, wire, half) == half && channel_next(b, &m, NULL) == 0);
		FUZZ_CHECK(channel_feed(b, wire + half, n - half) == n - half);
		got = channel_next(b, &m, NULL);
		FUZZ_CHECK(got == 1 && m.kind == kind && m.len == size);
		FUZZ_CHECK(memcmp(m.data, data, size) == 0);
		read_parts(&m);
		FUZZ_CHECK(channel_next(b, &m, NULL) == 0);
	}
	channel_free(a);
	channel_free(b);
}

static void unsealed(const uint8_t *data, size_t size)
{
	struct channel_message m;
	struct channel *a, *b;

	pair(&a, &b);
	channel_feed(b, data, size);
	FUZZ_CHECK(channel_next(b, &m, NULL) <= 0);
	channel_free(a);
	channel_free(b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 1 || size > CHANNEL_DATA_MAX)
		return 0;
	sealed(data[0], data + 1, size - 1);
	unsealed(data, size);
	return 0;
}
