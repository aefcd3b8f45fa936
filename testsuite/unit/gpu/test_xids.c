/* test_xids.c - Xids, from a machine of the stand-in's (testsuite/nvml) to whoever waits for them,
 * and what a look finds wrong with GPUs */
#include <poll.h>
#include <string.h>
#include <sys/wait.h>

#include "common/base/xalloc.h"
#include "noded/gpu/driver_process.h"
#include "noded/gpu/probe_watchdog.h"
#include "noded/gpu/xid_events.h"
#include "testsuite/unit/lib/standin.h"

#define LONG_MS 20000 /* never waited for */

#define MACHINE                                                     \
	"gpu uuid=GPU-a name=\"NVIDIA H100\" mem=81559 %s\n"        \
	"gpu uuid=GPU-b name=\"NVIDIA H100\" mem=81559 mig=1\n"     \
	"mig gpu=1 gi=7 ci=0 uuid=MIG-1 profile=1g.10gb mem=9856\n" \
	"%s"

static void machine(const char *of_a, const char *more)
{
	char other[80];
	FILE *f;

	snprintf(other, sizeof(other), "%s.new", standin_facts);
	f = fopen(other, "w");
	assert_non_null(f);
	fprintf(f, MACHINE, of_a, more);
	fclose(f);
	assert_int_equal(rename(other, standin_facts), 0);
}

/* The next; -1: the child is gone. */
static int next(struct gpu_events *e, struct gpu_event *out)
{
	struct pollfd p = { .fd = gpu_events_fd(e), .events = POLLIN };

	assert_int_equal(poll(&p, 1, LONG_MS), 1);
	return gpu_events_take(e, out);
}

static void told(void **state)
{
	struct gpu_events *e = gpu_events_new();
	struct gpu_event x;
	struct error err;

	(void)state;
	machine("", "xid gpu=0 code=31 seq=1\n");
	assert_int_equal(gpu_events_fd(e), -1);
	assert_int_equal(gpu_events_take(e, &x), -1);
	assert_int_equal(gpu_events_start(e, 0, &err), 0);
	assert_int_equal(gpu_events_start(e, 0, &err), 0); /* it is there */
	assert_int_equal(next(e, &x), 1);
	assert_string_equal(x.uuid, "GPU-a");
	assert_int_equal(x.xid, 31);
	assert_int_equal(x.instance, GPU_NO_INSTANCE);
	assert_int_equal(gpu_events_take(e, &x), 0);
	/* One that is gone is named all the same. */
	machine("lost=1", "xid gpu=0 code=31 seq=1\nxid gpu=0 code=79 seq=2\n"
	                  "xid gpu=1 code=94 seq=3\n");
	assert_int_equal(next(e, &x), 1);
	assert_string_equal(x.uuid, "GPU-a");
	assert_int_equal(x.xid, 79);
	assert_int_equal(next(e, &x), 1);
	assert_string_equal(x.uuid, "GPU-b");
	assert_int_equal(x.xid, 94);
	assert_int_equal(x.instance, GPU_NO_INSTANCE);
	/* Of a MIG instance: its GPU's UUID, and which. */
	machine("", "xid gpu=1 code=94 seq=4 gi=7 ci=0\n");
	assert_int_equal(next(e, &x), 1);
	assert_string_equal(x.uuid, "GPU-b");
	assert_int_equal(x.instance, 7);
	assert_int_equal(x.compute, 0);
	gpu_events_free(e);
}

/* What is to be reset is not held open, and so nothing is heard of it. */
static void left_out(void **state)
{
	struct gpu_events *e = gpu_events_new();
	struct gpu_event x;
	struct error err;

	(void)state;
	machine("", "xid gpu=0 code=13 seq=1\nxid gpu=1 code=31 seq=2\n");
	assert_int_equal(gpu_events_start(e, 1, &err), 0);
	assert_int_equal(next(e, &x), 1);
	assert_string_equal(x.uuid, "GPU-b");
	gpu_events_end(e);
	assert_int_equal(gpu_events_fd(e), -1);
	assert_int_equal(gpu_events_start(e, 0, &err), 0);
	assert_int_equal(next(e, &x), 1);
	assert_string_equal(x.uuid, "GPU-a");
	gpu_events_free(e);
}

