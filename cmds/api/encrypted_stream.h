/* encrypted_stream.h - a client's end of a stream to a run, over the connection to the controller
 *
 * Uses a `struct dial` on which other requests may be under way: frames come from dial_recv(), and
 * those of the stream are given to stream_take(); its messages (channel.h) then come from
 * stream_next(). Bytes that were taken are credited to the other end, so a slow reader delays the
 * run's side and nothing else. Nothing here blocks or waits.
 */
#ifndef CMDS_ENCRYPTED_STREAM_H
#define CMDS_ENCRYPTED_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cmds/api/client.h"
#include "common/job/run.h"
#include "common/net/channel.h"
#include "common/net/frame.h"

struct stream;

struct stream_to {
	struct run_id run;
	const char *node; /* on which it is, or was */
};

/* Greet the run's side: needs munge, not an answer. At most 64 are open on one connection. NULL
 * with `err`. `d` is borrowed. */
struct stream *stream_open(
        struct client *c, struct dial *d, const struct stream_to *to, struct error *err);
void stream_free(struct stream *s); /* without a word to the other side; NULL is fine */

/* Process a frame from the connection. 1: it was the stream's; 0: it belongs to another request;
 * -1: the stream is dead: refused, broken, or closed before CHANNEL_END. */
int stream_take(struct stream *s, const struct frame *f, struct error *err);

/* The next message: 1; 0: none is there; -1: the stream is dead. */
int stream_next(struct stream *s, struct channel_message *out, struct error *err);

/* Send a message; before the handshake is done it waits. Only where there is room for it. */
int stream_send(struct stream *s, unsigned kind, const void *data, size_t len, struct error *err);
bool stream_has_room(const struct stream *s);

/* Both sides have greeted each other. */
bool stream_is_open(const struct stream *s);

#endif
