/* poll_interval.c - see poll_interval.h */
#include "cmds/feed/poll_interval.h"

int64_t poll_interval_after(struct poll_interval *r, int64_t took_ms)
{
	int64_t least = took_ms;

	r->took_ms[r->n++ % POLL_INTERVAL_LAST] = took_ms;
	for (unsigned i = 0; i < POLL_INTERVAL_LAST; i++)
		least = r->took_ms[i] < least ? r->took_ms[i] : least;
	return least * POLL_INTERVAL_TIMES;
}
