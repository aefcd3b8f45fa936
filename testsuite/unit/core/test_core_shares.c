/* test_core_shares.c - parts of GPUs in the whole core: who starts, what is planned, who is stopped
 *
 * Small clusters, with the core's own check after each event. Whose runs share a GPU
 * (`share_users`) is asked by all of it alike.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "ctld/core/explain/blockers.h"
#include "ctld/core/explain/suggest.h"
#include "testsuite/unit/lib/core_world.h"

#define HEAD                                                                                    \
	"cluster = \"test\"; controller = { host = \"h\"; node_timeout = \"1d\"; };\n"          \
	"gpu_types = ( { name = \"l40s\"; mem = \"48G\"; mem_reserve = \"8G\"; price = 8.0; } " \
	");\n"
#define NODES(nodes, gpus, more)                                                                \
	"nodes = ( { name = \"" nodes "\"; cpus = 8; mem = \"64G\"; gpus = \"l40s:" gpus "\"; " \
	"share = \"watch\"; " more " } );\n"
#define ONE "share_users = \"one\";"
#define PARTITIONS                                                                        \
	"partitions = ( { name = \"batch\"; nodes = \"ALL\"; default = true; tier = 1;\n" \
	"    preempt_mode = \"requeue\"; min_run = \"0s\"; grace = \"10s\";\n"            \
	"    max_time = \"unlimited\"; },\n"                                              \
	"  { name = \"urgent\"; nodes = \"ALL\"; tier = 9; max_time = \"unlimited\"; } );\n"

enum { ANA = 1001, BOB };

static struct submit_job part(struct world *w, uint32_t milli, uint32_t time_s)
{
	struct submit_job job = world_job(w, "");

	job.gpu_share_milli = milli;
	job.time_limit_s = time_s;
	job.requeue = true;
	job.max_attempts = 9;
	return job;
}

static uint64_t submit(struct world *w, uint32_t uid, uint32_t milli, uint32_t time_s)
{
	struct submit_job job = part(w, milli, time_s);
	uint64_t id = world_submit_job(w, &job, uid);

	assert_int_not_equal(id, 0);
	return id;
}

static void runs(struct world *w, uint64_t job)
{
	assert_string_equal(world_reason(w, job), "");
	assert_string_equal(world_state(w, job), "CONFIGURING");
	world_run_starts(w, job);
}

static uint64_t gpus_of(struct world *w, uint64_t job)
{
	struct run_view v;
	uint32_t rank = 0;

	assert_true(core_job_run_next(w->core, job, &rank, w->now, &v));
	return v.gpus;
}

static struct run_report alive(struct world *w, uint64_t job)
{
	struct run_report r = world_alive(w, job);

	r.gpus = gpus_of(w, job);
	return r;
}

static void waits(struct world *w, uint64_t job, const char *reason)
{
	assert_string_equal(world_state(w, job), "PENDING");
	assert_string_equal(world_reason(w, job), reason);
}

static struct world *cluster(const char *conf)
{
	struct world *w = world_new(conf);

	world_register_all(w);
	return w;
}

/* --- whose ----------------------------------------------------------------------------------- */

static void users_are_kept_apart(void **state)
{
	struct world *w = cluster(HEAD NODES("n0", "2", ONE) PARTITIONS);
	uint64_t ana, again, bob, third, whole;
	struct submit_job job;

	(void)state;
	ana = submit(w, ANA, 250, 0);
	runs(w, ana);
	bob = submit(w, BOB, 250, 0);
	runs(w, bob);
	assert_int_not_equal(gpus_of(w, ana), gpus_of(w, bob));
	again = submit(w, ANA, 500, 0);
	runs(w, again);
	assert_int_equal(gpus_of(w, ana), gpus_of(w, again));
	/* Half of bob's GPU is free, and that is no more for ana. */
	third = submit(w, ANA, 500, 0);
	waits(w, third, "Resources");
	assert_non_null(strstr(world_view(w, third).reason_text,
	        "1 node has only GPUs of other users' jobs left"));
	/* A user who was not there before has none. */
	waits(w, submit(w, 1003, 100, 0), "Resources");
	world_restart(w);
	world_register(w, 0, "inc1",
	        (struct run_report[]){ alive(w, ana), alive(w, again), alive(w, bob) }, 3);
	world_schedule(w);
	waits(w, third, "Resources");
	/* When bob's has gone the GPU is anybody's: the first of those who wait. */
	world_run_ends(w, bob, 0);
	runs(w, third);
	assert_int_not_equal(gpus_of(w, third), gpus_of(w, ana));
	job = world_job(w, "l40s:1");
	whole = world_submit_job(w, &job, ANA);
	waits(w, whole, "Resources");
	world_free(w);
}

