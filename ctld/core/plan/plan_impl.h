/* plan_impl.h - the inside of a plan, for its files
 *
 *	plan.c              reservations on nodes, and whether they still have room
 *	node_timeline.c     what a node will have free, and when
 *	plan_shared_gpus.c  which GPUs of a node may serve a part of a GPU
 *	plan_node_order.c   nodes in the order in which they have GPUs free
 *	plan_find.c         where and when a job could start
 *	plan_gang.c         the same on several nodes
 */
#ifndef CTLD_CORE_PLAN_IMPL_H
#define CTLD_CORE_PLAN_IMPL_H

#include "ctld/core/place/gang.h"
#include "ctld/core/plan/plan.h"
#include "ctld/core/plan/soonest.h"

/* The part of one reservation on one node. */
struct plan_slot {
	struct reservation *reservation;
	uint32_t node, gpus, cpus;
	uint64_t mem_mb;
	struct plan_kind kind;
	struct plan_slot *next, **back; /* in the list of the node */
};

/* The end of a run on a node, and what it gives back. */
struct release {
	usec_t end;
	uint64_t mem_mb;
	uint32_t gpus, cpus;
	uint32_t given; /* index into node_timeline.given */
	uint16_t type;
};

/* The GPUs of a run, and its share of each. */
struct given {
	uint64_t gpu_set;
	struct share share;
};

/* A node over time: what is planned there, and when its runs end. */
struct node_timeline {
	struct plan_slot *slots;
	struct release *releases; /* by end; owned */
	struct given *given;      /* owned; by release; NULL: no GPU is shared */
	uint32_t n;
	usec_t sound;        /* until then all reservations there have room, if nothing changes */
	bool shared;         /* some runs share GPUs */
	bool fresh;
};

/* The nodes of a partition in the order in which they have so many GPUs of a kind free, going by
 * runs only, of whatever user: there is one order for all users. For another order the least
 * recently used one is dropped if there are MAX_ORDERS, or if there are MIN_ORDERS and all of them
 * together would have more than MAX_ORDERED nodes. */
#define MAX_ORDERS  256
#define MIN_ORDERS  8
#define MAX_ORDERED ((size_t)1500000)
struct order {
	uint32_t partition, gpus;
	struct plan_kind kind;
	int64_t least; /* the least that one of them offers: plan_offers() */
	struct soonest *soonest;
	uint64_t number; /* unique among orders */
	uint64_t used;   /* orders.uses when it was used last */
	uint64_t upto;   /* position in the log up to which it was read */
	/* The sweep looks at nodes one by one; after it the log says what has changed. At first it
	 * covers all nodes, later those that were noted where the log was overwritten before it was
	 * read. */
	size_t member;     /* the next one to look at; the last + 1: no sweep */
	uint64_t since;    /* look only at nodes noted after this position */
	bool whole, again; /* whole: all nodes; again: the log was overwritten during the sweep */
	uint64_t again_since;
	unsigned behind; /* how many steps in a row could not bring it up to date */
};
/* Where nodes change faster than steps can follow: after so many steps only half of each is spent
 * on the order, and it is used although it is slightly out of date. */
#define MAX_BEHIND 100

/* Nodes that have changed, in a ring: each reader keeps its own position. A node that changed
 * several times is read once. Readers do not affect each other. */
struct plan_log {
	uint32_t *v;
	size_t size;     /* a power of two */
	uint64_t end;    /* how many notes were ever made */
	uint64_t *noted; /* by node: `end` when it was last noted */
};

/* The orders that are kept, and the log of changes for them. */
struct plan_orders {
	struct order *v;   /* each is made when first wanted */
	size_t n, ordered; /* ordered: the nodes of all orders together */
	uint64_t uses, number;
	struct plan_log log;
};

/* A search for a start: plan_find.c. */
#define PLAN_EQUAL      64  /* nodes that are compared when they are equally early */
#define PLAN_LATE_LOOKS 256 /* nodes looked at that turn out too late */
struct plan_search {
	uint64_t order; /* the number of the order that is walked; 0: none */
	struct soonest_walk walk;
	unsigned steps;
	/* on one node: the best found so far */
	bool begun;
	usec_t best;
	int64_t best_left;
	uint32_t where, equal, late;
	struct plan_gang *gang; /* on several nodes: plan_gang.c; owned */
};

struct plan {
	const struct conf *conf;
	struct ledger *ledger;
	struct plan_runs runs;
	usec_t now;
	struct node_timeline *timelines; /* by node */
	struct plan_orders real;  /* the scheduler's: unaffected by imagined changes */
	struct plan_orders asked; /* those of questions */
	bool wondering;
	struct reservation **reservations;
	size_t n, size;
	uint64_t changes;
	struct reservation **ranked; /* as last sorted; NULL: gone since */
	size_t n_ranked;
	uint32_t *counts;   /* by partition */
	struct step_function steps; /* scratch, for one node */
};

