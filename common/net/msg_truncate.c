/* msg_truncate.c - see msg_truncate.h */
#include "common/net/msg_truncate.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/xalloc.h"
#include "common/net/msg.h"
#include "common/net/msgfield.h"

#define FIELDS_MAX 128 /* of a message; msg_validate.c */
#define BORDER     64  /* a text is cut behind a comma, if one is so near */

typedef ProtobufCFieldDescriptor field_t;

static bool is_text(const field_t *f)
{
	return f->type == PROTOBUF_C_TYPE_STRING;
}

static bool is_member(const field_t *f)
{
	return f->type == PROTOBUF_C_TYPE_MESSAGE;
}

static const char *text_of(const ProtobufCMessage *m, const field_t *f)
{
	const char *s = *(char **)msgfield_at(m, f);

	return s ? s : "";
}

/* The messages in a field, of which one may be NULL; none of a field of another kind. */
static ProtobufCMessage **members_of(const ProtobufCMessage *m, const field_t *f, size_t *n)
{
	*n = 0;
	if (!is_member(f))
		return NULL;
	*n = msgfield_is_list(f) ? *msgfield_count(m, f) : 1;
	return msgfield_is_list(f) ? (void *)msgfield_elements(m, f) : msgfield_at(m, f);
}

/* --- saying what was cut --------------------------------------------------------------------- */

static const field_t *cut_field(const ProtobufCMessage *m)
{
	const field_t *f = protobuf_c_message_descriptor_get_field_by_name(m->descriptor, "cut");

	return f && msgfield_is_list(f) && is_text(f) ? f : NULL;
}

/* The message whose `cut` names what is cut, and the field to name: of the innermost message that
 * has one. */
struct marker {
	ProtobufCMessage *m; /* NULL: none has */
	const field_t *cut, *f;
};

static const struct marker nobody;

/* For what is in `m`. */
static struct marker marker_of(struct marker outer, ProtobufCMessage *m)
{
	const field_t *cut = cut_field(m);

	return cut ? (struct marker){ m, cut, NULL } : outer;
}

static struct marker marker_at(struct marker marker, const ProtobufCMessage *m, const field_t *f)
{
	if (marker.m == m)
		marker.f = f;
	return marker;
}

static void mark(struct marker marker, struct arena *arena)
{
	char **names;
	size_t *n;

	if (!marker.m)
		return;
	n = msgfield_count(marker.m, marker.cut);
	names = (char **)(void *)msgfield_elements(marker.m, marker.cut);
	for (size_t i = 0; i < *n; i++)
		if (!strcmp(names[i], marker.f->name))
			return;
	if (*n == 0)
		*(char ***)msgfield_at(marker.m, marker.cut) = names =
		        arena_take(arena, marker.m->descriptor->n_fields * sizeof(*names));
	names[(*n)++] = (char *)(uintptr_t)marker.f->name;
}

/* --- texts ----------------------------------------------------------------------------------- */

/* How much of a text stays, of at most `max` bytes: whole characters. */
static size_t whole_characters(const char *s, size_t max)
{
	while (max > 0 && ((unsigned char)s[max] & 0xc0) == 0x80)
		max--;
	return max;
}

static char *cut_text(const char *s, size_t max, struct arena *arena)
{
	size_t keep = whole_characters(s, max - strlen(MSG_CUT_MARK));
	char *copy = arena_take(arena, keep + sizeof(MSG_CUT_MARK));

	for (size_t i = keep; i > 0 && keep - i < BORDER; i--)
		if (s[i - 1] == ',') {
			keep = i;
			break;
		}
	memcpy(copy, s, keep);
	strcpy(copy + keep, MSG_CUT_MARK);
	return copy;
}

static bool too_long(const char *s, size_t max)
{
	return s && strnlen(s, max + 1) > max;
}

/* A list of texts may be borrowed: it is copied before one of them is changed. */
static bool cut_texts_of(
        const ProtobufCMessage *m, const field_t *f, size_t max, struct arena *arena)
{
	size_t n = *msgfield_count(m, f);
	char **v = (char **)(void *)msgfield_elements(m, f), **copy = NULL;

	for (size_t i = 0; i < n; i++) {
		if (!too_long(v[i], max))
			continue;
		if (!copy) {
			copy = arena_take(arena, n * sizeof(*copy));
			memcpy(copy, v, n * sizeof(*copy));
		}
		copy[i] = cut_text(v[i], max, arena);
	}
	if (copy)
		*(char ***)msgfield_at(m, f) = copy;
	return copy != NULL;
}

