/* preempt.h - who may stop whose run
 *
 * That is decided by (tier of the partition, level of the QOS, within quota), in this order, so
 * that no chain of preemptions can ever come back to where it began:
 *	- of another tier: the higher one may, whatever the rest;
 *	- of the same tier, and one QOS preempts the other: that one may;
 *	- else, unless the victim's QOS stands higher: reclaim. Where the two accounts part in the
 *	  tree, the contender's side stays within its guarantee with the job, the victim's is over.
 * The victim's partition says whether it may be stopped at all (preempt_mode); what has run for
 * less than its min_run is left alone (victims.h, where they are chosen).
 */
#ifndef CTLD_CORE_PREEMPT_H
#define CTLD_CORE_PREEMPT_H

#include "ctld/core/sched/decide.h"

enum preempt_reason { PREEMPT_NOT, PREEMPT_TIER, PREEMPT_QOS, PREEMPT_RECLAIM };
const char *preempt_reason_name(enum preempt_reason reason); /* "tier", "qos", "reclaim" */

/* May the contender, whose job takes `milli` thousandths of GPUs of the type, stop this run? */
enum preempt_reason preempt_may(const struct scene *scene, const struct contender *who,
        const struct held *victim, uint16_t type, uint64_t milli);

/* From the word to the end of a run: the longest grace, and what the node takes. */
usec_t preempt_delay(const struct conf *conf);

#endif
