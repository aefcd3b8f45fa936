/* sliding_window.h - means and maxima over a sliding time, in little memory
 *
 * A ring of WINDOW_BUCKETS buckets and the one that is being filled. Times never go back.
 */
#ifndef CTLD_CORE_SCALE_SLIDING_WINDOW_H
#define CTLD_CORE_SCALE_SLIDING_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

#include "common/job/run.h"

#define WINDOW_BUCKETS 60

#define WINDOW_MEANS 7

/* Means of several quantities over the times at which they were known. In float: 2 KB. */
struct mean_window {
	usec_t width;   /* of a bucket, above 0 */
	int64_t newest; /* number of the newest bucket: time / width */
	struct {
		float known, sum[WINDOW_MEANS]; /* us, quantity x us */
	} at[WINDOW_BUCKETS + 1];
};

/* The highest value within a time. */
struct max_window {
	usec_t width;
	int64_t newest;
	uint32_t at[WINDOW_BUCKETS + 1];
};

void mean_window_init(struct mean_window *w, usec_t length, usec_t now);
/* The quantities were so from `from` to `to`, the latest time so far. */
void mean_window_add(
        struct mean_window *w, usec_t from, usec_t to, const double quantities[WINDOW_MEANS]);
/* False, and nothing is changed: nothing is known of the window before `now`. */
bool mean_window_get(struct mean_window *w, usec_t now, double means[WINDOW_MEANS]);

void max_window_init(struct max_window *w, usec_t length, usec_t now);
void max_window_add(struct max_window *w, usec_t now, uint32_t value);
/* 0: nothing was added. A value is kept up to a bucket longer than the window. */
uint32_t max_window_get(struct max_window *w, usec_t now);

#endif
