/* plan_impl.h - the inside of a plan, for its files
 *
 *	plan.c       entries on nodes, and whether they hold
 *	plan_spot.c  what a node will have
 *	plan_cards.c on which GPUs somebody may have parts
 *	plan_order.c nodes by when they have GPUs free
 *	plan_find.c  where and when something could start
 *	plan_gang.c  the same on several nodes
 */
#ifndef CTLD_CORE_PLAN_IMPL_H
#define CTLD_CORE_PLAN_IMPL_H

#include "ctld/core/place/gang.h"
#include "ctld/core/plan/plan.h"
#include "ctld/core/plan/soonest.h"

/* What one entry has on one node. */
struct plan_slot {
	struct plan_entry *entry;
	uint32_t node, gpus, cpus;
	uint64_t mem_mb;
	struct plan_kind kind;
	struct plan_slot *next, **back; /* of the node */
};

struct release {
	usec_t end;
	uint64_t mem_mb;
	uint32_t gpus, cpus;
	uint32_t given; /* where in those of the spot */
	uint16_t type;
};

/* Which GPUs a run has, and what of each. */
struct given {
	uint64_t cards;
	struct share share;
};

struct spot {
	struct plan_slot *slots;
	struct release *releases; /* by end; owned */
	struct given *given;      /* of each; owned; NULL where GPUs are not shared */
	uint32_t n;
	usec_t sound;        /* until then what is planned there has room, if nothing changes */
	bool shared;         /* some of them share GPUs */
	bool fresh;
};

/* The nodes of a partition by when they have so many GPUs of a type free, as far as runs go, and
 * whoever's those are: there is one order for all users. */
#define MAX_ORDERS  256 /* those that were asked for last are kept */
#define MIN_ORDERS  8
#define MAX_ORDERED ((size_t)1500000) /* nodes of all of them together, where they are more */
struct order {
	uint32_t partition, gpus;
	struct plan_kind kind;
	int64_t least; /* of what any of them has to offer: plan_offers() */
	struct soonest *soonest;
	uint64_t number; /* no other order's */
	uint64_t used;   /* orders.uses, when it was asked for last */
	uint64_t upto;   /* so much of the log has been read */
	/* The sweep, after which the log goes on to say what has changed: over all nodes at first,
	 * later over those that were noted where the log has been lost. */
	size_t member;     /* the next one; all of them: none is under way */
	uint64_t since;    /* only nodes that were noted after that */
	bool whole, again; /* whole: all nodes; again: the log was lost under way */
	uint64_t again_since;
	unsigned behind; /* so many steps could not bring it up to now, one after another */
};
/* Where nodes change faster than steps can follow: after so many of them half of each is for that,
 * and the order is used as it was a little before. */
#define MAX_BEHIND 100

/* Nodes that have changed, in a ring: each reader knows how far it has come. A node that changed
 * several times is read once. No reader changes what another one reads. */
struct plan_log {
	uint32_t *v;
	size_t size;     /* a power of two */
	uint64_t end;    /* so many were ever noted */
	uint64_t *noted; /* by node: `end` when it was last noted */
};

/* The orders that are kept, and the log that tells them what has changed. */
struct plan_orders {
	struct order *v;   /* made when first wanted */
	size_t n, ordered; /* ordered: nodes of all of them together */
	uint64_t uses, number;
	struct plan_log log;
};

/* A search for a start: plan_find.c. */
#define PLAN_EQUAL      64  /* nodes that are compared when all are equally early */
#define PLAN_LATE_LOOKS 256 /* nodes that are looked at and would be too late to be of use */
struct plan_search {
	uint64_t order; /* the number of that which is walked; 0: none */
	struct soonest_walk walk;
	unsigned steps;
	/* on one node: the best so far */
	bool begun;
	usec_t best;
	int64_t best_left;
	uint32_t where, equal, late;
	struct plan_gang *gang; /* on several: plan_gang.c; owned */
};

struct plan {
	const struct conf *conf;
	struct ledger *ledger;
	struct plan_runs runs;
	usec_t now;
	struct spot *spots; /* by node */
	struct plan_orders real;  /* the scheduler's: they know nothing of what is imagined */
	struct plan_orders asked; /* those of questions */
	bool wondering;
	struct plan_entry **entries;
	size_t n, size;
	uint64_t changes;
	struct plan_entry **ranked; /* as they were sorted last; NULL: gone since */
	size_t n_ranked;
	uint32_t *counts;   /* by partition */
	struct steps steps; /* scratch, of one node */
};

