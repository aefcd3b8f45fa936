/* watch_group.h - watchers with the same request get the same bytes
 *
 * Watchers with the same filter and the same visibility are in one group. The message for a stretch
 * of changes (watch.h) is computed and packed for the first watcher of the group, and kept for the
 * others as long as the round lasts: only the latest few chunks, since all of them advance at one
 * pace.
 */
#ifndef CTLD_RPC_WATCH_GROUP_H
#define CTLD_RPC_WATCH_GROUP_H

#include <stddef.h>
#include <stdint.h>

#include "common/gpusched.pb-c.h"
#include "common/job/run.h"

struct ctld;
struct filter;
struct rpc;
struct watch_group;

/* Join, or make, the group of a caller that requests `m`, with its filter `filter` (taken over). */
struct watch_group *watch_group_join(
        struct ctld *c, const struct rpc *rpc, const Gpusched__JobFilter *m, struct filter *filter);
void watch_group_leave(struct watch_group *g);

/* A packed JobChunk: what has changed between two cursors. */
struct watch_message {
	uint64_t from, to;
	size_t n_jobs; /* 0: no job fits, and no message is sent */
	uint8_t *body;
	size_t len;
};

/* The message about the changes of this round after `from`, as many as fit one chunk. Borrowed
 * until the next call. */
const struct watch_message *watch_group_report(
        struct ctld *c, struct watch_group *g, uint64_t from, struct clocks now);

#endif
