/* clocks.c - ctld_mono() and ctld_now() of ctld.h, by themselves: tests have clocks of their own */
#include "common/base/clock.h"
#include "ctld/ctld.h"

usec_t ctld_mono(void)
{
	return clock_us(CLOCK_MONOTONIC);
}

struct clocks ctld_now(void)
{
	return (struct clocks){ .wall = clock_us(CLOCK_REALTIME), .mono = ctld_mono() };
}
