/* sched_impl.h - the inside of the scheduler, for the files beside it */
#ifndef CTLD_CORE_SCHED_IMPL_H
#define CTLD_CORE_SCHED_IMPL_H

#include "ctld/core/sched/earliest_start.h"
#include "ctld/core/sched/nodes_within_limits.h"
#include "ctld/core/sched/sched.h"
#include "ctld/core/sched/wait_group.h"
#include "ctld/core/util/name_numbers.h"

/* The least time between two of these, in microseconds. */
#define COUNT_EVERY  ((usec_t)100000)  /* counts of positions for new classes */
#define REPLAN_EVERY ((usec_t)50000)   /* planned starts after a node's return */
#define ORDER_EVERY  ((usec_t)1000000) /* orderings of all classes */

/* The reservations of the plan by key, each with the sum of the hashes before it
 * (reservations_ahead_changed.c). */
struct aheads {
	struct ahead *v; /* owned */
	size_t n;
	unsigned asked;    /* how many classes have asked; sorted if those were many */
	uint64_t preempts; /* sum of all preemption reservations (reservations with victims): before
	                      every key */
	uint64_t changes;  /* plan_changes() plus 1 that they are of; 0: of none */
};

/* What is done with all classes (class_sweep.c), in this order where several are due. */
enum sweep { SWEEP_WAKE, SWEEP_ORDER, SWEEP_RISE, SWEEP_REFILL, SWEEP_NONE };
#define N_SWEEPS SWEEP_NONE

/* The search in progress (blocked_search.c). */
struct preemption_search {
	struct class *class; /* NULL: there is none */
	struct find find;    /* the alternative and type being searched */
	uint32_t cursor;     /* of decide_next_open() */
	struct unfit_nodes unfit;
	usec_t retry;
	struct victims *victims;     /* owned; NULL: the next type is to be begun */
	struct decide_search *start; /* owned; NULL: not begun */
};

/* Which class's turn it is to search for victims (blocked_search.c). */
struct search_turns {
	unsigned searches;    /* since the last ordering */
	bool put_off;         /* a class got no search because too many were made already */
	struct class *turn;   /* the class that gets one search beyond the limit; NULL */
	uint64_t last;        /* the number of searches */
	uint64_t *by_account; /* owned: that of its last one */
};

/* Moving up: one reservation after another, by rank, gets an earlier place if there is one. */
struct move {
	bool on;
	size_t rank;                  /* of the next reservation */
	size_t work;                  /* that is left until the next ordering */
	bool pauses;                  /* that was used up before all reservations were looked at */
	struct class *class;          /* whose reservation is searched for; NULL */
	struct decide_search *search; /* owned: for its earlier place */
};

struct sched {
	struct strings *strings;
	struct accounts *accounts;
	struct sched_view view; /* conf, ledger, limits, plan, now */
	struct plan_runs runs;
	struct classes *classes;
	struct wait_groups *wait_groups; /* ready classes, and wait groups */
	struct blocked *blocked;         /* blocked_retry.c */
	struct names partitions, account_names, qos_names;
	struct places places; /* of the last pick */
	struct preemption_search search;
	struct search_turns turns;
	struct move move;
	size_t search_step;
	struct preemption victims; /* the result of the last search for victims */
	uint64_t cluster_gpus, cluster_cpus;
	bool quotas;                     /* some account has one */
	bool preempts;                   /* some partition stops runs for others */
	bool usage_changed;              /* usage has changed since the keys were computed */
	uint64_t releases, plan_changes; /* quota_releases(), plan_changes() last seen */
	usec_t ordered;                  /* mono: when classes were last ordered */
	usec_t ordered_wall;
	enum sweep sweep;       /* in progress; SWEEP_NONE */
	size_t sweep_at;        /* classes from this number on are done */
	unsigned sweeps;        /* that are to follow, as bits */
	struct refill *refills; /* by partition, of the refill in progress */
	size_t n_refills;
	bool limits_too, promoted; /* of this ordering: check limits over time; a reservation has
	                              passed another */
	struct aheads aheads;
	usec_t limits_tried; /* mono: when limits over time were last looked at */
	bool disordered;     /* something has changed since that may change the order */
	bool early;          /* something ended early, or a reservation was removed */
	bool replan;         /* a node has returned */
	usec_t replanned;    /* mono: when planned starts were last made for that */
	bool risen;   /* reservations have fallen back: after this pass, check which classes gain */
	usec_t retry; /* the earliest retry of all classes */
	usec_t patience; /* mono: no run is stopped for another job before */
	uint64_t work;   /* of this step: classes, groups, wait groups and reservations looked at */
	struct sched_stats stats;
	uint64_t positions_of; /* the ordering that the positions were counted after */
	usec_t positions_mono; /* mono: when they were counted */
	bool in_pass;
};

#define WORTH_MOVING ((usec_t)1000000) /* a planned start moves for no less, in microseconds */

/* Why a job loses a planned start that it no longer needs. */
#define PLANNED_ELSEWHERE "it starts sooner in another partition"

/* Which of its head's partitions the class is for. */
uint32_t sched_choice(const struct class *class);
/* --- blocked_retry.c ------------------------------------------------------------------------- */

