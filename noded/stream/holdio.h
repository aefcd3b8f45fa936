/* holdio.h - between gtap and ghold: the messages of a channel (channel.h), in the clear
 *
 * On a stream socket between two processes of the run's owner, on one node:
 *
 *      +--------+---------+----------------+
 *      | u16 n  | u8 kind | n - 1 bytes    |   n <= CHANNEL_DATA_MAX + 1
 *      +--------+---------+----------------+
 *
 * With `raw` set the socket carries bytes without a frame, of a program that frames them itself
 * (gstepd).
 *
 * Nothing here blocks: the caller polls for the events of holdio_events().
 */
#ifndef NODED_HOLDIO_H
#define NODED_HOLDIO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/error.h"
#include "common/net/channel.h"

#define HOLDIO_WIRE_MAX (2 + 1 + CHANNEL_DATA_MAX)

struct holdio {
	int fd;      /* -1: none */
	bool closed; /* the other side has gone, or violates the protocol */
	unsigned raw; /* no messages but bytes, which are read and put as this kind; 0: messages */
	size_t in_n, in_used;
	size_t out_at, out_n;
	uint8_t in[HOLDIO_WIRE_MAX], out[2 * HOLDIO_WIRE_MAX];
};

void holdio_init(struct holdio *io, int fd); /* `fd` is taken over and made not to block */
void holdio_close(struct holdio *io);

short holdio_events(const struct holdio *io, bool read);
void holdio_read(struct holdio *io);  /* reads what is available; may set `closed` */
void holdio_write(struct holdio *io); /* writes as much as possible; may set `closed` */

/* The next message: 1; 0: no complete one. Borrowed until the next call. */
int holdio_next(struct holdio *io, struct channel_message *m);

bool holdio_has_room(const struct holdio *io); /* for any message */
void holdio_put(struct holdio *io, unsigned kind, const void *data, size_t len);

/* ghold's socket: one in the directory for each run. -1 with `err`: no process listens there
 * (ERR_JOB_STATE), or ERR_SYSTEM, ERR_BUSY. */
int holdio_listen(int dirfd, const char *name, struct error *err);
int holdio_connect(int dirfd, const char *name, struct error *err);

#endif
