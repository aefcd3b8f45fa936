/* bridge.h - the network half's end of the socket pair to the launcher
 *
 * Frames in the clear (launcher.h says which). Nothing blocks. What comes from the launcher is
 * decoded with the limits of messages from the network, though it is trusted more than we are.
 */
#ifndef NODED_BRIDGE_H
#define NODED_BRIDGE_H

#include <stddef.h>
#include <stdint.h>

#include <protobuf-c/protobuf-c.h>

#include "common/error.h"

#define BRIDGE_QUEUE_MAX (256u << 20) /* bytes that a stalled launcher may leave unread */

struct event_base;
struct bridge;

struct bridge_ops {
	/* LauncherHello or RunReport; good until return. -1: give the launcher up. */
	int (*message)(
	        void *arg, unsigned type, const ProtobufCMessage *message, struct error *err);
	/* The answer to bridge_ask_credential(): the credential, or NULL and why not. */
	void (*credential)(void *arg, uint64_t id, const char *credential, const struct error *err);
	/* It has ended, or makes no sense. Nothing comes any more; free the bridge when it suits.
	 */
	void (*gone)(void *arg, const struct error *why);
};

/* Takes `fd` over. */
struct bridge *bridge_new(struct event_base *base, int fd, const struct bridge_ops *ops, void *arg);
void bridge_free(struct bridge *bridge); /* closes the pair: the launcher ends. NULL is fine */

void bridge_send(struct bridge *bridge, unsigned type, const ProtobufCMessage *message);

/* `payload` is a secret; it is copied, and the copy wiped when it has been sent. */
void bridge_ask_credential(
        struct bridge *bridge, uint64_t id, const void *payload, size_t len, uint32_t restrict_uid);

#endif
