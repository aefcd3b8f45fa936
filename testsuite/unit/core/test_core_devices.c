/* test_core_devices.c - which GPU has which index: bound, kept, missing, replaced */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ctld/core/explain/blockers.h"
#include "ctld/core/nodes/devices_list.h"
#include "testsuite/unit/lib/devices_world.h"

static const struct {
	const char *demanded, *found, *note;
	uint32_t h100, l40s;
} cases[] = {
	{ "h100:2", NULL, "", 2, 0 },
	{ "h100:2", "h100/GPU-a;h100/GPU-b", "", 2, 0 },
	{ "h100:2", "h100/GPU-a", "1 of 2 h100", 1, 0 },
	{ "h100:2", "", "0 of 2 h100", 0, 0 },
	{ "h100:2", "l40s/GPU-a;l40s/GPU-b", "0 of 2 h100, 2 l40s not configured (GPU-a GPU-b)", 0, 0 },
	{ "h100:2", "h100/GPU-a;h100/GPU-b;h100/GPU-c", "1 h100 not configured (GPU-c)", 2, 0 },
	{ "h100:2", "h100/GPU-a;h100/GPU-b/nvmlX: GPU is lost",
	        "1 of 2 h100, GPU-b: nvmlX: GPU is lost", 1, 0 },
	{ "h100:1,l40s:1", "l40s/GPU-b;h100/GPU-a", "", 1, 1 },
	{ "h100:1,l40s:1", "l40s/GPU-b;//nvmlX crashes", "0 of 1 h100, a GPU: nvmlX crashes", 0,
	        1 },
};

static void demanded(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct world *w = world_simple(1, cases[i].demanded);

		devices_found(w, cases[i].found);
		assert_string_equal(devices_note(w), cases[i].note);
		assert_string_equal(world_node_view(w, 0).reason, cases[i].note);
		assert_int_equal(devices_usable(w, "h100"), cases[i].h100);
		assert_int_equal(devices_usable(w, "l40s"), cases[i].l40s);
		world_free(w);
	}
}

/* A GPU that vanishes takes nobody's index with it, also over a restart; it comes back. */
static void missing(void **state)
{
	struct world *w = world_simple(1, "h100:4");
	uint64_t two, wide;

	(void)state;
	devices_found(w, "h100/GPU-a;h100/GPU-b;h100/GPU-c;h100/GPU-d");
	assert_string_equal(devices_note(w), "");
	world_restart(w);
	devices_found(w, "h100/GPU-a;h100/GPU-c;h100/GPU-d");
	assert_string_equal(devices_note(w), "3 of 4 h100, GPU-b missing");
	assert_int_equal(devices_usable(w, "h100"), 3);
	two = world_submit(w, "h100:2");
	assert_string_equal(devices_of(w, two), "GPU-a,GPU-c");
	wide = world_submit(w, "h100:4"); /* it could: the GPU may come back */
	assert_string_equal(world_state(w, wide), "PENDING");
	world_run_starts(w, two);
	world_run_ends(w, two, 0);
	assert_string_equal(world_state(w, wide), "PENDING");
	devices_found(w, "h100/GPU-d;h100/GPU-b;h100/GPU-a;h100/GPU-c");
	assert_string_equal(devices_note(w), "");
	assert_string_equal(devices_of(w, wide), "GPU-a,GPU-b,GPU-c,GPU-d");
	assert_string_equal(world_node_view(w, 0).state, "allocated");
	world_free(w);
}

/* Another card of the type gets the index of the one that is missing; not while a run is there. */
static void replaced(void **state)
{
	struct world *w = world_simple(1, "h100:2");
	uint64_t job, next;
	struct run_report alive;

	(void)state;
	devices_found(w, "h100/GPU-a;h100/GPU-b");
	job = world_submit(w, "h100:1");
	assert_string_equal(devices_of(w, job), "GPU-a");
	world_run_starts(w, job);
	alive = world_alive(w, job);
	devices_found_with(w, "h100/GPU-b;h100/GPU-new", &alive, 1);
	assert_string_equal(devices_note(w), "1 of 2 h100, GPU-a missing, 1 h100 not configured (GPU-new)");
	assert_string_equal(devices_of(w, job), "GPU-a");
	next = world_submit(w, "h100:1");
	assert_string_equal(devices_of(w, next), "GPU-b");
	world_run_ends(w, job, 0);
	devices_found(w, "h100/GPU-b;h100/GPU-new");
	assert_string_equal(devices_note(w), "");
	world_free(w);
}

