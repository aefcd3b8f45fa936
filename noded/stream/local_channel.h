/* local_channel.h - between gtap and ghold: the messages of a channel (channel.h), in the clear
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
 * Nothing here blocks: the caller polls for the events of local_channel_events().
 */
#ifndef NODED_LOCAL_CHANNEL_H
#define NODED_LOCAL_CHANNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/error.h"
#include "common/net/channel.h"

#define LOCAL_CHANNEL_WIRE_MAX (2 + 1 + CHANNEL_DATA_MAX)

struct local_channel {
	int fd;      /* -1: none */
	bool closed; /* the other side has gone, or violates the protocol */
	unsigned raw; /* no messages but bytes, which are read and put as this kind; 0: messages */
	size_t in_n, in_used;
	size_t out_at, out_n;
	uint8_t in[LOCAL_CHANNEL_WIRE_MAX], out[2 * LOCAL_CHANNEL_WIRE_MAX];
};

void local_channel_init(
        struct local_channel *io, int fd); /* `fd` is taken over and made not to block */
void local_channel_close(struct local_channel *io);

short local_channel_events(const struct local_channel *io, bool read);
void local_channel_read(struct local_channel *io); /* reads what is available; may set `closed` */
void local_channel_write(
        struct local_channel *io); /* writes as much as possible; may set `closed` */

/* The next message: 1; 0: no complete one. Borrowed until the next call. */
int local_channel_next(struct local_channel *io, struct channel_message *m);

bool local_channel_has_room(const struct local_channel *io); /* for any message */
void local_channel_put(struct local_channel *io, unsigned kind, const void *data, size_t len);

/* ghold's socket: one in the directory for each run. -1 with `err`: no process listens there
 * (ERR_JOB_STATE), or ERR_SYSTEM, ERR_BUSY. */
int local_channel_listen(int dirfd, const char *name, struct error *err);
int local_channel_connect(int dirfd, const char *name, struct error *err);

#endif
