/* strand.h - which place strands least: the fragmentation gradient
 *
 * After Weng et al., "Beware of Fragmentation", USENIX ATC'23: a place on a node costs what the
 * typical tasks of the mix (mix.h) can use less of its GPUs afterwards.
 *
 * What a typical task can use of a node is what is left of the GPUs of its type that have enough
 * for it; nothing, if these are fewer than it wants or the node has too few free CPUs for one such
 * task. It is no more than the free CPUs do for, at the task's CPUs for what it wants of GPUs. The
 * paper counts CPUs only when not one such task fits any more, which is too late to have sent tasks
 * with many CPUs elsewhere.
 *
 * For the same reason what is left beyond what the free CPUs do for at the CPUs for a GPU of the
 * whole mix is stranded too.
 *
 * The worth of a node is the sum over the mixes of its types of weight times what can be used, less
 * what is stranded for want of CPUs. The weights say how scarce the types are that a task may have
 * (mix.h), and so a task that may have any leaves the scarce ones alone.
 *
 * Whole numbers only, so that it is the same everywhere. A worth is in thousandths of a GPU times
 * weight, and STRAND_FINE times as fine, because quotients are cut off; a cost is divided by all of
 * the weight and rounded to 1/STRAND_UNIT of a thousandth, so that places that cost the same are
 * equal in spite of that, and the choice between them is made by what else is known.
 */
#ifndef CTLD_CORE_STRAND_H
#define CTLD_CORE_STRAND_H

#include "common/conf.h"
#include "ctld/core/place/mix.h"

#define STRAND_NEVER INT64_MAX
#define STRAND_FINE  UINT64_C(65536)
#define STRAND_UNIT  64

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

int64_t strand_worth(const struct mix *mix, const struct strand_node *node);

/* The best GPUs on that node, each another one, and what of its worth the place takes. STRAND_NEVER: it cannot
 * be there now. */
int64_t strand_cost(const struct mix *mix, const struct strand_node *node,
        const struct strand_want *want, uint64_t *gpus);
/* What these GPUs cost, which do for it now. */
int64_t strand_cost_of(const struct mix *mix, const struct strand_node *node,
        const struct strand_want *want, uint64_t gpus);

#endif
