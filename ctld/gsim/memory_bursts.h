/* memory_bursts.h - GPU memory that runs may borrow (gsubmit --gpu-mem-burst), and how much was
 * available
 *
 * A history does not record the memory that a run uses, so no run is ended for it here: a run with
 * a burst is assumed to want all of it as long as it runs. On each card the memory that belongs to
 * no share is available for bursts. So the result says how much memory bursts would have had, and
 * an upper bound on how often borrowed memory was reclaimed; places and times of jobs are as if
 * there were no bursts.
 */
#ifndef GSIM_MEMORY_BURSTS_H
#define GSIM_MEMORY_BURSTS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/job/run.h"

struct memory_burst_gpu {
	uint64_t size_mb;  /* 0: not known */
	uint64_t parts_mb; /* of the runs that have a share of it */
	uint64_t more_mb;  /* that these would borrow in addition, all together */
	usec_t since;
};

/* Over all cards and runs. */
struct memory_bursts {
	uint64_t runs;        /* with a burst, that were started */
	uint64_t starts;      /* starts of runs whose share may have been borrowed */
	double wanted, there; /* MiB times microseconds */
};

/* A run takes its part of the card, or leaves it. True: it may have to wait until it is given back.
 */
bool memory_bursts_change(struct memory_burst_gpu *c, struct memory_bursts *sum, usec_t now,
        uint64_t part_mb, uint64_t burst_mb, bool take);

/* More is given out than the card has. */
bool memory_bursts_is_over(const struct memory_burst_gpu *c);

#endif
