/* faults.h - what agents tell of their GPUs, and what becomes of them
 *
 * A fault is told again until it was acknowledged; each is applied once: its number is compared
 * with the last that was applied (node_info.faults_seen), in the same change as what it does. What
 * it does is said by one table (common/gpufault.h) and the node's `health_events`:
 *
 *	note    an event of the audit trail
 *	gpu     the GPU is drained by nobody (health.h), unless it is already, by an operator or for
 *	        something that takes longer to come back from; what becomes of the jobs on it the
 *	        node's `health_jobs` says
 *	node    its node is drained, and the same of all its jobs
 *
 * What was drained so and may come back is looked at again every `health_recheck`, and whenever its
 * agent registers: the agent is asked (EFFECT_CHECK_GPUS), looks anew, and where nothing is wrong
 * any more the GPU is given to jobs again. What an operator has drained stays drained.
 */
#ifndef CTLD_CORE_FAULTS_H
#define CTLD_CORE_FAULTS_H

#include "ctld/core/nodes/health.h"

void gpu_report_apply(struct core *core, const struct core_event *event);

/* May it come back by itself, if a look finds nothing wrong? */
bool gpu_may_return(const struct node *node, const struct gpu_drain *drain);

/* Have it looked at now what may come back: the node has registered. */
void faults_check(struct core *core, struct node *node);
/* See when that is due next, if it is; its drains or its configuration have changed. */
void faults_later(struct core *core, struct node *node);
void faults_moved(void *item, uint32_t index); /* of core.checks */
void faults_timer(struct core *core);
usec_t faults_next(const struct core *core); /* mono; INT64_MAX: none */

#endif
