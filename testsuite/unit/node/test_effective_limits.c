/* effective_limits.h, device_grants.h: what a controller says of a node is added to the agent's
 * options, and takes nothing away from them */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "noded/confine/effective_limits.h"
#include "noded/contain/process_tracking.h"

#define N(a) (sizeof(a) / sizeof(*(a)))

static char *words(const char *text)
{
	return (char *)(uintptr_t)text;
}

static const Gpusched__RunRlimit *find(const struct effective_limits *r, uint32_t kind)
{
	for (size_t i = 0; i < r->n_rlimits; i++) {
		if (r->rlimits[i].kind == kind)
			return &r->rlimits[i];
	}
	return NULL;
}

/* Nothing said: the options as they are. */
static void nothing_told(void **state)
{
	Gpusched__RunRlimit own[2];
	struct launcher_options o = { .max_processes = 100, .sample_ms = 10000 };
	struct strbuf refused = { 0 };
	struct error err;
	struct effective_limits r;

	(void)state;
	assert_int_equal(rlimits_parse("nofile=100:200", &own[0], &err), 0);
	assert_int_equal(rlimits_parse("nofile=101:201", &own[1], &err), 0);
	o.rlimits = own;
	o.n_rlimits = 2;
	effective_limits_make(&o, NULL, &r, &refused);
	assert_string_equal(r.containment, "");
	assert_int_equal(r.private_kinds, 0);
	assert_int_equal(r.n_rlimits, 1);
	assert_true(r.rlimits[0].soft == 101 && r.rlimits[0].hard == 201);
	assert_true(r.max_processes == 100 && r.sample_ms == 10000);
	assert_int_equal(refused.len, 0);
	effective_limits_clear(&r);
}

/* What is told is added. */
static void told(void **state)
{
	char *contain[] = { words("devices"), words("memory"), words("tmp") };
	char *private_kinds[] = { words("shm") };
	char *limits[] = { words("nofile=4096:8192"), words("core=10:20"),
		words("stack=unlimited") };
	char *devices[] = { words("/dev/kfd") };
	Gpusched__NodeSettings m = GPUSCHED__NODE_SETTINGS__INIT;
	struct launcher_options o = { .containment = "cgroup2,memory",
		.private_kinds = 1u << PRIVATE_PROC };
	struct strbuf refused = { 0 };
	const Gpusched__RunRlimit *l;
	struct effective_limits r;

	(void)state;
	m.containment = contain;
	m.n_containment = N(contain);
	m.private_kinds = private_kinds;
	m.n_private_kinds = N(private_kinds);
	m.rlimits = limits;
	m.n_rlimits = N(limits);
	m.devices = devices;
	m.n_devices = N(devices);
	m.gpu_devices = words("/dev/dri/renderD[128-131]");
	m.max_processes = 50;
	m.sample_ms = m.idle_sample_ms = m.kill_wait_ms = 1;
	m.gpu_recheck_ms = 60000; /* the agent looks once */
	m.private_tmp_mb = 512;
	m.spool_min_free_mb = 1024;
	o.kill_wait_ms = 60000;
	o.spool_min_free_mb = 256;
	m.over_memory = words("note");
	m.share_users_one = true;
	o.over_memory = OVERMEM_END;
	effective_limits_make(&o, &m, &r, &refused);
	assert_string_equal(r.containment, "cgroup2,memory,devices,tmp");
	/* Demanded is wanted. */
	assert_int_equal(
	        r.private_kinds, 1u << PRIVATE_PROC | 1u << PRIVATE_SHM | 1u << PRIVATE_TMP);
	l = find(&r, RLIMIT_NOFILE);
	assert_true(l && l->soft == 4096 && l->hard == 8192);
	l = find(&r, RLIMIT_CORE);
	assert_true(l && l->soft == 10 && l->hard == 20);
	l = find(&r, RLIMIT_STACK);
	assert_true(l && l->soft == RLIM_INFINITY && l->hard == RLIM_INFINITY);
	assert_string_equal(r.devices.gpus, "/dev/dri/renderD[128-131]");
	assert_true(r.devices.gpus_told && r.devices.n_told == 1);
	assert_int_equal(r.max_processes, 50);
	assert_int_equal(r.sample_ms, LIMITS_SAMPLE_MIN_MS);
	assert_int_equal(r.idle_sample_ms, LIMITS_IDLE_SAMPLE_MIN_MS);
	assert_int_equal(r.kill_wait_ms, LIMITS_KILL_WAIT_MIN_MS);
	assert_int_equal(r.gpu_recheck_ms, 60000);
	assert_int_equal(r.private_tmp_mb, 512);
	assert_int_equal(r.spool_min_free_mb, 1024);
	assert_true(r.over_memory == OVERMEM_NOTE);
	assert_true(r.share_users_one);
	assert_int_equal(refused.len, 0);
	effective_limits_clear(&r);
}

