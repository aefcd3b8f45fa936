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
 * How a GPU that was drained in this way returns to use: gpu_checks.h. What an operator has drained
 * stays drained.
 */
#ifndef CTLD_CORE_GPU_FAULTS_H
#define CTLD_CORE_GPU_FAULTS_H

struct core;
struct core_event;

/* EV_GPU_REPORT: faults, and what checks have found. */
void gpu_report_apply(struct core *core, const struct core_event *event);

#endif
