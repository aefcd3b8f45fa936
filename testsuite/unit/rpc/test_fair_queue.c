/* Users take turns by the time that their work takes, and what one sent is done in its order. */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "ctld/core/core.h"
#include "ctld/core/records/per_user_budget.h"
#include "ctld/ctld.h"
#include "ctld/loop/fair_queue.h"
#include "ctld/loop/slice.h"

/* The one function of tick.c that turns need: an inbox of tokens. */
static struct {
	const struct tick_work *work;
	void *arg;
} inbox[64];
static unsigned first, last;
void tick_post_user(struct tick *t, const struct tick_work *work, void *arg)
{
	(void)t;
	assert_true(last < 64);
	inbox[last].work = work;
	inbox[last++].arg = arg;
}

/* Of slice.c: the loop's clock. */
static usec_t cpu;
usec_t thread_cpu_time(void)
{
	return cpu;
}

/* Of the core: the accounts. */
static struct budget *budget;
struct budget *core_budget(const struct core *core)
{
	(void)core;
	return budget;
}

static struct ctld c;
static char done[256];
static struct fair_queue *fair_queue;

static void post(uid_t uid, const char *what);

static void run(struct ctld *ctld, void *arg, struct clocks now)
{
	(void)now;
	assert_ptr_equal(ctld, &c);
	strcat(done, arg);
	if (strcmp(arg, "more ") == 0)
		post(1, "late ");
	if (strcmp(arg, "long ") == 0)
		cpu += 10 * FAIR_QUEUE_CREDIT_US;
	if (strcmp(arg, "short ") == 0 || strcmp(arg, "other ") == 0)
		cpu += FAIR_QUEUE_CREDIT_US / 4;
}

static void drop(void *arg)
{
	strcat(done, "-");
	strcat(done, arg);
}

static void post(uid_t uid, const char *what)
{
	static const struct tick_work work = { run, drop };

	fair_queue_post(fair_queue, uid, &work, (void *)(uintptr_t)what);
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
	cpu = 0;
	budget = budget_new();
	fair_queue = fair_queue_new(&c);
	c.fair_queue = fair_queue;
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	fair_queue_free(fair_queue);
	budget_free(budget);
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
		tick_work_drop(inbox[first].work, inbox[first].arg);
		first++;
	}
	fair_queue_free(fair_queue);
	fair_queue = NULL;
	assert_string_equal(done, "a -b -c ");
}

/* Pieces of one user take forty times as long: the other one has forty for each of them. */
static void time_counts_and_not_pieces(void **state)
{
	(void)state;
	for (int i = 0; i < 4; i++)
		post(1, "long ");
	for (int i = 0; i < 12; i++)
		post(2, "short ");
	run_tokens(10);
	assert_string_equal(done, "long short short short short short short short short short ");
	assert_int_equal(budget_used(budget, 1, BUDGET_TIME), 10 * FAIR_QUEUE_CREDIT_US);
	assert_int_equal(budget_used(budget, 2, BUDGET_TIME), 9 * FAIR_QUEUE_CREDIT_US / 4);
}

/* What was used while nobody else wanted any time is not paid back. */
static void one_alone_pays_nothing(void **state)
{
	(void)state;
	for (int i = 0; i < 9; i++)
		post(1, "long ");
	run_tokens(8);
	done[0] = '\0';
	post(2, "long ");
	post(2, "long ");
	post(2, "long ");
	post(1, "long ");
	run_tokens(5);
	assert_string_equal(done, "long long long long long ");
	assert_int_equal(budget_used(budget, 1, BUDGET_TIME), 100 * FAIR_QUEUE_CREDIT_US);
	assert_int_equal(budget_used(budget, 2, BUDGET_TIME), 30 * FAIR_QUEUE_CREDIT_US);
}

/* Whoever comes back is before the others by the credit, however long the pause was. */
static void a_pause_gives_little(void **state)
{
	(void)state;
	post(2, "short ");
	run_tokens(1);
	for (int i = 0; i < 40; i++)
		post(1, "other ");
	run_tokens(30);
	done[0] = '\0';
	for (int i = 0; i < 9; i++)
		post(2, "short ");
	run_tokens(9);
	assert_string_equal(done, "short short short short short other short other short ");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(one_of_each_in_turn, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
		        who_comes_late_waits_for_one_of_each, set_up, tear_down),
		cmocka_unit_test_setup_teardown(more_may_be_posted_meanwhile, set_up, tear_down),
		cmocka_unit_test_setup_teardown(what_is_left_is_dropped, set_up, tear_down),
		cmocka_unit_test_setup_teardown(time_counts_and_not_pieces, set_up, tear_down),
		cmocka_unit_test_setup_teardown(one_alone_pays_nothing, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_pause_gives_little, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
