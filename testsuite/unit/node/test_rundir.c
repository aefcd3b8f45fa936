/* test_rundir.c - noded/record/rundir.h: root in a directory that a user owns */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "noded/record/rundir.h"
#include "testsuite/unit/lib/place.h"

#define ID "4812_0_1"

static const struct rundir_owner us = { .change = false };

static void made_with_the_script(void **state)
{
	const struct place *p = *state;
	char b[32] = "";
	struct stat st;
	int fd;

	for (int again = 0; again < 2; again++) { /* in place of one that was left */
		assert_int_equal(rundir_make(p->fd, ID, &us, "#!/bin/sh\n", 10, NULL), 0);
		assert_int_equal(fstatat(p->fd, ID, &st, 0), 0);
		assert_int_equal(st.st_mode & 07777, 0700);
		assert_int_equal(fstatat(p->fd, ID "/" RUNDIR_SCRIPT, &st, 0), 0);
		assert_int_equal(st.st_mode & 07777, 0500);
		fd = openat(p->fd, ID "/" RUNDIR_SCRIPT, O_RDONLY);
		assert_int_equal(read(fd, b, sizeof(b)), 10);
		assert_memory_equal(b, "#!/bin/sh\n", 10);
		close(fd);
	}
	assert_int_equal(rundir_remove(p->fd, ID), 0);
	assert_int_equal(rundir_remove(p->fd, ID), 0); /* there is none: fine */
}

static void given_away_whole(void **state)
{
	const struct place *p = *state;
	struct rundir_owner other = { .change = true, .uid = 65534, .gid = 65534 };
	struct stat st;

	if (geteuid() != 0)
		skip();
	assert_int_equal(rundir_make(p->fd, ID, &other, "#!x", 3, NULL), 0);
	assert_int_equal(fstatat(p->fd, ID, &st, 0), 0);
	assert_int_equal(st.st_uid, 65534);
	assert_int_equal(fstatat(p->fd, ID "/" RUNDIR_SCRIPT, &st, 0), 0);
	assert_int_equal(st.st_uid, 65534);
	assert_int_equal(st.st_gid, 65534);
}

/* `interrupt` replaces a link, and what the link points to is as it was. */
static void interrupt_follows_no_link(void **state)
{
	const struct place *p = *state;
	char b[32] = "";
	struct stat st;
	int dir, canary;

	assert_int_equal(rundir_make(p->fd, ID, &us, "#!x", 3, NULL), 0);
	dir = rundir_open(p->fd, ID);
	canary = openat(p->fd, "canary", O_RDWR | O_CREAT, 0644);
	assert_int_equal(write(canary, "alive", 5), 5);
	assert_int_equal(symlinkat("../canary", dir, "interrupt"), 0);
	assert_int_equal(rundir_interrupt(p->fd, ID, dir, &us, "reason=x\n", 9), 0);
	assert_int_equal(pread(canary, b, sizeof(b), 0), 5);
	assert_string_equal(b, "alive");
	assert_int_equal(fstatat(dir, "interrupt", &st, AT_SYMLINK_NOFOLLOW), 0);
	assert_true(S_ISREG(st.st_mode));
	assert_int_equal(st.st_size, 9);
	/* A directory in its place: no file, no harm. */
	unlinkat(dir, "interrupt", 0);
	assert_int_equal(mkdirat(dir, "interrupt", 0700), 0);
	assert_int_equal(rundir_interrupt(p->fd, ID, dir, &us, "x", 1), -1);
	assert_int_equal(faccessat(p->fd, ID ".interrupt", F_OK, 0), -1);
	close(canary);
	close(dir);
}

static void ack_is_seen(void **state)
{
	const struct place *p = *state;
	struct stat st;
	int dir;

	assert_int_equal(rundir_make(p->fd, ID, &us, "#!x", 3, NULL), 0);
	dir = rundir_open(p->fd, ID);
	assert_false(rundir_stat(dir, RUNDIR_ACK, &st));
	assert_int_equal(symlinkat("/nonexistent", dir, RUNDIR_ACK), 0);
	assert_true(rundir_stat(dir, RUNDIR_ACK, &st)); /* a name is enough, wherever it leads */
	assert_true(S_ISLNK(st.st_mode));
	close(dir);
}

