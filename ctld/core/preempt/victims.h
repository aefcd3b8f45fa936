/* victims.h - which runs to stop so that a blocked job can start
 *
 * Victims are the cheapest set that suffices, of the runs that the job may stop (preempt_rules.h):
 * over quota first, then lowest tier, lowest QOS priority, least work lost since the start or the
 * last checkpoint. A victim that the others make unnecessary is let go again, the dearest first.
 *
 * A run that is late by more than a minute (PLAN_STUCK) is not counted on: no run is stopped for a
 * job that would then have to wait for the late one.
 *
 * A search looks at the runs on every node of a partition, which takes long where there are many:
 * so it is made in steps, and anything may happen between two of them. First it computes what each
 * node would cost by itself; then it takes the nodes, the cheapest first, until there are enough.
 * What was seen of a node in an earlier step decides only when its turn comes: the node is looked
 * at again before it is taken, and nodes that were taken are looked at again in each later step. So
 * the victims that a search names may be stopped and suffice as things are in its last step; if
 * nothing happens meanwhile, the result is the same as that of a single step.
 */
#ifndef CTLD_CORE_VICTIMS_H
#define CTLD_CORE_VICTIMS_H

#include "ctld/core/preempt/preempt_rules.h"

struct preempt_victim {
	uint64_t job;
	enum preempt_reason reason;
};

struct preemption {
	struct preempt_victim *victims; /* owned */
	size_t n, size;
	struct reservation reservation; /* where and by when the job can start then */
	usec_t retry;            /* mono: when the protection of a run ends, or when there should
	                          * have been room without victims; INT64_MAX: never */
};
void preemption_clear(struct preemption *p);

struct victims;
struct victims *victims_new(void);
void victims_free(struct victims *v); /* NULL is fine */

/* For tests: also check nodes where that can make no difference, to verify the short cuts. */
void victims_ask_everything(struct victims *v);

enum victims_step {
	VICTIMS_MORE, /* call again to continue */
	VICTIMS_NONE, /* no victims, or room comes in time anyway: out->retry */
	VICTIMS_FOUND,
};

/* One step of a search for victims, for a candidate that decide() found blocked. *work is how much
 * the step may look at (one for a node, and one for each eight of its runs), and becomes what is
 * left of that. *want is as for plan_find(), and describes the same job in all steps. *out is valid
 * once the result is not VICTIMS_MORE; then the search is over. */
enum victims_step victims_step(struct victims *v, const struct sched_view *view,
        const struct candidate *who, const struct plan_want *want, size_t *work,
        struct preemption *out);

#endif
