/* bootstrap.h - how far off a number may be that was taken of one history
 *
 * The history is cut into blocks of time (weeks, or days). As many blocks as there are, drawn with
 * replacement, are another history that might have been; the number is taken of many such. Between
 * the 2.5 % and the 97.5 % of them lies its interval. Blocks keep together what belongs together:
 * the jobs of an evening are not independent of each other, and those of two weeks nearly are.
 */
#ifndef GDEMAND_BOOTSTRAP_H
#define GDEMAND_BOOTSTRAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BOOTSTRAP_LEAST 4 /* blocks; of fewer there is no interval */

struct interval {
	double value;     /* of the history itself; NAN: not known */
	double low, high; /* if `known` */
	bool known;
};

struct bootstrap {
	uint32_t blocks; /* numbered from 0 */
	unsigned rounds;
	uint64_t seed;
};

/* `n` numbers to `out`, where block b counts times[b] times; NULL: each counts once. A number that is
 * not known is NAN. */
typedef void bootstrap_fn(const void *arg, const uint32_t *times, double *out);

/* The same arguments give the same intervals. */
void bootstrap(const struct bootstrap *b, bootstrap_fn *fn, const void *arg, size_t n,
        struct interval *out);

#endif
