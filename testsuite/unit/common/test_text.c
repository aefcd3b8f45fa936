/* test_text.c - common/base/text.h */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "common/base/number_list.h"
#include "common/base/text.h"

#define LEN(a) (sizeof(a) / sizeof((a)[0]))

static const struct {
	const char *s;
	size_t n, plain; /* bytes, and how many of them are plain */
	const char *escaped;
} rows[] = {
	{ "", 0, 0, "" },
	{ "job 1_[2-3]", 11, 11, "job 1_[2-3]" },
	{ "back\\slash", 10, 10, "back\\slash" },
	{ "gr\xc3\xbc\xc3\x9f", 6, 6, "gr\xc3\xbc\xc3\x9f" },
	{ "\xe6\xbc\xa2\xf0\x9f\x98\x80", 7, 7, "\xe6\xbc\xa2\xf0\x9f\x98\x80" },
	{ "\xf4\x8f\xbf\xbf", 4, 4, "\xf4\x8f\xbf\xbf" },
	{ "a\nb", 3, 1, "a\\x0Ab" },
	{ "a\0b", 3, 1, "a\\x00b" },
	{ "\x1b[31m", 5, 0, "\\x1B[31m" },
	{ "tab\t", 4, 3, "tab\\x09" },
	{ "\x7f", 1, 0, "\\x7F" },
	{ "\xc2\x9b"
	  "31m",
	        5, 0, "\\xC2\\x9B31m" },             /* C1: CSI in one character */
	{ "\xe2\x80\xa8", 3, 0, "\\xE2\\x80\\xA8" }, /* line separator */
	{ "ab\xe2\x80\xae"
	  "cd",
	        7, 2, "ab\\xE2\\x80\\xAEcd" },       /* right to left override */
	{ "\xe2\x81\xa6", 3, 0, "\\xE2\\x81\\xA6" }, /* isolate */
	{ "\xff", 1, 0, "\\xFF" },
	{ "\x80x", 2, 0, "\\x80x" }, /* continuation alone */
	{ "\xc3", 1, 0, "\\xC3" },   /* cut short */
	{ "\xc3x", 2, 0, "\\xC3x" },
	{ "\xc0\xaf", 2, 0, "\\xC0\\xAF" }, /* overlong '/' */
	{ "\xe0\x80\xaf", 3, 0, "\\xE0\\x80\\xAF" },
	{ "\xf0\x80\x80\xaf", 4, 0, "\\xF0\\x80\\x80\\xAF" },
	{ "\xed\xa0\x80", 3, 0, "\\xED\\xA0\\x80" },          /* surrogate */
	{ "\xf4\x90\x80\x80", 4, 0, "\\xF4\\x90\\x80\\x80" }, /* beyond U+10FFFF */
	{ "\xf8\x88\x80\x80\x80", 5, 0, "\\xF8\\x88\\x80\\x80\\x80" },
};

static void plain_and_escape(void **state)
{
	(void)state;
	for (size_t i = 0; i < LEN(rows); i++) {
		/* Exactly as long as it is, so that a sanitizer sees each byte too far. */
		char *s = malloc(rows[i].n ? rows[i].n : 1), buf[128];

		memcpy(s, rows[i].s, rows[i].n);
		assert_int_equal(text_plain_prefix(s, rows[i].n), rows[i].plain);
		assert_int_equal(
		        text_escape(buf, sizeof(buf), s, rows[i].n), strlen(rows[i].escaped));
		assert_string_equal(buf, rows[i].escaped);
		/* What was escaped is plain. */
		assert_int_equal(text_plain_prefix(buf, strlen(buf)), strlen(buf));
		free(s);
	}
}

/* Words are looked at eight bytes at a time: each byte in each place of them. */
static void each_byte_in_each_place(void **state)
{
	char s[21], shown[100];

	(void)state;
	for (unsigned place = 0; place < sizeof(s) - 1; place++) {
		for (unsigned byte = 0; byte < 256; byte++) {
			bool plain = byte >= 0x20 && byte < 0x7f;

			memset(s, place % 2 ? '~' : ' ', sizeof(s) - 1);
			s[place] = (char)byte;
			assert_int_equal(
			        text_plain_prefix(s, sizeof(s) - 1), plain ? sizeof(s) - 1 : place);
			assert_int_equal(text_escape(shown, sizeof(shown), s, sizeof(s) - 1),
			        sizeof(s) - 1 + (plain ? 0 : 3));
			assert_int_equal(strncmp(shown + place, plain ? s + place : "\\x",
			                         plain ? sizeof(s) - 1 - place : 2),
			        0);
		}
	}
}

