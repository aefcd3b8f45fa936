/* relay.h - the network half's part in streams: between the controller and gtap
 *
 * A stream comes as MSG_STREAM_OPEN from the controller. The greeting goes to the launcher, which
 * answers with an error or with one end of a socket pair, whose other end is gtap's (lstream.c).
 * From then on bytes are copied both ways, as they are: what they mean is between the client and
 * gtap, who alone have the keys.
 *
 * Bounds: of what comes from the controller a stream holds at most STREAM_WINDOW bytes, and one
 * that sends more is closed; of what comes from gtap RELAY_INPUT_MAX, no more is read while there
 * is no credit or the link is full. Neither waits for anything: a slow end holds up its own stream.
 * At most RELAY_STREAMS_MAX at a time. With the connection to the controller all streams end; gtap
 * sees the end of its socket.
 */
#ifndef NODED_RELAY_H
#define NODED_RELAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <protobuf-c/protobuf-c.h>

#include "common/error.h"

#define RELAY_STREAMS_MAX 1024
#define RELAY_INPUT_MAX   (64 * 1024)

struct event_base;
struct relay;

struct relay_ops {
	/* To the controller; may it take more now? relay_room() when it may again. */
	void (*send)(void *arg, unsigned type, const ProtobufCMessage *message);
	bool (*full)(void *arg);
	/* To the launcher: MSG_LAUNCHER_STREAM. */
	void (*ask)(void *arg, unsigned type, const ProtobufCMessage *message);
};

struct relay *relay_new(struct event_base *base, const struct relay_ops *ops, void *arg);
void relay_free(struct relay *r); /* NULL is fine */

/* MSG_STREAM_* from the controller. */
void relay_message(struct relay *r, unsigned type, const ProtobufCMessage *message);

/* The launcher's answers. `fd` is taken over, also of a stream that has ended meanwhile. */
void relay_granted(struct relay *r, uint64_t stream, int fd);
void relay_refused(struct relay *r, uint64_t stream, const struct error *why);

void relay_room(struct relay *r); /* the link takes more */
void relay_lost(struct relay *r); /* it is gone: so are all streams */

size_t relay_count(const struct relay *r);

#endif
