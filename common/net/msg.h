/* msg.h - the table of message types, and the one way to decode and encode them
 *
 * gpusched.proto says what each message means; a row here gives its C descriptor, the largest size
 * of its body and the permitted senders. A type that is not in the table, is too large or comes
 * from the wrong side is refused by the frame reader (frame.h) before anything of it is stored.
 *
 * Decoding foreign bytes (msg_unpack) has two steps. First the bytes are checked against the
 * descriptors without allocating: the wire format must be well formed and used up exactly, strings
 * must be plain text (text.h), repeated fields must be within their limits (msg_validate.h). Then
 * protobuf-c decodes into a capped arena. Enum fields with a value that the enum does not have
 * read as 0 ("none") afterwards, so that handlers can use them as indices. Fields that this
 * version does not know are kept aside (n_unknown_fields) unless MSG_STRICT asks to refuse them.
 *
 * To add a message: see the head of gpusched.proto. The row goes into msg.c.
 */
#ifndef COMMON_MSG_H
#define COMMON_MSG_H

#include <stddef.h>
#include <stdint.h>

#include <protobuf-c/protobuf-c.h>

#include "common/base/arena.h"
#include "common/base/error.h"
#include "common/gpusched.pb-c.h"
#include "common/net/msg_validate.h"

#define MSG_BODY_MAX      (64 * 1024)   /* bytes of a body, unless the row says more */
#define MSG_BODY_MAX_MANY (1024 * 1024) /* answers with many entries */
#define MSG_BODY_MAX_JOB  (4608 * 1024) /* scripts of up to MSG_SCRIPT_MAX; all runs of a node */
#define MSG_SCRIPT_MAX    (4096 * 1024)

/* The sender: bits, for the rows and for frame_reader_new(). */
enum msg_sender {
	MSG_BY_USER = 1 << 0,        /* a command or the C API, to the controller */
	MSG_BY_AGENT = 1 << 1,       /* an agent's session, to the controller */
	MSG_BY_CONTROLLER = 1 << 2,  /* to either of them */
	MSG_BY_AGENT_LOCAL = 1 << 3, /* the agent's network half, to its launcher */
	MSG_BY_LAUNCHER = 1 << 4,    /* the launcher, to the agent's network half */
};

struct msg_type {
	uint16_t type;    /* Gpusched__MsgType */
	uint8_t from;     /* enum msg_sender bits */
	uint32_t max_len; /* of the packed body */
	const char *name; /* "submit", for logs and metrics */
	const ProtobufCMessageDescriptor *desc;
};

const struct msg_type *msg_type(unsigned type); /* NULL: no such type */
const char *msg_name(unsigned type);            /* "unknown" if there is none */

/* All rows, ascending by type. */
const struct msg_type *msg_types(size_t *n);

/* How long a body of this type from one of the senders `from` may be. -1 with ERR_PROTOCOL if the
 * type does not exist or may not come from there. */
int64_t msg_limit(unsigned type, unsigned from, struct error *err);

enum msg_flags {
	MSG_STRICT = 1 << 0, /* a field that the descriptor does not know is an error */
};

/* Decode the body of a frame. The message lives in the arena, which is reset first (with a cap
 * that fits the length): one arena decodes one message at a time. NULL with
 *   ERR_PROTOCOL  not this message, or more than decoding may cost: close the connection
 *   ERR_USAGE     well formed, but a string or a count is not acceptable: answer with it */
ProtobufCMessage *msg_unpack(
        unsigned type, const void *bytes, size_t len, struct arena *arena, struct error *err);

/* The same for a message inside a message, such as SignedSpec in a `bytes` field. The arena is not
 * reset. */
ProtobufCMessage *msg_unpack_desc(const ProtobufCMessageDescriptor *desc, const void *bytes,
        size_t len, unsigned flags, struct arena *arena, struct error *err);

/* A copy on the heap, for protobuf_c_message_free_unpacked(). NULL: there is no memory for it. */
ProtobufCMessage *msg_copy(const ProtobufCMessage *m);

/* The packed size of `m`; -1 with ERR_PROTOCOL if it is larger than the type allows (an internal
 * error: the code that fills lists must cut them). */
int64_t msg_packed_size(unsigned type, const ProtobufCMessage *m, struct error *err);

#endif
