/* test_event_codec.c - ctld/tape/event_codec.h: every kind of event as bytes and back, and bytes
 * that are none */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "common/base/xalloc.h"
#include "ctld/core/rows/row_codec.h"
#include "ctld/loop/recorder.h"
#include "ctld/tape/event_codec.h"
#include "ctld/tape/player.h"
#include "ctld/tape/tape.h"

static uint64_t seed = 1;

static uint64_t chance(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

/* --- any struct, by its table ---------------------------------------------------------------- */

static void fill(const struct form *form, char *object, struct pool *pool, bool extreme);

static void *keep(struct pool *p, size_t n, size_t size)
{
	p->v = xrealloc(p->v, p->n + 1, sizeof(*p->v));
	return p->v[p->n++] = xcalloc(n ? n : 1, size);
}

static void fill_many(const struct form *of, char *v, size_t n, struct pool *pool, bool extreme)
{
	for (; n; n--, v += of->size)
		fill(of, v, pool, extreme);
}

static void *many(const struct form *of, size_t n, struct pool *pool, bool extreme)
{
	void *v = keep(pool, n, of->size);

	fill_many(of, v, n, pool, extreme);
	return n ? v : NULL;
}

static void *refs(const struct form *of, size_t n, struct pool *pool, bool extreme)
{
	void **v = keep(pool, n, sizeof(*v));
	size_t i;

	for (i = 0; i < n; i++)
		v[i] = many(of, chance() % 2, pool, extreme);
	return v;
}

static const char *some_text(const struct field *f, struct pool *pool, bool extreme)
{
	char *text;

	if (!f->max && chance() % 4 == 0)
		return NULL;
	text = keep(pool, 64, 1);
	snprintf(text, 64, "%s%s", extreme ? "" : f->name, extreme ? "" : "\xc3\xa9 x");
	return text;
}

static void fill_field(const struct field *f, char *object, struct pool *pool, bool extreme)
{
	uint64_t x = extreme ? UINT64_MAX : chance() >> chance() % 64;
	size_t n = chance() % 4;
	void *at = object + f->at, *p;
	const char *text;

	switch (f->wire) {
	case WIRE_BOOL:
		*(bool *)at = x & 1;
		break;
	case WIRE_U8:
		*(uint8_t *)at = (uint8_t)x;
		break;
	case WIRE_U32:
		*(uint32_t *)at = (uint32_t)x;
		break;
	case WIRE_I32:
		*(int32_t *)at = extreme ? INT32_MIN : (int32_t)x;
		break;
	case WIRE_U64:
		*(uint64_t *)at = x;
		break;
	case WIRE_I64:
		*(int64_t *)at = extreme ? INT64_MIN : (int64_t)x;
		break;
	case WIRE_TEXT:
		text = some_text(f, pool, extreme);
		memcpy(at, &text, sizeof(text));
		break;
	case WIRE_RAW:
		memset(at, (int)x, f->max);
		break;
	case WIRE_PART:
		fill(f->of, at, pool, extreme);
		break;
	case WIRE_SOME:
		fill_many(f->of, at, n, pool, extreme);
		memcpy(object + f->count, &n, sizeof(n));
		break;
	case WIRE_LIST:
		p = many(f->of, n, pool, extreme);
		memcpy(at, &p, sizeof(p));
		memcpy(object + f->count, &n, sizeof(n));
		break;
	case WIRE_MAY_LIST:
		p = chance() % 2 ? many(f->of, n, pool, extreme) : NULL;
		memcpy(at, &p, sizeof(p));
		memcpy(object + f->count, &n, sizeof(n));
		break;
	case WIRE_MAY:
		p = many(f->of, chance() % 2, pool, extreme);
		memcpy(at, &p, sizeof(p));
		break;
	case WIRE_REFS: /* its list is there by now */
		memcpy(&n, object + f->count, sizeof(n));
		p = chance() % 2 ? refs(f->of, n, pool, extreme) : NULL;
		memcpy(at, &p, sizeof(p));
		break;
	}
}

static void fill(const struct form *form, char *object, struct pool *pool, bool extreme)
{
	size_t i;

	for (i = 0; i < form->n; i++)
		fill_field(&form->v[i], object, pool, extreme);
}

static struct core_event some_event(enum event_kind kind, struct pool *pool, bool extreme)
{
	struct core_event e;

	memset(&e, 0, sizeof(e));
	e.kind = kind;
	fill(event_form(kind), (char *)&e, pool, extreme);
	return e;
}

/* --- events ---------------------------------------------------------------------------------- */

static struct taker taker_of(const struct bytes *b)
{
	return (struct taker){ b->v, b->v + b->n, false };
}

/* Written, read, and written again: all fields are in the bytes. Fields of which two are the same
 * in both would not show; so the read one is also compared field by field where it is plain. */
static void same(const struct form *form, const char *x, const char *y)
{
	static const size_t sizes[] = { [WIRE_BOOL] = 1,
		[WIRE_U8] = 1,
		[WIRE_U32] = 4,
		[WIRE_I32] = 4,
		[WIRE_U64] = 8,
		[WIRE_I64] = 8 };
	size_t i;

	for (i = 0; i < form->n; i++) {
		const struct field *f = &form->v[i];
		const char *a, *b;

		memcpy(&a, x + f->at, f->wire == WIRE_TEXT ? sizeof(a) : 0);
		memcpy(&b, y + f->at, f->wire == WIRE_TEXT ? sizeof(b) : 0);
		if (f->wire == WIRE_TEXT && (!a || !b))
			assert_true(!a && !b);
		else if (f->wire == WIRE_TEXT)
			assert_string_equal(a, b);
		else if (f->wire == WIRE_PART)
			same(f->of, x + f->at, y + f->at);
		else if (f->wire == WIRE_RAW)
			assert_memory_equal(x + f->at, y + f->at, f->max);
		else if (f->wire <= WIRE_I64)
			assert_memory_equal(x + f->at, y + f->at, sizes[f->wire]);
	}
}

static void events_there_and_back(void **state)
{
	unsigned kind, round;

	(void)state;
	for (kind = 0; kind < EVENT_KINDS; kind++) {
		for (round = 0; round < 50; round++) {
			struct pool made = { .v = NULL }, read = { .v = NULL };
			struct bytes one = { .v = NULL }, two = { .v = NULL };
			struct core_event e =
			        some_event((enum event_kind)kind, &made, round % 5 == 4);
			struct core_event back;
			struct taker in;

			event_write(&e, &one);
			in = taker_of(&one);
			event_read(&back, &in, &read);
			assert_false(in.bad);
			assert_int_equal(take_left(&in), 0);
			assert_int_equal(back.kind, kind);
			same(event_form(e.kind), (char *)&e, (char *)&back);
			event_write(&back, &two);
			assert_int_equal(one.n, two.n);
			assert_memory_equal(one.v, two.v, one.n);
			bytes_free(&one);
			bytes_free(&two);
			pool_free(&made);
			pool_free(&read);
		}
	}
}

static size_t size_of(const struct field *f)
{
	static const size_t sizes[] = { [WIRE_BOOL] = 1,
		[WIRE_U8] = 1,
		[WIRE_U32] = 4,
		[WIRE_I32] = 4,
		[WIRE_U64] = 8,
		[WIRE_I64] = 8,
		[WIRE_TEXT] = sizeof(void *),
		[WIRE_LIST] = sizeof(void *),
		[WIRE_MAY_LIST] = sizeof(void *),
		[WIRE_MAY] = sizeof(void *),
		[WIRE_REFS] = sizeof(void *) };

	if (f->wire == WIRE_PART || f->wire == WIRE_SOME)
		return f->of->size * f->max;
	return f->wire == WIRE_RAW ? f->max : sizes[f->wire];
}

/* What is in no row is no more than padding. */
static void no_hole(const struct form *form)
{
	bool *used = xcalloc(form->size, sizeof(*used));
	size_t i, gap = 0;

	for (i = 0; i < form->n; i++) {
		const struct field *f = &form->v[i];

		memset(used + f->at, true, size_of(f));
		if (f->wire == WIRE_SOME || f->wire == WIRE_LIST)
			memset(used + f->count, true, sizeof(size_t));
	}
	for (i = 0; i < form->size; i++) {
		gap = used[i] ? 0 : gap + 1;
		if (gap >= 8)
			fail_msg("%s: a field before byte %zu has no row", form->name, i + 1);
	}
	free(used);
}

static void fields_all_have_rows(void **state)
{
	unsigned kind;
	size_t i, k;

	(void)state;
	for (kind = 0; kind < EVENT_KINDS; kind++) {
		const struct form *event = event_form((enum event_kind)kind);

		for (i = 0; i < event->n; i++) {
			const struct form *of = event->v[i].of;

			for (k = 0; of && k < of->n; k++) {
				if (of->v[k].of)
					no_hole(of->v[k].of);
			}
			/* of a set of tasks the room that is allocated is left out */
			if (of && strcmp(of->name, "tasks") != 0)
				no_hole(of);
		}
	}
}

/* Past the checks of frames: whatever the bytes are, they are read as something or refused. */
static void events_of_wrong_bytes(void **state)
{
	unsigned long refused = 0, n = 0;
	unsigned kind, round;

	(void)state;
	for (kind = 0; kind < EVENT_KINDS; kind++) {
		for (round = 0; round < 400; round++) {
			struct pool made = { .v = NULL }, read = { .v = NULL };
			struct bytes b = { .v = NULL };
			struct core_event e = some_event((enum event_kind)kind, &made, false), back;
			unsigned flips = 1 + (unsigned)(chance() % 3);
			struct taker in;

			event_write(&e, &b);
			while (flips--)
				b.v[chance() % b.n] = (uint8_t)chance();
			b.n -= round % 3 == 2 ? chance() % b.n : 0;
			in = taker_of(&b);
			event_read(&back, &in, &read);
			refused += in.bad;
			n++;
			bytes_free(&b);
			pool_free(&made);
			pool_free(&read);
		}
	}
	assert_in_range(refused, n / 10, n - n / 10);
}

static void absurd_numbers(void **state)
{
	static const uint64_t counts[] = { 1, 1000, 1u << 31, 1ull << 40, UINT64_MAX };
	struct pool pool = { .v = NULL };
	struct core_event e;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		struct bytes b = { .v = NULL };
		struct taker in;

		/* so many runs, and nothing behind */
		bytes_u64(&b, EV_AGENT_UP);
		bytes_u64(&b, 0);
		bytes_u64(&b, 1);
		bytes_text(&b, "boot");
		bytes_text(&b, "inc");
		bytes_text(&b, "1");
		bytes_text(&b, "none");
		bytes_u64(&b, 8);
		bytes_u64(&b, 1);
		bytes_u64(&b, counts[i]);
		in = taker_of(&b);
		event_read(&e, &in, &pool);
		assert_true(in.bad);
		/* a text of that length */
		b.n = 0;
		bytes_u64(&b, counts[i]);
		in = taker_of(&b);
		assert_null(take_text(&in));
		assert_true(in.bad);
		bytes_free(&b);
	}
	pool_free(&pool);
}

static void texts_end_where_they_end(void **state)
{
	static const uint8_t inner[] = { 4, 'a', 0, 'b', 0 }, open[] = { 3, 'a', 'b', 'c' };
	struct taker in = { inner, inner + sizeof(inner), false };

	(void)state;
	assert_null(take_text(&in));
	assert_true(in.bad);
	in = (struct taker){ open, open + sizeof(open), false };
	assert_null(take_text(&in));
	assert_true(in.bad);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(events_there_and_back),
		cmocka_unit_test(fields_all_have_rows),
		cmocka_unit_test(events_of_wrong_bytes),
		cmocka_unit_test(absurd_numbers),
		cmocka_unit_test(texts_end_where_they_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
