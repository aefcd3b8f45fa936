/* test_filename_pattern.c - common/job/filename_pattern.h */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "common/job/filename_pattern.h"

#define LEN(a) (sizeof(a) / sizeof((a)[0]))

static const struct pattern_values plain = {
	.job = 4812, .task = 0, .name = "embed", .user = "ana", .node = "h07", .rank = 0
};
static const struct pattern_values array = {
	.job = 4812, .task = 7, .is_array = true, .name = "a/../b", .user = "ana", .node = "h07"
};

static const struct pattern_values task = {
	.job = 4812, .task = 7, .is_array = true, .name = "a", .user = "ana", .own = true
};

static const struct pattern_values third = {
	.job = 4812, .name = "embed", .user = "ana", .node = "h09", .rank = 2, .own = true
};
static const struct pattern_values first = {
	.job = 4812, .name = "embed", .user = "ana", .node = "h07", .own = true
};

static const struct {
	const struct pattern_values *values;
	const char *pattern, *expected;
} rows[] = {
	{ &plain, "", "" }, { &plain, PATTERN_OUTPUT, "gpusched-4812.out" },
	{ &array, PATTERN_OUTPUT_ARRAY, "gpusched-4812_7.out" },
	{ &plain, "/logs/%u/%x-%j.%N", "/logs/ana/embed-4812.h07" },
	{ &plain, "%8j|%3j|%0j|%99j", "00004812|4812|4812|0000004812" }, { &array, "%3a", "007" },
	{ &plain, "%a", "4294967294" }, { &plain, "%n%t%s", "00batch" },
	{ &plain, "100%%", "100%" }, { &plain, "%%j", "%j" }, { &plain, "%", "%" },
	{ &plain, "%5", "%5" }, { &plain, "%q%j", "%q4812" }, { &plain, "%1234j", "%1234j" },
	{ &plain, "a\\%j", "a%j" }, { &plain, "\\\\%j", "%j" },
	{ &array, "%x", "a_.._b" }, /* a name names no directory */
	{ &plain, "../%5u", "../ana" }, { &first, PATTERN_OUTPUT, "gpusched-4812.out" },
	{ &third, PATTERN_OUTPUT, "gpusched-4812.out.2" }, { &third, "log", "log.2" },
	{ &third, "log-%n", "log-2" }, { &third, "log-%3t", "log-002" },
	{ &third, "%N/log", "h09/log" }, { &third, "a\\%n", "a%n.2" }, { &third, "%%n", "%n.2" },
	{ &third, "/dev/null", "/dev/null" }, { &third, "", "" },
	{ &plain, "%J|%6J", "4812|004812" },
	/* the tasks of an array write to files of their own */
	{ &task, "slurm-%j.out", "slurm-4812_7.out" }, { &task, "%6j.%J", "004812_7.4812_7" },
	{ &task, "%j.%a", "4812.7" }, { &task, "%3a-%j", "007-4812" },
	{ &task, "%A.out", "4812.out" }, /* as it was asked for */
	{ &task, "%%a%j", "%a4812_7" }, { &task, "log", "log" },
	{ &array, "in-%j", "in-4812" }, /* it is read */
};

static void expands(void **state)
{
	char out[256];
	struct error err;

	(void)state;
	for (size_t i = 0; i < LEN(rows); i++) {
		assert_int_equal(
		        pattern_expand(rows[i].pattern, rows[i].values, out, sizeof(out), &err), 0);
		assert_string_equal(out, rows[i].expected);
	}
}

static void what_does_not_fit_is_an_error(void **state)
{
	char out[17 + 8];
	struct error err;

	(void)state;
	memset(out, '#', sizeof(out));
	assert_int_equal(pattern_expand(PATTERN_OUTPUT, &plain, out, 18, &err), 0);
	assert_string_equal(out, "gpusched-4812.out");
	memset(out, '#', sizeof(out));
	assert_int_equal(pattern_expand(PATTERN_OUTPUT, &plain, out, 17, &err), -1);
	assert_int_equal(err.code, ERR_JOB_SPEC);
	assert_int_equal(out[17], '#');
	assert_int_equal(pattern_expand("", &plain, out, 1, &err), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(expands),
		cmocka_unit_test(what_does_not_fit_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
