/* rules.h, grants.h: what a controller says of a node is added to the agent's options, and takes
 * nothing away from them */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <sys/resource.h>

#include "noded/contain.h"
#include "noded/rules.h"

#define N(a) (sizeof(a) / sizeof(*(a)))

static char *words(const char *text)
{
	return (char *)(uintptr_t)text;
}

static const Gpusched__RunRlimit *find(const struct rules *r, uint32_t kind)
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
	struct rules r;

	(void)state;
	assert_int_equal(rlimits_parse("nofile=100:200", &own[0], &err), 0);
	assert_int_equal(rlimits_parse("nofile=101:201", &own[1], &err), 0);
	o.rlimits = own;
	o.n_rlimits = 2;
	rules_make(&o, NULL, &r, &refused);
	assert_string_equal(r.containment, "");
	assert_int_equal(r.private_kinds, 0);
	assert_int_equal(r.n_rlimits, 1);
	assert_true(r.rlimits[0].soft == 101 && r.rlimits[0].hard == 201);
	assert_true(r.max_processes == 100 && r.sample_ms == 10000);
	assert_int_equal(refused.len, 0);
	rules_clear(&r);
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
	struct rules r;

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
	m.sample_ms = 1;
	m.over_memory = words("note");
	m.share_users_one = true;
	o.over_memory = OVERMEM_END;
	rules_make(&o, &m, &r, &refused);
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
	assert_int_equal(r.sample_ms, RULES_SAMPLE_MIN_MS);
	assert_true(r.over_memory == OVERMEM_NOTE);
	assert_true(r.share_users_one);
	assert_int_equal(refused.len, 0);
	rules_clear(&r);
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
		.devices = { .gpus = "/dev/nvidia[0-3]" } };
	struct strbuf refused = { 0 };
	const Gpusched__RunRlimit *l;
	struct error err;
	struct rules r;

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
	m.sample_ms = UINT32_MAX;
	m.over_memory = words("note");
	o.over_memory = OVERMEM_WARN;
	o.over_memory_said = true;
	o.share_users_one = true; /* and the controller does not */
	rules_make(&o, &m, &r, &refused);
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
	assert_true(r.over_memory == OVERMEM_WARN);
	assert_true(r.share_users_one);
	assert_string_equal(refused.s, "containment gpus, containment pids,cpu, private none, "
	                               "rlimit memlock=1:2:3, device /dev/nvidia0, "
	                               "device /dev/../etc/shadow, device /etc/passwd");
	strbuf_free(&refused);
	rules_clear(&r);
}

/* What is granted to all by the controller is a character device and no GPU. */
static void grants(void **state)
{
	struct grants_wish w = { .gpus = "/dev/null",
		.gpus_told = true,
		.told = { "/dev/full", "/dev/null", "/dev/loop0", "/dev/nvidiactl", "/etc" },
		.n_told = 5 };
	struct device d[DEVFILTER_MAX];
	uint32_t gpu = 0;
	struct grants *g;
	struct error err;
	size_t n;

	(void)state;
	g = grants_new(&w, &err);
	assert_non_null(g);
	assert_true(grants_know_gpus(g) && grants_told_gpus(g));
	assert_int_equal(grants_of(g, &gpu, 1, d, &n, &err), 0);
	assert_int_equal(n, 2); /* null as a GPU, and full */
	assert_true(d[0].major == 1 && d[0].minor == 3 && d[1].major == 1 && d[1].minor == 7);
	grants_free(g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_told),
		cmocka_unit_test(told),
		cmocka_unit_test(cannot_loosen),
		cmocka_unit_test(grants),
	};

	return cmocka_run_group_tests_name("rules", tests, NULL, NULL);
}
