/* protocol.h - messages from and to the network half (launcher.h lists them) */
#ifndef NODED_LAUNCHER_PROTOCOL_H
#define NODED_LAUNCHER_PROTOCOL_H

#include <protobuf-c/protobuf-c.h>

struct launcher;
struct protocol;

/* `sock`: the socket to the network half, taken over. Nothing is read before protocol_begin(). */
struct protocol *protocol_new(struct launcher *l, int sock);
void protocol_free(struct protocol *p); /* NULL is fine */
void protocol_begin(struct protocol *p);

/* Send a message of this type (enum of gpusched.proto). Errors are logged. */
void protocol_send(struct launcher *l, unsigned type, const ProtobufCMessage *m);
/* The launcher's first message, once: what it is, its GPUs and its runs. */
void protocol_hello(struct launcher *l);

#endif
