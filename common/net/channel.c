/* channel.c - see channel.h */
#include "common/net/channel.h"

#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "common/base/text.h"
#include "common/base/wirenum.h"
#include "common/base/xalloc.h"

struct channel {
	struct noise *noise;
	size_t n; /* bytes in `in` */
	uint8_t in[CHANNEL_WIRE_MAX];
	uint8_t plain[1 + CHANNEL_DATA_MAX];
};

struct channel *channel_new(struct noise *noise)
{
	struct channel *c = xcalloc(1, sizeof(*c));

	c->noise = noise;
	return c;
}

void channel_free(struct channel *c)
{
	if (!c)
		return;
	noise_free(c->noise);
	sodium_memzero(c, sizeof(*c));
	free(c);
}

size_t channel_seal(struct channel *c, unsigned kind, const void *data, size_t len,
        uint8_t out[CHANNEL_WIRE_MAX], struct error *err)
{
	size_t n;

	if (len > CHANNEL_DATA_MAX) {
		error_set(err, ERR_INTERNAL, "a message of %zu bytes", len);
		return 0;
	}
	/* In place: payload and output may be the same in transport (noise.h). */
	out[2] = (uint8_t)kind;
	if (len)
		memcpy(out + 3, data, len);
	if (noise_write(c->noise, out + 2, 1 + len, out + 2, CHANNEL_WIRE_MAX - 2, &n, err) < 0)
		return 0;
	put_u16(out, (uint16_t)n);
	return 2 + n;
}

size_t channel_feed(struct channel *c, const void *bytes, size_t len)
{
	size_t room = sizeof(c->in) - c->n, n = len < room ? len : room;

	memcpy(c->in + c->n, bytes, n);
	c->n += n;
	return n;
}

int channel_next(struct channel *c, struct channel_message *out, struct error *err)
{
	size_t len, n;

	if (c->n < 2)
		return 0;
	len = get_u16(c->in);
	if (len < 1 + NOISE_TAG_LEN || len > CHANNEL_WIRE_MAX - 2)
		return error_set(err, ERR_PROTOCOL, "a message of %zu bytes on a stream", len);
	if (c->n < 2 + len)
		return 0;
	if (noise_read(c->noise, c->in + 2, len, c->plain, sizeof(c->plain), &n, err) < 0)
		return -1;
	c->n -= 2 + len;
	memmove(c->in, c->in + 2 + len, c->n);
	*out = (struct channel_message){ .kind = c->plain[0], .data = c->plain + 1, .len = n - 1 };
	return 1;
}

/* --- the parts of messages ------------------------------------------------------------------ */

#define HAD (UINT64_C(1) << 63)

void channel_put_log(uint8_t out[CHANNEL_LOG_LEN], const struct channel_log *log)
{
	out[0] = log->error;
	out[1] = log->follow;
	put_u64(out + 2, log->had ? log->had | HAD : log->lines);
	put_u64(out + 10, log->at);
}

int channel_get_log(const struct channel_message *m, struct channel_log *log, struct error *err)
{
	if (m->kind != CHANNEL_LOG || m->len != CHANNEL_LOG_LEN || m->data[0] > 1 || m->data[1] > 1)
		return error_set(err, ERR_PROTOCOL, "not a request for a log");
	*log = (struct channel_log){ .error = m->data[0],
		.follow = m->data[1],
		.lines = get_u64(m->data + 2),
		.at = get_u64(m->data + 10) };
	if (log->lines != UINT64_MAX && log->lines & HAD) {
		log->had = log->lines & ~HAD;
		log->lines = UINT64_MAX;
	}
	return 0;
}

void channel_put_tail(uint8_t out[CHANNEL_TAIL_LEN], const struct channel_tail *tail)
{
	out[0] = tail->error;
	put_u64(out + 1, tail->lines);
	put_u32(out + 9, tail->owner);
}

int channel_get_tail(const struct channel_message *m, struct channel_tail *tail, struct error *err)
{
	if (m->kind != CHANNEL_TAIL || m->len != CHANNEL_TAIL_LEN || m->data[0] > 1)
		return error_set(err, ERR_PROTOCOL, "not a request for the end of a log");
	*tail = (struct channel_tail){ .error = m->data[0],
		.lines = get_u64(m->data + 1),
		.owner = get_u32(m->data + 9) };
	return 0;
}

