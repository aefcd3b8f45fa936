/* test_core_mig_layout.c - MIG layouts that gpusched.conf demands: as cut, cut otherwise, under
 * runs */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "testsuite/unit/lib/devices_world.h"

#define CUT(more)                                                                                 \
	"cluster = \"test\"; controller = { host = \"h\"; };\n"                                   \
	"gpu_types = ( { name = \"h100\"; }, { name = \"1g\"; mig_of = \"h100\"; },\n"            \
	"{ name = \"3g\"; mig_of = \"h100\"; } );\n"                                              \
	"nodes = ( { name = \"n0\"; cpus = 8; mem = \"64G\"; " more " }, { name = \"n1\"; } );\n" \
	"partitions = ( { name = \"batch\"; nodes = \"ALL\"; default = true; } );\n"
#define MIG(groups)           "mig = ( " groups " ); "
#define GPU_CUT(gpus, layout) "{ gpus = \"" gpus "\"; layout = \"" layout "\"; }"
#define TWO_AND_TWO           "0:1g/MIG-a;0:1g/MIG-b;1:1g/MIG-c;1:1g/MIG-d"

/* What `mig` and `gpus` say together, and what is found; how it differs; usable 1g, 3g, h100. */
static const struct {
	const char *conf, *found, *note;
	uint32_t one, three, whole;
} cuts[] = {
	{ CUT(MIG(GPU_CUT("0-1", "1g:2"))), TWO_AND_TWO, "", 4, 0, 0 },
	{ CUT(MIG(GPU_CUT("0-1", "1g:2"))), "0:3g/MIG-x;1:1g/MIG-c;1:1g/MIG-d",
	        "2 of 4 1g, GPU 0: 1g:2 wanted, 3g:1 found", 2, 0, 0 },
	/* One less is another layout too, and so is one more. */
	{ CUT(MIG(GPU_CUT("0-1", "1g:2"))), "0:1g/MIG-a;1:1g/MIG-c;1:1g/MIG-d",
	        "2 of 4 1g, GPU 0: 1g:2 wanted, 1g:1 found", 2, 0, 0 },
	{ CUT(MIG(GPU_CUT("0-1", "1g:2"))), TWO_AND_TWO ";1:3g/MIG-x",
	        "2 of 4 1g, GPU 1: 1g:2 wanted, 1g:2,3g:1 found", 2, 0, 0 },
	{ CUT(MIG(GPU_CUT("0", "1g:2") ", " GPU_CUT("1", "1g:1,3g:1"))),
	        "0:1g/MIG-a;0:1g/MIG-b;1:3g/MIG-c;1:1g/MIG-d", "", 3, 1, 0 },
	/* Not in MIG mode; nothing at all; it cannot be asked. */
	{ CUT(MIG(GPU_CUT("0-1", "1g:2"))), "0:h100/GPU-a;1:1g/MIG-c;1:1g/MIG-d",
	        "2 of 4 1g, GPU 0: 1g:2 wanted, h100:1 found", 2, 0, 0 },
	{ CUT(MIG(GPU_CUT("0-1", "1g:2"))), "1:1g/MIG-c;1:1g/MIG-d",
	        "2 of 4 1g, GPU 0: 1g:2 wanted, nothing found", 2, 0, 0 },
	{ CUT(MIG(GPU_CUT("0-1", "1g:2"))), "0:h100/GPU-a/nvmlX hangs;1:1g/MIG-c;1:1g/MIG-d",
	        "2 of 4 1g, GPU 0: 1g:2 wanted, nothing found, GPU-a: nvmlX hangs", 2, 0, 0 },
	{ CUT(MIG(GPU_CUT("0-1", "1g:2"))), "0:1g/MIG-a/odd;0:1g/MIG-b;1:1g/MIG-c;1:1g/MIG-d",
	        "3 of 4 1g, MIG-a: odd", 3, 0, 0 },
	{ CUT(MIG(GPU_CUT("0-1", "1g:2"))), NULL, "", 4, 0, 0 },
	/* Who is not named stays whole, or cut as found; or there is no such, or it is demanded. */
	{ CUT(MIG(GPU_CUT("0", "1g:2"))), "0:1g/MIG-a;0:1g/MIG-b;1:h100/GPU-b;2:3g/MIG-x", "", 2, 1,
	        1 },
	{ CUT(MIG(GPU_CUT("0", "1g:2")) "gpus = \"none\";"),
	        "0:1g/MIG-a;0:1g/MIG-b;1:h100/GPU-b;2:3g/MIG-x",
	        "1 h100 not configured (GPU-b), 1 3g not configured (MIG-x)", 2, 0, 0 },
	{ CUT(MIG(GPU_CUT("0", "1g:2")) "gpus = \"h100:2\";"), "0:1g/MIG-a;0:1g/MIG-b;1:h100/GPU-b",
	        "1 of 2 h100", 2, 0, 1 },
	/* A whole GPU that should be cut is not taken for one that should not. */
	{ CUT(MIG(GPU_CUT("0", "1g:2")) "gpus = \"h100:1\";"), "0:h100/GPU-a;1:h100/GPU-b",
	        "0 of 2 1g, GPU 0: 1g:2 wanted, h100:1 found", 0, 0, 1 },
};

