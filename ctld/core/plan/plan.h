/* plan.h - the timeline of planned starts
 *
 * The heads of the best blocked classes get a planned start: from when, until when, on which named
 * nodes, with how much of each. Such a reservation of the plan is a promise: no job that is
 * backfilled may delay it. A job of higher priority may break a reservation, and so may the loss of
 * a node; the cause is kept with the class.
 *
 * What a node has at a moment: what is free now, plus what the runs that will have ended by then
 * hold (time limit + grace; a run without a limit ends at PLAN_FAR), less what is planned there for
 * that moment. All reservations together fit at every moment; that does not depend on their order.
 * The order (keys, smaller first) matters when something new is planned: a search with a key
 * respects the reservations before the key and may push aside those behind it.
 *
 * A *preemption reservation* is a reservation that victims were told to end for. Whatever its place
 * in the order, it gives way to higher tiers only: otherwise a victim that is requeued before it in
 * the order would take the place that the victim has just left, be stopped again, and so on for
 * ever.
 *
 * A shared GPU counts for the requests that it can serve at that moment (struct plan_kind): one
 * that is half used serves a request for a quarter, not one for a whole GPU. A reservation for
 * shares gets GPUs that no other reservation counts on; at its start it is put where it causes the
 * least fragmentation. So of reservations on one node that want different parts of GPUs the first
 * in the order chooses first, and another order may leave too little for one of them.
 *
 * Conservative backfilling (Mu'alem and Feitelson, IEEE TPDS 12(6), 2001) with a bounded number of
 * reservations; a reservation is only ever replaced by an earlier one, unless it was broken.
 *
 * Nodes with reservations are reserved in the ledger: ledger_find() asks plan_allows() about them.
 */
#ifndef CTLD_CORE_PLAN_H
#define CTLD_CORE_PLAN_H

#include "common/job/run.h"
#include "ctld/core/limits/limits.h"
#include "ctld/core/place/ledger.h"
#include "ctld/core/plan/step_function.h"
#include "ctld/core/util/heap.h"

#define PLAN_FAR ((usec_t)1 << 60) /* mono: the end of a run without a time limit */

/* How long a node takes from the order to the start, and from the kill to its report of the end. */
#define PLAN_START_TAKES ((usec_t)10000000)
#define PLAN_END_TAKES   ((usec_t)5000000)

struct plan;

/* Which GPUs a count is of: those of a type that are free, or that have so much left. */
struct plan_kind {
	uint16_t type;
	struct share_wish wish;
};

/* One run on a node, as the plan and preemption see it. The members that a search for victims reads
 * for every run come first, in one cache line. */
struct run_snapshot {
	usec_t end;             /* mono: it has ended by then; PLAN_FAR: no limit */
	usec_t protected_until; /* mono: its job must not be preempted before */
	uint64_t gpu_set;       /* GPUs that its end gives back, as bits; not those in trouble */
	uint64_t mem_mb;
	uint64_t job;
	uint32_t partition, account, qos; /* of its job: numbers in the configuration; CONF_NONE */
	uint32_t cpus;
	uint32_t drain_s;             /* its end may take so long, if that is more than its grace */
	uint16_t type;                /* of its GPUs; TYPE_NONE: it has none */
	uint8_t gpus;                 /* at most as many as gpu_set has bits */
	bool stopping : 1;            /* it has been told to end */
	bool lost_cause : 1;          /* no job of ours, or it ends anyway: never a victim */
	bool guarded : 1;             /* a replica that its service keeps and its account's guarantee
	                               * covers: not preempted */
	struct share share;           /* of each of its GPUs */
	const struct limit_chain *chain; /* NULL: it holds nothing at limits */
	const struct need *need;
	const struct run *run;
};

/* Where the plan learns what runs. */
struct plan_runs {
	/* The runs on a node, valid until something changes there. */
	const struct run_snapshot *(*on_node)(void *arg, uint32_t node, size_t *n);
	/* GPU-seconds that would be lost if the run ended now. */
	double (*work)(void *arg, const struct run_snapshot *snapshot);
	void *arg;
};

struct reservation {
	void *owner; /* the class */
	struct heap_key key;
	usec_t start, end; /* mono; PLAN_FAR or more: not known */
	struct places places;
	uint32_t partition;
	bool preempts; /* victims were told to end for it */
	/* What it will take of the limits; set by the caller that adds it. NULL: nothing. */
	const struct limit_chain *chain;
	struct need need;
	/* the plan's own */
	uint32_t index, rank;
	bool promoted; /* it has passed another reservation since it was planned */
	bool idle; /* it counts for nothing while a question is tried */
	struct plan_slot *slots;
};

/* What to search for. */
struct plan_want {
	struct ask ask;
	uint32_t set, partition;
	struct find find; /* alternative, type, spread, unfit; the test is not used */
	usec_t length;    /* PLAN_FAR: no time limit */
	struct heap_key key;
	usec_t before; /* mono: only an earlier start is of use; 0: any */
	bool displace_none; /* also respect the reservations behind the key */
};

struct plan *plan_new(const struct conf *conf, struct ledger *ledger, const struct plan_runs *runs);
void plan_free(struct plan *p); /* NULL is fine; its reservations are freed too */

/* The time for all calls that follow, until it is set again. */
void plan_now(struct plan *p, usec_t mono);

/* The runs on the node have changed, or whether it accepts work. */
void plan_node_changed(struct plan *p, uint32_t node);
/* A question is answered until plan_wonder(p, false): changes until then are only imagined and are
 * undone by then. What the scheduler finds later does not depend on them. */
void plan_wonder(struct plan *p, bool on);

/* The earliest start, for a question: fills start, end and places of *found. False: it can never
 * start. */
