/* test_depend.c - what jobs wait for of others, as text; and moments as text (cmds/cli/parse_time.h) */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>

#include "cmds/cli/parse_time.h"
#include "common/base/strbuf.h"
#include "common/job/depend.h"

static void written_as_read(void **state)
{
	static const struct {
		const char *text, *again;
	} cases[] = {
		{ "", "" },
		{ "afterok:12", "afterok:12" },
		{ "AfterOK:12,SINGLETON", "afterok:12,singleton" },
		{ "afterok:12:13,afterok:14", "afterok:12:13:14" },
		{ "afterok:12,after:13+5:14,afterany:15", NULL },
		{ "afterok:12?afternotok:13", NULL },
		{ "afterok:12:13?singleton", "afterok:12?afterok:13?singleton" },
		{ "afterok:12?afterok:13", NULL },
		{ "singleton", NULL },
		{ "singleton,singleton", NULL },
		{ "aftercorr:9,afterok:12_7", NULL },
		{ "afterok:5:123_[1-5],singleton", NULL },
		{ "afterany:12_[0-9:2]?after:12_[1-3,7]+5",
		        "afterany:12_[0-8:2]?after:12_[1-3,7]+5" },
		{ "afterok:12_[7]", "afterok:12_7" },
		{ "afterok:12_[3,1,2]", "afterok:12_[1-3]" },
	};
	struct depend d;
	struct error err;
	char *text;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(depend_parse(cases[i].text, false, &d, &err), 0);
		text = depend_format(&d, false);
		assert_string_equal(text, cases[i].again ? cases[i].again : cases[i].text);
		free(text);
		depend_clear(&d);
	}
}

static void task_by_task(void **state)
{
	struct depend d;
	char *text;

	(void)state;
	assert_int_equal(depend_parse("aftercorr:1*:2*!:3,afterok:4", true, &d, NULL), 0);
	assert_true(d.v[0].each && d.v[1].each && d.v[1].never && !d.v[2].each && !d.v[3].each);
	text = depend_format(&d, true);
	assert_string_equal(text, "aftercorr:1*:2*!:3,afterok:4");
	free(text);
	text = depend_format(&d, false);
	assert_string_equal(text, "aftercorr:1:2(failed):3,afterok:4");
	free(text);
	depend_clear(&d);
	/* Of no other type, and not as people write it. */
	assert_int_equal(depend_parse("afterok:1*", true, &d, NULL), -1);
	assert_int_equal(depend_parse("aftercorr:1*", false, &d, NULL), -1);
}

static void kept_with_what_became_of_it(void **state)
{
	struct depend d;
	char *text;

	(void)state;
	assert_int_equal(depend_parse("after:1+5@1795250000,afterok:2!:3:4", true, &d, NULL), 0);
	assert_int_equal(d.n, 4);
	assert_true(d.v[0].at == 1795250000 && d.v[0].delay == 5 && !d.any);
	assert_true(d.v[1].never && !d.v[2].never);
	d.v[2].met = true;
	text = depend_format(&d, true);
	assert_string_equal(text, "after:1+5@1795250000,afterok:2!:4");
	free(text);
	text = depend_format(&d, false);
	assert_string_equal(text, "after:1+5,afterok:2(failed):4");
	free(text);
	depend_clear(&d);
	assert_int_equal(depend_parse("afterok:2!", false, &d, NULL), -1);
	assert_int_equal(depend_parse("after:2@7", false, &d, NULL), -1);
}

static void refused(void **state)
{
	static const struct {
		const char *text, *what;
	} cases[] = {
		{ "12", "expected after, afterok" },
		{ "afterok", "needs the ids" },
		{ "afterok:", "a number is missing" },
		{ "afterok:x", "a number is missing" },
		{ "afterok:-3", "a number is missing" },
		{ "afterok:0", "begin at 1" },
		{ "afterok:12x", "expected ID" },
		{ "afterok:12+5", "only after takes minutes" },
		{ "after:12+5256001", "too large" },
		{ "afterok:9223372036854775808", "too large" },
		{ "afterok:12,afterok:13?afterok:14", "cannot be mixed" },
		{ "afterok:12?afterok:13,afterok:14", "cannot be mixed" },
		{ "afterok:12,", "expected after" },
		{ "singleton:12", "takes no ids" },
		{ "expand:12", "expected after" },
		{ "afterok:12 afterok:13", "expected ID" },
		{ "afterok:12_", "a number is missing" },
		{ "afterok:12_x", "a number is missing" },
		{ "afterok:12_[", "expected ']'" },
		{ "afterok:12_[]", "" },
		{ "afterok:12_[1-", "expected ']'" },
		{ "afterok:12_[3-1]", "3-1" },
		{ "afterok:12_[1,1]", "1" },
		{ "afterok:12_[1-5%2]", "%2" },
		{ "afterok:12_[0-9:0]", "0-9:0" },
		{ "afterok:12_[-1]", "-1" },
		{ "afterok:12_[1-3]7", "expected ID" },
		{ "afterok:12_[1-3]+5", "only after takes minutes" },
		{ "afterok:[1-3]", "a number is missing" },
		{ "afterok:1_[0-3999999]:2_[0]:3_[1]", "more than 4000000 tasks" },
	};
	struct depend d;
	struct error err;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		err.text[0] = '\0';
		assert_int_equal(depend_parse(cases[i].text, false, &d, &err), -1);
		if (!strstr(err.text, cases[i].what))
			fail_msg("%s: %s", cases[i].text, err.text);
	}
}

