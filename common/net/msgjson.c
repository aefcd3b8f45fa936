/* msgjson.c - see msgjson.h */
#include "common/net/msgjson.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "common/base/text.h"
#include "common/net/msgfield.h"

#define USEC_PER_S 1000000

static json_t *object(const ProtobufCMessage *m, unsigned flags);

static bool ends_with(const char *s, const char *end)
{
	size_t n = strlen(s), e = strlen(end);

	return n >= e && strcmp(s + n - e, end) == 0;
}

bool msgjson_is_time(const ProtobufCFieldDescriptor *f)
{
	static const char *const names[] = { "time", "last_heard", "since", "recheck", "expires" };

	if (f->type != PROTOBUF_C_TYPE_INT64)
		return false;
	return text_among(f->name, names, sizeof(names) / sizeof(names[0])) ||
	       ends_with(f->name, "_time");
}

/* JSON's numbers end where C's do not: beyond, the digits as a string. */
static json_t *unsigned_number(uint64_t v)
{
	char digits[24];

	if (v <= INT64_MAX)
		return json_integer((json_int_t)v);
	snprintf(digits, sizeof(digits), "%" PRIu64, v);
	return json_string(digits);
}

static json_t *text_or_base64(const uint8_t *p, size_t len)
{
	char *b64;
	size_t n;
	json_t *j;

	if (len == 0 || text_plain_prefix((const char *)p, len) == len)
		return json_stringn(len ? (const char *)p : "", len);
	n = sodium_base64_ENCODED_LEN(len, sodium_base64_VARIANT_ORIGINAL);
	b64 = malloc(n);
	if (!b64)
		return NULL;
	sodium_bin2base64(b64, n, p, len, sodium_base64_VARIANT_ORIGINAL);
	j = json_pack("{ss}", "base64", b64);
	free(b64);
	return j;
}

/* How much of an enum's names, up to an underscore, all of them share: CAUSE_ of CAUSE_EXIT. */
static size_t shared_prefix(const ProtobufCEnumDescriptor *e)
{
	const char *first = e->values[0].name;
	size_t n = strlen(first);

	for (unsigned i = 1; i < e->n_values; i++) {
		const char *name = e->values[i].name;
		size_t k = 0;

		while (k < n && name[k] == first[k])
			k++;
		n = k;
	}
	while (n > 0 && first[n - 1] != '_')
		n--;
	return n;
}

static json_t *enum_name(const ProtobufCEnumDescriptor *e, int value)
{
	const ProtobufCEnumValue *v = protobuf_c_enum_descriptor_get_value(e, value);
	char name[64];
	size_t i = 0;

	if (!v)
		return json_integer(value);
	for (const char *p = v->name + shared_prefix(e); *p && i < sizeof(name) - 1; p++)
		name[i++] = (char)tolower((unsigned char)*p);
	name[i] = '\0';
	return json_string(name);
}

static json_t *time_value(int64_t us, unsigned flags)
{
	if (flags & MSGJSON_RAW_TIME)
		return json_integer(us);
	return us ? json_integer(us / USEC_PER_S) : json_null();
}

/* One value at `p`, which is aligned as the struct of the message has it. */
static json_t *value(const ProtobufCFieldDescriptor *f, const void *p, unsigned flags)
{
	const ProtobufCBinaryData *b = p;
	const char *s;
	double d;

	switch (f->type) {
	case PROTOBUF_C_TYPE_INT32:
	case PROTOBUF_C_TYPE_SINT32:
	case PROTOBUF_C_TYPE_SFIXED32:
		return json_integer(*(const int32_t *)p);
	case PROTOBUF_C_TYPE_UINT32:
	case PROTOBUF_C_TYPE_FIXED32:
		return json_integer(*(const uint32_t *)p);
	case PROTOBUF_C_TYPE_INT64:
	case PROTOBUF_C_TYPE_SINT64:
	case PROTOBUF_C_TYPE_SFIXED64:
		return msgjson_is_time(f) ? time_value(*(const int64_t *)p, flags)
		                  : json_integer(*(const int64_t *)p);
	case PROTOBUF_C_TYPE_UINT64:
	case PROTOBUF_C_TYPE_FIXED64:
		return unsigned_number(*(const uint64_t *)p);
	case PROTOBUF_C_TYPE_FLOAT:
	case PROTOBUF_C_TYPE_DOUBLE:
		d = f->type == PROTOBUF_C_TYPE_FLOAT ? *(const float *)p : *(const double *)p;
		/* JSON knows no infinity and no NaN. */
		return d - d == 0 ? json_real(d) : json_null();
	case PROTOBUF_C_TYPE_BOOL:
		return json_boolean(*(const protobuf_c_boolean *)p);
	case PROTOBUF_C_TYPE_ENUM:
		return enum_name(f->descriptor, *(const int *)p);
	case PROTOBUF_C_TYPE_STRING:
		s = *(char *const *)p;
		return s ? text_or_base64((const uint8_t *)s, strlen(s)) : json_string("");
	case PROTOBUF_C_TYPE_BYTES:
		return text_or_base64(b->data, b->len);
	case PROTOBUF_C_TYPE_MESSAGE:
		return *(ProtobufCMessage *const *)p ? object(*(ProtobufCMessage *const *)p, flags)
		                                     : json_null();
	}
	return json_null();
}

static json_t *list(const ProtobufCFieldDescriptor *f, const ProtobufCMessage *m, unsigned flags)
{
	size_t n = *msgfield_count(m, f);
	const char *p = msgfield_elements(m, f);
	json_t *array = json_array();

	for (size_t i = 0; array && i < n; i++) {
		if (json_array_append_new(array, value(f, p + i * msgfield_size(f->type), flags)) <
		        0) {
			json_decref(array);
			return NULL;
		}
	}
	return array;
}

/* As proto3 has it: the default is 0, "" or nothing. */
static bool is_empty(const ProtobufCFieldDescriptor *f, const ProtobufCMessage *m)
{
	static const char zero[8];
	const char *p = msgfield_at(m, f);

	if (msgfield_is_list(f))
		return *msgfield_count(m, f) == 0;
	if (f->type == PROTOBUF_C_TYPE_STRING)
		return !*(char *const *)p || !**(char *const *)p;
	if (f->type == PROTOBUF_C_TYPE_BYTES)
		return ((const ProtobufCBinaryData *)p)->len == 0;
	return memcmp(p, zero, msgfield_size(f->type)) == 0;
}

static json_t *object(const ProtobufCMessage *m, unsigned flags)
{
	json_t *o = json_object();

	for (unsigned i = 0; o && i < m->descriptor->n_fields; i++) {
		const ProtobufCFieldDescriptor *f = &m->descriptor->fields[i];
		json_t *j;

		if ((flags & MSGJSON_SKIP_EMPTY) && is_empty(f, m))
			continue;
		j = msgfield_is_list(f) ? list(f, m, flags) : value(f, msgfield_at(m, f), flags);
		if (json_object_set_new(o, f->name, j) < 0) {
			json_decref(o);
			return NULL;
		}
	}
	return o;
}

json_t *msgjson(const ProtobufCMessage *m, unsigned flags)
{
	return object(m, flags);
}
