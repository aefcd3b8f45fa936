/* compare.h - two simulations of the same jobs: which jobs wait longer in the other, and which less
 *
 * A job is compared with itself: the two sides are paired by the names of the jobs, those of the
 * same name in their order. A difference is wait in B minus wait in A, so above 0 a job waits
 * longer in B.
 *
 * The interval of a mean difference is a bootstrap over time: the time from the first to the last
 * submission is cut into COMPARE_BLOCKS equal blocks, which are drawn again and again with
 * replacement, each with all its jobs. Jobs of one hour wait for the same reasons, so drawing
 * single jobs would promise too much.
 */
#ifndef GSIM_COMPARE_H
#define GSIM_COMPARE_H

#include <stdint.h>
#include <stdio.h>

#include "common/base/error.h"
#include "ctld/gsim/job_results.h"

#define COMPARE_BLOCKS 60
#define COMPARE_DRAWS  2000
#define COMPARE_SAME   1.0 /* seconds: what differs by less is the same */

enum compared_by { BY_NOTHING, BY_ACCOUNT, BY_SIZE };

/* Jobs that started in both. Times in seconds. */
struct compared {
	enum compared_by by;
	const char *name; /* of the account or size */
	uint64_t jobs, longer, shorter;
	double mean_a, mean_b, p50_a, p50_b, p95_a, p95_b;
	double difference; /* of the means, B - A */
	double low, high;  /* 95 % of it; NAN: too few blocks have jobs */
};

struct comparison {
	const char *a, *b;                      /* what they are called; borrowed */
	uint64_t pairs, only_a, only_b;         /* jobs; there in one of them only */
	uint64_t started_a, started_b, neither; /* of the pairs: in one only, in none */
	struct compared *v; /* all jobs; the accounts, the greatest difference first; the sizes */
	size_t n;
	/* for charts: the waits of the pairs that started in both */
	double *waits_a, *waits_b;
	size_t n_waits;
};

/* Borrows all. */
void comparison_make(struct comparison *c, const char *a, const struct results *in_a, const char *b,
        const struct results *in_b, uint64_t seed);
void comparison_free(struct comparison *c);

void comparison_print(const struct comparison *c, FILE *out);
void comparison_json(const struct comparison *c, FILE *out);

/* DIR/compare-waits.svg, compare-accounts.svg, compare-sizes.svg */
int comparison_plot(const struct comparison *c, const char *dir, struct error *err);

#endif
