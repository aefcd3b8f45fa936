/* soonest.h - nodes in the order of a time, to look at the first few of thousands
 *
 * A tournament tree over the nodes of a set. Each node has a time (the earliest at which so many of
 * its GPUs are free), which can be changed in O(log n). A walk yields nodes by time, the first ones
 * in O(log n) each; nodes with equal times come in the order of members.
 *
 * Times may be set during a walk. It shows each member at most once: a member that has become later
 * in its new place, one that has become earlier in its old place. A member that was NEVER when the
 * walk passed its place is not shown.
 */
#ifndef CTLD_CORE_SOONEST_H
#define CTLD_CORE_SOONEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/job/run.h"

#define SOONEST_NEVER INT64_MAX

struct soonest;

struct soonest *soonest_new(size_t members); /* all NEVER */
void soonest_free(struct soonest *s);        /* NULL is fine */
void soonest_set(struct soonest *s, size_t member, usec_t when);

/* The front of a walk: a heap of subtrees. { 0 } at first. */
struct soonest_walk {
	struct subtree *front; /* owned */
	size_t n, size;
};

/* Begin again; then the next member and its time. False: there are no more (members that are NEVER
 * are not shown). */
void soonest_start(const struct soonest *s, struct soonest_walk *w);
bool soonest_next(const struct soonest *s, struct soonest_walk *w, size_t *member, usec_t *when);
void soonest_walk_free(struct soonest_walk *w);

#endif
