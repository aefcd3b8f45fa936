/* preempt_rules.h - which job may stop which run
 *
 * The decision compares (tier of the partition, level of the QOS, within quota), in this order, so
 * that no chain of preemptions can ever come back to where it began:
 *	- tiers differ: the job of the higher tier may stop the other;
 *	- same tier, and its QOS preempts the other's: it may;
 *	- else, unless the victim's QOS stands higher: reclaim. Where the two accounts part in the
 *	  tree, the candidate's side stays within its guarantee with the job, the victim's is
 *	  over.
 * The victim's partition says whether its runs may be stopped at all (preempt_mode). A run younger
 * than the min_run of its QOS, else of its partition, is protected (victims.h).
 */
#ifndef CTLD_CORE_PREEMPT_RULES_H
#define CTLD_CORE_PREEMPT_RULES_H

#include "ctld/core/plan/candidate.h"

enum preempt_reason {
	PREEMPT_NOT,
	PREEMPT_TIER,
	PREEMPT_QOS,
	PREEMPT_RECLAIM,
	PREEMPT_REASONS
};
const char *preempt_reason_name(enum preempt_reason reason); /* "tier", "qos", "reclaim" */

/* May the candidate, whose job takes `milli` thousandths of GPUs of the type, stop this run? */
enum preempt_reason preempt_may(const struct sched_view *view, const struct candidate *who,
        const struct run_snapshot *victim, uint16_t type, uint64_t milli);

/* From the order to end a run until the node reports its end, in microseconds: at most the longest
 * grace time and what a node takes. */
usec_t preempt_delay(const struct conf *conf);

#endif