/* A controller that was taken over says what it likes. */
static void cannot_loosen(void **state)
{
	char *contain[] = { words("gpus"), words("pids,cpu") };
	char *private_kinds[] = { words("none") };
	char *limits[] = { words("nofile=unlimited"), words("rtprio=99"), words("memlock=1:2:3"),
		words("core=unlimited") };
	char *devices[] = { words("/dev/nvidia0"), words("/dev/../etc/shadow"),
		words("/etc/passwd") };
	Gpusched__NodeSettings m = GPUSCHED__NODE_SETTINGS__INIT;
	Gpusched__RunRlimit own[1];
	struct launcher_options o = { .containment = "devices,memory",
		.private_kinds = 1u << PRIVATE_TMP,
		.max_processes = 100,
		.sample_ms = 1000,
		.idle_sample_ms = 20000,
		.kill_wait_ms = 60000,
		.gpu_recheck_ms = 60000,
		.private_tmp_mb = 512,
		.spool_min_free_mb = 256,
		.devices = { .gpus = "/dev/nvidia[0-3]" } };
	struct strbuf refused = { 0 };
	const Gpusched__RunRlimit *l;
	struct error err;
	struct effective_limits r;

	(void)state;
	assert_int_equal(rlimits_parse("core=0", &own[0], &err), 0);
	o.rlimits = own;
	o.n_rlimits = 1;
	m.containment = contain;
	m.n_containment = N(contain);
	m.private_kinds = private_kinds;
	m.n_private_kinds = N(private_kinds);
	m.rlimits = limits;
	m.n_rlimits = N(limits);
	m.devices = devices;
	m.n_devices = N(devices);
	m.gpu_devices = words("/dev/mem");
	m.max_processes = UINT32_MAX;
	m.sample_ms = m.idle_sample_ms = m.kill_wait_ms = m.gpu_recheck_ms = UINT32_MAX;
	m.private_tmp_mb = UINT64_MAX;
	m.spool_min_free_mb = 1;
	m.over_memory = words("note");
	o.over_memory = OVERMEM_WARN;
	o.over_memory_said = true;
	o.share_users_one = true; /* and the controller does not */
	effective_limits_make(&o, &m, &r, &refused);
	assert_string_equal(r.containment, "devices,memory");
	assert_int_equal(r.private_kinds, 1u << PRIVATE_TMP);
	l = find(&r, RLIMIT_CORE);
	assert_true(l && l->soft == 0 && l->hard == 0);
	l = find(&r, RLIMIT_NOFILE); /* the table's hard one */
	assert_true(l && l->soft == 524288 && l->hard == 524288);
	l = find(&r, RLIMIT_RTPRIO);
	assert_true(l && l->soft == 0 && l->hard == 0);
	assert_null(find(&r, RLIMIT_MEMLOCK));
	assert_string_equal(r.devices.gpus, "/dev/nvidia[0-3]");
	assert_false(r.devices.gpus_told);
	assert_int_equal(r.devices.n_told, 0);
	assert_int_equal(r.max_processes, 100);
	assert_int_equal(r.sample_ms, 1000);
	assert_int_equal(r.idle_sample_ms, 20000);
	assert_int_equal(r.kill_wait_ms, 60000);
	assert_int_equal(r.gpu_recheck_ms, 60000);
	assert_int_equal(r.private_tmp_mb, 512);
	assert_int_equal(r.spool_min_free_mb, 256);
	assert_true(r.over_memory == OVERMEM_WARN);
	assert_true(r.share_users_one);
	assert_string_equal(refused.s, "containment gpus, containment pids,cpu, private none, "
	                               "rlimit memlock=1:2:3, device /dev/nvidia0, "
	                               "device /dev/../etc/shadow, device /etc/passwd");
	strbuf_free(&refused);
	effective_limits_clear(&r);
}