#define PLAN_LATE ((usec_t)1000000) /* an overdue run is expected to end within this time */

/* The end that is counted on for a run; if it is past, a later one. */
usec_t plan_release_end(const struct plan *p, const struct release *r);
int plan_by_end(const void *x, const void *y); /* of releases; for qsort(3) */
/* From when until when the slot holds its place. */
usec_t plan_slot_start(const struct plan *p, const struct plan_slot *slot);
usec_t plan_slot_end(const struct plan *p, const struct plan_slot *slot);
/* Does the slot count against a job with this key? `displace_none`: so do slots behind the key. */
bool plan_counts(const struct plan_slot *slot, struct heap_key key, bool displace_none);
/* True if all GPUs there are given as whole ones, each to one run: then each run that ends gives
 * back a number of GPUs. */
bool plan_by_number(const struct node_timeline *s, const struct plan_kind *kind);
/* What is known of a node's runs, brought up to date. */
struct node_timeline *plan_timeline(struct plan *p, uint32_t node);
/* What is free on the node now. */
void plan_room_now(
        const struct plan *p, uint32_t node, const struct plan_kind *kind, struct plan_room *room);
/* When each GPU that does not serve the kind now will, going by the ends of runs; in no order. */
uint32_t plan_gpus_when(const struct plan *p, uint32_t node, const struct plan_kind *kind,
        usec_t when[CONF_MAX_GPUS_PER_NODE]);
/* Are the kinds equal, apart from the user? */
bool plan_same_kind(const struct plan_kind *x, const struct plan_kind *y);
bool plan_room_holds(const struct plan_room *room, const struct plan_part *part);
usec_t plan_end_of(usec_t start, usec_t length); /* PLAN_FAR * 2 if it has no limit */
/* Does the slot have room beside those before it? */
bool plan_slot_holds(struct plan *p, const struct plan_slot *slot);
/* plan_allows() for a place with parts, for its GPUs. */
bool plan_choose_gpus(struct plan *p, struct place *place, uint64_t gpu_set, usec_t end,
        struct heap_key key, bool displace_none);
/* The earliest start on one node, not before `from`; INT64_MAX: never. */
usec_t plan_node_earliest_from(
        struct plan *p, const struct plan_want *w, uint32_t node, usec_t from);
usec_t plan_node_earliest(struct plan *p, const struct plan_want *w, uint32_t node); /* from now */
void plan_set_found(const struct plan_want *w, usec_t start, struct reservation *found);
usec_t plan_latest_of_use(const struct plan_want *w);

/* --- plan_node_order.c ----------------------------------------------------------------------- */

void plan_orders_init(struct plan *p);
void plan_orders_free(struct plan *p);
/* The node's free GPUs, or what is planned there, have changed. */
void plan_log(struct plan *p, uint32_t node);
/* A reader begins: it sees what is noted from now on. */
void plan_log_begin(const struct plan_log *log, uint64_t *upto);
/* Has the log overwritten what the reader has not read yet? Then it must begin again. */
bool plan_log_lost(const struct plan_log *log, uint64_t upto);
/* The next changed node. False: the reader has read all. */
bool plan_log_next(const struct plan_log *log, uint64_t *upto, uint32_t *node);

/* The index of the node among the partition's nodes. False: it is not one of them. */
bool plan_member(const struct plan *p, uint32_t partition, uint32_t node, size_t *member);
/* What the node has in all: of nodes that are equally early, the one with the least is taken. */
int64_t plan_offers(const struct plan *p, uint16_t type, uint32_t node);
/* What it costs to look at a node, in units of work; plan_pay() takes it off the work left. */
size_t plan_cost(struct plan *p, uint32_t node);
void plan_pay(size_t *work, size_t cost);
/* The order of the wanted kind, as of now and valid until the next call: one of the question's
 * orders while plan_wonder() is on, else one of the scheduler's. NULL: bringing it up to date is
 * more than this step may do. */
const struct order *plan_order(struct plan *p, const struct plan_want *w, size_t *work);

/* --- plan_gang.c ----------------------------------------------------------------------------- */

struct plan_gang *plan_gang_new(struct plan *p, const struct plan_want *w);
void plan_gang_free(struct plan_gang *g); /* NULL is fine */
enum plan_step plan_gang_search(struct plan *p, struct plan_search *ps, const struct plan_want *w,
        const struct order *o, size_t *work, struct reservation *found);

#endif
