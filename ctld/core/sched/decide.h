/* decide.h - may this start now, and where: asked by the scheduler, by --test-only and by --why
 *
 * One answer for all of them, so that what is explained is what happens. A contender is a waiting
 * job as the scheduler sees it, or one that somebody only imagines. Nothing is changed; whoever
 * wants to know what would be if something else were so takes, asks and gives back.
 *
 * Alternatives in their order; of a request for any type, the type whose node has the least to
 * spare. For each: the gates (gates.h), then a place now (ledger.h) that delays no planned start
 * (plan.h) - first without touching any, then over those that stand behind it. At last: would what
 * it takes of the gates be missing where a planned start before it needs it, before it has ended?
 */
#ifndef CTLD_CORE_DECIDE_H
#define CTLD_CORE_DECIDE_H

#include "ctld/core/limits/gates.h"
#include "ctld/core/plan/plan.h"
#include "ctld/core/records/partition.h"

/* What is decided upon; borrowed. */
struct scene {
	const struct conf *conf;
	struct ledger *ledger;
	struct gates *gates;
	struct plan *plan;
	const struct partitions *partitions;
	struct clocks now;
};

/* Somebody looks at what is due a moment later than it was planned: that moment must not cost it
 * its place before what is planned to begin where it was to end. */
#define LATE_FORGIVEN (15 * (usec_t)1000000)

struct contender {
	struct ask ask;
	const struct gate_path *path;
	uint32_t partition, account, qos; /* numbers in the configuration; CONF_NONE */
	usec_t length;                    /* at most; PLAN_FAR */
	struct heap_key key;              /* its place in the order */
	bool due;    /* its own planned start has come, or others were stopped for it */
	usec_t late; /* it has come so long ago, LATE_FORGIVEN at most */
};

enum verdict {
	VERDICT_NONE,      /* not tried yet */
	VERDICT_START,     /* it may */
	VERDICT_BLOCKED,   /* nothing in its partition has enough free */
	VERDICT_PLANNED,   /* what is free is planned for somebody before it */
	VERDICT_GATE,      /* a limit, a quota, a licence */
	VERDICT_STATE,     /* its partition starts nothing */
	VERDICT_PARTITION, /* the configuration has no such partition any more */
	VERDICT_TYPE,      /* nor any of the GPU types */
};

struct decision {
	enum verdict verdict;                   /* START, or of what came nearest to it */
	struct gate_block gate;                 /* of VERDICT_GATE: the first that was met */
	uint32_t gate_of[MAX_GPU_ALTERNATIVES]; /* by alternative: that holds it; DECIDE_NO_GATE */
	bool capacity[MAX_GPU_ALTERNATIVES];    /* by alternative: waits for capacity or the plan */
	bool other[MAX_GPU_ALTERNATIVES]; /* has a place that is too much for a gate: for another */
	/* By alternative: no node has a place for it (BLOCKED), or beside what is planned for those
	 * before it (PLANNED), whatever its gates say; VERDICT_NONE: that is not known. */
	enum verdict nowhere[MAX_GPU_ALTERNATIVES];
	struct need need; /* of VERDICT_START: what is to be taken */
	bool yields;      /* it has a place, and leaves a gate to a planned start */
	bool planned;     /* some place is planned for others before it, whatever the verdict */
};

#define DECIDE_NO_GATE  UINT32_MAX
#define DECIDE_ANY_GATE (UINT32_MAX - 1) /* several, one for each type */

/* Fills *out (of VERDICT_START) and *d. */
enum verdict decide(const struct scene *scene, const struct contender *who, struct places *out,
        struct decision *d);

/* Has it an alternative that waits for capacity or another place, whatever holds the others? */
bool decide_wants_capacity(const struct decision *d);

/* A ledger_test: does the place delay what is planned? */
struct decide_look {
	const struct scene *scene;
	const struct contender *who;
	bool polite;  /* of anybody; else of those before it */
	bool refused; /* set: some place was */
};
bool decide_test(void *arg, struct place *place, uint64_t cards);

/* The GPU types that an alternative may take, one after another: start with *cursor 0. False: no
 * more. A request without GPUs has the one type TYPE_NONE. */
bool decide_types(const struct scene *scene, const struct ask *ask, uint32_t alternative,
        uint32_t *cursor, uint16_t *type);
uint32_t decide_alternatives(const struct ask *ask); /* at least 1 */

/* The next (alternative, type) whose least need the gates allow: start with find->alternative and
 * *cursor 0. */
bool decide_next_open(const struct scene *scene, const struct contender *who, uint32_t *cursor,
        struct find *find);

/* Do the gates allow just these places? They may be more than was asked for: of a range of nodes as
 * many stay as may be, without those that have most of what is short; of whole nodes others can be
 * sought with decide_unfit(). */
bool decide_fits_gates(const struct scene *scene, const struct contender *who,
        struct places *places, struct decision *d);
/* How many of the first ones do they allow? 0: not even the fewest that it needs. */
size_t decide_fits_first(const struct scene *scene, const struct contender *who,
        struct places places, struct decision *d);

/* The one of these whole nodes that has most of what was short at the gate is not to be found
 * again. So where one thing is limited, the nodes with the least of it are found in the end. False:
 * nothing else can be found. */
#define MAX_UNFIT 16
struct decide_unfit {
	struct place v[MAX_UNFIT];
	size_t n;
};
bool decide_unfit(const struct scene *scene, const struct contender *who,
        const struct gate_block *gate, const struct places *places, struct decide_unfit *unfit,
        struct find *find);

/* The earliest start of all alternatives and types, at places that the gates allow; the better
 * liked of two that are equally early. Sets want->find. */
bool decide_later(const struct scene *scene, const struct contender *who, struct plan_want *want,
        struct plan_entry *best);

/* The same in steps of so much work, between which anything may happen: as plan_search(). *want and
 * *who stand for the same in all of them. */
struct decide_search;
struct decide_search *decide_search_new(void);
void decide_search_free(struct decide_search *ds); /* NULL is fine */
enum plan_step decide_search(struct decide_search *ds, const struct scene *scene,
        const struct contender *who, struct plan_want *want, size_t *work, struct plan_entry *best);

/* What it needs of the gates: the least, before it has a place; then exactly. */
void decide_need(const struct scene *scene, const struct ask *ask, uint32_t alternative,
        uint16_t type, struct need *need);
void decide_need_of(const struct scene *scene, const struct ask *ask, const struct places *places,
        struct need *need);

#endif
