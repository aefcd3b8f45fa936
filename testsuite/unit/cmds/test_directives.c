/* test_directives.c - cmds/options/directives.h, cmds/options/script.h */
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

#include "cmds/options/directives.h"
#include "cmds/options/script.h"
#include "common/base/xalloc.h"

#define LEN(a) (sizeof(a) / sizeof((a)[0]))

/* What was read: "LINE[word][word] LINE[word]". */
struct seen {
	char text[4096];
};

static int on_line(void *arg, unsigned line, size_t n, char **words, struct error *err)
{
	struct seen *seen = arg;
	size_t used = strlen(seen->text);

	used += (size_t)snprintf(
	        seen->text + used, sizeof(seen->text) - used, "%s%u", used ? " " : "", line);
	for (size_t i = 0; i < n; i++) {
		if (!strcmp(words[i], "REFUSE"))
			return error_set(err, ERR_USAGE, "refused");
		used += (size_t)snprintf(
		        seen->text + used, sizeof(seen->text) - used, "[%s]", words[i]);
	}
	return 0;
}

static const struct {
	const char *script;
	const char *seen, *error; /* error: NULL if it is fine */
	unsigned late;
} scans[] = {
	{ "#!/bin/sh\n#GPUSCHED -J a --gpus=2\ntrue\n", "2[-J][a][--gpus=2]", NULL, 0 },
	{ "#!/bin/sh\n\n  \t\n# x\n  # y\n#GPUSCHED -H\n", "6[-H]", NULL, 0 },
	{ "#!/bin/sh\n#GPUSCHED -H", "2[-H]", NULL, 0 },
	{ "#!/bin/sh\n#GPUSCHED\n#GPUSCHED   \n#GPUSCHED # -H\n", "", NULL, 0 },
	{ "#!/bin/sh\n#GPUSCHED\t-c\t2 # more\n", "2[-c][2]", NULL, 0 },
	{ "#!/bin/sh\n#GPUSCHED a#b\n", "2[a#b]", NULL, 0 },
	{ "#!/bin/sh\n##GPUSCHED -H\n# GPUSCHED -H\n #GPUSCHED -H\n", "", NULL, 0 },
	{ "#!/bin/sh\n#SBATCH -H\n#GPUSCHED -W\n", "3[-W]", NULL, 0 },
	/* behind the first command nothing is read, and that is said */
	{ "#!/bin/sh\n#GPUSCHED -W\ntrue\n#GPUSCHED -H\n", "2[-W]", NULL, 4 },
	{ "#!/bin/sh\ntrue\n\n#GPUSCHED", "", NULL, 4 },
	{ "#!/bin/sh\ntrue\n#GPUSCHEDULE\n#GPUSCHED-x\n", "", NULL, 0 },
	{ "#!/bin/sh\nexport X=1 #GPUSCHED -H\n", "", NULL, 0 },
	/* quotes and backslashes */
	{ "#GPUSCHED 'a b' \"c d\" e\\ f ''\n", "1[a b][c d][e f][]", NULL, 0 },
	{ "#GPUSCHED --x='a \"b\" \\c'\n", "1[--x=a \"b\" \\c]", NULL, 0 },
	{ "#GPUSCHED \"a \\\" \\\\ 'b' # c\"\n", "1[a \" \\ 'b' # c]", NULL, 0 },
	{ "#GPUSCHED \\# \\'\n", "1[#][']", NULL, 0 },
	{ "#GPUSCHED 'a\n", "", "1: the quote ' is not closed on this line", 0 },
	{ "#!/bin/sh\n#GPUSCHED \"a\\\"\n", "", "2: the quote \" is not closed on this line", 0 },
	{ "#GPUSCHED a\\\n#GPUSCHED b\n", "", "1: a backslash at the end; a directive is one line",
	        0 },
	/* what is refused */
	{ "#!/bin/sh\n#GPUSCHED--gpus=1\n", "", "2: '#GPUSCHED' needs a blank behind it", 0 },
	{ "#!/bin/sh\r\n#GPUSCHED -H\r\n", "", "1: the line ends as in DOS (CR LF)", 0 },
	{ "#!/bin/sh\n#GPUSCHED -H\r\n", "", "2: the line ends as in DOS (CR LF)", 0 },
	{ "#!/bin/sh\n\r\n", "", "2: the line ends as in DOS (CR LF)", 0 },
	{ "#!/bin/sh\n\n#GPUSCHED REFUSE\n", "", "3: refused", 0 },
	{ "", "", NULL, 0 },
	{ "\n\n\n", "", NULL, 0 },
	{ "#", "", NULL, 0 },
	{ "#GPUSCHED", "", NULL, 0 },
};

static void test_scan(void **state)
{
	(void)state;
	for (size_t i = 0; i < LEN(scans); i++) {
		/* A copy of the exact size: reading behind it is seen. */
		size_t len = strlen(scans[i].script);
		char *copy = xmemdup(scans[i].script, len);
		struct seen seen = { "" };
		struct error err = { .code = ERR_NONE };
		unsigned late = 77;
		int rc = directives_scan(copy, len, DIRECTIVES_GPUSCHED, on_line, &seen, &late, &err);

		if (scans[i].error) {
			assert_int_equal(rc, -1);
			assert_string_equal(err.text, scans[i].error);
			assert_int_equal(err.code, ERR_USAGE);
			assert_int_equal(late, 77);
		} else {
			assert_string_equal(err.text, "");
			assert_int_equal(rc, 0);
			assert_string_equal(seen.text, scans[i].seen);
			assert_int_equal(late, scans[i].late);
		}
		free(copy);
	}
}

