/* runio.h - a command's stdin, stdout and stderr as those of a program elsewhere
 *
 * Over one stream (encrypted_stream.h) after another: what is counted here is of all of them, so
 * that after a break the next one goes on where the last was. Input that was read from stdin is
 * kept until the other side has acknowledged it; the other side keeps output until this side has
 * acknowledged that it is written. Nothing blocks.
 */
#ifndef CMDS_RUNIO_H
#define CMDS_RUNIO_H

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>

#include "cmds/api/encrypted_stream.h"
#include "common/net/channel.h"

struct runio {
	struct stream *stream;                 /* owned; NULL: none at the moment */
	bool attached, ever;                   /* to the program: now, before */
	bool pty;                              /* it has a terminal */
	bool over;                             /* all of its output has been written */
	bool asked;                            /* CHANNEL_ATTACH has been sent on this stream */
	uint64_t out, err, told_out, told_err; /* written; and said to be */
	/* The message at hand: borrowed from the stream until it is written. */
	const uint8_t *at;
	size_t left;
	bool to_err;
	bool closed[2], told_closed[2]; /* the readers of our stdout, stderr are gone */
	int write_errno;                /* the error, if it is another one */
	/* Of stdin: in[] is what has come from number in_first to in_read. */
	uint64_t in_first, in_sent, in_read, in_taken;
	bool in_end, in_end_sent, in_off; /* off: stdin must not be read now */
	uint64_t signals;                 /* to be sent: 1 << number */
	bool window;                      /* its size is to be sent */
	uint8_t in[CHANNEL_IN_MAX];
};

/* A new stream, taken over; what the last one held is gone. NULL: none. */
void runio_use(struct runio *io, struct stream *s);

/* Go on as far as that goes without waiting. 0; -1 with `err`: this stream is dead, perhaps for a
 * reason that the other side gave. */
int runio_step(struct runio *io, struct error *err);

/* What to wait for besides the connection; returns how many (at most 2). */
size_t runio_poll(const struct runio *io, struct pollfd p[2]);

/* Stdin has something, or its end. */
void runio_read(struct runio *io);

/* Tell the other side that this client leaves and the run continues. -1: it cannot be sent. */
int runio_detach(struct runio *io, struct error *err);

#endif
