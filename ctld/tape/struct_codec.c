/* struct_codec.c - see struct_codec.h */
#include "ctld/tape/struct_codec.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/xalloc.h"
#include "ctld/core/util/hash.h"

static const struct field u32_fields[] = { { "", WIRE_U32, 0, 0, 0, NULL } };
static const struct field u64_fields[] = { { "", WIRE_U64, 0, 0, 0, NULL } };
static const struct field text_fields[] = { { "", WIRE_TEXT, 0, 0, 1, NULL } };
const struct form form_u32 = FORM("u32", uint32_t, u32_fields);
const struct form form_u64 = FORM("u64", uint64_t, u64_fields);
const struct form form_text = FORM("text", const char *, text_fields);

/* --- what was read --------------------------------------------------------------------------- */

static void *pool_take(struct pool *p, size_t n, size_t size)
{
	return *XADD(p->v, p->n, p->size) = xcalloc(n, size);
}

void pool_empty(struct pool *p)
{
	while (p->n)
		free(p->v[--p->n]);
}

void pool_free(struct pool *p)
{
	pool_empty(p);
	free(p->v);
	*p = (struct pool){ .v = NULL };
}

/* --- writing --------------------------------------------------------------------------------- */

/* Pointers are read and written as bytes: fields point to many types. */
static void *pointer_at(const void *field)
{
	void *p;

	memcpy(&p, field, sizeof(p));
	return p;
}

static void write_items(const struct form *s, const char *v, size_t n, struct bytes *out)
{
	for (; n; n--, v += s->size)
		form_write(s, v, out);
}

static void write_refs(const struct form *s, const char *v, size_t n, struct bytes *out)
{
	bytes_u64(out, v != NULL);
	for (size_t i = 0; v && i < n; i++) {
		const void *one = pointer_at(v + i * sizeof(void *));

		bytes_u64(out, one != NULL);
		if (one)
			form_write(s, one, out);
	}
}

static void write_number(enum wire wire, const void *at, struct bytes *out)
{
	if (wire == WIRE_BOOL)
		bytes_u64(out, *(const bool *)at);
	else if (wire == WIRE_U8)
		bytes_u64(out, *(const uint8_t *)at);
	else if (wire == WIRE_U32)
		bytes_u64(out, *(const uint32_t *)at);
	else if (wire == WIRE_U64)
		bytes_u64(out, *(const uint64_t *)at);
	else if (wire == WIRE_I32)
		bytes_i64(out, *(const int32_t *)at);
	else
		bytes_i64(out, *(const int64_t *)at);
}

/* How many there are, and then they. */
static void write_several(const struct field *f, const char *object, struct bytes *out)
{
	const char *v = f->wire == WIRE_SOME ? object + f->at : pointer_at(object + f->at);
	const size_t *count = (const void *)(object + f->count);
	size_t n = f->wire == WIRE_MAY ? v != NULL : *count;

	bytes_u64(out, n);
	if (f->wire == WIRE_MAY_LIST)
		bytes_u64(out, v != NULL);
	if (f->wire == WIRE_REFS)
		write_refs(f->of, v, n, out);
	else if (v)
		write_items(f->of, v, n, out);
}

static void write_field(const struct field *f, const char *object, struct bytes *out)
{
	const void *at = object + f->at;

	switch (f->wire) {
	case WIRE_BOOL:
	case WIRE_U8:
	case WIRE_U32:
	case WIRE_I32:
	case WIRE_U64:
	case WIRE_I64:
		write_number(f->wire, at, out);
		break;
	case WIRE_TEXT:
		bytes_text(out, pointer_at(at));
		break;
	case WIRE_RAW:
		bytes_raw(out, at, f->max);
		break;
	case WIRE_PART:
		form_write(f->of, at, out);
		break;
	case WIRE_SOME:
	case WIRE_LIST:
	case WIRE_MAY_LIST:
	case WIRE_MAY:
	case WIRE_REFS:
		write_several(f, object, out);
		break;
	}
}

void form_write(const struct form *s, const void *object, struct bytes *out)
{
	for (size_t i = 0; i < s->n; i++)
		write_field(&s->v[i], object, out);
}

/* --- reading --------------------------------------------------------------------------------- */

/* The fewest bytes that one can be: what bounds a count by the bytes that are left. */
static size_t least(const struct form *s)
{
	size_t sum = 0, i;

	for (i = 0; i < s->n; i++) {
		const struct field *f = &s->v[i];

		sum += f->wire == WIRE_RAW ? f->max : f->wire == WIRE_PART ? least(f->of) : 1;
	}
	return sum;
}

/* Are there bytes for so many? */
static void check_room(const struct form *s, uint64_t n, struct taker *in)
{
	if (n > take_left(in) || n * least(s) > take_left(in))
		in->bad = true;
}

