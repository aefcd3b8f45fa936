/* ledger.h - what every node has left, and where something would fit best
 *
 * The one place where CPUs, memory and GPUs are booked: find, take, release. Whoever only wonders
 * (--test-only, --why, preemption) takes and releases too, and undoes it.
 *
 * Nodes are those of one configuration, by index; another configuration is another ledger. A node
 * set is the nodes of a partition; partitions with the same nodes share one. For each set and each
 * kind of thing (a GPU type, or no GPU) the nodes that accept work stand in buckets by how many
 * they have free, inside a bucket in the order of free CPUs (order.h). So the best place (fewest
 * free GPUs that do, then fewest free CPUs that do, then the first node) is found without looking
 * at the others. A place for no GPU is sought where the fewest GPUs are free: it strands least.
 *
 * Where nodes differ in how close their GPUs are (closest.h), of those with as many free GPUs that
 * is taken whose best set is worth most, before CPUs count (capacity.h says of how many).
 *
 * Which of a node's GPUs a place has is decided last: of whole ones those that are closest to each
 * other (closest.h), of MIG instances those on the fullest cards.
 *
 * Nodes that something is planned on are set aside: they are counted like the others, and booked
 * like them, but a place there is looked at one by one, with a test of whoever planned.
 *
 * Where GPUs may be shared (cards.h) a place on one node is sought by what it strands (strand.h),
 * on all nodes of the set that may do; what each would cost is kept until something about the node
 * changes, so that a search looks at the GPUs of few. A GPU that is shared is in no bucket: nobody
 * can have all of it.
 *
 * What is booked may exceed what there is (a node came back smaller, a configuration took GPUs
 * away): then nothing is free, and nothing is negative.
 */
#ifndef CTLD_CORE_LEDGER_H
#define CTLD_CORE_LEDGER_H

#include "common/conf.h"
#include "ctld/core/request/requests.h"

struct closeness;
struct ledger;

/* What a job wants. */
struct ask {
	const struct request *gpus;
	uint32_t cpus;   /* of each node */
	uint64_t mem_mb; /* of each node */
	uint32_t user;   /* of ledger_user(): who asks for shares, where it makes a difference */
};

/* What it asks of each GPU. */
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
	uint64_t gpus;      /* bit set of host indices */
	struct share share; /* of each of them */
	uint16_t type;      /* of the GPUs; TYPE_NONE */
};

/* What a job gets: one place a node, by node. { 0 } is empty; it can be used again and again. */
struct places {
	struct place *v;
	size_t n, size;
	uint16_t type; /* of all places */
	uint32_t alternative;
	int64_t strands; /* what it adds to what is stranded (strand.h); 0 where no GPU is shared */
};
void places_add(struct places *p, const struct place *place);
void places_free(struct places *p); /* what it holds */

struct ledger *ledger_new(const struct conf *conf); /* borrowed until ledger_free() */
void ledger_free(struct ledger *l);                 /* NULL is fine */

/* --- nodes ----------------------------------------------------------------------------------- */

/* What the agent found; counts where the configuration says nothing. */
void ledger_inventory(struct ledger *l, uint32_t node, uint32_t cpus, uint64_t mem_mb);
/* GPUs that are not there or in trouble: counted, never given. They may be booked. */
void ledger_gpus_out(struct ledger *l, uint32_t node, uint64_t out);
/* So much memory has this GPU, as its driver says; 0: it has not said. What may be shared of it is
 * that or the type's nominal `mem`, whichever is less and known, without the type's `mem_reserve`.
 */
void ledger_gpu_mem(struct ledger *l, uint32_t node, uint32_t index, uint64_t mem_mb);
/* It is a MIG instance on card `card` - 1 of the host; 0: it is none. Where the configuration says
 * which (`mig`), that counts. */
void ledger_gpu_card(struct ledger *l, uint32_t node, uint32_t index, uint32_t card);
/* How close its GPUs are to each other; owned from here on, NULL: nobody has said. */
void ledger_gpus_near(struct ledger *l, uint32_t node, struct closeness *near);
/* Its agent has said how close they are, or that it does not know. */
void ledger_near_told(struct ledger *l, uint32_t node);
const struct closeness *ledger_near(const struct ledger *l, uint32_t node);
void ledger_accept(struct ledger *l, uint32_t node, bool accept); /* new nodes do not */
bool ledger_accepts(const struct ledger *l, uint32_t node);

/* 0: not known yet. */
uint32_t ledger_cpus(const struct ledger *l, uint32_t node);
uint64_t ledger_mem_mb(const struct ledger *l, uint32_t node);
uint32_t ledger_cpus_free(const struct ledger *l, uint32_t node);
uint64_t ledger_mem_free_mb(const struct ledger *l, uint32_t node);
uint64_t ledger_gpus_of(const struct ledger *l, uint32_t node, uint16_t type); /* bit set, all */
uint64_t ledger_gpus_used(const struct ledger *l, uint32_t node);              /* bit set */
uint64_t ledger_gpus_shared(const struct ledger *l, uint32_t node); /* bit set, of those used */
/* Those of a type that can be given away: not used, not out. */
uint64_t ledger_gpus_free(const struct ledger *l, uint32_t node, uint16_t type);
/* Those of a type that do for what is wanted of each: free ones, or shared ones that have
 * so much left. */
