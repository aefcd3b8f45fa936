/* dial.h - a blocking connection to the controller, for commands and the C API
 *
 * No event loop and no threads: a command connects, asks and ends, and pays for nothing else. All
 * waiting is poll(2) with a deadline. Requests can be pipelined: dial_send() only queues, answers
 * are read whenever there is something to wait for, so neither side can block the other.
 *
 * Errors say what a user can do: ERR_UNREACHABLE with host:port, ERR_MUNGE_DOWN, ERR_MUNGE_KEY,
 * ERR_MUNGE_CLOCK, ERR_CLUSTER, ERR_VERSION, ERR_BUSY, ERR_AUTH, ERR_TIMEOUT, ERR_PROTOCOL; after
 * any of these the connection is only good for dial_close(). error_exit_status() is
 * EXIT_NO_CONTROLLER for nearly all of them.
 */
#ifndef COMMON_DIAL_H
#define COMMON_DIAL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/base/arena.h"
#include "common/base/error.h"
#include "common/net/frame.h"
#include "common/net/msg.h"
#include "common/net/munge.h"

struct dial;

struct dial_to {
	const char *host; /* name or numeric address */
	unsigned port;
	const char *cluster;
	uid_t server_uid;              /* the controller's user */
	const char *node;              /* NULL: as a user */
	const struct mcred_ops *mcred; /* borrowed */
	int timeout_ms;                /* for connection and handshake together; 0: 10000 */
};

/* Connect and shake hands. NULL with `err`. */
struct dial *dial_open(const struct dial_to *to, struct error *err);

void dial_close(struct dial *d); /* NULL is fine; closes at once */

/* The received data is for the reader of `fd`; -1: for no particular reader. If a wait finds that
 * the reading end of `fd` is closed, the process gets SIGPIPE, as its next write there would
 * cause. */
void dial_for_reader(struct dial *d, int fd);

/* Queue a request; the returned id (never 0) comes back with its answers. 0 with `err`. */
uint64_t dial_send(struct dial *d, unsigned type, const ProtobufCMessage *m, struct error *err);

/* The same for a frame packed earlier; `id` is the caller's. */
int dial_send_bytes(struct dial *d, const void *frames, size_t len, struct error *err);

/* Send what is queued (also while answers come in). timeout_ms < 0: no limit. */
int dial_flush(struct dial *d, int timeout_ms, struct error *err);

/* Send what is queued and wait for the next frame, whatever it answers. 1: *out, good until the
 * next call; 0: nothing came in time; -1: `err`, among them ERR_UNREACHABLE when the controller
 * closed the connection. */
int dial_recv(struct dial *d, struct frame *out, int timeout_ms, struct error *err);

/* One request from beginning to end: send, hand each chunk (decoded; it is gone when on_chunk
 * returns) to on_chunk, and return when the Reply is there: 0, or -1 with the Reply's error.
 * on_chunk may be NULL; if it returns -1 the connection is done with. Only for connections
 * without other requests in flight. The limit is for the silence between two frames. */
struct dial_call {
	unsigned type;
	const ProtobufCMessage *request;
	int (*on_chunk)(unsigned type, const ProtobufCMessage *m, void *arg, struct error *err);
	void *arg;
	int timeout_ms; /* < 0: none; 0: 30000 */
	/* Done, but: the warning of a Reply that has one. May be NULL. */
	void (*on_warning)(const char *text, void *arg);
};
int dial_call(struct dial *d, const struct dial_call *call, struct error *err);

/* A Reply as an error: 0 if its code is 0. */
int dial_reply_error(const Gpusched__Reply *reply, struct error *err);

/* Is there something that the network has not taken yet? Then writable means dial_recv() too. */
bool dial_is_sending(const struct dial *d);

int dial_fd(const struct dial *d); /* to poll together with others; readable means dial_recv() */

/* May the same be tried again: is it a failure that passes by itself (busy, unreachable, timeout)?
 * Whether a repeat is safe is the caller's to know (a submit with its nonce is). */
bool dial_may_retry(const struct error *err);

#endif
