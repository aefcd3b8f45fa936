/* decide.h - may this job start now, and where? Used by the scheduler, --test-only and --why
 *
 * All three get the same answer, so that what is explained is what happens. A contender is a
 * waiting job as the scheduler sees it, or an imagined one. Nothing is changed; to learn what would
 * be under other conditions, a caller books or releases on the ledger, asks, and undoes it.
 *
 * Alternatives are tried in their order; for a request for any type, the type is taken whose node
 * has the least to spare. For each: first the gates (limits, quotas, licences: gates.h), then a
 * place now (ledger.h) that delays no planned start (plan.h) of a class before it: first a place
 * that touches no entry, then one that pushes aside entries behind it. At last: would what the job
 * takes of the gates be missing for a planned start before it that begins before the job ends?
 */
#ifndef CTLD_CORE_DECIDE_H
#define CTLD_CORE_DECIDE_H

#include "ctld/core/limits/gates.h"
#include "ctld/core/plan/plan.h"
#include "ctld/core/records/partition.h"

/* All that a decision is based on; borrowed. */
struct scene {
	const struct conf *conf;
	struct ledger *ledger;
	struct gates *gates;
	struct plan *plan;
	const struct partitions *partitions;
	struct clocks now;
};

/* A planned start is tried a moment later than it was planned for. That delay must not cost
 * it its place when an entry begins at its planned end. In microseconds. */
#define LATE_FORGIVEN (15 * (usec_t)1000000)

struct contender {
	struct ask ask;
	const struct gate_path *path;
	uint32_t partition, account, qos; /* numbers in the configuration; CONF_NONE */
	usec_t length;                    /* at most, in microseconds; PLAN_FAR: no limit */
	struct heap_key key;              /* its place in the order */
	bool due;    /* its own planned start has come, or runs were stopped for it */
	usec_t late; /* how long ago that start was, in microseconds; LATE_FORGIVEN at most */
};

enum verdict {
	VERDICT_NONE,      /* not tried yet */
	VERDICT_START,     /* it may start */
	VERDICT_BLOCKED,   /* no node of its partition has enough free */
	VERDICT_PLANNED,   /* what is free is planned for a class before it */
	VERDICT_GATE,      /* a limit, a quota, a licence */
	VERDICT_STATE,     /* its partition starts no jobs */
	VERDICT_PARTITION, /* the configuration has no such partition any more */
	VERDICT_TYPE,      /* no GPU type that it asks for is left */
};

struct decision {
	enum verdict verdict;                   /* START, or the one that comes nearest to it */
	struct gate_block gate;                 /* of VERDICT_GATE: the first gate that blocked */
	uint32_t gate_of[MAX_GPU_ALTERNATIVES]; /* by alternative: what blocks it; DECIDE_NO_GATE */
	bool capacity[MAX_GPU_ALTERNATIVES];    /* by alternative: waits for capacity or the plan */
	bool other[MAX_GPU_ALTERNATIVES]; /* by alternative: its place is too much for a gate */
	/* By alternative: no node has a place for it (BLOCKED), or none beside what is planned for
	 * classes before it (PLANNED), whatever its gates say; VERDICT_NONE: not known. */
	enum verdict nowhere[MAX_GPU_ALTERNATIVES];
	struct need need; /* of VERDICT_START: what to take from the gates */
	bool yields;      /* it has a place, and leaves room at a gate for a planned start */
	bool planned;     /* some place is planned for classes before it, whatever the verdict */
};

#define DECIDE_NO_GATE  UINT32_MAX
#define DECIDE_ANY_GATE (UINT32_MAX - 1) /* several gates, one for each type */

/* Fills *out (of VERDICT_START) and *d. */
enum verdict decide(const struct scene *scene, const struct contender *who, struct places *out,
        struct decision *d);

/* Does the job have an alternative that waits for capacity or for another place, whatever blocks
 * the others? */
bool decide_wants_capacity(const struct decision *d);

/* A ledger_test: does this place respect what is planned? */
struct decide_look {
	const struct scene *scene;
	const struct contender *who;
	bool polite;  /* no entry may be delayed; else only those before the key */
	bool refused; /* set by the test: some place was refused */
};
bool decide_test(void *arg, struct place *place, uint64_t cards);

/* The GPU types that an alternative may take, one after another: start with *cursor 0. False: no
 * more. A request without GPUs has one type, TYPE_NONE. */
bool decide_types(const struct scene *scene, const struct ask *ask, uint32_t alternative,
        uint32_t *cursor, uint16_t *type);
uint32_t decide_alternatives(const struct ask *ask); /* at least 1 */

/* The next (alternative, type) whose least need passes the gates: start with find->alternative and
 * *cursor 0. */
bool decide_next_open(const struct scene *scene, const struct contender *who, uint32_t *cursor,
        struct find *find);

/* Do the gates allow these places? There may be more places than needed: of a range of nodes as
 * many are kept as the gates allow, leaving out those that take most of what is short. For whole
 * nodes, others can be searched with decide_unfit(). */
bool decide_fits_gates(const struct scene *scene, const struct contender *who,
        struct places *places, struct decision *d);
/* How many of the places, counted from the first, do the gates allow? 0: fewer than the job
 * needs. */
size_t decide_fits_first(const struct scene *scene, const struct contender *who,
        struct places places, struct decision *d);

/* Exclude from further searches the one of these whole nodes that takes most of what is short at
 * the gate. So where one thing is limited, the nodes with the least of it are found in the end.
 * False: there is nothing else to find. */
#define MAX_UNFIT 16
struct decide_unfit {
	struct place v[MAX_UNFIT];
	size_t n;
};
bool decide_unfit(const struct scene *scene, const struct contender *who,
        const struct gate_block *gate, const struct places *places, struct decide_unfit *unfit,
        struct find *find);

/* The earliest start over all alternatives and types, at places that the gates allow; of equally
 * early ones, the first in the order of alternatives. Sets want->find. */
bool decide_later(const struct scene *scene, const struct contender *who, struct plan_want *want,
        struct plan_entry *best);

/* The same in steps of bounded work, between which anything may happen: as plan_search(). *want and
 * *who describe the same job in all steps. */
struct decide_search;
struct decide_search *decide_search_new(void);
void decide_search_free(struct decide_search *ds); /* NULL is fine */
enum plan_step decide_search(struct decide_search *ds, const struct scene *scene,
        const struct contender *who, struct plan_want *want, size_t *work, struct plan_entry *best);

/* What the job needs of the gates: the least, before it has a place; then exactly. */
void decide_need(const struct scene *scene, const struct ask *ask, uint32_t alternative,
        uint16_t type, struct need *need);
void decide_need_of(const struct scene *scene, const struct ask *ask, const struct places *places,
        struct need *need);

#endif