/* On nodes that do not ask for it nothing is different, also beside some that do. */
static void elsewhere_they_are_together(void **state)
{
	struct world *w = cluster(
	        HEAD "nodes = ( { name = \"n0\"; cpus = 8; mem = \"64G\"; gpus = \"l40s:1\";\n"
	             "  share = \"watch\"; share_users = \"one\"; },\n"
	             "  { name = \"n1\"; cpus = 8; mem = \"64G\"; gpus = \"l40s:1\";\n"
	             "  share = \"watch\"; } );\n" PARTITIONS);
	uint64_t ids[4];
	unsigned i, on[2] = { 0, 0 };

	(void)state;
	for (i = 0; i < 4; i++) {
		ids[i] = submit(w, 1001 + i, 250, 0);
		if (!strcmp(world_state(w, ids[i]), "CONFIGURING"))
			on[world_node_of(w, ids[i])]++;
	}
	assert_int_equal(on[0], 1);
	assert_int_equal(on[1], 3);
	world_free(w);
}

/* Who comes after somebody of another user is tried himself: they do not see the same GPUs. */
static void one_is_not_refused_for_all(void **state)
{
	struct world *w = cluster(HEAD NODES("n0", "1", ONE) PARTITIONS);
	uint64_t ana, bob[5], next;
	unsigned i;

	(void)state;
	ana = submit(w, ANA, 250, 600);
	runs(w, ana);
	for (i = 0; i < 5; i++)
		bob[i] = submit(w, BOB + i, 250, 600);
	next = submit(w, ANA, 250, 300);
	runs(w, next);
	world_run_ends(w, next, 0);
	for (i = 0; i < 5; i++)
		waits(w, bob[i], "Resources");
	world_free(w);
}

/* Others were together before the configuration said so. */
static void a_mixed_gpu_is_left_alone(void **state)
{
	struct world *w = cluster(HEAD NODES("n0", "1", "") PARTITIONS);
	uint64_t ana = submit(w, ANA, 250, 0), bob = submit(w, BOB, 250, 0), more, other, last;
	struct job_why why;

	(void)state;
	runs(w, ana);
	runs(w, bob);
	world_reconfigure(w, HEAD NODES("n0", "1", ONE) PARTITIONS);
	world_schedule(w);
	more = submit(w, ANA, 250, 0);
	waits(w, more, "Resources");
	world_run_ends(w, ana, 0);
	waits(w, more, "Resources");
	/* What is asked only ends nothing: the GPU is as it was. */
	other = submit(w, BOB, 250, 0);
	waits(w, other, "Resources");
	assert_true(core_job_why(w->core, other, w->now, &why));
	assert_true(why.n_blockers > 0);
	last = submit(w, BOB, 125, 0);
	waits(w, last, "Resources");
	assert_int_equal(world_control(w, world_admin(), JOB_CANCEL, last), 1);
	assert_int_equal(world_control(w, world_admin(), JOB_CANCEL, other), 1);
	world_run_ends(w, bob, 0);
	runs(w, more);
	/* And back: it is of no more consequence whose it is. */
	bob = submit(w, BOB, 250, 0);
	waits(w, bob, "Resources");
	world_reconfigure(w, HEAD NODES("n0", "1", "") PARTITIONS);
	world_schedule(w);
	runs(w, bob);
	world_free(w);
}

/* --- later ----------------------------------------------------------------------------------- */