void channel_put_at(uint8_t out[CHANNEL_AT_LEN], uint64_t at)
{
	put_u64(out, at);
}

int channel_get_at(const struct channel_message *m, uint64_t *at, struct error *err)
{
	if (m->kind != CHANNEL_AT || m->len != CHANNEL_AT_LEN)
		return error_set(err, ERR_PROTOCOL, "not a place in a log");
	*at = get_u64(m->data);
	return 0;
}

void channel_put_attach(uint8_t out[CHANNEL_ATTACH_LEN], const struct channel_attach *a)
{
	out[0] = a->resume;
	put_u64(out + 1, a->out);
	put_u64(out + 9, a->err);
	put_u16(out + 17, a->rows);
	put_u16(out + 19, a->cols);
}

int channel_get_attach(const struct channel_message *m, struct channel_attach *a, struct error *err)
{
	if (m->kind != CHANNEL_ATTACH || m->len != CHANNEL_ATTACH_LEN || m->data[0] > 1)
		return error_set(err, ERR_PROTOCOL, "not a client that attaches");
	*a = (struct channel_attach){ .resume = m->data[0],
		.out = get_u64(m->data + 1),
		.err = get_u64(m->data + 9),
		.rows = get_u16(m->data + 17),
		.cols = get_u16(m->data + 19) };
	return 0;
}

void channel_put_taken(uint8_t out[CHANNEL_TAKEN_LEN], const struct channel_taken *t)
{
	put_u64(out, t->out);
	put_u64(out + 8, t->err);
}

int channel_get_taken(const struct channel_message *m, struct channel_taken *t, struct error *err)
{
	if (m->kind != CHANNEL_TAKEN || m->len != CHANNEL_TAKEN_LEN)
		return error_set(err, ERR_PROTOCOL, "not what was taken");
	*t = (struct channel_taken){ get_u64(m->data), get_u64(m->data + 8) };
	return 0;
}

void channel_put_attached(uint8_t out[CHANNEL_ATTACHED_LEN], const struct channel_attached *a)
{
	out[0] = a->pty;
	out[1] = a->in_ended;
	put_u64(out + 2, a->in);
	put_u64(out + 10, a->in_taken);
	put_u64(out + 18, a->out);
	put_u64(out + 26, a->err);
}

int channel_get_attached(
        const struct channel_message *m, struct channel_attached *a, struct error *err)
{
	if (m->kind != CHANNEL_ATTACHED || m->len != CHANNEL_ATTACHED_LEN || m->data[0] > 1 ||
	        m->data[1] > 1)
		return error_set(err, ERR_PROTOCOL, "not the answer to a client that attaches");
	*a = (struct channel_attached){ .pty = m->data[0],
		.in_ended = m->data[1],
		.in = get_u64(m->data + 2),
		.in_taken = get_u64(m->data + 10),
		.out = get_u64(m->data + 18),
		.err = get_u64(m->data + 26) };
	return 0;
}

size_t channel_put_end(uint8_t out[CHANNEL_END_MAX], const struct error *why)
{
	size_t n = strlen(why->text);

	n = n < CHANNEL_END_MAX - 2 ? n : CHANNEL_END_MAX - 2;
	put_u16(out, (uint16_t)why->code);
	memcpy(out + 2, why->text, n);
	return 2 + n;
}

/* The text comes from a process of the run's owner: it is shown escaped. */
int channel_get_end(const struct channel_message *m, struct error *why, struct error *err)
{
	char text[CHANNEL_END_MAX];
	unsigned code;

	if (m->kind != CHANNEL_END || m->len < 2 || m->len > CHANNEL_END_MAX)
		return error_set(err, ERR_PROTOCOL, "not the end of a stream");
	code = get_u16(m->data);
	text_escape(text, sizeof(text), (const char *)m->data + 2, m->len - 2);
	error_set(why, code < ERR_COUNT ? (int)code : ERR_INTERNAL, "%s", text);
	return 0;
}
