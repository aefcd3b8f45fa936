/* test_answers.c - every answer fits its frame, whatever is in it
 *
 * Messages are filled along their descriptors: each text and each list as long as is tried, beyond
 * all limits that the controller has for them. What comes out is read as a client reads it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cmds/api/reassemble.h"
#include "common/base/xalloc.h"
#include "common/net/frame.h"
#include "common/net/msg.h"
#include "common/net/msg_truncate.h"
#include "common/net/msgfield.h"
#include "ctld/rpc/call/answer_parts.h"
#include "ctld/wire/answer_frame.h"
#include "testsuite/unit/lib/amount.h"
#include "testsuite/unit/lib/wire_arena.h"

#define T(sym) GPUSCHED__MSG_TYPE__MSG_##sym

/* How much is put into a message: bytes of each text; elements of its lists, and of those inside. */
struct amount {
	size_t text, list, inner;
};

#define MANY 70000

static struct amount amounts[] = {
	{ 0, 0, 0 },
	{ 5, 1, 1 },
	{ 255, 16, 16 },
	{ MSG_TEXT_MAX, 3, 3 },
	{ MSG_TEXT_MAX + 1, 3, 3 },
	{ 511, 700, 2 },
	{ 64, 64, 20 },
	{ 60000, 2, 1 },
	{ 1100000, 1, 0 },
	{ 3, MANY, 1 },
	{ 3, 1, MANY },
};

#define N_AMOUNTS (sizeof(amounts) / sizeof(amounts[0]))

/* "1,3,5,..." with a character of two bytes now and then. */
static char *long_text(size_t n)
{
	static const char piece[] = "41,\xc3\xa4,7-99:3,";
	char *s = arena_alloc(arena, n + 1);
	size_t at = 0;

	while (at + sizeof(piece) - 1 <= n) {
		memcpy(s + at, piece, sizeof(piece) - 1);
		at += sizeof(piece) - 1;
	}
	memset(s + at, '8', n - at);
	s[n] = '\0';
	return s;
}

static ProtobufCMessage *filled(
        const ProtobufCMessageDescriptor *desc, const struct amount *a, unsigned depth);

static void fill_value(
        const ProtobufCFieldDescriptor *f, void *p, const struct amount *a, unsigned depth)
{
	if (f->type == PROTOBUF_C_TYPE_STRING)
		*(char **)p = long_text(a->text);
	else if (f->type == PROTOBUF_C_TYPE_MESSAGE)
		*(ProtobufCMessage **)p = filled(f->descriptor, a, depth + 1);
	else if (f->type == PROTOBUF_C_TYPE_ENUM)
		*(int *)p = 1;
	else if (f->type == PROTOBUF_C_TYPE_BOOL)
		*(protobuf_c_boolean *)p = 1;
	else if (f->type == PROTOBUF_C_TYPE_DOUBLE)
		*(double *)p = 0.1;
	else if (f->type != PROTOBUF_C_TYPE_BYTES)
		memset(p, 0xff, msgfield_size(f->type));
}

static bool is(const ProtobufCFieldDescriptor *f, const char *name)
{
	return !strcmp(f->name, name);
}

/* Of messages fewer: they have lists in turn. */
static size_t elements(const ProtobufCFieldDescriptor *f, const struct amount *a, unsigned depth)
{
	size_t n = depth ? a->inner : a->list;
	size_t most = f->type != PROTOBUF_C_TYPE_MESSAGE ? SIZE_MAX : depth < 2 ? 700 : 3;

	return n < most ? n : most;
}

