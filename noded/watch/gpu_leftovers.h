/* gpu_leftovers.h - processes on GPUs that no run holds
 *
 * A process that stays on a GPU after its run uses memory and time of the next run. So a start
 * waits until it is known that there is none, and a process that stays is a fault of the GPU.
 */
#ifndef NODED_GPU_LEFTOVERS_H
#define NODED_GPU_LEFTOVERS_H

#include <stddef.h>
#include <stdint.h>

#include "common/gpusched.pb-c.h"
#include "noded/gpu/gpus.h"
#include "noded/runs/waiting_starts.h"

struct gpu_leftovers;
struct launcher;

struct gpu_leftovers *gpu_leftovers_new(struct launcher *l);
void gpu_leftovers_free(struct gpu_leftovers *f); /* NULL is fine */

/* Called once, perhaps at once, when it is known whether processes were left on the GPUs: `left`
 * names them, NULL: there are none. A fault is recorded by then. Not called while the launcher is
 * being freed. */

/* Of the GPUs of an order, those that no other run has. */
void gpu_leftovers_wait(
        struct launcher *l, const Gpusched__StartRun *order, waiting_start_fn *fn, void *arg);
/* Of a list of UUIDs, those that no run has. */
void gpu_leftovers_check(
        struct launcher *l, char (*uuids)[GPUS_TEXT], size_t n, waiting_start_fn *fn, void *arg);

/* A run or MPS no longer uses these GPUs (a set of indices): check whether processes stay there. */
void gpu_leftovers_freed(struct launcher *l, uint64_t gpus);
/* The next sample queries the GPUs anew. */
void gpu_leftovers_gpus_changed(struct launcher *l);

#endif
