/* weighted_stats.h - numbers with weights: quantiles, mean, coefficient of variation
 *
 * A number may be a level with the time it lasted, or the wait of a job with weight 1. Each belongs
 * to a block of time: for a bootstrap (bootstrap.h) a block counts several times, or not at all.
 */
#ifndef GDEMAND_WEIGHTED_STATS_H
#define GDEMAND_WEIGHTED_STATS_H

#include <stddef.h>
#include <stdint.h>

struct weighted_item {
	double value, weight;
	uint32_t block;
};

struct weighted {
	struct weighted_item *v; /* owned */
	size_t n, size;
};

/* What is no finite number, or has no weight, is left out. */
void weighted_add(struct weighted *w, double value, double weight, uint32_t block);

/* Once, behind the last number: sorts them, and joins equal ones of a block. */
void weighted_seal(struct weighted *w);
void weighted_clear(struct weighted *w); /* frees */

/* Block b counts times[b] times; NULL: each counts once. Where nothing has weight, the results are
 * NAN. */
double weighted_total(const struct weighted *w, const uint32_t *times);
double weighted_mean(const struct weighted *w, const uint32_t *times);
double weighted_cv(const struct weighted *w, const uint32_t *times); /* deviation / mean */

/* The least number that has at least the part `q` of the weight at and below it. Several in
 * ascending order of `q`, in one pass. */
void weighted_quantiles(
        const struct weighted *w, const double *q, size_t n, const uint32_t *times, double *out);
double weighted_quantile(const struct weighted *w, double q, const uint32_t *times);

#endif
