/* test_pidfile.c - common/base/pidfile.h */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/base/pidfile.h"

static char dir[] = "/tmp/test_pidfile.XXXXXX";
static char path[128], other[128];

static int make_dir(void **state)
{
	(void)state;
	if (!mkdtemp(dir))
		return -1;
	snprintf(path, sizeof(path), "%s/pid", dir);
	snprintf(other, sizeof(other), "%s/other", dir);
	return 0;
}

static int remove_dir(void **state)
{
	(void)state;
	return rmdir(dir);
}

static bool exists(const char *name)
{
	struct stat st;

	return lstat(name, &st) == 0;
}

static long pid_in(const char *name)
{
	char text[32] = "";
	FILE *f = fopen(name, "r");

	assert_non_null(f);
	if (!fgets(text, sizeof(text), f))
		text[0] = '\0';
	fclose(f);
	return strtol(text, NULL, 10);
}

static struct pidfile *make(void)
{
	struct pidfile *p;
	struct error err;

	assert_int_equal(pidfile_open(path, "daemon", &p, &err), 0);
	assert_non_null(p);
	assert_int_equal(pidfile_write(p, &err), 0);
	return p;
}

static void from_start_to_end(void **state)
{
	struct pidfile *p = make();

	(void)state;
	assert_int_equal(pid_in(path), getpid());
	pidfile_close(p);
	assert_false(exists(path));
}

static void no_path_is_no_file(void **state)
{
	struct pidfile *p;
	struct error err;

	(void)state;
	assert_int_equal(pidfile_open("", "daemon", &p, &err), 0);
	assert_null(p);
	assert_int_equal(pidfile_write(p, &err), 0);
	pidfile_close(p);
	pidfile_leave(p);
	assert_int_equal(pidfile_open("/nowhere/pid", "daemon", &p, &err), -1);
	assert_int_equal(err.code, ERR_SYSTEM);
}

static void a_second_one_is_refused(void **state)
{
	struct pidfile *p = make(), *second;
	char text[64];
	struct error err;

	(void)state;
	assert_int_equal(pidfile_open(path, "daemon", &second, &err), -1);
	snprintf(text, sizeof(text), "another daemon runs, pid %ld", (long)getpid());
	assert_non_null(strstr(err.text, text));
	assert_int_equal(pid_in(path), getpid());
	pidfile_close(p);
}

/* A child lets go: the lock stays its parent's, and ends with it, whoever still lives. */
static void a_child_leaves_it_alone(void **state)
{
	struct pidfile *p = make(), *second;
	struct error err;
	int up[2], status;
	pid_t pid;
	char c;

	(void)state;
	assert_int_equal(pipe(up), 0);
	pid = fork();
	if (pid == 0) {
		pidfile_leave(p);
		(void)!write(up[1], "x", 1);
		alarm(60);
		pause();
		_exit(1);
	}
	assert_int_equal(read(up[0], &c, 1), 1);
	assert_int_equal(pidfile_open(path, "daemon", &second, &err), -1);
	pidfile_leave(p); /* as when the parent is killed */
	pidfile_close(make());
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	close(up[0]);
	close(up[1]);
}

static void a_link_is_not_followed(void **state)
{
	struct pidfile *p;
	struct error err;

	(void)state;
	assert_int_equal(symlink(other, path), 0);
	assert_int_equal(pidfile_open(path, "daemon", &p, &err), -1);
	assert_false(exists(other));
	unlink(path);
}

static void somebody_elses_is_not_removed(void **state)
{
	struct pidfile *first = make(), *second;

	(void)state;
	assert_int_equal(rename(path, other), 0);
	second = make();
	pidfile_close(first);
	assert_int_equal(pid_in(path), getpid());
	assert_int_equal(pid_in(other), 0); /* names nobody */
	pidfile_close(second);
	unlink(other);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(from_start_to_end),
		cmocka_unit_test(no_path_is_no_file),
		cmocka_unit_test(a_second_one_is_refused),
		cmocka_unit_test(a_child_leaves_it_alone),
		cmocka_unit_test(a_link_is_not_followed),
		cmocka_unit_test(somebody_elses_is_not_removed),
	};

	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
