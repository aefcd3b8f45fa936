/* test_never_fits.c - what could never run is refused, with the reason and what would be right */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "ctld/core/intake/never_fits.h"
#include "ctld/core/place/ledger.h"
#include "ctld/core/request/requests.h"
#include "ctld/core/rows/state.h"
#include "testsuite/unit/lib/core_world.h"

/* a0 a1: 16 CPUs, h100:8, ib; b0: l40s:4, ib; c0 c1: h100:4; d0 is not in batch */
static const char mixed[] =
        "cluster = \"test\"; controller = { host = \"h\"; };\n"
        "gpu_types = ( { name = \"h100\"; mem = \"80G\"; }, { name = \"l40s\"; mem = \"48G\"; } "
        ");\n"
        "nodes = ( { name = \"a[0-1]\"; cpus = 16; mem = \"64G\"; gpus = \"h100:8\";\n"
        "    features = [ \"ib\" ]; },\n"
        "  { name = \"b0\"; cpus = 4; mem = \"512G\"; gpus = \"l40s:4\"; features = [ \"ib\" ]; "
        "},\n"
        "  { name = \"c[0-1]\"; cpus = 8; mem = \"32G\"; gpus = \"h100:4\"; },\n"
        "  { name = \"d0\"; cpus = 4; mem = \"16G\"; features = [ \"far\" ]; } );\n"
        "licences = ( { name = \"trtllm\"; count = 4; } );\n"
        "partitions = ( { name = \"batch\"; nodes = \"a[0-1],b0,c[0-1]\"; default = true; } );\n";

#define GPUS(type, count) .gpus = { { type, count } }, .n_gpus = 1

static const struct {
	struct submit_job job;
	const char *text, *hint;
} never[] = {
	{ { GPUS("h100", 16) }, "--gpus=h100:16 on one node: the largest node in batch has h100:8",
	        "on several nodes: --nodes=2 --gpus-per-node=h100:8" },
	{ { GPUS("h100", 20) }, "--gpus=h100:20 on one node: the largest node in batch has h100:8",
	        "on several nodes: --nodes=3 --gpus=h100:20" },
	/* It is not on several nodes either: no advice. */
	{ { GPUS("h100", 40) }, "--gpus=h100:40 on one node: the largest node in batch has h100:8",
	        "" },
	{ { GPUS("h100", 16), .cpus = 17 },
	        "--gpus=h100:16 on one node: the largest node in batch has h100:8", "" },
	{ { GPUS("h100", 9), .nodes_min = 2, .gpus_per_node = true },
	        "--gpus-per-node=h100:9 on one node: the largest node in batch has h100:8", "" },
	{ { GPUS("h100", 8), .constraint = "!ib" },
	        "--gpus=h100:8 on one node: the largest node in batch that it may use has h100:4",
	        "on several nodes: --nodes=2 --gpus-per-node=h100:4" },
	{ { GPUS("l40s", 1), .constraint = "!ib" },
	        "--gpus=l40s:1: no node of batch that it may use has such a GPU", "" },
	{ { GPUS("any", 1), .constraint = "far" },
	        "--constraint=far: 0 nodes of batch are left, 1 is wanted", "" },
	{ { .exclude = "a[0-1],b0,c[0-1]" },
	        "--exclude=a[0-1],b0,c[0-1]: 0 nodes of batch are left, 1 is wanted", "" },
	{ { .constraint = "ib", .exclude = "a1", .nodes_min = 3 },
	        "--constraint=ib --exclude=a1: 2 nodes of batch are left, 3 are wanted", "" },
	{ { .nodelist = "d0" }, "--nodelist: d0 is not in batch", "" },
	{ { .nodelist = "d0", .nodes_min = 2 }, "--nodelist: d0 is not in batch", "" },
	{ { .nodes_min = 6 }, "--nodes=6: batch has 5", "" },
	{ { GPUS("any", 5), .gpu_mem_min_mb = 81920, .constraint = "!ib" },
	        "--gpus=any:5 on one node: the largest node in batch that it may use has h100:4",
	        "on several nodes: --nodes=2 --gpus=h100:5" },
	{ { GPUS("any", 1), .gpu_mem_min_mb = 81920, .nodelist = "b0" },
	        "--gpus=any:1: no node of batch that it may use has such a GPU of at least 80G",
	        "" },
	{ { GPUS("h100", 8), .nodes_min = 3, .gpus_per_node = true },
	        "--nodes=3: 2 nodes of batch have h100:8 and 1 CPU together", "" },
	{ { GPUS("h100", 4), .nodes_min = 3, .gpus_per_node = true, .cpus = 9 },
	        "--nodes=3: 2 nodes of batch have h100:4 and 9 CPUs together", "" },
	{ { GPUS("h100", 24), .nodes_min = 2, .nodes_max = 3 },
	        "--gpus=h100:24: no 3 nodes of batch have so many together", "" },
	{ { GPUS("h100", 3), .nodes_min = 3, .mem_mb = 48 * 1024 },
	        "--nodes=3: 2 nodes of batch have such a GPU and 1 CPU and memory 48G together",
	        "" },
	{ { GPUS("h100", 8), .nodes_min = 2, .gpus_per_node = true, .nodelist = "c0" },
	        "--nodelist: c0 does not have h100:8 and 1 CPU", "" },
	{ { GPUS("h100", 12), .nodes_min = 2, .nodelist = "c[0-1]" },
	        "--gpus=h100:12: no 2 nodes of batch that it may use with those of the node list "
	        "have "
	        "so many together",
	        "" },
	/* Enough nodes, but not of one type. */
	{ { GPUS("any", 4), .nodes_min = 5, .gpus_per_node = true },
	        "--gpus-per-node=any:4: no 5 nodes of batch have GPUs of one type for it", "" },
	{ { .nodes_min = 4, .mem_mb = 48 * 1024 },
	        "--nodes=4: 3 nodes of batch have 1 CPU and memory 48G together", "" },
	/* Where they would read the same: in MiB. */
	{ { .mem_mb = 512 * 1024 + 1 },
	        "--mem=524289M on one node: the largest node in batch has 524288M", "" },
	{ { .mem_mb = 600 * 1024 }, "--mem=600G on one node: the largest node in batch has 512G",
	        "" },
	{ { .nodes_min = 2, .cpus = 17 },
	        "--cpus-per-task=17 on one node: the largest node in batch has 16 CPUs", "" },
};

