/* gpu_link_faults.h - fewer NVLinks than configured, or farther over PCIe: which GPU is at fault
 *
 * The configured closeness of a node's GPUs (place/gpu_topology.h) is a demand: if two are reported
 * farther from each other, one or both of them are at *fault*, and a GPU at fault is given to no job
 * (devices.h). A GPU whose links are down is far from all others, and the others are not at fault.
 * So the GPU in the most such pairs is taken out (if several are equal, all of these), and so on
 * until the remaining GPUs are as close as demanded.
 */
#ifndef CTLD_CORE_GPU_LINK_FAULTS_H
#define CTLD_CORE_GPU_LINK_FAULTS_H

#include "ctld/core/place/node_topology.h"

struct gpu_link_fault {
	bool is;
	uint32_t number; /* of the other GPU; of the first one if there are several */
	near_t wanted, found;
};

/* Marks those of the `n` GPUs that are at fault; `faults` has n zeroed entries. */
void gpu_link_faults(const struct nearness_pairs *pairs, const struct nearness_gpu *gpus, size_t n,
        struct gpu_link_fault *faults);

/* "NV18 to GPU 3 wanted, PIX found". Returns `text`. */
#define GPU_LINK_FAULT_WORDS 64
const char *gpu_link_fault_words(
        const struct gpu_link_fault *fault, char text[GPU_LINK_FAULT_WORDS]);

#endif
