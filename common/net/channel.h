/* channel.h - the encrypted messages inside a stream of bytes
 *
 * After the handshake (hello.h, role "attach") both sides of a stream send Noise messages, each of
 * which is one message of the channel; its plaintext begins with its kind:
 *
 *      +--------+--------------------------------------------+
 *      | u16 n  | n bytes: ciphertext of (u8 kind, data), tag |   n <= CHANNEL_DATA_MAX + 17
 *      +--------+--------------------------------------------+
 *
 * A pure codec: bytes in, messages out. The meaning of each kind is below; the reader checks which
 * side may send it.
 */
#ifndef COMMON_CHANNEL_H
#define COMMON_CHANNEL_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/error.h"
#include "common/net/noise.h"

/* Of the hops between client and node (gpusched.proto, Streams). */
#define STREAM_WINDOW    (256 * 1024) /* bytes on their way in one direction, at most */
#define STREAM_CHUNK_MAX (48 * 1024)  /* of one StreamData */

#define CHANNEL_DATA_MAX (32 * 1024)
#define CHANNEL_WIRE_MAX (2 + 1 + CHANNEL_DATA_MAX + NOISE_TAG_LEN)

enum channel_kind {
	/* from the client */
	CHANNEL_LOG = 1,    /* struct channel_log: show what the run has written. The first */
	CHANNEL_FINISH = 2, /* the run has ended: what is there now is all */
	/* from the client of an interactive run (noded/stream/ghold.h), the first of them instead
	 * of LOG */
	CHANNEL_ATTACH = 3, /* struct channel_attach: give me its input and output */
	CHANNEL_IN = 4, /* bytes of its standard input; CHANNEL_IN_MAX without an answer at most */
	CHANNEL_IN_END = 5,  /* and their end */
	CHANNEL_TAKEN = 6,   /* struct channel_taken: so much of the output has arrived */
	CHANNEL_SIGNAL = 7,  /* u8: send it to all of the run */
	CHANNEL_WINDOW = 8,  /* u16 rows, u16 columns: the terminal's new size */
	CHANNEL_CLOSED = 9,  /* u8: no process reads its standard output (1) or error (2) any
			      * more */
	CHANNEL_DETACH = 10, /* the client leaves, and the run is to continue */
	/* from a client of the run's steps (steplink.h), the first of them instead of LOG */
	CHANNEL_STEPS = 11,    /* connect me with gstepd; answered by the same kind */
	CHANNEL_STEP_DATA = 12, /* bytes of the link; both ways */
	/* from a client that is no owner (noded/stream/stream_access.h), the only one */
	CHANNEL_TAIL = 13, /* struct channel_tail: the last lines of the output, once */
	/* from the run's side */
	CHANNEL_OUT = 16, /* bytes of its standard output */
	CHANNEL_ERR = 17, /* of its standard error */
	CHANNEL_END = 18, /* u16 error_code, text; the last */
	CHANNEL_AT = 19,  /* u64: where in the file the next CHANNEL_OUT begins; before the first,
	                   * and when it goes on elsewhere than behind the last */
	CHANNEL_ATTACHED = 24, /* struct channel_attached: answers CHANNEL_ATTACH */
	CHANNEL_IN_TAKEN = 25, /* u64: so much of the input has gone to the program, of all times */
};

struct channel;

/* Takes `noise` over, which is in transport. Never NULL. */
struct channel *channel_new(struct noise *noise);
void channel_free(struct channel *c); /* wipes; NULL is fine */

/* A message as bytes for the wire: returns how many. len <= CHANNEL_DATA_MAX. 0 with `err`. */
size_t channel_seal(struct channel *c, unsigned kind, const void *data, size_t len,
        uint8_t out[CHANNEL_WIRE_MAX], struct error *err);

/* Bytes from the wire; returns how many of them were taken: not all, if there is no room. Take the
 * messages with channel_next() before more is given. */
size_t channel_feed(struct channel *c, const void *bytes, size_t len);

