/* session.h - authenticated, encrypted sessions on an event loop
 *
 * A `struct sessions` is one end's set of sessions on one event_base: what it listens for, what it
 * dialled, their limits. It owns its sessions. A session is known to the outside by its number,
 * which is never 0 and never reused: keep the number across events and look the session up again;
 * a pointer is good only within the callback that brought it.
 *
 * Bytes on the wire: hello.h, then frame.h. Everything that can block (munge, X25519, names) runs
 * in a worker pool (worker.h); nothing here blocks the loop. A stalled munge daemon therefore
 * delays handshakes, which then time out, and nothing else.
 *
 * The life of a session:
 *
 *      accept --> HELLO --(worker: munge, keys)--> OPEN --> gone
 *      dial --> NAME --> CONNECT --> CREDENTIAL --> ANSWER --> OPEN --> gone
 *
 * Callbacks: admit() (servers), then opened() once, then frame() for each frame in order, then
 * closed() once, when the other side, a limit or a fault has ended it. A dialled session that never
 * opened gets closed() with the reason too; an accepted one that never opened gets no callback but
 * refused() (for the log). After session_close() by the owner there are no more callbacks at all.
 * Any function may be called from any callback, session_close() included.
 *
 * Limits, all in session_limits: an accepted connection has handshake_ms to be authenticated,
 * however it drips its bytes; at most max_unauth (max_unauth_per_address) may be at it: one more
 * pushes out the oldest that has been silent for silent_ms, since honest ones need milliseconds. If
 * there is none (all wait for munge, say), one more of the same address is refused, one more at all
 * waits in the kernel's queue. The pool's max_queued and max_per_key should be at least these two.
 * The owner limits in admit() how many sessions there may be, and of which peers. A frame must be
 * complete frame_ms after its first byte, and large frames in the making may hold max_input_bytes
 * in total; what each session has of it holds() is told. Replies not yet taken by the peer: above
 * output_high nothing more is read from it until they are below output_low (writable() is then
 * called); above output_max it is closed. queued() hears each time that there are more or fewer.
 */
#ifndef COMMON_SESSION_H
#define COMMON_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/base/error.h"
#include "common/net/frame.h"
#include "common/net/hello.h"
#include "common/net/msg.h"
#include "common/net/munge.h"
#include "common/net/worker.h"

struct event_base;
struct sessions;
struct session;

#define SESSION_ADDRESS_LEN 56 /* "[v6 address]:port" */

/* The other end: as named by munge (accepted), or proved by its answer (dialled: uid is then the
 * one that the credential was restricted to). */
struct session_peer {
	uid_t uid;
	gid_t gid;
	char node[HELLO_NAME_MAX + 1];     /* the node it speaks for; "" for a user */
	char address[SESSION_ADDRESS_LEN]; /* for people and logs */
};

struct session_ops {
	/* Accepted sessions, after authentication, before the answer: may this peer come in? A code
	 * other than 0 refuses; the client sees the code, the log the text. NULL: everyone may. */
	int (*admit)(
	        struct sessions *ss, const struct session_peer *peer, void *arg, struct error *err);
	void (*opened)(struct session *s, void *arg); /* may be NULL */
	/* The body is good until return. Decode it with msg_unpack(). */
	void (*frame)(struct session *s, const struct frame *f, void *arg);
	void (*writable)(struct session *s, void *arg);                        /* may be NULL */
	/* What is queued for the peer, session_queued(), has changed; may be NULL. */
	void (*queued)(struct session *s, void *arg);
	/* A frame in the making holds so many bytes now; not called for its end with the session. A
	 * code other than 0 ends the session. NULL: any number is fine. */
	int (*holds)(struct session *s, size_t bytes, void *arg, struct error *err);
	void (*closed)(struct session *s, const struct error *why, void *arg); /* may be NULL */
	/* A connection was turned away before it was a session; may be NULL. */
	void (*refused)(
	        struct sessions *ss, const char *address, const struct error *why, void *arg);
};

/* 0 in any field: the default beside it. */
struct session_limits {
	unsigned max_unauth;             /* 1024 */
	unsigned max_unauth_per_address; /* 512 */
	unsigned handshake_ms;           /* 10000; dialled: from the connection on */
	unsigned silent_ms;              /* 250: before it may be pushed out */
	unsigned connect_ms;             /* 5000, for each address tried */
	unsigned frame_ms;               /* 30000 */
	unsigned idle_ms;                /* 0: never; nothing at all received for so long */
	unsigned keepalive_s;   /* 30: TCP keepalive; the peer is given up after 3 times it */
	size_t max_input_bytes; /* 256 MiB */
	size_t output_low;      /* 64 KiB */
	size_t output_high;     /* 1 MiB */
	size_t output_max;      /* 64 MiB */
};