/* --- programs ------------------------------------------------------------------------------- */

static char parent[] = "/tmp/test_effective_limits-XXXXXX";
static char folder[64]; /* in it, of the programs; beside it lies `outside` */

static void make_file(const char *path, mode_t mode)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	fputs("#!/bin/sh\n", f);
	fclose(f);
	assert_int_equal(chmod(path, mode), 0);
}

static Gpusched__RunProgram named(uint32_t kind, const char *path, uint64_t ms)
{
	Gpusched__RunProgram p = GPUSCHED__RUN_PROGRAM__INIT;

	p.kind = kind;
	p.path = (ProtobufCBinaryData){ strlen(path), (uint8_t *)(uintptr_t)path };
	p.timeout_ms = ms;
	return p;
}

static void make_with(
        struct launcher_options *o, Gpusched__RunProgram *p, size_t n, struct effective_limits *r)
{
	Gpusched__RunProgram *list[8];
	Gpusched__NodeSettings m = GPUSCHED__NODE_SETTINGS__INIT;
	struct strbuf refused = { 0 };

	for (size_t i = 0; i < n; i++)
		list[i] = &p[i];
	m.programs = list;
	m.n_programs = n;
	effective_limits_make(o, &m, r, &refused);
	assert_int_equal(refused.len, 0);
}

/* Those of the folder are run, as are the agent's own, which win; each kind by itself. */
static void programs(void **state)
{
	struct launcher_options o = {
		.programs_of = folder, .program_timeout_ms = 7000, .health_interval_s = 300
	};
	Gpusched__RunProgram p[5];
	char path[96];
	struct effective_limits r;

	(void)state;
	snprintf(path, sizeof(path), "%s/good", folder);
	p[0] = named(PROGRAM_PROLOG, path, UINT64_MAX);
	p[1] = named(PROGRAM_EPILOG, path, 1);
	p[2] = named(PROGRAM_SCRUB, "/nowhere", 0);
	p[3] = named(PROGRAM_TASK_EPILOG, path, 0);
	p[4] = named(PROGRAM_KINDS, path, 0); /* of a later release */
	o.programs[PROGRAM_SCRUB] = "/own/scrub";
	make_with(&o, p, 5, &r);
	assert_string_equal(r.programs_why, "");
	assert_string_equal(r.programs[PROGRAM_PROLOG].path, path);
	assert_int_equal(r.programs[PROGRAM_PROLOG].timeout_ms, PROGRAM_TIMEOUT_MAX_MS);
	assert_string_equal(r.programs[PROGRAM_EPILOG].path, path);
	assert_int_equal(r.programs[PROGRAM_EPILOG].timeout_ms, PROGRAM_TIMEOUT_MIN_MS);
	assert_string_equal(r.programs[PROGRAM_SCRUB].path, "/own/scrub");
	assert_int_equal(r.programs[PROGRAM_SCRUB].timeout_ms, 7000);
	assert_string_equal(r.programs[PROGRAM_TASK_EPILOG].path, path);
	assert_int_equal(r.programs[PROGRAM_TASK_EPILOG].timeout_ms, 7000);
	assert_null(r.programs[PROGRAM_TASK_PROLOG].path);
	assert_null(r.programs[PROGRAM_HEALTH].path);
	assert_int_equal(r.health_interval_s, 300);
	effective_limits_clear(&r);
}

