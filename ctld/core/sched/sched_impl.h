/* sched_impl.h - the inside of the scheduler, for sched.c, ready.c, ordering.c, blocked.c and
 * planner.c */
#ifndef CTLD_CORE_SCHED_IMPL_H
#define CTLD_CORE_SCHED_IMPL_H

#include "ctld/core/sched/wait_group.h"
#include "ctld/core/sched/sched.h"
#include "ctld/core/util/names.h"

/* The least time between two of these, in microseconds. */
#define COUNT_EVERY  ((usec_t)100000)  /* counts of positions for new classes */
#define REPLAN_EVERY ((usec_t)50000)   /* planned starts after a node's return */
#define ORDER_EVERY  ((usec_t)1000000) /* orderings of all classes */

/* A wait group that has members, with the least that a part of it needs. */
struct seat {
	uint32_t gpus, cpus;
	uint64_t mem_mb;
	struct wait_group *wait_group;
};

struct wait_group_list {
	struct seat *v; /* owned */
	size_t n, size;
};

/* To ask for all classes at once which reservations stand before their keys: the reservations by
 * key, each with the sum of the hashes before it. */
struct aheads {
	struct ahead *v; /* owned */
	size_t n;
	uint64_t preempts; /* sum of all preemption reservations (reservations with victims): before
	                      every key */
};

/* The search in progress, for one class: first for victims, then for a planned start. The class is
 * blocked, but keeps its turn among the ready classes, in which the search goes on. If the class is
 * woken meanwhile it is tried again, and its search goes on if it is refused again. Any other
 * change of the class ends the search. So does a search for another class; then this class is tried
 * again. */
struct preemption_search {
	struct class *class; /* NULL: there is none */
	struct find find;    /* the alternative and type being searched */
	uint32_t cursor;     /* of decide_next_open() */
	struct decide_unfit unfit;
	usec_t retry;
	struct victims *victims; /* owned; NULL: the next type is to be begun */
	struct decide_search *start; /* owned; NULL: not begun */
};

/* The search for an earlier place of the reservation that is being moved up. */
struct move {
	struct class *class; /* NULL: none */
	struct decide_search *search; /* owned */
};

struct sched {
	struct strings *strings;
	struct accounts *accounts;
	struct sched_view view; /* conf, ledger, limits, plan, now */
	struct plan_runs runs;
	struct classes *classes;
	struct table *groups; /* ready.c */
	struct heap *ready;   /* groups (ready.c) that have ready classes */
	size_t n_ready;       /* classes */
	struct heap *marked;  /* wait groups by their best candidate, which is woken in its turn */
	struct wait_groups *wait_groups;
	struct wait_group *noted; /* wait groups with `behind` or `again` set */
	struct names partitions, account_names, qos_names;
	struct wait_group_list *lists; /* [set * kinds + kind] */
	size_t n_lists, kinds;    /* GPU types, any, none */
	struct waiter **limited;  /* by limit; the list [n_limited - 1] waits for any limit */
	size_t n_limited;
	struct places places; /* of the last pick */
	struct preemption_search search;
	struct move move;
	size_t move_work;  /* work left for moving up until the next ordering */
	bool move_pauses;  /* move_work was used up before all reservations were looked at */
	size_t search_step;
	struct preemption victims; /* the result of the last search for victims */
	uint64_t cluster_gpus, cluster_cpus;
	bool quotas;       /* some account has one */
	bool preempts;     /* some partition stops runs for others */
	bool usage_changed;              /* usage has changed since the keys were computed */
	uint64_t releases, plan_changes; /* quota_releases(), plan_changes() last seen */
	usec_t ordered;    /* mono: when classes were last ordered */
	usec_t ordered_wall;
	/* Sweeps (ordering.c): classes from these numbers on are done. */
	bool ordering, rising;
	size_t wake_at, order_at, rise_at, refill_at;
	struct refill *refills; /* by partition; NULL: no refill is in progress */
	size_t n_refills;
	bool limits_too, promoted; /* of this ordering: check limits over time; a reservation has
	                              passed another */
	struct aheads aheads;
	usec_t limits_tried;     /* mono: when limits over time were last looked at */
	bool disordered;         /* something has changed since that may change the order */
	size_t compress;         /* the rank of the next reservation to be moved up */
	bool compressing, early; /* early: something ended early, or a reservation was removed */
	bool replan;             /* a node has returned */
	usec_t replanned;        /* mono: when planned starts were last made for that */
	bool risen; /* reservations have fallen back: after this pass, check which classes gain */
	unsigned searches;       /* for victims, since the last ordering */
	bool put_off;            /* a class got no search because too many were made already */
	struct class *turn;      /* the class that gets one search beyond the limit; NULL */
	uint64_t last_search,
	        *last_searched;  /* number of searches; by account, that of its last one */
	usec_t retry;            /* the earliest retry of all classes */
	usec_t patience;         /* mono: no run is stopped for another job before */
	uint64_t work; /* of this step: classes, groups, wait groups and reservations looked at */
	struct sched_stats stats;
	uint64_t positions_of; /* the ordering that the positions were counted after */
	usec_t positions_mono; /* mono: when they were counted */
	bool in_pass;
};

