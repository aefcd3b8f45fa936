/* victims_impl.h - the inside of a search for victims, for its two files
 *
 *	victims_node.c  what one node would cost
 *	victims.c       the cheapest nodes, step by step
 */
#ifndef CTLD_CORE_VICTIMS_IMPL_H
#define CTLD_CORE_VICTIMS_IMPL_H

#include "ctld/core/preempt/victims.h"
#include "ctld/core/util/idmap.h"

/* What a victim costs; of several, the sums. The first difference decides: a single number for all
 * of it would have no room for the last. */
struct cost {
	double within; /* 1: within quota; less, the more it is over; never 0 */
	double tier, qos, work;
};

struct candidate {
	const struct held *held;
	enum preempt_reason reason;
	struct cost cost;
	bool chosen;
};

/* All that runs on the node that is looked at. Where some of it shares GPUs, or shares are wanted,
 * who gives back how many GPUs depends on who else goes: they are counted anew each time. */
struct on_node {
	uint32_t node;
	bool by_card;
	const struct held *v;
	bool *gone; /* owned */
	size_t n, size;
};

/* What a victim holds of the gates. */
struct gone {
	const struct gate_path *path; /* NULL: nothing */
	const struct need *need;
	uint32_t account;
};

/* Of runs of one kind, while nobody counts as gone: on most nodes there are the same few. */
#define VERDICTS 256
struct victims_verdict {
	uint32_t partition, account, qos;
	uint16_t type;
	bool gpus, known;
	enum preempt_reason reason;
	struct cost cost; /* without the work */
};

/* One step of a search: of what it finds only `out` stays. */
struct search {
	const struct scene *scene;
	const struct contender *who;
	const struct plan_want *want;
	bool everything; /* victims_ask_everything() */
	usec_t start, retry;
	uint64_t milli;                  /* of GPUs, of the whole job */
	struct candidate *v; /* owned: who could be stopped on the node that is looked at */
	size_t n;
	struct on_node here;
	struct preemption *out;
	struct idmap *index;                       /* of the victims in `out` by job, from 1 */
	struct gone *gone;                         /* of each of them; owned */
	struct need need;                          /* the least, of the whole job */
	struct victims_verdict verdicts[VERDICTS]; /* by a hash */
};

/* The first one is less: below 0. */
int cost_order(const struct cost *x, const struct cost *y);

/* What runs on the node; what ends by the start has gone. */
void victims_look_at(struct search *s, uint32_t node);
/* The number of a victim in `out`, from 1; 0: it is none. */
size_t victims_number(const struct search *s, uint64_t job);
/* What the node has when the victims that were found so far have ended, all but one (0: all). Is it
 * enough? */
bool victims_met(struct search *s, uint32_t node, uint64_t but, struct plan_room *room,
        struct plan_part *part);
/* How many GPUs must be kept there for it, as it is looked at; 0: it is not among those that will
 * be free. More than it takes where links are wanted and others may have some of them before. */
uint32_t victims_gpus(const struct search *s, const struct plan_part *part);
/* Whom else to stop so that there is room on the node: the chosen of s->v, and what they cost
 * together. False: it cannot be. */
bool victims_make_room(struct search *s, uint32_t node, struct cost *cost);

#endif
