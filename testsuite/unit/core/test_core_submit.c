/* test_core_submit.c - what is taken, what is refused and how, and that a repeat is no second job
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "common/base/xalloc.h"
#include "ctld/core/records/per_user_budget.h"
#include "testsuite/unit/lib/core_world.h"

static const char mixed[] =
        "cluster = \"test\"; controller = { host = \"h\"; max_jobs = 5; min_free = \"100M\"; };\n"
        "gpu_types = ( { name = \"h100\"; }, { name = \"l40s\"; }, { name = \"h10\"; } );\n"
        "nodes = ( { name = \"a[0-1]\"; cpus = 16; mem = \"64G\"; gpus = \"h100:8\"; },\n"
        "  { name = \"b0\"; cpus = 4; mem = \"512G\"; gpus = \"l40s:2\"; }, { name = \"c0\"; } );\n"
        "partitions = ( { name = \"batch\"; nodes = \"a[0-1],b0\"; default = true;\n"
        "    max_time = \"1-00:00:00\"; default_time = \"1:00:00\"; default_mem = \"2G\"; },\n"
        "  { name = \"found\"; nodes = \"c0\"; },\n"
        "  { name = \"drained\"; nodes = \"c0\"; state = \"drain\"; },\n"
        "  { name = \"inactive\"; nodes = \"c0\"; state = \"inactive\"; } );\n";

static uint64_t try(struct world *w, const struct submit_job *job, bool admin)
{
	struct core_event e = { .kind = EV_SUBMIT,
		.caller = admin ? world_admin() : world_user(1000),
		.submit = { .jobs = job, .n = 1 } };

	w->n_ids = 0;
	memset(&w->error, 0, sizeof(w->error));
	world_apply(w, &e);
	world_schedule(w);
	return w->n_ids ? w->ids[0] : 0;
}

/* --- refusals -------------------------------------------------------------------------------- */

struct refusal {
	const char *gpus, *partition, *array;
	uint32_t cpus, time_s;
	uint64_t mem_mb;
	int32_t nice;
	int code;
	const char *text, *hint;
};

static const struct refusal refusals[] = {
	{ .gpus = "h100:16",
	        .code = ERR_JOB_NEVER,
	        .text = "--gpus=h100:16 on one node: the largest node in batch has h100:8" },
	{ .gpus = "any:9",
	        .code = ERR_JOB_NEVER,
	        .text = "--gpus=any:9 on one node: the largest node in batch has h100:8" },
	{ .gpus = "h100:9|l40s:3",
	        .code = ERR_JOB_NEVER,
	        .text = "--gpus=h100:9|l40s:3 on one node: the largest node in batch has h100:8, "
	                "l40s:2" },
	{ .gpus = "h10:1",
	        .code = ERR_JOB_NEVER,
	        .text = "--gpus=h10:1: no node of batch has such a GPU" },
	{ .gpus = "",
	        .cpus = 17,
	        .code = ERR_JOB_NEVER,
	        .text = "--cpus-per-task=17 on one node: the largest node in batch has 16 CPUs" },
	{ .gpus = "",
	        .mem_mb = 1024 * 1024,
	        .code = ERR_JOB_NEVER,
	        .text = "--mem=1T on one node: the largest node in batch has 512G" },
	{ .gpus = "h100:1",
	        .mem_mb = 100 * 1024,
	        .code = ERR_JOB_NEVER,
	        .text = "no node of batch has h100:1 and 1 CPU and memory 100G together" },
	{ .gpus = "",
	        .partition = "bat\x1b[1mch",
	        .code = ERR_NO_PARTITION,
	        .text = "--partition=bat\\x1B[1mch: there is no such partition" },
	{ .gpus = "",
	        .partition = "drained",
	        .code = ERR_PARTITION_STATE,
	        .text = "--partition=drained: it takes no jobs, it is drained" },
	{ .gpus = "",
	        .partition = "inactive",
	        .code = ERR_PARTITION_STATE,
	        .text = "--partition=inactive: it takes no jobs, it is inactive" },
	{ .gpus = "",
	        .time_s = 90000,
	        .code = ERR_TIME_LIMIT,
	        .text = "--time=1-01:00:00: partition batch allows at most 1-00:00:00" },
	{ .gpus = "",
	        .time_s = TIME_LIMIT_NONE,
	        .code = ERR_TIME_LIMIT,
	        .text = "--time=UNLIMITED: partition batch allows at most 1-00:00:00" },
	{ .gpus = "",
	        .array = "9-0%5",
	        .code = ERR_JOB_SPEC,
	        .text = "--array: '9-0': the range runs backwards" },
	{ .gpus = "",
	        .nice = -1,
	        .code = ERR_NOT_PERMITTED,
	        .text = "--nice=-1: only an operator or an administrator may go below a niceness "
	                "of 0" },
};

