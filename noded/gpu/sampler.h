/* sampler.h - sampling GPUs without being hurt
 *
 * Like probe.h, for what is asked over and over: a helper (helper.h) opens the driver's library once and
 * samples (sample.h) each time it is asked, into memory that both share. One that has not answered
 * when the asker takes the answer, or crashes, is killed; the GPU that it was at is left out by the
 * next one until gpu_sampler_rest(). A child that cannot be killed is left alone and its GPU is not
 * asked again while it is there.
 *
 * The child lives from the first question to gpu_sampler_rest(): where nothing runs nothing holds
 * the driver open.
 */
#ifndef NODED_GPU_SAMPLER_H
#define NODED_GPU_SAMPLER_H

#include <stdbool.h>

#include "common/error.h"
#include "noded/gpu/sample.h"

#define SAMPLER_MEMORY_MAX 64 /* slots of one question for memory alone */

struct gpu_sampler;

struct gpu_sampler *gpu_sampler_new(void);
void gpu_sampler_free(struct gpu_sampler *s); /* kills its child; NULL is fine */

/* Ask; nothing may be asked yet. -1 with ERR_SYSTEM. */
int gpu_sampler_ask(struct gpu_sampler *s, struct error *err);
/* The same of these slots alone, and only their memory and processes. */
int gpu_sampler_ask_memory(
        struct gpu_sampler *s, const char (*uuids)[GPUS_TEXT], uint32_t n, struct error *err);
bool gpu_sampler_asked(const struct gpu_sampler *s);
/* Besides what it finds out itself, not to be asked when a child is started: a set of NVML's
 * indices. Good until gpu_sampler_rest(). */
void gpu_sampler_leave_out(struct gpu_sampler *s, uint64_t gpus);
/* Readable when there is an answer, or the child has ended. */
int gpu_sampler_fd(const struct gpu_sampler *s);

/* There is an answer, or the time is up. NULL: none; `trouble` (of `size`) says why, "" if nothing
 * is to be said. The answer is good until the next question, and sound. */
const struct gpu_uses *gpu_sampler_take(struct gpu_sampler *s, char *trouble, size_t size);

/* The CPU time that its child has used since the question before. */
uint64_t gpu_sampler_cost_us(const struct gpu_sampler *s);

/* End the child, and forget what was left out: there is nothing to be watched, or the GPUs are
 * others. */
void gpu_sampler_rest(struct gpu_sampler *s);

#endif