static void put(int dir, const char *name, const char *text)
{
	int fd = openat(dir, name, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

/* Only a plain file of the owner's, and never for longer than a moment. */
static void only_what_is_the_owners_is_read(void **state)
{
	const struct place *p = *state;
	struct rundir_owner other = { .change = true, .uid = 65534, .gid = 65534 };
	char b[8] = "?";
	int dir;

	assert_int_equal(rundir_make(p->fd, ID, &us, "#!x", 3, NULL), 0);
	dir = rundir_open(p->fd, ID);
	assert_int_equal(rundir_read(dir, "f", &us, b, sizeof(b)), -1);
	assert_int_equal(errno, ENOENT);
	put(dir, "f", "step 12 of 100");
	assert_int_equal(rundir_read(dir, "f", &us, b, sizeof(b)), 7);
	assert_string_equal(b, "step 12");
	put(dir, "f", "");
	assert_int_equal(rundir_read(dir, "f", &us, b, sizeof(b)), 0);
	put(p->fd, "secret", "secret");
	assert_int_equal(symlinkat("../secret", dir, "link"), 0);
	assert_int_equal(symlinkat("f", dir, "near"), 0);
	assert_int_equal(mknodat(dir, "fifo", S_IFIFO | 0600, 0), 0);
	assert_int_equal(mkdirat(dir, "dir", 0700), 0);
	assert_int_equal(rundir_read(dir, "link", &us, b, sizeof(b)), -1);
	assert_int_equal(rundir_read(dir, "near", &us, b, sizeof(b)), -1);
	assert_int_equal(rundir_read(dir, "fifo", &us, b, sizeof(b)), -1);
	assert_int_equal(rundir_read(dir, "dir", &us, b, sizeof(b)), -1);
	assert_int_equal(rundir_read(dir, "../secret", &us, b, sizeof(b)), -1);
	/* Somebody else's file with a name of its own here: it is not read out to this owner. */
	assert_int_equal(linkat(p->fd, "secret", dir, "hard", 0), 0);
	assert_int_equal(rundir_read(dir, "hard", &other, b, sizeof(b)), -1);
	assert_int_equal(errno, EPERM);
	assert_string_equal(b, "");
	close(dir);
}

/* A mount in RUN_DIR may be of a file system that never answers. */
static void no_mount_is_entered(void **state)
{
	const struct place *p = *state;
	struct stat st;
	char b[8], path[100];
	int dir;

	assert_int_equal(rundir_make(p->fd, ID, &us, "#!x", 3, NULL), 0);
	dir = rundir_open(p->fd, ID);
	put(dir, "f", "mine");
	snprintf(path, sizeof(path), "%s/" ID "/f", p->path);
	if (geteuid() != 0 || mount("/proc/version", path, NULL, MS_BIND, NULL) < 0)
		skip();
	assert_false(rundir_stat(dir, "f", &st));
	assert_int_equal(rundir_read(dir, "f", &us, b, sizeof(b)), -1);
	assert_int_equal(umount2(path, MNT_DETACH), 0);
	assert_true(rundir_stat(dir, "f", &st));
	close(dir);
}

/* Deeper than PATH_MAX and than there are descriptors, names in our own way, links out of it. */
static void removed_however_deep(void **state)
{
	const struct place *p = *state;
	int dir, next, canary;

	assert_int_equal(rundir_make(p->fd, ID, &us, "#!x", 3, NULL), 0);
	canary = openat(p->fd, "canary", O_RDWR | O_CREAT, 0644);
	dir = rundir_open(p->fd, ID);
	assert_int_equal(mkdirat(dir, ".gone-0", 0700), 0);
	assert_int_equal(mkdirat(dir, ".gone-0/.gone-1", 0700), 0);
	for (int i = 0; i < 3000; i++) {
		assert_int_equal(mkdirat(dir, "deeper", 0700), 0);
		next = openat(dir, "deeper", O_RDONLY | O_DIRECTORY);
		assert_true(next >= 0);
		assert_int_equal(symlinkat("/etc", dir, "etc"), 0);
		assert_int_equal(symlinkat(p->path, dir, "loop"), 0);
		if (i % 100 == 0)
			assert_int_equal(mknodat(dir, "fifo", S_IFIFO | 0600, 0), 0);
		if (i % 7 == 0)
			assert_int_equal(fchmod(dir, i % 2 ? 0500 : 0), 0);
		close(dir);
		dir = next;
	}
	close(dir);
	assert_int_equal(rundir_remove(p->fd, ID), 0);
	assert_int_equal(faccessat(p->fd, ID, F_OK, 0), -1);
	assert_int_equal(faccessat(p->fd, "canary", F_OK, 0), 0);
	assert_int_equal(access("/etc/passwd", F_OK), 0);
	close(canary);
}

/* A link in the place of RUN_DIR itself is not followed. */
static void a_link_is_not_it(void **state)
{
	const struct place *p = *state;

	assert_int_equal(mkdirat(p->fd, "other", 0700), 0);
	assert_int_equal(mkdirat(p->fd, "other/keep", 0700), 0);
	assert_int_equal(symlinkat("other", p->fd, ID), 0);
	assert_int_equal(rundir_open(p->fd, ID), -1);
	assert_int_equal(rundir_remove(p->fd, ID), -1);
	assert_int_equal(faccessat(p->fd, "other/keep", F_OK, 0), 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, place_make, place_remove)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(made_with_the_script),
		TEST(given_away_whole),
		TEST(interrupt_follows_no_link),
		TEST(ack_is_seen),
		TEST(only_what_is_the_owners_is_read),
		TEST(no_mount_is_entered),
		TEST(removed_however_deep),
		TEST(a_link_is_not_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