static void no_more_than_so_many(void **state)
{
	char *text = calloc(1, DEPEND_TEXT_MAX + 2);
	struct depend d;
	struct error err;

	(void)state;
	strcpy(text, "afterok");
	for (size_t i = 0; i < DEPEND_TERMS_MAX; i++)
		strcat(text, ":7");
	assert_int_equal(depend_parse(text, false, &d, &err), 0);
	assert_int_equal(d.n, DEPEND_TERMS_MAX);
	depend_clear(&d);
	strcat(text, ":7");
	assert_int_equal(depend_parse(text, false, &d, &err), -1);
	assert_non_null(strstr(err.text, "more than 1000"));
	memset(text, '1', DEPEND_TEXT_MAX + 1);
	assert_int_equal(depend_parse(text, false, &d, &err), -1);
	free(text);
}

/* Rows keep one task of a range as one, and may grow by what is taken out of it. */
static void ranges_as_they_are_kept(void **state)
{
	struct strbuf text = { .s = NULL };
	struct depend d;
	char *again;

	(void)state;
	assert_int_equal(depend_parse("afterok:1_[3]!:2_[1-5]", true, &d, NULL), 0);
	assert_true(d.n == 2 && d.v[0].never && d.v[0].task == DEPEND_NO_TASK);
	assert_int_equal(d.v[0].tasks->count, 1);
	assert_int_equal(d.v[1].tasks->count, 5);
	again = depend_format(&d, true);
	assert_string_equal(again, "afterok:1_[3]!:2_[1-5]");
	free(again);
	again = depend_format(&d, false);
	assert_string_equal(again, "afterok:1_3(failed):2_[1-5]");
	free(again);
	depend_clear(&d);
	strbuf_adds(&text, "afterok:1_[0");
	for (unsigned i = 1; i < 10000; i++)
		strbuf_addf(&text, ",%u", 3 * i);
	strbuf_adds(&text, "]");
	assert_true(strlen(text.s) > DEPEND_TEXT_MAX);
	assert_int_equal(depend_parse(text.s, false, &d, NULL), -1);
	assert_int_equal(depend_parse(text.s, true, &d, NULL), 0);
	assert_int_equal(d.v[0].tasks->count, 10000);
	depend_clear(&d);
	free(strbuf_take(&text));
}

/* --- moments --------------------------------------------------------------------------------- */

#define NOW INT64_C(1795256400000000) /* 2026-11-21 10:20:00 UTC */

static void moments(void **state)
{
	static const struct {
		const char *text, *utc;
	} cases[] = {
		{ "now", "2026-11-21T10:20:00" },
		{ "now+90", "2026-11-21T10:21:30" },
		{ "now+1hour", "2026-11-21T11:20:00" },
		{ "now+2hours", "2026-11-21T12:20:00" },
		{ "NOW+3min", "2026-11-21T10:23:00" },
		{ "now+2d", "2026-11-23T10:20:00" },
		{ "now + 1 hour", "2026-11-21T11:20:00" },
		{ "01/31/27-16:00", "2027-01-31T16:00:00" },
		{ "now+1week", "2026-11-28T10:20:00" },
		{ "16:00", "2026-11-21T16:00:00" },
		{ "10:19", "2026-11-22T10:19:00" },
		{ "4:30pm", "2026-11-21T16:30:00" },
		{ "12:00 am", "2026-11-22T00:00:00" },
		{ "16:00:30", "2026-11-21T16:00:30" },
		{ "midnight", "2026-11-22T00:00:00" },
		{ "noon", "2026-11-21T12:00:00" },
		{ "teatime", "2026-11-21T16:00:00" },
		{ "today", "2026-11-21T00:00:00" },
		{ "tomorrow", "2026-11-22T00:00:00" },
		{ "tomorrow 16:00", "2026-11-22T16:00:00" },
		{ "tomorrow noon", "2026-11-22T12:00:00" },
		{ "16:00 tomorrow", "2026-11-22T16:00:00" },
		{ "2027-01-31", "2027-01-31T00:00:00" },
		{ "2027-01-31T16:00", "2027-01-31T16:00:00" },
		{ "2027-01-31T16:00:05", "2027-01-31T16:00:05" },
		{ "2027-01-31T16:00Z", "2027-01-31T16:00:00" },
		{ "01/31/27", "2027-01-31T00:00:00" },
		{ "01/31", "2027-01-31T00:00:00" },
		{ "12/31", "2026-12-31T00:00:00" },
		{ "31.12.2026", "2026-12-31T00:00:00" },
		{ "0131", "2027-01-31T00:00:00" },
		{ "013128", "2028-01-31T00:00:00" },
		{ "02/29", "2028-02-29T00:00:00" },
	};
	struct error err;
	char text[40];

	(void)state;
	setenv("TZ", "UTC0", 1);
	tzset();
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int64_t us = 0;
		time_t t;
		struct tm tm;

		if (parse_time_next(cases[i].text, NOW, &us, &err) < 0)
			fail_msg("%s: %s", cases[i].text, err.text);
		t = us / 1000000;
		strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", gmtime_r(&t, &tm));
		if (strcmp(text, cases[i].utc))
			fail_msg("%s is %s", cases[i].text, text);
	}
}

