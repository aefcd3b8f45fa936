/* gpu_checks.h - when drained GPUs are checked, so that they may return to use
 *
 * A GPU that was drained because of a fault (gpu_faults.h) is checked every `health_recheck`, and
 * whenever its agent registers: the agent gets the order (EFFECT_CHECK_GPUS) and checks the GPU,
 * and if no fault is left the GPU is returned to use. How it returns depends on the fault
 * (common/gpu/gpufault.h):
 *
 *	GPU_BACK_WELL	a check by the agent finds it well
 *	GPU_BACK_RESET	the same, but only after the node was booted or the GPU was reset: until
 *			then it is not checked
 *	GPU_BACK_NEVER	an operator resumes it
 */
#ifndef CTLD_CORE_GPU_CHECKS_H
#define CTLD_CORE_GPU_CHECKS_H

#include "ctld/core/nodes/gpu_drains.h"

/* Identifies the node's boot: its boot id as one word, for a drain (struct gpu_drain). */
void gpu_boot(const struct node *node, char boot[GPU_BOOT_MAX]);

/* May it return to use by itself, if a check finds no fault? */
bool gpu_may_return(const struct node *node, const struct gpu_drain *drain);

/* Check now what may come back: the node has registered. */
void gpu_checks_order(struct core *core, struct node *node);
/* Set the time of the next check, if one is due; the drains or the configuration of the node have
 * changed. */
void gpu_checks_later(struct core *core, struct node *node);
void gpu_checks_moved(void *item, uint32_t index); /* of core.checks */
void gpu_checks_timer(struct core *core);
usec_t gpu_checks_next(const struct core *core); /* mono; INT64_MAX: none */

#endif
