/* sched.h - who is next, and where
 *
 * Eligible jobs wait in classes (class.h). Classes to be tried stand in a heap by (tier of the
 * partition, priority, id of the head), best first: taking the best again and again is a k-way
 * merge of all queues. A class whose head does not fit is *parked*: in the lists of what it waits
 * for (node set and kind). Invariant: no parked class fits anywhere. It holds because what is free
 * only grows by something happening on one node, and sched_node_freed() wakes all parked classes
 * that fit on that node now.
 *
 * So the heap is the pass and its cursor in one: a slice may stop anywhere, a better class that
 * arrives meanwhile is simply the next, and when the heap is empty everything that fits has
 * started.
 *
 * The scheduler decides; it changes neither jobs nor bookings. For each pick the caller books and
 * takes the job out, or takes it out for another reason.
 */
#ifndef CTLD_CORE_SCHED_H
#define CTLD_CORE_SCHED_H

#include "ctld/core/class.h"

struct sched;

struct sched_pick {
	struct job *job;
	const struct places *places; /* PICKED: until the next step */
};

enum sched_step {
	SCHED_IDLE,    /* nothing to try */
	SCHED_BLOCKED, /* a class was parked */
	SCHED_PICKED,  /* this job starts there */
};

struct sched *sched_new(struct strings *strings, struct requests *requests, uint64_t seed);
void sched_free(struct sched *s); /* NULL is fine; all jobs must be out */

/* Another configuration (also the first) and its ledger: everything is to be tried again. */
void sched_configure(struct sched *s, const struct conf *conf, struct ledger *ledger);

/* The job has become eligible, is not any more. */
void sched_add(struct sched *s, struct job *job);
void sched_remove(struct sched *s, struct job *job);

/* Something on that node has become free, or it accepts work again. */
void sched_node_freed(struct sched *s, uint32_t node);
/* Try every class again. */
void sched_wake_all(struct sched *s);

/* Look at the best class. */
enum sched_step sched_step(struct sched *s, struct sched_pick *pick);
bool sched_idle(const struct sched *s);

/* The number of a partition in the present configuration; CLASS_NO_PARTITION: none. */
uint32_t sched_partition(const struct sched *s, const char *name);
uint32_t sched_partition_kept(const struct sched *s, const char *kept); /* a kept name: fast */

/* Bigger is served first, tiers aside. The one place where weights will come in. */
int64_t sched_priority(int32_t nice);

struct sched_stats {
	uint64_t classes, parked, passes, tried;
};
void sched_stats(const struct sched *s, struct sched_stats *stats);
struct class *sched_each_class(const struct sched *s, size_t *cursor); /* for checks and verdicts */

#endif
