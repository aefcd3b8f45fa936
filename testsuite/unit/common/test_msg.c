/* test_msg.c - the table of messages, hostile bodies, the arena */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "common/net/frame.h"
#include "common/net/msg.h"
#include "common/net/msg_validate.h"

#define T(sym) GPUSCHED__MSG_TYPE__MSG_##sym

static struct arena *arena;

/* Every MsgType but NONE has a row, rows ascend, and the scanner's arrays fit. */
static void test_table(void **state)
{
	const ProtobufCEnumDescriptor *e = &gpusched__msg_type__descriptor;
	size_t n;
	const struct msg_type *rows = msg_types(&n);

	(void)state;
	assert_int_equal(n + 1, e->n_values);
	for (size_t i = 0; i < n; i++) {
		assert_true(i == 0 || rows[i - 1].type < rows[i].type);
		assert_ptr_equal(msg_type(rows[i].type), &rows[i]);
		assert_non_null(protobuf_c_enum_descriptor_get_value(e, rows[i].type));
		assert_true(rows[i].from != 0 && rows[i].max_len >= MSG_BODY_MAX);
		assert_true(rows[i].max_len <= MSG_BODY_MAX_JOB);
		assert_true(rows[i].desc->n_fields <= 128);
	}
	assert_null(msg_type(0));
	assert_null(msg_type(31));
	assert_null(msg_type(70000));
	assert_string_equal(msg_name(T(PING)), "ping");
	assert_string_equal(msg_name(12345), "unknown");
}

static void test_roundtrip(void **state)
{
	Gpusched__JobControl in = GPUSCHED__JOB_CONTROL__INIT, *out;
	Gpusched__JobFilter filter = GPUSCHED__JOB_FILTER__INIT;
	uint64_t ids[] = { 1, 300, UINT64_MAX };
	char *users[] = { "ann", "b\xc3\xb6rn" };
	struct frame_reader *r = frame_reader_new(NULL, MSG_BY_USER);
	struct frame f;
	uint8_t *bytes;
	size_t len, used;

	(void)state;
	in.verb = GPUSCHED__JOB_CONTROL__VERB__HOLD;
	in.filter = &filter;
	filter.ids = ids;
	filter.n_ids = 3;
	filter.users = users;
	filter.n_users = 2;
	assert_int_equal(frame_pack(T(JOB_CONTROL), 77, &in.base, &bytes, &len, NULL), 0);
	assert_int_equal(frame_reader_feed(r, bytes, len, &used, NULL), 0);
	assert_int_equal(frame_reader_next(r, &f, NULL), 1);
	assert_int_equal(f.id, 77);
	out = (Gpusched__JobControl *)msg_unpack(f.type, f.body, f.len, arena, NULL);
	assert_non_null(out);
	assert_int_equal(out->verb, in.verb);
	assert_int_equal(out->filter->n_ids, 3);
	assert_memory_equal(out->filter->ids, ids, sizeof(ids));
	assert_string_equal(out->filter->users[1], users[1]);
	free(bytes);
	frame_reader_free(r);
}

