/* closest.h - which GPUs of a node to give to one job, so that they are close to each other
 *
 * Where a node has told how close its GPUs are (common/near.h), the best set of `n` of those that
 * may be given is, in this order, the one
 *
 *	1. whose two farthest are the closest: what they do together is as slow as its slowest link;
 *	2. whose pairs are the closest, all summed up;
 *	3. that is the farthest from what stays free, all pairs summed up: who asks for one or two
 *	   takes what is left of a switch rather than break up a full one;
 *	4. with the lowest indices.
 *
 * It is the best one as long as there are no more than CLOSEST_TRIED sets: 8 GPUs have 70 at most,
 * 12 have 924. Of more the best is taken of those that grow from each GPU, always by the one that
 * is closest to them.
 *
 * Only whole GPUs have a closeness. MIG instances and shares are placed by other rules (ledger.h).
 */
#ifndef CTLD_CORE_CLOSEST_H
#define CTLD_CORE_CLOSEST_H

#include <stdbool.h>
#include <stdint.h>

#include "common/conf.h"
#include "common/near.h"

#define CLOSEST_TRIED 1000

/* How close a node's GPUs are, by index. */
struct closeness {
	uint32_t n;
	uint64_t known; /* bit set: of these anything is known */
	near_t v[];     /* n times n */
};

struct closeness *closeness_new(uint32_t n); /* nothing is known; free(3) */
void closeness_set(struct closeness *c, uint32_t a, uint32_t b, near_t near);
near_t closeness_of(const struct closeness *c, uint32_t a, uint32_t b);

/* Of the two of a set that are the farthest from each other; 0: there are no two. */
near_t closeness_worst(const struct closeness *c, uint64_t gpus);

/* Are some of them closer than others? If not, whichever is as good. */
bool closeness_matters(const struct closeness *c);

/* The best `n` of the set `from`, which has as many or more. */
uint64_t closest(const struct closeness *c, uint64_t from, uint32_t n);

/* What the best `n` of `from` are worth by rules 1 to 3, to be compared with as many on another
 * node: the more the better. NULL: of a node of which nothing is known. */
uint64_t closest_worth(const struct closeness *c, uint64_t from, uint32_t n);

/* The two that are the farthest from each other, of what that is the worth of. */
near_t closest_worst(uint64_t worth);

/* The fewest that do for sure: any so many of `from` have `n` of which each two are at least so
 * close; 0: not even all have. Exact where those that are so close are groups, as by PCIe and with
 * NVSwitches; elsewhere it may say more, all at the most. */
uint32_t closest_sure(const struct closeness *c, uint64_t from, uint32_t n, near_t least);

/* Has `from` got `n` such? */
bool closest_has(const struct closeness *c, uint64_t from, uint32_t n, near_t least);

#endif
