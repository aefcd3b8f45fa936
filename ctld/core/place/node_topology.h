/* node_topology.h - how close a node's GPUs are to each other, as configured and as reported
 *
 * The configuration may give it (`gpu_near`), and an agent reports what it has found
 * (common/gpu/gpu_topology.h). The report counts. The configured value counts where there is no
 * report: for nodes without hardware or without an agent yet, and where a driver does not say.
 *
 * The configured closeness is also a demand: which GPUs are at fault if two are reported farther
 * from each other is in nodes/gpu_link_faults.h.
 *
 * Only whole GPUs are close or far; MIG instances have no number here.
 */
#ifndef CTLD_CORE_NODE_TOPOLOGY_H
#define CTLD_CORE_NODE_TOPOLOGY_H

#include "common/conf/conf.h"
#include "ctld/core/place/closest_gpus.h"

#define NEARNESS_NOWHERE UINT32_MAX

/* What an index of the node stands for. */
struct nearness_gpu {
	uint32_t number;  /* number of the host's GPU; NEARNESS_NOWHERE: not known */
	const char *told; /* near_place_write(); "": nothing was reported */
};

/* Two GPUs, by index, that are reported farther from each other than configured. */
struct nearness_pair {
	uint32_t a, b;
	near_t wanted, found;
};

struct nearness_pairs {
	struct nearness_pair v[CONF_MAX_GPUS_PER_NODE * (CONF_MAX_GPUS_PER_NODE - 1) / 2];
	size_t n;
};

/* Fills in the state without any report: whole GPUs are numbered in the order of their indices,
 * without those that `mig` cuts. */
void nearness_written(const struct conf *conf, const struct conf_node *node,
        struct nearness_gpu gpus[CONF_MAX_GPUS_PER_NODE]);

/* How close the first `n` are; NULL: nothing is known. free(3). `farther` is filled in; NULL:
 * not needed. */
struct closeness *nearness_new(const struct conf_node *node, const struct nearness_gpu *gpus,
        size_t n, struct nearness_pairs *farther);

#endif
