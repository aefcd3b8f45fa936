/* frame.c - see frame.h */
#include "common/net/frame.h"

#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "common/base/wirenum.h"
#include "common/net/msg.h"

struct frame_reader {
	struct noise *noise; /* borrowed; NULL: in the clear */
	unsigned from;
	bool dead;
	bool checked; /* the header at `start` has been checked */
	uint8_t *buf; /* plaintext: start..end is not yet returned */
	size_t start, end, cap;
};

#define KEEP_CAP 512 /* of a reader that waits for its next frame: there may be thousands */

struct frame_reader *frame_reader_new(struct noise *noise, unsigned from)
{
	struct frame_reader *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->noise = noise;
	r->from = from;
	return r;
}

void frame_reader_free(struct frame_reader *r)
{
	if (!r)
		return;
	if (r->buf)
		sodium_memzero(r->buf, r->end);
	free(r->buf);
	free(r);
}

/* All was returned, and the caller is done with it. */
static void give_back(struct frame_reader *r)
{
	r->start = r->end = 0;
	if (r->cap <= KEEP_CAP)
		return;
	free(r->buf);
	r->buf = NULL;
	r->cap = 0;
}

/* Make room for `need` more bytes behind end. Grows with what arrives, never with what a header
 * promises. */
static int make_room(struct frame_reader *r, size_t need, struct error *err)
{
	size_t held = r->end - r->start, cap = r->cap ? r->cap : KEEP_CAP;
	uint8_t *p;

	if (r->cap - r->end >= need)
		return 0;
	if (r->start > 0) {
		memmove(r->buf, r->buf + r->start, held);
		r->start = 0;
		r->end = held;
	}
	if (r->cap - r->end >= need)
		return 0;
	while (cap - held < need)
		cap *= 2;
	p = realloc(r->buf, cap);
	if (!p)
		return error_set(err, ERR_PROTOCOL, "out of memory for a frame");
	r->buf = p;
	r->cap = cap;
	return 0;
}

static int feed_noise(
        struct frame_reader *r, const uint8_t *bytes, size_t len, size_t *used, struct error *err)
{
	size_t at = 0, n, got;

	while (len - at >= FRAME_WIRE_HEAD) {
		n = get_u16(bytes + at);
		if (n <= NOISE_TAG_LEN)
			return error_set(err, ERR_PROTOCOL, "an empty encrypted message");
		if (len - at - FRAME_WIRE_HEAD < n)
			break;
		if (make_room(r, n - NOISE_TAG_LEN, err) < 0)
			return -1;
		if (noise_read(r->noise, bytes + at + FRAME_WIRE_HEAD, n, r->buf + r->end,
		            r->cap - r->end, &got, err) < 0)
			return -1;
		r->end += got;
		at += FRAME_WIRE_HEAD + n;
	}
	*used = at;
	return 0;
}

static int feed_clear(
        struct frame_reader *r, const uint8_t *bytes, size_t len, size_t *used, struct error *err)
{
	if (len > 0) {
		if (make_room(r, len, err) < 0)
			return -1;
		memcpy(r->buf + r->end, bytes, len);
		r->end += len;
	}
	*used = len;
	return 0;
}

int frame_reader_feed(
        struct frame_reader *r, const void *bytes, size_t len, size_t *used, struct error *err)
{
	int n;

	if (r->dead)
		return error_set(err, ERR_PROTOCOL, "the stream has failed before");
	n = r->noise ? feed_noise(r, bytes, len, used, err) : feed_clear(r, bytes, len, used, err);
	if (n < 0)
		r->dead = true;
	return n;
}

static int check_header(struct frame_reader *r, const uint8_t *h, struct error *err)
{
	uint32_t len = get_u32(h);
	unsigned type = get_u16(h + 4), flags = get_u16(h + 6);
	int64_t limit = msg_limit(type, r->from, err);

	if (limit < 0)
		return -1;
	if (flags != 0)
		return error_set(err, ERR_PROTOCOL, "a frame with unknown flags %#x", flags);
	if (len > limit)
		return error_set(err, ERR_PROTOCOL, "a %s of %u bytes; at most %lld are allowed",
		        msg_name(type), len, (long long)limit);
	r->checked = true;
	return 0;
}

int frame_reader_next(struct frame_reader *r, struct frame *out, struct error *err)
{
	size_t held = r->end - r->start;
	const uint8_t *h;
	size_t len;

	if (r->dead)
		return error_set(err, ERR_PROTOCOL, "the stream has failed before");
	if (held == 0)
		give_back(r);
	if (held < FRAME_HEADER_LEN)
		return 0;
	h = r->buf + r->start;
	if (!r->checked && check_header(r, h, err) < 0) {
		r->dead = true;
		return -1;
	}
	len = get_u32(h);
	if (held - FRAME_HEADER_LEN < len)
		return 0;
	out->type = get_u16(h + 4);
	out->id = get_u64(h + 8);
	out->body = h + FRAME_HEADER_LEN;
	out->len = len;
	r->start += FRAME_HEADER_LEN + len;
	r->checked = false;
	return 1;
}

size_t frame_reader_held(const struct frame_reader *r)
{
	return r->end - r->start;
}

void frame_put_header(uint8_t out[FRAME_HEADER_LEN], unsigned type, uint64_t id, uint32_t len)
{
	put_u32(out, len);
	put_u16(out + 4, (uint16_t)type);
	put_u16(out + 6, 0);
	put_u64(out + 8, id);
}

int frame_pack(unsigned type, uint64_t id, const ProtobufCMessage *m, uint8_t **bytes,
        size_t *len, struct error *err)
{
	int64_t n = msg_packed_size(type, m, err);
	uint8_t *p;

	if (n < 0)
		return -1;
	p = malloc(FRAME_HEADER_LEN + (size_t)n);
	if (!p)
		return error_set(err, ERR_SYSTEM, "out of memory");
	frame_put_header(p, type, id, (uint32_t)n);
	protobuf_c_message_pack(m, p + FRAME_HEADER_LEN);
	*bytes = p;
	*len = FRAME_HEADER_LEN + (size_t)n;
	return 0;
}

size_t frame_sealed_len(size_t len)
{
	size_t messages = (len + FRAME_CHUNK_MAX - 1) / FRAME_CHUNK_MAX;

	return len + messages * (FRAME_WIRE_HEAD + NOISE_TAG_LEN);
}

int frame_seal(struct noise *noise, const void *plain, size_t len, uint8_t *out, struct error *err)
{
	const uint8_t *p = plain;

	while (len > 0) {
		size_t n = len < FRAME_CHUNK_MAX ? len : FRAME_CHUNK_MAX, sealed;

		if (noise_write(noise, p, n, out + FRAME_WIRE_HEAD, n + NOISE_TAG_LEN, &sealed,
		            err) < 0)
			return -1;
		put_u16(out, (uint16_t)sealed);
		out += FRAME_WIRE_HEAD + sealed;
		p += n;
		len -= n;
	}
	return 0;
}
