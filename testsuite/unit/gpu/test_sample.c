/* test_sample.c - what runs use: the sampler over simulated machines, the sums, the counters of
 * processes */
#include <poll.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "noded/contain/procs.h"
#include "noded/gpu/driver_process.h"
#include "noded/gpu/sampler_watchdog.h"
#include "noded/usage/borrowed_gpu_memory.h"
#include "noded/usage/cpu_memory_io.h"
#include "noded/usage/gpu_memory_limit.h"
#include "noded/usage/usage_per_run.h"
#include "testsuite/unit/lib/standin.h"

#define LONG_MS  20000 /* never waited for */
#define SHORT_MS 300   /* for what hangs */

static struct gpu_sampler *sampler;
static char trouble[160];

#define MACHINE                                                                           \
	"gpu uuid=GPU-a name=\"NVIDIA H100\" mem=81559 used=1500 compute=40 energy=5000 " \
	"reserved=600 draw=310 temp=61 sm_clock=1755 mem_clock=2619\n"                                 \
	"gpu uuid=GPU-b name=\"NVIDIA H100\" mem=81559 mig=1\n"                           \
	"gpu uuid=GPU-c name=\"NVIDIA L40S\" mem=46068 used=900 compute=90 energy=100\n"  \
	"mig gpu=1 gi=7 ci=0 uuid=MIG-1 profile=1g.10gb mem=9856 used=56\n"               \
	"mig gpu=1 gi=8 ci=0 uuid=MIG-2 profile=1g.10gb mem=9856\n"                       \
	"process gpu=0 pid=11 mem=1000\n"                                                 \
	"process gpu=1 pid=22 mem=200 mig=1\n"                                            \
	"process gpu=2 pid=33 mem=300 sm=60\n"                                            \
	"process gpu=2 pid=44 mem=400 sm=25\n"

static void machine(const char *text, const char *more)
{
	FILE *f = fopen(standin_facts, "w");

	assert_non_null(f);
	fprintf(f, "%s%s", text, more);
	fclose(f);
}

static const struct gpu_uses *take(int ms)
{
	struct pollfd p = { .events = POLLIN };
	struct error err;

	assert_int_equal(gpu_sampler_ask(sampler, &err), 0);
	p.fd = gpu_sampler_fd(sampler);
	poll(&p, 1, ms);
	return gpu_sampler_take(sampler, trouble, sizeof(trouble));
}

static const struct gpu_use *of(const struct gpu_uses *u, const char *uuid)
{
	for (uint32_t i = 0; u && i < u->n; i++) {
		if (strcmp(u->v[i].uuid, uuid) == 0)
			return &u->v[i];
	}
	return NULL;
}

static int begin(void **state)
{
	(void)state;
	sampler = gpu_sampler_new();
	return 0;
}

static int end(void **state)
{
	(void)state;
	gpu_sampler_free(sampler);
	return 0;
}

/* --- the sampler ------------------------------------------------------------------------------ */

static void test_all(void **state)
{
	const struct gpu_uses *u;
	const struct gpu_use *g;

	(void)state;
	machine(MACHINE, "");
	u = take(LONG_MS);
	assert_non_null(u);
	assert_int_equal(u->n, 4);
	g = of(u, "GPU-a");
	assert_int_equal(g->known, USE_COMPUTE | USE_MEMORY | USE_PROCESSES | USE_ENERGY);
	assert_int_equal(g->compute, 400);
	assert_int_equal(g->used_mb, 1500);
	assert_int_equal(g->energy_mj, 5000);
	assert_int_equal(g->free_mb, 81559 - 600 - 1500);
	assert_true(g->temp_c == 61 && g->power_mw == 310000);
	assert_true(g->sm_clock_mhz == 1755 && g->mem_clock_mhz == 2619);
	assert_int_equal(g->n_procs, 1);
	assert_int_equal(g->procs[0].pid, 11);
	assert_int_equal(g->procs[0].mem_mb, 1000);
	assert_int_equal(g->procs[0].compute, USE_NOT_KNOWN);
	g = of(u, "GPU-c");
	assert_int_equal(g->n_procs, 2);
	assert_int_equal(g->procs[0].compute, 600);
	assert_int_equal(g->procs[1].compute, 250);
	g = of(u, "MIG-1");
	assert_int_equal(g->known, USE_MEMORY | USE_PROCESSES);
	assert_int_equal(g->n_procs, 0);
	assert_true(g->used_mb == 56 && g->free_mb == 9800);
	assert_true(!g->temp_c && !g->power_mw && !g->sm_clock_mhz && !g->mem_clock_mhz);
	assert_int_equal(of(u, "MIG-2")->procs[0].pid, 22);

	/* The same child, the machine of now. */
	machine("gpu uuid=GPU-a name=\"NVIDIA H100\" mem=81559 compute=3\n", "");
	u = take(LONG_MS);
	assert_int_equal(of(u, "GPU-a")->compute, 30);
	assert_int_equal(of(u, "GPU-c")->known, 0);
	assert_true(gpu_sampler_cost_us(sampler) < 1000000);
}