struct session_config {
	struct event_base *base; /* borrowed, as are pool and mcred */
	struct worker_pool *pool;
	const struct mcred_ops *mcred; /* servers, and dialling without a credential callback */
	struct session_limits limits;
	const struct session_ops *ops;
	void *arg;
};

/* NULL with ERR_SYSTEM. Copies what it keeps, `ops` excepted. */
struct sessions *sessions_new(const struct session_config *config, struct error *err);
void sessions_free(struct sessions *ss); /* ends all sessions without callbacks; NULL is fine */

/* --- the server side ----------------------------------------------------------------------- */

/* Listen on `address` ("" is all, IPv6 and IPv4; else a numeric address) and `port` (0: any free
 * one). `rules` is copied. May be called for several addresses. -1 with ERR_SYSTEM. */
int sessions_listen(struct sessions *ss, const char *address, unsigned port,
        const struct hello_rules *rules, struct error *err);
unsigned sessions_port(const struct sessions *ss); /* of the last sessions_listen() */

/* Another cluster id, after a reload; sessions that are open stay. */
int sessions_set_rules(struct sessions *ss, const struct hello_rules *rules, struct error *err);

/* Stop (or go on) taking frames from open sessions: too many bytes wait for the disk. Handshakes go
 * on. Frames already read are kept and delivered later. */
void sessions_pause_reading(struct sessions *ss, bool pause);

/* --- the dialling side --------------------------------------------------------------------- */

struct session_to {
	const char *host; /* name or numeric address */
	unsigned port;
	struct hello_to hello;
	uid_t server_uid; /* the credential is restricted to it */
	/* Make a credential of the payload, restricted to server_uid, and hand it over with
	 * session_credential(), now or later. NULL: made by config.mcred in a worker. */
	void (*credential)(
	        struct session *s, const void *payload, size_t len, uid_t server_uid, void *arg);
};

/* Fails at once only with ERR_BUSY or ERR_USAGE (-> 0); else returns the number of the new
 * session, whose opened() or closed() comes later. The caller reconnects by itself (backoff.h). */
uint64_t session_dial(struct sessions *ss, const struct session_to *to, struct error *err);

/* The credential that was asked for; NULL with `err` if there is none. Copied. */
void session_credential(struct session *s, const char *credential, const struct error *err);

/* --- any session --------------------------------------------------------------------------- */

uint64_t session_number(const struct session *s);
struct session *session_find(struct sessions *ss, uint64_t number); /* NULL: it is gone */
const struct session_peer *session_peer(const struct session *s);
bool session_is_open(const struct session *s);
/* The address of our own end, without a port: "10.0.0.7", "fd00::7". "" if it is not known. */
void session_own_address(const struct session *s, char out[SESSION_ADDRESS_LEN]);

/* Something of the owner's to go with the session. Not freed. */
void session_set_data(struct session *s, void *data);
void *session_data(const struct session *s);

/* Queue a message. Never blocks. -1 with ERR_PROTOCOL (too large: our own fault) or ERR_SYSTEM; if
 * the peer takes nothing any more the session ends by itself, later, through closed(). */
int session_send(struct session *s, unsigned type, uint64_t id, const ProtobufCMessage *m,
        struct error *err);

/* Queue whole frames, packed earlier with frame_pack(): the owner can hold packed frames until
 * what they tell is on disk. Nothing is encrypted before it is really sent. */
int session_send_bytes(struct session *s, const void *frames, size_t len, struct error *err);

/* Bytes queued and not yet taken by the kernel; whether that is above output_high. */
size_t session_queued(const struct session *s);
bool session_full(const struct session *s);

/* Stop (or go on) taking frames from this one. */
void session_pause_reading(struct session *s, bool pause);

/* End it at once; closed() is then not called. */
void session_close(struct session *s);

/* --- numbers ------------------------------------------------------------------------------- */
struct session_stats {
	unsigned open, unauth, dialling;
	uint64_t accepted, authenticated, refused, timed_out, pushed_out;
	uint64_t frames_in, frames_out, bytes_in, bytes_out;
	size_t input_held;
};
void sessions_stats(const struct sessions *ss, struct session_stats *out);

/* Call fn for every open session. fn may close the one it is given, no other. */
void sessions_each(struct sessions *ss, void (*fn)(struct session *s, void *arg), void *arg);

#endif
