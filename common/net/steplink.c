/* steplink.c - see steplink.h */
#include "common/net/steplink.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/byte_queue.h"
#include "common/base/wirenum.h"
#include "common/base/xalloc.h"

#define HEAD_LEN 7 /* n, kind, step */
#define KEPT_MAX (STEPLINK_MESSAGE_MAX + 1024 * 1024)

struct steplink {
	struct byte_queue in, out;
	struct byte_queue whole; /* the parts so far of a message, and the message at hand */
	bool taken;              /* `whole` was handed out */
};

/* --- the link --------------------------------------------------------------------------------- */

struct steplink *steplink_new(void)
{
	return xcalloc(1, sizeof(struct steplink));
}

void steplink_free(struct steplink *l)
{
	if (!l)
		return;
	free(l->in.p);
	free(l->out.p);
	free(l->whole.p);
	free(l);
}

int steplink_feed(struct steplink *l, const void *bytes, size_t len, struct error *err)
{
	if (byte_queue_len(&l->in) + len > KEPT_MAX)
		return error_set(
		        err, ERR_PROTOCOL, "more than %d bytes that were not asked for", KEPT_MAX);
	byte_queue_add(&l->in, bytes, len);
	return 0;
}

static int check_frame(const struct steplink *l, size_t n, const uint8_t *head, struct error *err)
{
	if (n < HEAD_LEN - 2 || n > HEAD_LEN - 2 + STEPLINK_DATA_MAX)
		return error_set(err, ERR_PROTOCOL, "a frame of %zu bytes", n);
	if (byte_queue_len(&l->whole) + n > STEPLINK_MESSAGE_MAX)
		return error_set(err, ERR_PROTOCOL, "a message of more than %d bytes (kind %u)",
		        STEPLINK_MESSAGE_MAX, head[2]);
	return 0;
}

int steplink_next(struct steplink *l, struct steplink_message *out, struct error *err)
{
	if (l->taken) {
		byte_queue_drop(&l->whole, byte_queue_len(&l->whole));
		l->taken = false;
	}
	while (byte_queue_len(&l->in) >= HEAD_LEN) {
		const uint8_t *head = l->in.p + l->in.at;
		size_t n = get_u16(head);
		unsigned kind = head[2];
		uint32_t step = get_u32(head + 3);

		if (check_frame(l, n, head, err) < 0)
			return -1;
		if (byte_queue_len(&l->in) < 2 + n)
			return 0;
		byte_queue_add(&l->whole, head + HEAD_LEN, n - (HEAD_LEN - 2));
		byte_queue_drop(&l->in, 2 + n);
		if (kind == STEP_PART)
			continue;
		*out = (struct steplink_message){ .kind = kind,
			.step = step,
			.data = l->whole.p + l->whole.at,
			.len = byte_queue_len(&l->whole) };
		l->taken = true;
		return 1;
	}
	return 0;
}

static uint8_t *put_head(struct steplink *l, unsigned kind, uint32_t step, size_t len)
{
	uint8_t *p = byte_queue_room(&l->out, HEAD_LEN + len);

	put_u16(p, (uint16_t)(HEAD_LEN - 2 + len));
	p[2] = (uint8_t)kind;
	put_u32(p + 3, step);
	return p + HEAD_LEN;
}

void steplink_put(struct steplink *l, unsigned kind, uint32_t step, const void *data, size_t len)
{
	const uint8_t *at = data;

	assert(len <= STEPLINK_MESSAGE_MAX);
	for (; len > STEPLINK_DATA_MAX; len -= STEPLINK_DATA_MAX, at += STEPLINK_DATA_MAX)
		memcpy(put_head(l, STEP_PART, step, STEPLINK_DATA_MAX), at, STEPLINK_DATA_MAX);
	if (len)
		memcpy(put_head(l, kind, step, len), at, len);
	else
		put_head(l, kind, step, 0);
}

void steplink_put_message(
        struct steplink *l, unsigned kind, uint32_t step, const ProtobufCMessage *m)
{
	size_t len = protobuf_c_message_get_packed_size(m);
	uint8_t *data = xcalloc(len, 1);

	protobuf_c_message_pack(m, data);
	steplink_put(l, kind, step, data, len);
	free(data);
}

void steplink_put_bytes(struct steplink *l, unsigned kind, uint32_t step, uint32_t task,
        const void *data, size_t len)
{
	uint8_t *p;

	assert(len <= STEPLINK_DATA_MAX - 4);
	p = put_head(l, kind, step, 4 + len);
	put_u32(p, task);
	if (len)
		memcpy(p + 4, data, len);
}

const uint8_t *steplink_pending(const struct steplink *l, size_t *len)
{
	*len = byte_queue_len(&l->out);
	return l->out.p + l->out.at;
}

void steplink_sent(struct steplink *l, size_t len)
{
	byte_queue_drop(&l->out, len);
}
