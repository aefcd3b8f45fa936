/* acct.h - walks over all jobs there are and were, each exactly once
 *
 * A job goes one way: it is in the core, then on its way to history (in state.db, and nowhere to be
 * looked at), then in history.db. A walk follows it:
 *
 *	1. the jobs of the core in order of id, a slice a tick; ids that were given are kept
 *	2. it waits until the change of that moment is committed, and until what had ended by then
 *	   has arrived in history.db (store_flush())
 *	3. the jobs of history.db, in slices, by a thread of its own with a connection of its own;
 *	   without those that were given in 1
 *
 * What leaves the core while the walk is under way is in history by 3, and what was given in 1 is
 * not given again. All runs of a job leave the core together with it.
 *
 * A walk over events may follow them: when it is through it waits until there are new ones, then
 *takes 2 and 3 again, behind the number that it came to. So each event is told once, in order, also
 *to who comes again with that number after a break; and nobody looks in vain.
 *
 * Walks wait for each other at 3 only for a slice at a time, user by user; a user has few at once.
 * If what has ended cannot be moved to history the walk goes on with what is there, and its end
 * says so.
 */
#ifndef CTLD_RPC_ACCT_H
#define CTLD_RPC_ACCT_H

#include "ctld/calls.h"
#include "ctld/rpc/acct_take.h"
#include "ctld/rpc/rpc.h"

struct acct;

struct acct *acct_new(struct ctld *c, struct error *err);
void acct_free(struct acct *a); /* before the store is closed; NULL is fine */

/* A tick is over: walks may go on whose change has been committed. */
void acct_look(struct acct *a);

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

/* The same of events: 2 and 3 alone, since none is kept in the core. `follow`: then what comes.
 * `sight`: only if it has the job that they are asked of; taken over, NULL: whoever's it is. Copies
 * `events`. */
void acct_walk_events(struct ctld *c, const struct rpc *rpc, const struct past_events *events,
        bool follow, struct sight *sight, const struct acct_taker *taker, void *data);

/* Something else with history.db, once it has what had ended by now: 2, then taker->work() until it
 * is done, a slice at a time. ERR_BUSY: that taker has one under way. */
void acct_work(struct ctld *c, const struct rpc *rpc, const struct acct_taker *taker, void *data);

/* Whose jobs the caller may be told of, for acct_query_new(). */
struct sight *acct_sight(struct ctld *c, const struct peer *peer);

#endif
