/* peers.h - the connected clients and agents, and fairness between them
 *
 * The controller's side of common/net/session.h. A peer exists from opened() until the tick has
 * processed its end; it is identified by its session's number. What it sends waits for its user's
 * turn (fair_queue.h). A peer with much waiting or in the works is not read from until that is done
 * (back pressure), so a client that sends request after request is slowed down, not refused.
 *
 * Everything that leaves goes through peers_send(), and the gate keeps it until the state that it
 * reports is on disk. An answer that cannot be sent (wire/answer_frame.h) ends with an error in its
 * Reply.
 */
#ifndef CTLD_PEERS_H
#define CTLD_PEERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <protobuf-c/protobuf-c.h>

#include "common/base/error.h"
#include "common/job/run.h"
#include "common/net/session.h"
#include "ctld/loop/peer.h"

struct ctld;
struct peers;

/* What the parts above have to do with peers. */
struct peers_hooks {
	/* A frame of a peer, in a tick. */
	void (*frame)(struct ctld *c, struct peer *peer, unsigned type, uint64_t id,
	        const uint8_t *body, size_t len, struct clocks now);
	/* An agent's session has ended. */
	void (*agent_gone)(struct ctld *c, const struct peer *peer, struct clocks now);
	/* A peer is about to be freed: nothing may refer to it any more. */
	void (*drop)(struct ctld *c, struct peer *peer, struct clocks now);
	/* Answers have left: requests that wait for space in the output continue. */
	void (*sent)(struct ctld *c);
};

struct peers *peers_new(struct ctld *c, const struct peers_hooks *hooks);
void peers_free(struct peers *p); /* after the sessions; NULL is fine */

/* For session_config.ops, with the ctld as arg. */
extern const struct session_ops peers_ops;

struct peer *peers_find(struct peers *p, uint64_t session); /* NULL: it is gone */
void peers_each_agent(struct peers *p, void (*fn)(struct ctld *c, struct peer *peer));

/* Some more (or less) of it is being worked on. */
void peer_add_work(struct ctld *c, struct peer *peer, ptrdiff_t frames, ptrdiff_t bytes);

/* A refusal that tells nothing of the state, and waits for no commit. */
void peers_reply_at_once(
        struct ctld *c, struct peer *peer, uint64_t id, const struct error *err);
/* Queue a message; it leaves when the present state is on disk. -1: it is too large, and the Reply
 * with that id will be ERR_ANSWER_SIZE, whatever it would be. For callers that send no Reply
 * themselves. */
int peers_send(
        struct ctld *c, uint64_t session, unsigned type, uint64_t id, const ProtobufCMessage *m);

/* The Reply that ends an answer; `err` NULL or ERR_NONE: done. */
void peers_reply(struct ctld *c, uint64_t session, uint64_t id, const struct error *err);

/* The request succeeded; `warning` is a line for the caller; NULL: no warning. */
void peers_reply_done(struct ctld *c, uint64_t session, uint64_t id, const char *warning);

/* The same of a message that is packed already; copied. */
int peers_send_packed(struct ctld *c, uint64_t session, unsigned type, uint64_t id,
        const uint8_t *body, size_t len);

/* May more be produced for it now? */
bool peer_has_space(struct ctld *c, const struct peer *peer);

/* Is it to be read from? Look again. */
void peer_update_pause(struct ctld *c, struct peer *peer);

/* End a session that broke the rules, and say so in the log. */
void peer_expel(struct ctld *c, struct peer *peer, const struct error *why);
/* End one that did nothing wrong. */
void peer_end(struct ctld *c, struct peer *peer, const struct error *why);

/* For commit_gate_new(). */
void peers_commit_gate_send(void *arg, uint64_t session, const uint8_t *frames, size_t len);

/* For users_new(): the name behind a session is known. */
void peers_user_known(void *arg, uint64_t session);

#endif
