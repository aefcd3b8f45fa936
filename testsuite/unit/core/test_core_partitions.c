/* test_core_partitions.c - a job with a list of partitions waits in all, and starts in the one that
 * first has room */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "common/job/reason.h"
#include "ctld/core/records/job_partitions.h"
#include "ctld/core/rows/state.h"
#include "ctld/core/rows/view.h"
#include "ctld/core/sched/class.h"
#include "ctld/core/sched/sched.h"
#include "testsuite/unit/lib/core_world.h"

#define OWNER 1000

/* Partition a has node n0, b has n1, both n0 and n1; in each default is something else. */
#define NODES                                                                       \
	"cluster = \"lab\"; controller = { host = \"h\"; };\n"                      \
	"gpu_types = ( { name = \"h100\"; } );\n"                                   \
	"nodes = ( { name = \"n[0-1]\"; cpus = 8; mem = \"64G\"; gpus = \"h100:2\"; } );\n"
#define A    "{ name = \"a\"; nodes = \"n0\"; default = true; default_time = \"1:00:00\"; %s }"
#define B    "{ name = \"b\"; nodes = \"n1\"; default_time = \"2:00:00\"; per_gpu = { cpus = 2; }; %s }"
#define BOTH "{ name = \"both\"; nodes = \"ALL\"; tier = 2; default_time = \"1:00:00\"; }"

static char left_out[600];

static void hear(void *arg, const struct effect *fx)
{
	(void)arg;
	if (fx->kind == EFFECT_SUBMITTED && fx->submitted.left_out)
		snprintf(left_out, sizeof(left_out), "%s", fx->submitted.left_out);
}

static const char *conf_with(const char *of_a, const char *of_b, const char *more)
{
	static char text[2048];
	char a[400], b[400];

	snprintf(a, sizeof(a), A, of_a);
	snprintf(b, sizeof(b), B, of_b);
	snprintf(text, sizeof(text), NODES "partitions = ( %s, %s, " BOTH " );\n%s", a, b, more);
	return text;
}

static struct world *cluster(const char *of_a, const char *of_b, const char *more)
{
	struct world *w = world_new(conf_with(of_a, of_b, more));

	w->hook = hear;
	left_out[0] = '\0';
	world_register_all(w);
	return w;
}

static uint64_t submit(struct world *w, const char *partition, const char *gpus)
{
	struct submit_job job = world_job(w, gpus);
	uint64_t id;

	job.partition = partition;
	job.cpus = 0;
	id = world_submit_job(w, &job, OWNER);
	world_schedule(w);
	return id;
}

static uint64_t running(struct world *w, const char *partition)
{
	uint64_t id = submit(w, partition, "h100:2");

	assert_string_equal(world_state(w, id), "CONFIGURING");
	world_run_starts(w, id);
	return id;
}

static void assert_in(struct world *w, uint64_t id, const char *state, const char *partition)
{
	struct job_view v = world_view(w, id);

	assert_string_equal(v.state, state);
	assert_string_equal(v.partition, partition);
}

static void counts(struct world *w, uint32_t partition, size_t pending, size_t runs)
{
	struct partition_view v;

	assert_true(core_partition_view(w->core, partition, &v));
	assert_int_equal(v.jobs_pending, pending);
	assert_int_equal(v.jobs_running, runs);
}

static void it_starts_where_there_is_room(void **state)
{
	struct world *w = cluster("", "", "");
	uint64_t first, second;

	(void)state;
	first = submit(w, "a,b", "h100:2");
	second = submit(w, "a,b", "h100:2");
	assert_in(w, first, "CONFIGURING", "a");
	assert_in(w, second, "CONFIGURING", "b");
	assert_int_equal(world_view(w, first).time_limit_s, 3600);
	assert_int_equal(world_view(w, first).cpus, 1);
	assert_int_equal(world_view(w, second).time_limit_s, 7200);
	assert_int_equal(world_view(w, second).cpus, 4);
	world_free(w);
}

