/* ledger_impl.h - the inside of the ledger, for its files
 *
 *	ledger.c              what nodes have, and what of it is booked
 *	ledger_find.c         where a request fits, and of whole GPUs the best place
 *	mig_packing.c         which MIG instances of a node a job gets
 *	ledger_shared_gpus.c  GPUs that several runs share, and the place with the least fragmentation
 */
#ifndef CTLD_CORE_LEDGER_IMPL_H
#define CTLD_CORE_LEDGER_IMPL_H

#include "ctld/core/place/closest_gpus.h"
#include "ctld/core/place/fragmentation.h"
#include "ctld/core/place/gang.h"
#include "ctld/core/place/ledger.h"
#include "ctld/core/place/nodes_by_free_gpus.h"
#include "ctld/core/records/node.h"

#define MAX_COSTS 32 /* requests whose costs on all nodes are kept */

#define NEAR_MIXED (UINT8_MAX + 1) /* some of a node's GPUs are closer than others */

/* What a node's free GPUs are worth for so many GPUs of a type, valid for one stamp. */
#define WORTHS 8
struct worth {
	uint64_t stamp, worth;
	uint16_t type;
	uint8_t gpus; /* 0: the entry is unused */
};

struct record {
	const struct conf_node *conf;
	uint32_t cpus, cpus_used;
	uint64_t mem, mem_used;
	struct node_offers offers;
	uint32_t ports_used;
	uint64_t used, shared, out; /* GPUs; shared: of those used */
	uint64_t *left; /* by entry of its GPUs: thousandths that can be given; owned; NULL: no
			 * node shares GPUs */
	struct shared_gpu *gpu_set; /* by index; owned; NULL: none is shared, and none may be */
	uint32_t *gpu_of;       /* by index: the GPU that a MIG instance is on, 0: no MIG instance;
	                         * owned; NULL: there is none */
	struct closeness *near; /* owned; NULL: it is not known how close its GPUs are */
	bool near_matters;      /* some are closer than others */
	struct worth *worths;   /* WORTHS of them, if closeness is known; owned */
	uint64_t stamp;         /* changes whenever something about the node has changed */
	bool accept, reserved;
	bool told;      /* the driver has reported the memory of its GPUs */
	bool near_told; /* ledger_near_told() */
	uint32_t *sets; /* owned */
	size_t n_sets;
	struct capacity_slot *slots; /* owned: its slot in each set, by kind */
	size_t n_slots;
};

struct entry {
	struct place place;
	bool take;
	uint64_t mixed; /* its GPUs that were GPU_MIXED, a state that no booking restores */
};

struct ledger {
	const struct conf *conf;
	struct record *nodes;
	struct capacity **sets;
	size_t n_sets;
	uint32_t near_kinds[NEAR_MIXED + 1]; /* number of nodes by how close any two of their GPUs
					      * are */
	uint32_t n_near_kinds;               /* number of kinds that some node has */
	bool *set_shares;      /* by set: has it nodes whose GPUs may be shared? */
	bool *set_users;       /* and nodes where it matters which user asks? */
	uint32_t *set_of;      /* by partition */
	struct entry *journal; /* since the first mark */
	size_t n_journal, journal_size;
	size_t *marks; /* positions in the journal */
	size_t n_marks, marks_size;
	uint32_t *leaves;                  /* of the nodes, side by side */
	struct gang_candidate *candidates; /* for one search; room for all nodes */
	struct gang_choice choice;
	/* If GPUs may be shared on some node; else NULL. */
	struct profile *profile;
	struct profile_room *room; /* by type: how much all nodes have, and how much of it can be
	                            * given */
	struct costs *costs; /* MAX_COSTS of them */
	uint64_t *type_mem;  /* by type: the most memory of one GPU that can be shared; 0: not
			      * known */
};

/* One search: what is searched for, and of which type. */
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

/* --- ledger_shared_gpus.c -------------------------------------------------------------------- */

void shares_new(struct ledger *l); /* the sets are there */
void shares_free(struct ledger *l);

/* What is left on the node may have changed: update what is left of its types. */
void shares_count(struct ledger *l, uint32_t node);

/* Mark the GPUs of the place as shared, or no longer. */
void shares_book(struct ledger *l, const struct place *place, bool take);

/* Its GPUs that several users share where only one may; and mark such GPUs so again. */
uint64_t shares_mixed(const struct ledger *l, const struct place *place);
void shares_mix(struct ledger *l, uint32_t node, uint64_t gpus);

/* Is a place on one node to be chosen by the fragmentation that it causes? */
bool shares_decide(const struct search *s, uint32_t set);
bool shares_find(const struct search *s, uint32_t set, struct place *place, int64_t *fragmentation);

/* Is it not known yet how much memory of these GPUs could be shared? */
bool shares_unknown(const struct ledger *l, uint32_t node, uint16_t type);

/* Does what is kept of the shares of a node agree with its bookings? */
bool shares_check(const struct ledger *l, uint32_t node);

/* --- mig_packing.c --------------------------------------------------------------------------- */

/* `n` of `mask`: MIG instances of the fullest GPUs, on one GPU if possible; of other GPUs those
 * with the lowest indices. */
uint64_t mig_pack(const struct record *r, uint64_t mask, uint32_t n);

/* --- ledger_find.c --------------------------------------------------------------------------- */

/* find->test for a place of this search. */
bool search_test(const struct search *s, struct place *place);
bool search_may_use(const struct search *s, uint32_t node);

#endif
