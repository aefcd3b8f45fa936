/* test_checkpoint_and_progress.c - noded/shepherd/checkpoint_and_progress.h: what a program says of
 * its run */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "noded/shepherd/checkpoint_and_progress.h"

#define ID "4812_0_1"
#define S  ((usec_t)1000000)

struct place {
	char path[64];
	int parent, dir;
	struct notes notes;
};

static const struct rundir_owner us = { .change = false };

static int place_make(void **state)
{
	struct place *p = calloc(1, sizeof(*p));

	snprintf(p->path, sizeof(p->path), "/tmp/test-notes-XXXXXX");
	assert_non_null(mkdtemp(p->path));
	p->parent = open(p->path, O_RDONLY | O_DIRECTORY);
	assert_int_equal(rundir_make(p->parent, ID, &us, "#!x", 3, NULL), 0);
	p->dir = rundir_open(p->parent, ID);
	*state = p;
	return p->dir < 0;
}

static int place_remove(void **state)
{
	struct place *p = *state;

	assert_int_equal(rundir_remove(p->parent, ID), 0);
	close(p->dir);
	close(p->parent);
	assert_int_equal(rmdir(p->path), 0);
	free(p);
	return 0;
}

static void put(const struct place *p, const char *name, const void *bytes, size_t n)
{
	int fd = openat(p->dir, name, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, n), n);
	close(fd);
}

/* touch -d */
static void touch(const struct place *p, usec_t at)
{
	struct timespec t = { .tv_sec = at / S, .tv_nsec = at % S * 1000 };

	put(p, RUNDIR_CHECKPOINT, "", 0);
	assert_int_equal(utimensat(p->dir, RUNDIR_CHECKPOINT, (struct timespec[]){ t, t }, 0), 0);
}

/* At 1000 s of UTC; the run began at 100 s. */
static bool look(struct place *p)
{
	return notes_poll(&p->notes, p->dir, &us, 100 * S, 1000 * S);
}

static void a_checkpoint_is_its_files_time(void **state)
{
	struct place *p = *state;

	assert_false(look(p));
	assert_int_equal(p->notes.checkpoint, 0);
	touch(p, 500 * S + 250000);
	assert_true(look(p));
	assert_int_equal(p->notes.checkpoint, 500 * S + 250000);
	assert_false(look(p));
	touch(p, 600 * S);
	assert_true(look(p));
	assert_int_equal(p->notes.checkpoint, 600 * S);
	touch(p, 599 * S); /* what is safe stays safe */
	assert_false(look(p));
	assert_int_equal(unlinkat(p->dir, RUNDIR_CHECKPOINT, 0), 0);
	assert_false(look(p));
	assert_int_equal(p->notes.checkpoint, 600 * S);
}

/* Its owner may set it to anything. */
static void a_checkpoint_is_of_this_run(void **state)
{
	struct place *p = *state;

	touch(p, 7 * S);
	assert_true(look(p));
	assert_int_equal(p->notes.checkpoint, 100 * S);
	touch(p, 99999 * S);
	assert_true(look(p));
	assert_int_equal(p->notes.checkpoint, 1000 * S);
}

static const struct {
	const char *written;
	size_t n;
	const char *shown;
} lines[] = {
#define LINE(written, shown)                        \
	{                                           \
		written, sizeof(written) - 1, shown \
	}
	LINE("step 12 of 100\n", "step 12 of 100"),
	LINE("no end of line", "no end of line"),
	LINE("first\nsecond\n", "first"),
	LINE("  71% \r\n", "71%"),
	LINE("gr\xc3\xbc\xc3\x9f", "gr\xc3\xbc\xc3\x9f"),
	LINE("\033[2Jcls\a", "\\x1B[2Jcls\\x07"),
	LINE("cut\0here", "cut"),
	LINE("\xff\xfe", "\\xFF\\xFE"),
	LINE("\n", ""),
	LINE("0123456789012345678901234567890123456789012345678901234567890123456789"
	     "01234567890123456789",
	        "0123456789012345678901234567890123456789012345678901234567890123456789"
	        "0123456..."),
};

static void progress_is_one_plain_line(void **state)
{
	struct place *p = *state;
	char big[5000];

	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
		put(p, RUNDIR_PROGRESS, lines[i].written, lines[i].n);
		assert_true(look(p));
		assert_string_equal(p->notes.progress, lines[i].shown);
		assert_false(look(p));
	}
	memset(big, '\t', sizeof(big));
	put(p, RUNDIR_PROGRESS, big, sizeof(big));
	assert_true(look(p));
	assert_string_equal(p->notes.progress, "");
	put(p, RUNDIR_PROGRESS, "x", 1);
	assert_true(look(p));
	assert_int_equal(unlinkat(p->dir, RUNDIR_PROGRESS, 0), 0);
	assert_true(look(p));
	assert_string_equal(p->notes.progress, "");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, place_make, place_remove)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_checkpoint_is_its_files_time),
		TEST(a_checkpoint_is_of_this_run),
		TEST(progress_is_one_plain_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