/* All texts in a message, and in its members, that have more than `max` bytes. */
static void cut_texts(ProtobufCMessage *m, struct marker outer, size_t max, struct arena *arena)
{
	struct marker own = marker_of(outer, m);

	for (unsigned i = 0; i < m->descriptor->n_fields; i++) {
		const field_t *f = &m->descriptor->fields[i];
		struct marker marker = marker_at(own, m, f);
		char **s = msgfield_at(m, f);
		size_t n;
		ProtobufCMessage **v = members_of(m, f, &n);

		for (size_t k = 0; k < n; k++)
			if (v[k])
				cut_texts(v[k], marker, max, arena);
		if (is_text(f) && msgfield_is_list(f)) {
			if (f != own.cut && cut_texts_of(m, f, max, arena))
				mark(marker, arena);
		} else if (is_text(f) && too_long(*s, max)) {
			*s = cut_text(*s, max, arena);
			mark(marker, arena);
		}
	}
}

/* --- sizes ----------------------------------------------------------------------------------- */

static size_t varint_size(uint64_t v)
{
	size_t n = 1;

	while (v >>= 7)
		n++;
	return n;
}

/* Packed, with its tag; of numbers at most that. */
static size_t value_size(const field_t *f, const char *p)
{
	size_t tag = varint_size((uint64_t)f->id << 3), n;

	switch (f->type) {
	case PROTOBUF_C_TYPE_STRING:
		n = *(char *const *)(const void *)p ? strlen(*(char *const *)(const void *)p) : 0;
		break;
	case PROTOBUF_C_TYPE_BYTES:
		n = ((const ProtobufCBinaryData *)(const void *)p)->len;
		break;
	case PROTOBUF_C_TYPE_MESSAGE:
		n = protobuf_c_message_get_packed_size(
		        *(ProtobufCMessage *const *)(const void *)p);
		break;
	case PROTOBUF_C_TYPE_UINT32:
		return varint_size(*(const uint32_t *)(const void *)p);
	case PROTOBUF_C_TYPE_UINT64:
		return varint_size(*(const uint64_t *)(const void *)p);
	default:
		return msgfield_size(f->type);
	}
	return tag + varint_size(n) + n;
}

static size_t list_size(const ProtobufCMessage *m, const field_t *f)
{
	const char *p = msgfield_elements(m, f);
	size_t size = 0;

	for (size_t i = 0; i < *msgfield_count(m, f); i++)
		size += value_size(f, p + i * msgfield_size(f->type));
	return size;
}

/* How many elements are left, if the last ones are taken that need `excess` bytes; always fewer
 * than there are. */
static size_t list_keep(const ProtobufCMessage *m, const field_t *f, size_t excess)
{
	const char *p = msgfield_elements(m, f);
	size_t n = *msgfield_count(m, f), gone = 0;

	while (n > 0 && gone < excess)
		gone += value_size(f, p + --n * msgfield_size(f->type));
	return n;
}

/* --- lists ----------------------------------------------------------------------------------- */

/* The ends of all lists that have more than `max` bytes: those of lists inside first. */
static void cut_lists(ProtobufCMessage *m, struct marker outer, size_t max, struct arena *arena)
{
	struct marker own = marker_of(outer, m);

	for (unsigned i = 0; i < m->descriptor->n_fields; i++) {
		const field_t *f = &m->descriptor->fields[i];
		struct marker marker = marker_at(own, m, f);
		size_t n, size;
		ProtobufCMessage **v = members_of(m, f, &n);

		for (size_t k = 0; k < n; k++)
			if (v[k])
				cut_lists(v[k], marker, max, arena);
		if (!marker.m || !msgfield_is_list(f) || f == marker.cut)
			continue;
		size = list_size(m, f);
		if (size <= max)
			continue;
		*msgfield_count(m, f) = list_keep(m, f, size - max);
		mark(marker, arena);
	}
}

/* A receiver takes no more elements than so many, however small they are. */
static void cut_counts(ProtobufCMessage *m, struct marker outer, struct arena *arena)
{
	struct marker own = marker_of(outer, m);

	for (unsigned i = 0; i < m->descriptor->n_fields; i++) {
		const field_t *f = &m->descriptor->fields[i];
		struct marker marker = marker_at(own, m, f);
		size_t n;
		ProtobufCMessage **v = members_of(m, f, &n);

		if (msgfield_is_list(f) && *msgfield_count(m, f) > MSG_ELEMENTS_MAX && marker.m) {
			*msgfield_count(m, f) = MSG_ELEMENTS_MAX;
			mark(marker, arena);
		}
		for (size_t k = 0; k < n; k++)
			if (v[k])
				cut_counts(v[k], marker, arena);
	}
}

