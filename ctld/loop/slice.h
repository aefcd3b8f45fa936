/* slice.h - a piece of the loop's work that ends after so much processor time
 *
 * Work over data that users made (listings, cancels, filters, rows to seal, decisions of the
 * scheduler) is done in slices, and a slice ends by time and not by a number of items, because the
 * cost of one item depends on the user that made it. The thread's processor time counts, so that a
 * busy machine does not make slices shorter. Reading the clock is a system call and is done every
 * few items.
 *
 *	struct slice s = slice_begin(SLICE_US);
 *	while (next(&item) && !slice_over(&s))
 *		do_something(item);
 *
 * Each item must itself be bounded: by the size of one frame, or by one of the core's limits.
 */
#ifndef CTLD_SLICE_H
#define CTLD_SLICE_H

#include <stdbool.h>

#include "common/job/run.h"

/* What one slice of one user's work may take; a tick has a few of them. */
#define SLICE_US 2000
/* The clock is asked after so many items. */
#define SLICE_ITEMS 16

struct slice {
	usec_t end;     /* processor time of the calling thread */
	unsigned items; /* until the clock is asked again */
	bool over;
};

struct slice slice_begin(usec_t budget_us);

/* One item is about to be done: true when the slice has used up its time. Stays true. The first
 * call is false, so that each slice makes progress. */
bool slice_over(struct slice *s);

/* Items that cost much more than a system call: ask the clock at once. */
bool slice_over_now(struct slice *s);

/* Processor time of the calling thread, in microseconds. */
usec_t thread_cpu_time(void);

#endif