static const struct {
	const char *call;
	uint32_t known; /* of GPU 0 all the same */
} calls[] = {
	{ "nvmlDeviceGetSamples", USE_COMPUTE | USE_MEMORY | USE_PROCESSES | USE_ENERGY },
	{ "nvmlDeviceGetMemoryInfo", USE_COMPUTE | USE_PROCESSES | USE_ENERGY },
	{ "nvmlDeviceGetComputeRunningProcesses", USE_COMPUTE | USE_MEMORY | USE_ENERGY },
	{ "nvmlDeviceGetTotalEnergyConsumption", USE_COMPUTE | USE_MEMORY | USE_PROCESSES },
};

static void test_failing(void **state)
{
	char more[128];

	(void)state;
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		const struct gpu_use *g;

		snprintf(more, sizeof(more), "fail call=%s result=3\n", calls[i].call);
		machine(MACHINE, more);
		g = of(take(LONG_MS), "GPU-a");
		assert_non_null(g);
		assert_int_equal(g->known, calls[i].known);
		assert_true(!(g->known & USE_COMPUTE) || g->compute == 400);
	}
}

/* Each of the values that an old driver may lack, or a broken one makes up. */
static void test_states(void **state)
{
	static const char *const lacks[] = { "nvmlDeviceGetTemperature", "nvmlDeviceGetPowerUsage",
		"nvmlDeviceGetClockInfo" };
	const struct gpu_use *g;
	char more[128];

	(void)state;
	for (size_t i = 0; i < sizeof(lacks) / sizeof(*lacks); i++) {
		snprintf(more, sizeof(more), "fail call=%s result=3\n", lacks[i]);
		machine(MACHINE, more);
		g = of(take(LONG_MS), "GPU-a");
		assert_non_null(g);
		assert_int_equal(g->temp_c, i == 0 ? 0 : 61);
		assert_int_equal(g->power_mw, i == 1 ? 0 : 310000);
		assert_int_equal(g->sm_clock_mhz, i == 2 ? 0 : 1755);
		assert_int_equal(g->mem_clock_mhz, i == 2 ? 0 : 2619);
	}
	machine("gpu uuid=GPU-n compute=7 nan=1 temp=70000 draw=99999 sm_clock=2000000\n", "");
	gpu_sampler_rest(sampler);
	g = of(take(LONG_MS), "GPU-n");
	assert_non_null(g);
	assert_int_equal(g->compute, 70); /* its rate, as its samples are no numbers */
	assert_true(!g->temp_c && !g->power_mw && !g->sm_clock_mhz && g->mem_clock_mhz == 1593);
}

/* What a process that was overwritten may have left in the memory that both share. */
static void test_any_bytes(void **state)
{
	struct gpu_uses *u = calloc(1, sizeof(*u));

	(void)state;
	memset(u, 0xff, sizeof(*u));
	gpu_uses_settle(u);
	assert_int_equal(u->n, GPUS_MAX);
	for (uint32_t i = 0; i < u->n; i++) {
		const struct gpu_use *g = &u->v[i];

		assert_true(strlen(g->uuid) < GPUS_TEXT);
		assert_false(g->known & (USE_MEMORY | USE_ENERGY | USE_PROCESSES));
		assert_true(g->compute <= USE_FULL && g->n_procs <= USE_PROCS);
		assert_true(!g->temp_c && !g->power_mw && !g->sm_clock_mhz && !g->mem_clock_mhz);
	}
	free(u);
}

