/* nodes_within_limits.h - as many of a job's nodes as the limits allow
 *
 * A job that asks for a range of nodes (--nodes=2-8) may have places on more of them than a limit
 * allows. It is cut down to what the limit allows, without the nodes that take most of what is
 * limited.
 */
#ifndef CTLD_CORE_NODES_WITHIN_LIMITS_H
#define CTLD_CORE_NODES_WITHIN_LIMITS_H

#include "ctld/core/plan/candidate.h"
#include "ctld/core/sched/decision.h"

/* Do the limits allow these places? There may be more places than needed: of a range of nodes as
 * many are kept as the limits allow, leaving out those that take most of what is short. For whole
 * nodes, others can be searched with nodes_exclude_unfit(). */
bool nodes_within_limits(const struct sched_view *view, const struct candidate *who,
        struct places *places, struct decision *d);
/* How many of the places, counted from the first, do the limits allow? 0: fewer than the job
 * needs. */
size_t first_nodes_within_limits(const struct sched_view *view, const struct candidate *who,
        struct places places, struct decision *d);

/* Exclude from further searches the one of these whole nodes that takes most of what is short at
 * the limit. So where one thing is limited, the nodes with the least of it are found in the end.
 * False: there is nothing else to find. */
#define MAX_UNFIT 16
struct unfit_nodes {
	struct place v[MAX_UNFIT];
	size_t n;
};
bool nodes_exclude_unfit(const struct sched_view *view, const struct candidate *who,
        const struct limit_block *limit, const struct places *places, struct unfit_nodes *unfit,
        struct find *find);

#endif
