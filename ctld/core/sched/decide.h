/* decide.h - may this job start now, and where? Used by the scheduler, --test-only and --why
 *
 * All three get the same answer, so that what is explained is what happens. A candidate is a
 * waiting job as the scheduler sees it, or an imagined one. Nothing is changed; to learn what would
 * be under other conditions, a caller books or releases on the ledger, asks, and undoes it.
 *
 * Alternatives are tried in their order; for a request for any type, the type is taken whose node
 * has the least to spare. For each: first the limits (of the configuration, of quotas, of licences: limits.h), then a
 * place now (ledger.h) that delays no planned start (plan.h) of a class before it: first a place
 * that touches no reservation, then one that pushes aside reservations behind it. At last: would
 * what the job takes of the limits be missing for a planned start before it that begins before the
 * job ends?
 */
#ifndef CTLD_CORE_DECIDE_H
#define CTLD_CORE_DECIDE_H

#include "ctld/core/plan/candidate.h"
#include "ctld/core/records/partition.h"

enum verdict {
	VERDICT_NONE,      /* not tried yet */
	VERDICT_START,     /* it may start */
	VERDICT_CAPACITY,  /* no node of its partition has enough free */
	VERDICT_PLANNED,   /* what is free is planned for a class before it */
	VERDICT_LIMIT,     /* a limit, a quota, a licence */
	VERDICT_STATE,     /* its partition starts no jobs */
	VERDICT_PARTITION, /* the configuration has no such partition any more */
	VERDICT_TYPE,      /* no GPU type that it asks for is left */
};

struct decision {
	enum verdict verdict;                   /* START, or the one that comes nearest to it */
	struct limit_block limit;               /* of VERDICT_LIMIT: the first limit that blocked */
	uint32_t limit_of[MAX_GPU_ALTERNATIVES]; /* by alternative: what blocks it; DECIDE_NO_LIMIT
	                                          */
	bool capacity[MAX_GPU_ALTERNATIVES];    /* by alternative: waits for capacity or the plan */
	bool other[MAX_GPU_ALTERNATIVES]; /* by alternative: its place is too much for a limit */
	/* By alternative: no node has a place for it (CAPACITY), or none beside what is planned for
	 * classes before it (PLANNED), whatever its limits say; VERDICT_NONE: not known. */
	enum verdict nowhere[MAX_GPU_ALTERNATIVES];
	struct need need; /* of VERDICT_START: what to take from the limits */
	bool yields;      /* it has a place, and leaves room at a limit for a planned start */
	bool planned;     /* some place is planned for classes before it, whatever the verdict */
};

#define DECIDE_NO_LIMIT  UINT32_MAX
#define DECIDE_ANY_LIMIT (UINT32_MAX - 1) /* several limits, one for each type */

/* Fills *out (of VERDICT_START) and *d. */
enum verdict decide(const struct sched_view *view, const struct candidate *who, struct places *out,
        struct decision *d);

/* Does the job have an alternative that waits for capacity or for another place, whatever blocks
 * the others? */
bool decide_wants_capacity(const struct decision *d);

/* A ledger_test: does this place respect what is planned? */
struct decide_look {
	const struct sched_view *view;
	const struct candidate *who;
	bool displace_none; /* no reservation may be delayed; else only those before the key */
	bool refused; /* set by the test: some place was refused */
};
bool decide_test(void *arg, struct place *place, uint64_t gpu_set);

/* The GPU types that an alternative may take, one after another: start with *cursor 0. False: no
 * more. A request without GPUs has one type, TYPE_NONE. */
bool decide_types(const struct sched_view *view, const struct ask *ask, uint32_t alternative,
        uint32_t *cursor, uint16_t *type);
uint32_t decide_alternatives(const struct ask *ask); /* at least 1 */

/* The next (alternative, type) whose least need passes the limits: start with find->alternative and
 * *cursor 0. */
bool decide_next_open(const struct sched_view *view, const struct candidate *who, uint32_t *cursor,
        struct find *find);

/* Do the limits allow these places? There may be more places than needed: of a range of nodes as
 * many are kept as the limits allow, leaving out those that take most of what is short. For whole
 * nodes, others can be searched with decide_unfit(). */
bool decide_fits_limits(const struct sched_view *view, const struct candidate *who,
        struct places *places, struct decision *d);
/* How many of the places, counted from the first, do the limits allow? 0: fewer than the job
 * needs. */
size_t decide_fits_first(const struct sched_view *view, const struct candidate *who,
        struct places places, struct decision *d);

/* Exclude from further searches the one of these whole nodes that takes most of what is short at
 * the limit. So where one thing is limited, the nodes with the least of it are found in the end.
 * False: there is nothing else to find. */
#define MAX_UNFIT 16
struct decide_unfit {
	struct place v[MAX_UNFIT];
	size_t n;
};
bool decide_unfit(const struct sched_view *view, const struct candidate *who,
        const struct limit_block *limit, const struct places *places, struct decide_unfit *unfit,
        struct find *find);

/* The earliest start over all alternatives and types, at places that the limits allow; of equally
 * early ones, the first in the order of alternatives. Sets want->find. */
bool decide_later(const struct sched_view *view, const struct candidate *who,
        struct plan_want *want, struct reservation *best);

/* The same in steps of bounded work, between which anything may happen: as plan_search(). *want and
 * *who describe the same job in all steps. */
struct decide_search;
struct decide_search *decide_search_new(void);
void decide_search_free(struct decide_search *ds); /* NULL is fine */
enum plan_step decide_search(struct decide_search *ds, const struct sched_view *view,
        const struct candidate *who, struct plan_want *want, size_t *work,
        struct reservation *best);

#endif
