/* fragmentation.h - which place causes the least fragmentation: the fragmentation gradient
 *
 * After Weng et al., "Beware of Fragmentation", USENIX ATC'23: the cost of a place on a node is
 * how much less of the node's GPUs the typical tasks of the workload profile (workload_profile.h)
 * can use afterwards.
 *
 * What a typical task can use of a node is what is left of the GPUs of its type that have enough
 * left for it. It is nothing if there are fewer such GPUs than the task requests, or if the node
 * has too few free CPUs for one such task. It is at most what the free CPUs suffice for, at the
 * task's ratio of CPUs to GPUs. The paper counts CPUs only when not one such task fits any more;
 * that is too late to have placed tasks with many CPUs elsewhere.
 *
 * For the same reason, GPU capacity beyond what the free CPUs suffice for, at the average ratio of
 * CPUs to GPUs of the whole profile, counts as stranded too.
 *
 * The worth of a node is the sum over the profiles of its types of weight times usable capacity,
 * less the capacity that is stranded for lack of CPUs. The weights express how scarce the types
 * are that a task accepts (workload_profile.h), so a task that accepts any type leaves the scarce
 * ones alone.
 *
 * All numbers are integers, so that the result is the same everywhere. A worth is in thousandths
 * of a GPU times weight, and FRAGMENTATION_FINE times finer, because quotients are truncated. A
 * cost is divided by the sum of the weights and rounded to 1/FRAGMENTATION_UNIT of a thousandth. So
 * places with equal costs compare as equal in spite of the truncation, and other rules choose
 * between them.
 */
#ifndef CTLD_CORE_FRAGMENTATION_H
#define CTLD_CORE_FRAGMENTATION_H

#include "common/conf/conf.h"
#include "ctld/core/place/workload_profile.h"

#define FRAGMENTATION_NEVER INT64_MAX
#define FRAGMENTATION_FINE  UINT64_C(65536)
#define FRAGMENTATION_UNIT  64

/* A node as it is now. */
struct fragmentation_node {
	uint32_t n; /* GPUs that can be given, free or shared */
	struct fragmentation_gpu {
		uint32_t index, left; /* of the host; thousandths */
		uint16_t type;
		struct shared_gpu gpu; /* runs 0: it is free */
	} v[CONF_MAX_GPUS_PER_NODE];
	uint32_t cpus; /* free */
	bool shares;   /* its GPUs may be shared */
};

/* What one node is to give. */
struct fragmentation_want {
	uint16_t type; /* TYPE_NONE: no GPU */
	uint32_t gpus;
	struct share_wish wish;
	uint32_t cpus;
};

int64_t fragmentation_worth(const struct profile *profile, const struct fragmentation_node *node);

/* The best GPUs on that node, each a different one; returns by how much the place lowers the
 * node's worth. FRAGMENTATION_NEVER: the place is not possible there now. */
int64_t fragmentation_cost(const struct profile *profile, const struct fragmentation_node *node,
        const struct fragmentation_want *want, uint64_t *gpus);
/* The cost of these GPUs, which can satisfy the request now. */
int64_t fragmentation_cost_of(const struct profile *profile, const struct fragmentation_node *node,
        const struct fragmentation_want *want, uint64_t gpus);

#endif
