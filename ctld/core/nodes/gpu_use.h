/* gpu_use.h - a GPU is taken out of use, or returned to use
 *
 * By an operator (node_control.c), or because of a fault and after a check (gpu_faults.c). The list of
 * drained GPUs changes (gpu_drains.h), and with it which GPUs of the node can be given to jobs,
 * what its other GPUs amount to, and when its agent is to check them (gpu_checks.h). What runs on
 * the GPU continues.
 */
#ifndef CTLD_CORE_GPU_USE_H
#define CTLD_CORE_GPU_USE_H

#include <stdint.h>

struct core;
struct gpu_drain;
struct node;

/* Drains the index; fills in drain->gpu. A drain replaces an earlier one. */
void gpu_drain(struct core *core, struct node *node, uint32_t index, struct gpu_drain *drain);
void gpu_return(struct core *core, struct node *node, uint32_t index);

#endif