static void refused(void **state)
{
	struct world *w = world_new(mixed);
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
		const struct refusal *r = &refusals[i];
		struct submit_job job = world_job(w, strcmp(r->gpus, "h10:1") ? r->gpus : "");

		if (!strcmp(r->gpus, "h10:1")) {
			job.n_gpus = 1;
			job.gpus[0] = (struct gpu_request){ "h10", 1 };
		}
		job.partition = r->partition ? r->partition : "";
		job.array = r->array ? r->array : "";
		job.cpus = r->cpus;
		job.mem_mb = r->mem_mb;
		job.time_limit_s = r->time_s;
		job.nice = r->nice;
		assert_int_equal(try(w, &job, false), 0);
		assert_string_equal(w->error.text, r->text);
		assert_int_equal(w->error.code, r->code);
	}
	assert_false(core_job_next(w->core, 0, w->now, &(struct job_view){ 0 }));
	world_seal(w);
	assert_int_equal(w->audit_rows, 0);
	world_free(w);
}

static void hostile(void **state)
{
	struct world *w = world_new(mixed);
	struct submit_job job;
	struct label labels[70];
	char *huge = xcalloc(5000, 1);
	size_t i;

	(void)state;
	memset(huge, 'x', 4999);
	job = world_job(w, "");
	job.name = "a\nb";
	assert_int_equal(try(w, &job, false), 0);
	assert_int_equal(w->error.code, ERR_JOB_SPEC);
	job = world_job(w, "");
	job.name = huge;
	assert_int_equal(try(w, &job, false), 0);
	job = world_job(w, "");
	job.cwd = huge;
	assert_int_equal(try(w, &job, false), 0);
	job = world_job(w, "");
	job.gpus[0] = (struct gpu_request){ "h100:8|l40s", 1 };
	job.n_gpus = 1;
	assert_int_equal(try(w, &job, false), 0);
	assert_int_equal(w->error.code, ERR_NO_GPU_TYPE);
	job.gpus[0] = (struct gpu_request){ "h200", 1 };
	assert_int_equal(try(w, &job, false), 0);
	assert_string_equal(w->error.text, "--gpus=h200: there is no such GPU type");
	assert_string_equal(w->error.hint, "GPU types here: h100, l40s, h10");
	job.gpus[0] = (struct gpu_request){ "h100", 0 };
	assert_int_equal(try(w, &job, false), 0);
	job.n_gpus = MAX_GPU_ALTERNATIVES + 1;
	assert_int_equal(try(w, &job, false), 0);
	for (i = 0; i < 70; i++)
		labels[i] = (struct label){ "k", "v" };
	job = world_job(w, "");
	job.labels = labels;
	job.n_labels = 70;
	assert_int_equal(try(w, &job, false), 0);
	assert_int_equal(w->error.code, ERR_JOB_SPEC);
	labels[0].key = "a=b";
	job.n_labels = 1;
	assert_int_equal(try(w, &job, false), 0);
	labels[0].key = "";
	assert_int_equal(try(w, &job, false), 0);
	free(huge);
	world_free(w);
}

static void room(void **state)
{
	struct world *w = world_new(mixed);
	struct core_event low = { .kind = EV_DISK_FREE };
	struct submit_job job = world_job(w, ""), first = job;
	uint64_t id;
	int i;

	(void)state;
	id = try(w, &job, false);
	low.disk_free_mb = 99;
	world_apply(w, &low);
	job = world_job(w, "");
	assert_int_equal(try(w, &job, false), 0);
	assert_int_equal(w->error.code, ERR_NO_SPACE);
	/* A repeat needs no room: its job is there. */
	assert_int_equal(try(w, &first, false), id);
	low.disk_free_mb = 100;
	world_apply(w, &low);
	for (i = 1; i < 5; i++) {
		job = world_job(w, "");
		assert_int_not_equal(try(w, &job, false), 0);
	}
	job = world_job(w, "");
	assert_int_equal(try(w, &job, false), 0);
	assert_int_equal(w->error.code, ERR_LIMIT_JOBS);
	assert_int_equal(try(w, &first, false), id);
	world_free(w);
}