/* As --since takes them: by durations, and in the words of --begin. */
static void moments_ago(void **state)
{
	static const struct {
		const char *text;
		int64_t s; /* ago; -1: none */
	} cases[] = { { "now-2h", 7200 }, { "now-2hours", 7200 }, { "now-1hour", 3600 },
		{ "now-90", 90 }, { "now-7days", 7 * 86400 }, { "now-1w", 7 * 86400 },
		{ "09:30", 3000 }, { "09:30:15", 2985 }, { "2026-11-21T09:30", 3000 },
		{ "11/21", 37200 }, { "11/20", 123600 }, { "11/20-10:20", 86400 },
		{ "11/20/26-10:20:00", 86400 }, { "11/20/2026", 123600 }, { "11/20T10:20", 86400 },
		{ "11/22", 364 * 86400 + 37200 }, { "11/21/25", 365 * 86400 + 37200 },
		{ "2/30", -1 }, { "11/20/2", -1 }, { "11/20/026", -1 }, { "11/", -1 },
		{ "13/1", -1 }, { "0/1", -1 }, { "11/20-25:00", -1 }, { "11/20x", -1 },
		{ "now-1-00:00:00", 86400 }, { "now-1:00:00", 3600 }, { "now-500ms", -1 },
		{ "now-", -1 }, { "now-x", -1 }, { "now-2fortnights", -1 }, { "now--1", -1 },
		{ "now-99999999999999999999", -1 }, { "now+1h", -1 } };
	struct error err;
	int64_t us;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		bool good = parse_time(cases[i].text, NOW, &us, &err) == 0;

		if (good != (cases[i].s >= 0) || (good && (NOW - us) / 1000000 != cases[i].s))
			fail_msg("%s: %s", cases[i].text, good ? "another moment" : err.text);
	}
}

static void in_the_zone(void **state)
{
	int64_t us = 0;

	(void)state;
	setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3", 1);
	tzset();
	/* 11:20 there; Z is UTC all the same. */
	assert_int_equal(parse_time_next("16:00", NOW, &us, NULL), 0);
	assert_int_equal((us - NOW) / 60000000, 4 * 60 + 40);
	assert_int_equal(parse_time_next("2026-11-21T16:00Z", NOW, &us, NULL), 0);
	assert_int_equal((us - NOW) / 60000000, 5 * 60 + 40);
	/* The next day is there in summer, too, when a day has 23 hours. */
	assert_int_equal(parse_time_next("2027-03-28T12:00", NOW, &us, NULL), 0);
	assert_int_equal(us / 1000000, 1806228000);
	setenv("TZ", "UTC0", 1);
	tzset();
}

static void no_moments(void **state)
{
	static const char *const cases[] = { "", "x", "now-1", "now+", "now+x", "now 1 hour",
		"now+1fortnight", "now+99999999999999999999", "25:00", "13:00pm", "0:30am", "16",
		"16:", "16:60", "2027-13-01", "2027-02-30", "2027-01-31T", "2027-01-31x",
		"02/30/27", "1.1.1900", "tomorrow today", "16:00 17:00", "noon noon",
		"2027-01-31T16:00 tomorrow", "\x01" };
	struct error err;
	int64_t us;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		err.text[0] = '\0';
		if (parse_time_next(cases[i], NOW, &us, &err) == 0)
			fail_msg("'%s' is %lld", cases[i], (long long)us);
		assert_int_equal(err.code, ERR_USAGE);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(written_as_read),
		cmocka_unit_test(task_by_task),
		cmocka_unit_test(kept_with_what_became_of_it),
		cmocka_unit_test(refused),
		cmocka_unit_test(no_more_than_so_many),
		cmocka_unit_test(ranges_as_they_are_kept),
		cmocka_unit_test(moments),
		cmocka_unit_test(moments_ago),
		cmocka_unit_test(in_the_zone),
		cmocka_unit_test(no_moments),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