static void it_waits_in_all_and_after_a_restart(void **state)
{
	struct world *w = cluster("", "", "");
	uint64_t in_a = running(w, "a"), in_b = running(w, "b"), id;

	(void)state;
	id = submit(w, "a,b", "h100:2");
	assert_in(w, id, "PENDING", "a,b");
	counts(w, 0, 1, 1);
	counts(w, 1, 1, 1);
	world_seal(w);
	world_run_ends(w, in_b, 0);
	world_schedule(w);
	assert_in(w, id, "CONFIGURING", "b");
	counts(w, 0, 0, 1);
	counts(w, 1, 0, 1);
	/* Requeued, it waits in both again, and starts in the other one. */
	world_run_starts(w, id);
	world_control(w, world_admin(), JOB_REQUEUE, id);
	in_b = submit(w, "b", "h100:2");
	world_run_ends(w, id, 143);
	world_schedule(w);
	assert_in(w, id, "CONFIGURING", "b");
	assert_in(w, in_b, "PENDING", "b");
	world_run_starts(w, id);
	world_run_ends(w, in_a, 0);
	world_control(w, world_admin(), JOB_REQUEUE, id);
	world_seal(w);
	world_run_ends(w, id, 143);
	world_schedule(w);
	assert_in(w, id, "CONFIGURING", "a");
	assert_in(w, in_b, "CONFIGURING", "b");
	assert_int_equal(world_view(w, id).cpus, 1);
	world_free(w);
}

static void a_restart_keeps_the_list(void **state)
{
	struct world *w = cluster("", "", "");
	uint64_t id;

	(void)state;
	running(w, "a");
	running(w, "b");
	id = submit(w, "b,a", "h100:2");
	world_restart(w);
	assert_in(w, id, "PENDING", "b,a");
	world_free(w);
}

static void tasks_start_in_different_partitions(void **state)
{
	struct world *w = cluster("", "", "");
	struct submit_job job = world_job(w, "h100:2");
	uint64_t id;

	(void)state;
	job.partition = "a,b";
	job.array = "0-3";
	id = world_submit_job(w, &job, OWNER);
	world_schedule(w);
	assert_string_equal(world_task_view(w, id, 0).partition, "a");
	assert_string_equal(world_task_view(w, id, 1).partition, "b");
	assert_in(w, id, "PENDING", "a,b");
	counts(w, 0, 2, 1);
	counts(w, 1, 2, 1);
	world_free(w);
}

static void a_partition_that_refuses_is_left_out(void **state)
{
	struct world *w = cluster("max_time = \"1:00:00\";", "state = \"drain\";", "");
	struct submit_job job = world_job(w, "h100:2");
	uint64_t id;

	(void)state;
	id = submit(w, "a,b", "h100:2");
	assert_in(w, id, "CONFIGURING", "a");
	assert_string_equal(left_out,
	        "left out: partition b: --partition=b: it takes no jobs, it is drained");
	id = submit(w, "a,b,both", "h100:2");
	assert_non_null(strstr(left_out, "partition b:"));
	assert_in(w, id, "CONFIGURING", "both");
	/* All refuse: an error that names each. */
	job.partition = "a,b";
	job.time_limit_s = 7200;
	assert_int_equal(world_submit_job(w, &job, OWNER), 0);
	assert_int_equal(w->error.code, ERR_TIME_LIMIT);
	assert_non_null(strstr(w->error.text, "partition a: "));
	assert_non_null(strstr(w->error.text, "partition b: "));
	/* A name that there is not is a mistake. */
	assert_int_equal(submit(w, "a,c", "h100:2"), 0);
	assert_int_equal(w->error.code, ERR_NO_PARTITION);
	assert_int_equal(submit(w, "a,,b", "h100:2"), 0);
	assert_int_equal(submit(w, ",", "h100:2"), 0);
	/* Twice the same is once. */
	assert_in(w, submit(w, "both,both", "h100:2"), "PENDING", "both");
	world_free(w);
}

static void a_list_is_bounded(void **state)
{
	char conf[4096], list[256] = "";
	size_t used, names = 0;
	struct world *w;
	int p;

	(void)state;
	used = (size_t)snprintf(conf, sizeof(conf), NODES "partitions = ( ");
	for (p = 0; p <= JOB_CHOICES_MAX; p++) {
		used += (size_t)snprintf(conf + used, sizeof(conf) - used,
		        "%s{ name = \"p%d\"; nodes = \"ALL\"; }", p ? "," : "", p);
		names += (size_t)snprintf(
		        list + names, sizeof(list) - names, "%sp%d", p ? "," : "", p);
	}
	snprintf(conf + used, sizeof(conf) - used, " );\n");
	w = world_new(conf);
	world_register_all(w);
	assert_int_equal(submit(w, list, "h100:2"), 0);
	assert_int_equal(w->error.code, ERR_JOB_SPEC);
	*strrchr(list, ',') = '\0';
	assert_in(w, submit(w, list, "h100:2"), "CONFIGURING", "p0");
	assert_in(w, submit(w, list, "h100:2"), "CONFIGURING", "p0");
	assert_in(w, submit(w, list, "h100:2"), "PENDING", list);
	world_seal(w);
	world_free(w);
}

