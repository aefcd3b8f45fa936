/* sched.h - which job starts next, and where
 *
 * Eligible jobs wait in classes (class.h). A class is ready (it is to be tried) or blocked:
 *
 *	first job ----> READY ----- its head cannot start (decide.h) ----> BLOCKED
 *	                |   ^                                                 |
 *	                |   |<--- another head comes into the class ----------+
 *	 its head       |   |<--- a limit that it waits for is released ------+
 *	 starts: so     |   |<--- other planned starts are before it ---------+
 *	 does the next  |   |<--- the time of its retry has come -------------+
 *	 one, or the    +---+<--- its turn in a wait group that is marked ----+
 *	 class goes
 *
 * A blocked class keeps what refused its head. It stands in the lists of what it waits for: limits
 * (of the configuration, by quotas, by licences), and in wait groups (wait_group.h) for capacity. A
 * wait group has a mark while some node may have room for it:
 *
 *	UNMARKED ----- a release on a node that has room for a part; another order ----> MARKED
 *	    ^                                                                              |
 *	    +--- suppressed: no room any more, or refused for a cause that holds for all --+
 *
 * The ready classes and the marked wait groups take turns, best key first: (tier of the partition,
 * how far over quota, priority, id of the head). Taking the best again and again is a k-way merge
 * of all queues. So the heap of turns is both the pass and its cursor: a slice may stop anywhere, a
 * better class that arrives meanwhile is the next one, and when no turn is left, every job that may
 * start has started.
 *
 * For a blocked class that waits for capacity, running jobs may be stopped (victims.h); it gets a
 * planned start (plan.h) if it is among the best `plan_depth` of its partition. One class at a time
 * is searched for, in steps. A job that starts must not delay the planned start of a class before
 * it.
 *
 * Priorities change with time and use. So at most once a second, and only if there is something to
 * do, all classes are ordered again (fair-share ranks, ages), planned starts are moved up where
 * something ended early, and classes without a planned start get one where there is room.
 *
 * A job with a list of partitions waits in a class of each, and starts in the one that first has
 * room. It has one planned start: a search in another of its partitions only looks for an earlier
 * one, and what is planned for the job itself keeps it from nothing.
 *
 * The scheduler decides; it changes neither jobs nor bookings. For each pick the caller books the
 * places and takes the job out of its class, or stops the victims, or takes the job out for another
 * reason.
 *
 *	sched.c                       jobs come and go, configurations, one step
 *	queue_order.c                 what goes first: tier, quota, priority and job id in one key
 *	wait_group.c                  turns: ready classes and wait groups
 *	blocked_retry.c               what blocks a class, and what wakes it
 *	blocked_search.c              victims and starts, for one class at a time
 *	planned_starts.c              which classes have a planned start
 *	reservations_ahead_changed.c  are other planned starts before a class than when it was blocked?
 *	class_sweep.c                 what is done with all classes
 */
#ifndef CTLD_CORE_SCHED_H
#define CTLD_CORE_SCHED_H

#include "ctld/core/accounts/priority_factors.h"
#include "ctld/core/preempt/victims.h"
#include "ctld/core/sched/class.h"

struct sched;

struct sched_pick {
	struct job *job;
	uint32_t choice;              /* in which of its partitions: job_queued() */
	const struct places *places;          /* PICKED: valid until the next step */
	struct need need;                     /* PICKED: what to take from the limits */
	const struct preempt_victim *victims; /* PREEMPT: the runs to be stopped for the job */
	size_t n_victims;
	usec_t planned; /* PLANNED, PREEMPT: mono; PLAN_FAR or more: the time is not known */
	bool searched;  /* this was a step of a search, which takes long */
};

enum sched_step {
	SCHED_IDLE,    /* nothing to do */
	SCHED_BLOCKED, /* a class was blocked, or a part of other work was done */
	SCHED_PLANNED, /* as BLOCKED, and its head has a planned start */
	SCHED_PREEMPT, /* as BLOCKED, and these runs must end for it */
	SCHED_PICKED,  /* this job starts at these places */
};

struct sched *sched_new(struct strings *strings, struct requests *requests,
        struct accounts *accounts, uint64_t seed, const struct plan_runs *runs);
void sched_free(struct sched *s); /* NULL is fine; no job may be left in it */

/* Take over another configuration (or the first), its ledger and limits; all classes are tried
 * again. Call it before the old limits are freed, because the chains of the classes are freed
 * here. */
void sched_configure(struct sched *s, const struct conf *conf, struct ledger *ledger,
        struct limits *limits, const struct partitions *partitions);

/* The time for all calls that follow, until it is set again. */
void sched_now(struct sched *s, struct clocks now);
/* Until then (mono) no run is stopped for another job. After a start of the controller, nodes that
 * had runs have yet to report, and their reports say which runs were already told to end. */
#define START_PATIENCE (10 * (usec_t)1000000)
void sched_patience(struct sched *s, usec_t until);

