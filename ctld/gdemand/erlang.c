/* erlang.c - see erlang.h */
#include "ctld/gdemand/erlang.h"

#include <math.h>

#define MOST 100000000 /* servers */

double erlang_waits(double load, uint32_t servers)
{
	double b = 1;
	uint32_t k;

	if (!(load > 0))
		return 0;
	if (load >= servers)
		return 1;
	/* Erlang's B by its recurrence, which neither overflows nor cancels. */
	for (k = 1; k <= servers; k++)
		b = load * b / (k + load * b);
	return b / (1 - load / servers * (1 - b));
}

double erlang_waits_over(double load, uint32_t servers, double duration, double time)
{
	if (load >= servers)
		return 1;
	return erlang_waits(load, servers) * exp(-(servers - load) * time / duration);
}

uint32_t erlang_servers(double load, double duration, double time, double late)
{
	uint32_t low, high, middle;

	if (!(load > 0) || load >= MOST)
		return load > 0 ? MOST : 0;
	low = (uint32_t)load; /* too few */
	for (high = low + 1; high < MOST && erlang_waits_over(load, high, duration, time) > late;)
		high += high - low;
	while (high - low > 1) {
		middle = low + (high - low) / 2;
		if (erlang_waits_over(load, middle, duration, time) > late)
			low = middle;
		else
			high = middle;
	}
	return high;
}