/* --- ready.c --------------------------------------------------------------------------------- */

void ready_new(struct sched *s, uint64_t seed);
void ready_free(struct sched *s);
/* The class has numbers of the present configuration; it has none any more. */
void ready_resolve(struct sched *s, struct class *class);
void ready_unresolve(struct sched *s, struct class *class);
void ready_put(struct sched *s, struct class *class); /* by the key that class_key() has set */
void ready_remove(struct sched *s, struct class *class);
void ready_rekey(struct sched *s, struct class *class); /* its key has changed */
/* The best ready class, with its key as of now; NULL: there is none. */
struct class *ready_first(struct sched *s);
/* Some usage has fallen: keys may be smaller than those that the heap is ordered by. */
void ready_released(struct sched *s);
/* The first word of its key as of now: the word that changes with what other jobs hold. */
uint64_t class_over(struct sched *s, const struct class *class);

/* --- blocked.c ----------------------------------------------------------------------------------
 */

void blocked_configure(struct sched *s); /* new lists; all classes must be out of the old ones */
void blocked_free(struct sched *s);
/* The class has numbers of the present configuration; it has none any more. */
void blocked_resolve(struct sched *s, struct class *class);
void blocked_unresolve(struct sched *s, struct class *class);
void block_class(struct sched *s, struct class *class);   /* into the lists of what blocked it */
void unblock_class(struct sched *s, struct class *class); /* out of all lists */
void blocked_rekey(struct sched *s, struct class *class); /* its key has changed */
void wake(struct sched *s, struct class *class);       /* make it ready again */
/* The class was refused, and neither it nor any class after it gets victims or a planned start now:
 * where the nodes, or what is planned on them, refused it, its wait groups need not be tried
 * further. `again`: they are to be tried at the next ordering. True: trying those wait groups again
 * covers the class. */
bool blocked_suppress(struct sched *s, struct class *class, bool again);
/* Is it in a marked wait group, one with more members to be tried? */
bool blocked_marked(const struct class *class);
/* What refused the class may have changed: note it for its wait groups. False: it is in no wait
 * group that refused it for that. */
bool blocked_note_behind(struct sched *s, struct class *class);
/* Mark the wait groups for which a change was noted. False: one step was not enough for all. */
bool blocked_mark_noted(struct sched *s);
/* Some usage has fallen: account subgroups of marked wait groups may have moved to the front. */
void blocked_released(struct sched *s);
/* Wake the classes that wait at these limits; `yielding`: only those that leave room at a limit for
 * a planned start. */
void wake_at_limits(struct sched *s, const uint32_t *limits, size_t n, bool yielding);
/* A run on the node may end before the start of a preemption reservation there now: wake the
 * classes that leave room for the preemption reservation at guarantees. */
void wake_beside_claims(struct sched *s, uint32_t node);
void wake_fitting(
        struct sched *s, uint32_t node); /* the wait groups of which a part fits on the node */
/* Wake the best candidate of the marked wait groups, if it is its turn and a part still fits.
 * False: there was more to look at than one step may. */
bool wake_marked(struct sched *s);
/* Is there a marked candidate with a better key? */
bool marked_before(struct sched *s, struct heap_key key);

/* --- planner.c ------------------------------------------------------------------------------- */

