/* msg_validate.c - see msg_validate.h; the wire format: protobuf.dev/programming-guides/encoding */
#include "common/net/msg_validate.h"

#include <stdint.h>

#include "common/base/text.h"
#include "common/gpusched.pb-c.h"

#define MAX_FIELDS 128 /* of one message; checked by test_msg */
#define MAX_DEPTH  8

/* How many elements a repeated field may have. The arena limits what they may cost; these limits
 * are what handlers may rely on. To add one: a row. */
static const struct limit {
	const ProtobufCMessageDescriptor *desc;
	unsigned field;
	unsigned max;
} limits[] = {
	{ &gpusched__submit__descriptor, 2, MSG_SUBMIT_JOBS },
	{ &gpusched__job_request__descriptor, 2, 16 },  /* gpus: alternatives */
	{ &gpusched__job_request__descriptor, 10, 64 }, /* labels */
	{ &gpusched__job_filter__descriptor, 1, 16384 },
	{ &gpusched__job_filter__descriptor, 2, 1024 },
	{ &gpusched__job_filter__descriptor, 3, 1024 },
	{ &gpusched__job_filter__descriptor, 4, 64 },
	{ &gpusched__job_filter__descriptor, 5, 1024 },
	{ &gpusched__job_filter__descriptor, 6, 4096 },
	{ &gpusched__job_filter__descriptor, 8, 16384 },
	{ &gpusched__job_filter__descriptor, 9, 1024 },
	{ &gpusched__job_filter__descriptor, 10, 1024 },
	{ &gpusched__wait_jobs__descriptor, 1, 16384 },
	{ &gpusched__wait_jobs__descriptor, 2, 10000 },
	{ &gpusched__resign__descriptor, 2, MSG_SUBMIT_JOBS },
	{ &gpusched__resign__descriptor, 260, MSG_SUBMIT_JOBS },
	{ &gpusched__register__descriptor, 7, 64 }, /* gpus: a set of them is one word */
	{ &gpusched__registered__descriptor, 3, 64 },
	{ &gpusched__run_report__descriptor, 12, 64 },
	{ &gpusched__start_run__descriptor, 11, 64 },
	{ &gpusched__start_run__descriptor, 22, 64 },
};

static unsigned limit_of(const ProtobufCMessageDescriptor *desc, unsigned field)
{
	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++)
		if (limits[i].desc == desc && limits[i].field == field)
			return limits[i].max;
	return MSG_ELEMENTS_MAX;
}

struct cursor {
	const uint8_t *p, *end;
};

enum wire { WIRE_VARINT = 0, WIRE_64 = 1, WIRE_BYTES = 2, WIRE_32 = 5 };

static int malformed(const ProtobufCMessageDescriptor *desc, struct error *err)
{
	return error_set(err, ERR_PROTOCOL, "a malformed %s", desc->short_name);
}

/* At most 10 bytes, as protobuf-c reads them. */
static bool read_varint(struct cursor *c, uint64_t *out)
{
	uint64_t v = 0;

	for (int shift = 0; shift < 70; shift += 7) {
		if (c->p == c->end)
			return false;
		v |= (uint64_t)(*c->p & 0x7f) << (shift < 64 ? shift : 63);
		if (!(*c->p++ & 0x80)) {
			*out = v;
			return true;
		}
	}
	return false;
}

/* One value behind its tag: `value` is what it consists of, without the length prefix. */
static bool read_value(struct cursor *c, unsigned wire, struct cursor *value)
{
	uint64_t n;

	value->p = c->p;
	switch (wire) {
	case WIRE_VARINT:
		if (!read_varint(c, &n))
			return false;
		break;
	case WIRE_64:
	case WIRE_32:
		n = wire == WIRE_64 ? 8 : 4;
		if ((size_t)(c->end - c->p) < n)
			return false;
		c->p += n;
		break;
	case WIRE_BYTES:
		if (!read_varint(c, &n) || (uint64_t)(c->end - c->p) < n)
			return false;
		value->p = c->p;
		c->p += n;
		break;
	default: /* groups are not used */
		return false;
	}
	value->end = c->p;
	return true;
}

