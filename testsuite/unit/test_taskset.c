/* test_taskset.c - common/taskset.h: read, taken apart and written, against plain bitmaps */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "common/taskset.h"

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
		{ "0-100:2,1-101:2", "0-100:2,1-101:2", 0, 102, NULL },
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

/* A list of as many numbers as fit is read; one byte more is refused as such. */
static void long_lists(void **state)
{
	char *text = malloc(TASKSET_TEXT_MAX + 16);
	size_t used = 0;
	uint32_t t = 0, n = 0;
	struct taskset set;
	struct error err = { 0 };

	(void)state;
	while (used < TASKSET_TEXT_MAX - 16) {
		used += (size_t)sprintf(text + used, "%s%u", n ? "," : "", t);
		t += 1 + n % 3;
		n++;
	}
	assert_int_equal(taskset_parse(text, &set, &err), 0);
	assert_int_equal(set.count, n);
	taskset_clear(&set);
	memset(text, '1', TASKSET_TEXT_MAX + 1);
	text[TASKSET_TEXT_MAX + 1] = '\0';
	assert_int_equal(taskset_parse(text, &set, &err), -1);
	assert_string_equal(err.text, "65537 bytes of task numbers; at most 65536");
	/* Ranges that all lie over each other cost a bounded time. */
	for (used = 0, n = 0; n < 3000; n++)
		used += (size_t)sprintf(text + used, "%s%u-4000000:4000", n ? "," : "", n);
	assert_int_equal(taskset_parse(text, &set, &err), -1);
	assert_string_equal(err.text, "too many ranges lie over each other: write it with fewer");
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

static void takes_apart(void **state)
{
	int round;

	(void)state;
	for (round = 0; round < 20000; round++) {
		struct taskset a, b, taken, copy;
		uint64_t x = make(&a), y = make(&b), left;

		is(&a, x);
		assert_int_equal(taskset_meets(&a, &b), (x & y) != 0);
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

/* What is left of a set may take more bytes than people may write. */
static void kept_of_any_length(void **state)
{
	uint8_t map[10000] = { 0 };
	struct taskset set, again;
	char *text, *text_again;
	struct error err;

	(void)state;
	for (uint32_t t = 0; t < 8 * sizeof(map); t++)
		if (t % 5 < 2 || t % 7 == 3)
			map[t / 8] |= (uint8_t)(1U << t % 8);
	taskset_of_bits(&set, map, 8 * sizeof(map) - 1);
	for (uint32_t t = 0; t < 8 * sizeof(map); t += 97)
		assert_int_equal(taskset_has(&set, t), map[t / 8] >> t % 8 & 1);
	text = taskset_text(&set);
	assert_true(strlen(text) > TASKSET_TEXT_MAX);
	assert_int_equal(taskset_parse(text, &again, &err), -1);
	assert_int_equal(taskset_parse_kept(text, &again, &err), 0);
	assert_int_equal(again.count, set.count);
	text_again = taskset_text(&again);
	assert_string_equal(text_again, text);
	taskset_clear(&set);
	assert_int_equal(taskset_parse_kept("1,x", &set, &err), -1);
	free(text);
	free(text_again);
	taskset_clear(&again);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads),
		cmocka_unit_test(long_lists),
		cmocka_unit_test(takes_apart),
		cmocka_unit_test(kept_of_any_length),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
