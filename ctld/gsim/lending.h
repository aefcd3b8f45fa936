/* lending.h - memory of GPUs that runs may borrow (gsubmit --gpu-mem-burst), and what of it was
 * there
 *
 * What a run uses no history says, so nobody is ended for it here: a run with a burst is taken to
 * want all of that, as long as it runs. Of a card there is for it what is in nobody's part. So what
 * is said of bursts is how much they would have had, and how often at most somebody came for
 * memory that was borrowed; the places and times of jobs are as if there were none.
 */
#ifndef GSIM_LENDING_H
#define GSIM_LENDING_H

#include <stdbool.h>
#include <stdint.h>

#include "common/run.h"

struct lending_card {
	uint64_t size_mb;  /* 0: not known */
	uint64_t parts_mb; /* of those who have a part of it */
	uint64_t more_mb;  /* that they would borrow beyond them, all together */
	usec_t since;
};

/* Over all cards and runs. */
struct lending {
	uint64_t runs;        /* with a burst, that were started */
	uint64_t starts;      /* whose part was not free of what may have been borrowed */
	double wanted, there; /* MiB times microseconds */
};

/* A run takes its part of the card, or leaves it. True: it may have to wait until it is given back.
 */
bool lending_change(struct lending_card *c, struct lending *sum, usec_t now, uint64_t part_mb,
        uint64_t burst_mb, bool take);

/* More is given out than the card has. */
bool lending_is_over(const struct lending_card *c);

#endif
