/* sched.h - who is next, and where
 *
 * Eligible jobs wait in classes (class.h). Classes to be tried stand in a heap, best first: by
 * (tier of the partition, how far over quota, priority, id of the head). Taking the best again and
 * again is a k-way merge of all queues. A class whose head cannot start (decide.h) is *parked* in
 * the lists of what it waits for: gates, or capacity of a kind in a node set. Whatever is released
 * there wakes it.
 *
 * A parked class that waits for capacity may get victims (victims.h), and gets a planned start
 * (plan.h) if it is among the best `plan_depth` of its partition. Nothing that starts may delay
 * what is planned for somebody before it.
 *
 * So the heap is the pass and its cursor in one: a slice may stop anywhere, a better class that
 * arrives meanwhile is simply the next, and when the heap is empty everything that may start has.
 *
 * Priorities change with time and use: at most once a second, when there is something to do, all
 * classes are ordered anew (fair-share ranks, ages), planned starts are moved up where something
 * ended early, and classes without a plan get one where there is room.
 *
 * The scheduler decides; it changes neither jobs nor bookings. For each pick the caller books and
 * takes the job out, stops the victims, or takes the job out for another reason.
 */
#ifndef CTLD_CORE_SCHED_H
#define CTLD_CORE_SCHED_H

#include "ctld/core/accounts/prio.h"
#include "ctld/core/preempt/victims.h"
#include "ctld/core/sched/class.h"

struct sched;

struct sched_pick {
	struct job *job;
	const struct places *places;          /* PICKED: until the next step */
	struct need need;                     /* PICKED: to take from the gates */
	const struct preempt_victim *victims; /* PREEMPT: to be stopped for the job */
	size_t n_victims;
	usec_t planned; /* PLANNED, PREEMPT: mono; PLAN_FAR or more: nobody knows when */
	bool searched;  /* a step of a search: it has taken long */
};

enum sched_step {
	SCHED_IDLE,    /* nothing to do */
	SCHED_BLOCKED, /* a class was parked, or some such */
	SCHED_PLANNED, /* the same, and its head has a planned start */
	SCHED_PREEMPT, /* the same, and these runs must end for it */
	SCHED_PICKED,  /* this job starts there */
};

struct sched *sched_new(struct strings *strings, struct requests *requests,
        struct accounts *accounts, uint64_t seed, const struct plan_runs *runs);
void sched_free(struct sched *s); /* NULL is fine; all jobs must be out */

/* Another configuration (also the first), its ledger and gates: everything is to be tried again.
 * Before the old gates are freed: the paths of the classes go with them. */
void sched_configure(struct sched *s, const struct conf *conf, struct ledger *ledger,
        struct gates *gates, const struct partitions *partitions);

/* The time of all that follows, until it is set again. */
void sched_now(struct sched *s, struct clocks now);
/* Until then (mono) nobody is stopped for others: nodes that had runs when the controller was
 * started are still to be heard, and with them who was told to end before. */
#define START_PATIENCE (10 * (usec_t)1000000)
void sched_patience(struct sched *s, usec_t until);

/* The job has become eligible, is not any more. */
void sched_add(struct sched *s, struct job *job);
void sched_remove(struct sched *s, struct job *job);
/* It stands for fewer tasks than before, and for one at least. */
void sched_shrunk(struct sched *s, struct job *job);

/* The job has taken something there: who has no room any more loses his planned start to it. */
void sched_node_taken(struct sched *s, uint32_t node, uint64_t by);
/* Something on the node ends at another time, or it takes no more work: whoever has
 * no room there any more loses his planned start for that cause, a literal. */
void sched_node_changed(struct sched *s, uint32_t node, const char *cause);
/* Something on that node has become free, or it accepts work again. */
void sched_node_freed(struct sched *s, uint32_t node);
/* It accepts work, and perhaps did not: what could be planned there is, before anything starts. */
void sched_node_returned(struct sched *s, uint32_t node);
/* Something was released at these gates. */
void sched_gates_released(struct sched *s, const uint32_t *gates, size_t n);
/* Try every class again. */
void sched_wake_all(struct sched *s);

/* Do the next thing. */
enum sched_step sched_step(struct sched *s, struct sched_pick *pick);
/* The victims of a PREEMPT have been told to end, and until when: the places are the job's. */
void sched_claim(struct sched *s, const struct sched_pick *pick);
bool sched_idle(const struct sched *s);
/* How much one step of a search looks at, for victims or for a planned start, as plan_search()
 * counts; for tests: as little as 1, so that small clusters are searched in steps, too. */
#define SEARCH_STEP 1000
void sched_search_step(struct sched *s, size_t work);
/* So much is looked at for one that only asks. */
#define SEARCH_ASKED 10000
/* Whom a contender that is only imagined, and that decide() found blocked, would have stopped: as
 * far as SEARCH_ASKED comes. False: nobody. *out is to be cleared in any case. */
bool sched_would_stop(struct sched *s, const struct contender *who, const struct decision *d,
        struct preemption *out);
/* Is there one to be gone on with? */
bool sched_searching(const struct sched *s);
/* Is somebody of a better key still to be tried? */
bool sched_busy_before(struct sched *s, struct heap_key key);
/* When there will be something to do without anything happening; INT64_MAX: never. */
usec_t sched_next(const struct sched *s);

/* --- for views, --test-only and --why -------------------------------------------------------- */

const struct scene *sched_scene(const struct sched *s);
/* As ledger_user(), of a partition; CONF_NONE: 0. */
uint32_t sched_user(
        const struct sched *s, uint32_t partition, const struct request *gpus, uint32_t uid);
struct contender sched_contender(const struct sched *s, const struct class *class);
/* The place in the order that a job would have if it came now, of these numbers and texts. */
struct heap_key sched_key(struct sched *s, const struct contender *who, struct assoc *assoc,
        const struct class_info *info, uint64_t id, usec_t submit_time);

/* The number of a partition, account, QOS in the present configuration; CONF_NONE: none. */
uint32_t sched_partition(const struct sched *s, const char *name);
uint32_t sched_partition_kept(const struct sched *s, const char *kept); /* a kept name: fast */
uint32_t sched_account(const struct sched *s, const char *name);
uint32_t sched_qos(const struct sched *s, const char *name);
uint32_t sched_account_kept(const struct sched *s, const char *kept);
uint32_t sched_qos_kept(const struct sched *s, const char *kept);

/* Factors of a job and what they come to now. */
void sched_priority(const struct sched *s, const struct job *job, struct factors *factors,
        struct prio_parts *parts);

struct sched_stats {
	uint64_t classes, parked, passes, tried, planned, orderings, moved_up;
	uint64_t broken;      /* planned starts given up, for whatever cause */
	uint64_t unexplained; /* later ones without a cause: must be 0 */
	uint64_t work_most;   /* how many classes, entries and the like one step has looked at */
};
void sched_stats(const struct sched *s, struct sched_stats *stats);
struct class *sched_each_class(const struct sched *s, size_t *cursor); /* for checks and verdicts */
size_t sched_class_count(const struct sched *s);
/* The place of a class's head in the order of its partition, from 1, and of how many jobs: as they
 * were counted last, after an ordering or because somebody had come; 0: it has come since, a moment
 * ago. */
void sched_position(struct sched *s, const struct class *class, uint32_t *position, uint32_t *of);
/* How many jobs and tasks of the class come before a job of it. Looks at all. */
uint32_t sched_before(const struct class *class, const struct job *job);
bool sched_check(struct sched *s, char *text, size_t size);

#endif
