/* reassemble.c - see reassemble.h */
#include "cmds/api/reassemble.h"

#include <stdlib.h>

#include "common/net/msg.h"
#include "common/net/msg_truncate.h"
#include "common/net/msgfield.h"

static bool flag(const ProtobufCMessage *chunk, const char *name)
{
	const ProtobufCFieldDescriptor *f =
	        protobuf_c_message_descriptor_get_field_by_name(chunk->descriptor, name);

	return f && *(const protobuf_c_boolean *)msgfield_at(chunk, f);
}

/* The first list of messages in it. */
static ProtobufCMessage **items_of(const ProtobufCMessage *chunk, size_t *n)
{
	for (unsigned i = 0; i < chunk->descriptor->n_fields; i++) {
		const ProtobufCFieldDescriptor *f = &chunk->descriptor->fields[i];

		if (f->type != PROTOBUF_C_TYPE_MESSAGE || !msgfield_is_list(f))
			continue;
		*n = *msgfield_count(chunk, f);
		return (ProtobufCMessage **)(void *)msgfield_elements(chunk, f);
	}
	*n = 0;
	return NULL;
}

void reassembly_clear(struct reassembly *w)
{
	if (w->held)
		protobuf_c_message_free_unpacked(w->held, NULL);
	w->held = NULL;
}

static int hold(struct reassembly *w, const ProtobufCMessage *piece, struct error *err)
{
	if (w->held)
		msg_join(w->held, piece);
	else
		w->held = msg_copy(piece);
	return w->held ? 0 : error_set(err, ERR_PROTOCOL, "a piece of the answer cannot be "
	        "decoded");
}

/* Hands over the items of a part that are complete. */
int reassembly_chunk(const ProtobufCMessage *chunk, void *whole, struct error *err)
{
	struct reassembly *w = whole;
	size_t n, i = 0;
	ProtobufCMessage **items = items_of(chunk, &n);
	bool more = flag(chunk, "more");
	int rc = 0;

	if (flag(chunk, "continues") != (w->held != NULL))
		return error_set(err, ERR_PROTOCOL, "the pieces of the answer are out of order");
	if (w->held && n) {
		if (hold(w, items[i++], err) < 0)
			return -1;
		if (more && n == 1)
			return 0;
		rc = w->item(w->held, w->arg, err);
		reassembly_clear(w);
	}
	for (; rc >= 0 && i < n; i++)
		rc = more && i + 1 == n ? hold(w, items[i], err) : w->item(items[i], w->arg, err);
	return rc < 0 ? -1 : 0;
}

int reassembly_ask(struct client *c, unsigned type, const ProtobufCMessage *request,
        struct reassembly *w, struct error *err)
{
	const struct client_call call = { .type = type,
		.request = request,
		.answer = w->type,
		.on_chunk = reassembly_chunk,
		.arg = w,
		.repeatable = true };
	int rc = client_call(c, &call, err);

	reassembly_clear(w);
	return rc;
}
