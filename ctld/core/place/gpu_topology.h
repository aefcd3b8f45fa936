/* gpu_topology.h - how close a node's GPUs are to each other, as configured and as reported
 *
 * The configuration may give it (`gpu_near`), and an agent reports what it has found
 * (common/gpu/gpu_topology.h). The report counts. The configured value counts where there is no report: for
 * nodes without hardware or without an agent yet, and where a driver does not say.
 *
 * The configured closeness is also a demand: if two GPUs are reported farther from each other, one
 * or both of them *lack* something, and a GPU that lacks something is given to no job (devices.h).
 * A GPU whose links are down is far from all others, and the others are not at fault. So the GPU
 * that lacks the most is taken out (if several are equal, all of these), and so on until the
 * remaining GPUs are as close as demanded.
 *
 * Only whole GPUs are close or far; MIG instances have no number here.
 */
#ifndef CTLD_CORE_GPU_TOPOLOGY_H
#define CTLD_CORE_GPU_TOPOLOGY_H

#include "common/conf/conf.h"
#include "ctld/core/place/closest_gpus.h"

#define NEARNESS_NOWHERE UINT32_MAX

/* What an index of the node stands for. */
struct nearness_gpu {
	uint32_t number;  /* number of the host's GPU; NEARNESS_NOWHERE: not known */
	const char *told; /* near_place_write(); "": nothing was reported */
};

struct nearness_lack {
	bool is;
	uint32_t number; /* of the other GPU; of the first one if there are several */
	near_t wanted, found;
};

/* Fills in the state without any report: whole GPUs are numbered in the order of their indices,
 * without those that `mig` cuts. */
void nearness_written(const struct conf *conf, const struct conf_node *node,
        struct nearness_gpu gpus[CONF_MAX_GPUS_PER_NODE]);

/* How close the first `n` are; NULL: nothing is known. free(3). `lacks`: n of them, filled in;
 * NULL: not needed. */
struct closeness *nearness_new(const struct conf_node *node, const struct nearness_gpu *gpus,
        size_t n, struct nearness_lack *lacks);

/* "NV18 to GPU 3 wanted, PIX found". Returns `text`. */
#define NEARNESS_WORDS 64
const char *nearness_words(const struct nearness_lack *lack, char text[NEARNESS_WORDS]);

#endif
