/* Users take turns, and what one user sent is done in its order. */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "ctld/ctld.h"
#include "ctld/turns.h"

/* The one function of tick.c that turns need: an inbox of tokens. */
static struct {
	const struct tick_work *work;
	void *arg;
} inbox[64];
static unsigned first, last;
void tick_post(struct tick *t, const struct tick_work *work, void *arg)
{
	(void)t;
	assert_true(last < 64);
	inbox[last].work = work;
	inbox[last++].arg = arg;
}

static struct ctld c;
static char done[64];
static struct turns *turns;

static void post(uid_t uid, const char *what);

static void run(struct ctld *ctld, void *arg, struct clocks now)
{
	(void)now;
	assert_ptr_equal(ctld, &c);
	strcat(done, arg);
	if (strcmp(arg, "more ") == 0)
		post(1, "late ");
}

static void drop(void *arg)
{
	strcat(done, "-");
	strcat(done, arg);
}

static void post(uid_t uid, const char *what)
{
	static const struct tick_work work = { run, drop };

	turns_post(turns, uid, &work, (void *)(uintptr_t)what);
}

static void run_tokens(unsigned n)
{
	struct clocks now = { 0 };

	for (; n > 0 && first < last; n--, first++)
		inbox[first].work->run(&c, inbox[first].arg, now);
}

static int set_up(void **state)
{
	(void)state;
	first = last = 0;
	done[0] = '\0';
	turns = turns_new(&c);
	c.turns = turns;
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	turns_free(turns);
	return 0;
}

static void one_of_each_in_turn(void **state)
{
	(void)state;
	post(1, "a1 ");
	post(1, "a2 ");
	post(1, "a3 ");
	post(2, "b1 ");
	post(3, "c1 ");
	post(2, "b2 ");
	run_tokens(64);
	assert_string_equal(done, "a1 b1 c1 a2 b2 a3 ");
}

static void who_comes_late_waits_for_one_of_each(void **state)
{
	(void)state;
	for (int i = 0; i < 9; i++)
		post(1, "a ");
	run_tokens(2);
	post(0, "root ");
	run_tokens(2);
	assert_string_equal(done, "a a a root ");
	run_tokens(64);
	assert_string_equal(done, "a a a root a a a a a a ");
}

static void more_may_be_posted_meanwhile(void **state)
{
	(void)state;
	post(1, "more ");
	post(2, "b ");
	run_tokens(64);
	assert_string_equal(done, "more b late ");
}

static void what_is_left_is_dropped(void **state)
{
	(void)state;
	post(1, "a ");
	post(2, "b ");
	post(2, "c ");
	run_tokens(1);
	while (first < last) { /* as tick_free() does */
		inbox[first].work->drop(inbox[first].arg);
		first++;
	}
	turns_free(turns);
	turns = NULL;
	assert_string_equal(done, "a -b -c ");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(one_of_each_in_turn, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
		        who_comes_late_waits_for_one_of_each, set_up, tear_down),
		cmocka_unit_test_setup_teardown(more_may_be_posted_meanwhile, set_up, tear_down),
		cmocka_unit_test_setup_teardown(what_is_left_is_dropped, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
