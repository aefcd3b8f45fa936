/* Of what a test tries many times, drawn by chance or one by one: how many times. A test
 * that can do with fewer asks for it here, so that one variable makes all of them smaller where
 * programs are slow (testsuite/run sets TEST_FEWER under sanitizers), and one of their own makes
 * one larger (make campaign). */
#ifndef UNIT_AMOUNT_H
#define UNIT_AMOUNT_H

#include <stdint.h>
#include <stdlib.h>

/* The number in the variable NAME of the environment; `otherwise` without it. */
static inline uint64_t env_number(const char *name, uint64_t otherwise)
{
	const char *text = getenv(name);

	return text ? strtoull(text, NULL, 10) : otherwise;
}

/* How many times fewer: 1 is all. */
static inline uint64_t fewer(void)
{
	uint64_t n = env_number("TEST_FEWER", 1);

	return n ? n : 1;
}

/* Of things that are tried one by one, not drawn: each how-manieth is tried. 1 is all. */
static inline uint64_t sparse(void)
{
	return (fewer() + 3) / 4;
}

/* `all`, or as many times fewer, but never none; what the variable `name` says where that is
 * set. */
static inline uint64_t amount(const char *name, uint64_t all)
{
	return env_number(name, all < fewer() ? 1 : all / fewer());
}

#endif
