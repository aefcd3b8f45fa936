/* plan_impl.h - the inside of a plan, for its files
 *
 *	plan.c       entries on nodes, and whether they hold
 *	plan_spot.c  what a node will have
 *	plan_cards.c on which GPUs somebody may have parts
 *	plan_find.c  where and when something could start
 */
#ifndef CTLD_CORE_PLAN_IMPL_H
#define CTLD_CORE_PLAN_IMPL_H

#include "ctld/core/gang.h"
#include "ctld/core/plan.h"
#include "ctld/core/soonest.h"

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
	uint16_t type, given; /* given: where in those of the spot */
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
	bool fresh, changed; /* changed: in the list of those that the orders do not know yet */
};

/* The nodes of a partition by when they have so many GPUs of a type free, as far as runs go, and
 * whoever's those are: there is one order for all users. */
#define MAX_ORDERS  256 /* those that were asked for last are kept */
#define MIN_ORDERS  8
#define MAX_ORDERED ((size_t)1500000) /* nodes of all of them together, where they are more */
struct order {
	uint32_t partition, gpus;
	struct plan_kind kind;
	int64_t least; /* of what any of them has to offer: plan_find.c */
	struct soonest *soonest;
	uint64_t used; /* p->order_uses, when it was asked for last */
};

struct plan {
	const struct conf *conf;
	struct ledger *ledger;
	struct plan_runs runs;
	usec_t now;
	struct spot *spots; /* by node */
	uint32_t *changed;  /* nodes */
	size_t n_changed;
	struct order *orders;     /* made when first wanted */
	size_t n_orders, ordered; /* ordered: nodes of all of them together */
	uint64_t order_uses;
	struct plan_entry **entries;
	size_t n, size;
	uint64_t changes;
	struct plan_entry **ranked; /* as they were sorted last; NULL: gone since */
	size_t n_ranked;
	uint32_t *counts;                  /* by partition */
	struct gang_candidate *candidates; /* scratch, one for each node */
	struct moment *moments;            /* the same */
	struct steps steps;                /* scratch, of one node */
};

struct moment {
	usec_t start;
	uint32_t node;
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
/* The earliest start on one node; INT64_MAX: never. */
usec_t plan_node_earliest(struct plan *p, const struct plan_want *w, uint32_t node);
void plan_set_found(const struct plan_want *w, usec_t start, struct plan_entry *found);

#endif
