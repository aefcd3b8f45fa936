/* session_impl.h - inside session*.c: what their four parts share
 *
 * session_set.c    the set, numbers, pausing, the end of sessions
 * session.c        sending and receiving
 * session_accept.c listening, the server's half of the handshake
 * session_dial.c   names, connecting, the client's half
 *
 * States. `job` is the one operation in a worker, if there is one.
 *
 *      accepted:  HELLO    bytes of the greeting come in
 *                 VERIFY   job: munge decode, keys
 *                 CONFIRM  our answer is out, the client's last word comes in
 *      dialled:   NAME     job: the host's addresses
 *                 CONNECT  one address after another
 *                 CRED     job, or the owner: a credential
 *                 KEYS     job: our half of the key exchange
 *                 ANSWER   bytes of the answer come in
 *                 AGREE    job: the other half
 *      both:      OPEN     frames
 *                 FINISH   nothing is delivered any more; what is queued goes out
 *                 LINGER   our end is shut; what comes is thrown away until the peer closes too, so
 *                          that our last bytes are not lost to a reset
 *                 GONE     detached from everything; freed on the next turn of the loop
 */
#ifndef COMMON_SESSION_IMPL_H
#define COMMON_SESSION_IMPL_H

#include <sys/queue.h>
#include <sys/socket.h>

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>

#include "common/base/tally.h"
#include "common/net/session.h"

enum session_state {
	S_HELLO,
	S_VERIFY,
	S_CONFIRM,
	S_NAME,
	S_CONNECT,
	S_CRED,
	S_KEYS,
	S_ANSWER,
	S_AGREE,
	S_OPEN,
	S_LINGER,
	S_GONE,
};

struct dialling; /* session_dial.c */

struct session {
	struct sessions *ss;
	uint64_t number;
	enum session_state state;
	bool dialled;
	TAILQ_ENTRY(session) link; /* of unauth, dialling, open or dead */
	struct session_peer peer;
	void *data;

	struct bufferevent *bev; /* NULL: none yet, or gone */
	struct event *deadline;  /* of the handshake, a frame, or the farewell */
	struct event *work;      /* deliver and send, on this turn of the loop */
	struct worker_job *job;
	struct dialling *dialling; /* owned; until open */
	int64_t since_ms;          /* accepted: when, by the monotonic clock */
	struct tally_row *address; /* accepted, until authenticated */

	struct noise *agreed; /* CONFIRM: to be `noise` */
	struct noise *noise;
	struct frame_reader *reader;
	struct evbuffer *pending; /* frames in the clear, not yet encrypted */
	bool reading;             /* EV_READ is enabled */
	bool paused;              /* by the owner */
	bool full;                /* above output_high, and not yet below output_low */
	bool eof;                 /* nothing more will come */
	bool stalled;             /* on the stalled list: had bytes while all were paused */
	TAILQ_ENTRY(session) stalled_link;
	struct error *doomed; /* to end with this error on the next turn */
	uint64_t frames_seen; /* when the deadline was set */
	uint64_t frames;
	size_t held; /* bytes counted in input_held */
	size_t told; /* what queued() has heard of */
};

TAILQ_HEAD(session_list, session);

struct listener {
	TAILQ_ENTRY(listener) link;
	struct sessions *ss;
	int fd;
	struct event *event;
	struct event *retry;
};

struct sessions {
	struct event_base *base;
	struct worker_pool *pool;
	const struct mcred_ops *mcred;
	const struct session_ops *ops;
	void *arg;
	struct session_limits limits;

	TAILQ_HEAD(, listener) listeners;
	char role[16], cluster[HELLO_NAME_MAX + 1], node[HELLO_NAME_MAX + 1];
	struct hello_rules rules; /* points to the three */
	unsigned port;

	struct session **slots; /* by the low bits of the number */
	uint32_t *free_slots;
	size_t n_slots, n_free;
	uint64_t next_number;

	struct session_list unauth; /* accepted, the oldest first; lingering ones too */
	struct session_list dialling, open, dead, stalled;
	unsigned n_unauth, n_dialling, n_open;
	struct tally addresses; /* of unauthenticated connections */
	bool paused;
	bool full;            /* as many greetings at work as may be: nothing is accepted */
	struct event *reap;   /* free the dead */
	struct event *resume; /* take up the stalled */
	struct session_stats stats;
	uint8_t *plain, *sealed; /* scratch: one Noise message each */
};

/* A session in `state` on its list, without a connection. NULL: out of memory. */
struct session *session_make(struct sessions *ss, bool dialled, enum session_state state);
int session_attach(struct session *s, int fd); /* its bufferevent; fd -1: to be connected */
void session_socket_options(const struct session *s, int fd);

void session_set_deadline(struct session *s, unsigned ms); /* 0: none */
void session_write_wire(struct session *s, const void *bytes, size_t len);

/* The handshake is over; `noise` is taken over. */
void session_open(struct session *s, struct noise *noise);

/* The other side, a limit or a fault ends it: closed() or refused(), then it is gone. */
void session_fail(struct session *s, const struct error *err);

/* Send what is queued, then shut our end and wait a little for the peer's. */
void session_farewell(struct session *s);

/* Take it out of the list and the counts of its state, before the state changes. */
void session_unlist(struct session *s);

/* How much it holds of large frames in the making. */
void session_count_held(struct session *s, size_t held);

/* Take up reading, and what was read already. */
void session_start_reading(struct session *s);

/* Callbacks of the parts. */
void session_on_deadline(evutil_socket_t fd, short what, void *session);
void session_on_work(evutil_socket_t fd, short what, void *session);
void session_accept_read(struct session *s);            /* HELLO to CONFIRM */
void session_accept_timeout(struct session *s);         /* HELLO to CONFIRM */
void session_dial_read(struct session *s);              /* ANSWER */
void session_dial_event(struct session *s, short what); /* CONNECT */
void session_dial_start(struct session *s);             /* NAME, of a numeric address */
void session_dial_timeout(struct session *s);
void session_dialling_free(struct dialling *d);
void session_listener_free(struct listener *l);
void session_accept_again(struct sessions *ss); /* there is room for greetings */

/* "address:port" of a peer. */
void session_format_address(const struct sockaddr *sa, char out[SESSION_ADDRESS_LEN]);

#endif
