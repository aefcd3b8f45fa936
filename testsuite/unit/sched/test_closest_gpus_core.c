/* test_closest_gpus_core.c - whole cores, whose agent says how close its GPUs are: which are taken */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ctld/core/place/closest_gpus.h"
#include "ctld/core/place/ledger.h"
#include "ctld/core/rows/state.h"
#include "testsuite/unit/lib/devices_world.h"

#define CONF(node)                                                                       \
	"cluster = \"test\"; controller = { host = \"h\"; };\n"                          \
	"gpu_types = ( { name = \"h100\"; mem = \"80G\"; }, { name = \"l40s\"; } );\n"   \
	"nodes = ( { name = \"n0\"; cpus = 8; mem = \"64G\"; " node " } );\n"           \
	"partitions = ( { name = \"batch\"; nodes = \"ALL\"; default = true; } );\n"

/* What the agent of `plx` says of each; "" where it does not know. */
static const char *const eight[] = { "0.0.0.0", "0.0.0.0", "0.2.2.2", "0.2.2.2", "4.4.4.4",
	"4.4.4.4", "4.6.6.6", "4.6.6.6" };

static void register_eight(struct world *w, const char *const near[8])
{
	static char uuids[8][8];
	struct gpu_found gpus[8];
	struct core_event e;

	for (uint32_t i = 0; i < 8; i++) {
		snprintf(uuids[i], sizeof(uuids[i]), "GPU-%u", i);
		gpus[i] = (struct gpu_found){ .type = "h100",
			.uuid = uuids[i],
			.near = near[i],
			.mem_mb = 81559,
			.host = i };
	}
	e = devices_event(w, gpus, 8);
	world_apply(w, &e);
	world_pass(w, 1);
}

static const char *of_two(struct world *w)
{
	return devices_of(w, world_submit(w, "h100:2"));
}

static void placed(void **state)
{
	static const char *const nodes[] = { "gpus = \"h100:8\";", "gpus = \"h100:8\"; share = \"watch\";" };
	static const char *const unknown[8];

	(void)state;
	for (size_t i = 0; i < sizeof(nodes) / sizeof(*nodes); i++) {
		char conf[1000];
		struct world *w;
		uint64_t one;

		snprintf(conf, sizeof(conf), CONF("%s"), nodes[i]);
		w = world_new(conf);
		register_eight(w, eight);
		one = world_submit(w, "h100:1");
		assert_string_equal(devices_of(w, one), "GPU-0");
		assert_string_equal(of_two(w), "GPU-2,GPU-3");
		assert_string_equal(devices_of(w, world_submit(w, "h100:4")), "GPU-4,GPU-5,GPU-6,GPU-7");
		assert_string_equal(devices_of(w, world_submit(w, "h100:1")), "GPU-1");
		world_free(w);
		/* Nobody says anything: as ever. */
		w = world_new(conf);
		register_eight(w, unknown);
		world_submit(w, "h100:1");
		assert_string_equal(of_two(w), "GPU-1,GPU-2");
		world_free(w);
	}
}

/* The host's numbers are not the indices: a GPU that is missing moves those behind it. */
static void renumbered(void **state)
{
	struct world *w = world_new(CONF("gpus = \"h100:4\";"));
	struct gpu_found gpus[] = {
		{ .type = "h100", .uuid = "GPU-a", .near = "0.0.0.0 3*2", .host = 0 },
		{ .type = "h100", .uuid = "GPU-b", .near = "0.0.0.0", .host = 1 },
		{ .type = "h100", .uuid = "GPU-c", .near = "0.0.0.2", .host = 2 },
		{ .type = "h100", .uuid = "GPU-d", .near = "0.0.0.2 0*2", .host = 3 },
	};
	struct core_event e = devices_event(w, gpus, 4);

	(void)state;
	world_apply(w, &e);
	world_pass(w, 1);
	assert_int_equal(closeness_of(ledger_near(w->core->ledger, 0), 0, 3), near_of(2, NEAR_PXB));
	assert_int_equal(closeness_of(ledger_near(w->core->ledger, 0), 2, 3), near_of(0, NEAR_PIX));
	/* GPU-b is gone: c is 1 and d is 2 on the host, and 2 and 3 here. */
	gpus[0].near = "0.0.0.0 2*2";
	gpus[1] = gpus[2];
	gpus[2] = gpus[3];
	gpus[1].near = gpus[2].near = "0.0.0.1";
	gpus[1].host = 1;
	gpus[2].host = 2;
	e = devices_event(w, gpus, 3);
	world_apply(w, &e);
	world_pass(w, 1);
	assert_int_equal(closeness_of(ledger_near(w->core->ledger, 0), 0, 3), near_of(2, NEAR_PXB));
	assert_int_equal(closeness_of(ledger_near(w->core->ledger, 0), 2, 3), near_of(0, NEAR_PIX));
	assert_int_equal(closeness_of(ledger_near(w->core->ledger, 0), 0, 1), 0);
	assert_string_equal(of_two(w), "GPU-a,GPU-d");
	world_free(w);
}