static const struct submit_job possible[] = {
	{ GPUS("h100", 16), .nodes_min = 2, .gpus_per_node = false },
	{ GPUS("h100", 8), .nodes_min = 2, .gpus_per_node = true },
	{ GPUS("h100", 24), .nodes_min = 2, .nodes_max = 4 },
	{ GPUS("h100", 20), .nodes_min = 3 },
	{ GPUS("any", 4), .nodes_min = 4, .gpus_per_node = true },
	{ GPUS("any", 1), .gpu_mem_min_mb = 81920, .exclusive = true },
	{ .nodes_min = 5 },
	{ .nodelist = "a[0-1],c0" },
	{ GPUS("h100", 12), .nodes_min = 2, .nodelist = "c0" },
	{ GPUS("l40s", 4), .constraint = "ib&!far", .licences = "trtllm:4" },
};

static struct ask ask_of(struct core *core, const struct submit_job *job)
{
	struct error err = { 0 };
	const struct request *r = requests_intern(core->requests, job, &err);

	if (!r)
		fail_msg("%s", err.text);
	return (struct ask){ .gpus = r, .cpus = job->cpus ? job->cpus : 1, .mem_mb = job->mem_mb };
}

static void reasons(void **state)
{
	struct world *w = world_new(mixed);
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(never) / sizeof(never[0]); i++) {
		struct ask ask = ask_of(w->core, &never[i].job);
		struct error err = { 0 };

		if (never_fits(w->core, 0, &ask, &err) == 0)
			fail_msg("taken: %s", never[i].text);
		assert_int_equal(err.code, ERR_JOB_NEVER);
		assert_string_equal(err.text, never[i].text);
		assert_string_equal(err.hint, never[i].hint);
		requests_drop(w->core->requests, ask.gpus);
	}
	for (i = 0; i < sizeof(possible) / sizeof(possible[0]); i++) {
		struct ask ask = ask_of(w->core, &possible[i]);
		struct error err = { 0 };

		if (never_fits(w->core, 0, &ask, &err) < 0)
			fail_msg("%s", err.text);
		requests_drop(w->core->requests, ask.gpus);
	}
	world_free(w);
}

/* --- against what an empty cluster has ------------------------------------------------------- */

static uint64_t rng = 1;
static unsigned pick(unsigned n)
{
	rng ^= rng << 13;
	rng ^= rng >> 7;
	rng ^= rng << 17;
	return (unsigned)(rng >> 11) % n;
}

static bool starts_now(struct core *core, const struct ask *ask)
{
	struct places places = { 0 };
	struct find find = { 0 };
	bool found = false;

	do {
		find.type = ask->gpus->n ? ask->gpus->v[find.alternative].number : TYPE_NONE;
		found = ledger_find(core->ledger, 0, ask, &find, &places);
	} while (!found && ++find.alternative < ask->gpus->n);
	places_free(&places);
	return found;
}

static void on_an_empty_cluster(void **state)
{
	static const char *const types[] = { "h100", "l40s", "any" };
	static const char *const features[] = { "", "", "", "ib", "!ib", "ib|far" };
	static const char *const lists[] = { "", "", "", "a0", "b0", "c[0-1]", "a1,c0" };
	struct world *w = world_new(mixed);
	unsigned refused = 0, taken = 0, i, k;

	(void)state;
	for (i = 0; i < w->conf->n_nodes; i++)
		ledger_accept(w->core->ledger, i, true);
	for (i = 0; i < 20000; i++) {
		struct submit_job job = { .n_gpus = pick(3),
			.nodes_max = pick(6),
			.gpus_per_node = pick(2),
			.gpu_mem_min_mb = pick(6) ? 0 : 49153,
			.cpus = 1 + pick(pick(3) ? 4 : 20),
			.mem_mb = pick(3) * 24 * 1024,
			.exclusive = !pick(4),
			.constraint = features[pick(6)],
			.nodelist = lists[pick(7)],
			.exclude = lists[pick(7)] };
		struct error err = { 0 };
		struct ask ask;

		for (k = 0; k < job.n_gpus; k++)
			job.gpus[k] = (struct gpu_request){ types[pick(3)], 1 + pick(20) };
		job.nodes_min = job.nodes_max ? 1 + pick(job.nodes_max) : 0;
		ask = (struct ask){ .gpus = requests_intern(w->core->requests, &job, NULL),
			.cpus = job.cpus,
			.mem_mb = job.mem_mb };
		if (!ask.gpus)
			continue;
		if (never_fits(w->core, 0, &ask, &err) < 0) {
			refused++;
			if (starts_now(w->core, &ask))
				fail_msg("%s %s: %s", ask.gpus->text, ask.gpus->place, err.text);
			assert_true(*err.text);
		} else {
			taken++;
			if (!starts_now(w->core, &ask))
				fail_msg("%s %s: would never start", ask.gpus->text,
				        ask.gpus->place);
		}
		requests_drop(w->core->requests, ask.gpus);
	}
	assert_true(refused > 1000 && taken > 1000);
	world_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reasons),
		cmocka_unit_test(on_an_empty_cluster),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
