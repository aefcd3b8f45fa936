/* test_cpus_and_memory.c - what a node has, found in /proc and /sys of our own making */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "noded/cpus_and_memory.h"
#include "testsuite/unit/lib/place.h"

static char root[] = "/tmp/test_cpus_and_memory.XXXXXX";

static void put(const char *path, const char *text)
{
	place_put(root, path, text);
}

static int make_root(void **state)
{
	(void)state;
	return mkdtemp(root) ? 0 : -1;
}

static int remove_root(void **state)
{
	char command[256];

	(void)state;
	snprintf(command, sizeof(command), "rm -r %s", root);
	return system(command);
}

#define V1                                                                                      \
	"31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755\n"                            \
	"32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime shared:7 - cgroup cgroup rw,cpu,cpuacct\n" \
	"35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n"
#define V2 "41 31 0:38 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n"

struct limit_file {
	const char *path, *text;
};

static const struct limit_case {
	const char *what, *mounts, *groups;
	struct limit_file files[6];
	uint32_t cpus; /* 0: as the kernel lets us */
	uint64_t mem_mb;
} limit_cases[] = {
	{ "no cgroups", "", "", { { 0 } }, 0, 65536 },
	{ "v2, no limit", V2, "0::/a/b\n",
	        { { "/sys/fs/cgroup/a/b/memory.max", "max\n" },
	                { "/sys/fs/cgroup/a/b/cpu.max", "max 100000\n" } },
	        0, 65536 },
	{ "v2, own limit", V2, "0::/own\n",
	        { { "/sys/fs/cgroup/own/memory.max", "1073741824\n" },
	                { "/sys/fs/cgroup/own/cpu.max", "150000 100000\n" } },
	        1, 1024 },
	{ "v2, less than a CPU is one", V2, "0::/frac\n",
	        { { "/sys/fs/cgroup/frac/cpu.max", "5000 100000\n" } }, 1, 65536 },
	{ "v2, the limit is above us", V2, "0::/top/mid/leaf\n",
	        { { "/sys/fs/cgroup/top/memory.max", "2147483648\n" },
	                { "/sys/fs/cgroup/top/mid/memory.max", "4294967296\n" },
	                { "/sys/fs/cgroup/top/mid/leaf/memory.max", "max\n" } },
	        0, 2048 },
	{ "v2, more than there is", V2, "0::/more\n",
	        { { "/sys/fs/cgroup/more/memory.max", "999999999999999\n" },
	                { "/sys/fs/cgroup/more/cpu.max", "99999900000 100000\n" } },
	        0, 65536 },
	{ "v1", V1, "9:name=systemd:/\n4:memory:/m/n\n1:cpu,cpuacct:/c\n0::/\n",
	        { { "/sys/fs/cgroup/memory/m/memory.limit_in_bytes", "3221225472\n" },
	                { "/sys/fs/cgroup/memory/m/n/memory.limit_in_bytes",
	                        "9223372036854771712\n" },
	                { "/sys/fs/cgroup/cpu/c/cpu.cfs_quota_us", "100000\n" },
	                { "/sys/fs/cgroup/cpu/c/cpu.cfs_period_us", "100000\n" } },
	        1, 3072 },
	{ "v1, no limit", V1, "4:memory:/u\n1:cpu,cpuacct:/u\n",
	        { { "/sys/fs/cgroup/memory/u/memory.limit_in_bytes", "9223372036854771712\n" },
	                { "/sys/fs/cgroup/cpu/u/cpu.cfs_quota_us", "-1\n" },
	                { "/sys/fs/cgroup/cpu/u/cpu.cfs_period_us", "100000\n" } },
	        0, 65536 },
	{ "nonsense", "x\n - \n\n", "nothing\n:::\n", { { 0 } }, 0, 65536 },
};

static void control_groups_limit(void **state)
{
	struct inventory free_of_limits;
	struct error err;

	(void)state;
	put("/proc/meminfo",
	        "MemTotal:       67108864 kB\nMemFree: 1 kB\nMemAvailable: 2097152 kB\n");
	assert_int_equal(inventory_find(root, &free_of_limits, &err), 0);
	assert_true(free_of_limits.cpus >= 1);
	for (size_t i = 0; i < sizeof(limit_cases) / sizeof(*limit_cases); i++) {
		const struct limit_case *t = &limit_cases[i];
		struct inventory got;

		put("/proc/self/mountinfo", t->mounts);
		put("/proc/self/cgroup", t->groups);
		for (size_t f = 0; f < 6 && t->files[f].path; f++)
			put(t->files[f].path, t->files[f].text);
		assert_int_equal(inventory_find(root, &got, &err), 0);
		if (got.mem_mb != t->mem_mb ||
		        got.cpus != (t->cpus ? t->cpus : free_of_limits.cpus))
			fail_msg("%s: %u CPUs, %llu MiB", t->what, got.cpus,
			        (unsigned long long)got.mem_mb);
	}
}

static void this_machine(void **state)
{
	struct inventory got = { 0 };
	double load = -1;
	uint64_t mem_free = 0;
	struct error err;

	(void)state;
	assert_int_equal(inventory_find("", &got, &err), 0);
	assert_in_range(got.cpus, 1, sysconf(_SC_NPROCESSORS_CONF));
	assert_true(got.mem_mb > 16);
	inventory_now("", &load, &mem_free);
	assert_true(load >= 0 && mem_free > 0);
}

static void no_proc(void **state)
{
	struct inventory got = { .cpus = 7 };
	struct error err;
	double load;
	uint64_t mem_free;

	(void)state;
	assert_int_equal(inventory_find("/nowhere", &got, &err), -1);
	assert_int_equal(err.code, ERR_SYSTEM);
	assert_int_equal(got.cpus, 7);
	inventory_now("/nowhere", &load, &mem_free);
	assert_true(load == 0 && mem_free == 0);
}

static const struct pretend_case {
	const char *text;
	int rc;
	uint32_t cpus;
	uint64_t mem_mb;
} pretend_cases[] = {
	{ "cpus=16,mem=64G", 0, 16, 65536 },
	{ "mem=512M", 0, 2, 512 },
	{ "cpus=1", 0, 1, 100 },
	{ "cpus=0", -1, 2, 100 },
	{ "cpus=-1", -1, 2, 100 },
	{ "cpus=4,mem=64", -1, 2, 100 },
	{ "cpus=4,gpus=4", -1, 2, 100 },
	{ "cpus=99999999999", -1, 2, 100 },
	{ "sixteen", -1, 2, 100 },
};

static void pretending(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(pretend_cases) / sizeof(*pretend_cases); i++) {
		const struct pretend_case *t = &pretend_cases[i];
		struct inventory got = { 2, 100 };
		struct error err = { 0 };

		if (inventory_pretend(t->text, &got, &err) != t->rc || got.cpus != t->cpus ||
		        got.mem_mb != t->mem_mb)
			fail_msg("%s: %u CPUs, %llu MiB, %s", t->text, got.cpus,
			        (unsigned long long)got.mem_mb, err.text);
		if (t->rc < 0)
			assert_int_equal(err.code, ERR_USAGE);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(control_groups_limit),
		cmocka_unit_test(this_machine),
		cmocka_unit_test(no_proc),
		cmocka_unit_test(pretending),
	};

	return cmocka_run_group_tests(tests, make_root, remove_root);
}
