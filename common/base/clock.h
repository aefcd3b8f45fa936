/* clock.h - a clock of this machine, in micro- or milliseconds: clock_us(CLOCK_MONOTONIC) */
#ifndef COMMON_CLOCK_H
#define COMMON_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline int64_t clock_us(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static inline int64_t clock_ms(clockid_t clock)
{
	return clock_us(clock) / 1000;
}

#endif
