/* gpu_faults.h - GPU faults that agents report, and what the controller does about them
 *
 * An agent repeats the report of a fault until it is acknowledged, and the controller applies each
 * fault once: its number is compared with the last one applied (node_info.faults_seen), which
 * changes in the same commit as the effects. One table (common/gpu/gpufault.h) and the node's
 * `health_events` determine the effect:
 *
 *	note	an event of the audit trail
 *	gpu	the GPU is drained with GPU_NOBODY as the user (gpu_drains.h), unless an operator
 *		has drained it, or a fault that takes longer to recover from; the node's
 *		`health_jobs` says what becomes of the jobs on it
 *	node	its node is drained, and the same applies to all jobs there
 *
 * A GPU drained in this way that may come back is checked every `health_recheck`, and whenever its
 * agent registers: the agent gets the order (EFFECT_CHECK_GPUS) and checks the GPU, and if no
 * fault is left the GPU is returned to use. What an operator has drained stays drained.
 */
#ifndef CTLD_CORE_GPU_FAULTS_H
#define CTLD_CORE_GPU_FAULTS_H

#include "ctld/core/nodes/gpu_drains.h"

void gpu_report_apply(struct core *core, const struct core_event *event);

/* May it return to use by itself, if a check finds no fault? */
bool gpu_may_return(const struct node *node, const struct gpu_drain *drain);

/* Check now what may come back: the node has registered. */
void faults_check(struct core *core, struct node *node);
/* Set the time of the next check, if one is due; the drains or the configuration of the node have
 * changed. */
void faults_later(struct core *core, struct node *node);
void faults_moved(void *item, uint32_t index); /* of core.checks */
void faults_timer(struct core *core);
usec_t faults_next(const struct core *core); /* mono; INT64_MAX: none */

#endif