/* As the programs around runs; how often goes with whose it is. */
static void health_check(void **state)
{
	static const struct {
		const char *own;
		uint32_t told_s;
		uint64_t expect_s;
	} cases[] = { { NULL, 0, 300 }, { NULL, 20, 20 }, { NULL, 600, 600 },
		{ NULL, UINT32_MAX, LIMITS_HEALTH_INTERVAL_MAX_S }, { "/own/check", 20, 300 } };
	struct launcher_options o = { .programs_of = folder, .health_interval_s = 300 };
	char path[96];

	(void)state;
	snprintf(path, sizeof(path), "%s/good", folder);
	for (size_t i = 0; i < N(cases); i++) {
		Gpusched__RunProgram p = named(PROGRAM_HEALTH, path, 5000), *list[] = { &p };
		Gpusched__NodeSettings m = GPUSCHED__NODE_SETTINGS__INIT;
		struct strbuf refused = { 0 };
		struct effective_limits r;

		o.programs[PROGRAM_HEALTH] = (char *)(uintptr_t)cases[i].own;
		m.programs = list;
		m.n_programs = 1;
		m.health_interval_s = cases[i].told_s;
		effective_limits_make(&o, &m, &r, &refused);
		assert_string_equal(r.programs_why, "");
		assert_string_equal(
		        r.programs[PROGRAM_HEALTH].path, cases[i].own ? cases[i].own : path);
		assert_int_equal(r.health_interval_s, cases[i].expect_s);
		effective_limits_clear(&r);
		m.n_programs = 0; /* then it goes with nothing */
		effective_limits_make(&o, &m, &r, &refused);
		assert_int_equal(r.health_interval_s, 300);
		effective_limits_clear(&r);
	}
}

/* A controller that was taken over names what it likes. */
static void programs_of_others(void **state)
{
	static const struct {
		const char *path, *why; /* "%s" is the folder */
		bool root;              /* only root's agent minds */
	} bad[] = {
		{ "/bin/sh", "does not lie in ", false },
		{ "%s/../outside", "does not lie in ", false },
		{ "%s/link", "does not lie in ", false },
		{ "%s", "does not lie in ", false },
		{ "%s/none", "No such file or directory", false },
		{ "%s/data", "Permission denied", false },
		{ "%s/sub", "is no program", false },
		{ "%sx/good", "does not lie in ", false },
		{ "%s/sub/../good", "does not lie in ", false },
		{ "good", "is no absolute path", false },
		{ "", "is no absolute path", false },
		{ "%s/open", "can be changed by others than root", true },
		{ "%s/loose/good", "can be changed by others than root", true },
		{ "%s/hers", "is not root's", true },
	};
	struct launcher_options o = { .programs_of = folder };
	Gpusched__RunProgram p;
	char path[128], good[96];
	struct effective_limits r;

	(void)state;
	for (size_t i = 0; i < N(bad); i++) {
		if (bad[i].root && geteuid() != 0)
			continue;
		snprintf(path, sizeof(path), "%s%s", strncmp(bad[i].path, "%s", 2) ? "" : folder,
		        bad[i].path + (strncmp(bad[i].path, "%s", 2) ? 0 : 2));
		p = named(PROGRAM_PROLOG, path, 0);
		make_with(&o, &p, 1, &r);
		assert_null(r.programs[PROGRAM_PROLOG].path);
		assert_int_equal(strncmp(r.programs_why, "prolog '", 8), 0);
		if (!strstr(r.programs_why, bad[i].why))
			fail_msg("%s: %s", bad[i].path, r.programs_why);
		effective_limits_clear(&r);
	}
	snprintf(good, sizeof(good), "%s/good", folder);
	p = named(PROGRAM_EPILOG, good, 0);
	o.programs_of = NULL;
	make_with(&o, &p, 1, &r);
	assert_non_null(strstr(r.programs_why, "gnoded --programs=none takes none"));
	assert_null(r.programs[PROGRAM_EPILOG].path);
	effective_limits_clear(&r);
	o.programs_of = "/"; /* that would be no folder of anything */
	make_with(&o, &p, 1, &r);
	assert_non_null(strstr(r.programs_why, "does not lie in"));
	effective_limits_clear(&r);
	o.programs_of = folder;
	make_with(&o, &p, 1, &r);
	assert_string_equal(r.programs_why, "");
	unlink(good); /* and then there is none any more */
	{
		Gpusched__RunProgram *list[] = { &p };
		Gpusched__NodeSettings m = GPUSCHED__NODE_SETTINGS__INIT;

		m.programs = list;
		m.n_programs = 1;
		effective_limits_make_programs(&o, &m, &r);
		assert_non_null(strstr(r.programs_why, "No such file"));
		make_file(good, 0755);
		effective_limits_make_programs(&o, &m, &r);
	}
	assert_string_equal(r.programs_why, "");
	assert_string_equal(r.programs[PROGRAM_EPILOG].path, good);
	effective_limits_clear(&r);
}

