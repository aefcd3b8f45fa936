/* backoff.h - how long to wait before the next try
 *
 * Exponential, with full jitter: the n-th wait is drawn evenly from min..min*2^n, at most max, so
 * that a thousand agents which lost the same controller do not come back in step. Pure: chance
 * comes from the seed.
 */
#ifndef COMMON_BACKOFF_H
#define COMMON_BACKOFF_H

#include <stdint.h>

struct backoff {
	uint32_t min_ms, max_ms;
	uint32_t tries; /* failures so far */
	uint64_t state;
};

void backoff_init(struct backoff *b, uint32_t min_ms, uint32_t max_ms, uint64_t seed);
uint32_t backoff_next_ms(struct backoff *b); /* it failed again: wait so long */
void backoff_reset(struct backoff *b);       /* it worked */

#endif
