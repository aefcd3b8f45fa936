/* test_gpu_samples.c - what nodes say that their GPUs do: kept by index, shown with its age */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "ctld/core/nodes/devices_list.h"
#include "testsuite/unit/lib/devices_world.h"

static void say(struct world *w, const struct gpu_sample *samples, size_t n)
{
	struct core_event e = { .kind = EV_RUNS_USED };

	e.used.session = world_session(w, 0);
	e.used.gpus = samples;
	e.used.n_gpus = n;
	world_apply(w, &e);
}

static struct gpu_view gpu(struct world *w, uint32_t index)
{
	struct gpu_view g;

	assert_true(core_gpu_view(w->core, 0, index, &g));
	return g;
}

static void by_uuid(void **state)
{
	static const struct gpu_sample samples[] = {
		{ .uuid = "GPU-b", .sm_known = true, .sm_pct = 37, .power_mw = 412000 },
		{ .uuid = "GPU-stranger", .sm_pct = 99 },
		{ .uuid = "GPU-a", .fb_used_mb = 500, .fb_free_mb = 81059, .last_xid = 31 },
		{ .uuid = "", .index = 2, .temp_c = 99 }, /* this node says UUIDs */
	};
	struct world *w = world_simple(1, "h100:3");

	(void)state;
	devices_found(w, "h100/GPU-a;h100/GPU-b;h100/GPU-c");
	assert_null(gpu(w, 0).sample);
	say(w, samples, 4);
	assert_int_equal(gpu(w, 0).sample->last_xid, 31);
	assert_int_equal(gpu(w, 0).sample->fb_used_mb, 500);
	assert_true(gpu(w, 1).sample->sm_known && gpu(w, 1).sample->sm_pct == 37);
	assert_null(gpu(w, 2).sample);
	assert_int_equal(gpu(w, 1).sample_age_s, 0);
	world_pass(w, 90);
	say(w, samples, 1);
	assert_int_equal(gpu(w, 0).sample_age_s, 90);
	assert_int_equal(gpu(w, 1).sample_age_s, 0);
	/* Another card in its place: what was sampled is of the one before. */
	devices_found(w, "h100/GPU-a;h100/GPU-z;h100/GPU-c");
	assert_null(gpu(w, 0).sample);
	assert_null(gpu(w, 1).sample);
	say(w, samples, 4);
	assert_null(gpu(w, 1).sample);
	assert_non_null(gpu(w, 0).sample);
	world_seal(w);
	world_free(w);
}

/* Of a node that was told which GPUs it has; whatever it says, no other node's are touched. */
static void by_index(void **state)
{
	static const struct gpu_sample samples[] = {
		{ .uuid = "", .index = 1, .temp_c = 61 },
		{ .uuid = "", .index = 63, .temp_c = 62 },
		{ .uuid = "", .index = UINT32_MAX, .temp_c = 63 },
		{ .uuid = "GPU-a", .index = 0, .temp_c = 64 },
	};
	struct world *w = world_simple(2, "h100:2");
	struct gpu_view other;

	(void)state;
	world_register_all(w);
	say(w, samples, 4);
	assert_null(gpu(w, 0).sample);
	assert_int_equal(gpu(w, 1).sample->temp_c, 61);
	assert_true(core_gpu_view(w->core, 1, 1, &other));
	assert_null(other.sample);
	/* A session that has been replaced says nothing any more. */
	world_gone(w, 0);
	say(w, samples, 1);
	world_seal(w);
	world_restart(w); /* they are not durable */
	assert_null(gpu(w, 1).sample);
	world_free(w);
}

static void lists(void **state)
{
	(void)state;
	assert_int_equal(device_index("a,bb,,ccc", "a"), 0);
	assert_int_equal(device_index("a,bb,,ccc", "ccc"), 3);
	assert_int_equal(device_index("a,bb,,ccc", "b"), CONF_MAX_GPUS_PER_NODE);
	assert_int_equal(device_index("", "b"), CONF_MAX_GPUS_PER_NODE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(by_uuid),
		cmocka_unit_test(by_index),
		cmocka_unit_test(lists),
	};

	return cmocka_run_group_tests_name("gpu-samples", tests, NULL, NULL);
}