/* Nobody has told anything: as it is written, from the first moment on. */
static void only_written(void **state)
{
	struct world *w = world_new(CONF("gpus = \"l40s:2,h100:4\"; gpu_near = [ \"NV2:2,4\", \"NV2:3,5\" ];"));

	(void)state;
	assert_int_equal(closeness_of(ledger_near(w->core->ledger, 0), 2, 4), near_of(2, NEAR_UNKNOWN));
	devices_found(w, NULL);
	world_submit(w, "h100:1"); /* 2 */
	world_pass(w, 1);
	assert_int_equal(ledger_gpus_used(w->core->ledger, 0), 1 << 2);
	world_submit(w, "h100:2");
	world_pass(w, 1);
	assert_int_equal(ledger_gpus_used(w->core->ledger, 0), 1 << 2 | 1 << 3 | 1 << 5);
	world_free(w);
}

/* Which of the others a GPU reaches by how many NVLinks, all of one switch; what is said of that;
 * and what the first index that is out is said to lack. */
static const struct {
	const char *written, *near[4];
	uint32_t usable;
	const char *note, *reason;
} demands[] = {
	{ "", { "0.0.0.0", "", "", "" }, 4, "", NULL },
	{ "\"NV2:0-3\"", { "", "", "", "" }, 4, "", NULL }, /* the driver does not say */
	{ "\"NV2:0-3\"",
	        { "0.0.0.0 1*2 2*2 3*2", "0.0.0.0 0*2 2*2 3*2", "0.0.0.0 0*2 1*2 3*2", "0.0.0.0 0*2 1*2 2*2" },
	        4, "", NULL },
	{ "\"NV2:0-3\"", /* more than is demanded */
	        { "0.0.0.0 1*3 2*2 3*2", "0.0.0.0 0*3 2*2 3*2", "0.0.0.0 0*2 1*2 3*2", "0.0.0.0 0*2 1*2 2*2" },
	        4, "", NULL },
	{ "\"NV2:0-3\"", /* all of one are worse: that one */
	        { "0.0.0.0 1*2 2*1 3*2", "0.0.0.0 0*2 2*1 3*2", "0.0.0.0 0*1 1*1 3*1", "0.0.0.0 0*2 1*2 2*1" },
	        3, "3 of 4 h100, GPU-2: NV2 to GPU 0 wanted, NV1 found", "NV2 to GPU 0 wanted, NV1 found" },
	{ "\"NV2:0,1\", \"NV2:2,3\"", /* of a bridge: both */
	        { "0.0.0.0", "0.0.0.0", "0.0.0.0 3*2", "0.0.0.0 2*2" }, 2,
	        "2 of 4 h100, GPU-0: NV2 to GPU 1 wanted, PIX found, GPU-1: NV2 to GPU 0 wanted, PIX found",
	        "NV2 to GPU 1 wanted, PIX found" },
	{ "\"PIX:0,1\", \"PIX:2,3\"", { "0.0.0.0", "0.0.0.0", "2.2.2.2", "2.2.2.2" }, 4, "", NULL },
	{ "\"PIX:0,1\", \"PIX:2,3\"", { "0.0.0.0", "1.1.1.1", "2.2.2.2", "2.2.2.2" }, 2,
	        "2 of 4 h100, GPU-0: PIX to GPU 1 wanted, SYS found, GPU-1: PIX to GPU 0 wanted, SYS found",
	        "PIX to GPU 1 wanted, SYS found" },
};

static void demanded(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(demands) / sizeof(*demands); i++) {
		static const char *const uuids[] = { "GPU-0", "GPU-1", "GPU-2", "GPU-3" };
		struct gpu_found gpus[4];
		struct gpu_view view;
		struct core_event e;
		struct world *w;
		char conf[1000];
		uint32_t index = 0;

		snprintf(conf, sizeof(conf), CONF("gpus = \"h100:4\"; gpu_near = [ %s ];"), demands[i].written);
		w = world_new(conf);
		for (uint32_t k = 0; k < 4; k++)
			gpus[k] = (struct gpu_found){ .type = "h100", .uuid = uuids[k], .near = demands[i].near[k], .host = k };
		e = devices_event(w, gpus, 4);
		world_apply(w, &e);
		world_pass(w, 1);
		assert_string_equal(devices_note(w), demands[i].note);
		assert_int_equal(devices_usable(w, "h100"), demands[i].usable);
		for (; demands[i].reason && index < 4; index++) {
			assert_true(core_gpu_view(w->core, 0, index, &view));
			if (strcmp(view.state, "free"))
				break;
		}
		if (demands[i].reason) {
			assert_string_equal(view.state, "trouble");
			assert_string_equal(view.reason, demands[i].reason);
		}
		world_free(w);
	}
}

