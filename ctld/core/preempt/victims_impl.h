/* victims_impl.h - the inside of a search for victims, for its two files
 *
 *	victims_node.c  what it would cost to make room on one node
 *	victims.c       the cheapest nodes, step by step
 */
#ifndef CTLD_CORE_VICTIMS_IMPL_H
#define CTLD_CORE_VICTIMS_IMPL_H

#include "ctld/core/preempt/victims.h"
#include "ctld/core/util/idmap.h"

/* The cost of a victim; for several, the sums. The first member that differs decides: a single
 * number for all of them would have no precision left for the last. */
struct cost {
	double within; /* 1: within quota; less, the further it is over; never 0 */
	double tier, qos, work;
};

struct stoppable {
	const struct run_snapshot *snapshot;
	enum preempt_reason reason;
	struct cost cost;
	bool chosen;
};

/* All runs on the node that is looked at. Where some of them share GPUs, or shares are wanted, the
 * GPUs that a victim gives back depend on the other victims: they are counted again each time. */
struct on_node {
	uint32_t node;
	bool by_gpu;
	const struct run_snapshot *v;
	bool *gone; /* owned */
	size_t n, size;
};

/* What a victim holds of the limits, and how long its end may take. */
struct gone {
	const struct limit_chain *chain; /* NULL: nothing */
	const struct need *need;
	uint32_t account;
	uint32_t drain_s;
};

/* Verdicts on runs of one kind, valid while no victim is chosen: most nodes have the same few
 * kinds. */
#define VERDICTS 256
struct victims_verdict {
	uint32_t partition, account, qos;
	uint16_t type;
	bool gpus, known;
	enum preempt_reason reason;
	struct cost cost; /* except the work */
};

/* One step of a search; only `out` outlives it. */
struct search {
	const struct sched_view *view;
	const struct candidate *who;
	const struct plan_want *want;
	bool everything; /* victims_ask_everything() */
	usec_t start, retry;
	uint64_t milli;                  /* of GPUs, of the whole job */
	struct stoppable *v; /* owned: runs that could be stopped on the node that is looked at */
	size_t n;
	struct on_node here;
	struct preemption *out;
	struct idmap *index;                       /* by job: the number in `out`, from 1 */
	struct gone *gone;                         /* what each of them holds; owned */
	struct need need;                          /* the least need of the whole job */
	struct victims_verdict verdicts[VERDICTS]; /* by a hash */
};

/* Below 0: the first one is less. */
int cost_order(const struct cost *x, const struct cost *y);

/* Read the runs of the node; those that end by the start count as gone. */
void victims_look_at(struct search *s, uint32_t node);
/* The number of a victim in `out`, from 1; 0: it is not a victim. */
size_t victims_number(const struct search *s, uint64_t job);
/* What the node has when the victims found so far have ended, except job `but` (0: all have ended).
 * Is it enough? */
bool victims_met(struct search *s, uint32_t node, uint64_t but, struct plan_room *room,
        struct plan_part *part);
/* How many GPUs must be kept for the job on the node that is looked at; 0: no set that would do is
 * among those that will be free. It is more than the job takes where it wants links and other jobs
 * may get some of the GPUs first. */
uint32_t victims_gpus(const struct search *s, const struct plan_part *part);
/* When the victims will have ended, also those chosen on the node that is looked at: s->start, or
 * later where one of them drains. */
usec_t victims_drained(const struct search *s);
/* Choose further victims so that there is room on the node, at s->start and still once they have
 * drained: the chosen of s->v, and their cost together. False: it is not possible. */
bool victims_make_room(struct search *s, uint32_t node, struct cost *cost);

#endif
