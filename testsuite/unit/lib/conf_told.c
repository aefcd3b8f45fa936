/* conf_told.c - see conf_told.h */
#include "testsuite/unit/lib/conf_told.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/xalloc.h"
#include "common/conf/conf.h"

char *conf_told(const char *text)
{
	struct conf_problems problems;
	char *told = NULL;
	size_t size;
	FILE *out = open_memstream(&told, &size);

	assert_null(conf_parse(text, "c", &problems));
	conf_problems_print(&problems, out);
	fclose(out);
	conf_problems_clear(&problems);
	return told;
}

void conf_rows_are_told(const char *head, const struct conf_row *rows, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		char *text = xasprintf("%s%s", head, rows[i].text);
		char *told = conf_told(text);

		if (strcmp(told, rows[i].told))
			print_error("row %zu:\n%s", i, text);
		assert_string_equal(told, rows[i].told);
		free(told);
		free(text);
	}
}

void conf_cut_anywhere(const char *text, size_t len)
{
	char *cut = xcalloc(len + 1, 1);

	for (size_t n = 0; n <= len; n++) {
		struct conf_problems problems;
		struct conf *conf;

		memcpy(cut, text, n);
		cut[n] = '\0';
		conf = conf_parse(cut, "c", &problems);
		assert_true(conf ? problems.n == 0 : problems.n > 0);
		conf_free(conf);
		conf_problems_clear(&problems);
	}
	free(cut);
}