/* The job has become eligible; the job is no longer eligible. */
void sched_add(struct sched *s, struct job *job);
void sched_remove(struct sched *s, struct job *job);
/* The job stands for fewer tasks than before, and for at least one. */
void sched_shrunk(struct sched *s, struct job *job);

/* The job `by` has taken something on the node: a reservation that has no room there any more is
 * broken. */
void sched_node_taken(struct sched *s, uint32_t node, uint64_t by);
/* Something on the node ends at another time, or the node takes no more work: a reservation that
 * has no room there any more is broken for that cause, a literal. */
void sched_node_changed(struct sched *s, uint32_t node, const char *cause);
/* Something on that node has become free, or it accepts work again. */
void sched_node_freed(struct sched *s, uint32_t node);
/* The node accepts work, and perhaps did not before: it is planned on before anything starts
 * there. */
void sched_node_returned(struct sched *s, uint32_t node);
/* Something was released at these limits. */
void sched_limits_released(struct sched *s, const uint32_t *limits, size_t n);
/* Try every class again. */
void sched_wake_all(struct sched *s);

/* Do the next thing: try a class, or one step of other work. */
enum sched_step sched_step(struct sched *s, struct sched_pick *pick);
/* The victims of a PREEMPT have been told to end, and by when: their places now belong to the
 * job. */
void sched_reserve_preemption(struct sched *s, const struct sched_pick *pick);
bool sched_idle(const struct sched *s);
/* How much work one step of a search does, for victims or for a planned start, counted as
 * plan_search() counts. Tests set it as low as 1, so that small clusters are searched in steps,
 * too. */
#define SEARCH_STEP 1000
void sched_search_step(struct sched *s, size_t work);
/* The work that a search may do for a query that changes nothing. */
#define SEARCH_ASKED 10000
/* The victims that would be stopped for an imagined candidate that decide() found blocked, as far
 * as SEARCH_ASKED allows. False: none. The caller clears *out in any case. */
bool sched_would_stop(struct sched *s, const struct candidate *who, const struct decision *d,
        struct preemption *out);
/* Is there a search to be continued? */
bool sched_searching(const struct sched *s);
/* Is a class with a better key still to be tried? */
bool sched_busy_before(struct sched *s, struct heap_key key);
/* When there is something to do even if no event comes (mono); INT64_MAX: never. */
usec_t sched_next(const struct sched *s);

/* --- for views, --test-only and --why -------------------------------------------------------- */

const struct sched_view *sched_view(const struct sched *s);
/* As ledger_user(), for a partition; 0 if it is CONF_NONE. */
uint32_t sched_user(
        const struct sched *s, uint32_t partition, const struct request *gpus, uint32_t uid);
struct candidate sched_candidate(const struct sched *s, const struct class *class);
/* The class that speaks for a job in several: that of its planned start, else of its first
 * partition. NULL: it is not eligible. */
struct class *sched_class_of(const struct job *job);
/* May the head of the class start now? Its own planned start in another partition does not count:
 * it would be given up. */
enum verdict sched_decide(const struct sched *s, const struct class *class, struct places *out,
        struct decision *d);
/* The key that a job with these numbers and names would have if it came now. */
struct heap_key sched_key(struct sched *s, const struct candidate *who, struct assoc *assoc,
        const struct class_info *info, uint64_t id, usec_t submit_time);

/* The number of a partition, account, QOS in the present configuration; CONF_NONE: none. */
uint32_t sched_partition(const struct sched *s, const char *name);
uint32_t sched_partition_kept(const struct sched *s, const char *kept); /* interned: fast */
uint32_t sched_account(const struct sched *s, const char *name);
uint32_t sched_qos(const struct sched *s, const char *name);
uint32_t sched_account_kept(const struct sched *s, const char *kept);
uint32_t sched_qos_kept(const struct sched *s, const char *kept);

/* The factors of a job's priority and what they amount to now. */
void sched_priority(const struct sched *s, const struct job *job, struct factors *factors,
        struct prio_parts *parts);

struct sched_stats {
	uint64_t classes, blocked, passes, tried, planned, orderings, moved_up;
	uint64_t broken;      /* planned starts given up, for any cause */
	uint64_t unexplained; /* later starts without a cause: must be 0 */
	uint64_t
	        work_most; /* the most classes, reservations and the like that one step looked at */
};
void sched_stats(const struct sched *s, struct sched_stats *stats);
struct class *sched_each_class(const struct sched *s, size_t *cursor); /* for checks and verdicts */
size_t sched_class_count(const struct sched *s);
/* The position of a class's head in the order of its partition, from 1, and the number of jobs
 * there. Both are counted after an ordering, or when a new class has none yet. 0: the class is
 * newer than the last count, by at most 100 ms. */
void sched_position(struct sched *s, const struct class *class, uint32_t *position, uint32_t *of);
/* How many jobs and tasks of the class come before this job. Looks at the whole queue. */
uint32_t sched_before(const struct class *class, const struct job *job);
bool sched_check(struct sched *s, char *text, size_t size);

#endif