#define MIG_CONF(gpus)                                                                    \
	"cluster = \"test\"; controller = { host = \"h\"; };\n"                           \
	"gpu_types = ( { name = \"h100\"; }, { name = \"l40s\"; } );\n"                   \
	"nodes = ( { name = \"n0\"; cpus = 8; mem = \"64G\"; gpus = \"" gpus "\"; } );\n" \
	"partitions = ( { name = \"batch\"; nodes = \"ALL\"; default = true; } );\n"

/* (MIG profiles under the names that the world knows.) Another layout under a run: its instance
 * stays its own, whatever its index is called now. */
static void layout_changed(void **state)
{
	struct world *w = world_new(MIG_CONF("h100:4"));
	uint64_t job, wide;
	struct run_report alive;

	(void)state;
	devices_found(w, "h100/MIG-1;h100/MIG-2;h100/MIG-3;h100/MIG-4");
	job = world_submit(w, "h100:1");
	assert_string_equal(devices_of(w, job), "MIG-1");
	world_run_starts(w, job);
	alive = world_alive(w, job);
	devices_found_with(w, "h100/MIG-1;l40s/MIG-9", &alive, 1);
	assert_string_equal(devices_note(w),
	        "1 of 4 h100, MIG-2 missing, MIG-3 missing, MIG-4 missing, "
	        "1 l40s not configured (MIG-9)");
	assert_int_equal(devices_usable(w, "h100"), 0);
	world_reconfigure(w, MIG_CONF("l40s:1,h100:1"));
	/* The run sits on index 0, which is called l40s now. */
	assert_int_equal(devices_usable(w, "l40s"), 0);
	assert_int_equal(devices_usable(w, "h100"), 0);
	assert_string_equal(devices_of(w, job), "MIG-1");
	wide = world_submit(w, "l40s:1");
	assert_string_equal(world_state(w, wide), "PENDING");
	world_run_ends(w, job, 0);
	devices_found(w, "h100/MIG-1;l40s/MIG-9");
	assert_string_equal(devices_note(w), "");
	assert_string_equal(devices_of(w, wide), "MIG-9");
	world_free(w);
}

/* What had GPUs and finds nothing to ask has lost them; without them in the configuration it never
 * had any. */
static void driver_gone(void **state)
{
	struct world *w = world_new(MIG_CONF("h100:2"));

	(void)state;
	devices_found(w, "h100/MIG-1");
	devices_found(w, NULL);
	assert_string_equal(devices_note(w), "0 of 2 h100, MIG-1 missing");
	world_reconfigure(w, MIG_CONF(""));
	assert_string_equal(devices_note(w), "");
	world_reconfigure(w, MIG_CONF("h100:2"));
	assert_string_equal(devices_note(w), "");
	assert_int_equal(devices_usable(w, "h100"), 2);
	world_free(w);
}

/* --- taken as found -------------------------------------------------------------------------- */

#define OPEN_CONF(types, more)                                           \
	"cluster = \"test\"; controller = { host = \"h\"; };\n" types    \
	"nodes = ( { name = \"n0\"; " more " }, { name = \"n1\"; } );\n" \
	"partitions = ( { name = \"batch\"; nodes = \"ALL\"; default = true; } );\n"

/* What nobody has written is what is there, also after a restart and before the agent is heard. */
static void as_found(void **state)
{
	struct world *w = world_new(OPEN_CONF("", ""));
	uint64_t job;

	(void)state;
	devices_found(w, "h100/GPU-a;h100/GPU-b;l40s/GPU-c");
	world_pass(w, 0.1);
	assert_string_equal(devices_note(w), "");
	assert_int_equal(world_node_view(w, 0).cpus, 8);
	assert_int_equal(devices_usable(w, "h100"), 2);
	assert_int_equal(devices_usable(w, "l40s"), 1);
	world_restart(w);
	assert_int_equal(devices_total(w, "h100"), 2);
	job = world_submit(w, "l40s:1");
	assert_string_equal(world_state(w, job), "PENDING");
	devices_found(w, "h100/GPU-a;h100/GPU-b;l40s/GPU-c");
	assert_string_equal(devices_of(w, job), "GPU-c");
	/* More of them, and another kind. */
	devices_found(w, "h100/GPU-a;x9/GPU-d;h100/GPU-b;l40s/GPU-c");
	assert_int_equal(devices_usable(w, "h100"), 0); /* until the core knows of it */
	world_pass(w, 1.1);
	assert_int_equal(devices_usable(w, "h100"), 2);
	assert_int_equal(devices_usable(w, "x9"), 1);
	assert_string_equal(devices_of(w, job), "GPU-c");
	world_free(w);
}

