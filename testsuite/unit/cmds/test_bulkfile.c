/* test_bulkfile.c - cmds/options/bulkfile.h: a file of jobs, one JSON object a line */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "cmds/options/bulkfile.h"
#include "common/base/xalloc.h"

#define LEN(a) (sizeof(a) / sizeof((a)[0]))

struct seen {
	char text[2048];
};

static void add(struct seen *seen, const char *before, const char *text, const char *behind)
{
	size_t used = strlen(seen->text);

	snprintf(seen->text + used, sizeof(seen->text) - used, "%s%s%s", before, text, behind);
}

/* "3 wrap=x [arg] gpus=2" */
static int on_job(void *arg, const struct bulkfile_job *job, struct error *err)
{
	struct seen *seen = arg;
	char line[16];

	snprintf(line, sizeof(line), "%s%u", *seen->text ? " " : "", job->line);
	add(seen, "", line, "");
	add(seen, job->wrap ? " wrap=" : " script=", job->wrap ? job->wrap : job->script, "");
	for (const char *const *a = job->args; *a; a++)
		add(seen, " [", *a, "]");
	for (size_t i = 0; i < job->n_given; i++) {
		add(seen, " ", job->given[i].row->name, "=");
		add(seen, "", job->given[i].value, "");
	}
	if (job->wrap && !strcmp(job->wrap, "REFUSE"))
		return error_set(err, ERR_USAGE, "refused");
	return 0;
}

static const struct {
	const char *file, *seen, *error; /* error: how it begins; NULL: fine */
} rows[] = {
	{ "", "", NULL },
	{ "\n \t\n\r\n", "", NULL },
	{ "{\"wrap\": \"true\"}\n", "1 wrap=true", NULL },
	{ "{\"wrap\": \"a\"}\n\n{\"wrap\":\"b\"}", "1 wrap=a 3 wrap=b", NULL },
	{ "{\"wrap\": \"a\"}\r\n", "1 wrap=a", NULL },
	{ "{\"script\": \"x.sh\", \"args\": [\"1\", 2, \"\"]}", "1 script=x.sh [1] [2] []", NULL },
	{ "{\"wrap\":\"a\",\"gpus\":2,\"time\":\"1:0\",\"cpus_per_task\":3,\"job-name\":\"n\"}",
	        "1 wrap=a gpus=2 time=1:0 cpus-per-task=3 job-name=n", NULL },
	{ "{\"wrap\":\"a\",\"hold\":true,\"requeue\":false}", "1 wrap=a hold=yes requeue=no",
	        NULL },
	{ "{\"wrap\":\"a\",\"label\":[\"a=1\",\"b=2\"]}", "1 wrap=a label=a=1 label=b=2", NULL },
	{ "{}", NULL, "1: needs \"script\" or \"wrap\"" },
	{ "{\"wrap\":\"a\",\"script\":\"b\"}", NULL, "1: needs \"script\" or \"wrap\"" },
	{ "{\"wrap\":\"a\",\"args\":[\"b\"]}", NULL, "1: \"args\" requires" },
	{ "{\"wrap\":\"a\"}\n[]\n", "1 wrap=a", "2: expected an object" },
	{ "{\"wrap\":\"a\"}\n{\"wrap\":\n", "1 wrap=a", "2: no JSON: " },
	{ "{\"wrap\":\"a\"} {\"wrap\":\"b\"}\n", NULL, "1: no JSON: " },
	{ "{\"wrap\":\"a\",\"wrap\":\"b\"}\n", NULL, "1: no JSON: " },
	{ "{\"wrap\":\"\\u0000\"}\n", NULL, "1: a NUL byte" },
	{ "\xef\xbb\xbf{\"wrap\":\"a\"}", "1 wrap=a", NULL },
	{ "\xef\xbb\xbf", "", NULL },
	{ "{\"wrap\":\"a\"}\n\xef\xbb\xbf{\"wrap\":\"b\"}", "1 wrap=a", "2: no JSON: " },
	{ "{\"wrap\":\"\xff\"}\n", NULL, "1: no JSON: " },
	{ "{\"wrap\":1}\n", NULL, "1: \"wrap\": expected a text" },
	{ "{\"wrap\":\"\"}\n", NULL, "1: \"wrap\": expected a text" },
	{ "{\"wrap\":\"a\",\"gpu\":1}\n", NULL, "1: \"gpu\": no such option" },
	{ "{\"wrap\":\"a\",\"\\u001b[2J\":1}\n", NULL, "1: \"\\x1B[2J\": no such option" },
	{ "{\"wrap\":\"a\",\"wait\":true}\n", NULL, "1: \"wait\": not allowed for a single job" },
	{ "{\"wrap\":\"a\",\"token\":\"t\"}\n", NULL, "1: \"token\": not allowed for a single "
	        "job" },
	{ "{\"wrap\":\"a\",\"bulk\":\"t\"}\n", NULL, "1: \"bulk\": not allowed for a single job" },
	{ "{\"wrap\":\"a\",\"gpus\":1.5}\n", NULL, "1: \"gpus\": expected a text or a number" },
	{ "{\"wrap\":\"a\",\"gpus\":null}\n", NULL, "1: \"gpus\": expected a text or a number" },
	{ "{\"wrap\":\"a\",\"hold\":1}\n", NULL, "1: \"hold\": expected true or false" },
	{ "{\"wrap\":\"a\"}\n\n{\"wrap\":\"REFUSE\"}\n{\"wrap\":\"b\"}\n", "1 wrap=a 3 wrap=REFUSE",
	        "3: refused" },
};

static void test_files(void **state)
{
	(void)state;
	for (size_t i = 0; i < LEN(rows); i++) {
		size_t len = strlen(rows[i].file);
		char *copy = xmemdup(rows[i].file, len + 1); /* of the exact size */
		struct seen seen = { "" };
		struct error err = { .code = ERR_NONE };
		long n = bulkfile_each(copy, len, on_job, &seen, &err);

		if (rows[i].error) {
			assert_int_equal(n, -1);
			assert_int_equal(err.code, ERR_USAGE);
			if (strncmp(err.text, rows[i].error, strlen(rows[i].error)))
				fail_msg("%s: %s", rows[i].error, err.text);
			assert_null(strpbrk(err.text, "\n\033"));
		} else {
			assert_string_equal(err.text, "");
			assert_true(n >= 0);
		}
		if (rows[i].seen)
			assert_string_equal(seen.text, rows[i].seen);
		free(copy);
	}
}

static void test_limits(void **state)
{
	size_t len = BULKFILE_LINE_MAX + 64;
	char *big = xcalloc(1, len + 1), *at;
	struct seen seen = { "" };
	struct error err;

	(void)state;
	at = stpcpy(big, "{\"wrap\":\"");
	memset(at, 'x', BULKFILE_LINE_MAX);
	strcpy(at + BULKFILE_LINE_MAX, "\"}");
	assert_int_equal(bulkfile_each(big, strlen(big), on_job, &seen, &err), -1);
	assert_string_equal(err.text, "1: more than 1048576 bytes");
	at = stpcpy(big, "{\"wrap\":\"a\",\"label\":[\"a=1\"");
	for (int i = 0; i < BULKFILE_OPTIONS_MAX; i++)
		at = stpcpy(at, ",\"a=1\"");
	strcpy(at, "]}");
	assert_int_equal(bulkfile_each(big, strlen(big), on_job, &seen, &err), -1);
	assert_string_equal(err.text, "1: more than 128 options");
	free(big);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_files),
		cmocka_unit_test(test_limits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
