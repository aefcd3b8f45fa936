/* candidate.h - a job that may start, and all that the decision about it is based on
 *
 * The scheduler's decision (sched/decide.h), the search for victims (preempt/victims.h) and the
 * explanations share these. A candidate is the head of a class or an imagined job.
 */
#ifndef CTLD_CORE_CANDIDATE_H
#define CTLD_CORE_CANDIDATE_H

#include "ctld/core/limits/limits.h"
#include "ctld/core/plan/plan.h"

struct partitions;

/* All that a decision is based on; borrowed. */
struct sched_view {
	const struct conf *conf;
	struct ledger *ledger;
	struct limits *limits;
	struct plan *plan;
	const struct partitions *partitions;
	struct clocks now;
};

/* A planned start is tried a moment later than it was planned for. That delay must not cost
 * it its place when a reservation begins at its planned end. In microseconds. */
#define LATE_FORGIVEN (15 * (usec_t)1000000)

struct candidate {
	struct ask ask;
	const struct limit_chain *chain;
	uint32_t partition, account, qos; /* numbers in the configuration; CONF_NONE */
	usec_t length;                    /* at most, in microseconds; PLAN_FAR: no limit */
	struct heap_key key;              /* its place in the order */
	bool due;    /* its own planned start has come, or runs were stopped for it */
	usec_t late; /* how long ago that start was, in microseconds; LATE_FORGIVEN at most */
};

/* What the job needs of the limits: the least, before it has a place; then exactly. */
void need_at_least(const struct sched_view *view, const struct ask *ask, uint32_t alternative,
        uint16_t type, struct need *need);
void need_of_places(const struct sched_view *view, const struct ask *ask,
        const struct places *places, struct need *need);

#endif
