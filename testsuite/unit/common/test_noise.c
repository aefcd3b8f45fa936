/* test_noise.c - the handshake against the public vector, and against damage */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

/* For start(), which takes a fixed ephemeral key: nothing else may. */
#include "common/net/noise.c"
#include "testsuite/unit/lib/noise_vector.h"

static size_t unhex(const char *hex, uint8_t *out, size_t cap)
{
	size_t n;

	assert_int_equal(sodium_hex2bin(out, cap, hex, strlen(hex), NULL, &n, NULL), 0);
	return n;
}

static struct noise *from_vector(bool initiator)
{
	uint8_t psk[64], prologue[64], e[64];
	size_t len;

	unhex(initiator ? vector_init_psk : vector_resp_psk, psk, sizeof(psk));
	unhex(initiator ? vector_init_ephemeral : vector_resp_ephemeral, e, sizeof(e));
	len = unhex(initiator ? vector_init_prologue : vector_resp_prologue, prologue,
	        sizeof(prologue));
	return start(initiator, psk, prologue, len, e);
}

static void test_vector(void **state)
{
	struct noise *side[2] = { from_vector(true), from_vector(false) };
	uint8_t payload[64], want[128], msg[128], back[128], hash[32];
	size_t p_len, w_len, len, b_len;

	(void)state;
	assert_true(VECTOR_MESSAGES > 2);
	for (size_t i = 0; i < VECTOR_MESSAGES; i++) {
		struct noise *from = side[i % 2], *to = side[(i + 1) % 2];

		assert_int_equal(noise_in_transport(from), i >= 2);
		p_len = unhex(vector_messages[i].payload, payload, sizeof(payload));
		w_len = unhex(vector_messages[i].ciphertext, want, sizeof(want));
		assert_int_equal(
		        noise_write(from, payload, p_len, msg, sizeof(msg), &len, NULL), 0);
		assert_int_equal(len, w_len);
		assert_memory_equal(msg, want, len);
		assert_int_equal(noise_read(to, msg, len, back, sizeof(back), &b_len, NULL), 0);
		assert_int_equal(b_len, p_len);
		assert_memory_equal(back, payload, p_len);
	}
	unhex(vector_handshake_hash, hash, sizeof(hash));
	assert_memory_equal(noise_handshake_hash(side[0]), hash, sizeof(hash));
	assert_memory_equal(noise_handshake_hash(side[1]), hash, sizeof(hash));
	noise_free(side[0]);
	noise_free(side[1]);
}

/* Two states that have shaken hands with fresh keys. */
static void pair(struct noise *side[2], const char *prologue_a, const char *prologue_b)
{
	uint8_t psk[32] = { 7 }, msg[64], none[1];
	size_t len, got;

	side[0] = noise_new(true, psk, prologue_a, strlen(prologue_a));
	side[1] = noise_new(false, psk, prologue_b, strlen(prologue_b));
	assert_int_equal(noise_write(side[0], "", 0, msg, sizeof(msg), &len, NULL), 0);
	if (noise_read(side[1], msg, len, none, 0, &got, NULL) < 0)
		return;
	assert_int_equal(noise_write(side[1], "", 0, msg, sizeof(msg), &len, NULL), 0);
	assert_int_equal(noise_read(side[0], msg, len, none, 0, &got, NULL), 0);
}

static void free_pair(struct noise *side[2])
{
	noise_free(side[0]);
	noise_free(side[1]);
}

static void test_fresh_keys(void **state)
{
	struct noise *a[2], *b[2];

	(void)state;
	pair(a, "p", "p");
	pair(b, "p", "p");
	assert_true(noise_in_transport(a[0]) && noise_in_transport(a[1]));
	assert_memory_equal(noise_handshake_hash(a[0]), noise_handshake_hash(a[1]), 32);
	/* same psk, same prologue: still another connection */
	assert_memory_not_equal(noise_handshake_hash(a[0]), noise_handshake_hash(b[0]), 32);
	assert_memory_not_equal(a[0]->send.k, b[0]->send.k, 32);
	assert_memory_equal(a[0]->send.k, a[1]->receive.k, 32);
	assert_memory_not_equal(a[0]->send.k, a[0]->receive.k, 32);
	free_pair(a);
	free_pair(b);
}

static void test_prologue_must_agree(void **state)
{
	struct noise *a[2];
	struct error err;
	size_t len;
	uint8_t buf[64];

	(void)state;
	pair(a, "hello", "hellp");
	assert_false(noise_in_transport(a[1]));
	/* and the state is dead */
	assert_int_equal(noise_write(a[1], "", 0, buf, sizeof(buf), &len, &err), -1);
	assert_int_equal(err.code, ERR_PROTOCOL);
	free_pair(a);
}

/* Every single bit of both handshake messages and of a transport message. */
static void test_every_bit(void **state)
{
	uint8_t psk[32] = { 1 }, m[3][80], bad[80], out[80];
	struct noise *i, *r;
	size_t len[3], got;

	(void)state;
	for (int which = 0; which < 3; which++) {
		size_t bits = (which == 2 ? 5 + 16 : 48) * 8;

		for (size_t bit = 0; bit < bits; bit++) {
			i = noise_new(true, psk, "p", 1);
			r = noise_new(false, psk, "p", 1);
			for (int k = 0; k <= which; k++) {
				struct noise *from = k == 1 ? r : i, *to = k == 1 ? i : r;
				const char *pl = k == 2 ? "hello" : "";

				assert_int_equal(noise_write(from, pl, strlen(pl), m[k],
				                         sizeof(m[k]), &len[k], NULL),
				        0);
				memcpy(bad, m[k], len[k]);
				if (k == which)
					bad[bit / 8] ^= (uint8_t)(1 << bit % 8);
				assert_int_equal(
				        noise_read(to, bad, len[k], out, sizeof(out), &got, NULL),
				        k == which ? -1 : 0);
				if (k == which) /* the right one comes too late */
					assert_int_equal(noise_read(to, m[k], len[k], out,
					                         sizeof(out), &got, NULL),
					        -1);
			}
			noise_free(i);
			noise_free(r);
		}
	}
}