/* Who is missing is told of until the node was rebooted; then it is as found. */
static void found_and_lost(void **state)
{
	struct world *w = world_new(OPEN_CONF("", ""));
	uint64_t job;
	struct run_report alive;

	(void)state;
	devices_found(w, "h100/GPU-a;h100/GPU-b;h100/GPU-c");
	world_pass(w, 0.1);
	devices_found(w, "h100/GPU-a;h100/GPU-c/off the bus");
	world_pass(w, 1.1);
	assert_string_equal(devices_note(w), "1 of 3 h100, GPU-b missing, GPU-c: off the bus");
	assert_int_equal(devices_usable(w, "h100"), 1);
	devices_found(w, NULL);
	assert_string_equal(
	        devices_note(w), "0 of 3 h100, GPU-a missing, GPU-b missing, GPU-c missing");
	devices_found(w, "h100/GPU-a;h100/GPU-b;h100/GPU-c");
	assert_string_equal(devices_note(w), "");
	job = world_submit(w, "h100:3");
	world_run_starts(w, job);
	world_run_ends(w, job, 0);
	job = world_submit(w, "h100:1");
	assert_string_equal(devices_of(w, job), "GPU-a");
	world_run_starts(w, job);
	alive = world_alive(w, job);
	devices_boot = "boot2";
	devices_found_with(
	        w, "h100/GPU-c;h100/GPU-b", &alive, 1); /* its incarnation is the old one */
	world_pass(w, 1.1);
	assert_string_equal(devices_note(w), "2 of 3 h100, GPU-a missing");
	world_run_ends(w, job, 0);
	devices_boot = "boot3";
	devices_found(w, "h100/GPU-c;h100/GPU-b");
	world_pass(w, 1.1);
	assert_string_equal(devices_note(w), "");
	assert_int_equal(devices_total(w, "h100"), 2);
	devices_boot = "boot";
	world_free(w);
}

/* Another MIG layout: what is gone is gone, unless a run is on it. */
static void found_layout(void **state)
{
	struct world *w = world_new(OPEN_CONF("", ""));
	uint64_t job, next;
	struct run_report alive;

	(void)state;
	devices_found(w, "1g/MIG-1;1g/MIG-2;1g/MIG-3");
	world_pass(w, 0.1);
	job = world_submit(w, "1g:1");
	assert_string_equal(devices_of(w, job), "MIG-1");
	world_run_starts(w, job);
	alive = world_alive(w, job);
	devices_found_with(w, "3g/MIG-8;1g/MIG-9", &alive, 1);
	world_pass(w, 1.1);
	assert_string_equal(devices_note(w), "1 of 2 1g, MIG-1 missing");
	assert_string_equal(devices_of(w, job), "MIG-1");
	next = world_submit(w, "1g:1");
	assert_string_equal(devices_of(w, next), "MIG-9");
	assert_int_equal(devices_usable(w, "3g"), 1);
	world_free(w);
}

