/* sampler_watchdog.h - samples GPUs, and leaves out those where a driver call hangs or crashes
 *
 * Like probe_watchdog.h, for repeated queries: a driver process (driver_process.h) opens the
 * driver's library once and samples (nvml_usage.h) at each request, into memory that both processes
 * share. A process that crashes, or has not answered when the answer is taken, is killed; the next
 * process leaves out the GPU that it was querying, until gpu_sampler_rest(). A child that cannot be
 * killed is abandoned and its GPU is not queried again as long as the child exists.
 *
 * The child lives from the first request to gpu_sampler_rest(). It rests while no run holds a GPU:
 * then the GPUs are sampled in pulses, each with a child of its own (watch/usage_sampling.c).
 */
#ifndef NODED_SAMPLER_WATCHDOG_H
#define NODED_SAMPLER_WATCHDOG_H

#include <stdbool.h>

#include "common/base/error.h"
#include "noded/gpu/nvml_usage.h"

#define SAMPLER_MEMORY_MAX 64 /* slots of one request for memory alone */

struct gpu_sampler;

struct gpu_sampler *gpu_sampler_new(void);
void gpu_sampler_free(struct gpu_sampler *s); /* kills its child; NULL is fine */

/* Send a request; none may be pending. -1 with ERR_SYSTEM. */
int gpu_sampler_ask(struct gpu_sampler *s, struct error *err);
/* The same for only these slots, and only their memory and processes. */
int gpu_sampler_ask_memory(
        struct gpu_sampler *s, const char (*uuids)[GPUS_TEXT], uint32_t n, struct error *err);
/* GPUs (a set of NVML's indices) that a new child must leave out, in addition to those that the
 * sampler itself has found to hang. Good until gpu_sampler_rest(). */
void gpu_sampler_leave_out(struct gpu_sampler *s, uint64_t gpus);
/* Readable when there is an answer, or the child has ended. */
int gpu_sampler_fd(const struct gpu_sampler *s);

/* An answer has come, or the time is up. NULL: no answer; `trouble` (of `size`) says why, "" if
 * there is nothing to report. The answer is validated, and good until the next request. */
const struct gpu_uses *gpu_sampler_take(struct gpu_sampler *s, char *trouble, size_t size);

/* The CPU time that the child has used since the previous request. */
uint64_t gpu_sampler_cost_us(const struct gpu_sampler *s);

/* End the child until the next request. GPUs at which one has hung stay left out. */
void gpu_sampler_pause(struct gpu_sampler *s);
/* End the child, and forget which GPUs were left out: there is nothing to sample, or the GPUs have
 * changed. */
void gpu_sampler_rest(struct gpu_sampler *s);

#endif
