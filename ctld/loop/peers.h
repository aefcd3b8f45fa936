/* peers.h - the connected clients and agents, and fairness between them
 *
 * The controller's side of common/net/session.h. A peer exists from opened() until the tick has
 * processed its end; it is identified by its session's number. What it sends waits for its user's
 * turn (fair_queue.h). A peer with much waiting or in the works is not read from until that is done
 * (back pressure), so a client that sends request after request is slowed down, not refused.
 *
 * Everything that leaves goes through peers_send(), and the gate keeps it until the state that it
 * reports is on disk. An answer that cannot be sent (rpc/answer.h) ends with an error in its
 * Reply.
 */
#ifndef CTLD_PEERS_H
#define CTLD_PEERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/types.h>

#include <protobuf-c/protobuf-c.h>

#include "common/base/error.h"
#include "common/job/run.h"
#include "common/net/session.h"

struct ctld;
struct peers;
struct call;
struct submit;
struct bulk;
struct stream;
struct unsent;
struct user_sessions;

#define PEER_WORK_MAX       128         /* frames waiting and submits in the works */
#define PEER_WORK_BYTES_MAX (8 << 20)   /* of them */
#define PEER_HELD_MAX       (512 << 10) /* bytes of answers not sent: slices of listings wait */
#define PEER_CALLS_MAX      1024        /* open at a time: waits and listings */

struct peer {
	uint64_t session;
	uid_t uid;
	bool agent, root; /* root: or the controller's user */
	char address[SESSION_ADDRESS_LEN];
	/* agents */
	char *node_name;
	uint32_t node; /* index into conf.nodes; UINT32_MAX: the configuration has it no longer */
	bool registered;
	bool takes_settings;
	uint64_t settings; /* hash of those that it was told */
	/* bookkeeping; what is charged to its user: core/budget.h */
	bool closed, paused;
	struct user_sessions *user; /* user_peers.h; NULL: an agent, or closed */
	TAILQ_ENTRY(peer) of_user;
	size_t work, work_bytes; /* taken from it and not yet done with */
	size_t input;            /* bytes of a frame in the making */
	size_t held;             /* bytes of answers at the gate */
	size_t unread;           /* of those, and of what was sent and not taken yet: charged */
	usec_t taken;            /* mono: when it last took some */
	unsigned n_calls;
	LIST_HEAD(, call) calls;
	LIST_HEAD(, stream) streams; /* that begin or end here (rpc/stream.c) */
	unsigned n_streams;
	STAILQ_HEAD(, submit) submits; /* with the workers, in order of arrival (rpc/submit.c) */
	struct bulk *bulk;             /* parts that wait for the rest (rpc/bulk.h); NULL: none */
	SLIST_HEAD(, unsent) unsent;   /* answers that were not sent whole, until their Reply */
	bool script_asked;             /* of the store (rpc/show_script.c, rpc/resign.c) */
};

struct peers *peers_new(struct ctld *c);
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
bool peer_has_room(struct ctld *c, const struct peer *peer);

/* Is it to be read from? Look again. */
void peer_look_pause(struct ctld *c, struct peer *peer);

/* Answers have left: requests that wait for space in the output continue. */
void peers_output_moved(struct peers *p);

/* End a session that broke the rules, and say so in the log. */
void peer_expel(struct ctld *c, struct peer *peer, const struct error *why);
/* End one that did nothing wrong. */
void peer_end(struct ctld *c, struct peer *peer, const struct error *why);

/* For commit_gate_new(). */
void peers_commit_gate_send(void *arg, uint64_t session, const uint8_t *frames, size_t len);

/* For users_new(): the name behind a session is known. */
void peers_user_known(void *arg, uint64_t session);

#endif
