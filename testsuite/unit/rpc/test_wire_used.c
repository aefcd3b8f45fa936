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
		USED(cpu_time_us, INT64_MAX),
		USED(cpu_wait_us, INT64_MAX),
		USED(mem_now_mb, INT64_MAX / 1024),
		USED(mem_peak_mb, INT64_MAX / 1024),
		USED(read_bytes, INT64_MAX),
		USED(written_bytes, INT64_MAX),
		USED(gpu_seen_us, INT64_MAX),
		USED(gpu_busy_us, 7),
		USED(gpu_idle_us, 7),
		USED(gpu_mem_now_mb, INT64_MAX),
		USED(gpu_mem_peak_mb, INT64_MAX),
		USED(energy_mj, INT64_MAX),
		USED(gpu_now_pct, 100),
		USED(burst_job, INT64_MAX),
		USED(burst_time, INT64_MAX), /* one more is below 0 */
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_used),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