/* A fork of a process with threads must not allocate memory, so it is executed. */
static void test_executed(void **state)
{
	struct pollfd p = { .events = POLLIN };
	struct error err;
	pid_t pid;
	int n;
	FILE *f;

	(void)state;
	machine(MACHINE, "");
	assert_int_equal(gpu_sampler_ask(sampler, &err), 0);
	f = fopen("/proc/thread-self/children", "re");
	assert_non_null(f);
	n = fscanf(f, "%d", &pid);
	fclose(f);
	assert_int_equal(n, 1);
	assert_true(proc_executed(pid));
	p.fd = gpu_sampler_fd(sampler);
	poll(&p, 1, LONG_MS);
	assert_non_null(of(gpu_sampler_take(sampler, trouble, sizeof(trouble)), "GPU-a"));
}

/* The GPU in which a call hangs or crashes is left out; the others are known. */
static void test_hang_and_crash(void **state)
{
	static const char *const how[] = { "hang", "crash" };
	char more[128];

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		snprintf(more, sizeof(more), "%s call=nvmlDeviceGetTotalEnergyConsumption gpu=0\n",
		        how[i]);
		machine(MACHINE, more);
		assert_null(take(SHORT_MS));
		assert_non_null(strstr(trouble, "nvmlDeviceGetTotalEnergyConsumption"));
		assert_non_null(strstr(trouble, i ? "crashes" : "does not come back"));
		assert_null(of(take(LONG_MS), "GPU-a"));
		assert_string_equal(trouble, "");
		assert_non_null(of(take(LONG_MS), "GPU-c"));
		gpu_sampler_pause(sampler); /* the next child leaves it out, too */
		assert_null(of(take(LONG_MS), "GPU-a"));
		assert_string_equal(trouble, "");
		machine(MACHINE, "");
		gpu_sampler_rest(sampler);
		assert_non_null(of(take(LONG_MS), "GPU-a"));
		gpu_sampler_rest(sampler);
	}
	machine("", "init result=9\n");
	assert_null(take(LONG_MS));
	assert_non_null(strstr(trouble, "nvmlInit"));
}

/* --- sums --------------------------------------------------------------------------------------
 */

#define HOUR 3600000000ull

static struct gpu_uses uses = { .n = 3,
	.v = { { .uuid = "A",
	               .known = USE_COMPUTE | USE_MEMORY | USE_PROCESSES | USE_ENERGY,
	               .compute = 800,
	               .used_mb = 900,
	               .energy_mj = 1000,
	               .n_procs = 1,
	               .procs = { { 5, USE_NOT_KNOWN, 700 } } },
	        { .uuid = "B",
	                .known = USE_COMPUTE | USE_MEMORY | USE_ENERGY,
	                .compute = 20,
	                .used_mb = 300,
	                .energy_mj = 50 },
	        { .uuid = "M", .known = USE_MEMORY | USE_PROCESSES, .used_mb = 40 } } };

