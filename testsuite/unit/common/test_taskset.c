/* test_taskset.c - common/base/taskset.h: read, taken apart and written, against plain bitmaps */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>

#include "common/base/taskset.h"
#include "testsuite/unit/lib/amount.h"

#define LEN(a) (sizeof(a) / sizeof((a)[0]))

static void reads(void **state)
{
	static const struct {
		const char *text, *again;
		uint32_t at_once, count;
		const char *error;
	} rows[] = {
		{ "0", "0", 0, 1, NULL },
		{ "7%1", "7", 1, 1, NULL },
		{ "1,3,5-7", "1,3,5-7", 0, 5, NULL },
		{ "3,2,1", "1-3", 0, 3, NULL },
		{ "0-15:4", "0-12:4", 0, 4, NULL },
		{ "0-9999:2%50", "0-9998:2", 50, 5000, NULL },
		{ "5-7:100", "5", 0, 1, NULL },
		{ "0-100:2,1-101:2", "0-101", 0, 102, NULL },
		{ "0-9:3,1-9:3", "0-1,3-4,6-7,9", 0, 7, NULL },
		{ "9-11,0-20:4,1", "0-1,4-8:4,9-11,12-20:4", 0, 10, NULL },
		{ "007", "7", 0, 1, NULL },
		{ "0-4000000", "0-4000000", 0, 4000001, NULL },
		{ "", NULL, 0, 0, "'': a task number is missing, as in \"1,3,5-7\"" },
		{ "%5", NULL, 0, 0, "'': a task number is missing, as in \"1,3,5-7\"" },
		{ "1,", NULL, 0, 0, "'': a task number is missing, as in \"1,3,5-7\"" },
		{ "1,,2", NULL, 0, 0, "'': a task number is missing, as in \"1,3,5-7\"" },
		{ "-1", NULL, 0, 0, "'-1': must be N, N-N or N-N:STEP" },
		{ "1-", NULL, 0, 0, "'1-': must be N, N-N or N-N:STEP" },
		{ "1:2", NULL, 0, 0, "'1:2': must be N, N-N or N-N:STEP" },
		{ "1-5:", NULL, 0, 0, "'1-5:': must be N, N-N or N-N:STEP" },
		{ "1-5:2:3", NULL, 0, 0, "'1-5:2:3': must be N, N-N or N-N:STEP" },
		{ " 1", NULL, 0, 0, "' 1': must be N, N-N or N-N:STEP" },
		{ "a", NULL, 0, 0, "'a': must be N, N-N or N-N:STEP" },
		{ "1-5:0", NULL, 0, 0, "'1-5:0': a step is 1 to 4000000" },
		{ "9-1", NULL, 0, 0, "'9-1': the range runs backwards" },
		{ "1-10,5", NULL, 0, 0, "task 5 is there twice" },
		{ "1,1", NULL, 0, 0, "task 1 is there twice" },
		{ "0-30:6,2-30:4", NULL, 0, 0, "task 6 is there twice" },
		{ "1-2147483647%0", NULL, 0, 0,
		        "'%0': so many tasks at a time: 1 or more, or no % for no limit" },
		{ "1-2147483647", NULL, 0, 0, "'1-2147483647': task numbers are 0 to 4000000" },
		{ "99999999999999999999999", NULL, 0, 0,
		        "'99999999999999999999999': task numbers are 0 to 4000000" },
		{ "1%2%3", NULL, 0, 0, "'%2%3': must be %N, how many tasks may run at a time" },
		{ "1%", NULL, 0, 0, "'%': must be %N, how many tasks may run at a time" },
		{ "1\xff", NULL, 0, 0, "'1\\xFF': must be N, N-N or N-N:STEP" },
	};
	size_t i;

	(void)state;
	for (i = 0; i < LEN(rows); i++) {
		struct taskset set;
		struct error err = { 0 };
		uint32_t at_once;
		int rc = taskset_parse_array(rows[i].text, &set, &at_once, &err);
		char *again;

		if (rows[i].error) {
			assert_int_equal(rc, -1);
			assert_string_equal(err.text, rows[i].error);
			continue;
		}
		assert_int_equal(rc, 0);
		again = taskset_text(&set);
		assert_string_equal(again, rows[i].again);
		assert_int_equal(at_once, rows[i].at_once);
		assert_int_equal(set.count, rows[i].count);
		free(again);
		taskset_clear(&set);
	}
}

