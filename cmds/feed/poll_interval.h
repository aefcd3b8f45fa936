/* poll_interval.h - how long gfeed leaves the controller alone after an answer
 *
 * A listing of all services of a large cluster costs the controller time, so a question is followed
 * by a rest of REST_TIMES as long as its answer took. The quickest of the last REST_LAST answers
 * counts, because one answer may be late for another reason (a busy disk or processor) and must not
 * keep the next change back. The first REST_LAST - 1 answers are followed by no rest. Pure.
 */
#ifndef CMDS_FEED_POLL_INTERVAL_H
#define CMDS_FEED_POLL_INTERVAL_H

#include <stdint.h>

#define REST_TIMES 4
#define REST_LAST  4

struct rest {
	int64_t took_ms[REST_LAST]; /* 0 where there were fewer answers */
	unsigned n;
};

/* An answer has come after so long: returns the rest that follows it, in ms. */
int64_t rest_after(struct rest *r, int64_t took_ms);

#endif
