/* stream_relay.h - the network half's part in streams: between the controller and gtap
 *
 * A stream begins with MSG_STREAM_OPEN from the controller. Its greeting goes to the launcher,
 * which answers with an error or with one end of a socket pair; gtap has the other end
 * (stream_grants.c). From then on bytes are copied both ways, unchanged: only the client and gtap
 * have the keys to read them.
 *
 * Bounds: from the controller a stream buffers at most STREAM_WINDOW bytes, and a stream that sends
 * more is closed; from gtap it buffers RELAY_INPUT_MAX, and reads no more while there is no credit
 * or the link is full. No stream waits for another: a slow end delays its own stream only. At most
 * RELAY_STREAMS_MAX are open at a time. When the connection to the controller is lost all streams
 * end; gtap sees the end of its socket.
 */
#ifndef NODED_STREAM_RELAY_H
#define NODED_STREAM_RELAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <protobuf-c/protobuf-c.h>

#include "common/base/error.h"

#define RELAY_STREAMS_MAX 1024
#define RELAY_INPUT_MAX   (64 * 1024)

struct event_base;
struct relay;

struct relay_ops {
	/* To the controller; `full`: must it wait? relay_room() says when there is room again. */
	void (*send)(void *arg, unsigned type, const ProtobufCMessage *message);
	bool (*full)(void *arg);
	/* To the launcher: MSG_LAUNCHER_STREAM. */
	void (*ask)(void *arg, unsigned type, const ProtobufCMessage *message);
};

struct relay *relay_new(struct event_base *base, const struct relay_ops *ops, void *arg);
void relay_free(struct relay *r); /* NULL is fine */

/* MSG_STREAM_* from the controller. */
void relay_message(struct relay *r, unsigned type, const ProtobufCMessage *message);

/* The launcher's answers. `fd` is taken over, even if the stream has ended meanwhile. */
void relay_granted(struct relay *r, uint64_t stream, int fd);
void relay_refused(struct relay *r, uint64_t stream, const struct error *why);

void relay_room(struct relay *r); /* the link takes more */
void relay_lost(struct relay *r); /* the link is lost, and all streams with it */

size_t relay_count(const struct relay *r);

#endif