bool plan_find(struct plan *p, const struct plan_want *want, struct reservation *found);

/* The same in steps: *work is how much this step may look at (one for a node, and one for each
 * eight of its runs), and becomes what is left of that. Between two steps anything may happen. What
 * is found is possible as things are in the last step; that it is the earliest start holds for some
 * hundredths of a second before. *want describes the same job in all steps. */
enum plan_step {
	PLAN_MORE, /* call again to continue */
	PLAN_NOWHERE,
	PLAN_FOUND,
};
struct plan_search;
struct plan_search *plan_search_new(void);
void plan_search_free(struct plan_search *ps); /* NULL is fine */
enum plan_step plan_search(struct plan *p, struct plan_search *ps, const struct plan_want *want,
        size_t *work, struct reservation *found);

/* Can the reservation have these places from its start to its end? */
bool plan_holds(
        struct plan *p, const struct plan_want *want, const struct reservation *reservation);

/* The wanted gang with parts of one size on `nodes` nodes, where its parts might differ; `shape` is
 * storage for its request. */
struct plan_want plan_equal_parts(
        const struct plan_want *want, uint32_t nodes, struct request *shape);
/* Equal parts may add up to more than the wanted total: make the last ones smaller. */
void plan_trim(const struct plan_want *want, struct places *places);

/* Make it a reservation of the plan; takes over found->places. */
struct reservation *plan_add(
        struct plan *p, void *owner, const struct plan_want *want, struct reservation *found);
void plan_remove(struct plan *p, struct reservation *reservation);
void plan_shrink(
        struct plan *p, struct reservation *reservation, size_t n); /* to its first n places */

/* Does the reservation count as before the key? */
bool plan_before(const struct reservation *reservation, struct heap_key key);

/* May a run of this key take the place from now until `end`? `displace_none`: without pushing any
 * reservation aside. For a place with parts of GPUs: if its own GPUs will not do, but as many
 * others of `gpu_set` (GPUs that have so much left) will, the place is changed to those. */
bool plan_allows(struct plan *p, struct place *place, uint64_t gpu_set, usec_t end,
        struct heap_key key, bool displace_none);

/* The first reservation (by key) that has no room on the node any more; NULL: all have room. */
struct reservation *plan_broken(struct plan *p, uint32_t node);

/* A run or a start there is overdue: when the plan is next checked, what is planned behind it is
 * put off. */
bool plan_is_late(struct plan *p, uint32_t node);

/* The first reservation (by key) on the node; NULL: there is none. */
const struct reservation *plan_first(const struct plan *p, uint32_t node);

bool plan_has_preemption(
        const struct plan *p, uint32_t node); /* is there a preemption reservation on the node? */

/* What the node has left for a key, at every moment from `start` to `end`. */
void plan_room(struct plan *p, uint32_t node, const struct plan_kind *kind, usec_t start,
        usec_t end, struct heap_key key, bool displace_none, struct plan_room *room);

struct plan_kind plan_kind(const struct plan_want *want);

/* Which GPUs of the node serve the kind when the runs marked `gone` have ended and nothing else
 * has? */
uint64_t plan_free_without(const struct plan *p, uint32_t node, const struct plan_kind *kind,
        const struct run_snapshot *v, const bool *gone, size_t n);
/* The number of those GPUs. */
uint32_t plan_gpus_without(const struct plan *p, uint32_t node, const struct plan_kind *kind,
        const struct run_snapshot *v, const bool *gone, size_t n);

/* When a run is expected to end whose time was up at `end`. Until it is overdue by PLAN_STUCK, that
 * is in a moment. After that it is not known, and the run is taken to need as long again: it ends
 * at two, four, eight, ... times PLAN_STUCK, from 64 times on at each next 64. So what is planned
 * behind it is put off a few times, not each second, and meanwhile what is free beside it can be
 * used. */
#define PLAN_STUCK ((usec_t)60000000)
usec_t plan_run_end(const struct plan *p, usec_t end);

/* When the first of the node's runs ends, or should have ended. */
usec_t plan_first_end(struct plan *p, uint32_t node);

/* The runs on a node, as plan_runs reports them. */
const struct run_snapshot *plan_snapshots(const struct plan *p, uint32_t node, size_t *n);
double plan_work(const struct plan *p, const struct run_snapshot *snapshot); /* see plan_runs */

/* The least that one node must give for it (a gang whose parts may differ takes more somewhere).
 * plan_may_use(): may the node be used at all? */
struct plan_part {
	uint32_t gpus, cpus;
	uint64_t mem_mb;
};
struct plan_part plan_part(const struct plan *p, const struct plan_want *want, uint32_t node);
bool plan_may_use(const struct plan *p, const struct plan_want *want, uint32_t node);
struct place plan_place(const struct plan *p, const struct plan_want *want, uint32_t node,
        const struct plan_part *part);

size_t plan_count(const struct plan *p);
uint64_t plan_changes(const struct plan *p); /* counts reservations that came or went */
size_t plan_count_of(const struct plan *p, uint32_t partition);
struct reservation *plan_at(const struct plan *p, size_t i); /* in no order, unless just sorted */

/* The keys have changed: mark the reservations that have passed another, and order all. Their
 * places in that order are their ranks until the next call; reservations added meanwhile have none.
 */
void plan_sort(struct plan *p);
/* The reservation of the lowest rank that is not below `rank`; NULL: there is none. */
struct reservation *plan_by_rank(const struct plan *p, size_t rank);
/* The reservation gets this rank, of a reservation that it replaces. */
void plan_rank(struct plan *p, struct reservation *reservation, uint32_t rank);

/* Do all reservations fit together? For checks. */
bool plan_check(struct plan *p, char *text, size_t size);

#endif