static void escape_fits_any_size(void **state)
{
	(void)state;
	for (size_t i = 0; i < LEN(rows); i++) {
		for (size_t size = 8; size < 40; size++) {
			char *buf = malloc(size);
			size_t n = text_escape(buf, size, rows[i].s, rows[i].n);
			size_t full = strlen(rows[i].escaped);

			assert_int_equal(strlen(buf), n);
			assert_int_equal(text_plain_prefix(buf, n), n);
			if (full < size) {
				assert_string_equal(buf, rows[i].escaped);
			} else {
				assert_true(n >= 3);
				assert_string_equal(buf + n - 3, "...");
				assert_memory_equal(buf, rows[i].escaped, n - 3);
			}
			free(buf);
		}
	}
}

static void escape_dup_takes_any_length(void **state)
{
	char *s = malloc(65537), *e;

	(void)state;
	memset(s, 1, 65536);
	s[65536] = '\0';
	e = text_escape_dup(s);
	assert_int_equal(strlen(e), 4 * 65536);
	assert_memory_equal(e + 4 * 65536 - 4, "\\x01", 4);
	free(e);
	free(s);
}

static void check_refuses(void **state)
{
	struct error err = { .code = ERR_NONE };

	(void)state;
	assert_int_equal(text_check("job name", "", 4, &err), 0);
	assert_int_equal(text_check("job name", "a b", 4, &err), 0);
	assert_int_equal(err.code, ERR_NONE);
	assert_int_equal(text_check("job name", "a\nb", 4, &err), -1);
	assert_int_equal(err.code, ERR_USAGE);
	assert_string_equal(
	        err.text, "job name 'a\\x0Ab': must be UTF-8 text without control characters");
	assert_int_equal(text_check("job name", "abcde", 4, &err), -1);
	assert_string_equal(err.text, "job name 'abcde': 5 bytes; at most 4");
}

static void trim_both_ends(void **state)
{
	char a[] = " \t a b\n ", b[] = "   ", c[] = "";

	(void)state;
	assert_string_equal(text_trim(a), "a b");
	assert_string_equal(text_trim(b), "");
	assert_string_equal(text_trim(c), "");
}

static void likeness(void **state)
{
	static const struct {
		const char *pattern, *text;
		bool like;
	} patterns[] = {
		{ "", "", true },
		{ "", "a", false },
		{ "*", "", true },
		{ "a", "a", true },
		{ "a", "ab", false },
		{ "?", "", false },
		{ "a?c", "abc", true },
		{ "NVIDIA H100*", "NVIDIA H100 80GB HBM3", true },
		{ "*H100", "NVIDIA H100 80GB", false },
		{ "*ab*ab", "abxabab", true },
		{ "*ab*ab", "abxba", false },
		{ "a**?", "ab", true },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(patterns) / sizeof(*patterns); i++)
		assert_int_equal(
		        text_like(patterns[i].pattern, patterns[i].text), patterns[i].like);
}

static void nearest_word(void **state)
{
	static const char *const names[] = { "max_time", "name", "nodes", "cpus", "gpus", NULL };
	static const struct {
		const char *word, *nearest;
	} words[] = {
		{ "max_tme", "max_time" },
		{ "max_tiem", "max_time" },
		{ "maxtime", "max_time" },
		{ "node", "nodes" },
		{ "cpu", "cpus" },
		{ "gups", "gpus" },
		{ "nmae", "name" },
		{ "licences", NULL },
		{ "x", NULL },
		{ "", NULL },
		{ "a_very_long_word_that_is_longer_than_any_key_in_any_table", NULL },
	};

	(void)state;
	for (size_t i = 0; i < LEN(words); i++) {
		const char *got = text_nearest(words[i].word, names);

		if (words[i].nearest)
			assert_string_equal(got ? got : "(none)", words[i].nearest);
		else
			assert_null(got);
	}
}

static void number_lists(void **state)
{
	static const struct {
		uint64_t set;
		const char *text;
	} lists[] = {
		{ 0, "" },
		{ 1, "0" },
		{ 0xcc, "2,3,6,7" },
		{ 0x7, "0-2" },
		{ 0x17b, "0,1,3-6,8" },
		{ UINT64_MAX, "0-63" },
		{ 0x8000000000000001, "0,63" },
	};
	char text[NUMBERS_TEXT];

	(void)state;
	for (size_t i = 0; i < LEN(lists); i++)
		assert_string_equal(
		        numbers_format_set(text, sizeof(text), lists[i].set), lists[i].text);
	/* The longest there is. */
	numbers_format_set(text, sizeof(text), 0xdb6db6db6db6db6d);
	assert_string_equal(text + strlen(text) - 6, ",62,63");
	assert_string_equal(numbers_format_set(text, 5, 0x7000cc), "2,3,");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(plain_and_escape),
		cmocka_unit_test(each_byte_in_each_place),
		cmocka_unit_test(escape_fits_any_size),
		cmocka_unit_test(escape_dup_takes_any_length),
		cmocka_unit_test(check_refuses),
		cmocka_unit_test(trim_both_ends),
		cmocka_unit_test(likeness),
		cmocka_unit_test(number_lists),
		cmocka_unit_test(nearest_word),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
