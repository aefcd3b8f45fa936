/* test_sched_turns.c - searches for victims reach every account in its turn
 *
 * There are so many searches a second, and the best classes have them first. Classes that are tried
 * again and again without success must not keep the reclaim of another account waiting for ever.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "testsuite/unit/lib/core_world.h"

#define GANGS   80 /* more than there may be searches a second */
#define LOANS   100
#define SECONDS 60

/* Account "gangs" has all of what it holds by right; "loan" has borrowed; "owner" takes back. */
static const char conf[] =
        "cluster = \"test\"; controller = { host = \"h\"; node_timeout = \"1d\"; };\n"
        "gpu_types = ( { name = \"h100\"; mem = \"80G\"; } );\n"
        "nodes = ( { name = \"n[0-2]\"; cpus = 8; mem = \"64G\"; gpus = \"h100:8\"; } );\n"
        "partitions = ( { name = \"batch\"; nodes = \"ALL\"; default = true; plan_depth = 1;\n"
        "  preempt_mode = \"requeue\"; min_run = \"0s\"; grace = \"1s\"; } );\n"
        "accounts = (\n"
        "  { name = \"gangs\"; members = [ \"*\" ]; quota = { guaranteed = \"h100:16\"; }; },\n"
        "  { name = \"owner\"; members = [ \"*\" ]; quota = { guaranteed = \"h100:8\"; }; },\n"
        "  { name = \"loan\"; members = [ \"*\" ]; } );\n";

static uint64_t submit(struct world *w, const char *account, const char *gpus, uint32_t minutes,
        int32_t nice)
{
	struct submit_job job = world_job(w, gpus);
	uint64_t id;

	job.account = account;
	job.time_limit_s = minutes * 60;
	job.nice = nice;
	id = world_submit_job(w, &job, 1000);
	assert_true(id > 0);
	return id;
}

/* Two GPUs on each of three nodes, and the first node has only one for them. Each has a length of
 * its own: none of them is spared a try because another was refused. */
static void submit_gangs(struct world *w)
{
	double limit = 3600;
	unsigned i;

	for (i = 0; i < GANGS; i++) {
		struct submit_job job = world_job(w, "h100:2");

		job.account = "gangs";
		job.nodes_min = job.nodes_max = 3;
		job.gpus_per_node = true;
		job.time_limit_s = (uint32_t)(limit *= 1.13);
		assert_true(world_submit_job(w, &job, 1000) > 0);
	}
}

/* A borrowed pair of GPUs becomes free, which is enough for a part of each gang. */
static void end_first(struct world *w, const uint64_t loans[LOANS])
{
	unsigned i;

	for (i = 0; i < LOANS; i++) {
		if (strcmp(world_state(w, loans[i]), "CONFIGURING") != 0)
			continue;
		world_run_starts(w, loans[i]);
		world_run_ends(w, loans[i], 0);
		return;
	}
}

static void others_have_theirs_too(void **state)
{
	struct world *w = world_new(conf);
	uint64_t loans[LOANS];
	unsigned i;

	(void)state;
	w->unchecked = true;
	world_register_all(w);
	submit(w, "gangs", "h100:7", 6000, 0);
	for (i = 0; i < LOANS; i++)
		loans[i] = submit(w, "loan", "h100:2", 1000 + i, 2000000);
	submit_gangs(w);
	submit(w, "owner", "h100:8", 60, 1000000);
	world_clear(w);
	for (i = 0; i < SECONDS && !world_effect(w, EFFECT_END_RUN); i++) {
		end_first(w, loans);
		world_pass(w, 1);
	}
	assert_true(i < SECONDS);
	world_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(others_have_theirs_too),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
