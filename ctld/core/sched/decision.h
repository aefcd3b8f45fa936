/* decision.h - the answer to "may this job start now?": yes, or what blocks each alternative
 *
 * Plain data. decide.h makes it.
 */
#ifndef CTLD_CORE_DECISION_H
#define CTLD_CORE_DECISION_H

#include <stdbool.h>
#include <stdint.h>

#include "ctld/core/limits/limits.h"
#include "ctld/core/request/requests.h"

enum verdict {
	VERDICT_NONE,      /* not tried yet */
	VERDICT_START,     /* it may start */
	VERDICT_CAPACITY,  /* no node of its partition has enough free */
	VERDICT_PLANNED,   /* what is free is planned for a class before it */
	VERDICT_LIMIT,     /* a limit, a quota, a licence */
	VERDICT_STATE,     /* its partition starts no jobs */
	VERDICT_PARTITION, /* the configuration has no such partition any more */
	VERDICT_TYPE,      /* no GPU type that it asks for is left */
};

struct decision {
	enum verdict verdict;                   /* START, or the one that comes nearest to it */
	struct limit_block limit;               /* of VERDICT_LIMIT: the first limit that blocked */
	uint32_t limit_of[MAX_GPU_ALTERNATIVES]; /* by alternative: what blocks it; DECIDE_NO_LIMIT
	                                          */
	bool capacity[MAX_GPU_ALTERNATIVES];    /* by alternative: waits for capacity or the plan */
	bool other[MAX_GPU_ALTERNATIVES]; /* by alternative: its place is too much for a limit */
	/* By alternative: no node has a place for it (CAPACITY), or none beside what is planned for
	 * classes before it (PLANNED), whatever its limits say; VERDICT_NONE: not known. */
	enum verdict nowhere[MAX_GPU_ALTERNATIVES];
	struct need need; /* of VERDICT_START: what to take from the limits */
	bool yields;      /* it has a place, and leaves room at a limit for a planned start */
	bool planned;     /* some place is planned for classes before it, whatever the verdict */
};

#define DECIDE_NO_LIMIT  UINT32_MAX
#define DECIDE_ANY_LIMIT (UINT32_MAX - 1) /* several limits, one for each type */

#endif
