/* borrowed_gpu_memory.h - GPU memory that runs have borrowed, and which of them must give it back;
 * no I/O
 *
 * A run with a burst (gsubmit --gpu-mem-burst) may use more of a shared GPU than its part, from
 * memory that is in no run's part or that its part's owner does not use. A part must be available
 * when its owner needs it: if parts and borrowed memory together exceed the GPU, the GPU is
 * *short*, and borrowers are asked to give memory back. A run that is asked is interrupted as for a
 * preemption and may give back until the deadline. It continues if it does; else it is ended
 * (gpu_reclaim.c).
 *
 * The fewest runs that have borrowed enough are asked; if one run alone is enough, it is the one
 * that would lose least work. A run stays asked until the GPU is no longer short or the run has
 * nothing borrowed any more. If all borrowers together have not borrowed enough, none is asked:
 * they are not what makes the GPU short.
 */
#ifndef NODED_BORROWED_GPU_MEMORY_H
#define NODED_BORROWED_GPU_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A run with a part of the GPU, or one that waits to be started with one. */
struct burst_run {
	uint64_t share_mb; /* its part */
	uint64_t own_mb;   /* memory that it uses */
	uint64_t work_us;  /* the work that its end would lose: GPUs times microseconds */
	bool may;          /* it has a burst and runs: it can be asked */
	bool asked;
};

uint64_t burst_borrowed(const struct burst_run *run);

/* What is missing on a GPU of `gpu_mb`; 0: nothing, or its size is not known. Never more than is
 * borrowed: parts that exceed the GPU cannot be given back by any run. */
uint64_t burst_short(const struct burst_run *runs, size_t n, uint64_t gpu_mb);

/* Set `asked` of the runs that must give back, in addition to those that were asked earlier. */
void burst_choose(struct burst_run *runs, size_t n, uint64_t gpu_mb);

#endif
