/* hash.c - see hash.h
 *
 * The mixer folds a 128-bit product, as wyhash does, with two of its constants.
 */
#include "ctld/core/util/hash.h"

#include <string.h>

#define K0 0xa0761d6478bd642full
#define K1 0xe7037ed1a0b428dbull

static uint64_t fold(uint64_t a, uint64_t b)
{
	__uint128_t r = (__uint128_t)a * b;

	return (uint64_t)r ^ (uint64_t)(r >> 64);
}

uint64_t hash_u64(uint64_t x, uint64_t seed)
{
	return fold(fold(x ^ K0, seed ^ K1) ^ K0, K1);
}

uint64_t hash_bytes(const void *p, size_t n, uint64_t seed)
{
	const unsigned char *c = p;
	uint64_t h = fold(seed ^ K0, (uint64_t)n ^ K1), w;

	for (; n >= 8; c += 8, n -= 8) {
		memcpy(&w, c, 8);
		h = fold(h ^ w ^ K0, K1 ^ w);
	}
	w = 0;
	memcpy(&w, c, n);
	return fold(h ^ w ^ K0, K1);
}
