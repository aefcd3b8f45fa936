/* probe.h - looking at GPUs without being hurt
 *
 * The driver's library can hang in the kernel for ever and can crash. So it is only ever loaded in
 * a child, which writes what it finds (look.h) to memory shared with us; when it has ended, or has
 * not come back in time, that is copied and made sound (gpus_settle()). If it hung or crashed over
 * one GPU, another child leaves that one out and it is an entry in trouble: the other GPUs are
 * known. A child that cannot be killed is left alone, and its GPU is not asked again while it is
 * there; so at most one such child a GPU is ever left. One that hangs so in no one GPU (nvmlInit) is
 * waited for before there is another look. One that hung or crashed when all was known but what
 * only the driver knows of two GPUs together has found what is needed, and that is not asked again:
 * one more such child.
 *
 * Who probes: the launcher, as root, because a node's first call of NVML may have to make the
 * device nodes; and `gnoded --inventory`, as whoever calls it. The network half never loads it.
 *
 * The child is a helper (helper.h).
 */
#ifndef NODED_GPU_PROBE_H
#define NODED_GPU_PROBE_H

#include <stdbool.h>

#include "common/error.h"
#include "noded/gpu/gpus.h"

#define PROBE_TIMEOUT_MS 20000 /* without its persistence daemon the driver wakes up GPUs first */

struct gpu_probe;

/* `root` (borrowed, less than 256 bytes) is put before /proc and /sys: "" but for tests. */
struct gpu_probe *gpu_probe_new(const char *root, unsigned timeout_ms);
void gpu_probe_free(struct gpu_probe *p); /* kills its child; NULL is fine */

/* Begin a look; there must be none under way. -1 with ERR_SYSTEM. */
int gpu_probe_start(struct gpu_probe *p, struct error *err);
bool gpu_probe_busy(const struct gpu_probe *p);

/* While one is under way: readable when the child has ended; and how long to wait for that. The
 * descriptor is another one after each gpu_probe_take(). */
int gpu_probe_fd(const struct gpu_probe *p);
unsigned gpu_probe_timeout_ms(const struct gpu_probe *p);

/* The child has ended or its time is up. True: `out` is what was found. False: a GPU is left out
 * and the others are asked again, so wait again. */
bool gpu_probe_take(struct gpu_probe *p, struct gpus *out);

/* The whole at once, blocking. */
int gpu_probe_run(const char *root, unsigned timeout_ms, struct gpus *out, struct error *err);

#endif