/* Bodies by hand: what must be refused, how. */
static void test_bodies(void **state)
{
	static const struct {
		const char *what;
		unsigned type;
		const char *bytes;
		size_t len;
		int want; /* error code */
	} rows[] = {
#define B(s) s, sizeof(s) - 1
		{ "empty", T(PING), B(""), 0 },
		{ "unknown field", T(PING), B("\x08\x01"), 0 },
		{ "no field 0", T(PING), B("\x00\x01"), ERR_PROTOCOL },
		{ "a tag alone", T(PING), B("\x08"), ERR_PROTOCOL },
		{ "a group", T(PING), B("\x0b\x0c"), ERR_PROTOCOL },
		{ "endless varint", T(PING), B("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"),
		        ERR_PROTOCOL },
		{ "huge tag", T(PING), B("\xff\xff\xff\xff\xff\x0f\x01"), ERR_PROTOCOL },
		{ "string", T(LIST_JOBS),
		        B("\x0a\x05\x12\x03"
		          "ann"),
		        0 },
		{ "length past the end", T(LIST_JOBS),
		        B("\x0a\x06\x12\x03"
		          "ann"),
		        ERR_PROTOCOL },
		{ "length past its message", T(LIST_JOBS),
		        B("\x0a\x05\x12\x04"
		          "ann"
		          "\x0a\x00"),
		        ERR_PROTOCOL },
		{ "length of 2^64-1", T(LIST_JOBS),
		        B("\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), ERR_PROTOCOL },
		{ "string of the wrong wire type", T(LIST_JOBS), B("\x0a\x02\x10\x01"),
		        ERR_PROTOCOL },
		{ "message of the wrong wire type", T(LIST_JOBS), B("\x08\x01"), ERR_PROTOCOL },
		{ "number of the wrong wire type", T(JOB_CONTROL), B("\x0a\x01\x01"),
		        ERR_PROTOCOL },
		{ "NUL in a string", T(LIST_JOBS),
		        B("\x0a\x05\x12\x03"
		          "a\0b"),
		        ERR_USAGE },
		{ "newline in a string", T(LIST_JOBS),
		        B("\x0a\x05\x12\x03"
		          "a\nb"),
		        ERR_USAGE },
		{ "escape in a string", T(LIST_JOBS),
		        B("\x0a\x05\x12\x03"
		          "a\x1b"
		          "b"),
		        ERR_USAGE },
		{ "C1 control", T(LIST_JOBS),
		        B("\x0a\x04\x12\x02"
		          "\xc2\x9b"),
		        ERR_USAGE },
		{ "not UTF-8", T(LIST_JOBS),
		        B("\x0a\x03\x12\x01"
		          "\xff"),
		        ERR_USAGE },
		{ "surrogate", T(LIST_JOBS),
		        B("\x0a\x05\x12\x03"
		          "\xed\xa0\x80"),
		        ERR_USAGE },
		{ "packed numbers", T(WAIT_JOBS), B("\x0a\x03\x01\x02\x03"), 0 },
		{ "unpacked numbers", T(WAIT_JOBS), B("\x08\x01\x08\x02"), 0 },
		{ "packed, cut", T(WAIT_JOBS), B("\x0a\x02\x01\x80"), ERR_PROTOCOL },
		{ "not a message of ours", T(SUBMIT), B("GET / HTTP/1.1\r\n"), ERR_PROTOCOL },
#undef B
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct error err = { 0 };
		ProtobufCMessage *m =
		        msg_unpack(rows[i].type, rows[i].bytes, rows[i].len, arena, &err);

		if ((m == NULL) != (rows[i].want != 0) || (!m && err.code != rows[i].want))
			fail_msg("%s: %d %s", rows[i].what, err.code, err.text);
	}
}

static void test_strict(void **state)
{
	static const uint8_t spec[] = { 0x08, 0x01, 0xf8, 0x07, 0x01 }; /* version 1, field 127 */
	const ProtobufCMessageDescriptor *d = &gpusched__signed_spec__descriptor;
	Gpusched__SignedSpec *s;

	(void)state;
	arena_reset(arena, 100000);
	s = (Gpusched__SignedSpec *)msg_unpack_desc(d, spec, 5, 0, arena, NULL);
	assert_non_null(s);
	assert_int_equal(s->version, 1);
	assert_int_equal(s->base.n_unknown_fields, 1);
	assert_null(msg_unpack_desc(d, spec, 5, MSG_STRICT, arena, NULL));
	assert_non_null(msg_unpack_desc(d, spec, 2, MSG_STRICT, arena, NULL));
}

static void test_enums(void **state)
{
	static const uint8_t unknown[] = { 0x08, 0x63 }, known[] = { 0x08, 0x02 },
	                     negative[] = { 0x08, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
		                     0xff, 0x01 };
	/* Register.runs[0].state = 200, .run = {} */
	static const uint8_t nested[] = { 0x4a, 0x05, 0x0a, 0x00, 0x10, 0xc8, 0x01 };
	Gpusched__JobControl *jc;
	Gpusched__Register *r;

	(void)state;
	jc = (Gpusched__JobControl *)msg_unpack(T(JOB_CONTROL), known, 2, arena, NULL);
	assert_int_equal(jc->verb, 2);
	jc = (Gpusched__JobControl *)msg_unpack(T(JOB_CONTROL), unknown, 2, arena, NULL);
	assert_int_equal(jc->verb, 0);
	jc = (Gpusched__JobControl *)msg_unpack(T(JOB_CONTROL), negative, 11, arena, NULL);
	assert_int_equal(jc->verb, 0);
	r = (Gpusched__Register *)msg_unpack(T(REGISTER), nested, 7, arena, NULL);
	assert_non_null(r);
	assert_int_equal(r->n_runs, 1);
	assert_int_equal(r->runs[0]->state, 0);
}

/* Many elements of nothing: cheap to send, costly to hold. */
static void test_bombs(void **state)
{
	static const struct {
		unsigned type;
		uint8_t tag;
		size_t len;
	} rows[] = {
		{ T(SUBMIT), 0x12, MSG_BODY_MAX_JOB },   /* over its own limit of 64 */
		{ T(REGISTER), 0x4a, MSG_BODY_MAX_JOB }, /* runs: 2.3 million empty records */
		{ T(JOB_CHUNK), 0x0a, MSG_BODY_MAX_MANY },
		{ T(PING), 0x0a, MSG_BODY_MAX }, /* unknown fields */
	};
	struct error err;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint8_t *b = calloc(1, rows[i].len);

		for (size_t j = 0; j < rows[i].len; j += 2)
			b[j] = rows[i].tag;
		if (rows[i].type != T(PING))
			assert_null(msg_unpack(rows[i].type, b, rows[i].len, arena, &err));
		else
			assert_true(msg_unpack(rows[i].type, b, rows[i].len, arena, &err) ||
			            err.code == ERR_PROTOCOL);
		assert_true(arena_used(arena) <= 25 * 1024 * 1024);
		free(b);
	}
}

/* 64 jobs are fine, 65 are not; nor is a body over the type's size. */
static void test_limits(void **state)
{
	Gpusched__SubmitJob job = GPUSCHED__SUBMIT_JOB__INIT, *jobs[65];
	Gpusched__Submit s = GPUSCHED__SUBMIT__INIT;
	Gpusched__Reply reply = GPUSCHED__REPLY__INIT;
	char *big = malloc(MSG_BODY_MAX + 1);
	struct error err;
	uint8_t buf[1024], *bytes;
	size_t len;

	(void)state;
	for (int i = 0; i < 65; i++)
		jobs[i] = &job;
	s.jobs = jobs;
	for (s.n_jobs = 64; s.n_jobs <= 65; s.n_jobs++) {
		len = gpusched__submit__pack(&s, buf);
		assert_int_equal(
		        msg_unpack(T(SUBMIT), buf, len, arena, &err) != NULL, s.n_jobs == 64);
	}
	assert_int_equal(err.code, ERR_USAGE);

	memset(big, 'x', MSG_BODY_MAX);
	big[MSG_BODY_MAX] = '\0';
	reply.text = big;
	assert_int_equal(frame_pack(T(REPLY), 1, &reply.base, &bytes, &len, &err), -1);
	assert_int_equal(err.code, ERR_PROTOCOL);
	assert_int_equal(msg_packed_size(T(PONG), &reply.base, &err), -1); /* not that type */
	assert_null(msg_unpack(T(REPLY), big, MSG_BODY_MAX + 1, arena, &err));
	free(big);
}

/* A script of the largest size goes through. */
static void test_large(void **state)
{
	Gpusched__SubmitJob job = GPUSCHED__SUBMIT_JOB__INIT, *jobs[1] = { &job };
	Gpusched__Submit s = GPUSCHED__SUBMIT__INIT, *out;
	uint8_t *script = calloc(1, MSG_SCRIPT_MAX), *bytes;
	size_t len;

	(void)state;
	memset(script, 'a', MSG_SCRIPT_MAX);
	s.jobs = jobs;
	s.n_jobs = 1;
	job.script.data = script;
	job.script.len = MSG_SCRIPT_MAX;
	assert_int_equal(frame_pack(T(SUBMIT), 1, &s.base, &bytes, &len, NULL), 0);
	out = (Gpusched__Submit *)msg_unpack(
	        T(SUBMIT), bytes + FRAME_HEADER_LEN, len - FRAME_HEADER_LEN, arena, NULL);
	assert_non_null(out);
	assert_int_equal(out->jobs[0]->script.len, MSG_SCRIPT_MAX);
	free(script);
	free(bytes);
}

static void test_arena(void **state)
{
	struct arena *a = arena_new(1000);
	char *p, *q;

	(void)state;
	p = arena_alloc(a, 600);
	assert_non_null(p);
	memset(p, 1, 600);
	assert_false(arena_refused(a));
	assert_null(arena_alloc(a, 401));
	assert_true(arena_refused(a));
	assert_non_null(arena_alloc(a, 300));
	assert_null(arena_alloc(a, SIZE_MAX));
	arena_reset(a, 10 << 20);
	assert_false(arena_refused(a));
	assert_int_equal(arena_used(a), 0);
	q = arena_alloc(a, 600);
	assert_ptr_equal(p, q); /* the first chunk is kept */
	for (int i = 0; i < 1000; i++) {
		p = arena_alloc(a, (size_t)i * 7 + 1);
		assert_non_null(p);
		assert_int_equal((uintptr_t)p % _Alignof(max_align_t), 0);
		memset(p, i, (size_t)i * 7 + 1);
	}
	assert_null(arena_alloc(a, 10 << 20));
	assert_string_equal(arena_strdup(a, "text"), "text");
	arena_free(a);
	/* nothing forever: empty allocations count */
	a = arena_new(10000);
	for (int i = 0; i < 10000 && arena_alloc(a, 0); i++)
		assert_true(i < 1000);
	assert_true(arena_refused(a));
	arena_free(a);
	arena_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_table),
		cmocka_unit_test(test_roundtrip),
		cmocka_unit_test(test_bodies),
		cmocka_unit_test(test_strict),
		cmocka_unit_test(test_enums),
		cmocka_unit_test(test_bombs),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_large),
		cmocka_unit_test(test_arena),
	};
	int r;

	arena = arena_new(1 << 20);
	r = cmocka_run_group_tests(tests, NULL, NULL);
	arena_free(arena);
	return r;
}
