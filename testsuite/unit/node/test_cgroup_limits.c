/* test_cgroup_limits.c - noded/contain/cgroup_limits.h: for want of whose memory a run was killed, from cgroup files as they are */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/xalloc.h"
#include "noded/contain/cgroup_limits.h"

#define V2(oom, kills) "low 0\nhigh 0\nmax 7\noom " oom "\noom_kill " kills "\noom_group_kill 0\n"
#define V1(kills)      "oom_kill_disable 0\nunder_oom 0\noom_kill " kills "\n"

static char dir[] = "/tmp/test_limits-XXXXXX";

static enum cgroup_limits_oom look(const char *file, const char *text, bool booked, bool v1)
{
	Gpusched__RunLimit limit = GPUSCHED__RUN_LIMIT__INIT, cpu = limit, *list[] = { &cpu, &limit };
	char *path = xasprintf("%s/%s", dir, file);
	FILE *f = fopen(path, "w");
	enum cgroup_limits_oom oom;

	assert_non_null(f);
	fputs(text, f);
	assert_int_equal(fclose(f), 0);
	cpu.kind = LIMIT_CPU;
	limit.kind = LIMIT_MEMORY;
	limit.own_leaf = v1;
	limit.dir.data = (uint8_t *)dir;
	limit.dir.len = strlen(dir);
	oom = cgroup_limits_oom(list, booked ? 2 : 1, booked ? "/no/such/leaf" : dir);
	unlink(path);
	free(path);
	return oom;
}

static void whose_memory_it_was(void **state)
{
	(void)state;
	for (int booked = 0; booked < 2; booked++) {
		assert_int_equal(look("memory.events", V2("0", "0"), booked, false), OOM_NONE);
		assert_int_equal(look("memory.events", V2("2", "0"), booked, false), OOM_NONE);
		assert_int_equal(look("memory.events", V2("2", "1"), booked, false), OOM_OF_RUN);
		assert_int_equal(look("memory.events", V2("0", "1"), booked, false), OOM_OF_NODE);
		assert_int_equal(look("memory.events", "", booked, false), OOM_NONE);
		assert_int_equal(look("nothing", "", booked, false), OOM_NONE);
	}
	assert_int_equal(look("memory.oom_control", V1("0"), true, true), OOM_NONE);
	assert_int_equal(look("memory.oom_control", V1("3"), true, true), OOM_OF_RUN);
	assert_int_equal(look("memory.oom_control", V1("3"), false, true), OOM_NONE);
	assert_int_equal(cgroup_limits_oom(NULL, 0, ""), OOM_NONE); /* it has no cgroup */
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(whose_memory_it_was) };
	int failed;

	if (!mkdtemp(dir))
		return 1;
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	rmdir(dir);
	return failed;
}
