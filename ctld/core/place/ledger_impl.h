/* ledger_impl.h - the inside of the ledger, for its three files
 *
 *	ledger.c         what there is, and what of it is booked
 *	ledger_find.c    where an ask fits, of whole GPUs the best place
 *	ledger_shares.c  GPUs that several runs share, and what strands least
 */
#ifndef CTLD_CORE_LEDGER_IMPL_H
#define CTLD_CORE_LEDGER_IMPL_H

#include "ctld/core/place/capacity.h"
#include "ctld/core/place/closest.h"
#include "ctld/core/place/gang.h"
#include "ctld/core/place/ledger.h"
#include "ctld/core/place/strand.h"

#define MAX_COSTS 32 /* wishes whose costs on all nodes are kept */

#define NEAR_MIXED (UINT8_MAX + 1) /* some of a node's GPUs are closer than others */

/* What the free GPUs of a node are worth for who wants so many of a type, as of a stamp. */
#define WORTHS 8
struct worth {
	uint64_t stamp, worth;
	uint16_t type;
	uint8_t gpus; /* 0: it says nothing */
};

struct record {
	const struct conf_node *conf;
	uint32_t cpus, cpus_used;
	uint64_t mem, mem_used;
	uint64_t used, shared, out; /* GPUs; shared: of those used */
	uint64_t *left; /* by entry of its GPUs: thousandths that can be given; owned; NULL: no GPU
	                   is shared anywhere */
	struct card *cards;         /* by index; owned; NULL: none is shared, and none may be */
	uint32_t *card_of; /* by index: which card a MIG instance is on, 0: it is none; owned, NULL:
	                      none is */
	struct closeness *near; /* owned; NULL: nobody has said how close its GPUs are */
	bool near_matters;      /* some are closer than others */
	struct worth *worths;   /* WORTHS of them, where it is known; owned */
	uint64_t stamp;         /* another one whenever something about it has changed */
	bool accept, aside;
	bool told;      /* what its GPUs have: by their driver */
	bool near_told; /* ledger_near_told() */
	uint32_t *sets; /* owned */
	size_t n_sets;
	struct capacity_slot *slots; /* owned: where it stands in each set, by kind */
	size_t n_slots;
};

struct entry {
	struct place place;
	bool take;
	uint64_t mixed; /* of its GPUs: those that were CARD_MIXED, which no booking brings back */
};

struct ledger {
	const struct conf *conf;
	struct record *nodes;
	struct capacity **sets;
	size_t n_sets;
	uint32_t near_kinds[NEAR_MIXED + 1]; /* nodes by how close any two GPUs there are */
	uint32_t n_near_kinds;               /* of those that there are nodes of */
	bool *set_shares;      /* by set: has it nodes whose GPUs may be shared? */
	bool *set_users;       /* and such where it is asked by whom? */
	uint32_t *set_of;      /* by partition */
	struct entry *journal; /* since the first mark */
	size_t n_journal, journal_size;
	size_t *marks; /* positions in the journal */
	size_t n_marks, marks_size;
	uint32_t *leaves;                  /* of the nodes, side by side */
	struct gang_candidate *candidates; /* for one search; room for all nodes */
	struct gang_choice choice;
	/* Where GPUs may be shared; NULL elsewhere. */
	struct mix *mix;
	struct mix_room *room; /* by type: what of all nodes there is, and can be given */
	struct costs *costs; /* MAX_COSTS of them */
	uint64_t *type_mem;  /* by type: the most of one that can be shared; 0: not known */
};

/* One search: what is looked for, and of which type. */
struct search {
	const struct ledger *l;
	const struct ask *ask;
	const struct find *find;
	uint16_t type;
	uint32_t gpus; /* of one node, at least */
	bool preferred_only;
};

static inline uint32_t mask_count(uint64_t mask)
{
	return (uint32_t)__builtin_popcountll(mask);
}

static inline uint32_t record_cpus_free(const struct record *r)
{
	return r->cpus > r->cpus_used ? r->cpus - r->cpus_used : 0;
}

static inline uint64_t record_mem_free(const struct record *r)
{
	return r->mem > r->mem_used ? r->mem - r->mem_used : 0;
}

/* --- ledger_shares.c ------------------------------------------------------------------------- */

void shares_new(struct ledger *l); /* the sets are there */
void shares_free(struct ledger *l);

/* What is left on the node may have changed: so has what is left of its types. */
void shares_count(struct ledger *l, uint32_t node);

/* The GPUs of the place are shared ones, or no longer. */
void shares_book(struct ledger *l, const struct place *place, bool take);

/* Which of its GPUs are shared by several users where that is not to be; and they are again. */
uint64_t shares_mixed(const struct ledger *l, const struct place *place);
void shares_mix(struct ledger *l, uint32_t node, uint64_t gpus);

/* Is a place on one node to be sought by what it strands? */
bool shares_decide(const struct search *s, uint32_t set);
bool shares_find(const struct search *s, uint32_t set, struct place *place, int64_t *strands);

/* Is it not known yet how much memory of these GPUs could be shared? */
bool shares_unknown(const struct ledger *l, uint32_t node, uint16_t type);

/* Is what is kept of the shares of a node what it must be? */
bool shares_check(const struct ledger *l, uint32_t node);

/* --- ledger_find.c
 * -------------------------------------------------------------------------------- */

/* find->test of a place of it. */
bool search_test(const struct search *s, struct place *place);
bool search_may_use(const struct search *s, uint32_t node);

#endif
