/* poll_interval.h - how long gfeed leaves the controller alone after an answer
 *
 * A listing of all services of a large cluster costs the controller time, so a question is followed
 * by a rest of POLL_INTERVAL_TIMES as long as its answer took. The quickest of the last
 * POLL_INTERVAL_LAST answers counts, because one answer may be late for another reason (a busy disk
 * or processor) and must not keep the next change back. The first POLL_INTERVAL_LAST - 1 answers
 * are followed by no rest. Pure.
 */
#ifndef CMDS_FEED_POLL_INTERVAL_H
#define CMDS_FEED_POLL_INTERVAL_H

#include <stdint.h>

#define POLL_INTERVAL_TIMES 4
#define POLL_INTERVAL_LAST  4

struct poll_interval {
	int64_t took_ms[POLL_INTERVAL_LAST]; /* 0 where there were fewer answers */
	unsigned n;
};

/* An answer has come after so long: returns the rest that follows it, in ms. */
int64_t poll_interval_after(struct poll_interval *r, int64_t took_ms);

#endif