#define PLAN_LATE ((usec_t)1000000) /* a run that should have ended will, within */

/* When a run's end is counted on: later than it should have been, where that is past. */
usec_t plan_release_end(const struct plan *p, const struct release *r);
int plan_by_end(const void *x, const void *y); /* of releases; for qsort(3) */
/* Of what is planned: from when until when it holds its place. */
usec_t plan_slot_start(const struct plan *p, const struct plan_slot *slot);
usec_t plan_slot_end(const struct plan *p, const struct plan_slot *slot);
bool plan_key_before(struct heap_key x, struct heap_key y);
/* Does it count against who has this key? `polite`: what ranks behind him does, too. */
bool plan_counts(const struct plan_slot *slot, struct heap_key key, bool polite);
/* Whole GPUs, all given to one run each: then each run that ends gives back a number of them. */
bool plan_by_number(const struct spot *s, const struct plan_kind *kind);
/* What is known of a node's runs, as of now. */
struct spot *plan_spot(struct plan *p, uint32_t node);
/* What is free there now. */
void plan_room_now(
        const struct plan *p, uint32_t node, const struct plan_kind *kind, struct plan_room *room);
/* When each of the GPUs that do not do now will, by the ends of runs; in no order. */
uint32_t plan_cards_when(const struct plan *p, uint32_t node, const struct plan_kind *kind,
        usec_t when[CONF_MAX_GPUS_PER_NODE]);
/* The same, whoever asks. */
bool plan_same_kind(const struct plan_kind *x, const struct plan_kind *y);
bool plan_room_holds(const struct plan_room *room, const struct plan_part *part);
usec_t plan_end_of(usec_t start, usec_t length); /* with PLAN_FAR for what has no limit */
/* Does a slot have room beside those before it? */
bool plan_slot_holds(struct plan *p, const struct plan_slot *slot);
/* plan_allows() for a place with parts, as far as GPUs go. */
bool plan_choose_cards(struct plan *p, struct place *place, uint64_t cards, usec_t end,
        struct heap_key key, bool polite);
/* The earliest start on one node, from that moment on; INT64_MAX: never. */
usec_t plan_node_earliest_from(
        struct plan *p, const struct plan_want *w, uint32_t node, usec_t from);
usec_t plan_node_earliest(struct plan *p, const struct plan_want *w, uint32_t node); /* from now */
void plan_set_found(const struct plan_want *w, usec_t start, struct plan_entry *found);
usec_t plan_latest_of_use(const struct plan_want *w);

/* --- plan_order.c ---------------------------------------------------------------------------- */

void plan_orders_init(struct plan *p);
void plan_orders_free(struct plan *p);
/* When the node's GPUs are free, or what is planned there, has changed. */
void plan_log(struct plan *p, uint32_t node);
/* A reader begins: after what was noted so far. */
void plan_log_begin(const struct plan_log *log, uint64_t *upto);
/* Has a reader fallen so far behind that it must begin anew? */
bool plan_log_lost(const struct plan_log *log, uint64_t upto);
/* False: it has read all. */
bool plan_log_next(const struct plan_log *log, uint64_t *upto, uint32_t *node);

/* Which of the partition's nodes is it? False: none. */
bool plan_member(const struct plan *p, uint32_t partition, uint32_t node, size_t *member);
/* Of those that are equally early, the one that has the least to offer is taken. */
int64_t plan_offers(const struct plan *p, uint16_t type, uint32_t node);
/* What it costs to look at a node, in units of work; less of these are left. */
size_t plan_cost(struct plan *p, uint32_t node);
void plan_pay(size_t *work, size_t cost);
/* The order of the wanted kind, as of now and good until another one is asked for: of the
 * question's orders while plan_wonder() is on, else of the scheduler's. NULL: to bring it up to now
 * is more than this step may do. */
const struct order *plan_order(struct plan *p, const struct plan_want *w, size_t *work);

/* --- plan_gang.c ----------------------------------------------------------------------------- */

struct plan_gang *plan_gang_new(struct plan *p, const struct plan_want *w);
void plan_gang_free(struct plan_gang *g); /* NULL is fine */
enum plan_step plan_gang_search(struct plan *p, struct plan_search *ps, const struct plan_want *w,
        const struct order *o, size_t *work, struct plan_entry *found);

#endif
