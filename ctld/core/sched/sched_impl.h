/* sched_impl.h - the inside of the scheduler, for sched.c, ready.c, ordering.c, park.c and
 * planner.c */
#ifndef CTLD_CORE_SCHED_IMPL_H
#define CTLD_CORE_SCHED_IMPL_H

#include "ctld/core/sched/crowd.h"
#include "ctld/core/sched/sched.h"
#include "ctld/core/util/names.h"

#define COUNT_EVERY  ((usec_t)100000)  /* and positions counted because somebody has come */
#define REPLAN_EVERY ((usec_t)50000)   /* at most so often are plans made because a node returned */
#define ORDER_EVERY  ((usec_t)1000000) /* at most so often are all classes ordered anew */

/* Crowds that have members, each with what a part of it needs at least. */
struct seat {
	uint32_t gpus, cpus;
	uint64_t mem_mb;
	struct crowd *crowd;
};

struct crowd_list {
	struct seat *v; /* owned */
	size_t n, size;
};

/* Which entries stand before a key is asked for all classes at once: entries by key, each with the
 * sum of those before it. */
struct aheads {
	struct ahead *v; /* owned */
	size_t n;
	uint64_t claims; /* stand before everybody */
};

/* The search that was begun and has not been done: for victims, then for a planned start. Its class
 * is parked and has its turn among those to be tried as if it still were: then the search goes on.
 * A class that is woken before that is tried anew, and goes on with its search if it is refused
 * again. Whatever else becomes of the class ends it; a search of another class does too, and then
 * this one is tried again. */
struct hunt {
	struct class *class; /* NULL: there is none */
	struct find find;    /* the alternative and type that are looked at */
	uint32_t cursor;     /* of decide_next_open() */
	struct decide_unfit unfit;
	usec_t retry;
	struct victims *victims; /* owned; NULL: the next type is to be begun */
	struct decide_search *start; /* owned; NULL: not yet */
};

/* The entry that is to be moved up is searched a place for. */
struct move {
	struct class *class; /* NULL: none is */
	struct decide_search *search; /* owned */
};

struct sched {
	struct strings *strings;
	struct accounts *accounts;
	struct scene scene; /* conf, ledger, gates, plan, now */
	struct plan_runs runs;
	struct classes *classes;
	struct table *groups; /* ready.c */
	struct heap *ready;   /* those that have ready classes */
	size_t n_ready;       /* classes */
	struct heap *stirred; /* crowds by their best candidate, to be woken in its turn */
	struct crowds *crowds;
	struct crowd *noted; /* those that are behind, or again */
	struct names partitions, account_names, qos_names;
	struct crowd_list *lists; /* [set * kinds + kind] */
	size_t n_lists, kinds;    /* GPU types, any, none */
	struct waiter **gated;    /* by gate; [n_gated - 1] waits for any of them */
	size_t n_gated;
	struct places places; /* of the last pick */
	struct hunt hunt;
	struct move move;
	size_t move_work;  /* left until the next ordering */
	bool move_pauses;  /* there was more to move up than that */
	size_t search_step;
	struct preemption victims; /* what it comes to */
	uint64_t cluster_gpus, cluster_cpus;
	bool quotas;       /* some account has one */
	bool preempts;     /* some partition stops runs for others */
	bool held_changed; /* and what is held has changed since keys were worked out */
	uint64_t releases, plan_changes; /* quota_releases(), plan_changes() then */
	usec_t ordered;    /* mono: when classes were last ordered */
	usec_t ordered_wall;
	/* ordering.c: classes from these numbers on are done. */
	bool ordering, rising;
	size_t wake_at, order_at, rise_at, refill_at;
	struct refill *refills; /* by partition; NULL: none is being done */
	size_t n_refills;
	bool gates_too,
	        rose; /* of this ordering: limits over time are looked at; entries have risen */
	struct aheads aheads;
	usec_t gates_tried;      /* mono: when limits over time were last looked at */
	bool disordered;         /* and since then something has happened that makes a difference */
	size_t compress;         /* entries still to be moved up */
	bool compressing, early; /* early: something ended early, or an entry has gone */
	bool replan;             /* a node has returned */
	usec_t replanned;        /* mono: when plans were last made for that */
	bool risen; /* entries have gone back in the order: others may pass now, after this pass */
	unsigned searches;       /* for victims, since the last ordering */
	bool put_off;            /* some class would have had one, and there were too many */
	struct class *turn;      /* it has one beside them; NULL */
	uint64_t hunts, *hunted; /* how many there were; of each account the last one's number */
	usec_t retry;            /* the earliest of all classes */
	usec_t patience;         /* mono: until then nobody is stopped */
	uint64_t work; /* of this step: classes, groups, crowds, entries that were looked at */
	struct sched_stats stats;
	uint64_t positions_of; /* the ordering that positions were counted for */
	usec_t positions_mono; /* and when that was */
	bool in_pass;
};