static ProtobufCMessage *filled(
        const ProtobufCMessageDescriptor *desc, const struct amount *a, unsigned depth)
{
	ProtobufCMessage *m = arena_alloc(arena, desc->sizeof_message);

	desc->message_init(m);
	for (unsigned i = 0; i < desc->n_fields; i++) {
		const ProtobufCFieldDescriptor *f = &desc->fields[i];
		size_t n = elements(f, a, depth), each = msgfield_size(f->type);
		char *v;

		if (is(f, "cut") || is(f, "more") || is(f, "continues"))
			continue;
		if (!msgfield_is_list(f)) {
			fill_value(f, msgfield_at(m, f), a, depth);
			continue;
		}
		v = arena_alloc(arena, n * each + 1);
		memset(v, 0, n * each);
		if (n) /* one element many times: it is only read */
			fill_value(f, v, a, depth);
		for (size_t k = 1; k < n; k++)
			memcpy(v + k * each, v, each);
		*(char **)msgfield_at(m, f) = v;
		*msgfield_count(m, f) = n;
	}
	return m;
}

/* What a client takes of a frame; dies with the next one. */
static ProtobufCMessage *received(const uint8_t *bytes, size_t len)
{
	static struct arena *other;
	struct frame_reader *r = frame_reader_new(NULL, MSG_BY_CONTROLLER);
	ProtobufCMessage *m = NULL;
	struct error err = { .text = "" };
	struct frame f;
	size_t used;

	if (!other)
		other = arena_new(0);
	if (frame_reader_feed(r, bytes, len, &used, &err) == 0 &&
	        frame_reader_next(r, &f, &err) == 1)
		m = msg_unpack(f.type, f.body, f.len, other, &err);
	if (!m)
		print_error("%s\n", err.text);
	assert_non_null(m);
	frame_reader_free(r);
	return m;
}

/* --- single answers -------------------------------------------------------------------------- */

/* Those of which only a part may be left out are told in parts by who makes them. */
static bool told_in_parts(unsigned type)
{
	static const unsigned types[] = { T(JOB_CHUNK), T(NODE_CHUNK), T(PARTITION_CHUNK),
		T(PRIO_CHUNK), T(SHARE_CHUNK), T(CONFIG_CHUNK), T(ACCT_CHUNK), T(REPORT_CHUNK),
		T(EVENT_CHUNK), T(STEP_CHUNK), T(BULK_RESULT), T(STATS_RESULT), T(SCRIPT_RESULT) };

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (types[i] == type)
			return true;
	return false;
}

/* An answer is sent, cut perhaps, or is an error that says what is wrong; nothing else. */
static void test_answers(void **state)
{
	size_t n;
	const struct msg_type *types = msg_types(&n);

	(void)state;
	for (size_t i = 0; i < n; i++) {
		if (!(types[i].from & MSG_BY_CONTROLLER) ||
		        (types[i].type >= T(REGISTER) && types[i].type != T(STEP_CHUNK)))
			continue;
		for (size_t k = 0; k < N_AMOUNTS; k++) {
			struct error err = { .code = ERR_NONE };
			uint8_t *bytes;
			size_t len;

			arena_reset(arena, WIRE_ARENA_CAP);
			if (answer_pack(types[i].type, 7, filled(types[i].desc, &amounts[k], 0),
			            &bytes, &len, &err) < 0) {
				assert_int_equal(err.code, ERR_ANSWER_SIZE);
				assert_non_null(strstr(err.text, types[i].name));
				assert_true(*err.hint);
				if (!told_in_parts(types[i].type))
					print_error("%s: %s\n", types[i].name, err.text);
				assert_true(told_in_parts(types[i].type));
				continue;
			}
			assert_true(len - FRAME_HEADER_LEN <= types[i].max_len);
			received(bytes, len);
			free(bytes);
		}
	}
}

/* --- parts ----------------------------------------------------------------------------------- */

struct kind {
	unsigned type;
	const ProtobufCMessageDescriptor *chunk, *item;
	bool pieces; /* it can be told in pieces */
};

