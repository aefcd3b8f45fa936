/* frame.h - frames, and the encrypted stream that carries them
 *
 * Numbers are in network byte order. On the wire, after the handshake (hello.h), there are Noise
 * transport messages only:
 *
 *      +--------+---------------------------------------+
 *      | u16 n  | n bytes: ciphertext, then 16 bytes tag |   n <= 65535
 *      +--------+---------------------------------------+
 *
 * Their plaintexts, put together, are a stream of frames. A frame may span several Noise messages
 * and one message may hold several frames:
 *
 *      +-----------+----------+-----------+----------+------------------+
 *      | u32 len   | u16 type | u16 flags | u64 id   | len bytes: body  |
 *      +-----------+----------+-----------+----------+------------------+
 *
 * type is a MsgType, flags are 0, id is the request that the frame belongs to (0: none), the body
 * is one protobuf message. The header is checked as soon as it is complete: a type that is unknown
 * or that this sender may not send, a length over the type's limit, flags, an empty Noise message
 * are errors, and after an error the stream is dead. Between an agent and its launcher (a socket
 * pair) the stream of frames goes in the clear: noise is NULL.
 *
 * A pure codec: bytes in, frames out; no descriptors, no clock.
 */
#ifndef COMMON_FRAME_H
#define COMMON_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <protobuf-c/protobuf-c.h>

#include "common/base/error.h"
#include "common/net/noise.h"

#define FRAME_HEADER_LEN 16
#define FRAME_CHUNK_MAX  (NOISE_MSG_MAX - NOISE_TAG_LEN) /* plaintext of one Noise message */
#define FRAME_WIRE_HEAD  2                               /* the u16 before each Noise message */

struct frame {
	uint16_t type;
	uint64_t id;
	const uint8_t *body; /* of the reader; until the next call to it */
	size_t len;
};

/* --- reading ------------------------------------------------------------------------------- */
struct frame_reader;

/* `noise`: borrowed, in its transport phase, or NULL for an unencrypted stream. `from`: enum
 * msg_sender bits of the other end. NULL: out of memory. */
struct frame_reader *frame_reader_new(struct noise *noise, unsigned from);
void frame_reader_free(struct frame_reader *r); /* wipes; NULL is fine */

/* Take bytes from the wire. Encrypted: whole Noise messages only are used, *used says how many
 * bytes that was, and the rest must be given again with more behind it. In the clear: all of them
 * are used. -1 with ERR_PROTOCOL: close. */
int frame_reader_feed(
        struct frame_reader *r, const void *bytes, size_t len, size_t *used, struct error *err);

/* The next whole frame: 1 and *out; 0: more bytes are needed; -1 with ERR_PROTOCOL: close. */
int frame_reader_next(struct frame_reader *r, struct frame *out, struct error *err);

/* Bytes of frames held and not yet returned. At the end of the stream it must be 0: otherwise a
 * frame was cut off. */
size_t frame_reader_held(const struct frame_reader *r);

/* --- writing ------------------------------------------------------------------------------- */
void frame_put_header(uint8_t out[FRAME_HEADER_LEN], unsigned type, uint64_t id, uint32_t len);

/* `m` as one whole frame, header and body, in memory that the caller frees. -1 with ERR_PROTOCOL:
 * it is larger than its type allows (msg_packed_size()). */
int frame_pack(unsigned type, uint64_t id, const ProtobufCMessage *m, uint8_t **bytes, size_t *len,
        struct error *err);

/* How many bytes frame_seal() makes of `len` bytes of plaintext. */
size_t frame_sealed_len(size_t len);

/* Encrypt a piece of the stream of frames (any length but 0; it is cut into Noise messages) into
 * `out`, which has frame_sealed_len(len) bytes. Must be called in the order of sending, and what it
 * returns must be sent: the nonces count. */
int frame_seal(struct noise *noise, const void *plain, size_t len, uint8_t *out, struct error *err);

#endif