/* Written and not, one after the other, under a run. */
static void found_or_written(void **state)
{
	struct world *w = world_new(
	        OPEN_CONF("gpu_types = ( { name = \"h100\"; } );\n", "gpus = \"h100:2\"; "));
	uint64_t job;

	(void)state;
	devices_found(w, "h100/GPU-a;h100/GPU-b;l40s/GPU-c");
	assert_string_equal(devices_note(w), "1 l40s not configured (GPU-c)");
	job = world_submit(w, "h100:1");
	assert_string_equal(devices_of(w, job), "GPU-a");
	world_run_starts(w, job);
	world_reconfigure(w, OPEN_CONF("gpu_types = ( { name = \"h100\"; } );\n", ""));
	world_pass(w, 1.1);
	assert_string_equal(devices_note(w), "");
	assert_int_equal(devices_total(w, "l40s"), 1);
	assert_int_equal(devices_usable(w, "h100"), 1);
	assert_string_equal(devices_of(w, job), "GPU-a");
	world_reconfigure(w, OPEN_CONF("", "gpus = \"none\"; "));
	world_pass(w, 1.1);
	assert_int_equal(devices_total(w, "h100"), 0);
	assert_string_equal(devices_note(w), "2 h100 not configured (GPU-a GPU-b), 1 l40s not configured (GPU-c)");
	world_run_ends(w, job, 0);
	world_free(w);
}

#define NAMED                                                            \
	"gpu_types = ( { name = \"big\"; match = \"NVIDIA H100*\"; },\n" \
	"{ name = \"slow\"; match = \"*L40S\"; },\n"                     \
	"{ name = \"1g\"; mig_of = \"big\"; match = \"*1g.10gb\"; },\n"  \
	"{ name = \"3g.40gb\"; mig_of = \"big\"; },\n"                   \
	"{ name = \"2g.20gb\"; mig_of = \"slow\"; match = \"*\"; } );\n"

/* Types by their makers' names. */
static void named(void **state)
{
	static const struct gpu_found gpus[] = {
		{ .type = "h100", .uuid = "GPU-a", .name = "NVIDIA H100 80GB HBM3" },
		{ .type = "l40s", .uuid = "GPU-b", .name = "NVIDIA L40S" },
		{ .type = "1g.10gb",
		        .uuid = "MIG-1",
		        .name = "NVIDIA H100 80GB HBM3 MIG 1g.10gb",
		        .of = "h100",
		        .mig = true },
		{ .type = "3g.40gb",
		        .uuid = "MIG-2",
		        .name = "NVIDIA H100 80GB HBM3",
		        .of = "h100",
		        .mig = true },
		{ .type = "1g.5gb",
		        .uuid = "MIG-3",
		        .name = "NVIDIA A100 MIG 1g.5gb",
		        .of = "a100",
		        .mig = true },
		{ .type = "odd:", .uuid = "GPU-c", .name = "" },
	};
	struct world *w = world_new(OPEN_CONF(NAMED, ""));
	struct core_event e = devices_event(w, gpus, sizeof(gpus) / sizeof(*gpus));

	(void)state;
	world_apply(w, &e);
	world_pass(w, 0.1);
	assert_int_equal(devices_usable(w, "big"), 1);
	assert_int_equal(devices_usable(w, "slow"), 1);
	assert_int_equal(devices_usable(w, "1g"), 1);
	assert_int_equal(devices_usable(w, "3g.40gb"), 1);
	assert_int_equal(devices_usable(w, "1g.5gb"), 1);
	assert_string_equal(devices_note(w), "1 odd: not configured (GPU-c)");
	world_free(w);
}

/* --- one by one ------------------------------------------------------------------------------ */

static enum error_code control(struct world *w, enum node_verb verb, const char *gpu)
{
	static const uint32_t node0;
	struct core_event e = { .kind = EV_NODE_CONTROL, .caller = world_admin() };

	e.caller.reply = 1;
	e.node.verb = verb;
	e.node.nodes = &node0;
	e.node.n = 1;
	e.node.gpu = gpu;
	e.node.reason = "ECC";
	world_apply(w, &e);
	world_schedule(w);
	return w->error.code;
}

static const char *state_of(struct world *w, uint32_t index)
{
	static struct gpu_view v;

	return core_gpu_view(w->core, 0, index, &v) ? v.state : NULL;
}

