/* gang.h - which nodes a gang gets, out of those that could give it a part
 *
 * Pure; for places now (ledger.c) and later (plan.c). In this order:
 *	1. Required nodes are always in.
 *	2. If preferred nodes (with the required) are enough for nodes_min, only they count.
 *	3. With a number of GPUs for each node (or none): as many nodes as there are, up to
 *	   nodes_max. With a number for the whole job: the fewest nodes that give it.
 *	4. For that many nodes: the fewest leaf switches. All nodes without a leaf count as on one
 *	   more switch.
 *	5. Packed: the leaf that is filled best, in it the nodes with the fewest free GPUs, then
 *	   those whose GPUs are closest, then the fewest free CPUs, then the first. Spread: the leaf
 *	   and the nodes with the most. For a total: always the nodes with the most free GPUs, each
 *	   filled up, the last gets what is left.
 *
 * Step 4 is exact, except for totals over nodes that differ: there the search stops after
 * GANG_SEARCH steps, and the result may have a switch or two more (it is a covering problem).
 */
#ifndef CTLD_CORE_GANG_H
#define CTLD_CORE_GANG_H

#include "ctld/core/request/requests.h"

#define GANG_SEARCH 20000

/* A node that could give a part. Each node occurs once. */
struct gang_candidate {
	uint32_t node;
	uint32_t leaf; /* as conf_node.leaf */
	uint32_t gpus; /* GPUs of the type that it could give; at least request_part_gpus(). For a
		        * gang without GPUs: its free GPUs, of all types */
	bool required, preferred;
	uint64_t worth;     /* how close its GPUs are; 0 where that makes no difference */
	uint32_t cpus_left; /* for packing */
};

struct gang_part {
	uint32_t node, gpus;
};

/* By node. { 0 } is empty; it can be used again. */
struct gang_choice {
	struct gang_part *v;
	size_t n, size;
};

/* False: the candidates do not suffice; *out is then unchanged, except for its size. */
bool gang_choose(const struct request *r, uint32_t alternative, bool spread,
        const struct gang_candidate *v, size_t n, struct gang_choice *out);
void gang_choice_free(struct gang_choice *c);

#endif
