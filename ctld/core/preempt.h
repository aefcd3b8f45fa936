/* preempt.h - whom to stop so that a blocked job can start
 *
 * Who may stop whom is decided by (tier of the partition, level of the QOS, within quota), in this
 * order, so that no chain of preemptions can ever come back to where it began:
 *	- of another tier: the higher one may, whatever the rest;
 *	- of the same tier, and one QOS preempts the other: that one may;
 *	- else, unless the victim's QOS stands higher: reclaim. Where the two accounts part in the
 *	  tree, the contender's side stays within its guarantee with the job, the victim's is over.
 * The victim's partition says whether it may be stopped at all (preempt_mode); what has run for
 * less than its min_run is left alone.
 *
 * What is late by more than a minute (PLAN_STUCK) is not counted on: nobody is stopped to wait
 * beside it.
 *
 * Victims are the cheapest set that suffices: over quota first, then lowest tier, lowest QOS
 * priority, least work lost since the start or the last checkpoint; whom the others make
 * unnecessary is let go again, the dearest first.
 */
#ifndef CTLD_CORE_PREEMPT_H
#define CTLD_CORE_PREEMPT_H

#include "ctld/core/decide.h"

enum preempt_reason { PREEMPT_NOT, PREEMPT_TIER, PREEMPT_QOS, PREEMPT_RECLAIM };
const char *preempt_reason_name(enum preempt_reason reason); /* "tier", "qos", "reclaim" */

struct preempt_victim {
	uint64_t job;
	enum preempt_reason reason;
};

struct preemption {
	struct preempt_victim *victims; /* owned */
	size_t n, size;
	struct plan_entry entry; /* where and by when it can start then */
	usec_t retry;            /* mono: when somebody's protection ends, or there should have been
	                            room without anybody being stopped; INT64_MAX */
};
void preemption_clear(struct preemption *p);

/* May the contender stop this run? */
enum preempt_reason preempt_may(const struct scene *scene, const struct contender *who,
        const struct held *victim, uint16_t type, uint64_t milli);

/* Whom to stop for a contender that decide() found blocked; *want is as for plan_find(). False:
 * nobody, or nobody need be stopped because there will be room within the grace time anyway. */
bool preempt_find(const struct scene *scene, const struct contender *who,
        const struct plan_want *want, struct preemption *out);

/* From the word to the end of a run: the longest grace, and what the node takes. */
usec_t preempt_delay(const struct conf *conf);

#endif
