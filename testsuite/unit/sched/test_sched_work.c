/* test_sched_work.c - how much one step of the scheduler looks at, counted
 *
 * The core has no clock: what bounds a step is that it looks at so many classes, entries, nodes and
 * no more, however many there are. The world calls again until its slice is over.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "ctld/core/rows/state.h"
#include "ctld/core/sched/sched.h"
#include "testsuite/unit/lib/core_world.h"

#define MOST 300 /* of anything, in one step */

static void set_partition(struct world *w, enum conf_partition_state state)
{
	struct core_event e = { .kind = EV_PARTITION_CONTROL, .caller = world_admin() };

	e.partition.state = state;
	e.partition.reason = "test";
	world_apply(w, &e);
}

static uint64_t most_work(struct world *w)
{
	struct sched_stats stats;

	sched_stats(w->core->sched, &stats);
	return stats.work_most;
}

/* Two accounts below one, each guaranteed half: what any of them holds changes the keys of all. */
#define ACCOUNTS                                                                                \
	"accounts = ( { name = \"all\"; quota = { guaranteed = \"h100:%u\"; }; },\n"            \
	"  { name = \"a\"; parent = \"all\"; members = [ \"*\" ];\n"                            \
	"    quota = { guaranteed = \"h100:%u\"; }; },\n"                                       \
	"  { name = \"b\"; parent = \"all\"; members = [ \"*\" ];\n"                            \
	"    quota = { guaranteed = \"h100:%u\"; }; } );\n"

static struct world *with_quotas(unsigned nodes)
{
	unsigned gpus = nodes * 8;
	struct world *w;
	char text[2000];

	snprintf(text, sizeof(text),
	        "cluster = \"test\"; controller = { host = \"h\"; node_timeout = \"1d\"; };\n"
	        "gpu_types = ( { name = \"h100\"; mem = \"80G\"; } );\n"
	        "nodes = ( { name = \"n[0-%u]\"; cpus = 8; mem = \"64G\"; gpus = \"h100:8\"; } "
	        ");\n"
	        "partitions = ( { name = \"batch\"; nodes = \"ALL\"; default = true; } );\n" ACCOUNTS,
	        nodes - 1, gpus, gpus / 2, gpus / 2);
	w = world_new(text);
	w->unchecked = true;
	world_register_all(w);
	return w;
}

/* So many jobs, each a class of its own: they differ in their memory or in how much they are liked.
 */
static void submit_classes(struct world *w, unsigned n, bool own_asks)
{
	unsigned i;

	for (i = 0; i < n; i++) {
		struct submit_job job = world_job(w, "h100:1");

		job.account = i % 2 ? "a" : "b";
		if (own_asks)
			job.mem_mb = 1 + i;
		else
			job.nice = (int32_t)i;
		assert_true(world_submit_job(w, &job, 1000) > 0);
	}
}

#define CLASSES 2000
#define NODES   80 /* room for less than half of them */

/* They wait because their partition is down, and it comes up: each start changes what accounts
 * hold, and looks at a few. */
static void a_partition_comes_up(struct world *w, bool own_asks)
{
	struct core_stats stats;

	set_partition(w, CONF_PARTITION_DOWN);
	submit_classes(w, CLASSES, own_asks);
	set_partition(w, CONF_PARTITION_UP);
	world_schedule(w);
	core_stats(w->core, &stats);
	assert_int_equal(stats.started, NODES * 8);
	assert_true(most_work(w) <= MOST);
	world_pass(w, 2); /* an ordering of all */
	assert_true(most_work(w) <= MOST);
	world_free(w);
}

static void starts_under_quotas(void **state)
{
	(void)state;
	a_partition_comes_up(with_quotas(NODES), false);
}

static void starts_of_many_requests(void **state)
{
	(void)state;
	a_partition_comes_up(with_quotas(NODES), true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(starts_under_quotas),
		cmocka_unit_test(starts_of_many_requests),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
