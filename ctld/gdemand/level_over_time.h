/* level_over_time.h - a number that changes over time: GPUs wanted, GPUs that wait
 *
 * Spans are added (so much more from then until then), then it is sealed and read.
 */
#ifndef GDEMAND_LEVEL_OVER_TIME_H
#define GDEMAND_LEVEL_OVER_TIME_H

#include <stddef.h>
#include <stdint.h>

#include "common/job/run.h"

struct level_change {
	usec_t at;
	int64_t by; /* from then on */
};

struct level {
	struct level_change *v; /* owned; after level_seal() `by` is the level itself */
	size_t n, size;
};

/* `by` more from `from` until before `to`; nothing if that is no time. */
void level_add(struct level *l, usec_t from, usec_t to, int64_t by);
void level_seal(struct level *l); /* once, behind the last */
void level_clear(struct level *l);

/* From `from` to `to` in pieces of one level each, in order. */
typedef void level_fn(void *arg, usec_t from, usec_t to, int64_t level);
void level_walk(const struct level *l, usec_t from, usec_t to, level_fn *fn, void *arg);

double level_mean(const struct level *l, usec_t from, usec_t to);
int64_t level_at(const struct level *l, usec_t at);

/* The highest level at or above which it stayed for `length` on end; 0: there is none so long. */
int64_t level_kept(const struct level *l, usec_t from, usec_t to, usec_t length);

/* Each time it was above `over`: from when until when, and the highest that it was. */
typedef void level_peak_fn(void *arg, usec_t from, usec_t to, int64_t peak);
void level_excursions(
        const struct level *l, usec_t from, usec_t to, int64_t over, level_peak_fn *fn, void *arg);

#endif