/* What is planned for bob when ana's last run has ended is not put off by more of ana's. */
static void backfill_keeps_a_gpu_free_of_others(void **state)
{
	struct world *w = cluster(HEAD NODES("n0", "1", ONE) PARTITIONS);
	uint64_t first, second, bob, late, brief;
	usec_t planned;

	(void)state;
	first = submit(w, ANA, 250, 600);
	second = submit(w, ANA, 250, 3600);
	runs(w, first);
	runs(w, second);
	bob = submit(w, BOB, 250, 600);
	planned = world_view(w, bob).planned_start;
	assert_true(planned >= w->now.wall + (usec_t)3600 * 1000000);
	late = submit(w, ANA, 250, 7200);
	waits(w, late, "Priority");
	brief = submit(w, ANA, 250, 600);
	runs(w, brief);
	assert_true(world_view(w, bob).planned_start == planned);
	world_run_ends(w, brief, 0);
	world_run_ends(w, first, 0);
	waits(w, bob, "Resources");
	world_run_ends(w, second, 0);
	runs(w, bob);
	assert_string_equal(world_state(w, late), "PENDING");
	world_run_ends(w, bob, 0);
	runs(w, late);
	world_free(w);
}

/* Victims: all of the other user's on one GPU, none where one's own have room. */
static void all_of_another_user_go(void **state)
{
	struct world *w = cluster(HEAD NODES("n0", "1", ONE) PARTITIONS);
	uint64_t ana[3], urgent, mine;
	struct submit_job job;
	unsigned i;

	(void)state;
	for (i = 0; i < 3; i++) {
		ana[i] = submit(w, ANA, 200, 0);
		runs(w, ana[i]);
	}
	job = part(w, 100, 600);
	job.partition = "urgent";
	mine = world_submit_job(w, &job, ANA);
	runs(w, mine);
	world_run_ends(w, mine, 0);
	urgent = world_submit_job(w, &job, BOB);
	world_pass(w, 2);
	for (i = 0; i < 3; i++)
		assert_string_equal(world_state(w, ana[i]), "COMPLETING");
	for (i = 0; i < 3; i++) {
		struct run_report r = world_report(world_run(w, ana[i]), REPORT_ENDED);

		r.cause = END_PREEMPT;
		world_say(w, 0, r);
		world_schedule(w);
		assert_string_equal(world_state(w, urgent), i < 2 ? "PENDING" : "CONFIGURING");
	}
	runs(w, urgent);
	for (i = 0; i < 3; i++)
		assert_string_equal(world_state(w, ana[i]), "PENDING");
	world_free(w);
}

/* --- words ----------------------------------------------------------------------------------- */

static void says(struct world *w, uint64_t mem_mb, uint32_t milli, const char *words)
{
	struct submit_job job = part(w, milli, 600);
	uint64_t id;

	job.gpu_mem_mb = mem_mb;
	id = world_submit_job(w, &job, ANA);
	waits(w, id, "Resources");
	assert_string_equal(world_view(w, id).reason_text, words);
	world_control(w, world_user(ANA), JOB_CANCEL, id);
}

/* What is asked for is said with the part, and so is what is left. */
static void parts_are_said(void **state)
{
	struct world *w = cluster(HEAD NODES("n[0-1]", "1", "") PARTITIONS);
	struct submit_job job;
	struct job_why why;
	uint64_t id;

	(void)state;
	runs(w, submit(w, ANA, 700, 3600));
	runs(w, submit(w, ANA, 800, 3600));
	says(w, 20480, 0,
	        "needs any:1/20G on one node of batch: 2 nodes have less left of a GPU "
	        "(n0 12G, n1 8G)");
	says(w, 20480, 125,
	        "needs any:1/20G,12.5% on one node of batch: 2 nodes have less left of "
	        "a GPU (n0 30%, n1 20%)");
	says(w, 0, 500,
	        "needs any:1/50% on one node of batch: 2 nodes have less left of a GPU "
	        "(n0 30%, n1 20%)");
	job = part(w, 500, 600);
	id = world_submit_job(w, &job, ANA);
	assert_true(core_job_why(w->core, id, w->now, &why));
	assert_true(why.n_changes > 0);
	assert_string_equal(why.changes[0].option, "--gpu-share=30%");
	assert_string_equal(why.changes[0].effect, "on n0 with l40s:1/12G,30% (GPU 0)");
	world_free(w);
}

