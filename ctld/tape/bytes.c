/* bytes.c - see bytes.h */
#include "ctld/tape/bytes.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/xalloc.h"

#define NUMBER_MAX 10 /* bytes of a number */

static uint8_t *space_for(struct bytes *b, size_t n)
{
	if (b->size - b->n < n) {
		b->size = b->size * 2 > b->n + n ? b->size * 2 : b->n + n + 256;
		b->v = xrealloc(b->v, b->size, 1);
	}
	return b->v + b->n;
}

void bytes_raw(struct bytes *b, const void *p, size_t n)
{
	if (n)
		memcpy(space_for(b, n), p, n);
	b->n += n;
}

void bytes_u64(struct bytes *b, uint64_t x)
{
	uint8_t *at = space_for(b, NUMBER_MAX);
	size_t n = 0;

	for (; x >= 0x80; x >>= 7)
		at[n++] = (uint8_t)(x | 0x80);
	at[n++] = (uint8_t)x;
	b->n += n;
}

void bytes_i64(struct bytes *b, int64_t x)
{
	bytes_u64(b, (uint64_t)x << 1 ^ (x < 0 ? UINT64_MAX : 0));
}

void bytes_text(struct bytes *b, const char *s)
{
	size_t n = s ? strlen(s) + 1 : 0;

	bytes_u64(b, n);
	bytes_raw(b, s, n);
}

void bytes_free(struct bytes *b)
{
	free(b->v);
	*b = (struct bytes){ .v = NULL };
}

size_t take_left(const struct taker *t)
{
	return (size_t)(t->end - t->p);
}

const void *take_raw(struct taker *t, size_t n)
{
	const uint8_t *at = t->p;

	if (t->bad || take_left(t) < n) {
		t->bad = true;
		return NULL;
	}
	t->p += n;
	return at;
}

uint64_t take_u64(struct taker *t)
{
	uint64_t x = 0, byte;

	for (unsigned shift = 0; shift < 64 && !t->bad && t->p < t->end; shift += 7) {
		byte = *t->p++;
		if (shift == 63 && byte > 1)
			break;
		x |= (byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return x;
	}
	t->bad = true;
	return 0;
}

uint64_t take_up_to(struct taker *t, uint64_t max)
{
	uint64_t x = take_u64(t);

	if (x <= max)
		return x;
	t->bad = true;
	return 0;
}

int64_t take_i64(struct taker *t)
{
	uint64_t x = take_u64(t);

	return (int64_t)(x >> 1 ^ (x & 1 ? UINT64_MAX : 0));
}

const char *take_text(struct taker *t)
{
	uint64_t n = take_up_to(t, take_left(t));
	const char *s = n ? take_raw(t, (size_t)n) : NULL;

	if (!s || !memchr(s, '\0', (size_t)n - 1))
		t->bad |= s && s[n - 1];
	else
		t->bad = true; /* it ends before its end */
	return t->bad ? NULL : s;
}