static const struct kind kinds[] = {
	{ T(JOB_CHUNK), &gpusched__job_chunk__descriptor, &gpusched__job__descriptor, true },
	{ T(NODE_CHUNK), &gpusched__node_chunk__descriptor, &gpusched__node__descriptor, true },
	{ T(PARTITION_CHUNK), &gpusched__partition_chunk__descriptor,
	        &gpusched__partition__descriptor, true },
	{ T(ACCT_CHUNK), &gpusched__acct_chunk__descriptor, &gpusched__acct__descriptor, true },
	{ T(PRIO_CHUNK), &gpusched__prio_chunk__descriptor, &gpusched__prio__descriptor, false },
	{ T(SHARE_CHUNK), &gpusched__share_chunk__descriptor, &gpusched__share__descriptor, false },
	{ T(EVENT_CHUNK), &gpusched__event_chunk__descriptor, &gpusched__event__descriptor, false },
	{ T(REPORT_CHUNK), &gpusched__report_chunk__descriptor, &gpusched__report_line__descriptor,
	        false },
};

#define N_KINDS (sizeof(kinds) / sizeof(kinds[0]))

struct reader {
	const struct kind *kind;
	struct reassembly whole;
	const ProtobufCMessage *sent; /* what each item was, packed; NULL: it may be cut */
	size_t n, longest;
};

static size_t longest_text(const ProtobufCMessage *m)
{
	size_t most = 0;

	for (unsigned i = 0; i < m->descriptor->n_fields; i++) {
		const ProtobufCFieldDescriptor *f = &m->descriptor->fields[i];

		if (f->type != PROTOBUF_C_TYPE_STRING || msgfield_is_list(f))
			continue;
		if (strlen(*(char **)msgfield_at(m, f)) > most)
			most = strlen(*(char **)msgfield_at(m, f));
	}
	return most;
}

static int take_item(const ProtobufCMessage *m, void *arg, struct error *err)
{
	struct reader *r = arg;

	(void)err;
	assert_ptr_equal(m->descriptor, r->kind->item);
	if (longest_text(m) > r->longest)
		r->longest = longest_text(m);
	r->n++;
	return 0;
}

static void read_part(void *to, const ProtobufCMessage *chunk)
{
	struct reader *r = to;
	struct error err = { .code = ERR_NONE };
	uint8_t *bytes;
	size_t len;

	/* As it is: parts need no cutting of their own. */
	assert_int_equal(frame_pack(r->kind->type, 9, chunk, &bytes, &len, &err), 0);
	if (reassembly_chunk(received(bytes, len), &r->whole, &err) < 0)
		fail_msg("%s", err.text);
	free(bytes);
}

static struct reader read_listing(const struct kind *kind, const struct amount *a, size_t n)
{
	struct reader r = { .kind = kind, .whole = { kind->type, take_item, NULL, NULL } };
	struct part part = { .arena = arena, .send = read_part };

	r.whole.arg = part.to = &r;
	arena_reset(arena, WIRE_ARENA_CAP);
	part.chunk = arena_alloc(arena, kind->chunk->sizeof_message);
	kind->chunk->message_init(part.chunk);
	part_begin(&part);
	for (size_t i = 0; i < n; i++)
		part_add(&part, filled(kind->item, a, 0));
	part_end(&part);
	assert_null(r.whole.held);
	r.whole.arg = NULL;
	return r;
}

static void test_parts(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_KINDS; i++)
		for (size_t k = 0; k < N_AMOUNTS; k++) {
			const struct amount *a = &amounts[k];
			size_t n = a->text > 300 || a->list > 20 ? 3 : 450;
			struct reader r = read_listing(&kinds[i], &amounts[k], n);

			assert_int_equal(r.n, n);
			assert_true(r.longest <= MSG_TEXT_MAX);
		}
}

/* --- whole items ----------------------------------------------------------------------------- */

/* The fields of an item of which nothing may be missing: its own texts and lists. */
static void check_same(const ProtobufCMessage *got, const ProtobufCMessage *sent)
{
	for (unsigned i = 0; i < sent->descriptor->n_fields; i++) {
		const ProtobufCFieldDescriptor *f = &sent->descriptor->fields[i];

		if (is(f, "cut"))
			continue;
		if (msgfield_is_list(f))
			assert_int_equal(*msgfield_count(got, f), *msgfield_count(sent, f));
		else if (f->type == PROTOBUF_C_TYPE_STRING)
			assert_string_equal(
			        *(char **)msgfield_at(got, f), *(char **)msgfield_at(sent, f));
		else if (f->type != PROTOBUF_C_TYPE_MESSAGE)
			assert_memory_equal(msgfield_at(got, f), msgfield_at(sent, f),
			        msgfield_size(f->type));
	}
}

