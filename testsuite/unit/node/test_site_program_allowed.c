/* site_program_allowed.h, rlimits.h, private_mounts.h: what the site says of its programs and of
 * runs */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "common/base/xalloc.h"
#include "noded/contain/private_mounts.h"
#include "noded/exec/prolog_epilog.h"
#include "noded/exec/rlimits.h"

static char dir[] = "/tmp/test_site_program_allowed.XXXXXX";

static char *script(const char *name, const char *text, mode_t mode)
{
	char *path = xasprintf("%s/%s", dir, name);
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0700);

	assert_true(fd >= 0);
	dprintf(fd, "#!/bin/sh\n%s\n", text);
	fchmod(fd, mode);
	close(fd);
	return path;
}

static enum program_end run(const char *text, uint64_t ms, char trouble[PROGRAM_TROUBLE_MAX])
{
	char *path = script("program", text, 0700);
	struct program_run what = {
		.kind = PROGRAM_PROLOG, .path = path, .timeout_ms = ms, .node = "n1", .leaf = ""
	};
	enum program_end end = program_run(&what, trouble);

	unlink(path);
	free(path);
	return end;
}

static void ends(void **state)
{
	static const struct {
		const char *text, *trouble;
	} cases[] = {
		{ "exit 0", "" }, { "echo fine; exit 0", "" },
		{ "exit 3", "prolog ended with exit code 3" },
		{ "echo 'no licence'; echo more; exit 1",
		        "prolog ended with exit code 1: no licence" },
		{ "printf 'a\\033b' >&2; exit 1", "prolog ended with exit code 1: a\\x1Bb" },
		{ "kill -TERM $$", "prolog was ended by signal 15" },
		{ "yes | head -c 300000; exit 2", "prolog ended with exit code 2: y" },
		{ "[ $(env | grep -c =) = 3 ] && [ $GPUSCHED_NODE = n1 ]", "" }, /* and PWD */
		{ "[ $(pwd) = / ] && [ -z \"$(cat)\" ]", "" },
		{ "exec 3>&1 4>&1; sleep 1000 & exit 0", "" }, /* what it leaves ends with it */
	};
	char trouble[PROGRAM_TROUBLE_MAX];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		enum program_end end = run(cases[i].text, 30000, trouble);

		assert_int_equal(end, *cases[i].trouble ? PROGRAM_FAILED : PROGRAM_DONE);
		assert_string_equal(trouble, cases[i].trouble);
	}
}

static void hangs(void **state)
{
	char trouble[PROGRAM_TROUBLE_MAX];

	(void)state;
	assert_int_equal(run("trap '' TERM; (setsid sleep 1000 &); exec sleep 1000", 1000, trouble),
	        PROGRAM_FAILED);
	assert_string_equal(trouble, "prolog was killed after 1 s");
}

static bool no_more(void *arg)
{
	(void)arg;
	return false;
}

static void stopped(void **state)
{
	char *path = script("program", "exec sleep 1000", 0700), trouble[PROGRAM_TROUBLE_MAX];
	struct program_run what = { .kind = PROGRAM_PROLOG,
		.path = path,
		.timeout_ms = 60000,
		.node = "n1",
		.leaf = "",
		.go_on = no_more };

	(void)state;
	assert_int_equal(program_run(&what, trouble), PROGRAM_STOPPED);
	assert_string_equal(trouble, "");
	unlink(path);
	free(path);
}

static void which_programs(void **state)
{
	char *good = script("good", "", 0755), *plain = script("plain", "", 0644);
	char *loose = script("loose", "", 0777);
	struct error err;

	(void)state;
	assert_int_equal(program_check(good, false, &err), 0);
	assert_int_equal(program_check("good", false, &err), -1);
	assert_int_equal(program_check(dir, false, &err), -1);
	assert_int_equal(program_check(plain, false, &err), -1);
	assert_int_equal(program_check(loose, true, &err), -1);
	if (geteuid() == 0)
		assert_int_equal(program_check(good, true, &err), 0);
	else
		assert_int_equal(program_check(good, true, &err), -1);
	unlink(good);
	unlink(plain);
	unlink(loose);
	free(good);
	free(plain);
	free(loose);
}

static void limits(void **state)
{
	static const char *const bad[] = { "", "nofile", "nofile=", "nofile=x", "nofile=3:2",
		"nofile=1:", "nofile=-1", "nofiles=1", "nofile=99999999999999999999",
		"nofile=1:2:3" };
	Gpusched__RunRlimit r, *list[] = { &r };
	const char *name;
	struct rlimit now;
	struct error err;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		assert_int_equal(rlimits_parse(bad[i], &r, &err), -1);
	assert_int_equal(rlimits_parse("memlock=unlimited", &r, &err), 0);
	assert_true(r.kind == RLIMIT_MEMLOCK && r.soft == RLIM_INFINITY && r.hard == r.soft);
	assert_int_equal(rlimits_parse("nofile=100:200", &r, &err), 0);
	assert_int_equal(rlimits_set(list, 1, &name), 0);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &now), 0);
	assert_true(now.rlim_cur == 100 && now.rlim_max == 200);
}

static void words(void **state)
{
	struct error err;
	uint32_t kinds;

	(void)state;
	assert_int_equal(private_parse("tmp,proc", &kinds, &err), 0);
	assert_int_equal(kinds, 1u << PRIVATE_TMP | 1u << PRIVATE_PROC);
	assert_int_equal(private_parse("", &kinds, &err), 0);
	assert_int_equal(kinds, 0);
	assert_int_equal(private_parse("tmp,shn", &kinds, &err), -1);
	assert_string_equal(err.text, "no 'shn'; there are " PRIVATE_WORDS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ends), cmocka_unit_test(hangs), cmocka_unit_test(stopped),
		cmocka_unit_test(which_programs), cmocka_unit_test(words),
		cmocka_unit_test(limits), /* last: it lowers ours */
	};
	sigset_t child;
	int failed;

	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	sigprocmask(SIG_BLOCK, &child, NULL);
	prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	if (!mkdtemp(dir))
		return 1;
	chmod(dir, 0755);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	rmdir(dir);
	return failed;
}
