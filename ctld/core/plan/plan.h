/* plan.h - the timeline of planned starts
 *
 * The heads of the best blocked classes get a planned start: from when, until when, on which
 * named nodes, with how much of each. An entry of the plan is a promise: no job that is backfilled
 * may delay it. One of higher priority may, and a node that is lost; whoever breaks an entry says
 * why.
 *
 * What a node has at a moment: what is free now, plus what the runs that will have ended by then
 * hold (time limit + grace; a run without a limit ends at PLAN_FAR), less what is planned there for
 * that moment. All entries together fit at every moment; that does not depend on their order. The
 * order (keys, smaller first) decides who is looked at when something new comes: whoever asks with
 * a key sees the entries before it and pushes those behind it aside.
 *
 * A *claim* is an entry that victims were told to end for. Whatever its place in the order, it
 * gives way to higher tiers only: a victim that comes back and stands before it would take the
 * place that it has just left, and be stopped again, and so on for ever.
 *
 * Of GPUs that are shared each counts for whoever it does for at that moment (struct plan_kind):
 * one that is half used is there for a quarter, not for a whole one. An entry for shares is given
 * GPUs that no other entry counts on; when its time comes it is put where it strands least. So of
 * entries on one node that want different things of GPUs who stands first chooses, and another
 * order may leave too little for one of them.
 *
 * Conservative backfilling (Mu'alem and Feitelson, IEEE TPDS 12(6), 2001) with a bounded number of
 * entries; an entry is only ever replaced by an earlier one, unless it was broken.
 *
 * Nodes with entries stand aside in the ledger: ledger_find() asks plan_allows() there.
 */
#ifndef CTLD_CORE_PLAN_H
#define CTLD_CORE_PLAN_H

#include "common/run.h"
#include "ctld/core/limits/gates.h"
#include "ctld/core/place/ledger.h"
#include "ctld/core/plan/steps.h"
#include "ctld/core/util/heap.h"

#define PLAN_FAR ((usec_t)1 << 60) /* mono: when something without a time limit ends */

/* What a node takes from the order to the start, and from the kill to its word of the end. */
#define PLAN_START_TAKES ((usec_t)10000000)
#define PLAN_END_TAKES   ((usec_t)5000000)

struct plan;

/* What of GPUs somebody counts: those of a type that are free, or have so much left. */
struct plan_kind {
	uint16_t type;
	struct share_wish wish;
};

/* One run on a node, as the plan and preemption see it. What a search for victims asks of all of
 * them is in front, in one line of the cache. */
struct held {
	usec_t end;             /* mono: by then it has ended; PLAN_FAR */
	usec_t protected_until; /* mono: of its job, for preemption */
	uint64_t cards; /* GPUs that its end gives back: bit set, without those in trouble */
	uint64_t mem_mb;
	uint64_t job;
	uint32_t partition, account, qos; /* of its job: numbers; CONF_NONE */
	uint32_t gpus, cpus;
	uint16_t type;                /* of its GPUs; TYPE_NONE */
	bool stopping;                /* it has been told to end */
	bool lost_cause;              /* no job of ours, or it ends anyway: never a victim */
	struct share share;           /* of each of its GPUs */
	const struct gate_path *path; /* NULL: it holds no gates */
	const struct need *need;
	const struct run *run;
};

/* Who knows what runs. */
struct plan_runs {
	/* The runs on a node, until something happens there. */
	const struct held *(*on_node)(void *arg, uint32_t node, size_t *n);
	/* GPU-seconds that would be lost if it ended now. */
	double (*work)(void *arg, const struct held *held);
	void *arg;
};

struct plan_entry {
	void *owner; /* the class */
	struct heap_key key;
	usec_t start, end; /* mono; PLAN_FAR: nobody knows */
	struct places places;
	uint32_t partition;
	bool claim; /* victims were told to end for it */
	/* What it will take of the gates; whoever adds it says so. NULL: nothing. */
	const struct gate_path *path;
	struct need need;
	/* the plan's own */
	uint32_t index, rank;
	bool rose; /* it has passed another since it was planned */
	bool idle; /* counts for nothing, while somebody only wonders */
	struct plan_slot *slots;
};

/* What to look for. */
struct plan_want {
	struct ask ask;
	uint32_t set, partition;
	struct find find; /* alternative, type, spread, unfit; the test is not used */
	usec_t length;    /* PLAN_FAR: no time limit */
	struct heap_key key;
	usec_t before; /* only an earlier start is of use; 0: any */
	bool polite;   /* respect entries behind the key too */
};

struct plan *plan_new(const struct conf *conf, struct ledger *ledger, const struct plan_runs *runs);
void plan_free(struct plan *p); /* NULL is fine; entries go with it */

/* The time of all that follows, until it is set again. */
void plan_now(struct plan *p, usec_t mono);

/* What runs on the node, or whether it accepts work, has changed. */
void plan_node_changed(struct plan *p, uint32_t node);
/* A question is answered until plan_wonder(p, false): what changes is only imagined, and is taken
 * back by then. What the scheduler finds later does not depend on it. */
void plan_wonder(struct plan *p, bool on);

/* The earliest start for it, of a question: fills start, end and places of *found. False: nowhere,
 * ever. */
bool plan_find(struct plan *p, const struct plan_want *want, struct plan_entry *found);