static void test_sums(void **state)
{
	struct run_used u = { 0 };
	struct used_gpu gpus[] = { { .uuid = "A" }, { .uuid = "B" }, { .uuid = "gone" } };
	const bool alone[] = { true, true, true };
	const struct used_pids none = { NULL, 0 };

	(void)state;
	/* The first look says what is now, of no time and no energy before it. */
	used_add_gpus(&u, gpus, alone, 3, &uses, none, 0);
	assert_int_equal(u.gpu_seen_us, 0);
	assert_int_equal(u.energy_mj, 0);
	assert_int_equal(u.gpu_now_pct, 41);
	assert_int_equal(u.gpu_mem_now_mb, 700);
	uses.v[0].energy_mj = 1500;
	uses.v[0].procs[0].mem_mb = 600;
	used_add_gpus(&u, gpus, alone, 3, &uses, none, HOUR);
	assert_int_equal(u.gpu_seen_us, 2 * HOUR);
	assert_int_equal(u.gpu_busy_us, HOUR * 82 / 100);
	assert_int_equal(u.gpu_idle_us, HOUR);
	assert_int_equal(u.energy_mj, 500);
	assert_int_equal(u.gpu_mem_now_mb, 600);
	assert_int_equal(u.gpu_mem_peak_mb, 700);
	assert_int_equal(u.gpu_mem_mbs, (600 + 300) * 3600);
	/* A counter that jumps says nothing. */
	uses.v[0].energy_mj = INT64_MAX;
	used_add_gpus(&u, gpus, alone, 3, &uses, none, 1000000);
	assert_int_equal(u.energy_mj, 500);
	/* A driver that was loaded again counts from 0. */
	uses.v[0].energy_mj = 10;
	used_add_gpus(&u, gpus, alone, 3, &uses, none, HOUR);
	assert_int_equal(u.energy_mj, 500);
}

static void test_mig(void **state)
{
	struct run_used u = { 0 };
	struct used_gpu gpu = { .uuid = "M" };
	const bool alone = true;

	(void)state;
	used_add_gpus(&u, &gpu, &alone, 1, &uses, (struct used_pids){ NULL, 0 }, HOUR);
	assert_int_equal(u.gpu_seen_us, 0); /* nobody says what it does */
	assert_int_equal(u.gpu_mem_now_mb, 0);
	uses.v[2].procs[0] = (struct gpu_proc){ 5, USE_NOT_KNOWN, 30 };
	uses.v[2].n_procs = 1;
	used_add_gpus(&u, &gpu, &alone, 1, &uses, (struct used_pids){ NULL, 0 }, HOUR);
	assert_int_equal(u.gpu_mem_mbs, 30 * 3600); /* its memory is known all the same */
	uses.v[2].n_procs = 0;
}

/* Two runs on one GPU: each has what its own processes do. */
static void test_shared(void **state)
{
	static const struct gpu_uses shared = { .n = 1,
		.v = { { .uuid = "S",
		        .known = USE_COMPUTE | USE_MEMORY | USE_PROCESSES | USE_ENERGY,
		        .compute = 900,
		        .used_mb = 5000,
		        .energy_mj = 70,
		        .n_procs = 3,
		        .procs = { { 7, 600, 100 }, { 8, 300, 200 }, { 9, 50, 400 } } } } };
	const uint32_t mine[] = { 7, 9 };
	struct used_gpu gpu = { .uuid = "S" };
	struct run_used u = { 0 };
	const bool alone = false;

	(void)state;
	used_add_gpus(&u, &gpu, &alone, 1, &shared, (struct used_pids){ mine, 2 }, HOUR);
	assert_int_equal(u.gpu_now_pct, 65);
	assert_int_equal(u.gpu_mem_now_mb, 500);
	assert_int_equal(gpu.mem_mb, 500);
	assert_int_equal(u.energy_mj, 0);
	/* A run without a process on it does nothing. */
	used_add_gpus(&u, &gpu, &alone, 1, &shared, (struct used_pids){ mine, 0 }, HOUR);
	assert_int_equal(u.gpu_now_pct, 0);
	assert_int_equal(u.gpu_idle_us, HOUR);
}

/* --- memory alone ----------------------------------------------------------------------------- */

static void test_memory_alone(void **state)
{
	const char uuids[][GPUS_TEXT] = { "GPU-c", "GPU-a", "GPU-gone" };
	struct pollfd p = { .events = POLLIN };
	const struct gpu_uses *u;
	struct error err;

	(void)state;
	machine(MACHINE, "");
	take(LONG_MS);
	assert_int_equal(gpu_sampler_ask_memory(sampler, uuids, 3, &err), 0);
	p.fd = gpu_sampler_fd(sampler);
	poll(&p, 1, LONG_MS);
	u = gpu_sampler_take(sampler, trouble, sizeof(trouble));
	assert_non_null(u);
	assert_int_equal(u->n, 2);
	assert_int_equal(of(u, "GPU-a")->known, USE_MEMORY | USE_PROCESSES);
	assert_int_equal(of(u, "GPU-a")->used_mb, 1500);
	assert_int_equal(of(u, "GPU-c")->n_procs, 2);
	assert_int_equal(of(u, "GPU-c")->procs[1].mem_mb, 400);
	/* The next question is a whole one again. */
	u = take(LONG_MS);
	assert_int_equal(u->n, 4);
	assert_true(of(u, "GPU-a")->known & USE_COMPUTE);
}