static void cut(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(cuts) / sizeof(*cuts); i++) {
		struct world *w = world_new(cuts[i].conf);

		devices_found(w, cuts[i].found);
		world_pass(w, 1.1);
		assert_string_equal(devices_note(w), cuts[i].note);
		assert_int_equal(devices_usable(w, "1g"), cuts[i].one);
		assert_int_equal(devices_usable(w, "3g"), cuts[i].three);
		assert_int_equal(devices_usable(w, "h100"), cuts[i].whole);
		world_free(w);
	}
}

/* Known before any agent is heard; a job for it waits. */
static void cut_before(void **state)
{
	struct world *w = world_new(CUT(MIG(GPU_CUT("0-1", "1g:2"))));
	uint64_t job = world_submit(w, "1g:3");

	(void)state;
	assert_int_equal(devices_total(w, "1g"), 4);
	assert_string_equal(world_state(w, job), "PENDING");
	devices_found(w, TWO_AND_TWO);
	world_pass(w, 1.1);
	assert_string_equal(devices_of(w, job), "MIG-a,MIG-b,MIG-c");
	world_free(w);
}

static const char *gpu_state(struct world *w, uint32_t index)
{
	static char text[sizeof(((struct gpu_view *)NULL)->reason) + 40];
	struct gpu_view v;

	assert_true(core_gpu_view(w->core, 0, index, &v));
	snprintf(text, sizeof(text), "%s%s%s", v.state, *v.reason ? ": " : "", v.reason);
	return text;
}

/* Changed under a run: that goes on, nothing new comes, the other GPU is given; and back. */
static void cut_under_runs(void **state)
{
	struct world *w = world_new(CUT(MIG(GPU_CUT("0-1", "1g:2"))));
	struct run_report alive;
	uint64_t job, next, wide;

	(void)state;
	devices_found(w, TWO_AND_TWO);
	world_pass(w, 1.1);
	job = world_submit(w, "1g:1");
	world_run_starts(w, job);
	assert_string_equal(devices_of(w, job), "MIG-a");
	alive = world_alive(w, job);
	devices_found_with(w, "0:1g/MIG-a;0:3g/MIG-x;1:1g/MIG-c;1:1g/MIG-d", &alive, 1);
	world_pass(w, 1.1);
	assert_string_equal(devices_note(w), "2 of 4 1g, GPU 0: 1g:2 wanted, 1g:1,3g:1 found");
	assert_string_equal(world_state(w, job), "RUNNING");
	assert_string_equal(gpu_state(w, 1), "trouble: GPU 0: 1g:2 wanted, 1g:1,3g:1 found");
	assert_string_equal(gpu_state(w, 2), "free");
	next = world_submit(w, "1g:1");
	assert_string_equal(devices_of(w, next), "MIG-c");
	wide = world_submit(w, "1g:2");
	world_run_ends(w, job, 0);
	assert_string_equal(world_state(w, wide), "PENDING");
	world_restart(w);
	assert_string_equal(world_state(w, wide), "PENDING");
	alive = world_alive(w, next);
	devices_found_with(w, "0:1g/MIG-a;0:1g/MIG-b;1:1g/MIG-c;1:1g/MIG-d", &alive, 1);
	world_pass(w, 1.1);
	assert_string_equal(devices_note(w), "");
	assert_string_equal(devices_of(w, wide), "MIG-a,MIG-b");
	world_free(w);
}

/* What is in use is filled first; a job's are on one GPU if one has room. */
static void packed(const char *conf)
{
	struct world *w = world_new(conf);
	uint64_t job[6];

	devices_found(w, "0:1g/MIG-a;0:1g/MIG-b;0:1g/MIG-c;1:1g/MIG-d;1:1g/MIG-e;1:1g/MIG-f;"
	                 "2:1g/MIG-g;2:1g/MIG-h;2:1g/MIG-i");
	world_pass(w, 1.1);
	job[0] = world_submit(w, "1g:2");
	assert_string_equal(devices_of(w, job[0]), "MIG-a,MIG-b");
	job[1] = world_submit(w, "1g:2"); /* not the one that is left and one of another */
	assert_string_equal(devices_of(w, job[1]), "MIG-d,MIG-e");
	world_run_starts(w, job[0]);
	world_run_ends(w, job[0], 0);
	job[2] = world_submit(w, "1g:1"); /* not the lowest, where nothing is in use */
	assert_string_equal(devices_of(w, job[2]), "MIG-f");
	job[3] = world_submit(w, "1g:5"); /* no GPU has so many */
	assert_string_equal(devices_of(w, job[3]), "MIG-a,MIG-b,MIG-c,MIG-g,MIG-h");
	job[4] = world_submit(w, "any:1");
	assert_string_equal(devices_of(w, job[4]), "MIG-i");
	job[5] = world_submit(w, "1g:1");
	assert_string_equal(world_state(w, job[5]), "PENDING");
	world_free(w);
}

