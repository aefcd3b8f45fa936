/* gpu_samples.h - what the GPUs of a node do, as its agent sampled it last
 *
 * Volatile, by index, for listings alone: nothing is decided by it. A sample stays until the next
 * one of the same GPU, or until the node's indices are bound to other GPUs (devices.h); it is
 * shown with its age.
 */
#ifndef CTLD_CORE_GPU_SAMPLES_H
#define CTLD_CORE_GPU_SAMPLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/job/run.h"

struct gpu_sample;
struct node;
struct node_link;

/* Samples of GPUs that the node does not have are left out. */
void gpu_samples_apply(
        struct node *node, const struct gpu_sample *samples, size_t n, struct clocks now);

/* The last one of the index, and when it came (mono); NULL: none. */
const struct gpu_sample *gpu_samples_at(const struct node_link *l, uint32_t index, usec_t *mono);

#endif
