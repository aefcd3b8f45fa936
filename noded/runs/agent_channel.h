/* agent_channel.h - the socket to the network half; launcher.h lists the messages */
#ifndef NODED_AGENT_CHANNEL_H
#define NODED_AGENT_CHANNEL_H

#include <protobuf-c/protobuf-c.h>

#include "common/base/error.h"

/* Length of a datagram that carries the log's descriptor; a stream's number is longer. */
#define LAUNCHER_LOG_LEN 1

struct agent_channel;
struct frame;
struct launcher;

/* Handles a message of the network half. -1 with ERR_PROTOCOL: it cannot be decoded, and the
 * launcher ends; with another error: it makes no sense, and is logged and ignored. */
typedef int agent_channel_fn(struct launcher *l, const struct frame *f, struct error *err);

/* `sock` is taken over. Nothing is read before agent_channel_begin(). */
struct agent_channel *agent_channel_new(struct launcher *l, int sock, agent_channel_fn *fn);
void agent_channel_free(struct agent_channel *c); /* NULL is fine */
void agent_channel_begin(struct agent_channel *c);

/* Send a message of this type (enum of gpusched.proto). Errors are logged. */
void agent_send(struct launcher *l, unsigned type, const ProtobufCMessage *m);

#endif
