/* convert_text.c - see convert_text.h */
#include "ctld/wire/convert_text.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/text.h"

char *wire_lend(const char *s)
{
	return (char *)(s ? s : "");
}

char *wire_shown(const char *s, struct arena *arena)
{
	size_t len = s ? strlen(s) : 0;
	char *copy;

	if (len == 0 || text_plain_prefix(s, len) == len)
		return wire_lend(s);
	copy = arena_take(arena, 4 * len + 8);
	text_escape(copy, 4 * len + 8, s, len);
	return copy;
}

char *wire_copied(const char *s, struct arena *arena)
{
	size_t size = 4 * strlen(s) + 8;
	char *copy = arena_take(arena, size);

	text_escape(copy, size, s, strlen(s));
	return copy;
}

ProtobufCBinaryData wire_lend_bytes(const void *p, size_t n)
{
	return (ProtobufCBinaryData){ .len = n, .data = (uint8_t *)p };
}

Gpusched__RunId *wire_run_name(struct run_id run, struct arena *arena)
{
	Gpusched__RunId *m = WIRE_NEW(Gpusched__RunId, GPUSCHED__RUN_ID__INIT, arena);

	COPY_FIELDS(m, &run, job, task, attempt, rank);
	return m;
}

Gpusched__RunId **wire_run_names(const struct run_id *runs, size_t n, struct arena *arena)
{
	Gpusched__RunId **v = arena_take(arena, n * sizeof(*v));

	for (size_t i = 0; i < n; i++)
		v[i] = wire_run_name(runs[i], arena);
	return v;
}

uint32_t *wire_indices(uint64_t set, size_t *n, struct arena *arena)
{
	uint32_t *v = arena_take(arena, 64 * sizeof(*v));

	*n = 0;
	for (uint32_t i = 0; i < 64; i++)
		if (set >> i & 1)
			v[(*n)++] = i;
	return v;
}

Gpusched__KeyValue **wire_labels(const struct label *labels, size_t n, struct arena *arena)
{
	Gpusched__KeyValue **v = arena_take(arena, n * sizeof(*v));

	for (size_t i = 0; i < n; i++) {
		v[i] = WIRE_NEW(Gpusched__KeyValue, GPUSCHED__KEY_VALUE__INIT, arena);
		WIRE_SHOW(v[i], &labels[i], key, value);
	}
	return v;
}

const char *wire_string(const ProtobufCBinaryData *b, struct arena *arena)
{
	char *s = arena_alloc(arena, b->len + 1);

	if (!s)
		return NULL;
	if (b->len)
		memcpy(s, b->data, b->len);
	s[b->len] = '\0';
	return s;
}
