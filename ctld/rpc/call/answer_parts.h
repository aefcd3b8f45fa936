/* answer_parts.h - the answer to a listing, in parts that fit their frames
 *
 * A part is a message with one list of items: a JobChunk of jobs, a NodeChunk of nodes. Items are
 * put into it one by one, and it is sent before another one would make it too large: PART_BYTES and
 * one more item of PART_ITEM_MAX are within MSG_BODY_MAX_MANY.
 *
 * An item that is larger is cut, and says so (common/net/msg_truncate.h). If the request asked for whole
 * items, such an item is sent in pieces instead, each of them the last item of its part (`more`) or
 * the first of the next one (`continues`).
 */
#ifndef CTLD_RPC_ANSWER_PARTS_H
#define CTLD_RPC_ANSWER_PARTS_H

#include <stdbool.h>
#include <stddef.h>

#include <protobuf-c/protobuf-c.h>

#include "common/base/arena.h"
#include "common/net/msg.h"

#define PART_ITEMS    200
#define PART_BYTES    ((size_t)256 * 1024) /* packed: a part with so many is full */
#define PART_ITEM_MAX ((size_t)512 * 1024) /* packed */
#define PART_REST     ((size_t)64 * 1024)  /* packed: what a part has besides its items */

_Static_assert(PART_BYTES + PART_ITEM_MAX + PART_REST <= MSG_BODY_MAX_MANY, "a part fits");

struct part {
	/* The world's: */
	ProtobufCMessage *chunk; /* its first list takes the items */
	struct arena *arena;     /* for what is cut; the items live as long */
	bool whole;
	void (*send)(void *to, const ProtobufCMessage *chunk);
	void *to;
	/* Its own: */
	ProtobufCMessage *items[PART_ITEMS];
	size_t n, bytes;
	bool continues;
};

/* Nothing is in it; the members above are set. */
void part_begin(struct part *part);

/* Should a slice of the work end here? */
bool part_full(const struct part *part);

/* Put an item into it, which may be cut. If it is full it is sent first. */
void part_add(struct part *part, ProtobufCMessage *item);

/* Send what is in it. False: nothing was. */
bool part_end(struct part *part);

#endif