/* Give the head of a blocked class a planned start if it is among the best: one step of a search.
 * FOUND: it has a new one. */
enum plan_step planner_plan(struct sched *s, struct class *class);
/* Is the search of this class past victims, at a planned start? */
bool planner_planning(const struct sched *s, const struct class *class);
/* The head of the class, the job `by`, has started, gone or changed: its place is free for
 * others. */
void planner_drop(struct sched *s, struct class *class, uint64_t by);
/* Neither this class nor one after it would get victims or a planned start now. *again: it may at
 * the next ordering. */
bool planner_spent(struct sched *s, struct class *class, bool *again);
/* If a limit or the like now holds the class, or the alternative that is planned, its planned start
 * is given up for that cause. */
void planner_close(struct sched *s, struct class *class);
/* Break each reservation that has no room on the node any more, and try its class again. */
void planner_recheck(struct sched *s, uint32_t node, const char *cause, uint64_t by);
/* The planned start of the class has come, and its job did not start: if there is no room the
 * reservation is broken and the class is tried again. */
void planner_late(struct sched *s, struct class *class);
/* Try the class again at the first ordering from then on. */
void planner_retry_at(struct sched *s, struct class *class, usec_t when);
/* Search for victims, or continue that search: one step. True: *pick has the victims. False and not
 * planner_searching(): there are none. */
bool planner_preempt(struct sched *s, struct class *class, struct sched_pick *pick);
/* The blocked class whose search continues when its turn comes; NULL: there is none. */
struct class *planner_searching(const struct sched *s);
/* End the search if it is for this class. */
void planner_end_search(struct sched *s, const struct class *class);
/* The victims have been told to end: what they free is reserved for the class. */
void planner_reserve_preemption(struct sched *s, struct class *class);
/* A hash of the owners of all reservations that stand before the key. */
uint64_t planner_ahead(const struct sched *s, struct heap_key key);
struct aheads planner_aheads(const struct sched *s); /* the caller frees v */
/* Wake the class if it was held back by planned starts and other reservations stand before it now.
 */
void planner_wake_if_risen(struct sched *s, struct class *class, const struct aheads *all);
/* At each ordering: planner_ordering() before it, planner_consider() for each class,
 * planner_ordered() when all keys have changed. */
void planner_ordering(struct sched *s);
void planner_consider(struct sched *s, struct class *class);
void planner_ordered(struct sched *s);
void planner_configure(struct sched *s); /* account numbers have changed */
/* Usage has changed, and with it perhaps the keys of reservations. Wakes the owners of reservations
 * that have other reservations before them now; whether another class has passed a reservation is
 * checked after the pass (`risen`). */
void planner_rekeyed(struct sched *s);
/* Move one reservation up, or search for an earlier place: one step. False: all are done. *moved:
 * the class whose reservation was replaced, or NULL. */
bool planner_compress(struct sched *s, struct class **moved, struct sched_pick *pick);
/* End the move if it is of this class's reservation. */
void planner_end_move(struct sched *s, const struct class *class);
/* Fill *pick with the planned start of the class. */
void planner_tell(struct sched *s, struct class *class, struct sched_pick *pick);

/* --- ordering.c ------------------------------------------------------------------------------ */

/* Continue the sweep that is due, for a few classes. False: none is due. */
bool sweeps_step(struct sched *s);
bool sweeps_due(const struct sched *s); /* except an ordering, which is due by time */
/* Try the best classes that have no planned start although there is room for one. */
void refill_begin(struct sched *s);
void refill_end(struct sched *s);
void refill_forget(struct sched *s, struct class *class); /* it goes, or gets another partition */
/* Usage has changed, and with it how far accounts are over quota: the order of the classes to be
 * tried, and of those with a planned start, is updated. */
void ordering_over(struct sched *s);

/* --- sched.c --------------------------------------------------------------------------------- */

struct heap_key class_key(struct sched *s, struct class *class);
void class_rekey(struct sched *s, struct class *class); /* and update its place */
/* The first word of a key: the tier, and how far over quota the account would be with this
 * request. */
uint64_t sched_over(
        const struct sched *s, uint64_t tier, uint32_t account, const struct request *gpus);
uint32_t sched_tier(const struct sched *s, uint32_t partition); /* CONF_NONE: 0 */

#endif
