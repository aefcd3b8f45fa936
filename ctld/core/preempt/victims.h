/* victims.h - whom to stop so that a blocked job can start
 *
 * Victims are the cheapest set that suffices, of those whom the job may stop (preempt.h): over
 * quota first, then lowest tier, lowest QOS priority, least work lost since the start or the last
 * checkpoint; whom the others make unnecessary is let go again, the dearest first.
 *
 * What is late by more than a minute (PLAN_STUCK) is not counted on: nobody is stopped to wait
 * beside it.
 *
 * A search looks at what runs on every node of a partition, which takes long where there are many:
 * so it is made in steps, and anything may happen between two of them. First each node is asked
 * what it would cost by itself; then the nodes are taken, the cheapest first, until there are
 * enough. What was seen of a node in an earlier step decides only when its turn comes: it is looked
 * at anew to be taken, and what was taken is again in each later step. So whom a search names may
 * be stopped, and it suffices, as things are in its last step; if nothing happens meanwhile,
 * it is as if there had been one step.
 */
#ifndef CTLD_CORE_VICTIMS_H
#define CTLD_CORE_VICTIMS_H

#include "ctld/core/preempt/preempt.h"

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

struct victims;
struct victims *victims_new(void);
void victims_free(struct victims *v); /* NULL is fine */

/* For tests: also where that can make no difference, as a check of what is left out. */
void victims_ask_everything(struct victims *v);

enum victims_step {
	VICTIMS_MORE, /* to be gone on with */
	VICTIMS_NONE, /* nobody, or there will be room within the grace time anyway: out->retry */
	VICTIMS_FOUND,
};

/* Go on, with so much work (one for a node, and one for each eight of its runs; what is left of it
 * is put there): whom to stop for a contender
 * that decide() found blocked. *want is as for plan_find(), and stands for the same as in the first
 * step. *out is good once it is not VICTIMS_MORE; then the search is over. */
enum victims_step victims_step(struct victims *v, const struct scene *scene,
        const struct contender *who, const struct plan_want *want, size_t *work,
        struct preemption *out);

#endif