/* One card goes, the others go on; what runs there too; it comes back. */
static void drained(void **state)
{
	struct world *w = world_simple(1, "h100:3");
	struct gpu_view v;
	uint64_t job, wide;

	(void)state;
	devices_found(w, "h100/GPU-aa;h100/GPU-ab;h100/GPU-b");
	job = world_submit(w, "h100:1");
	world_run_starts(w, job);
	assert_int_equal(control(w, NODE_DRAIN, "GPU-a"), ERR_NO_NODE);
	assert_string_equal(w->error.text, "node n0: several GPUs are 'GPU-a'");
	assert_int_equal(control(w, NODE_DRAIN, "3"), ERR_NO_NODE);
	assert_string_equal(w->error.text, "node n0: no GPU is '3'");
	assert_int_equal(control(w, NODE_DOWN, "0"), ERR_USAGE);
	assert_int_equal(control(w, NODE_DRAIN, "GPU-b"), ERR_NONE);
	assert_int_equal(control(w, NODE_DRAIN, "0"), ERR_NONE);
	assert_int_equal(devices_usable(w, "h100"), 1);
	assert_string_equal(state_of(w, 0), "draining");
	assert_string_equal(state_of(w, 1), "free");
	assert_string_equal(state_of(w, 2), "drained");
	assert_null(state_of(w, 3));
	assert_string_equal(
	        devices_note(w), "1 of 3 h100, GPU-aa drained: ECC, GPU-b drained: ECC");
	assert_string_equal(world_state(w, job), "RUNNING");
	wide = world_submit(w, "h100:2");
	world_run_ends(w, job, 0);
	assert_string_equal(state_of(w, 0), "drained");
	assert_string_equal(world_state(w, wide), "PENDING");
	world_restart(w);
	assert_string_equal(state_of(w, 2), "drained");
	devices_found(w, "h100/GPU-b;h100/GPU-aa;h100/GPU-ab");
	assert_int_equal(devices_usable(w, "h100"), 1);
	assert_true(core_gpu_view(w->core, 0, 2, &v));
	assert_string_equal(v.uuid, "GPU-b");
	assert_string_equal(v.reason, "ECC");
	assert_false(v.by_nobody);
	assert_int_equal(control(w, NODE_RESUME, "GPU-b"), ERR_NONE);
	assert_string_equal(devices_of(w, wide), "GPU-ab,GPU-b");
	assert_int_equal(control(w, NODE_RESUME, "0"), ERR_NONE);
	assert_string_equal(devices_note(w), "");
	world_free(w);
}

/* A GPU that is nothing but an index. */
static void drained_by_index(void **state)
{
	struct world *w = world_simple(1, "h100:2");

	(void)state;
	devices_found(w, NULL);
	assert_int_equal(control(w, NODE_DRAIN, "1"), ERR_NONE);
	assert_int_equal(devices_usable(w, "h100"), 1);
	assert_string_equal(devices_note(w), "1 of 2 h100, GPU 1 drained: ECC");
	world_restart(w);
	assert_int_equal(control(w, NODE_DRAIN, "0"), ERR_NONE); /* nobody is heard */
	devices_found(w, NULL);
	assert_int_equal(devices_usable(w, "h100"), 0);
	assert_int_equal(control(w, NODE_RESUME, "1"), ERR_NONE);
	assert_int_equal(devices_usable(w, "h100"), 1);
	world_free(w);
}

/* Of cards that several jobs share no more memory is given than there is: by the configuration and
 * by the driver. */
static const struct {
	uint64_t told_mb, asked_mb;
	unsigned run, wait; /* of so many jobs that ask for it; 0 and 0: it is refused */
} cards[] = {
	{ 0, 20480, 4, 1 },
	{ 81920, 20480, 4, 1 },
	{ 98304, 20480, 4, 1 },
	{ 81559, 20480, 3, 1 },
	{ 40960, 20480, 2, 1 },
	{ 40960, 40960, 1, 1 },
	{ 40960, 41984, 0, 0 },
};

