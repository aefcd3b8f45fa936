/* acct_walk.h - walks over all present and past jobs, each exactly once
 *
 * A job goes one way: it is in the core, then on its way to history (in state.db, where walks
 * cannot see it), then in history.db. A walk follows it:
 *
 *	1. the jobs of the core in order of id, a slice a tick; the ids that were visited are kept
 *	2. it waits until the change of that moment is committed, and until what had ended by then
 *	   has arrived in history.db (store_flush())
 *	3. the jobs of history.db, in slices, by a thread of its own with a connection of its own;
 *	   without those that were visited in 1
 *
 * A job that leaves the core while the walk is under way is in history by 3, and a job visited in
 * 1 is not visited again. All runs of a job leave the core together with it.
 *
 * A walk over events may follow them: at its end it waits until there are new ones, and repeats 2
 * and 3 after the number that it has reached. So each event is sent once, in order, also to a
 * client that continues from that number after a break; and no walk searches without new events.
 *
 * Walks wait for each other at 3 only for a slice at a time, user by user; a user has few at once.
 * If ended jobs cannot be moved to history, the walk continues with what is there, and its end
 * says so.
 */
#ifndef CTLD_RPC_ACCT_WALK_H
#define CTLD_RPC_ACCT_WALK_H

#include "ctld/loop/calls.h"
#include "ctld/rpc/acct/acct_answers.h"
#include "ctld/rpc/rpc.h"

struct acct;

struct acct *acct_new(struct ctld *c, struct error *err);
void acct_free(struct acct *a); /* before the store is closed; NULL is fine */

/* A tick is over: walks whose change has been committed may continue. */
void acct_tick(struct acct *a);

struct acct_stats {
	uint64_t walks, jobs; /* begun; given */
	unsigned open;
};
void acct_stats(const struct acct *a, struct acct_stats *out);

#define ACCT_WALKS_MAX  4   /* of a user at a time */
#define ACCT_FOLLOW_MAX 8   /* besides, that follow events */
#define ACCT_FOLLOW_MS  200 /* new events are told together, so often at most */

/* Begin a walk, and answer `rpc` at its end. Takes query and data over. */
void acct_walk(struct ctld *c, const struct rpc *rpc, struct acct_query *query,
        const struct acct_taker *taker, void *data);

/* The same for events: only 2 and 3, because the core keeps none. `follow`: continue with new
 * ones. `visibility`: only events of a job that it includes, if one is named; taken over, NULL: of
 * any user's job. Copies `events`. */
void acct_walk_events(struct ctld *c, const struct rpc *rpc, const struct past_events *events,
        bool follow, struct visibility *visibility, const struct acct_taker *taker, void *data);

/* Something else with history.db, once it has what had ended by now: 2, then taker->work() until it
 * is done, a slice at a time. ERR_BUSY: that taker has one under way. */
void acct_work(struct ctld *c, const struct rpc *rpc, const struct acct_taker *taker, void *data);

/* The jobs that the caller may see, for acct_query_new(). */
struct visibility *acct_visibility(struct ctld *c, const struct peer *peer);

#endif