static void test_order_counts(void **state)
{
	struct noise *a[2];
	uint8_t one[32], two[32], out[32];
	size_t len, got;

	(void)state;
	pair(a, "p", "p");
	assert_int_equal(noise_write(a[0], "one", 3, one, sizeof(one), &len, NULL), 0);
	assert_int_equal(noise_write(a[0], "two", 3, two, sizeof(two), &len, NULL), 0);
	assert_int_equal(noise_read(a[1], two, len, out, sizeof(out), &got, NULL), -1);
	free_pair(a);

	pair(a, "p", "p"); /* a message twice */
	assert_int_equal(noise_write(a[0], "one", 3, one, sizeof(one), &len, NULL), 0);
	assert_int_equal(noise_read(a[1], one, len, out, sizeof(out), &got, NULL), 0);
	assert_int_equal(noise_read(a[1], one, len, out, sizeof(out), &got, NULL), -1);
	free_pair(a);

	pair(a, "p", "p"); /* back to its sender */
	assert_int_equal(noise_write(a[0], "one", 3, one, sizeof(one), &len, NULL), 0);
	assert_int_equal(noise_read(a[0], one, len, out, sizeof(out), &got, NULL), -1);
	free_pair(a);
}

static void test_lengths(void **state)
{
	static uint8_t big[NOISE_MSG_MAX + 1], out[NOISE_MSG_MAX + 1];
	struct noise *a[2];
	struct error err;
	size_t len, got;

	(void)state;
	pair(a, "p", "p");
	memset(big, 'x', sizeof(big));
	assert_int_equal(
	        noise_write(a[0], big, NOISE_MSG_MAX - 15, out, sizeof(out), &len, &err), -1);
	assert_int_equal(err.code, ERR_INTERNAL);
	assert_int_equal(noise_write(a[0], big, 10, out, 25, &len, &err), -1);
	assert_int_equal(
	        noise_write(a[0], big, NOISE_MSG_MAX - 16, out, sizeof(out), &len, &err), 0);
	assert_int_equal(len, NOISE_MSG_MAX);
	assert_int_equal(
	        noise_read(a[1], out, len, out, sizeof(out), &got, &err), 0); /* in place */
	assert_int_equal(got, NOISE_MSG_MAX - 16);
	assert_memory_equal(out, big, got);
	assert_int_equal(noise_read(a[1], out, 15, out, sizeof(out), &got, &err), -1);
	free_pair(a);
}

/* The last nonce is never used. */
static void test_nonce_end(void **state)
{
	struct noise *a[2];
	uint8_t out[32];
	size_t len;

	(void)state;
	pair(a, "p", "p");
	a[0]->send.n = UINT64_MAX - 1;
	assert_int_equal(noise_write(a[0], "x", 1, out, sizeof(out), &len, NULL), 0);
	assert_int_equal(noise_write(a[0], "x", 1, out, sizeof(out), &len, NULL), -1);
	free_pair(a);
}

/* Secrets of the handshake are gone once it is over. */
static void test_wiped(void **state)
{
	static const uint8_t zero[64];
	struct noise *a[2];

	(void)state;
	pair(a, "p", "p");
	for (int i = 0; i < 2; i++) {
		assert_memory_equal(a[i]->psk, zero, sizeof(a[i]->psk));
		assert_memory_equal(a[i]->e_secret, zero, sizeof(a[i]->e_secret));
		assert_memory_equal(a[i]->ck, zero, sizeof(a[i]->ck));
		assert_memory_equal(a[i]->cs.k, zero, sizeof(a[i]->cs.k));
	}
	free_pair(a);
}

/* A peer's key of small order must not lead to a key that everybody knows. */
static void test_small_order(void **state)
{
	uint8_t psk[32] = { 0 }, msg[64], out[64];
	struct noise *i = start(
	                     true, psk, "", 0, (const uint8_t *)"01234567890123456789012345678901"),
	             *r = noise_new(false, psk, "", 0);
	size_t len, got;

	(void)state;
	memset(i->e, 0, sizeof(i->e));
	assert_int_equal(noise_write(i, "", 0, msg, sizeof(msg), &len, NULL), 0);
	assert_int_equal(noise_read(r, msg, len, out, sizeof(out), &got, NULL), 0);
	assert_int_equal(noise_write(r, "", 0, msg, sizeof(msg), &len, NULL), -1);
	noise_free(i);
	noise_free(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_vector),
		cmocka_unit_test(test_fresh_keys),
		cmocka_unit_test(test_prologue_must_agree),
		cmocka_unit_test(test_every_bit),
		cmocka_unit_test(test_order_counts),
		cmocka_unit_test(test_lengths),
		cmocka_unit_test(test_nonce_end),
		cmocka_unit_test(test_wiped),
		cmocka_unit_test(test_small_order),
	};

	if (sodium_init() < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