/* As many ranges as there may be are read; more are refused as such. */
static void long_lists(void **state)
{
	char *text = malloc(TASKSET_TEXT_MAX + 16);
	size_t used = 0;
	uint32_t n;
	struct taskset set;
	struct error err = { 0 };

	(void)state;
	for (n = 0; n < TASKSET_RANGES_MAX; n++)
		used += (size_t)sprintf(text + used, "%s%u", n ? "," : "", 2 * n);
	assert_int_equal(taskset_parse(text, &set, &err), 0);
	assert_int_equal(set.count, n);
	taskset_clear(&set);
	sprintf(text + used, ",%u", 2 * n);
	assert_int_equal(taskset_parse(text, &set, &err), -1);
	assert_string_equal(err.text,
	        "5001 ranges of tasks, in order; at most 5000: write it with fewer, of "
	        "neighbouring tasks");
	assert_int_equal(taskset_parse_kept(text, &set, &err), 0);
	taskset_clear(&set);
	assert_int_equal(taskset_parse_signed(text, &set, &n, &err), 0);
	taskset_clear(&set);
	memset(text, '1', TASKSET_TEXT_MAX + 1);
	text[TASKSET_TEXT_MAX + 1] = '\0';
	assert_int_equal(taskset_parse(text, &set, &err), -1);
	assert_string_equal(err.text, "65537 bytes of task numbers; at most 65536");
	free(text);
}

/* --- against bitmaps ------------------------------------------------------------------------- */

#define TASKS 60

static uint64_t bits(const struct taskset *set)
{
	uint64_t b = 0;
	uint32_t t;

	for (t = 0; t < TASKS; t++)
		b |= (uint64_t)taskset_has(set, t) << t;
	return b;
}

static void is(const struct taskset *set, uint64_t want)
{
	uint32_t t, n = 0;
	char *text = taskset_text(set);
	struct taskset again;

	assert_true(bits(set) == want);
	assert_int_equal(set->count, __builtin_popcountll(want));
	assert_int_equal(taskset_first(set), want ? (uint32_t)__builtin_ctzll(want) : TASK_NONE);
	assert_int_equal(
	        taskset_last(set), want ? 63 - (uint32_t)__builtin_clzll(want) : TASK_NONE);
	for (t = 0; t < TASKS; t++) {
		assert_int_equal(taskset_before(set, t), n);
		assert_int_equal(taskset_next(set, t),
		        want >> t ? t + (uint32_t)__builtin_ctzll(want >> t) : TASK_NONE);
		n += want >> t & 1;
	}
	if (want) {
		assert_int_equal(taskset_parse(text, &again, NULL), 0);
		assert_true(bits(&again) == want);
		taskset_clear(&again);
	} else {
		assert_string_equal(text, "");
	}
	free(text);
}

static uint32_t seed = 1;

static uint32_t chance(uint32_t n)
{
	seed = seed * 1103515245 + 12345;
	return (seed >> 8) % n;
}

/* A set that can be written: what is there twice is tried again. */
static uint64_t make(struct taskset *set)
{
	char text[200];
	size_t used;
	uint32_t parts, i;

	do {
		used = 0;
		parts = 1 + chance(4);
		for (i = 0; i < parts; i++) {
			uint32_t first = chance(TASKS), last = first + chance(TASKS - first);

			used += (size_t)sprintf(text + used, "%s%u-%u:%u", i ? "," : "", first,
			        last, 1 + chance(9));
		}
	} while (taskset_parse(text, set, NULL) < 0);
	return bits(set);
}