void blocked_new(struct sched *s);
void blocked_configure(struct sched *s); /* new lists; all classes must be out of the old ones */
void blocked_free(struct sched *s);
void block_class(struct sched *s, struct class *class);   /* into the lists of what blocks it */
void unblock_class(struct sched *s, struct class *class); /* out of all lists */
void wake(struct sched *s, struct class *class);          /* out of all lists, and ready */
void blocked_rekey(struct sched *s, struct class *class); /* its key has changed */
/* The class was refused, and neither it nor any class after it gets victims or a planned start now:
 * where the nodes, or what is planned on them, refused it, its groups need not be tried further.
 * `again`: they are to be tried at the next ordering. True: trying those groups again covers the
 * class. */
bool blocked_suppress(struct sched *s, struct class *class, bool again);
/* Is it in a marked group, one with more members to be tried? */
bool blocked_marked(const struct class *class);
/* What refused the class may have changed: its groups are to be marked. False: it is in no group
 * that refused it for that. */
bool blocked_note(struct sched *s, struct class *class);
/* Mark the groups for which that was noted. False: one step was not enough for all. */
bool blocked_mark_noted(struct sched *s);
/* May a node that the group was marked for still have room? */
bool blocked_fits(const struct sched *s, const struct wait_group *g);
/* Wake the classes that wait at these limits; `yielding`: only those that leave room at a limit for
 * a planned start. */
void wake_at_limits(struct sched *s, const uint32_t *limits, size_t n, bool yielding);
/* A run on the node may end before the start of a preemption reservation there now: wake the
 * classes that leave room for the preemption reservation at guarantees. */
void wake_beside_claims(struct sched *s, uint32_t node);
void wake_fitting(struct sched *s, uint32_t node); /* mark the groups of which a part fits there */

/* --- reservations_ahead_changed.c ------------------------------------------------------------ */

/* A hash of the owners of all reservations that stand before the key. */
uint64_t ahead_of(struct sched *s, struct heap_key key);
void ahead_changed(struct sched *s); /* the key of a reservation has changed */
void ahead_free(struct sched *s);

/* --- blocked_search.c ------------------------------------------------------------------------ */

/* The blocked class whose search continues when its turn comes; NULL: there is none. */
struct class *search_class(const struct sched *s);
/* End the search if it is for this class. */
void search_end(struct sched *s, const struct class *class);
/* Search for victims, or continue that search: one step. True: *pick has the victims. False and not
 * search_class(): there are none. */
bool search_victims(struct sched *s, struct class *class, struct sched_pick *pick);
/* Give the head of a blocked class a planned start if it is among the best: one step of a search.
 * FOUND: it has a new one. */
enum plan_step search_start(struct sched *s, struct class *class);
/* The class was refused. True: no search is made for it yet, because its first job is still to be
 * tried in another partition, or searches there come first. */
bool search_put_off(struct sched *s, struct class *class);
/* Is the search of this class past victims, at a planned start? */
bool search_planning(const struct sched *s, const struct class *class);
/* Neither this class nor one after it would get victims or a planned start now. *again: it may at
 * the next ordering. */
bool search_spent(struct sched *s, struct class *class, bool *again);
/* At each ordering: search_ordering() before it, search_consider() for each class, search_ordered()
 * when all keys have changed. */
void search_ordering(struct sched *s);
void search_consider(struct sched *s, struct class *class);
void search_ordered(struct sched *s);
void search_configure(struct sched *s); /* account numbers have changed */

/* --- planned_starts.c ------------------------------------------------------------------------ */

/* What to search for: a place from now on, whichever classes are behind it. */
struct plan_want planner_want(const struct sched *s, const struct candidate *who);
/* May the class have a planned start? *out: the class that would have to give up its own; NULL:
 * none. */
bool planner_has_room(struct sched *s, struct class *class, struct class **out);
/* The class gets this planned start; takes over found->places. */
void planner_enter(struct sched *s, struct class *class, const struct plan_want *want,
        struct reservation *found);
/* The victims have been told to end: what they free is reserved for the class. */
void planner_reserve_preemption(struct sched *s, struct class *class);
/* The class loses its planned start for that cause, a literal, and by that job or 0. */
void planner_break(struct sched *s, struct class *class, const char *cause, uint64_t by);
/* The head of the class, the job `by`, has started, gone or changed: its place is free for
 * others. */
void planner_drop(struct sched *s, struct class *class, uint64_t by);
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
/* Wake the class if it was held back by planned starts and other reservations stand before it now.
 */
void planner_wake_if_risen(struct sched *s, struct class *class);
/* All keys have changed. */
void planner_ordered(struct sched *s);
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
void planner_tell(struct class *class, struct sched_pick *pick);

/* --- class_sweep.c --------------------------------------------------------------------------- */

/* Continue the sweep that is due, for a few classes. False: none is due. */
bool sweeps_step(struct sched *s);
bool sweeps_due(const struct sched *s); /* except an ordering, which is due by time */
void refill_forget(struct sched *s, const struct class *class); /* it goes */
void sweeps_configure(struct sched *s);                         /* partition numbers have changed */
/* Usage has changed, and with it how far accounts are over quota: the order of the classes to be
 * tried, and of those with a planned start, is updated. */
void ordering_over(struct sched *s);

/* --- queue_order.c --------------------------------------------------------------------------- */

struct heap_key class_key(struct sched *s, struct class *class);
void class_rekey(struct sched *s, struct class *class); /* and update its place */
/* The first word of a key: the tier, and how far over quota the account would be with this request;
 * and the version of that (struct wait_words). `arg` is the scheduler. */
uint64_t key_word(void *arg, uint64_t tier, uint32_t account, const struct request *gpus);
uint64_t key_version(void *arg, uint32_t account);
uint32_t sched_tier(const struct sched *s, uint32_t partition); /* CONF_NONE: 0 */

#endif