struct channel_message {
	unsigned kind;
	const uint8_t *data; /* of the channel, until the next call */
	size_t len;
};

/* 1: *out; 0: more bytes are needed; -1 with ERR_PROTOCOL: the stream is dead. */
int channel_next(struct channel *c, struct channel_message *out, struct error *err);

/* --- the parts of messages ------------------------------------------------------------------ */

#define CHANNEL_LOG_LEN 18
#define CHANNEL_LOG_NEW UINT64_MAX
struct channel_log {
	uint8_t error;  /* standard error, where that is a file of its own */
	uint8_t follow; /* until CHANNEL_FINISH */
	uint64_t lines; /* of its end, up to INT64_MAX; UINT64_MAX: all */
	uint64_t at;    /* go on at this byte, whatever `lines` says; CHANNEL_LOG_NEW: from there */
	uint64_t had;   /* with all lines of a new attempt: how much of the file was shown of an
			 * earlier one. A run that appends to that file continues there; any other
			 * run starts the file again. Below INT64_MAX; sent in the place of
			 * `lines`, so that a reader that does not know it shows the whole file */
};
void channel_put_log(uint8_t out[CHANNEL_LOG_LEN], const struct channel_log *log);
int channel_get_log(const struct channel_message *m, struct channel_log *log, struct error *err);

#define CHANNEL_TAIL_LEN 13
struct channel_tail {
	uint8_t error; /* standard error, where that is a file of its own */
	uint64_t lines;
	uint32_t owner; /* the uid for which the lines are: refused if the run is another user's. So
	                 * the client need not trust the controller about the job's owner */
};
void channel_put_tail(uint8_t out[CHANNEL_TAIL_LEN], const struct channel_tail *tail);
int channel_get_tail(const struct channel_message *m, struct channel_tail *tail, struct error *err);

#define CHANNEL_AT_LEN 8
void channel_put_at(uint8_t out[CHANNEL_AT_LEN], uint64_t at);
int channel_get_at(const struct channel_message *m, uint64_t *at, struct error *err);

/* All counts are of bytes since the run began, so that a client whose connection broke can
 * continue where it was: what it has not acknowledged yet is kept for it. */
#define CHANNEL_IN_MAX     (64 * 1024)
#define CHANNEL_ATTACH_LEN 21
struct channel_attach {
	uint8_t resume; /* as the client that it was: from here on. Else from where the last was */
	uint64_t out, err;   /* resume: so much it has */
	uint16_t rows, cols; /* 0: not known */
};
void channel_put_attach(uint8_t out[CHANNEL_ATTACH_LEN], const struct channel_attach *attach);
int channel_get_attach(
        const struct channel_message *m, struct channel_attach *attach, struct error *err);

#define CHANNEL_TAKEN_LEN 16
struct channel_taken {
	uint64_t out, err;
};
void channel_put_taken(uint8_t out[CHANNEL_TAKEN_LEN], const struct channel_taken *taken);
int channel_get_taken(
        const struct channel_message *m, struct channel_taken *taken, struct error *err);

#define CHANNEL_ATTACHED_LEN 34
struct channel_attached {
	uint8_t pty, in_ended; /* the input's end was told already */
	uint64_t in;           /* so much input has come: the next is to begin there */
	uint64_t in_taken;     /* as in CHANNEL_IN_TAKEN */
	uint64_t out, err;     /* here the output begins that follows */
};
void channel_put_attached(
        uint8_t out[CHANNEL_ATTACHED_LEN], const struct channel_attached *attached);
int channel_get_attached(
        const struct channel_message *m, struct channel_attached *attached, struct error *err);

/* CHANNEL_END; returns its length, at most CHANNEL_END_MAX. Reading it fills `why`. */
#define CHANNEL_END_MAX 600
size_t channel_put_end(uint8_t out[CHANNEL_END_MAX], const struct error *why);
int channel_get_end(const struct channel_message *m, struct error *why, struct error *err);

#endif
