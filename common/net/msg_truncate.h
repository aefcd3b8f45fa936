/* msg_truncate.h - messages that are not larger than they may be
 *
 * What users see has texts and lists of any length: the tasks of an array, the nodes of a gang, the
 * runs of a job. A frame is bounded (msg.h). So a message is cut, or told in several pieces.
 *
 * Cut (msg_fit): a text of more than MSG_TEXT_MAX bytes ends in "...". If that is not enough, texts
 * become shorter still, and at last lists lose their ends. A message that can be cut has a field
 * `cut`, a list of texts: the names of its fields that are not whole. A list is cut only there, so
 * that nothing is left out without a word.
 *
 * In pieces (msg_split): the texts and lists of the message itself go on in the next piece, and
 * msg_join() puts them together again. What its members have is cut.
 */
#ifndef COMMON_MSG_TRUNCATE_H
#define COMMON_MSG_TRUNCATE_H

#include <stdbool.h>
#include <stddef.h>

#include <protobuf-c/protobuf-c.h>

#include "common/base/arena.h"

#define MSG_TEXT_MAX 4096 /* bytes of a text that is not cut for its own length */
#define MSG_CUT_MARK "..."

/* Cut `m` until its packed size is at most `max`, which is returned; it is more if that cannot be.
 * Changes `m` and the messages in it; what they point to besides is left alone. New texts are in
 * `arena`; running out of it aborts. */
size_t msg_fit(ProtobufCMessage *m, size_t max, struct arena *arena);

/* Has a list in it more elements than a receiver takes (MSG_ELEMENTS_MAX)? */
bool msg_too_many(const ProtobufCMessage *m);

/* If `m` is larger than `max`, leave in it what fits, and return the rest of its texts and lists: a
 * message of the same type with nothing else in it, which may have to be split in turn. It borrows
 * from what `m` had. NULL: `m` fits, or cannot be split any further. */
ProtobufCMessage *msg_split(ProtobufCMessage *m, size_t max, struct arena *arena);

/* Put the next piece behind the pieces that are in `whole`, which was unpacked without an
 * allocator: it owns its parts one by one. */
void msg_join(ProtobufCMessage *whole, const ProtobufCMessage *piece);

#endif