static void test_own_memory(void **state)
{
	struct gpu_uses *u = calloc(1, sizeof(*u));
	struct used_gpu gpus[2] = { { .uuid = "A", .index = 4 }, { .uuid = "B", .index = 7 } };
	const bool alone[] = { true, false };
	const uint32_t mine[] = { 11, 22 };
	struct run_used sum = { .gpu_now_pct = 7, .gpu_mem_peak_mb = 1 };

	(void)state;
	u->n = 2;
	u->v[0] = (struct gpu_use){ .uuid = "A", .known = USE_PROCESSES, .n_procs = 2 };
	u->v[0].procs[0] = (struct gpu_proc){ 22, 0, 300 };
	u->v[0].procs[1] = (struct gpu_proc){ 99, 0, 5000 };
	u->v[1] = (struct gpu_use){ .uuid = "B", .known = USE_MEMORY, .used_mb = 70000 };
	used_add_gpu_memory(&sum, gpus, alone, 2, u, (struct used_pids){ mine, 2 });
	/* Whoever is alone has all of it; what is beyond doubt his is less, and is all that a
	 * watchdog goes by. */
	assert_int_equal(gpus[0].mem_mb, 5300);
	assert_int_equal(gpus[0].own_mb, 300);
	assert_int_equal(gpus[1].own_mb, 0);
	assert_int_equal(sum.gpu_mem_peak_mb, 5300);
	assert_int_equal(sum.gpu_now_pct, 7);
	assert_int_equal(overmem_find(gpus, 2), -1); /* it may have all */
	gpus[0].allowed_mb = gpus[1].allowed_mb = 300;
	assert_int_equal(overmem_find(gpus, 2), -1);
	gpus[0].allowed_mb = 299;
	assert_int_equal(overmem_find(gpus, 2), 0);
	gpus[1].own_mb = 302;
	assert_int_equal(overmem_find(gpus, 2), 1);
	/* A look in which the driver does not say who has what: nobody has given back. */
	u->v[0].known = u->v[1].known = USE_MEMORY;
	used_add_gpu_memory(&sum, gpus, alone, 2, u, (struct used_pids){ mine, 2 });
	assert_int_equal(gpus[0].own_mb, 300);
	assert_true(gpus[0].own_known && !gpus[1].own_known);
	gpus[1].asked_back = true;
	assert_int_equal(overmem_find(gpus, 2), 0);
	free(u);
}