static void shared_memory(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(cards) / sizeof(*cards); i++) {
		struct world *w = world_new(
		        "cluster = \"t\"; controller = { host = \"h\"; };"
		        "gpu_types = ( { name = \"h100\"; mem = \"80G\"; } );"
		        "nodes = ( { name = \"n0\"; cpus = 8; mem = \"64G\"; gpus = \"h100:1\";"
		        "            share = \"watch\"; } );"
		        "partitions = ( { name = \"batch\"; nodes = \"ALL\"; default = true; } );");
		struct gpu_found gpu = {
			.type = "h100", .uuid = "GPU-a", .mem_mb = cards[i].told_mb
		};
		struct core_event e = devices_event(w, &gpu, 1);
		struct submit_job job;
		unsigned n, running = 0, waiting = 0;

		world_apply(w, &e);
		if (!cards[i].run) {
			job = world_job(w, "h100:1");
			job.gpu_mem_mb = cards[i].asked_mb;
			assert_int_equal(world_submit_job(w, &job, 1000), 0);
			assert_string_equal(w->error.text, "--gpu-mem=41G: the most that can be "
			                                   "had of one GPU in batch is 40G");
			world_free(w);
			continue;
		}
		for (n = 0; n < cards[i].run + cards[i].wait; n++) {
			uint64_t id;

			job = world_job(w, "h100:1");
			job.gpu_mem_mb = cards[i].asked_mb;
			id = world_submit_job(w, &job, 1000);
			running += !strcmp(world_state(w, id), "CONFIGURING");
			waiting += !strcmp(world_state(w, id), "PENDING");
		}
		assert_int_equal(running, cards[i].run);
		assert_int_equal(waiting, cards[i].wait);
		world_free(w);
	}
}

/* Of a type without a nominal memory it is the driver's, from when it tells it; limits count parts
 * of that. */
static void memory_by_the_driver(void **state)
{
	struct world *w =
	        world_new("cluster = \"t\"; controller = { host = \"h\"; };"
	                  "gpu_types = ( { name = \"h100\"; mem_reserve = \"1G\"; } );"
	                  "nodes = ( { name = \"n0\"; cpus = 8; mem = \"64G\"; gpus = \"h100:2\";"
	                  "            share = \"watch\"; } );"
	                  "partitions = ( { name = \"batch\"; nodes = \"ALL\"; default = true;"
	                  "                 limits = { gpus = \"h100:1\"; }; } );");
	struct gpu_found gpus[] = { { .type = "h100", .uuid = "GPU-a", .mem_mb = 41984 },
		{ .type = "h100", .uuid = "GPU-b", .mem_mb = 41984 } };
	struct submit_job job;
	struct core_event e;
	uint64_t id[3], large;

	(void)state;
	/* No driver has been heard: who knows what it will say. */
	for (size_t i = 0; i < 3; i++) {
		job = world_job(w, "h100:1");
		job.gpu_mem_mb = 20480;
		id[i] = world_submit_job(w, &job, 1000);
		assert_string_equal(world_state(w, id[i]), "PENDING");
	}
	job = world_job(w, "h100:1");
	job.gpu_mem_mb = 41984;
	large = world_submit_job(w, &job, 1000);
	e = devices_event(w, gpus, 2);
	world_apply(w, &e);
	world_schedule(w);
	assert_string_equal(world_state(w, id[0]), "CONFIGURING");
	assert_string_equal(world_state(w, id[1]), "CONFIGURING");
	assert_string_equal(world_state(w, id[2]), "PENDING");
	assert_string_equal(world_reason(w, id[2]), "PartitionGrpGRES");
	assert_string_equal(world_state(w, large), "PENDING");
	job = world_job(w, "h100:1");
	job.gpu_mem_mb = 41984;
	assert_int_equal(world_submit_job(w, &job, 1000), 0);
	assert_string_equal(w->error.text,
	        "--gpu-mem=41G: the most that can be had of one GPU in batch is 40G");
	world_free(w);
}

/* What a part counts as follows from what the driver says, which is less than a type's name
 * promises: whoever a limit and the lack of room hold, and nobody is before, waits for these two
 * things. */
