/* gpu_checks.h - GPUs that the controller wants examined: a probe, then a look for processes */
#ifndef NODED_GPU_CHECKS_H
#define NODED_GPU_CHECKS_H

#include "common/gpusched.pb-c.h"

struct gpu_checks;
struct gpus;
struct launcher;

struct gpu_checks *gpu_checks_new(void);
void gpu_checks_free(struct gpu_checks *c); /* NULL is fine */

/* Examine these. Nothing happens while others are examined: the controller asks again for GPUs that
 * are not in the answer. */
void gpu_checks_order(struct launcher *l, const Gpusched__GpuCheck *m);
/* A probe has ended. */
void gpu_checks_probed(struct launcher *l, const struct gpus *now);

#endif
