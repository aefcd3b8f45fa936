/* probe_watchdog.h - probes all GPUs, and leaves out those where a driver call hangs or crashes
 *
 * The driver's library can hang in the kernel for ever and can crash. So only a child process loads
 * it, and writes what it finds (nvml_discovery.h) to memory shared with us. When the child has
 * ended, or has not finished in time, that memory is copied and validated (gpus_settle()).
 *
 * If the child hung or crashed at one GPU, another child leaves that GPU out; the GPU becomes an
 * entry in trouble and the other GPUs are known. A child that cannot be killed is abandoned, and
 * its GPU is not queried again as long as the child exists; so there is at most one such child for
 * each GPU. If a child hangs like that at no particular GPU (nvmlInit), no new probe begins until
 * it has ended. If a child hung or crashed while it read only the optional connections between
 * GPUs, its results are complete otherwise and are used, and the connections are not read again: at
 * most one more such child.
 *
 * The launcher probes as root, because a node's first call of NVML may have to make the device
 * nodes; `gnoded --inventory` probes as the calling user. The network half never loads the library.
 *
 * The child is a driver process (driver_process.h).
 */
#ifndef NODED_PROBE_WATCHDOG_H
#define NODED_PROBE_WATCHDOG_H

#include <stdbool.h>

#include "common/base/error.h"
#include "noded/gpu/gpus.h"

/* without its persistence daemon the driver first wakes up the GPUs */
#define PROBE_TIMEOUT_MS 20000

struct gpu_probe;

/* `root` (borrowed, less than 256 bytes) is a prefix of /proc and /sys: "" except in tests. */
struct gpu_probe *gpu_probe_new(const char *root, unsigned timeout_ms);
void gpu_probe_free(struct gpu_probe *p); /* kills its child; NULL is fine */

/* Begin a probe; none may be in progress. -1 with ERR_SYSTEM. */
int gpu_probe_start(struct gpu_probe *p, struct error *err);

/* During a probe: a descriptor that is readable when the child has ended, and how long to wait for
 * that. The descriptor changes after each gpu_probe_take(). */
int gpu_probe_fd(const struct gpu_probe *p);
unsigned gpu_probe_timeout_ms(const struct gpu_probe *p);

/* The child has ended or its time is up. True: `out` is the result. False: one GPU is left out now
 * and the others are queried again, so wait again. */
bool gpu_probe_take(struct gpu_probe *p, struct gpus *out);

/* A complete probe in one blocking call. */
int gpu_probe_run(const char *root, unsigned timeout_ms, struct gpus *out, struct error *err);

#endif