/* As demanded, and as found. */
static void cut_and_packed(void **state)
{
	(void)state;
	packed(CUT(MIG(GPU_CUT("0-2", "1g:3"))));
	packed(CUT(""));
}

/* A GPU falls off the bus, and the host counts those behind it anew: they keep their numbers. */
static void cut_and_lost(void **state)
{
	struct world *w = world_new(CUT(MIG(GPU_CUT("0-2", "1g:1"))));
	uint64_t job;

	(void)state;
	devices_found(w, "0:1g/MIG-a;1:1g/MIG-b;2:1g/MIG-c");
	world_pass(w, 1.1);
	world_restart(w);
	devices_found(w, "0:1g/MIG-a;1:1g/MIG-c");
	world_pass(w, 1.1);
	assert_string_equal(devices_note(w), "2 of 3 1g, GPU 1: 1g:1 wanted, nothing found");
	job = world_submit(w, "1g:2");
	assert_string_equal(devices_of(w, job), "MIG-a,MIG-c");
	devices_found(w, "0:1g/MIG-a;1:1g/MIG-b;2:1g/MIG-c");
	assert_string_equal(devices_note(w), "");
	world_free(w);
}

/* Another layout is written, under a run, while the node is not there, and none at all. */
static void cut_anew(void **state)
{
	struct world *w = world_new(CUT(MIG(GPU_CUT("0-1", "1g:2"))));
	struct run_report alive;
	uint64_t job, next;

	(void)state;
	devices_found(w, TWO_AND_TWO);
	world_pass(w, 1.1);
	job = world_submit(w, "1g:3");
	world_run_starts(w, job);
	assert_string_equal(devices_of(w, job), "MIG-a,MIG-b,MIG-c");
	world_reconfigure(w, CUT(MIG(GPU_CUT("0", "1g:2") ", " GPU_CUT("1", "3g:1"))));
	world_pass(w, 1.1);
	assert_string_equal(world_state(w, job), "RUNNING");
	assert_string_equal(devices_of(w, job), "MIG-a,MIG-b,MIG-c");
	next = world_submit(w, "3g:1");
	assert_string_equal(world_state(w, next), "PENDING");
	assert_int_equal(devices_usable(w, "1g"), 0);
	world_run_ends(w, job, 0);
	devices_found(w, "0:1g/MIG-a;0:1g/MIG-b;1:3g/MIG-x");
	world_pass(w, 1.1);
	assert_string_equal(devices_note(w), "");
	assert_int_equal(devices_total(w, "1g"), 2);
	assert_int_equal(devices_total(w, "3g"), 1);
	assert_string_equal(devices_of(w, next), "MIG-x");
	world_run_starts(w, next);

	world_restart(w);
	world_reconfigure(w, CUT(MIG(GPU_CUT("0-1", "3g:1"))));
	assert_int_equal(devices_total(w, "3g"), 2); /* nothing was heard of it yet */
	alive = world_alive(w, next);
	devices_found_with(w, "0:3g/MIG-y;1:3g/MIG-x", &alive, 1);
	world_pass(w, 1.1);
	assert_string_equal(
	        devices_note(w), "0 of 1 1g"); /* the index before the one that is in use */
	assert_string_equal(devices_of(w, next), "MIG-x");
	assert_int_equal(devices_usable(w, "3g"), 1);
	world_reconfigure(w, CUT(""));
	world_pass(w, 1.1);
	assert_int_equal(devices_total(w, "3g"), 2);
	assert_int_equal(devices_usable(w, "3g"), 1);
	assert_string_equal(devices_of(w, next), "MIG-x");
	world_reconfigure(w, CUT(MIG(GPU_CUT("1", "3g:1"))));
	world_pass(w, 1.1);
	assert_int_equal(devices_total(w, "3g"), 2);
	assert_string_equal(devices_of(w, next), "MIG-x");
	world_run_ends(w, next, 0);
	world_pass(w, 1.1);
	world_pass(w, 1.1);
	assert_int_equal(devices_total(w, "1g"), 0);
	assert_int_equal(devices_usable(w, "3g"), 2);
	assert_string_equal(devices_note(w), "");
	world_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cut),
		cmocka_unit_test(cut_before),
		cmocka_unit_test(cut_under_runs),
		cmocka_unit_test(cut_and_packed),
		cmocka_unit_test(cut_and_lost),
		cmocka_unit_test(cut_anew),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
