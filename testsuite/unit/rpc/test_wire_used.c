/* test_wire_used.c - what runs use, as agents tell it: no number that cannot be comes in
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "testsuite/unit/lib/wire_arena.h"

#define USED(field, value) { offsetof(Gpusched__RunUsed, field), sizeof(m.field), value }

/* Each number of what a run used: the largest that can be, and one that cannot. */
static void test_used(void **state)
{
	Gpusched__RunUsed m = GPUSCHED__RUN_USED__INIT, *list[] = { &m };
	Gpusched__RunId id = GPUSCHED__RUN_ID__INIT;
	Gpusched__RunsUsed all = GPUSCHED__RUNS_USED__INIT;
	const struct {
		size_t at, size;
		uint64_t most;
	} rows[] = {
		USED(cpu_time_us, INT64_MAX), USED(cpu_wait_us, INT64_MAX),
		USED(mem_now_mb, INT64_MAX / 1024), USED(mem_peak_mb, INT64_MAX / 1024),
		USED(read_bytes, INT64_MAX), USED(written_bytes, INT64_MAX),
		USED(gpu_seen_us, INT64_MAX), USED(gpu_busy_us, 7), USED(gpu_idle_us, 7),
		USED(gpu_mem_now_mb, INT64_MAX), USED(gpu_mem_peak_mb, INT64_MAX),
		USED(gpu_mem_mbs, INT64_MAX), USED(energy_mj, INT64_MAX), USED(gpu_now_pct, 100),
		USED(burst_job, INT64_MAX), USED(burst_time, INT64_MAX), /* one more is below 0 */
	};

	(void)state;
	id.job = id.attempt = 1;
	all.runs = list;
	all.n_runs = 1;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		for (uint64_t more = 0; more < 2; more++) {
			const uint64_t value = rows[i].most + more;
			struct core_event ev = { 0 };
			struct error err = { 0 };

			gpusched__run_used__init(&m);
			m.run = &id;
			m.gpu_seen_us = 7;
			memcpy((char *)&m + rows[i].at, &value, rows[i].size); /* little-endian */
			if (wire_runs_used(&all, arena, &ev, &err) != -(int)more)
				fail_msg("row %zu, more %d: %s", i, (int)more, err.text);
		}
	}
}

#define SAMPLE(field, value)                                                 \
	{                                                                    \
		offsetof(Gpusched__GpuSample, field), sizeof(m.field), value \
	}

/* The same of samples of GPUs; no more of them than a node can have. */
static void test_samples(void **state)
{
	Gpusched__GpuSample m = GPUSCHED__GPU_SAMPLE__INIT, *list[CONF_MAX_GPUS_PER_NODE + 1];
	Gpusched__RunsUsed all = GPUSCHED__RUNS_USED__INIT;
	const struct {
		size_t at, size;
		uint64_t most;
	} rows[] = {
		SAMPLE(sm_pct, 100),
		SAMPLE(fb_used_mb, WIRE_MEM_MB_MAX),
		SAMPLE(fb_free_mb, WIRE_MEM_MB_MAX),
		SAMPLE(temp_c, 1000),
		SAMPLE(power_mw, 10000000),
		SAMPLE(energy_mj, INT64_MAX),
		SAMPLE(sm_clock_mhz, 100000),
		SAMPLE(mem_clock_mhz, 100000),
		SAMPLE(last_xid_time, INT64_MAX),
	};
	char *const uuids[] = { "GPU-1,GPU-2", "GPU 1", "GPU\n", "\xff" };
	struct core_event ev = { 0 };
	struct error err = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof(list) / sizeof(*list); i++)
		list[i] = &m;
	all.gpus = list;
	all.n_gpus = 1;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		for (uint64_t more = 0; more < 2; more++) {
			const uint64_t value = rows[i].most + more;

			gpusched__gpu_sample__init(&m);
			memcpy((char *)&m + rows[i].at, &value, rows[i].size);
			if (wire_runs_used(&all, arena, &ev, &err) != -(int)more)
				fail_msg("row %zu, more %d: %s", i, (int)more, err.text);
		}
	}
	gpusched__gpu_sample__init(&m);
	for (size_t i = 0; i < sizeof(uuids) / sizeof(*uuids); i++) {
		m.uuid = uuids[i];
		assert_int_equal(wire_runs_used(&all, arena, &ev, &err), -1);
	}
	m.uuid = "GPU-1";
	all.n_gpus = CONF_MAX_GPUS_PER_NODE;
	assert_int_equal(wire_runs_used(&all, arena, &ev, &err), 0);
	assert_int_equal(ev.used.n_gpus, CONF_MAX_GPUS_PER_NODE);
	assert_string_equal(ev.used.gpus[0].uuid, "GPU-1");
	all.n_gpus++;
	assert_int_equal(wire_runs_used(&all, arena, &ev, &err), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_used),
		cmocka_unit_test(test_samples),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
