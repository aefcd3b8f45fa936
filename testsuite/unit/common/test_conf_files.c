/* test_conf_files.c - common/conf/conf.h: files, what they include, and what is told of them */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "common/base/xalloc.h"
#include "common/conf/conf.h"

#define LEN(a) (sizeof(a) / sizeof((a)[0]))

#define CTL   "cluster = \"c\"; controller = { host = \"h\"; };\n"
#define NODES "nodes = ( { name = \"n[1-4]\"; } );\n"
#define PARTS "partitions = ( { name = \"p\"; nodes = \"ALL\"; } );\n"

struct folder {
	char path[64];
};

static int setup(void **state)
{
	struct folder *f = xcalloc(1, sizeof(*f));

	snprintf(f->path, sizeof(f->path), "/tmp/gpusched-conf-XXXXXX");
	*state = f;
	return mkdtemp(f->path) ? 0 : -1;
}

static int teardown(void **state)
{
	static const char *const made[] = { "a", "b", "sub/c", "sub/d", "fifo", "sub" };
	struct folder *f = *state;

	for (size_t i = 0; i < LEN(made); i++) {
		char *path = xasprintf("%s/%s", f->path, made[i]);

		remove(path);
		free(path);
	}
	rmdir(f->path);
	free(f);
	return 0;
}

static void file_write(const struct folder *f, const char *name, const char *text)
{
	char *path = xasprintf("%s/%s", f->path, name);
	FILE *out = fopen(path, "w");

	assert_non_null(out);
	fputs(text, out);
	fclose(out);
	free(path);
}

/* What is told of file "a", with the folder's name taken off; "" if it is right. */
static char *told_of(const struct folder *f, const char *name, size_t *n_nodes)
{
	char *path = xasprintf("%s/%s", f->path, name), *told = NULL, *p;
	struct conf_problems problems;
	struct conf *conf = conf_load(path, &problems);
	size_t size, n = strlen(f->path) + 1;
	FILE *out = open_memstream(&told, &size);

	conf_problems_print(&problems, out);
	fclose(out);
	if (n_nodes)
		*n_nodes = conf ? conf->n_nodes : 0;
	conf_free(conf);
	conf_problems_clear(&problems);
	free(path);
	while ((p = strstr(told, f->path)) != NULL)
		memmove(p, p + n, strlen(p + n) + 1);
	return told;
}

static void assert_told(const struct folder *f, const char *name, const char *expected)
{
	char *told = told_of(f, name, NULL);

	assert_string_equal(told, expected);
	free(told);
}

static void includes(void **state)
{
	struct folder *f = *state;
	char *path = xasprintf("%s/sub", f->path), *told;
	size_t n_nodes;

	assert_int_equal(mkdir(path, 0700), 0);
	free(path);
	/* Within a list, from a folder of its own, twice, and a comment and a text that only look
	 * like it. */
	file_write(f, "a",
	        CTL "nodes = ( { name = \"n1\"; },\n"
	            "\t @include \"sub/c\" # behind it\n"
	            "/* the next line is none:\n"
	            "@include \"nothing\"\n"
	            "*/ { name = \"n9\"; } );\n"
	            "@include \"b\"\n");
	file_write(f, "sub/c", "{ name = \"n2\"; },\n@include \"d\"\n");
	file_write(f, "sub/d", "{ name = \"n3\"; },");
	file_write(f, "b", PARTS);
	told = told_of(f, "a", &n_nodes);
	assert_string_equal(told, "");
	assert_int_equal(n_nodes, 4);
	free(told);

	/* An absolute path. */
	path = xasprintf(CTL NODES "@include \"%s/b\"\n", f->path);
	file_write(f, "a", path);
	free(path);
	assert_told(f, "a", "");
	file_write(f, "a",
	        CTL "nodes = ( { name = \"n1\"; },\n@include \"sub/c\"\n"
	            "{ name = \"n9\"; } );\n@include \"b\"\n");

	/* Mistakes are told where they stand, in the order of the text. */
	file_write(f, "sub/d", "\n{ nmae = \"n3\"; },");
	file_write(f, "b",
	        "\n\npartitions = ( { name = \"p\"; nodes = \"n1\"; teir = 1; } );\nx = 1;");
	assert_told(f, "a",
	        "sub/d:2: nodes[2].name: must be given\n"
	        "sub/d:2: nodes[2].nmae: unknown key; did you mean 'name'?\n"
	        "b:3: partitions[0].teir: unknown key; did you mean 'tier'?\n"
	        "b:4: x: unknown key; see gpusched.conf(5)\n");
	file_write(f, "sub/d", "\n\n{ name = n3; },");
	assert_told(f, "a", "sub/d:3: syntax error: n3: text needs quotes, as in \"n3\"\n");
	file_write(f, "sub/d", "{ name = \"n3; },");
	assert_told(f, "a", "sub/d:1: syntax error: the text in quotes does not end on its line\n");
	/* What is open at the end of a file does not run on into the next. */
	file_write(f, "sub/d", "{ name = \"n3\"; }, /*");
	assert_told(f, "a", "sub/d:1: syntax error: a comment without its end\n");
}

static void includes_that_fail(void **state)
{
	struct folder *f = *state;
	char *path = xasprintf("%s/fifo", f->path);

	assert_int_equal(mkfifo(path, 0600), 0);
	free(path);
	file_write(f, "a", CTL "@include \"b\"\n" NODES PARTS);
	assert_told(f, "a", "a:2: @include \"b\": cannot be read: No such file or directory\n");
	file_write(f, "b", "\n\n@include \"fifo\"\n");
	assert_told(f, "a", "b:3: @include \"fifo\": cannot be read: not a regular file\n");
	file_write(f, "b", "@include \".\"\n");
	assert_told(f, "a", "b:1: @include \".\": cannot be read: Is a directory\n");
	file_write(f, "b", "@include \"a\"\n");
	assert_told(
	        f, "a", "a:2: @include: 11 files within one another; does one include itself?\n");
	assert_told(f, "nothing", "nothing: cannot be read: No such file or directory\n");
	assert_told(f, "fifo", "fifo: cannot be read: not a regular file\n");
}

static void a_nul_byte(void **state)
{
	struct folder *f = *state;
	char *path = xasprintf("%s/a", f->path);
	FILE *out = fopen(path, "w");

	fwrite("a = 1;\nb\0 = 2;", 1, 14, out);
	fclose(out);
	free(path);
	assert_told(f, "a", "a:2: syntax error: a NUL byte\n");
}

int main(void)
{
#define FILES(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		FILES(includes),
		FILES(includes_that_fail),
		FILES(a_nul_byte),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