/* --- what is filled in ----------------------------------------------------------------------- */

static void defaults(void **state)
{
	struct world *w = world_new(mixed);
	struct submit_job job = world_job(w, "l40s:1|any:2");
	struct label labels[2] = { { "model", "bge" }, { "note", "a=b c" } };
	struct job_view v;
	uint64_t id, plain;

	(void)state;
	job.cpus = 0;
	job.max_attempts = 0;
	job.labels = labels;
	job.n_labels = 2;
	id = try(w, &job, false);
	world_restart(w);
	v = world_view(w, id);
	assert_string_equal(v.partition, "batch");
	assert_int_equal(v.cpus, 1);
	assert_int_equal(v.mem_mb, 2048);
	assert_int_equal(v.time_limit_s, 3600);
	assert_int_equal(v.max_attempts, 1);
	assert_int_equal(v.n_gpus, 2);
	assert_string_equal(v.gpus[0].type, "l40s");
	assert_string_equal(v.gpus[1].type, "");
	assert_int_equal(v.gpus[1].count, 2);
	assert_int_equal(v.n_labels, 2);
	assert_string_equal(v.labels[1].key, "note");
	assert_string_equal(v.labels[1].value, "a=b c");
	assert_string_equal(v.user, "ana");
	/* A node whose hardware is not known yet might do for anything but GPUs. */
	job = world_job(w, "");
	job.partition = "found";
	job.cpus = 10000;
	assert_int_not_equal(try(w, &job, false), 0);
	/* An administrator may be nicer than nice. */
	job = world_job(w, "");
	plain = try(w, &job, true);
	job = world_job(w, "");
	job.nice = -100;
	id = try(w, &job, true);
	assert_int_equal(world_view(w, id).priority - world_view(w, plain).priority, 100);
	world_free(w);
}

/* --- repeats --------------------------------------------------------------------------------- */

static void repeats(void **state)
{
	struct world *w = world_simple(1, "h100:4");
	struct submit_job job = world_job(w, "h100:1"), two[2];
	struct core_event both = {
		.kind = EV_SUBMIT, .caller = world_user(1000), .submit = { .jobs = two, .n = 2 }
	};
	uint64_t id = world_submit_job(w, &job, 1000), second;

	(void)state;
	assert_false(w->known[0]);
	assert_int_equal(world_submit_job(w, &job, 1000), id);
	assert_true(w->known[0]);
	/* Somebody else's token is his own. */
	assert_int_not_equal(world_submit_job(w, &job, 1001), id);
	world_restart(w);
	assert_int_equal(world_submit_job(w, &job, 1000), id);
	/* Other bytes under the same token. */
	job.spec_hash[0] ^= 1;
	assert_int_equal(world_submit_job(w, &job, 1000), 0);
	assert_int_equal(w->error.code, ERR_TOKEN);
	job.spec_hash[0] ^= 1;
	/* Half of a submit was taken the first time: the rest is. */
	two[0] = job;
	two[1] = world_job(w, "");
	world_apply(w, &both);
	assert_int_equal(w->ids[0], id);
	assert_true(w->known[0]);
	assert_false(w->known[1]);
	second = w->ids[1];
	assert_true(second > id);
	/* All or none: one bad job, nothing is taken. */
	two[0] = world_job(w, "");
	two[1] = world_job(w, "h100:5");
	world_apply(w, &both);
	assert_int_equal(w->error.code, ERR_JOB_NEVER);
	assert_non_null(strstr(w->error.text, "job 2 of the submit: "));
	two[1] = two[0];
	world_apply(w, &both);
	assert_int_equal(w->error.code, ERR_JOB_SPEC);
	world_schedule(w);
	assert_string_equal(world_state(w, second + 1), "none");
	world_free(w);
}