/* --- ready.c --------------------------------------------------------------------------------- */

void ready_new(struct sched *s, uint64_t seed);
void ready_free(struct sched *s);
/* The class has numbers of the present configuration; has them no more. */
void ready_resolve(struct sched *s, struct class *class);
void ready_unresolve(struct sched *s, struct class *class);
void ready_put(struct sched *s, struct class *class); /* by class_key() */
void ready_remove(struct sched *s, struct class *class);
void ready_rekey(struct sched *s, struct class *class); /* its key has changed */
/* The best one, with its key as of now; NULL: there is none. */
struct class *ready_first(struct sched *s);
/* Somebody holds less: keys may be smaller than those by which they stand. */
void ready_released(struct sched *s);
/* The part of its key that changes with what others hold, as of now. */
uint64_t class_over(struct sched *s, const struct class *class);

/* --- park.c ---------------------------------------------------------------------------------- */

void park_configure(struct sched *s); /* new lists; all classes must be out of the old ones */
void park_free(struct sched *s);
/* The class has numbers of the present configuration; has them no more. */
void park_resolve(struct sched *s, struct class *class);
void park_unresolve(struct sched *s, struct class *class);
void park(struct sched *s, struct class *class);       /* by its last decision */
void unpark(struct sched *s, struct class *class);     /* out of all lists */
void park_rekey(struct sched *s, struct class *class); /* its key has changed */
void wake(struct sched *s, struct class *class);       /* to be tried again */
/* It was refused, and neither it nor anybody after it gets victims or a planned start now: where
 * nodes or what is planned on them refused it, its crowds need not be looked at. `again`: at the
 * next ordering they are to be. True: whoever tries those tries it as well. */
bool park_settle(struct sched *s, struct class *class, bool again);
/* Is it in a crowd that has more to be tried? */
bool park_stirred(const struct class *class);
/* What refused it may have changed, for its crowds. False: it is in none that it waits in for that.
 */
bool park_note_behind(struct sched *s, struct class *class);
/* What refused settled crowds may have changed. False: there was more than one step may do. */
bool park_stir_noted(struct sched *s);
/* Somebody holds less: camps of stirred crowds may stand further to the front. */
void park_released(struct sched *s);
/* Who waits at these gates; `yielding`: only who leaves one to a planned start. */
void wake_at_gates(struct sched *s, const uint32_t *gates, size_t n, bool yielding);
void wake_fitting(struct sched *s, uint32_t node); /* those of which a part fits there */
/* The best of them, if it is its turn and a part still fits. False: there was more to look at than
 * one step may. */
bool wake_stirred(struct sched *s);
/* Is a candidate of a better key stirred? */
bool stirred_before(struct sched *s, struct heap_key key);

/* --- planner.c ------------------------------------------------------------------------------- */

/* Give the head of a blocked class a planned start, if it is among the best: one step. FOUND: it
 * has a new one. */
