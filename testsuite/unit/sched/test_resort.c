/* test_resort.c - the outcome is that of qsort(), from nearly sorted to not at all */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "ctld/core/util/resort.h"

#define MOST 400

struct item {
	uint64_t key, seal; /* what belongs together stays together */
	char more[16];
};

static uint64_t rng;
static size_t asked;

static uint64_t pick(uint64_t n)
{
	rng = rng * 6364136223846793005ull + 1442695040888963407ull;
	return (rng >> 33) % n;
}

static int by_key(const void *x, const void *y)
{
	const struct item *a = x, *b = y;

	asked++;
	return a->key < b->key ? -1 : a->key > b->key;
}

static void fill(struct item *v, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		v[i] = (struct item){ .key = i * 10 };
		v[i].seal = ~v[i].key;
		memset(v[i].more, (int)i, sizeof(v[i].more));
	}
}

/* So many pairs change places. */
static void stir(struct item *v, size_t n, size_t swaps)
{
	for (; swaps && n; swaps--) {
		size_t a = pick(n), b = pick(n);
		struct item swap = v[a];

		v[a] = v[b];
		v[b] = swap;
	}
}

static void as_qsort(void **state)
{
	static struct item v[MOST], want[MOST];

	(void)state;
	for (unsigned round = 1; round <= 2000; round++) {
		size_t n;

		rng = round;
		n = pick(MOST + 1);
		fill(v, n);
		fill(want, n);
		stir(v, n, pick(3) ? pick(4) : n);
		resort(v, n, sizeof(*v), by_key);
		assert_memory_equal(v, want, n * sizeof(*v));
	}
}

/* What stands as it stood costs one look each; what is reversed no more than sorting it. */
static void cheap_when_sorted(void **state)
{
	static struct item v[MOST];

	(void)state;
	fill(v, MOST);
	asked = 0;
	resort(v, MOST, sizeof(*v), by_key);
	assert_int_equal(asked, MOST - 1);
	for (size_t i = 0; i < MOST / 2; i++) {
		struct item swap = v[i];

		v[i] = v[MOST - 1 - i];
		v[MOST - 1 - i] = swap;
	}
	asked = 0;
	resort(v, MOST, sizeof(*v), by_key);
	assert_true(asked < 30 * MOST);
	for (size_t i = 0; i < MOST; i++)
		assert_int_equal(v[i].key, i * 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(as_qsort),
		cmocka_unit_test(cheap_when_sorted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