static uint64_t submit_linked(struct world *w, const char *partition, const char *gpus, enum near_link link)
{
	struct submit_job job = world_job(w, gpus);

	job.gpu_link = link;
	job.partition = partition;
	return world_submit_job(w, &job, 1000);
}

#define LINKED                                                                                  \
	"cluster = \"test\"; controller = { host = \"h\"; };\n"                                 \
	"gpu_types = ( { name = \"h100\"; mem = \"80G\"; } );\n"                                \
	"nodes = ( { name = \"n0\"; cpus = 8; gpus = \"h100:8\"; gpu_near = [ \"NV4:0,1\", \"NV4:2,3\", " \
	"\"NV4:4,5\", \"NV4:6,7\", \"NODE:0-3\", \"NODE:4-7\" ]; } );\n"                        \
	"partitions = ( { name = \"batch\"; nodes = \"ALL\"; default = true; preempt_mode = \"requeue\"; }, " \
	"{ name = \"urgent\"; nodes = \"ALL\"; tier = 5; preempt_mode = \"off\"; } );\n"

/* The node with a job on each GPU: jobs[i] on GPU i. */
static struct world *full(uint64_t jobs[8])
{
	struct world *w = world_new(LINKED);

	devices_found(w, NULL);
	for (uint32_t i = 0; i < 8; i++) {
		uint64_t id = world_submit(w, "h100:1");

		jobs[__builtin_ctzll(world_view(w, id).gpu_set)] = id;
		world_run_starts(w, id);
	}
	return w;
}

static void links_wanted(void **state)
{
	uint64_t jobs[8], pair;
	struct world *w = full(jobs);
	struct job_why *why = calloc(1, sizeof(*why));
	size_t any = 0;

	(void)state;
	/* None ever. */
	assert_int_equal(submit_linked(w, "batch", "h100:3", NEAR_LINK_NVLINK), 0);
	assert_string_equal(w->error.text,
	        "--gpu-link=nvlink: no node of batch has h100:3 and 1 CPU so close to each other");
	pair = submit_linked(w, "batch", "h100:2", NEAR_LINK_NVLINK);
	world_run_ends(w, jobs[0], 0);
	world_run_ends(w, jobs[2], 0);
	world_run_ends(w, jobs[4], 0);
	assert_string_equal(world_state(w, pair), "PENDING");
	assert_true(core_job_why(w->core, pair, w->now, why));
	assert_non_null(strstr(why->blockers[0].text, "1 node has as many free, not so linked"));
	for (size_t i = 0; i < why->n_changes; i++)
		any += !strcmp(why->changes[i].option, "--gpu-link=any");
	assert_int_equal(any, 1);
	world_run_ends(w, jobs[5], 0);
	assert_string_equal(world_state(w, pair), "CONFIGURING");
	assert_int_equal(world_view(w, pair).gpu_set, 1 << 4 | 1 << 5);
	free(why);
	world_free(w);
}

/* Whom to stop for a pair: two who are one. */
static void links_planned(void **state)
{
	uint64_t jobs[8], pair, single;
	struct world *w = full(jobs);
	uint64_t stopped = 0;

	(void)state;
	world_clear(w);
	pair = submit_linked(w, "urgent", "h100:2", NEAR_LINK_NVLINK);
	for (uint32_t i = 0; i < 8; i++) {
		if (strcmp(world_state(w, jobs[i]), "RUNNING"))
			stopped |= 1ull << i;
	}
	assert_int_equal(world_effect_count(w, EFFECT_END_RUN), 2);
	assert_true(stopped == 3 || stopped == 3 << 2 || stopped == 3 << 4 || stopped == 3 << 6);
	single = submit_linked(w, "batch", "h100:1", NEAR_LINK_ANY);
	for (uint32_t i = 0; i < 8; i++) {
		if (stopped >> i & 1)
			world_run_ends(w, jobs[i], 1);
	}
	assert_string_equal(world_state(w, single), "PENDING");
	assert_int_equal(world_view(w, pair).gpu_set, stopped);
	world_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(links_wanted),
		cmocka_unit_test(links_planned),
		cmocka_unit_test(placed),
		cmocka_unit_test(renumbered),
		cmocka_unit_test(only_written),
		cmocka_unit_test(demanded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
