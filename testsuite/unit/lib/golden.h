/* golden.h - what is printed, compared with files in testsuite/unit/golden/
 *
 * After a change that is meant: GOLDEN_UPDATE=1, then look at what `git diff` says of those files.
 * Include behind cmocka.h.
 */
#ifndef TESTSUITE_UNIT_GOLDEN_H
#define TESTSUITE_UNIT_GOLDEN_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static inline char *golden_path(const char *name)
{
	static char path[512];
	const char *srcdir = getenv("srcdir");

	snprintf(
	        path, sizeof(path), "%s/testsuite/unit/golden/%s.txt", srcdir ? srcdir : ".", name);
	return path;
}

static inline char *golden_read(const char *name)
{
	FILE *f = fopen(golden_path(name), "r");
	char *text = calloc(1, 65536);

	if (!f)
		fail_msg("%s cannot be read", golden_path(name));
	assert_true(fread(text, 1, 65535, f) > 0);
	fclose(f);
	return text;
}

/* Takes over `got`. */
static inline void golden_check(const char *name, char *got)
{
	char *want;

	if (getenv("GOLDEN_UPDATE")) {
		FILE *f = fopen(golden_path(name), "w");

		assert_non_null(f);
		fputs(got, f);
		fclose(f);
	}
	want = golden_read(name);
	if (strcmp(got, want))
		print_message("%s is now:\n%s", name, got);
	assert_string_equal(got, want);
	free(got);
	free(want);
}

/* All that was printed to a temporary file, which is closed; the caller frees. */
static inline char *golden_text(FILE *f)
{
	long len = ftell(f);
	char *text = calloc(1, (size_t)len + 1);

	rewind(f);
	assert_int_equal(fread(text, 1, (size_t)len, f), len);
	fclose(f);
	return text;
}

#endif
