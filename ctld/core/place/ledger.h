/* ledger.h - the free resources of every node, and where a job would fit best
 *
 * The only place where CPUs, memory and GPUs are booked: find, take, release. A what-if
 * (--test-only, --why, preemption) also takes and releases, and then undoes it.
 *
 * The nodes are those of one configuration, by index; another configuration gets another ledger. A
 * node set is the nodes of a partition; partitions with the same nodes share one. For each set and
 * each kind of resource (a GPU type, or no GPU) the nodes that accept work are in buckets by their
 * free GPUs, and in a bucket in the order of free CPUs (fill_order.h). So the best place (fewest
 * sufficient free GPUs, then fewest sufficient free CPUs, then the first node) is found without
 * visiting the other nodes. A place without GPUs is searched where the fewest GPUs are free,
 * because this leaves the fewest GPUs without CPUs.
 *
 * Where nodes differ in how close their GPUs are (closest_gpus.h), the node whose best set is worth
 * most is taken among those with equally many free GPUs, before CPUs count (nodes_by_free_gpus.h
 * limits the number of nodes compared).
 *
 * The GPUs of a place are chosen last: among whole GPUs those that are closest to each other
 * (closest_gpus.h), among MIG instances those on the fullest GPUs.
 *
 * Nodes with reservations are reserved: they are counted and booked like the others, but each
 * place there must pass a test that the planner supplies.
 *
 * Where GPUs may be shared (gpu_share.h), a place on one node is chosen by the fragmentation that
 * it causes (fragmentation.h), over all suitable nodes of the set. The cost on each node is kept
 * until something about the node changes, so a search examines the GPUs of few nodes. A shared GPU
 * is in no bucket, because no job can have all of it.
 *
 * The bookings may exceed what a node has (it came back smaller, or a configuration removed GPUs):
 * then nothing is free there, and no count is negative.
 */
#ifndef CTLD_CORE_LEDGER_H
#define CTLD_CORE_LEDGER_H

#include "common/conf/conf.h"
#include "ctld/core/request/requests.h"

struct closeness;
struct ledger;
struct node_offers;

/* The resources that a job requests. */
struct ask {
	const struct request *gpus;
	uint32_t cpus;   /* of each node */
	uint64_t mem_mb; /* of each node */
	uint32_t user;   /* from ledger_user(): the user that requests shares, where it makes a
			  * difference */
};

/* The part of each GPU that is requested. */
static inline struct share_wish ask_share(const struct ask *ask)
{
	struct share_wish wish = ask->gpus->share;

	wish.user = ask->user;
	return wish;
}

/* What a run gets of one node. */
struct place {
	uint32_t node;
	uint32_t cpus;
	uint64_t mem_mb;
	uint32_t ports;     /* for replicas of services */
	uint64_t gpus;      /* bit set of host indices */
	struct share share; /* of each of them */
	uint16_t type;      /* of the GPUs; TYPE_NONE */
};

/* What a job gets: one place for each node, by node. { 0 } is empty; it can be reused. */
struct places {
	struct place *v;
	size_t n, size;
	uint16_t type; /* of all places */
	uint32_t alternative;
	int64_t fragmentation; /* the fragmentation that it adds (fragmentation.h); 0 where no GPU
	                          is shared */
};
void places_add(struct places *p, const struct place *place);
void places_free(struct places *p); /* frees what it contains */

struct ledger *ledger_new(const struct conf *conf); /* borrowed until ledger_free() */
void ledger_free(struct ledger *l);                 /* NULL is fine */

/* --- nodes ----------------------------------------------------------------------------------- */

/* What the agent found on the node; it counts where the configuration does not say. */
void ledger_inventory(struct ledger *l, uint32_t node, uint32_t cpus, uint64_t mem_mb);
/* What else it has for jobs. */
void ledger_offers(struct ledger *l, uint32_t node, const struct node_offers *offers);
/* GPUs that are missing or faulty: they are counted, but not given to jobs. They may be booked. */
void ledger_gpus_out(struct ledger *l, uint32_t node, uint64_t out);
/* The memory of a GPU as its driver reports it; 0: not reported. The memory that can be shared is
 * this or the type's nominal `mem`, whichever is known and less, minus the type's `mem_reserve`.
 */
