/* replay_history.h - a history through a world, and the packing experiment
 *
 * The history's first submission is time 0.
 */
#ifndef GSIM_REPLAY_HISTORY_H
#define GSIM_REPLAY_HISTORY_H

#include <stdbool.h>
#include <stdint.h>

#include "ctld/gsim/history/history.h"
#include "ctld/gsim/rival_placements.h"
#include "ctld/gsim/world.h"

/* What becomes of a job with a part of a GPU: it gets all of it, is left out, or shares it. */
enum shared_gpus { SHARED_ROUND, SHARED_SKIP, SHARED_SHARE };

struct replay_options {
	enum shared_gpus shared;
	double scale_load; /* times between submissions are divided by it */
	usec_t until;      /* nothing happens after it; WORLD_NEVER: all of it does */
	/* Strict first in, first out: of each partition one job at a time is given to the core, and
	 * the next when that one has started. */
	bool fifo;
	enum rival_kind rival; /* of the packing experiment: another one chooses the places */
	/* Every now and then; may be NULL. */
	void (*progress)(void *arg, const struct world *w);
	void *arg;
};

/* Until nothing happens any more: what still waits then will never start. */
int replay(struct world *w, struct history_files *h, const struct replay_options *o,
        struct error *err);

/* Jobs in random order, then random ones of them again and again, until the GPUs they ask for are
 * `percent` of the capacity. Each is placed when it comes, none leaves, and what fits nowhere is
 * dropped. */
struct inflate_point {
	double arrived, allocated; /* GPUs, of the capacity */
};
struct inflation {
	uint64_t jobs;                     /* of the history, that can be used */
	uint64_t arrived, placed, dropped; /* jobs */
	struct inflate_point at_100, end;  /* at_100: where 100 % was reached, if it was */
};
int replay_inflated(struct world *w, struct history_files *h, uint64_t seed, unsigned percent,
        const struct replay_options *o, struct inflation *result, struct error *err);

#endif