/* What is a part, and what is left, has as many ranges as it may; else it is none. */
static void parted(const struct taskset *of, uint64_t x, const struct taskset *set, uint64_t y)
{
	struct taskset part, left, few;
	size_t most;

	assert_int_equal(taskset_part(of, set, TASKS, &part), 0);
	is(&part, x & y);
	taskset_lacks(set, of, SIZE_MAX, &left);
	is(&left, x & ~y);
	most = part.n > left.n ? part.n : left.n;
	assert_int_equal(taskset_part(of, set, most, &few), 0);
	taskset_clear(&few);
	assert_int_equal(taskset_part(of, set, most - 1, &few), -1);
	assert_int_equal(few.n, 0);
	taskset_clear(&part);
	taskset_clear(&left);
}

static void takes_apart(void **state)
{
	uint64_t rounds = amount("TASKSET_CASES", 20000);

	(void)state;
	while (rounds--) {
		struct taskset a, b, taken, copy;
		uint64_t x = make(&a), y = make(&b), left;

		is(&a, x);
		assert_int_equal(taskset_meets(&a, &b), (x & y) != 0);
		assert_int_equal(taskset_common(&a, &b), __builtin_popcountll(x & y));
		parted(&a, x, &b, y);
		taskset_lacks(&a, &b, SIZE_MAX, &taken);
		is(&taken, y & ~x);
		taskset_clear(&taken);
		taskset_copy(&copy, &a);
		taskset_take(&a, &b, &taken);
		is(&a, x & ~y);
		is(&taken, x & y);
		taskset_add(&a, &b);
		is(&a, x | y);
		taskset_add(&a, &copy);
		is(&a, x | y);
		for (left = x; left;) {
			uint32_t t = chance(3) ? taskset_first(&copy) : chance(TASKS);

			taskset_remove(&copy, t); /* what is not there changes nothing */
			left &= ~(UINT64_C(1) << t);
			is(&copy, left);
		}
		taskset_clear(&a);
		taskset_clear(&b);
		taskset_clear(&taken);
		taskset_clear(&copy);
	}
}

/* --- what it costs --------------------------------------------------------------------------- */

/* An operation on the largest sets there are takes well under a millisecond; under sanitizers on a
 * busy machine it has this much of the processor. Compared pairwise they would take minutes. */
#define PATIENCE_MS 250

static double cpu_ms(void)
{
	return (double)clock() * 1000 / CLOCKS_PER_SEC;
}

/* The same set of `n` ranges; each leaves out what lies between. */
static void of_ranges(struct taskset *set, uint32_t n, uint32_t first, uint32_t step)
{
	char *text = malloc(n * 16 + 1);
	size_t used = 0;
	uint32_t i;

	for (i = 0; i < n; i++)
		used += (size_t)sprintf(text + used, "%s%u", i ? "," : "", first + i * step);
	assert_int_equal(taskset_parse_kept(text, set, NULL), 0);
	free(text);
}

/* 900 tasks each, a thousand apart: 'J_[0-899999:1000,3-899999:1000,...]' */
static char *interleaved(uint32_t n, uint32_t tasks)
{
	char *text = malloc(n * 40);
	size_t used = 0;
	uint32_t i;

	for (i = 0; i < n; i++)
		used += (size_t)sprintf(
		        text + used, "%s%u-%u:1000", i ? "," : "", 3 * i, tasks - 1);
	return text;
}

static void strides_within_strides_are_cheap(void **state)
{
	char *text = interleaved(300, 900000);
	struct taskset array, some, taken;
	double began = cpu_ms();
	struct error err;

	(void)state;
	assert_int_equal(taskset_parse("0-899999", &array, &err), 0);
	if (taskset_parse(text, &some, &err) == 0) {
		taskset_take(&array, &some, &taken);
		taskset_clear(&taken);
		taskset_clear(&some);
	}
	assert_true(cpu_ms() - began < PATIENCE_MS);
	assert_string_equal(err.text,
	        "too many ranges, or they lie over each other too often: write it with fewer");
	taskset_clear(&array);
	free(text);
}