void ledger_gpu_mem(struct ledger *l, uint32_t node, uint32_t index, uint64_t mem_mb);
/* The GPU is a MIG instance on GPU `gpu` - 1 of the host; 0: it is no MIG instance. If the
 * configuration names the GPU (`mig`), that counts instead. */
void ledger_gpu_shared(struct ledger *l, uint32_t node, uint32_t index, uint32_t gpu);
/* How close its GPUs are to each other; the ledger owns `near` from here on. NULL: not known. */
void ledger_gpus_near(struct ledger *l, uint32_t node, struct closeness *near);
/* Its agent has reported how close they are, or that it does not know. */
void ledger_near_told(struct ledger *l, uint32_t node);
const struct closeness *ledger_near(const struct ledger *l, uint32_t node);
void ledger_accept(struct ledger *l, uint32_t node, bool accept); /* new nodes do not accept */
bool ledger_accepts(const struct ledger *l, uint32_t node);

/* 0: not known yet. */
uint32_t ledger_cpus(const struct ledger *l, uint32_t node);
uint64_t ledger_mem_mb(const struct ledger *l, uint32_t node);
uint32_t ledger_cpus_free(const struct ledger *l, uint32_t node);
uint64_t ledger_mem_free_mb(const struct ledger *l, uint32_t node);
uint64_t ledger_gpus_of(const struct ledger *l, uint32_t node, uint16_t type); /* bit set, all */
uint64_t ledger_gpus_used(const struct ledger *l, uint32_t node);              /* bit set */
uint64_t ledger_gpus_shared(const struct ledger *l, uint32_t node); /* bit set, of those used */
/* The GPUs of a type that can be given: neither used nor out. */
uint64_t ledger_gpus_free(const struct ledger *l, uint32_t node, uint16_t type);
/* The GPUs of a type that satisfy the request for each of them: free ones, or shared ones with
 * enough left. */
uint64_t ledger_gpus_for(
        const struct ledger *l, uint32_t node, uint16_t type, const struct share_wish *wish);

/* May the request use the node at all, by what it says of nodes, by its disk for temporary data and
 * as a replica? What is not known of the node is assumed to suffice. */
bool ledger_allows(const struct ledger *l, uint32_t node, const struct request *r);
/* The same at present: the ports are free, and its service does not avoid the node. */
bool ledger_opens(const struct ledger *l, uint32_t node, const struct request *r);
uint32_t ledger_ports_free(const struct ledger *l, uint32_t node);
const struct node_offers *ledger_offers_of(const struct ledger *l, uint32_t node);

/* --- shares ---------------------------------------------------------------------------------- */

bool ledger_shares(const struct ledger *l, uint32_t node); /* its GPUs may be shared */
const struct shared_gpu *ledger_shared_gpu(const struct ledger *l, uint32_t node, uint32_t index);
/* What the request amounts to on each GPU of that type there; { 0 }: all of it. False: such a GPU
 * can never give it. */
bool ledger_share(const struct ledger *l, uint32_t node, uint16_t type,
        const struct share_wish *wish, struct share *share);

/* What the request amounts to on a GPU of a type, on any node: of its nominal `mem`, or else of
 * the largest memory that a driver has reported. { 0 }: all of it, or no such GPU is known to have
 * so much. */
void ledger_share_of(
        const struct ledger *l, const struct request *r, uint16_t type, struct share *share);

/* The user to record in a request in `set`: uid + 1 if some node lets only one user's runs share a
 * GPU; 0 if the user makes no difference. */
uint32_t ledger_user(
        const struct ledger *l, uint32_t set, const struct request *gpus, uint32_t uid);

/* Record that `tasks` tasks with such a request were submitted (workload_profile.h). True: the
 * workload profile has changed, and so may the best places. */
