/* closest_gpus.h - which GPUs of a node to give to one job, so that they are close to each other
 *
 * If it is known how close a node's GPUs are (common/gpu/gpu_topology.h), the best set of `n` of the
 * available GPUs is chosen by these rules, in this order:
 *
 *	1. Its two farthest GPUs are the closest: a collective operation is as slow as its
 *	   slowest link.
 *	2. The sum over all its pairs is the closest.
 *	3. It is the farthest from the GPUs that stay free, summed over all pairs: a job of one or
 *	   two GPUs takes the rest of a switch and does not break up a full one.
 *	4. It has the lowest indices.
 *
 * The choice is exact while there are at most CLOSEST_TRIED sets: 8 GPUs have at most 70, 12
 * have 924. If there are more, a set is grown from each GPU by adding the closest GPU again and
 * again, and the best of these sets is taken.
 *
 * Only whole GPUs have a closeness. MIG instances and shares are placed by other rules
 * (ledger.h).
 */
#ifndef CTLD_CORE_CLOSEST_GPUS_H
#define CTLD_CORE_CLOSEST_GPUS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/conf/conf.h"
#include "common/gpu/gpu_topology.h"

#define CLOSEST_TRIED 1000

/* How close a node's GPUs are, by index. */
struct closeness {
	uint32_t n;
	uint64_t known; /* bit set: GPUs of which something is known */
	near_t v[];     /* n times n */
};

struct closeness *closeness_new(uint32_t n); /* nothing is known; free(3) */
void closeness_set(struct closeness *c, uint32_t a, uint32_t b, near_t near);
near_t closeness_of(const struct closeness *c, uint32_t a, uint32_t b);

/* The closeness of the two GPUs of a set that are the farthest from each other; 0: the set has no
 * two GPUs. */
near_t closeness_worst(const struct closeness *c, uint64_t gpus);

/* Are some of them closer than others? If not, any choice is as good as another. */
bool closeness_matters(const struct closeness *c);

/* The best `n` of the set `from`, which has at least that many. */
uint64_t closest(const struct closeness *c, uint64_t from, uint32_t n);

/* A number for how good the best `n` of `from` are by rules 1 to 3, to compare with as many on
 * another node: larger is better. `c` NULL: nothing is known of the node. */
uint64_t closest_worth(const struct closeness *c, uint64_t from, uint32_t n);

/* The closeness of the two farthest GPUs of a set with this worth. */
near_t closest_worst(uint64_t worth);

/* The smallest number such that any so many GPUs of `from` include `n` with each pair at least as
 * close as `least`; 0: not even all of `from` do. Exact if GPUs that are this close form groups,
 * as with PCIe and NVSwitches; elsewhere the result may be larger, at most the size of `from`. */
uint32_t closest_sure(const struct closeness *c, uint64_t from, uint32_t n, near_t least);

/* Does `from` include `n` such GPUs? */
bool closest_has(const struct closeness *c, uint64_t from, uint32_t n, near_t least);

#endif
