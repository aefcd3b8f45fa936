/* gpu_reclaim.h - takes borrowed GPU memory back for the run that it belongs to
 *
 * A run with a part of a GPU may use memory that no other run has booked. When a run comes that
 * has booked it, the borrowers are asked to give back, and the start waits.
 */
#ifndef NODED_LAUNCHER_GPU_RECLAIM_H
#define NODED_LAUNCHER_GPU_RECLAIM_H

#include <stdbool.h>

#include "common/job/run.h"
#include "noded/runs/waiting_starts.h"

struct gpu_reclaim;
struct launcher;
struct run;

struct gpu_reclaim *gpu_reclaim_new(void);
void gpu_reclaim_free(struct gpu_reclaim *b); /* NULL is fine */

/* For a run that is to be started, whose GPUs and part are set. False: no run may have borrowed
 * memory of its GPUs. Else `fn` is called when the memory that it needs is free, not before this
 * returns, unless the run leaves first. */
bool gpu_reclaim_wait(struct launcher *l, struct run *run, waiting_start_fn *fn, void *arg);
void gpu_reclaim_leave(struct launcher *l, const struct run *run);

void gpu_reclaim_sampled(struct launcher *l, usec_t asked); /* GPUs sampled; asked: mono */
void gpu_reclaim_run_over(struct launcher *l);

#endif