static void held_by_no_order(void **state)
{
	struct world *w = world_new(
	        "cluster = \"t\"; controller = { host = \"h\"; };"
	        "gpu_types = ( { name = \"h100\"; mem = \"80G\"; mem_reserve = \"1G\"; } );"
	        "nodes = ( { name = \"n0\"; cpus = 8; mem = \"64G\"; gpus = \"h100:2\";"
	        "            share = \"watch\"; } );"
	        "partitions = ( { name = \"batch\"; nodes = \"ALL\"; default = true;"
	        "                 per_user = { gpus = \"h100:1\"; }; } );");
	struct gpu_found gpus[] = { { .type = "h100", .uuid = "GPU-a", .mem_mb = 81559 },
		{ .type = "h100", .uuid = "GPU-b", .mem_mb = 81559 } };
	static const struct {
		uint32_t uid;
		uint64_t mem_mb;
	} jobs[] = { { 1001, 40960 }, { 1002, 40960 }, { 1000, 30720 }, { 1000, 61440 } };
	struct core_event e = devices_event(w, gpus, 2);
	struct job_why why;
	uint64_t id = 0;

	(void)state;
	world_apply(w, &e);
	for (size_t i = 0; i < sizeof(jobs) / sizeof(*jobs); i++) {
		struct submit_job job = world_job(w, "");

		job.gpu_mem_mb = jobs[i].mem_mb;
		job.time_limit_s = 600;
		id = world_submit_job(w, &job, jobs[i].uid);
		if (i < 3) {
			assert_string_equal(world_state(w, id), "CONFIGURING");
			world_run_starts(w, id);
		}
	}
	world_schedule(w);
	assert_true(core_job_why(w->core, id, w->now, &why));
	assert_int_equal(why.n_blockers, 2);
	assert_string_equal(why.blockers[0].reason, "PartitionMaxGRESPerUser");
	assert_string_equal(why.blockers[1].reason, "Resources");
	world_free(w);
}

/* Neither the configuration nor the driver says how much there is: parts of compute only. */
static void memory_of_nobody(void **state)
{
	struct world *w = world_new(
	        "cluster = \"t\"; controller = { host = \"h\"; };"
	        "gpu_types = ( { name = \"h100\"; }, { name = \"l40s\"; } );"
	        "nodes = ( { name = \"n0\"; cpus = 8; mem = \"64G\"; gpus = "
	        "\"h100:1,l40s:1\"; share = \"watch\"; } );"
	        "partitions = ( { name = \"batch\"; nodes = \"ALL\"; default = true; } );");
	struct gpu_found gpus[] = { { .type = "h100", .uuid = "GPU-a" },
		{ .type = "l40s", .uuid = "GPU-b", .mem_mb = 40960 } };
	struct submit_job job = world_job(w, "h100:1");
	struct core_event e = devices_event(w, gpus, 2);

	(void)state;
	world_apply(w, &e);
	job.gpu_mem_mb = 20480;
	assert_int_equal(world_submit_job(w, &job, 1000), 0);
	assert_string_equal(w->error.text,
	        "--gpu-mem=20G: the memory of the GPUs of that type in batch is not known; "
	        "--gpu-share gives parts of them");
	job = world_job(w, "l40s:1");
	job.gpu_mem_mb = 40961;
	assert_int_equal(world_submit_job(w, &job, 1000), 0);
	assert_string_equal(w->error.text,
	        "--gpu-mem=40961M: the most that can be had of one GPU in batch is 40960M");
	job = world_job(w, "h100:1");
	job.gpu_share_milli = 500;
	assert_int_not_equal(world_submit_job(w, &job, 1000), 0);
	world_free(w);
}

static void lists(void **state)
{
	char uuid[DEVICE_UUID_MAX], text[300];

	(void)state;
	device_uuid("a,,c", 0, uuid);
	assert_string_equal(uuid, "a");
	device_uuid("a,,c", 1, uuid);
	assert_string_equal(uuid, "");
	device_uuid("a,,c", 2, uuid);
	assert_string_equal(uuid, "c");
	device_uuid("a,,c", 3, uuid);
	assert_string_equal(uuid, "");
	device_uuid("", 0, uuid);
	assert_string_equal(uuid, "");
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	device_uuid(text, 0, uuid); /* of a damaged row */
	assert_string_equal(uuid, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(demanded),
		cmocka_unit_test(missing),
		cmocka_unit_test(replaced),
		cmocka_unit_test(layout_changed),
		cmocka_unit_test(driver_gone),
		cmocka_unit_test(as_found),
		cmocka_unit_test(found_and_lost),
		cmocka_unit_test(found_layout),
		cmocka_unit_test(found_or_written),
		cmocka_unit_test(named),
		cmocka_unit_test(drained),
		cmocka_unit_test(drained_by_index),
		cmocka_unit_test(shared_memory),
		cmocka_unit_test(memory_by_the_driver),
		cmocka_unit_test(held_by_no_order),
		cmocka_unit_test(memory_of_nobody),
		cmocka_unit_test(lists),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