/* What a row may not say. */
static void texts_are_checked(void **state)
{
	static const char *const bad[][2] = { { "", "1/1/1" }, { "a,", "" }, { ",a", "" },
		{ "a,a", "" }, { "a,b", "1/1/1" }, { "a,b", "1/1/1," }, { "a,b", "1/1/1,2/2/2,3/3/3" },
		{ "a,b", "1/1,1/1/1" }, { "a,b", "1/1/x,1/1/1" }, { "a,b", "4294967296/1/1,1/1/1" },
		{ "a,b", "1/1/1,1/1/1," } };

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		if (job_choices_valid(bad[i][0], bad[i][1]))
			fail_msg("row %zu", i);
	}
	assert_true(job_choices_valid("", ""));
	assert_true(job_choices_valid("a,b", ""));
	assert_true(job_choices_valid("a,b", "4294967295/9223372036854775807/0,1/1/1"));
}

static uint32_t update(
        struct world *w, uint64_t id, const struct submit_job *change, uint64_t fields)
{
	struct core_event e = { .kind = EV_JOB_CONTROL,
		.caller = world_admin(),
		.job = { .verb = JOB_UPDATE, .ids = &id, .n = 1, .change = change, .fields = fields } };

	w->error.code = 0;
	world_apply(w, &e);
	world_schedule(w);
	return w->done;
}

static void it_is_updated_as_a_whole(void **state)
{
	struct world *w = cluster("max_time = \"3:00:00\";", "", "");
	struct submit_job change = { .partition = "b,a" };
	uint64_t id;

	(void)state;
	running(w, "a");
	running(w, "b");
	id = submit(w, "a", "h100:2");
	assert_int_equal(update(w, id, &change, UPDATE_PARTITION), 1);
	assert_in(w, id, "PENDING", "b,a");
	/* The time limit of a was kept: only what differs among partitions follows them. */
	assert_int_equal(world_view(w, id).time_limit_s, 3600);
	change.time_limit_s = 4 * 3600;
	assert_int_equal(update(w, id, &change, UPDATE_TIME), 0);
	assert_non_null(strstr(w->error.text, "partition a: "));
	assert_in(w, id, "PENDING", "b,a");
	change.time_limit_s = 1800;
	assert_int_equal(update(w, id, &change, UPDATE_TIME), 1);
	assert_int_equal(world_view(w, id).time_limit_s, 1800);
	change.partition = "b";
	assert_int_equal(update(w, id, &change, UPDATE_PARTITION), 1);
	assert_in(w, id, "PENDING", "b");
	counts(w, 0, 0, 1);
	counts(w, 1, 1, 1);
	world_seal(w);
	world_free(w);
}

/* A partition that is gone keeps the job from nothing in the others. */
static void a_reload_removes_a_partition(void **state)
{
	struct world *w = cluster("", "", "");
	uint64_t in_a = running(w, "a"), id;
	struct submit_job change = { .nice = 5 };

	(void)state;
	running(w, "b");
	id = submit(w, "b,a", "h100:2");
	world_reconfigure(w, NODES "partitions = ( { name = \"a\"; nodes = \"n0\"; } );\n");
	assert_in(w, id, "PENDING", "b,a");
	world_run_ends(w, in_a, 0);
	world_schedule(w);
	assert_in(w, id, "CONFIGURING", "a");
	id = submit(w, "a", "h100:2");
	world_reconfigure(w, conf_with("", "", ""));
	change.partition = "b,a";
	assert_int_equal(update(w, id, &change, UPDATE_PARTITION), 1);
	world_reconfigure(w, NODES "partitions = ( { name = \"a\"; nodes = \"n0\"; } );\n");
	assert_int_equal(update(w, id, &change, UPDATE_NICE), 1);
	assert_in(w, id, "PENDING", "a");
	world_free(w);
}