uint64_t ledger_gpus_for(
        const struct ledger *l, uint32_t node, uint16_t type, const struct share_wish *wish);

/* --- shares ---------------------------------------------------------------------------------- */

bool ledger_shares(const struct ledger *l, uint32_t node); /* its GPUs may be shared */
const struct card *ledger_card(const struct ledger *l, uint32_t node, uint32_t index);
/* What of each GPU of that type that comes to there; { 0 }: all. False: it never can. */
bool ledger_share(const struct ledger *l, uint32_t node, uint16_t type,
        const struct share_wish *wish, struct share *share);

/* What that request comes to of each GPU of a type, wherever: of its nominal `mem`, or else of the
 * largest that a driver has told. { 0 }: all, or no such GPU is known to have so much. */
void ledger_share_of(
        const struct ledger *l, const struct request *r, uint16_t type, struct share *share);

/* Who asks for such a request in `set`: uid + 1 where nodes have one user's runs share a GPU; 0
 * where that makes no difference. */
uint32_t ledger_user(
        const struct ledger *l, uint32_t set, const struct request *gpus, uint32_t uid);

/* So many tasks with such a request were submitted (mix.h). True: that makes another mix, and the
 * best places are others. */
bool ledger_note_asked(struct ledger *l, const struct ask *ask, uint64_t tasks);

/* So many GPUs of that type, whichever they are, have a part of alternative `a` with the links that
 * it wants; 0: not even all that there are and not out. What is wanted of links alone counts. */
uint32_t ledger_sure(const struct ledger *l, uint32_t node, const struct request *r, uint32_t a,
        uint16_t type);
/* The same of some of its GPUs. */
uint32_t ledger_sure_of(const struct ledger *l, uint32_t node, uint64_t gpus,
        const struct request *r, uint32_t a);

/* The sets that a node is in. */
const uint32_t *ledger_node_sets(const struct ledger *l, uint32_t node, size_t *n);

/* --- sets ------------------------------------------------------------------------------------ */

size_t ledger_sets(const struct ledger *l);
uint32_t ledger_set_of(const struct ledger *l, uint32_t partition);

/* GPUs of a type in a set: how many there are, how many are free on nodes that accept work, the
 * most that one node has, and that node (NODE_LEFT when `most` is 0). False: no such type there. */
bool ledger_set_gpus(const struct ledger *l, uint32_t set, uint16_t type, uint32_t *total,
        uint32_t *free, uint32_t *most, uint32_t *where);

/* --- fitting and booking --------------------------------------------------------------------- */

/* Could one member of alternative `a` (0 for no GPUs) go to that node now: features, node names,
 * CPUs, memory, GPUs of one type? Whether something is planned there is not asked. */
bool ledger_fits_part(const struct ledger *l, uint32_t node, const struct ask *ask, uint32_t a);
/* The same if the node were empty and accepted work; with GPUs of `type`, or TYPE_ANY: whichever
 * will do. What the node has is assumed to suffice where it is not known yet. */
bool ledger_could_fit_part(
        const struct ledger *l, uint32_t node, const struct ask *ask, uint32_t a, uint16_t type);

/* May this place be used, though something is planned on that node? It offers all that a member
 * could get there; a yes for more GPUs is a yes for fewer. Of parts of GPUs: or as many others of
 * `cards`? Then the place is on those. */
typedef bool ledger_test(void *arg, struct place *place, uint64_t cards);

struct find {
	uint32_t alternative; /* 0 for no GPUs */
	uint16_t type;        /* one that request_type_ok(), or TYPE_ANY: whichever is best */
	bool spread;
	ledger_test *test; /* asked only for nodes set aside; NULL: none of them may be used */
	void *arg;
	/* Of an exclusive job: whole nodes that the gates do not let it have; on one node it can
	 * have none that is as large either. */
	const struct place *unfit;
	size_t n_unfit;
};
bool find_refuses(const struct find *find, const struct ask *ask, const struct place *whole);

/* The best places in `set` now for all of the job, or false. One node: preferred nodes first, then
 * the order above; spread: the most free GPUs (without GPUs: still the fewest), then the most free
 * CPUs, then the last node. Exclusive: only empty nodes, all of their CPUs, memory and GPUs of the
 * type. Several nodes: gang.h; of TYPE_ANY the first type that does. */
bool ledger_find(struct ledger *l, uint32_t set, const struct ask *ask, const struct find *find,
        struct places *out);

/* Alternatives in their order, types too; for one node, nothing of those set aside. */
bool ledger_can_start(
        const struct ledger *l, uint32_t set, const struct ask *ask, struct place *place);

/* Something is planned there, or no longer. */
void ledger_set_aside(struct ledger *l, uint32_t node, bool aside);
bool ledger_is_aside(const struct ledger *l, uint32_t node);

void ledger_take(struct ledger *l, const struct place *place);    /* GPUs must be free */
void ledger_release(struct ledger *l, const struct place *place); /* must have been taken */

/* From ledger_mark() on everything taken and released is noted; ledger_undo() takes it back to the
 * last mark that was not undone. Marks nest. */
void ledger_mark(struct ledger *l);
void ledger_undo(struct ledger *l);

/* Does everything derived agree with the bookings? `text` says what does not. */
bool ledger_check(const struct ledger *l, char *text, size_t size);

#endif
