/* calls.h - what has been asked and not yet been answered
 *
 * A request that is not answered at once has a number, which goes into the core as caller.reply and
 * comes back with effects. It ends with call_done(), or with its peer.
 *
 * A long answer is made in slices, one at a turn of its user (fair_queue.h): call_go_on() asks for
 * the next one as soon as the peer has room for it.
 */
#ifndef CTLD_CALLS_H
#define CTLD_CALLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "common/base/error.h"
#include "common/job/run.h"
#include "ctld/core/rows/event.h"

struct ctld;
struct peer;
struct calls;
struct call;

struct call_ops {
	/* The core has answered; valid for the call. NULL: it is ended with the error in it. */
	void (*effect)(struct ctld *c, struct call *call, const struct effect *effect);
	/* The next slice; may end the request. NULL: it has none. */
	void (*slice)(struct ctld *c, struct call *call, struct clocks now);
	/* The peer has gone; before free(). May be NULL. */
	void (*gone)(struct ctld *c, struct call *call, struct clocks now);
	void (*free)(void *data); /* may be NULL */
	/* Bytes that it holds, roughly, for as long as it is open: a wait stays for days. NULL: next
	 * to none. */
	size_t (*size)(const void *data);
};

struct call {
	uint64_t number;
	uint64_t session, id;
	const struct call_ops *ops;
	void *data; /* owned, by ops->free */
	/* calls.c's own */
	struct peer *peer;
	LIST_ENTRY(call) of_peer;
	TAILQ_ENTRY(call) stalled_next;
	size_t size;
	bool stalled, posted;
};

struct calls *calls_new(void);
void calls_free(struct calls *r); /* after peers; NULL is fine */

/* Takes `data` over. NULL when the peer has too many open, or its user's hold too much
 * (per_user_budget.h): it was answered ERR_BUSY, data freed. */
struct call *call_new(
        struct ctld *c, struct peer *peer, uint64_t id, const struct call_ops *ops, void *data);
struct call *call_find(struct ctld *c, uint64_t number); /* NULL: it has ended */

/* A reply of the core, to the request if its client still waits for it. */
void calls_answer(struct ctld *c, const struct effect *effect, struct clocks now);

/* The caller, for events. Borrowed from the peer, for the call. */
struct caller call_caller(struct ctld *c, const struct call *call);
struct caller peer_caller(struct ctld *c, const struct peer *peer);

/* A web user's session looks as another user (MSG_LOOK_AS): the caller is that user. This is the
 * session's own user. */
struct caller peer_caller_itself(struct ctld *c, const struct peer *peer);

/* Send the Reply and forget it. */
void call_done(struct ctld *c, struct call *call, const struct error *err);

/* The same for a success, with a warning for the caller; NULL: no warning. */
void call_done_but(struct ctld *c, struct call *call, const char *warning);

/* A slice is over: there is more to do, or that was all (call_done() with `err`). */
void call_continue(struct ctld *c, struct call *call, bool more, const struct error *err);

/* Ask for slice() at a turn to come, when there is room. */
void call_go_on(struct ctld *c, struct call *call);
/* The same at once. */
void call_slice_now(struct ctld *c, struct call *call);
void calls_output_sent(struct ctld *c); /* for peers_hooks.sent */

/* All requests of a peer that has gone. */
void calls_drop(struct ctld *c, struct peer *peer, struct clocks now);

size_t calls_count(const struct calls *r);

#endif