static int folder_make(void **state)
{
	static const struct {
		const char *name;
		mode_t mode;
	} files[] = { { "good", 0755 }, { "data", 0644 }, { "open", 0777 }, { "hers", 0755 },
		{ "loose/good", 0755 }, { "../outside", 0755 } };
	char path[160];

	(void)state;
	assert_non_null(mkdtemp(parent));
	assert_int_equal(chmod(parent, 0755), 0);
	snprintf(folder, sizeof(folder), "%s/programs", parent);
	assert_int_equal(mkdir(folder, 0755), 0);
	snprintf(path, sizeof(path), "%s/sub", folder);
	assert_int_equal(mkdir(path, 0755), 0);
	snprintf(path, sizeof(path), "%s/loose", folder);
	assert_int_equal(mkdir(path, 0755), 0);
	assert_int_equal(chmod(path, 0777), 0);
	for (size_t i = 0; i < N(files); i++) {
		snprintf(path, sizeof(path), "%s/%s", folder, files[i].name);
		make_file(path, files[i].mode);
	}
	snprintf(path, sizeof(path), "%s/hers", folder);
	if (geteuid() == 0)
		assert_int_equal(chown(path, 1, 1), 0);
	snprintf(path, sizeof(path), "%s/link", folder);
	assert_int_equal(symlink("../outside", path), 0);
	return 0;
}

static int folder_remove(void **state)
{
	static const char *const names[] = { "/programs/good", "/programs/data", "/programs/open",
		"/programs/hers", "/programs/link", "/programs/loose/good", "/programs/loose",
		"/programs/sub", "/programs", "/outside", "" };
	char path[160];

	(void)state;
	for (size_t i = 0; i < N(names); i++) {
		snprintf(path, sizeof(path), "%s%s", parent, names[i]);
		assert_int_equal(remove(path), 0);
	}
	return 0;
}

/* What is granted to all by the controller is a character device and no GPU. */
static void grants(void **state)
{
	struct device_grants_wish w = { .gpus = "/dev/null",
		.gpus_told = true,
		.told = { "/dev/full", "/dev/null", "/dev/loop0", "/dev/nvidiactl", "/etc" },
		.n_told = 5 };
	struct device d[DEVFILTER_MAX];
	uint32_t gpu = 0;
	struct device_grants *g;
	struct error err;
	size_t n;

	(void)state;
	g = device_grants_new(&w, &err);
	assert_non_null(g);
	assert_true(device_grants_know_gpus(g) && device_grants_told_gpus(g));
	assert_int_equal(device_grants_of(g, &gpu, 1, d, &n, &err), 0);
	assert_int_equal(n, 2); /* null as a GPU, and full */
	assert_true(d[0].major == 1 && d[0].minor == 3 && d[1].major == 1 && d[1].minor == 7);
	device_grants_free(g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_told),
		cmocka_unit_test(told),
		cmocka_unit_test(cannot_loosen),
		cmocka_unit_test(programs),
		cmocka_unit_test(health_check),
		cmocka_unit_test(programs_of_others),
		cmocka_unit_test(grants),
	};

	return cmocka_run_group_tests_name("rules", tests, folder_make, folder_remove);
}
