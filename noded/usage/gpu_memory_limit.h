/* gpu_memory_limit.h - a run that uses more of a shared GPU's memory than it may; no I/O
 *
 * A run that shares a GPU may use a limited amount of its memory, but the GPU does not enforce
 * the limit: memory beyond it is missing for the GPU's other runs. So the launcher samples the
 * memory of such runs every second (usage_sampling.c), and does what the site has chosen:
 *
 *   note  it is logged and kept with the run: the log of events, `gctl show job`, gacct
 *   warn  its owner is told too, in a line at the end of the job's output
 *   end   it is killed at once: OUT_OF_MEMORY, GpuMemory. A grace would harm the other runs
 *
 * A run with a burst that uses memory which others need is first asked to give it back:
 * borrowed_gpu_memory.h.
 *
 * Only memory counts that NVML reports for processes of the run; memory of unknown owners does not.
 */
#ifndef NODED_GPU_MEMORY_LIMIT_H
#define NODED_GPU_MEMORY_LIMIT_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/error.h"
#include "common/conf/nodewords.h"

struct used_gpu;

#define OVERMEM_TEXT 96

enum overmem_policy { OVERMEM_NOTE, OVERMEM_WARN, OVERMEM_END };

/* -1 with ERR_USAGE. */
int overmem_parse(const char *word, enum overmem_policy *out, struct error *err);

/* The memory that a run with the part `share_mb` may use of a GPU: its part, and up to `burst_mb`
 * (0: none) of what is in no part, where the parts of other runs are `others_mb`. A run that uses
 * more than its part must be prepared to lose it when another run starts. `gpu_mb` 0: not
 * known. */
uint64_t overmem_allowed(uint64_t share_mb, uint64_t burst_mb, uint64_t gpu_mb, uint64_t others_mb);

/* The GPU on which the run's processes exceed their limit most, except GPUs whose memory the run
 * was asked to give back; -1: none. */
int overmem_find(const struct used_gpu *gpus, size_t n);

/* "used 24.3G of 20G of GPU 2", and if it may use less of its burst than it asked for "; others
 * have the rest of its burst of 30G". */
void overmem_text(char out[OVERMEM_TEXT], const struct used_gpu *gpu, uint64_t burst_mb);

#endif