bool msg_too_many(const ProtobufCMessage *m)
{
	for (unsigned i = 0; i < m->descriptor->n_fields; i++) {
		const field_t *f = &m->descriptor->fields[i];
		size_t n;
		ProtobufCMessage **v = members_of(m, f, &n);

		if (msgfield_is_list(f) && *msgfield_count(m, f) > MSG_ELEMENTS_MAX)
			return true;
		for (size_t k = 0; k < n; k++)
			if (v[k] && msg_too_many(v[k]))
				return true;
	}
	return false;
}

/* `outer`: the message that records the cut, if `m` has no field for it. */
static size_t fit(ProtobufCMessage *m, struct marker outer, size_t max, struct arena *arena)
{
	static const size_t texts[] = { MSG_TEXT_MAX, 1024, 256 };
	size_t size = protobuf_c_message_get_packed_size(m);

	if (size <= MSG_TEXT_MAX && size <= max)
		return size;
	if (size > MSG_ELEMENTS_MAX)
		cut_counts(m, outer, arena);
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		cut_texts(m, outer, texts[i], arena);
		size = protobuf_c_message_get_packed_size(m);
		if (size <= max)
			return size;
	}
	for (size_t list = max / 2; size > max && list > 0; list /= 2) {
		cut_lists(m, outer, list, arena);
		size = protobuf_c_message_get_packed_size(m);
	}
	return size;
}

size_t msg_fit(ProtobufCMessage *m, size_t max, struct arena *arena)
{
	return fit(m, nobody, max, arena);
}

/* --- pieces ---------------------------------------------------------------------------------- */

/* What the fields of a message were before it was split. */
struct before {
	char *p; /* the text, or the elements */
	size_t n;
};

static void note_before(const ProtobufCMessage *m, struct before *before)
{
	for (unsigned i = 0; i < m->descriptor->n_fields; i++) {
		const field_t *f = &m->descriptor->fields[i];

		if (msgfield_is_list(f))
			before[i] = (struct before){ msgfield_elements(m, f),
				*msgfield_count(m, f) };
		else if (is_text(f))
			before[i] = (struct before){ (char *)(uintptr_t)text_of(m, f),
				strlen(text_of(m, f)) };
	}
}

/* The largest text or list of the message itself; -1: all of them are empty. */
static int largest_field(const ProtobufCMessage *m)
{
	size_t most = 0;
	int best = -1;

	for (unsigned i = 0; i < m->descriptor->n_fields; i++) {
		const field_t *f = &m->descriptor->fields[i];
		size_t size = 0;

		if (msgfield_is_list(f))
			size = f == cut_field(m) ? 0 : list_size(m, f);
		else if (is_text(f))
			size = strlen(text_of(m, f));
		if (size > most) {
			most = size;
			best = (int)i;
		}
	}
	return best;
}

/* A list with more elements than one message may have; -1: there is none. */
static int longest_list(const ProtobufCMessage *m)
{
	for (unsigned i = 0; i < m->descriptor->n_fields; i++) {
		const field_t *f = &m->descriptor->fields[i];

		if (msgfield_is_list(f) && *msgfield_count(m, f) > MSG_ELEMENTS_MAX)
			return (int)i;
	}
	return -1;
}

/* The end of a field goes to `rest`: so many bytes, and elements
 * that are too many for one message. */
static void move_end(ProtobufCMessage *m, ProtobufCMessage *rest, const field_t *f,
        const struct before *before, size_t excess, struct arena *arena)
{
	size_t keep, len;
	char *copy;

	if (msgfield_is_list(f)) {
		keep = list_keep(m, f, excess);
		keep = keep < MSG_ELEMENTS_MAX ? keep : MSG_ELEMENTS_MAX;
		*msgfield_count(m, f) = keep;
		*msgfield_count(rest, f) = before->n - keep;
		*(char **)msgfield_at(rest, f) = before->p + keep * msgfield_size(f->type);
		return;
	}
	len = strlen(text_of(m, f));
	keep = whole_characters(before->p, len > excess ? len - excess : 0);
	copy = arena_take(arena, keep + 1);
	memcpy(copy, before->p, keep);
	copy[keep] = '\0';
	*(char **)msgfield_at(m, f) = copy;
	*(char **)msgfield_at(rest, f) = before->p + keep;
}

