/* strand.h - which place strands least: the fragmentation gradient
 *
 * After Weng et al., "Beware of Fragmentation", USENIX ATC'23. For each typical task of the mix
 * (mix.h) what is free on a node is a fragment: all of it, if the task cannot run there now (no
 * such GPU, no GPUs or CPUs enough), else what is left on GPUs that have less than the task wants
 * of one. The fragmentation of a node is the mean over the mix. A place costs what it adds to it.
 *
 * To that comes what the paper leaves out: GPUs for which the node will have no CPUs. What is free
 * beyond what the free CPUs do for, at the mix's CPUs for a GPU, is as good as stranded. So tasks
 * with many CPUs go where there are many for a GPU, before a single task is kept out anywhere.
 *
 * Whole numbers only, in thousandths of a GPU times the weight of the mix: the same everywhere.
 */
#ifndef CTLD_CORE_STRAND_H
#define CTLD_CORE_STRAND_H

#include "common/conf.h"
#include "ctld/core/mix.h"

#define STRAND_NEVER INT64_MAX

/* A node as it is now. */
struct strand_node {
	uint32_t n; /* GPUs that can be given, free or shared */
	struct strand_card {
		uint32_t index, left; /* of the host; thousandths */
		uint16_t type;
		struct card card; /* runs 0: it is free */
	} v[CONF_MAX_GPUS_PER_NODE];
	uint32_t cpus; /* free */
	bool shares;   /* its GPUs may be shared */
};

/* What one node is to give. */
struct strand_want {
	uint16_t type; /* TYPE_NONE: no GPU */
	uint32_t gpus;
	struct share_wish wish;
	uint32_t cpus;
};

int64_t strand_now(const struct mix *mix, const struct strand_node *node);

/* The best GPUs on that node, each another one, and what the place costs. STRAND_NEVER: it cannot
 * be there now. */
int64_t strand_cost(const struct mix *mix, const struct strand_node *node,
        const struct strand_want *want, uint64_t *gpus);
/* What these GPUs cost, which do for it now. */
int64_t strand_cost_of(const struct mix *mix, const struct strand_node *node,
        const struct strand_want *want, uint64_t gpus);

#endif
