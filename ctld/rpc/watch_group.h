/* watch_group.h - watchers who want the same are told the same bytes
 *
 * Who asks with the same filter, and may see the same, is in one group. What a group is told of a
 * stretch of changes (watch.h) is worked out and packed for the first of its watchers, and kept for
 * the others as long as the round lasts: the latest few chunks, since all of them go on at one
 * pace.
 */
#ifndef CTLD_RPC_WATCH_GROUP_H
#define CTLD_RPC_WATCH_GROUP_H

#include <stddef.h>
#include <stdint.h>

#include "common/gpusched.pb-c.h"
#include "common/run.h"

struct ctld;
struct filter;
struct rpc;
struct watch_group;

/* Join, or make, the group of who asks with `m`, whose filter is `filter` (taken over). */
struct watch_group *watch_group_join(
        struct ctld *c, const struct rpc *rpc, const Gpusched__JobFilter *m, struct filter *filter);
void watch_group_leave(struct watch_group *g);

/* A packed JobChunk: what has changed between two cursors. */
struct told {
	uint64_t from, to;
	size_t n_jobs; /* 0: nothing that fits; nobody has to be told */
	uint8_t *body;
	size_t len;
};

/* What is told of the changes of this round behind `from`, as much as fits one chunk. Borrowed
 * until the next call. */
const struct told *watch_group_tell(
        struct ctld *c, struct watch_group *g, uint64_t from, struct clocks now);

#endif