static void test_overmem_allowed(void **state)
{
	static const struct {
		uint64_t share, burst, card, others, allowed;
	} rows[] = {
		{ 20, 0, 80, 0, 20 },   /* no more than its part */
		{ 20, 10, 80, 0, 20 },  /* less than its part is nothing */
		{ 20, 30, 80, 0, 30 },  /* up to that, where it is nobody's */
		{ 20, 30, 80, 55, 25 }, /* as much as is left */
		{ 20, 30, 80, 60, 20 }, /* its part, whatever others have */
		{ 20, 30, 80, 90, 20 },
		{ 20, 30, 0, 60, 30 },
		{ 0, 0, 80, 0, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		assert_int_equal(
		        overmem_allowed(rows[i].share, rows[i].burst, rows[i].card, rows[i].others),
		        rows[i].allowed);
}

static void test_overmem_words(void **state)
{
	static const struct {
		uint64_t used, allowed, burst;
		const char *text;
	} rows[] = {
		{ 24883, 20480, 0, "used 24.3G of 20G of GPU 2" },
		{ 900, 512, 512, "used 900M of 512M of GPU 2" },
		{ 20481, 20480, 0, "used 20481M of 20480M of GPU 2" },
		{ 24883, 20480, 30720,
		        "used 24.3G of 20G of GPU 2; others have the rest of its burst of 30G" },
	};
	char text[OVERMEM_TEXT];
	enum overmem_policy policy = OVERMEM_END;
	struct error err;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct used_gpu gpu = {
			.index = 2, .own_mb = rows[i].used, .allowed_mb = rows[i].allowed
		};

		overmem_text(text, &gpu, rows[i].burst);
		assert_string_equal(text, rows[i].text);
	}
	assert_int_equal(overmem_parse("warn", &policy, &err), 0);
	assert_int_equal(policy, OVERMEM_WARN);
	assert_int_equal(overmem_parse("kill", &policy, &err), -1);
	assert_string_equal(err.text, "'kill' is none of note, warn, end");
	assert_int_equal(policy, OVERMEM_WARN);
}

static void test_burst_rows(void **state)
{
	static const struct {
		struct burst_run runs[4]; /* share, own, work, may, asked */
		uint64_t missing;
		const char *asked;
	} rows[] = {
		/* Of a card of 80. Who stays within his part is none, nor is what nobody else has.
		 */
		{ { { 20, 60, 9, true, false } }, 0, "0000" },
		{ { { 20, 60, 9, true, false }, { 20, 0, 9, true, false } }, 0, "0000" },
		{ { { 20, 60, 9, true, false }, { 21, 0, 9, true, false } }, 1, "1000" },
		{ { { 20, 60, 9, true, false }, { 60, 30, 9, true, false } }, 40, "1000" },
		/* Each would do: who loses least. Only one would do: that one. */
		{ { { 10, 30, 9, true, false }, { 10, 40, 8, true, false },
		          { 25, 0, 1, true, false } },
		        15, "0100" },
		{ { { 10, 30, 7, true, false }, { 10, 40, 8, true, false },
		          { 25, 0, 1, true, false } },
		        15, "1000" },
		{ { { 10, 14, 7, true, false }, { 10, 40, 8, true, false },
		          { 31, 0, 1, true, false } },
		        5, "0100" },
		/* None would: who has most, and another. */
		{ { { 10, 25, 7, true, false }, { 10, 30, 8, true, false },
		          { 10, 19, 1, true, false }, { 40, 0, 1, true, false } },
		        34, "1100" },
		/* Of parts that are more than the card: all that is borrowed. */
		{ { { 50, 60, 7, true, false }, { 40, 30, 8, true, false } }, 10, "1000" },
		/* Who was asked counts first; who cannot be asked not at all. */
		{ { { 10, 30, 9, true, true }, { 10, 40, 8, true, false },
		          { 25, 0, 1, true, false } },
		        15, "1000" },
		{ { { 10, 30, 9, false, false }, { 10, 20, 8, true, false },
		          { 45, 0, 1, true, false } },
		        15, "0000" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct burst_run runs[4];
		char asked[5] = "0000";

		memcpy(runs, rows[i].runs, sizeof(runs));
		assert_int_equal(burst_short(runs, 4, 80), rows[i].missing);
		assert_int_equal(burst_short(runs, 4, 0), 0);
		burst_choose(runs, 4, 80);
		for (size_t k = 0; k < 4; k++)
			asked[k] = runs[k].asked ? '1' : '0';
		assert_string_equal(asked, rows[i].asked);
	}
}

/* So many runs give back what they have borrowed; what is missing then? */
static uint64_t missing_without(const struct burst_run *runs, size_t n, unsigned who, uint64_t card)
{
	struct burst_run left[6];

	for (size_t i = 0; i < n; i++) {
		left[i] = runs[i];
		if (who >> i & 1 && left[i].own_mb > left[i].share_mb)
			left[i].own_mb = left[i].share_mb;
	}
	return burst_short(left, n, card);
}

/* Of random cards: whose parts come to less than the card are asked until it is not short any more,
 * by no more runs than it takes, none of whom has nothing; and where it is not short nobody is. */
static void test_burst_chooses(void **state)
{
	uint32_t seed = 20261122;
	size_t asked = 0;

	(void)state;
	for (int round = 0; round < 20000; round++) {
		struct burst_run runs[6] = { { 0 } };
		size_t n = 1 + (size_t)(round % 6);
		uint64_t card = 100;
		unsigned who = 0, fewest = 7, can = 0;

		for (size_t i = 0; i < n; i++) {
			seed = seed * 1664525 + 1013904223;
			runs[i].share_mb = (seed >> 8) % (110 / n);
			runs[i].own_mb = (seed >> 16) % 100;
			runs[i].work_us = seed >> 28;
			runs[i].may = (seed >> 5) % 8;
			can |= (unsigned)runs[i].may << i;
		}
		burst_choose(runs, n, card);
		for (size_t i = 0; i < n; i++)
			who |= (unsigned)runs[i].asked << i;
		for (unsigned set = 0; set < 1u << n; set++) {
			if (!(set & ~can) && !missing_without(runs, n, set, card) &&
			        (unsigned)__builtin_popcount(set) < fewest)
				fewest = (unsigned)__builtin_popcount(set);
		}
		assert_int_equal(who & ~can, 0);
		assert_int_equal(__builtin_popcount(who), fewest == 7 ? 0 : fewest);
		if (fewest < 7)
			assert_int_equal(missing_without(runs, n, who, card), 0);
		asked += fewest > 0 && fewest < 7;
	}
	assert_true(asked > 1000);
}

static void test_meter_sums(void **state)
{
	struct run_used u = { 0 }, told;

	(void)state;
	used_add_processes(
	        &u, &(struct process_usage){ .cpu_us = 5000000, .mem_kb = 4096, .read_bytes = 9 });
	told = u;
	assert_false(used_differ(&told, &u));
	/* What a process that has ended took with it is not given back. */
	used_add_processes(&u,
	        &(struct process_usage){ .cpu_us = 4000000, .mem_kb = 1024, .mem_peak_kb = 8192 });
	assert_int_equal(u.cpu_time_us, 5000000);
	assert_int_equal(u.mem_now_mb, 1);
	assert_int_equal(u.mem_peak_mb, 8);
	assert_int_equal(u.read_bytes, 9);
	assert_true(used_differ(&told, &u));
}

/* --- processes ---------------------------------------------------------------------------------
 */

/* A child and its own child, which hold 32 MiB and have used CPU time. */
static _Noreturn void burn(int ready)
{
	volatile unsigned sum = 0;
	void *mem = mmap(NULL, 32 << 20, PROT_READ | PROT_WRITE,
	        MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	struct process_usage m = { 0 };
	uint32_t *pids;

	if (mem == MAP_FAILED || fork() < 0)
		_exit(1);
	do { /* until the clock that we read has moved */
		struct process_scan *s = process_scan_new();

		for (unsigned i = 0; i < 10000000; i++)
			sum += i;
		while (process_scan_step(s, 100))
			;
		m = (struct process_usage){ 0 };
		process_scan_run(s, getppid(), &m, &pids);
		free(pids);
		process_scan_free(s);
	} while (m.cpu_us < 50000);
	if (write(ready, "x", 1) != 1)
		_exit(1);
	pause();
	_exit(0);
}

static void test_processes(void **state)
{
	struct process_usage m = { 0 },
	                     known = { .cpu_known = true, .mem_known = true, .cpu_us = 7 };
	struct process_scan *s;
	int ready[2];
	uint32_t *pids;
	char c[2];
	pid_t child;

	(void)state;
	assert_int_equal(pipe(ready), 0);
	child = fork();
	if (child == 0) {
		setpgid(0, 0);
		burn(ready[1]);
	}
	for (int i = 0; i < 2; i++)
		assert_int_equal(read(ready[0], c, 1), 1);
	s = process_scan_new();
	assert_non_null(s);
	while (process_scan_step(s, 7))
		;
	assert_int_equal(process_scan_run(s, getpid(), &m, &pids), 2);
	assert_true(pids[0] < pids[1]);
	assert_true(pids[0] == (uint32_t)child || pids[1] == (uint32_t)child);
	free(pids);
	assert_true(m.cpu_us >= 50000);
	assert_true(m.mem_kb > 32 * 1024);
	assert_int_equal(process_scan_run(s, getpid(), &known, &pids), 2);
	assert_int_equal(known.cpu_us, 7);
	free(pids);
	assert_int_equal(process_scan_run(s, 1 << 30, &m, &pids), 0);
	assert_null(pids);
	process_scan_free(s);
	kill(-child, SIGKILL);
	waitpid(child, NULL, 0);
	close(ready[0]);
	close(ready[1]);
}

static void put(const char *name, const char *text)
{
	char path[128];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", standin_root, name);
	f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

/* What was waited for a CPU: the cgroup's word, where it has one; else that of processes. */
static void test_cpu_wait(void **state)
{
	struct process_usage m = { 0 };

	(void)state;
	put("cpu.stat", "usage_usec 12\nuser_usec 7\n");
	process_usage_cgroups(standin_root, NULL, &m);
	assert_int_equal(m.cpu_us, 12);
	assert_false(m.wait_known);
	put("cpu.pressure", "some avg10=98.81 avg60=98.67 avg300=73.12 total=14801932139\n"
	                    "full avg10=0.00 avg60=0.00 avg300=0.00 total=9\n");
	process_usage_cgroups(standin_root, NULL, &m);
	assert_true(m.wait_known);
	assert_int_equal(m.wait_us, 14801932139u);
	process_usage_wait(1, &m);
	assert_int_equal(m.wait_us, 14801932139u);
	m = (struct process_usage){ 0 };
	for (int i = 0; i < 100000 && !m.wait_us; i++) { /* whoever waits at all */
		sched_yield();
		process_usage_wait(getpid(), &m);
	}
	if (access("/proc/self/schedstat", R_OK) == 0)
		assert_true(m.wait_us > 0);
}

static void test_cgroups(void **state)
{
	struct process_usage m = { 0 };
	uint32_t *pids;

	(void)state;
	process_usage_cgroups("/nowhere", "", &m);
	assert_false(m.cpu_known || m.mem_known);
	put("cpu.stat", "usage_usec 12345\nuser_usec 1\n");
	put("cgroup.procs", "30\n9\n");
	process_usage_cgroups(standin_root, NULL, &m);
	assert_true(m.cpu_known && !m.mem_known);
	assert_int_equal(m.cpu_us, 12345);
	put("memory.usage_in_bytes", "2097152\n");
	put("memory.max_usage_in_bytes", "4194304\n");
	process_usage_cgroups(standin_root, standin_root, &m);
	assert_int_equal(m.mem_kb, 2048);
	assert_int_equal(m.mem_peak_kb, 4096);
	put("memory.current", "1048576\n"); /* an older kernel's: no peak */
	m = (struct process_usage){ 0 };
	process_usage_cgroups(standin_root, NULL, &m);
	assert_int_equal(m.mem_kb, 1024);
	assert_int_equal(m.mem_peak_kb, 0);
	assert_int_equal(process_usage_pids(standin_root, &pids), 2);
	assert_int_equal(pids[0], 9);
	free(pids);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_all, begin, end),
		cmocka_unit_test_setup_teardown(test_failing, begin, end),
		cmocka_unit_test_setup_teardown(test_states, begin, end),
		cmocka_unit_test(test_any_bytes),
		cmocka_unit_test_setup_teardown(test_executed, begin, end),
		cmocka_unit_test_setup_teardown(test_hang_and_crash, begin, end),
		cmocka_unit_test(test_sums),
		cmocka_unit_test(test_mig),
		cmocka_unit_test(test_shared),
		cmocka_unit_test_setup_teardown(test_memory_alone, begin, end),
		cmocka_unit_test(test_own_memory),
		cmocka_unit_test(test_overmem_allowed),
		cmocka_unit_test(test_overmem_words),
		cmocka_unit_test(test_burst_rows),
		cmocka_unit_test(test_burst_chooses),
		cmocka_unit_test(test_meter_sums),
		cmocka_unit_test(test_cpu_wait),
		cmocka_unit_test(test_processes),
		cmocka_unit_test(test_cgroups),
	};
	int failed;

	driver_process_main(argc, argv);
	if (!standin_begin(argv))
		return 99;
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	standin_end();
	return failed;
}