/* What a field of this type looks like on the wire, when it is not packed. */
static unsigned wire_of(ProtobufCType type)
{
	switch (type) {
	case PROTOBUF_C_TYPE_SFIXED32:
	case PROTOBUF_C_TYPE_FIXED32:
	case PROTOBUF_C_TYPE_FLOAT:
		return WIRE_32;
	case PROTOBUF_C_TYPE_SFIXED64:
	case PROTOBUF_C_TYPE_FIXED64:
	case PROTOBUF_C_TYPE_DOUBLE:
		return WIRE_64;
	case PROTOBUF_C_TYPE_STRING:
	case PROTOBUF_C_TYPE_BYTES:
	case PROTOBUF_C_TYPE_MESSAGE:
		return WIRE_BYTES;
	default:
		return WIRE_VARINT;
	}
}

/* Elements of a packed field; -1: malformed. */
static int64_t count_packed(unsigned wire, struct cursor value)
{
	struct cursor element;
	int64_t n = 0;

	for (; value.p < value.end; n++)
		if (!read_value(&value, wire, &element))
			return -1;
	return n;
}

static int scan(const ProtobufCMessageDescriptor *desc, struct cursor c, bool strict, int depth,
        struct error *err);

/* One value of a known field; returns how many elements it is. */
static int64_t scan_field(const ProtobufCMessageDescriptor *desc, const ProtobufCFieldDescriptor *f,
        unsigned wire, struct cursor value, bool strict, int depth, struct error *err)
{
	unsigned want = wire_of(f->type);
	int64_t n = 1;

	if (wire != want) {
		/* a repeated number may come packed */
		if (f->label != PROTOBUF_C_LABEL_REPEATED || wire != WIRE_BYTES)
			return malformed(desc, err);
		n = count_packed(want, value);
		return n < 0 ? malformed(desc, err) : n;
	}
	if (f->type == PROTOBUF_C_TYPE_MESSAGE &&
	        scan(f->descriptor, value, strict, depth + 1, err) < 0)
		return -1;
	if (f->type == PROTOBUF_C_TYPE_STRING &&
	        text_plain_prefix((const char *)value.p, (size_t)(value.end - value.p)) !=
	                (size_t)(value.end - value.p))
		return error_set(err, ERR_USAGE, "%s.%s: not plain text (UTF-8, one line)",
		        desc->short_name, f->name);
	return n;
}

static int scan(const ProtobufCMessageDescriptor *desc, struct cursor c, bool strict, int depth,
        struct error *err)
{
	uint32_t count[MAX_FIELDS] = { 0 };

	if (depth > MAX_DEPTH || desc->n_fields > MAX_FIELDS)
		return error_set(err, ERR_PROTOCOL, "%s: too deep", desc->short_name);
	while (c.p < c.end) {
		const ProtobufCFieldDescriptor *f;
		struct cursor value;
		uint64_t tag;
		int64_t n;

		if (!read_varint(&c, &tag) || tag > UINT32_MAX || tag >> 3 == 0 ||
		        !read_value(&c, tag & 7, &value))
			return malformed(desc, err);
		f = protobuf_c_message_descriptor_get_field(desc, (unsigned)(tag >> 3));
		if (!f && strict)
			return error_set(err, ERR_PROTOCOL, "%s: unknown field %u",
			        desc->short_name, (unsigned)(tag >> 3));
		if (!f)
			continue;
		n = scan_field(desc, f, tag & 7, value, strict, depth, err);
		if (n < 0)
			return -1;
		if (f->label != PROTOBUF_C_LABEL_REPEATED)
			continue;
		if (n > limit_of(desc, f->id) - count[f - desc->fields])
			return error_set(err, ERR_USAGE, "%s.%s: more than %u entries",
			        desc->short_name, f->name, limit_of(desc, f->id));
		count[f - desc->fields] += (uint32_t)n;
	}
	return 0;
}

int msgscan(const ProtobufCMessageDescriptor *desc, const void *bytes, size_t len, bool strict,
        struct error *err)
{
	const uint8_t *p = bytes;

	return scan(desc, (struct cursor){ p, p + len }, strict, 0, err);
}
