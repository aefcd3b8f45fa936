/* idle.h - jobs that leave their GPUs idle, by the idle_gpu setting of their partition or nodes
 *
 * The partition's setting counts; without one, the setting of each run's node. Where the nodes of
 * a job differ, each run is measured by its own node's marks, and the mildest action is taken. A
 * node without a setting keeps the job from being idle.
 *
 * Idle means no compute; GPU memory does not count. Time is measured by what is known, and no
 * clock is read: each message of a node says for how much more GPU-time it knows the compute use
 * of a run, and how much of that was busy. Time of which the use is not known (MIG, shared GPUs)
 * does not count. So a suspended run, or one on a node that does not report, never becomes idle.
 * One message with a busy share above the mark starts the measurement again.
 *
 * A job is idle when each of its living runs is. The idle job is noted with its runs (durable) and
 * in the log of events, once; or mailed about, once; or ended. A job that meanwhile uses or waits
 * for half a CPU or more is noted and not ended, unless the partition says otherwise.
 */
#ifndef CTLD_CORE_IDLE_H
#define CTLD_CORE_IDLE_H

#include "ctld/core/records/run.h"

struct core;

/* The node has reported more use of a run; `before` is what it had reported previously. */
void idle_look(struct core *core, struct run *run, const struct run_used *before);

#endif
