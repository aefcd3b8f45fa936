/* answer_frame.c - see answer_frame.h */
#include "ctld/wire/answer_frame.h"

#include <stdlib.h>

#include "common/base/xalloc.h"
#include "common/net/frame.h"
#include "common/net/msg.h"
#include "common/net/msg_truncate.h"

#define ARENA_CAP ((size_t)1 << 40) /* as large as it takes */

static const char advice[] =
        "ask for less at once; it is a fault of the controller's, and its log has it";

int answer_check(unsigned type, size_t len, struct error *err)
{
	const struct msg_type *t = msg_type(type);

	if (!t || len <= t->max_len)
		return 0;
	error_set(err, ERR_ANSWER_SIZE, "the answer (%s) has %zu bytes; at most %u can be sent",
	        t->name, len, t->max_len);
	return error_hint(err, "%s", advice);
}

static int too_many(unsigned type, struct error *err)
{
	error_set(err, ERR_ANSWER_SIZE, "the answer (%s) has a list of more than %d", msg_name(type),
	        MSG_ELEMENTS_MAX);
	return error_hint(err, "%s", advice);
}

/* A copy, since what the message is made of may be borrowed. */
static int pack_cut(unsigned type, uint64_t id, const ProtobufCMessage *m, size_t size,
        uint8_t **bytes, size_t *len, struct error *err)
{
	struct arena *arena = arena_new(ARENA_CAP);
	uint8_t *packed = xcalloc(size, 1);
	ProtobufCMessage *copy = NULL;
	int rc = -1;

	protobuf_c_message_pack(m, packed);
	if (arena)
		copy = protobuf_c_message_unpack(
		        m->descriptor, arena_allocator(arena), size, packed);
	if (!copy)
		error_set(err, ERR_SYSTEM, "out of memory");
	else if (answer_check(type, msg_fit(copy, msg_type(type)->max_len, arena), err) == 0)
		rc = msg_too_many(copy) ? too_many(type, err)
		                        : frame_pack(type, id, copy, bytes, len, err);
	free(packed);
	arena_free(arena);
	return rc;
}

int answer_pack(unsigned type, uint64_t id, const ProtobufCMessage *m, uint8_t **bytes, size_t *len,
        struct error *err)
{
	size_t size = protobuf_c_message_get_packed_size(m);

	if (answer_check(type, size, NULL) == 0 && (size <= MSG_ELEMENTS_MAX || !msg_too_many(m)))
		return frame_pack(type, id, m, bytes, len, err);
	return pack_cut(type, id, m, size, bytes, len, err);
}
