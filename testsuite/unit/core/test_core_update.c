/* test_core_update.c - JOB_UPDATE: what may be changed, by whom, and that nothing is half done */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "ctld/core/attempts/run_snapshot.h"
#include "ctld/core/plan/plan.h"
#include "testsuite/unit/lib/core_world.h"

#define OWNER 1000
#define OTHER 1001

static const char conf[] =
        "cluster = \"lab\"; controller = { host = \"h\"; };\n"
        "gpu_types = ( { name = \"h100\"; mem = \"80G\"; }, { name = \"l40s\"; } );\n"
        "nodes = ( { name = \"n[0-1]\"; cpus = 8; mem = \"64G\"; gpus = \"h100:4\"; },\n"
        "  { name = \"s0\"; cpus = 8; mem = \"64G\"; gpus = \"l40s:8\"; } );\n"
        "partitions = ( { name = \"batch\"; nodes = \"n[0-1]\"; default = true;\n"
        "    max_time = \"2:00:00\"; },\n"
        "  { name = \"small\"; nodes = \"s0\"; } );\n";

static uint32_t update(struct world *w, struct caller by, uint64_t id,
        const struct submit_job *change, uint64_t fields)
{
	struct core_event e = { .kind = EV_JOB_CONTROL,
		.caller = by,
		.job = { .verb = JOB_UPDATE,
		        .ids = &id,
		        .n = 1,
		        .change = change,
		        .fields = fields } };

	w->error.code = 0;
	world_apply(w, &e);
	world_schedule(w);
	return w->done;
}

/* A world in which a job of OWNER waits for h100:4, since both nodes are taken. */
static struct world *waiting(uint64_t *id)
{
	struct world *w = world_new(conf);

	world_register_all(w);
	world_submit(w, "h100:4");
	world_submit(w, "h100:4");
	*id = world_submit(w, "h100:4");
	assert_string_equal(world_state(w, *id), "PENDING");
	return w;
}

static void starts_at_once(void **state)
{
	uint64_t id;
	struct world *w = waiting(&id);
	struct submit_job change = { .partition = "small", .gpus = { { "l40s", 2 } }, .n_gpus = 1 };

	(void)state;
	assert_int_equal(
	        update(w, world_user(OWNER), id, &change, UPDATE_PARTITION | UPDATE_GPUS), 1);
	assert_string_equal(world_state(w, id), "CONFIGURING");
	assert_string_equal(world_view(w, id).partition, "small");
	assert_string_equal(world_view(w, id).gpus[0].type, "l40s");
	assert_int_equal(world_node_of(w, id), 2);
	assert_non_null(strstr(world_view(w, id).comment, "updated (partition, gpus) by "));
	world_seal(w);
	world_restart(w);
	assert_string_equal(world_view(w, id).partition, "small");
	world_free(w);
}

/* Numbers of waiting jobs follow the job to its new partition. */
static void partitions_count(void **state)
{
	uint64_t id;
	struct world *w = waiting(&id);
	struct submit_job change = { .partition = "small", .gpus = { { "l40s", 2 } }, .n_gpus = 1 };
	struct partition_view v;

	(void)state;
	world_control(w, world_user(OWNER), JOB_HOLD, id);
	assert_int_equal(
	        update(w, world_user(OWNER), id, &change, UPDATE_PARTITION | UPDATE_GPUS), 1);
	assert_true(core_partition_view(w->core, 0, &v));
	assert_int_equal(v.jobs_pending, 0);
	assert_true(core_partition_view(w->core, 1, &v));
	assert_int_equal(v.jobs_pending, 1);
	assert_string_equal(world_reason(w, id), "JobHeldUser");
	world_free(w);
}

/* CPUs and memory for each GPU follow the GPUs; what was asked for stays. */
static void follows_the_gpus(void **state)
{
	static const char per_gpu[] =
	        "cluster = \"lab\"; controller = { host = \"h\"; };\n"
	        "gpu_types = ( { name = \"h100\"; mem = \"80G\"; }, { name = \"l40s\"; } );\n"
	        "nodes = ( { name = \"n0\"; cpus = 8; mem = \"64G\"; gpus = \"h100:4\"; } );\n"
	        "partitions = ( { name = \"batch\"; nodes = \"n0\"; default = true;\n"
	        "    per_gpu = { cpus = 2; mem = \"8G\"; }; } );\n";
	struct submit_job change = { .gpus = { { "h100", 2 } }, .n_gpus = 1 }, job;
	struct world *w = world_new(per_gpu);
	uint64_t all, some;

	(void)state;
	job = world_job(w, "h100:4");
	job.cpus = 0;
	all = world_submit_job(w, &job, OWNER);
	job = world_job(w, "h100:4");
	job.cpus = 7;
	some = world_submit_job(w, &job, OWNER);
	assert_int_equal(world_view(w, all).cpus, 8);
	assert_int_equal(update(w, world_user(OWNER), all, &change, UPDATE_GPUS), 1);
	assert_int_equal(world_view(w, all).cpus, 4);
	assert_int_equal(world_view(w, all).mem_mb, 16384);
	assert_int_equal(update(w, world_user(OWNER), some, &change, UPDATE_GPUS), 1);
	assert_int_equal(world_view(w, some).cpus, 7);
	assert_int_equal(world_view(w, some).mem_mb, 16384);
	world_free(w);
}