static void test_nul_and_limits(void **state)
{
	static const char nul[] = "#!/bin/sh\n#GPUSCHED -J a\0b\n";
	static const char after[] = "#!/bin/sh\n#GPUSCHED -H\ntrue \0 #GPUSCHED\n";
	struct seen seen = { "" };
	struct error err;
	char *big = xcalloc(1, 200000);

	(void)state;
	assert_int_equal(
	        directives_scan(nul, sizeof(nul) - 1, DIRECTIVES_GPUSCHED, on_line, &seen, NULL, &err),
	        -1);
	assert_string_equal(err.text, "2: a NUL byte in a directive");
	assert_int_equal(directives_scan(after, sizeof(after) - 1, DIRECTIVES_GPUSCHED, on_line, &seen,
	                         NULL, &err),
	        0);
	assert_string_equal(seen.text, "2[-H]");

	memset(big, ' ', 200000);
	memcpy(big, "#GPUSCHED ", 10);
	assert_int_equal(
	        directives_scan(big, 200000, DIRECTIVES_GPUSCHED, on_line, &seen, NULL, &err), -1);
	assert_string_equal(err.text, "1: a directive of more than 65536 bytes");
	for (size_t i = 10; i < 4000; i += 2)
		big[i] = 'x';
	assert_int_equal(
	        directives_scan(big, 4000, DIRECTIVES_GPUSCHED, on_line, &seen, NULL, &err), -1);
	assert_string_equal(err.text, "1: more than 1024 words");
	free(big);
}

static const struct {
	const char *text;
	size_t len; /* 0: strlen */
	const char *error;
} checks[] = {
	{ "#!/bin/sh\ntrue\n", 0, NULL },
	{ "#! /bin/sh", 0, NULL },
	{ "#!/bin/sh\nprintf 'a\\r\\n'\rb\n", 0, NULL },
	{ "", 0, "the script is empty" },
	{ "#", 0, "1: the first line must name the interpreter, such as #!/bin/bash" },
	{ "echo hello\n", 0, "1: the first line must name the interpreter, such as #!/bin/bash" },
	{ " #!/bin/sh\n", 0, "1: the first line must name the interpreter, such as #!/bin/bash" },
	{ "\177ELF\2\1", 0, "a program, not a script" },
	{ "#!/bin/sh\r\ntrue\r\n", 0, "1: the line ends as in DOS (CR LF)" },
	{ "#!/bin/sh\ntrue\ntrue\r\n", 0, "3: the line ends as in DOS (CR LF)" },
	{ "#!/bin/sh\na\0b\n", 14, "2: a NUL byte; a script is text" },
};

static void test_script_check(void **state)
{
	(void)state;
	for (size_t i = 0; i < LEN(checks); i++) {
		size_t len = checks[i].len ? checks[i].len : strlen(checks[i].text);
		struct script s = { xmemdup(checks[i].text, len), len };
		struct error err = { .code = ERR_NONE };
		int rc = script_check(&s, &err);

		assert_string_equal(err.text, checks[i].error ? checks[i].error : "");
		assert_int_equal(rc, checks[i].error ? -1 : 0);
		script_clear(&s);
	}
}

static void test_script_read(void **state)
{
	char dir[] = "/tmp/gpusched-script-XXXXXX", path[64];
	struct script s = { NULL, 0 };
	struct error err;
	FILE *f;

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/job.sh", dir);
	assert_int_equal(script_read(path, &s, &err), -1);
	assert_int_equal(err.code, ERR_SYSTEM);
	assert_non_null(strstr(err.text, "No such file or directory"));
	assert_int_equal(script_read(dir, &s, &err), -1);
	assert_non_null(strstr(err.text, "Is a directory"));

	f = fopen(path, "w");
	fputs("#!/bin/sh\n", f);
	fclose(f);
	assert_int_equal(script_read(path, &s, &err), 0);
	assert_string_equal(s.text, "#!/bin/sh\n");
	assert_int_equal(s.len, 10);
	script_clear(&s);

	assert_int_equal(truncate(path, 4 << 20), 0);
	assert_int_equal(script_read(path, &s, &err), 0);
	assert_int_equal(s.len, 4 << 20);
	script_clear(&s);
	assert_int_equal(truncate(path, (4 << 20) + 1), 0);
	assert_int_equal(script_read(path, &s, &err), -1);
	assert_non_null(strstr(err.text, "more than 4 MiB"));
	assert_int_equal(truncate(path, 5 << 20), 0);
	assert_int_equal(script_read(path, &s, &err), -1);

	if (geteuid() != 0) {
		assert_int_equal(chmod(path, 0), 0);
		assert_int_equal(script_read(path, &s, &err), -1);
		assert_non_null(strstr(err.text, "Permission denied"));
	}
	unlink(path);
	rmdir(dir);
}

static void test_script_pipe(void **state)
{
	struct script s = { NULL, 0 };
	struct error err;
	int saved = dup(STDIN_FILENO), p[2];

	(void)state;
	assert_int_equal(pipe(p), 0);
	assert_int_equal(write(p[1], "#!/bin/sh\nx\n", 12), 12);
	close(p[1]);
	dup2(p[0], STDIN_FILENO);
	assert_int_equal(script_read("-", &s, &err), 0);
	dup2(saved, STDIN_FILENO);
	close(saved);
	close(p[0]);
	assert_string_equal(s.text, "#!/bin/sh\nx\n");
	script_clear(&s);
	script_wrap("echo 'a b'", &s);
	assert_string_equal(s.text, "#!/bin/sh\necho 'a b'\n");
	assert_int_equal(script_check(&s, &err), 0);
	script_clear(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_scan),
		cmocka_unit_test(test_nul_and_limits),
		cmocka_unit_test(test_script_check),
		cmocka_unit_test(test_script_read),
		cmocka_unit_test(test_script_pipe),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
