/* answer_parts.c - see answer_parts.h */
#include "ctld/rpc/call/answer_parts.h"

#include <assert.h>

#include "common/net/msg_truncate.h"
#include "common/net/msgfield.h"

#define ITEM_HEAD 6 /* bytes before an item: tag and length */

static const ProtobufCFieldDescriptor *list_of(const ProtobufCMessage *chunk)
{
	for (unsigned i = 0; i < chunk->descriptor->n_fields; i++) {
		const ProtobufCFieldDescriptor *f = &chunk->descriptor->fields[i];

		if (f->type == PROTOBUF_C_TYPE_MESSAGE && msgfield_is_list(f))
			return f;
	}
	assert(!"a part without a list of items");
	return NULL;
}

/* Messages that are never told in pieces have no such field. */
static void set_flag(ProtobufCMessage *chunk, const char *name, bool value)
{
	const ProtobufCFieldDescriptor *f =
	        protobuf_c_message_descriptor_get_field_by_name(chunk->descriptor, name);

	assert(f || !value);
	if (f)
		*(protobuf_c_boolean *)msgfield_at(chunk, f) = value;
}

void part_begin(struct part *part)
{
	part->n = part->bytes = 0;
	part->continues = false;
}

bool part_full(const struct part *part)
{
	return part->n == PART_ITEMS || part->bytes >= PART_BYTES;
}

static void send_part(struct part *part, bool more)
{
	const ProtobufCFieldDescriptor *list = list_of(part->chunk);

	*(ProtobufCMessage ***)msgfield_at(part->chunk, list) = part->items;
	*msgfield_count(part->chunk, list) = part->n;
	set_flag(part->chunk, "continues", part->continues);
	set_flag(part->chunk, "more", more);
	part->send(part->to, part->chunk);
	part->n = part->bytes = 0;
	part->continues = more;
}

bool part_end(struct part *part)
{
	if (part->n == 0)
		return false;
	send_part(part, false);
	return true;
}

static void put_item(struct part *part, ProtobufCMessage *item)
{
	size_t size = protobuf_c_message_get_packed_size(item);

	if (!part->whole || size > PART_ITEM_MAX)
		size = msg_fit(item, PART_ITEM_MAX, part->arena);
	if (part_full(part))
		part_end(part);
	part->items[part->n++] = item;
	part->bytes += size + ITEM_HEAD;
}

void part_add(struct part *part, ProtobufCMessage *item)
{
	ProtobufCMessage *rest;

	while (part->whole && (rest = msg_split(item, PART_ITEM_MAX, part->arena))) {
		put_item(part, item);
		send_part(part, true);
		item = rest;
	}
	put_item(part, item);
}