/* What a submit would refuse is refused, and nothing of it is done. */
static void all_or_nothing(void **state)
{
	static const struct {
		struct submit_job change;
		uint64_t fields;
		uint32_t by;
		int code;
	} rows[] = {
		{ { .gpus = { { "h100", 8 } }, .n_gpus = 1, .cpus = 2 }, UPDATE_GPUS | UPDATE_CPUS,
		        OWNER, ERR_JOB_NEVER },
		{ { .gpus = { { "nosuch", 1 } }, .n_gpus = 1 }, UPDATE_GPUS, OWNER,
		        ERR_NO_GPU_TYPE },
		{ { .partition = "nosuch", .cpus = 2 }, UPDATE_PARTITION | UPDATE_CPUS, OWNER,
		        ERR_NO_PARTITION },
		{ { .partition = "small", .cpus = 2 }, UPDATE_PARTITION | UPDATE_CPUS, OWNER,
		        ERR_JOB_NEVER },
		{ { .time_limit_s = 7201 }, UPDATE_TIME, OWNER, ERR_TIME_LIMIT },
		{ { .cpus = 9 }, UPDATE_CPUS, OWNER, ERR_JOB_NEVER },
		{ { .mem_mb = 65537 }, UPDATE_MEM, OWNER, ERR_JOB_NEVER },
		{ { .nice = -1 }, UPDATE_NICE, OWNER, ERR_NOT_PERMITTED },
		{ { .cpus = 2 }, UPDATE_CPUS, OTHER, ERR_NOT_PERMITTED },
		{ { .cpus = 2 }, 0, OWNER, ERR_USAGE },
		{ { .cpus = 2 }, UPDATE_CPUS | UINT64_C(1) << 60, OWNER, ERR_JOB_SPEC },
	};
	uint64_t id;
	struct world *w = waiting(&id);
	uint64_t before;
	size_t i;

	(void)state;
	world_seal(w);
	before = core_hash(w->core);
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_int_equal(
		        update(w, world_user(rows[i].by), id, &rows[i].change, rows[i].fields), 0);
		if (w->error.code != rows[i].code)
			fail_msg("row %zu: %d %s", i, w->error.code, w->error.text);
		assert_true(core_hash(w->core) == before);
	}
	world_free(w);
}

/* What a newer client may ask for is named as it numbers it. */
static void fields_to_come(void **state)
{
	struct submit_job change = { .cpus = 2 };
	uint64_t id;
	struct world *w = waiting(&id);

	(void)state;
	assert_int_equal(update(w, world_user(OWNER), id, &change,
	                         UPDATE_CPUS | UINT64_C(1) << 29 | UINT64_C(1) << 60),
	        0);
	assert_string_equal(strchr(w->error.text, ':') + 2,
	        "field 30, field 61 of the update is not known to this controller, which is older "
	        "than what sent it; nothing was changed");
	world_free(w);
}

/* Fields that were not named stay, whatever the change holds. */
static void only_what_is_named(void **state)
{
	uint64_t id;
	struct world *w = waiting(&id);
	struct submit_job change = { .partition = "small",
		.gpus = { { "l40s", 1 } },
		.n_gpus = 1,
		.cpus = 3,
		.mem_mb = 512,
		.time_limit_s = 60,
		.nice = 7 };
	struct job_view v;

	(void)state;
	assert_int_equal(update(w, world_user(OWNER), id, &change, UPDATE_TIME | UPDATE_NICE), 1);
	v = world_view(w, id);
	assert_int_equal(v.time_limit_s, 60);
	assert_int_equal(v.nice, 7);
	assert_int_equal(v.cpus, 1);
	assert_int_equal(v.mem_mb, 0);
	assert_string_equal(v.partition, "batch");
	assert_int_equal(v.gpus[0].count, 4);
	assert_int_equal(update(w, world_user(OWNER), id, &change, UPDATE_CPUS | UPDATE_MEM), 1);
	v = world_view(w, id);
	assert_int_equal(v.cpus, 3);
	assert_int_equal(v.mem_mb, 512);
	assert_int_equal(v.time_limit_s, 60);
	world_seal(w);
	world_free(w);
}