/* The token outlives its job, up to an hour, and no longer. */
static void tokens_expire(void **state)
{
	struct world *w = world_simple(1, "");
	struct submit_job job = world_job(w, "");
	uint64_t id = world_submit_job(w, &job, 1000);

	(void)state;
	world_control(w, world_user(1000), JOB_CANCEL, id);
	world_pass(w, 1800);
	assert_string_equal(world_state(w, id), "none");
	world_restart(w);
	assert_int_equal(world_submit_job(w, &job, 1000), id);
	assert_true(w->known[0]);
	world_pass(w, 1801);
	world_seal(w);
	assert_int_not_equal(world_submit_job(w, &job, 1000), id);
	/* A job that lives keeps it. */
	job = world_job(w, "");
	job.hold = true;
	id = world_submit_job(w, &job, 1000);
	world_pass(w, 86400);
	world_restart(w);
	world_pass(w, 86400);
	assert_int_equal(world_submit_job(w, &job, 1000), id);
	world_free(w);
}

/* Who holds his own job is its owner, whatever else he may do. */
static void held_by_its_owner(void **state)
{
	struct world *w = world_simple(1, "");
	struct submit_job job = world_job(w, "");
	struct core_event e = {
		.kind = EV_SUBMIT, .caller = world_admin(), .submit = { .jobs = &job, .n = 1 }
	};

	(void)state;
	world_register_all(w);
	job.hold = true;
	world_apply(w, &e);
	world_schedule(w);
	assert_int_equal(w->n_ids, 1);
	assert_string_equal(world_reason(w, w->ids[0]), "JobHeldUser");
	world_free(w);
}

/* No id is ever used twice, whatever was lost in between, and a crash skips none where jobs come one
 * by one. */
static void ids(void **state)
{
	struct world *w = world_simple(1, "");
	uint64_t last = 0, id;
	int i, k;

	(void)state;
	for (i = 0; i < 5; i++) {
		for (k = 0; k < 3; k++) {
			world_pass(w, 2);
			id = world_submit(w, "");
			assert_int_equal(id, last + 1);
			last = id;
		}
		world_seal(w);
		world_submit(w, ""); /* acknowledged to nobody */
		world_crash(w);
	}
	world_free(w);
}

/* The faster they come the more are leased, so that the row of the lease is not written each time;
 * a crash skips at most as many as came in the last second. */
static void ids_in_a_burst(void **state)
{
	static const unsigned burst[] = { 2, 10, 100, 3000 };
	struct world *w = world_simple(1, "");
	uint64_t last = 0, id;
	size_t i;
	unsigned k;

	(void)state;
	w->unchecked = true;
	for (i = 0; i < sizeof(burst) / sizeof(burst[0]); i++) {
		for (k = 0; k < burst[i]; k++)
			last = world_submit(w, "");
		world_seal(w);
		world_crash(w);
		id = world_submit(w, "");
		assert_true(id > last);
		assert_true(id - last <= burst[i] + 1);
		world_pass(w, 2);
	}
	world_free(w);
}

/* Not even the numbers of events, one of which each submit has. */
static void events_are_leased_alike(void **state)
{
	struct world *w = world_simple(1, "");
	uint64_t last;

	(void)state;
	world_submit(w, "");
	world_pass(w, 2);
	world_submit(w, "");
	last = core_last_event(w->core);
	world_seal(w);
	world_crash(w);
	assert_int_equal(core_last_event(w->core), last);
	world_free(w);
}

/* An orderly end leaves no gap; who takes an id after it all the same leases anew. */
static void ids_given_back(void **state)
{
	struct world *w = world_simple(1, "");
	struct core_event end = { .kind = EV_ENDING };
	uint64_t id = world_submit(w, "");

	(void)state;
	world_apply(w, &end);
	world_seal(w);
	world_crash(w);
	assert_int_equal(world_submit(w, ""), id + 1);
	world_apply(w, &end);
	assert_int_equal(world_submit(w, ""), id + 2);
	world_seal(w);
	world_crash(w);
	assert_true(world_submit(w, "") > id + 2);
	world_free(w);
}

static struct error refused_submit(struct world *w, uint32_t uid, const char *depends)
{
	struct submit_job job = world_job(w, "h100:1");

