/* launcher_socket.h - the network half's end of the socket pair to the launcher
 *
 * Frames travel in the clear (launcher.h lists them). Nothing blocks. Messages from the launcher
 * are decoded with the same limits as messages from the network, although the launcher is trusted
 * more than this process.
 */
#ifndef NODED_LAUNCHER_SOCKET_H
#define NODED_LAUNCHER_SOCKET_H

#include <stddef.h>
#include <stdint.h>

#include <protobuf-c/protobuf-c.h>

#include "common/base/error.h"

#define BRIDGE_QUEUE_MAX (256u << 20) /* bytes that a stalled launcher may leave unread */

struct event_base;
struct bridge;

struct bridge_ops {
	/* LauncherHello or RunReport; good until return. -1: the bridge closes the connection. */
	int (*message)(
	        void *arg, unsigned type, const ProtobufCMessage *message, struct error *err);
	/* The answer to bridge_ask_credential(): the credential, or NULL and why not. */
	void (*credential)(void *arg, uint64_t id, const char *credential, const struct error *err);
	/* The launcher has ended, or sent a message that makes no sense. No further callback comes;
	 * the bridge may be freed at any time. */
	void (*gone)(void *arg, const struct error *why);
};

/* Takes `fd` over. */
struct bridge *bridge_new(struct event_base *base, int fd, const struct bridge_ops *ops, void *arg);
void bridge_free(struct bridge *bridge); /* closes the pair, so the launcher ends. NULL is fine */

void bridge_send(struct bridge *bridge, unsigned type, const ProtobufCMessage *message);

/* `payload` is a secret; it is copied, and the copy wiped when it has been sent. */
void bridge_ask_credential(
        struct bridge *bridge, uint64_t id, const void *payload, size_t len, uint32_t restrict_uid);

#endif
