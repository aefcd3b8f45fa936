/* test_core_life.c - a job's way from submit to history */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <string.h>

#include "testsuite/unit/core_world.h"

static void whole_life(void **state)
{
	struct world *w = world_simple(2, "h100:4");
	uint64_t id;

	(void)state;
	id = world_submit(w, "h100:2");
	assert_string_equal(world_state(w, id), "PENDING");
	assert_string_equal(world_reason(w, id), "PartitionDown");
	world_seal(w);
	world_register_all(w);
	assert_string_equal(world_state(w, id), "CONFIGURING");
	assert_int_equal(world_view(w, id).gpu_set, 3);
	assert_non_null(world_effect(w, EFFECT_START_RUN));
	world_seal(w);
	world_run_starts(w, id);
	assert_string_equal(world_state(w, id), "RUNNING");
	world_seal(w);
	world_pass(w, 30);
	assert_int_equal(world_view(w, id).elapsed_s, 30);
	world_run_ends(w, id, 0);
	assert_string_equal(world_state(w, id), "COMPLETED");
	assert_non_null(world_effect(w, EFFECT_FORGET_RUN));
	world_seal(w);
	world_restart(w);
	assert_string_equal(world_state(w, id), "COMPLETED");
	assert_int_equal(world_view(w, id).elapsed_s, 30);
	world_pass(w, w->conf->controller.keep_ended_s + 1);
	assert_string_equal(world_state(w, id), "none");
	world_seal(w);
	assert_int_equal(w->history_jobs, 1);
	assert_int_equal(w->history_runs, 1);
	world_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whole_life),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
