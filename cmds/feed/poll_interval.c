/* poll_interval.c - see poll_interval.h */
#include "cmds/feed/poll_interval.h"

int64_t rest_after(struct rest *r, int64_t took_ms)
{
	int64_t least = took_ms;

	r->took_ms[r->n++ % REST_LAST] = took_ms;
	for (unsigned i = 0; i < REST_LAST; i++)
		least = r->took_ms[i] < least ? r->took_ms[i] : least;
	return least * REST_TIMES;
}