/* --- planned starts and victims --------------------------------------------------------------- */

static struct class_link *link_in(struct world *w, uint64_t id, uint32_t k)
{
	return class_link(job_queued(jobs_find(w->core->jobs, id), k)->class);
}

static void it_has_one_planned_start_the_soonest(void **state)
{
	struct world *w = cluster("", "", "");
	struct submit_job job = world_job(w, "h100:2");
	struct job_why why;
	uint64_t id;

	(void)state;
	running(w, "a");
	job.partition = "b";
	job.time_limit_s = 600;
	world_run_starts(w, world_submit_job(w, &job, OWNER));
	id = submit(w, "a,b", "h100:2");
	world_pass(w, 5);
	world_schedule(w);
	assert_null(link_in(w, id, 0)->reservation);
	assert_non_null(link_in(w, id, 1)->reservation);
	assert_int_equal(plan_count(sched_view(w->core->sched)->plan), 1);
	assert_string_equal(world_view(w, id).planned_nodes, "n1");
	assert_true(core_job_why(w->core, id, w->now, &why));
	assert_int_equal(why.n_blockers, 2);
	assert_string_equal(why.blockers[0].reason, "Resources");
	assert_string_equal(why.blockers[0].partition, "a");
	assert_string_equal(why.blockers[1].partition, "b");
	assert_string_equal(why.planned_nodes, "n1");
	world_free(w);
}

/* What is planned for the job itself in one partition takes nothing from it in another: not of the
 * limits of its account. */
static void its_plan_does_not_keep_it_from_starting(void **state)
{
	struct world *w = cluster("tier = 5;", "",
	        "accounts = ( { name = \"x\"; limits = { gpus = \"h100:4\"; };\n"
	        "  members = [ \"*\" ]; } );\n");
	uint64_t id, in_b;

	(void)state;
	running(w, "a");
	in_b = running(w, "b");
	id = submit(w, "a,b", "h100:2");
	assert_in(w, id, "PENDING", "a,b");
	world_pass(w, 5);
	world_schedule(w);
	world_run_ends(w, in_b, 0);
	world_schedule(w);
	assert_in(w, id, "CONFIGURING", "b");
	world_free(w);
}

static void one_victim_is_enough(void **state)
{
	struct world *w = cluster("preempt_mode = \"requeue\"; min_run = \"0s\"; grace = \"30s\";",
	        "preempt_mode = \"requeue\"; min_run = \"0s\"; grace = \"30s\";",
	        "qos = ( { name = \"low\"; default = true; },\n"
	        "  { name = \"high\"; preempts = [ \"low\" ]; } );\n");
	struct submit_job job = world_job(w, "h100:2");
	uint64_t in_a = running(w, "a"), in_b = running(w, "b"), id;

	(void)state;
	job.partition = "a,b";
	job.qos = "high";
	id = world_submit_job(w, &job, OWNER);
	world_schedule(w);
	world_pass(w, 5);
	world_schedule(w);
	assert_int_equal(world_effect_count(w, EFFECT_END_RUN), 1);
	assert_int_equal(plan_count(sched_view(w->core->sched)->plan), 1);
	/* If the other partition has room first, the job starts there. */
	in_a = world_effect(w, EFFECT_END_RUN)->run.run.job == in_a ? in_b : in_a;
	world_run_ends(w, in_a, 0);
	world_schedule(w);
	assert_string_equal(world_state(w, id), "CONFIGURING");
	assert_int_equal(world_effect_count(w, EFFECT_END_RUN), 1);
	world_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_starts_where_there_is_room),
		cmocka_unit_test(it_waits_in_all_and_after_a_restart),
		cmocka_unit_test(a_restart_keeps_the_list),
		cmocka_unit_test(tasks_start_in_different_partitions),
		cmocka_unit_test(a_partition_that_refuses_is_left_out),
		cmocka_unit_test(a_list_is_bounded),
		cmocka_unit_test(texts_are_checked),
		cmocka_unit_test(it_is_updated_as_a_whole),
		cmocka_unit_test(a_reload_removes_a_partition),
		cmocka_unit_test(it_has_one_planned_start_the_soonest),
		cmocka_unit_test(its_plan_does_not_keep_it_from_starting),
		cmocka_unit_test(one_victim_is_enough),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
