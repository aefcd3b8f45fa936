/* sched_impl.h - the inside of the scheduler, for sched.c, park.c and planner.c */
#ifndef CTLD_CORE_SCHED_IMPL_H
#define CTLD_CORE_SCHED_IMPL_H

#include "ctld/core/sched.h"

#define SCHED_SEVERAL UINT32_MAX       /* nodes */
#define COUNT_EVERY   ((usec_t)100000) /* and positions counted because somebody has come */
#define REPLAN_EVERY  ((usec_t)50000)  /* at most so often are plans made because a node returned */
#define ORDER_EVERY   ((usec_t)1000000) /* at most so often are all classes ordered anew */

/* Kept names of one list of the configuration, by number. */
struct names {
	const char **v;
	size_t n;
};

struct sched {
	struct strings *strings;
	struct accounts *accounts;
	struct scene scene; /* conf, ledger, gates, plan, now */
	plan_held_fn *held;
	void *arg;
	struct classes *classes;
	struct heap *ready;
	struct heap *stirred; /* parked ones by key, each to be woken in its turn */
	struct names partitions, account_names, qos_names;
	struct waiter **waiting; /* for capacity: [set * kinds + kind] */
	size_t kinds;            /* GPU types, any, none */
	struct waiter **gated;   /* by gate; [n_gated - 1] waits for any of them */
	size_t n_gated;
	struct places places; /* of the last pick */
	struct preemption victims;
	uint64_t cluster_gpus, cluster_cpus;
	bool quotas;       /* some account has one */
	bool held_changed; /* and what is held has changed since keys were worked out */
	usec_t ordered;    /* mono: when classes were last ordered */
	usec_t ordered_wall;
	usec_t gates_tried;      /* mono: when limits over time were last looked at */
	bool disordered;         /* and since then something has happened that makes a difference */
	size_t compress;         /* entries still to be moved up */
	bool compressing, early; /* early: something ended early, or an entry has gone */
	bool replan;             /* a node has returned */
	usec_t replanned;        /* mono: when plans were last made for that */
	bool risen;              /* entries have gone back in the order: others may pass now */
	unsigned searches;       /* for victims, since the last ordering */
	usec_t retry;            /* the earliest of all classes */
	usec_t patience;         /* mono: until then nobody is stopped */
	struct sched_stats stats;
	uint64_t positions_of; /* the ordering that positions were counted for */
	usec_t positions_mono; /* and when that was */
	bool in_pass;
};

/* --- park.c ---------------------------------------------------------------------------------- */

void park_configure(struct sched *s); /* new lists; all classes must be out of the old ones */
void park_free(struct sched *s);
void park(struct sched *s, struct class *class);   /* by its last decision */
void unpark(struct sched *s, struct class *class); /* out of all lists */
void wake(struct sched *s, struct class *class);   /* to be tried again */
/* Who waits at these gates; with that verdict only, or VERDICT_NONE: all. */
void wake_at_gates(struct sched *s, const uint32_t *gates, size_t n, enum verdict only);
void wake_fitting(struct sched *s, uint32_t node); /* those of which a part fits there */
/* Those of them whose turn it is, and of which a part still fits. */
void wake_stirred(struct sched *s);

/* --- planner.c ------------------------------------------------------------------------------- */

/* Give the head of a blocked class a planned start, if it is among the best. True: it has a new
 * one. */
bool planner_plan(struct sched *s, struct class *class);
/* The job `by`, its head, has started, gone or changed: its place is for others. */
void planner_drop(struct sched *s, struct class *class, uint64_t by);
/* If a limit or the like holds it now, or that alternative of it that is planned: it gives up its
 * planned start for that cause. */
void planner_close(struct sched *s, struct class *class);
/* Whoever has no room on the node any more loses his planned start, and is tried again. */
void planner_recheck(struct sched *s, uint32_t node, const char *cause, uint64_t by);
/* It is to be tried again then, at an ordering. */
void planner_retry_at(struct sched *s, struct class *class, usec_t when);
/* Look for victims. True: *pick says whom. */
bool planner_preempt(struct sched *s, struct class *class, struct sched_pick *pick);
/* They have been told: what they leave is the class's. */
void planner_claim(struct sched *s, struct class *class);
/* Try those again that have no planned start though there is room for one: the best ones. */
void planner_refill(struct sched *s);
/* Which entries stand before a key: a hash of their owners. */
uint64_t planner_ahead(const struct sched *s, struct heap_key key);
/* The keys have changed. */
void planner_ordered(struct sched *s);
/* What is held has changed, and with it perhaps the keys of entries: wakes those with an entry that
 * have passed others; who else may have is for planner_wake_risen(), once a pass. */
void planner_rekeyed(struct sched *s);
void planner_wake_risen(struct sched *s);
/* Move one entry up. False: all are done. *moved: the class that has another one now, or NULL. */
bool planner_compress(struct sched *s, struct class **moved);
/* Fill *pick with what is planned for the class. */
void planner_tell(struct sched *s, struct class *class, struct sched_pick *pick);

/* --- sched.c --------------------------------------------------------------------------------- */

struct heap_key class_key(struct sched *s, struct class *class);

#endif