/* They stay through another change, and can be changed. */
static void labels_and_warning(void **state)
{
	static const struct label other[] = { { "model", "bge" }, { "team", "search" } };
	struct submit_job change = {
		.nice = 1, .labels = other, .n_labels = 2, .warn_signal = 10, .warn_before_s = 30
	};
	struct submit_job none = { .nice = 2 };
	uint64_t id;
	struct world *w = waiting(&id);
	struct job_view v;

	(void)state;
	assert_int_equal(
	        update(w, world_user(OWNER), id, &change, UPDATE_LABELS | UPDATE_WARNING), 1);
	assert_int_equal(update(w, world_user(OWNER), id, &none, UPDATE_NICE), 1);
	v = world_view(w, id);
	assert_int_equal(v.n_labels, 2);
	assert_string_equal(v.labels[1].key, "team");
	assert_string_equal(v.labels[1].value, "search");
	assert_int_equal(v.warn_signal, 10);
	assert_int_equal(v.warn_before_s, 30);
	assert_int_equal(v.nice, 2);
	change.warn_signal = 65;
	assert_int_equal(update(w, world_user(OWNER), id, &change, UPDATE_WARNING), 0);
	assert_int_equal(world_view(w, id).n_labels, 2);
	assert_int_equal(
	        update(w, world_user(OWNER), id, &none, UPDATE_LABELS | UPDATE_WARNING), 1);
	assert_int_equal(world_view(w, id).n_labels, 0);
	assert_int_equal(world_view(w, id).warn_signal, 0);
	world_seal(w);
	world_free(w);
}

/* Where a job may run is kept as it was, whatever else is changed, and can be changed itself. */
static void places_stay(void **state)
{
	struct submit_job job, change = { .cpus = 2,
		.exclude = "n0",
		.nodelist = "n1",
		.gpu_mem_min_mb = 1000,
		.nodes_min = 2,
		.nodes_max = 2 };
	struct world *w = world_new(conf);
	struct job_view v;
	uint64_t id;

	(void)state;
	world_register_all(w);
	job = world_job(w, "h100:2");
	job.hold = true;
	job.exclude = "n1";
	job.exclusive = true;
	job.gpu_mem_min_mb = 2000;
	id = world_submit_job(w, &job, OWNER);
	assert_int_equal(update(w, world_user(OWNER), id, &change, UPDATE_CPUS), 1);
	v = world_view(w, id);
	assert_string_equal(v.exclude, "n1");
	assert_true(v.exclusive);
	assert_int_equal(v.gpu_mem_min_mb, 2000);
	assert_int_equal(v.nodes_max, 1);
	assert_int_equal(
	        update(w, world_user(OWNER), id, &change,
	                UPDATE_EXCLUDE | UPDATE_NODELIST | UPDATE_EXCLUSIVE | UPDATE_GPU_MEM_MIN),
	        1);
	v = world_view(w, id);
	assert_string_equal(v.exclude, "n0");
	assert_string_equal(v.nodelist, "n1");
	assert_false(v.exclusive);
	assert_int_equal(v.gpu_mem_min_mb, 1000);
	change.exclude = "";
	assert_int_equal(
	        update(w, world_user(OWNER), id, &change, UPDATE_NODES | UPDATE_EXCLUDE), 1);
	v = world_view(w, id);
	assert_int_equal(v.nodes_min, 2);
	assert_int_equal(v.nodes_max, 2);
	change.constraint = "nosuch";
	assert_int_equal(update(w, world_user(OWNER), id, &change, UPDATE_CONSTRAINT), 0);
	change.licences = "nosuch:1";
	assert_int_equal(update(w, world_user(OWNER), id, &change, UPDATE_LICENCES), 0);
	world_seal(w);
	world_restart(w);
	assert_string_equal(world_view(w, id).nodelist, "n1");
	world_free(w);
}

/* A niceness that an administrator gave does not keep the owner from other changes. */
static void niceness_of_others(void **state)
{
	uint64_t id;
	struct world *w = waiting(&id);
	struct submit_job change = { .nice = -50, .cpus = 2 };

	(void)state;
	assert_int_equal(update(w, world_admin(), id, &change, UPDATE_NICE), 1);
	assert_int_equal(world_view(w, id).nice, -50);
	assert_int_equal(update(w, world_user(OWNER), id, &change, UPDATE_CPUS), 1);
	assert_int_equal(world_view(w, id).nice, -50);
	assert_int_equal(world_view(w, id).cpus, 2);
	world_free(w);
}