bool ledger_note_asked(struct ledger *l, const struct ask *ask, uint64_t tasks);

/* The smallest number such that any so many GPUs of that type include a part of alternative `a`
 * with the links that it requests; 0: not even all that are present and not out do. Only the links
 * are considered. */
uint32_t ledger_sure(const struct ledger *l, uint32_t node, const struct request *r, uint32_t a,
        uint16_t type);
/* The same for some of its GPUs. */
uint32_t ledger_sure_of(const struct ledger *l, uint32_t node, uint64_t gpus,
        const struct request *r, uint32_t a);

/* The sets that a node is in. */
const uint32_t *ledger_node_sets(const struct ledger *l, uint32_t node, size_t *n);

/* --- sets ------------------------------------------------------------------------------------ */

size_t ledger_sets(const struct ledger *l);
uint32_t ledger_set_of(const struct ledger *l, uint32_t partition);

/* GPUs of a type in a set: how many there are, how many are free on nodes that accept work, the
 * most that one node has, and that node (NODE_LEFT if `most` is 0). False: the set has no such
 * type. */
bool ledger_set_gpus(const struct ledger *l, uint32_t set, uint16_t type, uint32_t *total,
        uint32_t *free, uint32_t *most, uint32_t *where);

/* --- fitting and booking --------------------------------------------------------------------- */

/* Could one member of alternative `a` (0 for no GPUs) go to that node now? Checks features, node
 * names, CPUs, memory and GPUs of one type, but not reservations on the node. */
bool ledger_fits_part(const struct ledger *l, uint32_t node, const struct ask *ask, uint32_t a);
/* The same if the node were empty and accepted work; with GPUs of `type`, or TYPE_ANY: of any
 * suitable type. Where it is not known what the node has, it is assumed to suffice. */
bool ledger_could_fit_part(
        const struct ledger *l, uint32_t node, const struct ask *ask, uint32_t a, uint16_t type);

/* May this place be used on a node that is reserved? The place has the most that a member could
 * get there; if it may be used, so may one with fewer GPUs. For shares of GPUs: may it, or as many
 * others of `gpu_set`? The test moves the place to those then. */
typedef bool ledger_test(void *arg, struct place *place, uint64_t gpu_set);

struct find {
	uint32_t alternative; /* 0 for no GPUs */
	uint16_t type;        /* a type that passes request_type_ok(), or TYPE_ANY: whichever is
			       * best */
	bool spread;
	ledger_test *test; /* called only for nodes reserved; NULL: none of them may be used */
	void *arg;
	/* Of an exclusive job: whole nodes that its limits do not allow. On one node, other nodes
	 * that are as large are excluded too. */
	const struct place *unfit;
	size_t n_unfit;
};
bool find_refuses(const struct find *find, const struct ask *ask, const struct place *whole);

/* The best places in `set` now for the whole job, or false. One node: preferred nodes first, then
 * the order above; spread: the most free GPUs (without GPUs: still the fewest), then the most free
 * CPUs, then the last node. Exclusive: only empty nodes, with all of their CPUs, memory and GPUs
 * of the type. Several nodes: gang.h; for TYPE_ANY the first type that suffices. */
bool ledger_find(struct ledger *l, uint32_t set, const struct ask *ask, const struct find *find,
        struct places *out);

/* Something is planned on the node, or no longer. */
void ledger_set_reserved(struct ledger *l, uint32_t node, bool reserved);
bool ledger_is_reserved(const struct ledger *l, uint32_t node);

void ledger_take(struct ledger *l, const struct place *place);    /* GPUs must be free */
void ledger_release(struct ledger *l, const struct place *place); /* must have been taken */

/* From ledger_mark() on, what is taken and released is recorded; ledger_undo() reverses it back to
 * the last mark that was not undone. Marks nest. */
void ledger_mark(struct ledger *l);
void ledger_undo(struct ledger *l);

/* Does everything derived agree with the bookings? If not, `text` says where. */
bool ledger_check(const struct ledger *l, char *text, size_t size);

#endif