enum plan_step planner_plan(struct sched *s, struct class *class);
/* Is that what it is at, and no longer at victims? */
bool planner_planning(const struct sched *s, const struct class *class);
/* The job `by`, its head, has started, gone or changed: its place is for others. */
void planner_drop(struct sched *s, struct class *class, uint64_t by);
/* Neither this class nor one after it would be given victims or a planned start now. *again: at the
 * next ordering it may. */
bool planner_spent(struct sched *s, struct class *class, bool *again);
/* If a limit or the like holds it now, or that alternative of it that is planned: it gives up its
 * planned start for that cause. */
void planner_close(struct sched *s, struct class *class);
/* Whoever has no room on the node any more loses his planned start, and is tried again. */
void planner_recheck(struct sched *s, uint32_t node, const char *cause, uint64_t by);
/* Its start has come, and it has not: if there is no room it loses it, and is tried again. */
void planner_late(struct sched *s, struct class *class);
/* It is to be tried again then, at an ordering. */
void planner_retry_at(struct sched *s, struct class *class, usec_t when);
/* Look for victims, or go on with that: one step. True: *pick says whom; else, if the class is not
 * planner_hunting(), there are none. */
bool planner_preempt(struct sched *s, struct class *class, struct sched_pick *pick);
/* The parked class whose search goes on when its turn comes; NULL: there is none. */
struct class *planner_hunting(const struct sched *s);
/* If it is the class's search, it ends here. */
void planner_end_hunt(struct sched *s, const struct class *class);
/* They have been told: what they leave is the class's. */
void planner_claim(struct sched *s, struct class *class);
/* Which entries stand before a key: a hash of their owners. */
uint64_t planner_ahead(const struct sched *s, struct heap_key key);
struct aheads planner_aheads(const struct sched *s); /* the caller frees v */
/* Who held back for what was planned for others, and no longer stands behind the same ones. */
void planner_wake_if_risen(struct sched *s, struct class *class, const struct aheads *all);
/* At each ordering: before it; of each class; all keys have changed. */
void planner_ordering(struct sched *s);
void planner_consider(struct sched *s, struct class *class);
void planner_ordered(struct sched *s);
void planner_configure(struct sched *s); /* accounts have other numbers */
/* What is held has changed, and with it perhaps the keys of entries: wakes those with an entry that
 * no longer stand behind the same ones; who else may have passed others is looked for after the
 * pass (`risen`). */
void planner_rekeyed(struct sched *s);
/* Move one entry up, or look for a place for that: one step. False: all are done. *moved: the class
 * that has another one now, or NULL. */
bool planner_compress(struct sched *s, struct class **moved, struct sched_pick *pick);
/* If it is the class's entry that is being moved, it is not any more. */
void planner_end_move(struct sched *s, const struct class *class);
/* Fill *pick with what is planned for the class. */
void planner_tell(struct sched *s, struct class *class, struct sched_pick *pick);

/* --- ordering.c ------------------------------------------------------------------------------ */

/* What is due with all classes: a few of them. False: nothing is. */
bool sweeps_step(struct sched *s);
bool sweeps_due(const struct sched *s); /* but for an ordering, which has its time */
/* Try those again that have no planned start though there is room for one: the best ones. */
void refill_begin(struct sched *s);
void refill_end(struct sched *s);
void refill_forget(struct sched *s, struct class *class); /* it goes, or has another partition */
/* Somebody holds more or less, and is further over quota or not so far: those who are to be tried,
 * and those for whom something is planned, stand elsewhere. */
void ordering_over(struct sched *s);

/* --- sched.c --------------------------------------------------------------------------------- */

struct heap_key class_key(struct sched *s, struct class *class);
void class_rekey(struct sched *s, struct class *class); /* the same, and where it stands */
/* The first word of a key: the tier, and how far over quota the account would be with that. */
uint64_t sched_over(
        const struct sched *s, uint64_t tier, uint32_t account, const struct request *gpus);
uint32_t sched_tier(const struct sched *s, uint32_t partition); /* CONF_NONE: 0 */

#endif
