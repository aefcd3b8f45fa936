/* test_gpus_by_type.c - common/gpu/gpus_by_type.h, common/base/strbuf.h and common/base/xalloc.h */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "common/base/strbuf.h"
#include "common/base/xalloc.h"
#include "common/gpu/gpus_by_type.h"

#define LEN(a) (sizeof(a) / sizeof((a)[0]))

static int join(const char *type, uint32_t count, void *arg)
{
	strbuf_addf(arg, "%s=%u ", type, count);
	return 0;
}

static int stop(const char *type, uint32_t count, void *arg)
{
	(void)type;
	(void)count;
	return ++*(int *)arg == 2 ? 7 : 0;
}

static void amounts(void **state)
{
#define FORM "must be TYPE:COUNT, as in \"h100:2\", or a number"
	static const struct {
		const char *text, *parts, *error;
	} rows[] = {
		{ "4", "any=4 ", NULL },
		{ "any:4", "any=4 ", NULL },
		{ "h100:2,l40s:1", "h100=2 l40s=1 ", NULL },
		{ "1g.10gb:7", "1g.10gb=7 ", NULL },
		{ "1g.24gb+me:1", "1g.24gb+me=1 ", NULL },
		{ "h100:1000000", "h100=1000000 ", NULL },
		{ "h100:007", "h100=7 ", NULL },
		{ "", NULL, "'': " FORM },
		{ "h100", NULL, "'h100': " FORM },
		{ "h100:", NULL, "'h100:': " FORM },
		{ ":2", NULL, "'': a GPU type's name has 1 to 64 characters" },
		{ "h100:2,", NULL, "'': " FORM },
		{ "h100:-2", NULL, "'h100:-2': " FORM },
		{ "h100: 2", NULL, "'h100: 2': " FORM },
		{ "h100:2|l40s:1", NULL, "'h100:2|l40s:1': " FORM },
		{ "h100:2:3", NULL, "'h100:2:3': " FORM },
		{ "h100:0", NULL, "'h100:0': the count must be 1 to 1000000" },
		{ "h100:1000001", NULL, "'h100:1000001': the count must be 1 to 1000000" },
		{ "h100:18446744073709551617", NULL,
		        "'h100:18446744073709551617': the count must be 1 to 1000000" },
		{ "h100:1,h100:2", NULL, "'h100': is there twice" },
		{ "4,any:2", NULL, "'any': is there twice" },
		{ "7:2", NULL, "'7': means a number of any type, so no type is called that" },
		{ "h 1:2", NULL,
		        "'h 1': a GPU type's name has letters, digits, '-', '_', '.' and '+', a "
		        "letter or digit first" },
		{ "-h:2", NULL,
		        "'-h': a GPU type's name has letters, digits, '-', '_', '.' and '+', a "
		        "letter or digit first" },
		{ "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa:1", NULL,
		        "'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa': a "
		        "GPU "
		        "type's name has 1 to 64 characters" },
	};

	(void)state;
	for (size_t i = 0; i < LEN(rows); i++) {
		struct error err = { .text = "" };
		struct strbuf sb = { 0 };
		int rc = gpus_by_type_each(rows[i].text, join, &sb, &err);

		assert_string_equal(err.text, rows[i].error ? rows[i].error : "");
		assert_int_equal(rc, rows[i].error ? -1 : 0);
		if (rows[i].parts)
			assert_string_equal(sb.s, rows[i].parts);
		else
			assert_null(sb.s);
		strbuf_free(&sb);
	}
}

/* In limits 0 says something; all else is as above. */
static void amounts_or_none(void **state)
{
	static const struct {
		const char *text, *parts, *error;
	} rows[] = {
		{ "h100:0,4", "h100=0 any=4 ", NULL },
		{ "0", "any=0 ", NULL },
		{ "h100:1000001", NULL, "'h100:1000001': the count must be 0 to 1000000" },
		{ "h100:-1", NULL, "'h100:-1': " FORM },
		{ "h100:0,h100:0", NULL, "'h100': is there twice" },
	};

	(void)state;
	for (size_t i = 0; i < LEN(rows); i++) {
		struct error err = { .text = "" };
		struct strbuf sb = { 0 };
		int rc = gpus_by_type_each_or_none(rows[i].text, join, &sb, &err);

		assert_string_equal(err.text, rows[i].error ? rows[i].error : "");
		assert_int_equal(rc, rows[i].error ? -1 : 0);
		if (rows[i].parts)
			assert_string_equal(sb.s, rows[i].parts);
		else
			assert_null(sb.s);
		strbuf_free(&sb);
	}
}

static void amounts_stop_and_end(void **state)
{
	struct strbuf many = { 0 };
	struct error err;
	int seen = 0;

	(void)state;
	assert_int_equal(gpus_by_type_each("a:1,b:1,c:1", stop, &seen, NULL), 7);
	assert_int_equal(seen, 2);
	for (int i = 0; i < 65; i++)
		strbuf_addf(&many, "%st%d:1", i ? "," : "", i);
	assert_int_equal(gpus_by_type_each(many.s, stop, &seen, &err), -1);
	assert_string_equal(err.text, "more than 64 types");
	strbuf_free(&many);
}

static void strbuf_grows(void **state)
{
	struct strbuf sb = { 0 };
	char *s;

	(void)state;
	s = strbuf_take(&sb);
	assert_string_equal(s, "");
	free(s);
	for (int i = 0; i < 1000; i++) {
		strbuf_adds(&sb, "ab");
		strbuf_add(&sb, "c\0", 1);
		strbuf_addf(&sb, "%03d", i);
	}
	strbuf_adds(&sb, "");
	assert_int_equal(sb.len, 6000);
	assert_int_equal(strlen(sb.s), 6000);
	assert_memory_equal(sb.s + 5994, "abc999", 7);
	s = strbuf_take(&sb);
	assert_null(sb.s);
	assert_int_equal(sb.len, 0);
	free(s);
}

/* What cannot be had ends the process, with a word. */
static void no_memory_aborts(void **state)
{
	char said[64] = "";
	int fds[2], status;
	pid_t child;

	(void)state;
	assert_int_equal(pipe(fds), 0);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		struct rlimit none = { 0, 0 };

		setrlimit(RLIMIT_CORE, &none);
		signal(SIGABRT, SIG_DFL); /* cmocka's own would make it a failed test */
		dup2(fds[1], STDERR_FILENO);
		free(xrealloc(NULL, SIZE_MAX / 2, 4));
		_exit(0);
	}
	close(fds[1]);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
	assert_true(read(fds[0], said, sizeof(said) - 1) > 0);
	assert_string_equal(said, "gpusched: out of memory\n");
	close(fds[0]);
}

static void copies(void **state)
{
	char *s = xstrndup("abc", 2), *f = xasprintf("%d-%s", 7, "x"), *m = xmemdup("ab", 3);
	unsigned char *z = xcalloc(3, 2);

	(void)state;
	assert_string_equal(s, "ab");
	assert_string_equal(f, "7-x");
	assert_string_equal(m, "ab");
	for (int i = 0; i < 6; i++)
		assert_int_equal(z[i], 0);
	free(s);
	free(f);
	free(m);
	free(z);
	free(xmemdup(NULL, 0));
	free(xcalloc(0, 5));
	free(xrealloc(NULL, 0, 5));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(amounts),
		cmocka_unit_test(amounts_or_none),
		cmocka_unit_test(amounts_stop_and_end),
		cmocka_unit_test(strbuf_grows),
		cmocka_unit_test(no_memory_aborts),
		cmocka_unit_test(copies),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