/* The same limit again is no new demand; none stays none. */
static void no_limit_stays(void **state)
{
	struct world *w = world_new(conf);
	struct submit_job job, change = { .cpus = 2 };
	uint64_t id;

	(void)state;
	world_register_all(w);
	job = world_job(w, "l40s:8");
	job.partition = "small";
	job.hold = true;
	id = world_submit_job(w, &job, OWNER);
	assert_int_equal(world_view(w, id).time_limit_s, 0);
	assert_int_equal(update(w, world_user(OWNER), id, &change, UPDATE_CPUS), 1);
	assert_int_equal(world_view(w, id).time_limit_s, 0);
	world_free(w);
}

/* A job that is in a drained partition may be changed, and none may be moved into it. */
static void drained_partition(void **state)
{
	static const char drained[] =
	        "cluster = \"lab\"; controller = { host = \"h\"; };\n"
	        "gpu_types = ( { name = \"h100\"; }, { name = \"l40s\"; } );\n"
	        "nodes = ( { name = \"n[0-1]\"; cpus = 8; gpus = \"h100:4\"; },\n"
	        "  { name = \"s0\"; cpus = 8; gpus = \"l40s:8\"; } );\n"
	        "partitions = ( { name = \"batch\"; nodes = \"n[0-1]\"; default = true;\n"
	        "    state = \"drain\"; }, { name = \"small\"; nodes = \"s0\"; } );\n";
	struct submit_job change = { .partition = "small", .cpus = 2 },
	                  back = { .partition = "batch" };
	uint64_t id;
	struct world *w = waiting(&id);

	(void)state;
	world_reconfigure(w, drained);
	assert_int_equal(update(w, world_user(OWNER), id, &change, UPDATE_CPUS), 1);
	change.gpus[0] = (struct gpu_request){ "l40s", 1 };
	change.n_gpus = 1;
	world_control(w, world_user(OWNER), JOB_HOLD, id);
	assert_int_equal(
	        update(w, world_user(OWNER), id, &change, UPDATE_PARTITION | UPDATE_GPUS), 1);
	back.gpus[0] = (struct gpu_request){ "h100", 1 };
	back.n_gpus = 1;
	assert_int_equal(
	        update(w, world_user(OWNER), id, &back, UPDATE_PARTITION | UPDATE_GPUS), 0);
	assert_int_equal(w->error.code, ERR_PARTITION_STATE);
	world_free(w);
}

static void only_while_it_waits(void **state)
{
	struct world *w = world_new(conf);
	struct submit_job change = { .cpus = 2 };
	uint64_t id;

	(void)state;
	world_register_all(w);
	id = world_submit(w, "h100:4");
	assert_int_equal(update(w, world_user(OWNER), id, &change, UPDATE_CPUS), 0);
	assert_int_equal(w->error.code, ERR_JOB_STATE);
	world_run_starts(w, id);
	assert_int_equal(
	        update(w, world_admin(), id, &change, UPDATE_CPUS | UPDATE_MEM | UPDATE_REMARK), 0);
	assert_int_equal(w->error.code, ERR_JOB_STATE);
	assert_string_equal(strchr(w->error.text, ':') + 2,
	        "cpus, mem can only be changed while it is PENDING; it is RUNNING");
	assert_int_equal(world_view(w, id).cpus, 1);
	world_free(w);
}

/* What is known of a node's runs while nothing changes there (run_snapshot.c) follows their limit. */
static void a_limit_is_heard_of(void **state)
{
	struct world *w = world_new(conf);
	struct submit_job change = { .time_limit_s = 600 };
	const struct run_snapshot *held;
	struct error err;
	usec_t before;
	uint64_t id;
	size_t n;

	(void)state;
	world_register_all(w);
	id = world_submit(w, "h100:4");
	world_run_starts(w, id);
	held = snapshots_on_node(w->core, 0, &n);
	if (!n)
		held = snapshots_on_node(w->core, 1, &n);
	assert_int_equal(n, 1);
	before = held->end;
	assert_int_equal(update(w, world_admin(), id, &change, UPDATE_TIME), 1);
	if (core_check(w->core, &err) < 0)
		fail_msg("%s", err.text);
	held = snapshots_on_node(w->core, 0, &n);
	if (!n)
		held = snapshots_on_node(w->core, 1, &n);
	assert_true(held->end < before);
	world_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(starts_at_once),
		cmocka_unit_test(follows_the_gpus),
		cmocka_unit_test(partitions_count),
		cmocka_unit_test(all_or_nothing),
		cmocka_unit_test(fields_to_come),
		cmocka_unit_test(only_what_is_named),
		cmocka_unit_test(labels_and_warning),
		cmocka_unit_test(places_stay),
		cmocka_unit_test(niceness_of_others),
		cmocka_unit_test(no_limit_stays),
		cmocka_unit_test(drained_partition),
		cmocka_unit_test(only_while_it_waits),
		cmocka_unit_test(a_limit_is_heard_of),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