/* A child that cannot wait, or does not any more, is gone and can be started anew. */
static void gone(void **state)
{
	struct gpu_events *e = gpu_events_new();
	struct gpu_event x;
	struct error err;

	(void)state;
	machine("", "fail call=nvmlInit result=999\n");
	assert_int_equal(gpu_events_start(e, 0, &err), 0);
	assert_int_equal(next(e, &x), -1);
	assert_int_equal(gpu_events_fd(e), -1);
	machine("", "xid gpu=0 code=13 seq=1\n");
	assert_int_equal(gpu_events_start(e, 0, &err), 0);
	assert_int_equal(next(e, &x), 1);
	machine("", "crash call=nvmlEventSetWait\n");
	assert_int_equal(next(e, &x), -1);
	gpu_events_free(e);
	gpu_events_free(NULL);
	while (waitpid(-1, NULL, 0) > 0)
		;
}

static const struct gpu *of(const struct gpus *g, const char *uuid)
{
	for (uint32_t i = 0; i < g->n; i++) {
		if (!strcmp(g->v[i].uuid, uuid))
			return &g->v[i];
	}
	return NULL;
}

/* By the numbers that drivers say. */
static const enum gpu_recovery recoveries[] = { GPU_RECOVERY_NONE, GPU_RECOVERY_RESET,
	GPU_RECOVERY_BOOT, GPU_RECOVERY_NONE, GPU_RECOVERY_RESET, GPU_RECOVERY_NONE,
	GPU_RECOVERY_RESET, GPU_RECOVERY_BOOT, GPU_RECOVERY_NONE };

/* What older drivers say, and what one that says both is believed. */
static const struct {
	const char *says;
	enum gpu_recovery recovery;
} older[] = {
	{ "reset=0 drain_reset=0", GPU_RECOVERY_NONE },
	{ "reset=1 drain_reset=0", GPU_RECOVERY_RESET },
	{ "reset=0 drain_reset=1", GPU_RECOVERY_RESET },
	{ "reset=1", GPU_RECOVERY_RESET },
	{ "recovery=0 reset=1", GPU_RECOVERY_NONE },
};

/* What a look says of health; it makes no difference to what there is. */
static void health(void **state)
{
	struct gpus *before = xcalloc(1, sizeof(*before)), *g = xcalloc(1, sizeof(*g));
	struct error err;
	const struct gpu *a;

	(void)state;
	machine("", "");
	assert_int_equal(gpu_probe_run(standin_root, LONG_MS, before, &err), 0);
	a = of(before, "GPU-a");
	assert_true(a->health.temp_c == 35 && a->health.slowdown_c == 90 && !a->health.ecc);
	machine("temp=93 slowdown=92 ecc_errors=2 ecc_total=7 remap_pending=1 remap_failed=1", "");
	assert_int_equal(gpu_probe_run(standin_root, LONG_MS, g, &err), 0);
	a = of(g, "GPU-a");
	assert_true(a->health.temp_c == 93 && a->health.slowdown_c == 92);
	assert_true(a->health.ecc == 2 && a->health.ecc_total == 7);
	assert_true(a->health.remap_pending && a->health.remap_failed && !a->health.hung);
	assert_false(of(g, "MIG-1")->health.remap_failed);
	assert_int_equal(a->health.recovery, GPU_RECOVERY_NONE);
	for (size_t i = 0; i < sizeof(recoveries) / sizeof(*recoveries); i++) {
		char of_a[32];

		snprintf(of_a, sizeof(of_a), "recovery=%zu", i);
		machine(of_a, "");
		assert_int_equal(gpu_probe_run(standin_root, LONG_MS, g, &err), 0);
		assert_int_equal(of(g, "GPU-a")->health.recovery, recoveries[i]);
	}
	for (size_t i = 0; i < sizeof(older) / sizeof(*older); i++) {
		machine(older[i].says, "");
		assert_int_equal(gpu_probe_run(standin_root, LONG_MS, g, &err), 0);
		assert_int_equal(of(g, "GPU-a")->health.recovery, older[i].recovery);
	}
	assert_true(gpus_equal(before, g));
	/* The oldest refuse what they are asked. */
	machine("", "fail call=nvmlDeviceGetMemoryInfo gpu=0 result=16\n");
	assert_int_equal(gpu_probe_run(standin_root, LONG_MS, g, &err), 0);
	assert_string_equal(of(g, "GPU-a")->trouble, "nvmlDeviceGetMemoryInfo: GPU requires reset");
	assert_int_equal(of(g, "GPU-a")->health.recovery, GPU_RECOVERY_RESET);
	machine("", "hang call=nvmlDeviceGetName gpu=0\n");
	assert_int_equal(gpu_probe_run(standin_root, 300, g, &err), 0);
	assert_true(*g->v[0].trouble && g->v[0].health.hung);
	free(before);
	free(g);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(told),
		cmocka_unit_test(left_out),
		cmocka_unit_test(gone),
		cmocka_unit_test(health),
	};
	int failed;

	driver_process_main(argc, argv);
	if (!standin_begin(argv))
		return 99;
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	standin_end();
	return failed;
}