static size_t read_count(const struct field *f, struct taker *in)
{
	uint64_t n = take_up_to(in, f->max);

	if (f->wire == WIRE_SOME || f->wire == WIRE_LIST)
		check_room(f->of, n, in);
	return in->bad ? 0 : (size_t)n;
}

static void read_items(const struct form *s, char *v, size_t n, struct taker *in, struct pool *p)
{
	for (; n && !in->bad; n--, v += s->size)
		form_read(s, v, in, p);
}

static void *read_list(const struct form *s, size_t n, struct taker *in, struct pool *pool)
{
	void *v = n ? pool_take(pool, n, s->size) : NULL;

	read_items(s, v, n, in, pool);
	return v;
}

static void *read_refs(const struct form *s, size_t n, struct taker *in, struct pool *pool)
{
	void **v;

	if (!take_up_to(in, 1))
		return NULL;
	in->bad |= n > take_left(in);
	v = in->bad ? NULL : pool_take(pool, n ? n : 1, sizeof(*v));
	for (size_t i = 0; i < n && !in->bad; i++)
		v[i] = read_list(s, (size_t)take_up_to(in, 1), in, pool);
	return v;
}

static void *read_may_list(const struct form *s, size_t n, struct taker *in, struct pool *pool)
{
	if (!take_up_to(in, 1))
		return NULL;
	check_room(s, n, in);
	return in->bad ? NULL : read_list(s, n, in, pool);
}

static void read_text(const struct field *f, void *at, struct taker *in)
{
	const char *s = take_text(in);

	if (!s && f->max)
		in->bad = true;
	memcpy(at, &s, sizeof(s));
}

static void read_pointer(const struct field *f, char *object, struct taker *in, struct pool *pool)
{
	size_t n = f->wire == WIRE_MAY ? (size_t)take_up_to(in, 1) : read_count(f, in);
	void *v = f->wire == WIRE_REFS       ? read_refs(f->of, n, in, pool)
	          : f->wire == WIRE_MAY_LIST ? read_may_list(f->of, n, in, pool)
	                                     : read_list(f->of, n, in, pool);

	memcpy(object + f->at, &v, sizeof(v));
	if (f->wire != WIRE_MAY)
		memcpy(object + f->count, &n, sizeof(n));
}

static int32_t read_i32(struct taker *in)
{
	int64_t x = take_i64(in);

	in->bad |= x < INT32_MIN || x > INT32_MAX;
	return in->bad ? 0 : (int32_t)x;
}

static void read_raw(const struct field *f, void *at, struct taker *in)
{
	const void *raw = take_raw(in, f->max);

	if (raw)
		memcpy(at, raw, f->max);
}

static void read_field(const struct field *f, char *object, struct taker *in, struct pool *pool)
{
	void *at = object + f->at;
	size_t n;

	switch (f->wire) {
	case WIRE_BOOL:
		*(bool *)at = take_up_to(in, 1);
		break;
	case WIRE_U8:
		*(uint8_t *)at = (uint8_t)take_up_to(in, UINT8_MAX);
		break;
	case WIRE_U32:
		*(uint32_t *)at = (uint32_t)take_up_to(in, UINT32_MAX);
		break;
	case WIRE_I32:
		*(int32_t *)at = read_i32(in);
		break;
	case WIRE_U64:
		*(uint64_t *)at = take_u64(in);
		break;
	case WIRE_I64:
		*(int64_t *)at = take_i64(in);
		break;
	case WIRE_TEXT:
		read_text(f, at, in);
		break;
	case WIRE_RAW:
		read_raw(f, at, in);
		break;
	case WIRE_PART:
		form_read(f->of, at, in, pool);
		break;
	case WIRE_SOME:
		n = read_count(f, in);
		read_items(f->of, at, n, in, pool);
		memcpy(object + f->count, &n, sizeof(n));
		break;
	case WIRE_LIST:
	case WIRE_MAY_LIST:
	case WIRE_MAY:
	case WIRE_REFS:
		read_pointer(f, object, in, pool);
		break;
	}
}

void form_read(const struct form *s, void *object, struct taker *in, struct pool *pool)
{
	for (size_t i = 0; i < s->n && !in->bad; i++)
		read_field(&s->v[i], object, in, pool);
}

uint64_t form_hash(const struct form *s, uint64_t seed)
{
	uint64_t h = hash_bytes(s->name, strlen(s->name), seed);

	for (size_t i = 0; i < s->n; i++) {
		const struct field *f = &s->v[i];

		h = hash_u64((uint64_t)f->wire, hash_bytes(f->name, strlen(f->name), h));
		if (f->of)
			h = form_hash(f->of, h);
	}
	return h;
}
