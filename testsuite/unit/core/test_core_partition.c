/* test_core_partition.c - the state of a partition: as configured, or as an operator says */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "testsuite/unit/lib/core_world.h"

#define OWNER 1000

static const char *conf_with(const char *state)
{
	static char text[512];

	snprintf(text, sizeof(text),
	        "cluster = \"lab\"; controller = { host = \"h\"; };\n"
	        "gpu_types = ( { name = \"h100\"; } );\n"
	        "nodes = ( { name = \"n0\"; cpus = 8; gpus = \"h100:4\"; } );\n"
	        "partitions = ( { name = \"batch\"; nodes = \"n0\"; default = true; state = "
	        "\"%s\"; },\n"
	        "  { name = \"other\"; nodes = \"n0\"; } );\n",
	        state);
	return text;
}

static int set(struct world *w, struct caller by, uint32_t partition, int state)
{
	struct core_event e = { .kind = EV_PARTITION_CONTROL,
		.caller = by,
		.partition = { partition, (enum conf_partition_state)state, "tests" } };

	w->error.code = 0;
	world_apply(w, &e);
	world_schedule(w);
	return w->error.code;
}

static const char *state_of(struct world *w, uint32_t partition)
{
	struct partition_view v;

	assert_true(core_partition_view(w->core, partition, &v));
	return v.state;
}

static void who_may(void **state)
{
	struct world *w = world_new(conf_with("up"));

	(void)state;
	assert_int_equal(set(w, world_user(OWNER), 0, CONF_PARTITION_DOWN), ERR_NOT_PERMITTED);
	assert_int_equal(set(w, world_admin(), 2, CONF_PARTITION_DOWN), ERR_NO_PARTITION);
	assert_int_equal(set(w, world_admin(), 0, 17), ERR_USAGE);
	assert_string_equal(state_of(w, 0), "up");
	assert_int_equal(set(w, world_admin(), 0, CONF_PARTITION_DOWN), 0);
	assert_string_equal(state_of(w, 0), "down");
	assert_string_equal(state_of(w, 1), "up");
	world_free(w);
}

/* In each state: is a new job taken, and does one that waits start? */
static void what_it_means(void **state)
{
	static const struct {
		enum conf_partition_state state;
		bool takes, starts;
	} rows[] = {
		{ CONF_PARTITION_UP, true, true },
		{ CONF_PARTITION_DRAIN, false, true },
		{ CONF_PARTITION_DOWN, true, false },
		{ CONF_PARTITION_INACTIVE, false, false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct world *w = world_new(conf_with("up"));
		struct submit_job job = world_job(w, "h100:1");
		uint64_t waits;

		world_register_all(w);
		job.hold = true;
		waits = world_submit_job(w, &job, OWNER);
		assert_int_equal(set(w, world_admin(), 0, rows[i].state), 0);
		job = world_job(w, "h100:1");
		assert_int_equal(world_submit_job(w, &job, OWNER) != 0, rows[i].takes);
		if (!rows[i].takes)
			assert_int_equal(w->error.code, ERR_PARTITION_STATE);
		world_control(w, world_admin(), JOB_RELEASE, waits);
		world_schedule(w);
		assert_string_equal(
		        world_state(w, waits), rows[i].starts ? "CONFIGURING" : "PENDING");
		if (!rows[i].starts)
			assert_string_equal(world_reason(w, waits), "PartitionDown");
		/* Back up: it starts at once. */
		assert_int_equal(set(w, world_admin(), 0, CONF_PARTITION_UP), 0);
		assert_string_equal(world_state(w, waits), "CONFIGURING");
		world_seal(w);
		world_free(w);
	}
}

/* Who waits is not known to a partition that was made down after it was blocked. */
static void blocked_and_down(void **state)
{
	struct world *w = world_new(conf_with("up"));
	uint64_t first, second;

	(void)state;
	world_register_all(w);
	first = world_submit(w, "h100:4");
	second = world_submit(w, "h100:4");
	world_run_starts(w, first);
	assert_string_equal(world_reason(w, second), "Resources");
	assert_int_equal(set(w, world_admin(), 0, CONF_PARTITION_DOWN), 0);
	world_run_ends(w, first, 0);
	world_schedule(w);
	assert_string_equal(world_state(w, second), "PENDING");
	assert_int_equal(set(w, world_admin(), 0, CONF_PARTITION_DRAIN), 0);
	assert_string_equal(world_state(w, second), "CONFIGURING");
	world_free(w);
}

/* What was said lasts: over a restart, and over changes of the file, until it says the same. */
static void lasts(void **state)
{
	struct world *w = world_new(conf_with("up"));

	(void)state;
	world_register_all(w);
	assert_int_equal(set(w, world_admin(), 0, CONF_PARTITION_DRAIN), 0);
	world_seal(w);
	world_restart(w);
	assert_string_equal(state_of(w, 0), "drain");
	world_reconfigure(w, conf_with("inactive"));
	assert_string_equal(state_of(w, 0), "drain");
	assert_int_equal(set(w, world_admin(), 0, CONF_PARTITION_INACTIVE), 0);
	world_seal(w);
	world_restart(w);
	assert_string_equal(state_of(w, 0), "inactive");
	world_reconfigure(w, conf_with("up"));
	assert_string_equal(state_of(w, 0), "up");
	world_seal(w);
	world_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_may),
		cmocka_unit_test(what_it_means),
		cmocka_unit_test(blocked_and_down),
		cmocka_unit_test(lasts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