static void large_sets_are_compared_in_one_walk(void **state)
{
	struct taskset evens, odds, both, sevens;
	double began;

	(void)state;
	of_ranges(&evens, 20000, 0, 2);
	of_ranges(&odds, 20000, 1, 2);
	of_ranges(&sevens, 5000, 0, 7);
	began = cpu_ms();
	assert_false(taskset_meets(&evens, &odds));
	assert_int_equal(taskset_common(&evens, &sevens), 2500);
	taskset_take(&evens, &sevens, &both);
	assert_int_equal(evens.count, 17500);
	assert_int_equal(both.count, 2500);
	taskset_add(&evens, &both);
	assert_int_equal(evens.count, 20000);
	taskset_add(&evens, &odds);
	assert_int_equal(evens.count, 40000);
	assert_int_equal(taskset_ranges(&evens), 1);
	for (uint32_t t = 1; t < 40000; t += 2)
		assert_true(taskset_has(&odds, t) && !taskset_has(&odds, t - 1));
	assert_true(cpu_ms() - began < PATIENCE_MS);
	taskset_clear(&evens);
	taskset_clear(&odds);
	taskset_clear(&both);
	taskset_clear(&sevens);
}

/* A step that leaves more ranges than there may be is not let in. */
static void what_is_left_is_counted(void **state)
{
	static const struct {
		const char *set;
		int rc;
		size_t ranges;
	} rows[] = {
		{ "0-3999999:12", -1, 0 },
		{ "400-4399:12", 0, 1 },
		{ "400-3900000:8", 0, 1 }, /* every second one: so is what is left */
		{ "400-3900000:2", 0, 1 },
		{ "400-3900000:3", -1, 0 },
		{ "0-59940:12,60000-119999", 0, 2 },
		{ "0-60023:12", -1, 0 },
	};
	struct taskset array, set, part;
	double began = cpu_ms();

	(void)state;
	assert_int_equal(taskset_parse("0-3999999:4", &array, NULL), 0);
	for (size_t i = 0; i < LEN(rows); i++) {
		assert_int_equal(taskset_parse(rows[i].set, &set, NULL), 0);
		if (taskset_part(&array, &set, TASKSET_RANGES_MAX, &part) != rows[i].rc)
			fail_msg("%s", rows[i].set);
		assert_int_equal(taskset_ranges(&part), rows[i].ranges);
		taskset_clear(&set);
		taskset_clear(&part);
	}
	assert_true(cpu_ms() - began < PATIENCE_MS);
	taskset_clear(&array);
}

/* What is named again and again in one request has one measure of steps. */
static void joins_what_is_named_twice(void **state)
{
	struct taskset *sets = calloc(TASKSET_STEPS_MAX, sizeof(*sets)), all;
	size_t steps = TASKSET_STEPS_MAX, n;
	struct error err = { 0 };
	double began = cpu_ms();

	(void)state;
	for (n = 0; n < TASKSET_STEPS_MAX / 2; n++)
		assert_int_equal(
		        taskset_parse_some("7-4000000", &sets[n], &steps, &err), 0);
	assert_int_equal(taskset_join(sets, n, TASKSET_RANGES_MAX, &all, &steps, &err), 0);
	assert_int_equal(all.count, 3999994);
	taskset_clear(&all);
	assert_int_equal(taskset_join(sets, 1, TASKSET_RANGES_MAX, &all, &steps, &err), -1);
	while (n)
		taskset_clear(&sets[--n]);
	steps = TASKSET_STEPS_MAX;
	assert_int_equal(taskset_parse("0-4000000:2", &sets[0], &err), 0);
	assert_int_equal(taskset_parse("0-4000000:3", &sets[1], &err), 0);
	assert_int_equal(taskset_join(sets, 2, TASKSET_RANGES_MAX, &all, &steps, &err), -1);
	assert_true(cpu_ms() - began < PATIENCE_MS);
	taskset_clear(&sets[0]);
	taskset_clear(&sets[1]);
	free(sets);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads),
		cmocka_unit_test(long_lists),
		cmocka_unit_test(takes_apart),
		cmocka_unit_test(strides_within_strides_are_cheap),
		cmocka_unit_test(large_sets_are_compared_in_one_walk),
		cmocka_unit_test(what_is_left_is_counted),
		cmocka_unit_test(joins_what_is_named_twice),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
