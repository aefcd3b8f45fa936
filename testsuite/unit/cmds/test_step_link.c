/* test_step_link.c - cmds/steps/resumable_link.h: a link that goes on after its connection broke */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "cmds/steps/resumable_link.h"
#include "common/base/wirenum.h"
#include "common/net/steplink.h"

struct end {
	struct resumable_link *link;
	struct steplink *codec;
	uint32_t sent, got;
};

static struct end end_new(void)
{
	return (struct end){ resumable_link_new(42), steplink_new(), 0, 0 };
}

static void end_free(struct end *e)
{
	resumable_link_free(e->link);
	steplink_free(e->codec);
}

static void say(struct end *e)
{
	uint8_t b[300] = { 0 };
	const uint8_t *bytes;
	size_t len;

	put_u32(b, e->sent);
	steplink_put(e->codec, STEP_OUT, e->sent, b, 4 + e->sent % 290);
	e->sent++;
	bytes = steplink_pending(e->codec, &len);
	resumable_link_put(e->link, bytes, len);
	steplink_sent(e->codec, len);
}

/* At most `max` bytes from one to the other. Returns whether there was anything. */
static bool move(struct end *from, struct end *to, size_t max)
{
	const uint8_t *bytes;
	struct steplink_message m;
	size_t len;

	bytes = resumable_link_pending(from->link, &len);
	if (!len)
		return false;
	len = len < max ? len : max;
	assert_int_equal(resumable_link_feed(to->link, bytes, len, NULL), 0);
	resumable_link_sent(from->link, len);
	bytes = resumable_link_arrived(to->link, &len);
	assert_int_equal(steplink_feed(to->codec, bytes, len, NULL), 0);
	resumable_link_taken(to->link, len);
	while (steplink_next(to->codec, &m, NULL) == 1) {
		assert_int_equal(m.step, to->got);
		assert_int_equal(get_u32(m.data), to->got);
		to->got++;
	}
	return true;
}

static void connect_both(struct end *a, struct end *b)
{
	resumable_link_connect(a->link);
	resumable_link_connect(b->link);
}

/* Broken again and again, at any byte, each message arrives once and in order. */
static void test_breaks_lose_nothing(void **state)
{
	struct end a = end_new(), b = end_new();
	unsigned seed = 1;

	(void)state;
	connect_both(&a, &b);
	for (int round = 0; round < 20000; round++) {
		seed = seed * 1103515245 + 12345;
		if (seed >> 16 & 1)
			say(&a);
		if (seed >> 17 & 1)
			say(&b);
		move(&a, &b, 1 + (seed >> 8) % 400);
		move(&b, &a, 1 + (seed >> 9) % 400);
		if (seed % 97 == 0)
			connect_both(&a, &b);
	}
	connect_both(&a, &b);
	while (move(&a, &b, 1000) | move(&b, &a, 1000))
		;
	assert_int_equal(a.got, b.sent);
	assert_int_equal(b.got, a.sent);
	/* What has arrived is not kept: not more than goes between two acknowledgements. */
	assert_true(resumable_link_kept(a.link) < 128 * 1024);
	end_free(&a);
	end_free(&b);
}

static void test_the_last_word(void **state)
{
	struct end a = end_new(), b = end_new();

	(void)state;
	connect_both(&a, &b);
	say(&a);
	resumable_link_bye(a.link);
	while (move(&a, &b, 5) | move(&b, &a, 5))
		;
	assert_int_equal(b.got, 1);
	assert_true(resumable_link_is_over(b.link));
	assert_false(resumable_link_is_over(a.link));
	end_free(&a);
	end_free(&b);
}

static void test_greetings(void **state)
{
	struct end a = end_new();
	struct resumable_link *other = resumable_link_new(43);
	const uint8_t *bytes;
	uint64_t session = 0;
	size_t len;
	struct error err;

	(void)state;
	resumable_link_connect(other);
	bytes = resumable_link_pending(other, &len);
	assert_int_equal(len, RESUMABLE_LINK_RESUME_LEN);
	assert_int_equal(resumable_link_peek(bytes, 2, &session), 0);
	assert_int_equal(resumable_link_peek(bytes, len, &session), 1);
	assert_int_equal(session, 43);
	assert_int_equal(resumable_link_peek((const uint8_t *)"\0\5\2", 3, &session), -1);
	resumable_link_connect(a.link);
	assert_int_equal(resumable_link_feed(a.link, bytes, len, &err), -1);
	resumable_link_free(other);
	end_free(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_breaks_lose_nothing),
		cmocka_unit_test(test_the_last_word),
		cmocka_unit_test(test_greetings),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
