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

#define LAUNCHER_SOCKET_QUEUE_MAX (256u << 20) /* bytes that a stalled launcher may leave unread */

struct event_base;
struct launcher_socket;

struct launcher_socket_ops {
	/* LauncherHello or RunReport; good until return. -1: the connection is closed. */
	int (*message)(
	        void *arg, unsigned type, const ProtobufCMessage *message, struct error *err);
	/* The answer to launcher_socket_ask_credential(): the credential, or NULL and why not. */
	void (*credential)(void *arg, uint64_t id, const char *credential, const struct error *err);
	/* The launcher has ended, or sent a message that makes no sense. No further callback comes;
	 * launcher_socket_free() may be called at any time. */
	void (*gone)(void *arg, const struct error *why);
};

/* Takes `fd` over. */
struct launcher_socket *launcher_socket_new(
        struct event_base *base, int fd, const struct launcher_socket_ops *ops, void *arg);
void launcher_socket_free(struct launcher_socket
                *launcher_socket); /* closes the pair, so the launcher ends. NULL is fine */

void launcher_socket_send(
        struct launcher_socket *launcher_socket, unsigned type, const ProtobufCMessage *message);

/* `payload` is a secret; it is copied, and the copy wiped when it has been sent. */
void launcher_socket_ask_credential(struct launcher_socket *launcher_socket, uint64_t id,
        const void *payload, size_t len, uint32_t restrict_uid);

#endif
