/* lost_work.h - the work that a job loses if one of its runs is stopped: all since its
 * checkpoint */
#ifndef CTLD_CORE_LOST_WORK_H
#define CTLD_CORE_LOST_WORK_H

struct run_snapshot;

/* In GPU-seconds of all its nodes; of a job without GPUs, in seconds (struct plan_runs). */
double snapshot_work(void *core, const struct run_snapshot *snapshot);

#endif
