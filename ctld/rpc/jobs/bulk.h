/* bulk.h - many jobs, all accepted or none
 *
 * Parts of a bulk come as Submits, each checked by the workers like any other. They wait here,
 * with the peer that sent them, until SubmitBulk gives the total number of jobs. Then the bulk
 * enters a queue, and the first one goes through the core in steps (core/intake/bulk.h), a slice a
 * tick: other events are processed in between. The answer follows when the last job is in its
 * class.
 *
 * Until all jobs have passed the checks nothing is durable, and a bulk is dropped with its
 * session; from then on it continues without it. A client that loses the connection sends the bulk
 * again, and waits in the queue behind what it sent before; since each job has its nonce, the
 * reply has the previous ids.
 *
 * A session has one bulk at a time; the memory of the parts is charged to the user
 * (core/records/per_user_budget.h).
 */
#ifndef CTLD_RPC_BULK_H
#define CTLD_RPC_BULK_H

#include <stddef.h>

#include "common/job/run.h"

struct bulks;
struct ctld;
struct effect;
struct peer;
struct submit;

/* What the jobs of one step weigh (bulk_weight()). */
#define BULK_SLICE 256

struct bulks *bulks_new(struct ctld *c);
void bulks_free(struct bulks *all); /* NULL is fine */

/* Take over a part that was checked, and answer it. */
void bulk_stage(struct ctld *c, struct peer *peer, struct submit *part);

/* Forgets the unfinished bulk of a peer. */
void bulk_drop(struct ctld *c, struct peer *peer);

/* EFFECT_BULK */
void bulk_stepped(struct ctld *c, const struct effect *effect, struct clocks now);

#endif