/* The same in steps: *work is how much this one may look at (one for a node, and one for each eight
 * of its runs), and becomes what is left of that.
 * Between two steps anything may happen. What is found can be had as things are in the last step;
 * that it is the earliest is as of some hundredths of a second before. *want stands for the same in
 * all steps. */
enum plan_step {
	PLAN_MORE, /* to be gone on with */
	PLAN_NOWHERE,
	PLAN_FOUND,
};
struct plan_search;
struct plan_search *plan_search_new(void);
void plan_search_free(struct plan_search *ps); /* NULL is fine */
enum plan_step plan_search(struct plan *p, struct plan_search *ps, const struct plan_want *want,
        size_t *work, struct plan_entry *found);

/* Can it have these places from its start to its end? */
bool plan_holds(struct plan *p, const struct plan_want *want, const struct plan_entry *entry);

/* The wanted gang with parts of one size on so many nodes, where it could do with parts that
 * differ; `shape` is room for its request. */
struct plan_want plan_equal_parts(
        const struct plan_want *want, uint32_t nodes, struct request *shape);
/* Equal parts come to more than the total that is wanted: the last ones are made smaller. */
void plan_trim(const struct plan_want *want, struct places *places);

/* Make it an entry: takes over found->places. */
struct plan_entry *plan_add(
        struct plan *p, void *owner, const struct plan_want *want, struct plan_entry *found);
void plan_remove(struct plan *p, struct plan_entry *entry);
void plan_shrink(struct plan *p, struct plan_entry *entry, size_t n); /* to its first n places */

/* Does it stand before a key? */
bool plan_before(const struct plan_entry *entry, struct heap_key key);

/* May a run of this key take the place from now until `end`? `polite`: without pushing any entry
 * aside. If it is of parts of GPUs, and as many others of `cards` (that have so much left) can be
 * had and its own cannot: the place is on those then. */
bool plan_allows(struct plan *p, struct place *place, uint64_t cards, usec_t end,
        struct heap_key key, bool polite);

/* The first entry (by key) that has no room on the node any more; NULL: all have. */
struct plan_entry *plan_broken(struct plan *p, uint32_t node);

/* A run or a start there is overdue: what is behind it is put off when the plan is next looked
 * over.
 */
bool plan_is_late(struct plan *p, uint32_t node);

/* Is something planned there; for whom first? NULL: no. */
const struct plan_entry *plan_first(const struct plan *p, uint32_t node);

/* What the node has left for a key, at every moment from `start` to `end`. */
void plan_room(struct plan *p, uint32_t node, const struct plan_kind *kind, usec_t start,
        usec_t end, struct heap_key key, bool polite, struct plan_room *room);

struct plan_kind plan_kind(const struct plan_want *want);

/* Which GPUs of the node do when the runs marked `gone` have ended and nothing else has? */
uint64_t plan_free_without(const struct plan *p, uint32_t node, const struct plan_kind *kind,
        const struct held *v, const bool *gone, size_t n);
/* How many GPUs of the node do when the runs marked `gone` have ended and nothing else has? */
uint32_t plan_cards_without(const struct plan *p, uint32_t node, const struct plan_kind *kind,
        const struct held *v, const bool *gone, size_t n);

/* When a run ends that is to end then. Until it is overdue by PLAN_STUCK that is a matter of
 * moments. Then nobody knows, and it is taken to need as long again: it ends at twice, four times,
 * eight times, ... PLAN_STUCK, from 64 times on at each next 64. So what is planned behind it is
 * put off a few times, not each second, and meanwhile what is free beside it can be used. */
#define PLAN_STUCK ((usec_t)60000000)
usec_t plan_run_end(const struct plan *p, usec_t end);

/* When the first of its runs ends, or should have. */
usec_t plan_first_end(struct plan *p, uint32_t node);

/* The runs on a node, as the plan was told. */
const struct held *plan_held(const struct plan *p, uint32_t node, size_t *n);
double plan_work(const struct plan *p, const struct held *held); /* see plan_runs */

/* The least that one node must give for it (a gang whose parts may differ gives more somewhere);
 * could it be that node at all? */
struct plan_part {
	uint32_t gpus, cpus;
	uint64_t mem_mb;
};
struct plan_part plan_part(const struct plan *p, const struct plan_want *want, uint32_t node);
bool plan_may_use(const struct plan *p, const struct plan_want *want, uint32_t node);
struct place plan_place(const struct plan *p, const struct plan_want *want, uint32_t node,
        const struct plan_part *part);

size_t plan_count(const struct plan *p);
uint64_t plan_changes(const struct plan *p); /* counts entries that came and went */
size_t plan_count_of(const struct plan *p, uint32_t partition);
struct plan_entry *plan_at(const struct plan *p, size_t i); /* in no order, unless just sorted */

/* The keys have changed: note who has passed whom, order the entries. Their places in that order
 * are their ranks, until the next time; what is added meanwhile has none. */
void plan_sort(struct plan *p);
/* The entry of the lowest rank that is not below `rank`; NULL: there is none. */
struct plan_entry *plan_by_rank(const struct plan *p, size_t rank);
/* It replaces the one that had this rank and has gone. */
void plan_rank(struct plan *p, struct plan_entry *entry, uint32_t rank);

/* Do all entries fit together? For checks. */
bool plan_check(struct plan *p, char *text, size_t size);

#endif
