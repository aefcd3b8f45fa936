/* order_socket.h - the messages between launcher and shepherd after the start
 *
 * Orders: one datagram each to the socket `ctl` in the run's record directory. The launcher makes
 * the socket and the shepherd inherits it, so that an order can wait there from the beginning:
 *
 *      +-------------+----------+-------------------------------+
 *      | u16 version | u16 type | EndRun, ..., protobuf         |   network byte order
 *      +-------------+----------+-------------------------------+
 *
 * News: one datagram with the run's id, as text, to RUNDIR/notify: "read the records". It may be
 * lost when no launcher is running; a later launcher reads the records anyway.
 *
 * Both sockets lie in directories that only the agent's user can enter. Paths may be longer than
 * sun_path: they go through /proc/self/fd/DIRFD. A launcher and the shepherds of the previous
 * release understand each other: versions ORDER_SOCKET_VERSION_OLDEST to ORDER_SOCKET_VERSION are
 * accepted.
 */
#ifndef NODED_ORDER_SOCKET_H
#define NODED_ORDER_SOCKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/error.h"
#include "common/gpusched.pb-c.h"

#define ORDER_SOCKET_NOTE \
	0x8000 /* RunNote: not from the controller, so it has no number of MsgType */

#define ORDER_SOCKET_VERSION        1
#define ORDER_SOCKET_VERSION_OLDEST 1
#define ORDER_SOCKET_MAX            4096 /* bytes of a datagram */
#define ORDER_SOCKET_NAME           "ctl"
#define NOTIFY_SOCKET_NAME          "notify"

/* A datagram socket bound to `name` in the directory (replacing what is there), mode 0600,
 * close-on-exec, not blocking. -1 with ERR_SYSTEM. */
int order_socket_open(int dirfd, const char *name, struct error *err);

/* Send to the socket `name` in the directory. 0; -1 with errno. Either no process receives there
 * (order_socket_no_receiver()), or a later order_socket_send() may succeed: the socket is full, or
 * memory is short. */
int order_socket_send(int dirfd, const char *name, const void *bytes, size_t len);
bool order_socket_no_receiver(int error);

/* An order as a datagram. Returns its length; -1: it does not fit. The launcher must shorten long
 * strings first. */
int order_socket_pack(unsigned type, const ProtobufCMessage *m, uint8_t out[ORDER_SOCKET_MAX]);

/* Read one order. 1: *type and *m (protobuf_c_message_free_unpacked), 0: none is waiting, -1 with
 * ERR_PROTOCOL: it is no valid order; it was removed from the socket. */
int order_socket_receive(int fd, unsigned *type, ProtobufCMessage **m, struct error *err);

#endif