/* What stays in one piece: elements of lists, and what members have. */
static void fit_elements(ProtobufCMessage *m, size_t max, struct arena *arena)
{
	struct marker own = marker_of(nobody, m);

	for (unsigned i = 0; i < m->descriptor->n_fields; i++) {
		const field_t *f = &m->descriptor->fields[i];
		struct marker marker = marker_at(own, m, f);
		size_t n;
		ProtobufCMessage **v = members_of(m, f, &n);

		if (is_text(f) && msgfield_is_list(f) && f != own.cut &&
		        cut_texts_of(m, f, MSG_TEXT_MAX, arena))
			mark(marker, arena);
		for (size_t k = 0; k < n; k++)
			if (v[k])
				fit(v[k], marker, max, arena);
	}
}

ProtobufCMessage *msg_split(ProtobufCMessage *m, size_t max, struct arena *arena)
{
	size_t size = protobuf_c_message_get_packed_size(m);
	struct before before[FIELDS_MAX];
	ProtobufCMessage *rest;
	int i;

	if (m->descriptor->n_fields > FIELDS_MAX ||
	        (size <= max && (size <= MSG_ELEMENTS_MAX || !msg_too_many(m))))
		return NULL;
	fit_elements(m, max / 2, arena);
	note_before(m, before);
	rest = arena_take(arena, m->descriptor->sizeof_message);
	m->descriptor->message_init(rest);
	while ((i = longest_list(m)) >= 0)
		move_end(m, rest, &m->descriptor->fields[i], &before[i], 1, arena);
	for (size = protobuf_c_message_get_packed_size(m);
	        size > max && (i = largest_field(m)) >= 0;
	        size = protobuf_c_message_get_packed_size(m))
		move_end(m, rest, &m->descriptor->fields[i], &before[i], size - max, arena);
	return protobuf_c_message_get_packed_size(rest) ? rest : NULL;
}

static void join_text(ProtobufCMessage *whole, const field_t *f, const char *more)
{
	char **to = msgfield_at(whole, f);
	size_t len = *to ? strlen(*to) : 0, n = strlen(more);
	char *all;

	if (!n)
		return;
	all = xcalloc(len + n + 1, 1);
	if (len)
		memcpy(all, *to, len);
	memcpy(all + len, more, n + 1);
	if (*to != f->default_value && *to != protobuf_c_empty_string)
		free(*to);
	*to = all;
}

/* A copy of its own of one element. */
static void copy_element(const field_t *f, char *to, const char *from)
{
	const ProtobufCMessage *m;
	ProtobufCBinaryData *b;

	if (is_text(f)) {
		*(char **)(void *)to = xstrdup(*(char *const *)(const void *)from);
	} else if (is_member(f)) {
		m = *(ProtobufCMessage *const *)(const void *)from;
		*(ProtobufCMessage **)(void *)to = msg_copy(m);
	} else if (f->type == PROTOBUF_C_TYPE_BYTES) {
		b = (ProtobufCBinaryData *)(void *)to;
		*b = *(const ProtobufCBinaryData *)(const void *)from;
		b->data = xmemdup(b->data, b->len);
	} else {
		memcpy(to, from, msgfield_size(f->type));
	}
}

static void join_list(ProtobufCMessage *whole, const field_t *f, const ProtobufCMessage *piece)
{
	size_t each = msgfield_size(f->type), n = *msgfield_count(piece, f);
	const char *from = msgfield_elements(piece, f);
	size_t *count = msgfield_count(whole, f);
	char **to = msgfield_at(whole, f);

	if (!n)
		return;
	*to = xrealloc(*to, *count + n, each);
	for (size_t i = 0; i < n; i++)
		copy_element(f, *to + (*count + i) * each, from + i * each);
	*count += n;
}

void msg_join(ProtobufCMessage *whole, const ProtobufCMessage *piece)
{
	for (unsigned i = 0; i < whole->descriptor->n_fields; i++) {
		const field_t *f = &whole->descriptor->fields[i];

		if (msgfield_is_list(f))
			join_list(whole, f, piece);
		else if (is_text(f))
			join_text(whole, f, text_of(piece, f));
	}
}