static void state_is(struct world *w, const char *state)
{
	assert_string_equal(world_node_view(w, 0).state, state);
}

/* A node of which a part can still be had is not all allocated. */
static void a_node_with_parts_left_is_mixed(void **state)
{
	struct world *w = cluster(HEAD NODES("n0", "1", "") PARTITIONS);
	struct submit_job job = part(w, 300, 3600);
	uint64_t id;

	(void)state;
	state_is(w, "idle");
	runs(w, submit(w, ANA, 700, 3600));
	state_is(w, "mixed");
	id = submit(w, ANA, 300, 3600);
	runs(w, id);
	state_is(w, "allocated");
	world_run_ends(w, id, 0);
	/* All of its compute is taken, and not of its memory: who asks for memory alone starts. */
	job.gpu_mem_mb = 1024;
	runs(w, world_submit_job(w, &job, ANA));
	state_is(w, "mixed");
	job = part(w, 0, 3600);
	job.gpu_mem_mb = 11264;
	runs(w, world_submit_job(w, &job, ANA));
	state_is(w, "allocated");
	world_free(w);
}

/* Whoever asks what would be asks for nothing: what is typical stays what it was, and nobody is to
 * be tried again. */
static void asking_is_no_request(void **state)
{
	struct world *w = cluster(HEAD NODES("n[0-1]", "1", "") PARTITIONS);
	struct job_why first, why;
	uint64_t id;
	unsigned i;

	(void)state;
	runs(w, submit(w, ANA, 700, 3600));
	runs(w, submit(w, ANA, 800, 3600));
	id = submit(w, ANA, 500, 600);
	world_pass(w, 2);
	assert_true(core_job_why(w->core, id, w->now, &first));
	assert_true(!first.cut_short && first.n_changes > 0);
	for (i = 0; i < 40; i++) {
		assert_true(core_job_why(w->core, id, w->now, &why));
		assert_false(why.cut_short);
		assert_int_equal(why.n_changes, first.n_changes);
	}
	world_free(w);
}

static double cost_of;

static void keep_cost(void *arg, const struct effect *effect)
{
	(void)arg;
	if (effect->kind == EFFECT_SUBMITTED)
		cost_of = effect->submitted.cost_max;
}

/* The most that it costs, as --test-only says; of a GPU at 8 an hour. */
static double cost(struct world *w, struct submit_job job)
{
	cost_of = -2;
	world_apply(w, &(struct core_event){ .kind = EV_SUBMIT,
	                       .caller = world_user(ANA),
	                       .submit = { .jobs = &job, .n = 1, .test_only = true } });
	return cost_of;
}

static void a_part_costs_its_part(void **state)
{
	struct world *w = cluster(HEAD NODES("n0", "1", "") PARTITIONS);
	struct submit_job job = part(w, 250, 3600);

	(void)state;
	w->hook = keep_cost;
	assert_true(cost(w, job) == 2.0);
	job.gpu_mem_mb = 20480; /* the larger of the two counts */
	assert_true(cost(w, job) == 4.0);
	job = world_job(w, "l40s:1");
	job.time_limit_s = 3600;
	assert_true(cost(w, job) == 8.0);
	/* Also while it waits. */
	runs(w, submit(w, ANA, 1000, 3600));
	assert_true(cost(w, part(w, 250, 3600)) == 2.0);
	world_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(users_are_kept_apart),
		cmocka_unit_test(elsewhere_they_are_together),
		cmocka_unit_test(one_is_not_refused_for_all),
		cmocka_unit_test(a_mixed_gpu_is_left_alone),
		cmocka_unit_test(backfill_keeps_a_gpu_free_of_others),
		cmocka_unit_test(all_of_another_user_go),
		cmocka_unit_test(parts_are_said),
		cmocka_unit_test(a_node_with_parts_left_is_mixed),
		cmocka_unit_test(asking_is_no_request),
		cmocka_unit_test(a_part_costs_its_part),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
