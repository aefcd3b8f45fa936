/* rest.h - how long gfeed leaves the controller alone after an answer
 *
 * All that there is of the services of a large cluster is work for the controller, so a question
 * is followed by a rest of REST_TIMES as long as its answer took. What counts is the quickest of
 * the last REST_LAST answers: an answer that once waited for a disk or a processor says nothing of
 * the work that it was, and must not keep the next change back for several times as long. Pure.
 */
#ifndef CMDS_FEED_REST_H
#define CMDS_FEED_REST_H

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
