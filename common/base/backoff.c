/* backoff.c - see backoff.h */
#include "common/base/backoff.h"

#include "common/base/splitmix.h"

void backoff_init(struct backoff *b, uint32_t min_ms, uint32_t max_ms, uint64_t seed)
{
	b->min_ms = min_ms ? min_ms : 1;
	b->max_ms = max_ms < b->min_ms ? b->min_ms : max_ms;
	b->tries = 0;
	b->state = seed;
}

uint32_t backoff_next_ms(struct backoff *b)
{
	uint64_t top;

	if (b->tries < 31)
		b->tries++;
	top = (uint64_t)b->min_ms << b->tries;
	if (top > b->max_ms)
		top = b->max_ms;
	return (uint32_t)(b->min_ms + splitmix_next(&b->state) % (top - b->min_ms + 1));
}

void backoff_reset(struct backoff *b)
{
	b->tries = 0;
}
