/* surprise_load.h - the load that often comes sooner than replicas for it could be started
 *
 * A load is a surprise where it is above what could be expected one load time ago: a replica
 * that was started then would be READY now, and there was no reason to start it. For how long
 * each level of load was a surprise is kept, in steps of 8 percent, and fades with
 * SURPRISE_MEMORY. Keeping a replica is worth its price while the load was a surprise above what
 * the others take for more than SURPRISE_SHARE of that time: a second in which it is missed
 * weighs as much as 15 in which it stands idle.
 *
 * So one burst after quiet hours keeps nothing, bursts that come again and again keep what most
 * of them need, and a load that rises or falls slowly is never a surprise. What is not needed any
 * more is forgotten after SURPRISE_MEMORY * ln(1 / SURPRISE_SHARE), 2.7 hours, at the latest.
 */
#ifndef CTLD_CORE_SCALE_SURPRISE_LOAD_H
#define CTLD_CORE_SCALE_SURPRISE_LOAD_H

#include <stdbool.h>

#include "common/job/run.h"

#define SURPRISE_MEMORY ((usec_t)3600 * 1000000)
#define SURPRISE_SHARE  (1.0 / 15)
#define SURPRISE_LEVELS 160 /* the last is 1.08^159, about 200,000 requests */
#define SURPRISE_DELAYS 60

/* 1 KB. */
struct surprise {
	float at[SURPRISE_LEVELS]; /* s for which the load had it and was a surprise */
	double all;                /* s, of which these are a part */
	/* What could be expected, over one load time: a ring. */
	usec_t width; /* of a bucket; 0: nothing was added */
	int64_t newest;
	float expected[SURPRISE_DELAYS + 1], last;
};

/* `load` requests are or would be in service at `now`, `past` after the previous time, and so many
 * are `expected` a load time later. All fades by `past`; it counts only where it is `known`. */
void surprise_add(struct surprise *s, usec_t now, usec_t past, usec_t load_time, double load,
        double expected, bool known);
/* The level above which the load was a surprise for no more than `share` of the time. */
double surprise_level(const struct surprise *s, double share);

#endif