static const struct amount *present;

static int take_whole(const ProtobufCMessage *m, void *arg, struct error *err)
{
	struct reader *r = arg;

	(void)err;
	check_same(m, r->sent);
	r->n++;
	return 0;
}

static void test_whole(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_KINDS; i++)
		for (size_t k = 0; kinds[i].pieces && k < N_AMOUNTS; k++) {
			struct reader r = { .kind = &kinds[i],
				.whole = { kinds[i].type, take_whole, NULL, NULL } };
			struct part part = { .arena = arena, .whole = true, .send = read_part };

			present = &amounts[k];
			r.whole.arg = part.to = &r;
			arena_reset(arena, WIRE_ARENA_CAP);
			part.chunk = arena_alloc(arena, kinds[i].chunk->sizeof_message);
			kinds[i].chunk->message_init(part.chunk);
			r.sent = filled(kinds[i].item, present, 0);
			part_begin(&part);
			for (size_t n = 0; n < 2; n++)
				part_add(&part, filled(kinds[i].item, present, 0));
			part_end(&part);
			assert_int_equal(r.n, 2);
			assert_null(r.whole.held);
		}
}

/* --- what is cut says so --------------------------------------------------------------------- */

static void test_marks(void **state)
{
	Gpusched__Job job = GPUSCHED__JOB__INIT;
	char *before;

	(void)state;
	arena_reset(arena, WIRE_ARENA_CAP);
	job.tasks = before = long_text(MSG_TEXT_MAX + 1);
	job.comment = long_text(MSG_TEXT_MAX);
	assert_true(msg_fit(&job.base, MSG_BODY_MAX_MANY, arena) <= 2 * MSG_TEXT_MAX + 100);
	assert_int_equal(job.n_cut, 1);
	assert_string_equal(job.cut[0], "tasks");
	assert_int_equal(strlen(job.comment), MSG_TEXT_MAX);
	/* Behind a comma, so that no number is taken for a shorter one. */
	assert_string_equal(job.tasks + strlen(job.tasks) - 4, ",...");
	assert_memory_equal(job.tasks, before, strlen(job.tasks) - 3);
	assert_int_equal(strlen(before), MSG_TEXT_MAX + 1);
	/* What fits is left alone. */
	job.n_cut = 0;
	assert_true(msg_fit(&job.base, MSG_BODY_MAX_MANY, arena) > MSG_TEXT_MAX);
	assert_int_equal(job.n_cut, 0);
}

/* Lists that are borrowed (of the configuration, say) are not touched. */
static void test_borrowed(void **state)
{
	Gpusched__Partition p = GPUSCHED__PARTITION__INIT;
	char *names[2];

	(void)state;
	arena_reset(arena, WIRE_ARENA_CAP);
	names[0] = long_text(10);
	names[1] = long_text(2 * MSG_TEXT_MAX);
	p.accounts = names;
	p.n_accounts = 2;
	msg_fit(&p.base, MSG_BODY_MAX_MANY, arena);
	assert_true(strlen(p.accounts[1]) <= MSG_TEXT_MAX);
	assert_int_equal(strlen(names[1]), 2 * MSG_TEXT_MAX);
	assert_int_equal(p.n_cut, 1);
	assert_string_equal(p.cut[0], "accounts");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_marks),
		cmocka_unit_test(test_borrowed),
		cmocka_unit_test(test_answers),
		cmocka_unit_test(test_parts),
		cmocka_unit_test(test_whole),
	};

	amounts[N_AMOUNTS - 2].list = amounts[N_AMOUNTS - 1].inner = amount("ANSWERS_MANY", MANY);
	return cmocka_run_group_tests(tests, setup, teardown);
}