	w->error.code = ERR_NONE;
	job.depends = depends;
	world_submit_job(w, &job, uid);
	return w->error;
}

/* What a user's jobs take of memory has a limit; others have their own. */
static void memory_of_a_user(void **state)
{
	struct world *w = world_new(
	        "cluster = \"test\"; controller = { host = \"h\"; memory_per_user = \"1M\"; };\n"
	        "gpu_types = ( { name = \"h100\"; } );\n"
	        "nodes = ( { name = \"n0\"; cpus = 8; mem = \"64G\"; gpus = \"h100:8\"; } );\n"
	        "partitions = ( { name = \"batch\"; nodes = \"n0\"; default = true; } );\n");
	const struct budget *b = core_budget(w->core);
	struct error err = { 0 };
	char text[4000];
	uint64_t first = world_submit(w, "h100:1");
	unsigned n;
	size_t len = (size_t)snprintf(text, sizeof(text), "afterany:%llu", (unsigned long long)first);

	(void)state;
	for (n = 1; n < 900; n++)
		len += (size_t)snprintf(
		        text + len, sizeof(text) - len, ":%llu", (unsigned long long)first);
	w->unchecked = true;
	for (n = 0; n < 1000 && err.code == ERR_NONE; n++)
		err = refused_submit(w, 1001, text);
	assert_in_range(n, 20, 200);
	assert_int_equal(err.code, ERR_BUDGET);
	assert_non_null(strstr(err.text, "memory of jobs with their dependencies: you have "));
	assert_non_null(strstr(err.text, "controller.memory_per_user"));
	assert_int_equal(refused_submit(w, 1000, text).code, ERR_NONE);
	/* What was refused is not charged, and what has gone is given back. */
	assert_true(budget_used(b, 1001, BUDGET_MEMORY) <= 1 << 20);
	world_seal(w);
	n = budget_used(b, 1001, BUDGET_MEMORY);
	world_restart(w);
	b = core_budget(w->core);
	assert_int_equal(budget_used(b, 1001, BUDGET_MEMORY), n);
	for (uint64_t id = first + 1; id < first + 1000; id++)
		world_control(w, world_user(1001), JOB_CANCEL, id);
	world_pass(w, 400);
	world_seal(w);
	assert_int_equal(budget_used(b, 1001, BUDGET_MEMORY), 0);
	world_free(w);
}

static void test_only(void **state)
{
	struct world *w = world_simple(2, "h100:4");
	struct submit_job job = world_job(w, "h100:3");
	struct core_event e = { .kind = EV_SUBMIT,
		.caller = world_user(1000),
		.submit = { .jobs = &job, .n = 1, .test_only = true } };
	uint64_t hash;

	(void)state;
	world_apply(w, &e);
	assert_false(w->would_start);
	assert_memory_equal(w->why, "ReqNodeNotAvail: ", 17);
	world_register_all(w);
	world_submit(w, "h100:2");
	hash = core_hash(w->core);
	world_clear(w);
	world_apply(w, &e);
	assert_true(w->would_start);
	assert_int_equal(w->place.node, 1);
	assert_int_equal(w->place.gpus, 7);
	world_submit(w, "h100:2");
	world_submit(w, "h100:2");
	hash = core_hash(w->core);
	world_apply(w, &e);
	assert_false(w->would_start);
	assert_memory_equal(w->why, "Resources: needs h100:3 on one node", 35);
	job = world_job(w, "h100:5");
	world_apply(w, &e);
	assert_int_equal(w->error.code, ERR_JOB_NEVER);
	assert_true(hash == core_hash(w->core));
	world_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(refused),
		cmocka_unit_test(hostile),
		cmocka_unit_test(room),
		cmocka_unit_test(defaults),
		cmocka_unit_test(repeats),
		cmocka_unit_test(tokens_expire),
		cmocka_unit_test(held_by_its_owner),
		cmocka_unit_test(ids),
		cmocka_unit_test(ids_in_a_burst),
		cmocka_unit_test(events_are_leased_alike),
		cmocka_unit_test(ids_given_back),
		cmocka_unit_test(memory_of_a_user),
		cmocka_unit_test(test_only),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
