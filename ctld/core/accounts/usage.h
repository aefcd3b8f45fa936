/* usage.h - what use costs, and how it is forgotten
 *
 * Cost is by the configured prices: of a GPU (by type), a CPU, a GB of memory, for an hour each.
 * Where no price is configured at all a GPU costs 1 an hour, and a CPU of a job without GPUs 0.01:
 * so fair-share counts GPU-hours. The QOS's usage_factor is the caller's to apply.
 *
 * Of what was used half is forgotten every half_life. Only ratios matter to fair-share, so nothing
 * needs to be decayed as time passes: a sum is kept as it stood at some moment, and compared after
 * it was scaled to a common one. The common moment is a whole number of half-lives after 1970, the
 * scale therefore 2^whole x 2^fraction, of which only the first depends on which moment it is: it
 * is exact, and who was equal stays equal, also after a restart.
 */
#ifndef CTLD_CORE_USAGE_H
#define CTLD_CORE_USAGE_H

#include "common/conf.h"
#include "common/run.h"

#define USAGE_MICRO 1000000 /* cost is kept in millionths of the currency */

/* `type` TYPE_NONE or TYPE_GONE: GPUs without a price. Parts of GPUs count as parts. */
double usage_cost(const struct conf *conf, uint16_t type, double gpus, uint32_t cpus,
        uint64_t mem_mb, uint64_t elapsed_us);
/* The same in millionths, times a factor, rounded. */
uint64_t usage_cost_u(const struct conf *conf, uint16_t type, double gpus, uint32_t cpus,
        uint64_t mem_mb, uint64_t elapsed_us, double factor);

/* 2^x for any x; 0 or infinity where a double ends. Correct to the last digits, and the same on
 * every machine. */
double usage_exp2(double x);

/* What is left of a value `age` later; a negative age counts as 0. half_life_s 0: all of it. */
double usage_decay(double value, usec_t age, uint32_t half_life_s);

/* The last whole half-life before `wall`, as a moment. 0 where nothing decays. */
usec_t usage_epoch(usec_t wall, uint32_t half_life_s);
/* A value as of `time`, scaled so that values of any time can be compared: what it would have been
 * at `epoch`, a usage_epoch(), before or after. */
double usage_scale(double value, usec_t time, usec_t epoch, uint32_t half_life_s);

/* The same for many values of one time: the factor, as two. */
struct usage_factor {
	double fraction, power;
};
struct usage_factor usage_factor(usec_t time, usec_t epoch, uint32_t half_life_s);

static inline double usage_by(struct usage_factor f, double value)
{
	return value * f.fraction * f.power;
}

#endif
