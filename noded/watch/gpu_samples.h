/* gpu_samples.h - what each GPU of the node does, for the controller
 *
 * A message carries the samples of one round (usage_sampling.c): of all GPUs, whether runs hold
 * them or not. They are not kept here: the controller shows the last ones.
 */
#ifndef NODED_GPU_SAMPLES_H
#define NODED_GPU_SAMPLES_H

#include <stddef.h>

#include "common/gpusched.pb-c.h"
#include "noded/gpu/nvml_usage.h"

struct launcher;

/* The samples of the node's slots as messages, which borrow the texts of `uses`; at most
 * GPUS_SLOTS_MAX. *n: how many. The caller frees what it gets with gpu_samples_free(). */
Gpusched__GpuSample **gpu_samples_messages(
        const struct launcher *l, const struct gpu_uses *uses, size_t *n);
void gpu_samples_free(Gpusched__GpuSample **v);

#endif
