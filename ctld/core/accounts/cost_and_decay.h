/* cost_and_decay.h - what use costs, and how past use decays
 *
 * The cost is by the configured prices: of a GPU (by type), a CPU and a GB of memory, for an hour
 * each. If no price is configured at all, a GPU costs 1 an hour, and a CPU of a job without GPUs
 * 0.01: then fair-share counts GPU-hours. The caller applies the QOS's usage_factor.
 *
 * Use decays by half every half_life. Only ratios matter to fair-share, so the sums need not be
 * updated as time passes: a sum is stored with the time at which it was valid, and scaled to a
 * common time when it is compared. The common time is a whole number of half-lives after 1970. So
 * the scale is 2^whole x 2^fraction, and only the first depends on the choice of that time. That
 * factor is exact: equal values stay equal, also after a restart.
 */
#ifndef CTLD_CORE_COST_AND_DECAY_H
#define CTLD_CORE_COST_AND_DECAY_H

#include "common/conf/conf.h"
#include "common/job/run.h"

#define USAGE_MICRO 1000000 /* cost is kept in millionths of the currency */

/* `type` TYPE_NONE or TYPE_GONE: the GPUs have no price. A part of a GPU costs that part of the
 * price. */
double usage_cost(const struct conf *conf, uint16_t type, double gpus, uint32_t cpus,
        uint64_t mem_mb, uint64_t elapsed_us);
/* The same in millionths, times a factor, rounded. */
uint64_t usage_cost_u(const struct conf *conf, uint16_t type, double gpus, uint32_t cpus,
        uint64_t mem_mb, uint64_t elapsed_us, double factor);

/* 2^x for any x; 0 or infinity beyond the range of a double. Correct to the last digits, and the
 * same on every machine. */
double usage_exp2(double x);

/* What is left of a value after the time `age`; a negative age counts as 0. half_life_s 0: all of
 * it. */
double usage_decay(double value, usec_t age, uint32_t half_life_s);

/* The latest time before `wall` that is a whole number of half-lives. 0 if nothing decays. */
usec_t usage_epoch(usec_t wall, uint32_t half_life_s);
/* A value as of `time`, scaled so that values of different times can be compared: its value at
 * `epoch` (from usage_epoch()), which may be before or after `time`. */
double usage_scale(double value, usec_t time, usec_t epoch, uint32_t half_life_s);

/* The same for many values of one time: the scale as two factors. */
struct usage_factor {
	double fraction, power;
};
struct usage_factor usage_factor(usec_t time, usec_t epoch, uint32_t half_life_s);

static inline double usage_by(struct usage_factor f, double value)
{
	return value * f.fraction * f.power;
}

#endif
