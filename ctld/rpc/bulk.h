/* bulk.h - many jobs, all accepted or none
 *
 * Parts of a bulk come as Submits, each checked by the workers like any other. They wait here, with
 * the peer that sent them, until SubmitBulk says how many jobs there are in all. Then one event
 * tells the core, which takes all or none, in one commit. Nothing of a bulk outlives its session or
 * is durable before; whoever loses the connection begins again, and since each job has its nonce, a
 * bulk that was accepted all the same is answered with the ids of then.
 *
 * A session has one bulk at a time, and a user BULK_BYTES_MAX of them.
 */
#ifndef CTLD_RPC_BULK_H
#define CTLD_RPC_BULK_H

#include <stddef.h>

struct ctld;
struct peer;
struct submit;

#define BULK_BYTES_MAX ((size_t)512 << 20) /* frames of parts, of one user; twice that in memory \
	                                    */

/* Take over a part that was checked, and answer it. */
void bulk_stage(struct ctld *c, struct peer *peer, struct submit *part);

/* Forget what there is of one. */
void bulk_drop(struct ctld *c, struct peer *peer);

#endif
