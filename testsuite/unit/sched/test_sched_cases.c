/* test_sched_cases.c - what the scheduler owes, one small cluster a promise
 *
 * Beside the random histories of test_sched_policy.c: things that they meet seldom.
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

#define HEAD                                                                           \
	"cluster = \"test\"; controller = { host = \"h\"; node_timeout = \"1d\"; };\n" \
	"gpu_types = ( { name = \"h100\"; mem = \"80G\"; } );\n"                       \
	"licences = ( { name = \"lic\"; count = 2; } );\n"
#define NODES(n) \
	"nodes = ( { name = \"n[0-" n "]\"; cpus = 8; mem = \"64G\"; gpus = \"h100:8\"; } );\n"
#define PARTITIONS                                                                        \
	"partitions = ( { name = \"batch\"; nodes = \"ALL\"; default = true; tier = 1;\n" \
	"    preempt_mode = \"requeue\"; min_run = \"0s\"; grace = \"10s\";\n"            \
	"    max_time = \"unlimited\"; },\n"                                              \
	"  { name = \"urgent\"; nodes = \"ALL\"; tier = 9; max_time = \"unlimited\"; } );\n"

static uint64_t submit(struct world *w, const char *gpus, const char *partition,
        const char *account, uint32_t time_s)
{
	struct submit_job job = world_job(w, gpus);

	job.partition = partition;
	job.account = account;
	job.time_limit_s = time_s;
	job.requeue = true;
	job.max_attempts = 9;
	return world_submit_job(w, &job, 1000);
}

static void runs(struct world *w, uint64_t job)
{
	assert_string_equal(world_reason(w, job), "");
	assert_string_equal(world_state(w, job), "CONFIGURING");
	world_run_starts(w, job);
}

static void is_over(struct world *w, uint64_t job)
{
	struct run_report r = world_report(world_run(w, job), REPORT_ENDED);

	r.cause = END_PREEMPT;
	world_say(w, world_node_of(w, job), r);
}

static bool stops(struct world *w, uint64_t job)
{
	return !strcmp(world_state(w, job), "COMPLETING");
}

/* --- reclaiming for a gang ------------------------------------------------------------------- */

/* b lends what it is guaranteed. a is over its own by 4: not by what a gang of b would like on two
 * nodes, of which each by itself could be had. */
static void victims_of_a_gang(void **state)
{
	struct world *w = world_new(HEAD NODES("1") PARTITIONS
	        "accounts = ( { name = \"a\"; members = [ \"*\" ];\n"
	        "    quota = { guaranteed = \"h100:8\"; }; },\n"
	        "  { name = \"b\"; members = [ \"*\" ]; quota = { guaranteed = \"h100:8\"; }; },\n"
	        "  { name = \"c\"; members = [ \"*\" ]; } );\n");
	struct submit_job gang;
	uint64_t a[3], c, b;
	unsigned i, n = 0;

	(void)state;
	world_register_all(w);
	c = submit(w, "h100:4", "batch", "c", 9000);
	runs(w, c);
	for (i = 0; i < 3; i++) {
		a[i] = submit(w, "h100:4", "batch", "a", 9000);
		runs(w, a[i]);
	}
	world_pass(w, 5);
	gang = world_job(w, "h100:4");
	gang.account = "b";
	gang.nodes_min = gang.nodes_max = 2;
	gang.gpus_per_node = true;
	gang.time_limit_s = 600;
	b = world_submit_job(w, &gang, 1000);
	world_pass(w, 2);
	for (i = 0; i < 3; i++)
		n += stops(w, a[i]);
	/* One of a's, and c's, which is guaranteed nothing. */
	assert_int_equal(n, 1);
	assert_true(stops(w, c));
	assert_string_equal(world_state(w, b), "PENDING");
	world_free(w);
}

/* --- a search in steps ----------------------------------------------------------------------- */

#define FULL 3 /* nodes, and jobs that have one each */

struct broken_off {
	unsigned asked, at; /* how often breaks_off was; when it says yes, from 1 */
};

static bool breaks_off(void *arg)
{
	struct broken_off *steps = arg;

	return ++steps->asked == steps->at;
}

/* FULL jobs of tier 1 have a node each; one of a higher tier needs a node, and its search, of a
 * node each step, was broken off after the step `at`, counted from the one that tried the job. */
static uint64_t searched(struct world *w, struct broken_off *steps, unsigned at, uint64_t low[FULL])
{
	uint64_t high;
	unsigned i;

	world_register_all(w);
	for (i = 0; i < FULL; i++) {
		low[i] = submit(w, "h100:8", "batch", "", 9000);
		runs(w, low[i]);
		world_pass(w, 60);
	}
	world_search_step(w, 1);
	*steps = (struct broken_off){ .at = at };
	w->breaks_off = breaks_off;
	w->hook_arg = steps;
	high = submit(w, "h100:8", "urgent", "", 600);
	assert_int_equal(steps->asked, at);
	assert_true(sched_searching(w->core->sched));
	assert_false(sched_idle(w->core->sched));
	for (i = 0; i < FULL; i++)
		assert_false(stops(w, low[i]));
	return high;
}

/* As if there had been one step: who has lost least is stopped. */
static void a_search_in_steps(void **state)
{
	struct world *w = world_new(HEAD NODES("2") PARTITIONS);
	uint64_t low[FULL], high;
	struct broken_off steps;

	(void)state;
	high = searched(w, &steps, 2, low);
	world_schedule(w);
	assert_true(steps.asked >= FULL); /* the one that takes, too */
	assert_false(sched_searching(w->core->sched));
	assert_false(stops(w, low[0]));
	assert_false(stops(w, low[1]));
	assert_true(stops(w, low[2]));
	is_over(w, low[2]);
	runs(w, high);
	world_free(w);
}

/* The node that was to be taken is not to be had any more. */
static void what_was_seen_has_changed(void **state)
{
	struct world *w = world_new(HEAD NODES("2") PARTITIONS);
	uint64_t low[FULL];
	struct broken_off steps;

	(void)state;
	searched(w, &steps, FULL, low);
	world_node(w, NODE_DRAIN, world_node_of(w, low[2]), false);
	assert_false(sched_searching(w->core->sched));
	assert_false(stops(w, low[2]));
	assert_true(stops(w, low[1]));
	world_free(w);
}

/* Nobody needs to be stopped any more, or there is nobody left to be stopped for. */
static void searched_for_nothing(void **state)
{
	struct world *w;
	uint64_t low[FULL], high;
	struct broken_off steps;
	unsigned i, k;

	(void)state;
	for (i = 0; i < 2; i++) {
		w = world_new(HEAD NODES("2") PARTITIONS);
		high = searched(w, &steps, FULL, low);
		if (i) {
			world_control(w, world_admin(), JOB_CANCEL, high);
		} else {
			world_run_ends(w, low[0], 0);
			runs(w, high);
		}
		assert_false(sched_searching(w->core->sched));
		for (k = 0; k < FULL; k++)
			assert_false(stops(w, low[k]));
		world_free(w);
	}
}

/* --- limits and planned starts ---------------------------------------------------------------- */

static uint64_t with_licences(
        struct world *w, const char *gpus, uint32_t time_s, const char *licences, int nice)
{
	struct submit_job job = world_job(w, gpus);

	job.time_limit_s = time_s;
	job.licences = licences;
	job.nice = nice;
	return world_submit_job(w, &job, 1000);
}

static void licences_of_a_plan(void **state)
{
	struct world *w = world_new(HEAD NODES("1") PARTITIONS);
	uint64_t one, two, planned, lasts, brief, without;

	(void)state;
	world_register_all(w);
	one = submit(w, "h100:8", "batch", "", 1000);
	two = submit(w, "h100:4", "batch", "", 5000);
	runs(w, one);
	runs(w, two);
	/* Waits for the first to end; there are two licences. */
	planned = with_licences(w, "h100:8", 3600, "lic:2", 0);
	assert_true(world_view(w, planned).planned_start != 0);
	/* Beside the second there is room; but it would hold the licence too long. */
	lasts = with_licences(w, "h100:1", 4000, "lic:1", 5);
	assert_string_equal(world_state(w, lasts), "PENDING");
	assert_string_equal(world_reason(w, lasts), "Priority");
	brief = with_licences(w, "h100:1", 300, "lic:1", 6);
	runs(w, brief);
	without = with_licences(w, "h100:1", 4000, "", 7);
	runs(w, without);
	world_run_ends(w, brief, 0);
	assert_string_equal(world_state(w, lasts), "PENDING");
	/* When the planned one has gone, nothing holds it. */
	world_control(w, world_admin(), JOB_CANCEL, planned);
	assert_string_equal(world_state(w, lasts), "CONFIGURING");
	world_free(w);
}

/* --- a class's jobs, one after another ------------------------------------------------------- */

static void each_gets_victims(void **state)
{
	struct world *w = world_new(HEAD NODES("2") PARTITIONS);
	uint64_t low[3], high[3];
	unsigned i, k, running;

	(void)state;
	world_register_all(w);
	for (i = 0; i < 3; i++) {
		low[i] = submit(w, "h100:8", "batch", "", 90000);
		runs(w, low[i]);
	}
	for (i = 0; i < 3; i++)
		high[i] = submit(w, "h100:8", "urgent", "", 9000);
	for (i = 0; i < 3; i++) {
		unsigned stopping = 0, which = 0;

		for (k = 0; k < 3; k++) {
			stopping += stops(w, low[k]);
			which = stops(w, low[k]) ? k : which;
		}
		assert_int_equal(stopping, 1);
		is_over(w, low[which]);
		/* Its place is taken, and the next one's victim is told in the same pass. */
		for (k = running = 0; k < 3; k++)
			running += strcmp(world_state(w, high[k]), "PENDING") != 0;
		assert_int_equal(running, i + 1);
	}
	world_free(w);
}

/* --- a node that returns --------------------------------------------------------------------- */

/* What was planned on it is planned again before something is started that would delay it. */
static void plans_come_first(void **state)
{
	struct world *w = world_new(HEAD NODES("0") PARTITIONS);
	struct run_report alive[2];
	uint64_t brief, middle, all, lasts;

	(void)state;
	world_register_all(w);
	brief = submit(w, "h100:4", "batch", "", 3000);
	middle = submit(w, "h100:4", "batch", "", 2000);
	runs(w, brief);
	runs(w, middle);
	all = submit(w, "h100:8", "batch", "", 600);
	lasts = with_licences(w, "h100:4", 90000, "", 9);
	assert_true(world_view(w, all).planned_start != 0);
	world_pass(w, 5);
	alive[0] = world_alive(w, brief);
	alive[1] = world_alive(w, middle);
	world_gone(w, 0);
	world_pass(w, 5);
	assert_int_equal(world_view(w, all).planned_start, 0);
	/* It is heard again, and within the same second a run on it ends. */
	world_register(w, 0, "inc1", alive, 2);
	world_run_ends(w, brief, 0);
	assert_string_equal(world_state(w, lasts), "PENDING");
	assert_true(world_view(w, all).planned_start != 0);
	world_free(w);
}

/* --- many who ask for the same ---------------------------------------------------------------- */

#define MANY 200

static uint64_t tries(const struct world *w)
{
	struct sched_stats stats;

	sched_stats(w->core->sched, &stats);
	return stats.tried;
}

/* Each of a class of its own; the first is the best. */
static void many_wait(struct world *w, uint32_t time_s, uint64_t ids[MANY])
{
	unsigned i;

	for (i = 0; i < MANY; i++) {
		ids[i] = with_licences(w, "h100:1", time_s, "", 10 + (int)i);
		assert_string_equal(world_state(w, ids[i]), "PENDING");
	}
}

static struct world *one_planned(const char *weights)
{
	char text[2048];

	snprintf(text, sizeof(text), "%spriority = { weights = { age = 0; %s; }; };\n",
	        HEAD NODES("0") "partitions = ( { name = \"batch\"; nodes = \"ALL\";\n"
	                        "    default = true; plan_depth = 1;\n"
	                        "    max_time = \"unlimited\"; } );\n",
	        weights);
	return world_new(text);
}

/* The first of them takes what there is, and the others need not be tried to know it. */
static void one_look_for_all(void **state)
{
	struct world *w = one_planned("size = 0");
	uint64_t small, ids[MANY], before;

	(void)state;
	world_register_all(w);
	small = submit(w, "h100:1", "batch", "", 5000);
	runs(w, small);
	runs(w, submit(w, "h100:7", "batch", "", 90000));
	many_wait(w, 3600, ids);
	world_pass(w, 5);
	before = tries(w);
	world_run_ends(w, small, 0);
	assert_string_equal(world_state(w, ids[0]), "CONFIGURING");
	assert_string_equal(world_state(w, ids[1]), "PENDING");
	assert_in_range(tries(w) - before, 1, 5);
	world_free(w);
}

/* What is free is planned for somebody before them: the first is refused for all. */
static void one_is_refused_for_all(void **state)
{
	struct world *w = one_planned("size = 0");
	uint64_t small, all, ids[MANY], before;
	unsigned i, started = 0;

	(void)state;
	world_register_all(w);
	small = submit(w, "h100:2", "batch", "", 5000);
	runs(w, small);
	runs(w, submit(w, "h100:6", "batch", "", 6000));
	all = submit(w, "h100:8", "batch", "", 3600);
	assert_true(world_view(w, all).planned_start != 0);
	many_wait(w, 90000, ids);
	world_pass(w, 5);
	before = tries(w);
	world_run_ends(w, small, 0);
	assert_in_range(tries(w) - before, 1, 5);
	for (i = 0; i < MANY; i++)
		assert_string_equal(world_state(w, ids[i]), "PENDING");
	/* When nothing is planned any more they are not forgotten. */
	world_control(w, world_admin(), JOB_CANCEL, all);
	for (i = 0; i < MANY; i++)
		started += !strcmp(world_state(w, ids[i]), "CONFIGURING");
	assert_int_equal(started, 2);
	assert_string_equal(world_state(w, ids[1]), "CONFIGURING");
	world_free(w);
}

/* With time the others pass the planned one: of those that nobody has tried the best are started.
 */
static void who_rises_is_not_forgotten(void **state)
{
	struct world *w = one_planned("size = 0; wait_target = 1000");
	struct submit_job job;
	uint64_t small, all, ids[MANY];
	unsigned i, started = 0;

	(void)state;
	world_register_all(w);
	small = submit(w, "h100:2", "batch", "", 5000);
	runs(w, small);
	runs(w, submit(w, "h100:6", "batch", "", 60000));
	all = submit(w, "h100:8", "batch", "", 3600);
	assert_true(world_view(w, all).planned_start != 0);
	for (i = 0; i < MANY; i++) {
		job = world_job(w, "h100:1");
		job.time_limit_s = 90000;
		job.nice = 10 + (int)i;
		job.max_wait_s = 2000;
		ids[i] = world_submit_job(w, &job, 1000);
	}
	world_pass(w, 5);
	world_run_ends(w, small, 0);
	assert_string_equal(world_state(w, ids[0]), "PENDING");
	/* The one that was tried goes. */
	world_control(w, world_admin(), JOB_CANCEL, ids[0]);
	world_pass(w, 1000);
	/* Something changes the order: whoever comes. */
	with_licences(w, "h100:8", 90000, "", 900);
	world_pass(w, 2);
	for (i = 0; i < MANY; i++)
		started += !strcmp(world_state(w, ids[i]), "CONFIGURING");
	assert_int_equal(started, 2);
	assert_string_equal(world_state(w, ids[2]), "CONFIGURING");
	world_free(w);
}

/* --- a run that does not end ----------------------------------------------------------------- */

#define OVERDUE 600 /* seconds */

/* What is planned behind it is put off a few times, and what is free beside it is of use. */
static void a_run_that_is_stuck(void **state)
{
	struct world *w = one_planned("size = 0");
	uint64_t all, brief, lasts;
	usec_t planned = 0, next;
	unsigned s, moved = 0;

	(void)state;
	world_register_all(w);
	runs(w, submit(w, "h100:4", "batch", "", 1000));
	all = submit(w, "h100:8", "batch", "", 3600);
	planned = world_view(w, all).planned_start;
	assert_true(planned > w->now.wall);
	world_pass(w, (double)(planned - w->now.wall) / 1e6 + 70);
	brief = with_licences(w, "h100:4", 60, "", 90);
	lasts = with_licences(w, "h100:4", 600, "", 91);
	assert_string_equal(world_state(w, lasts), "PENDING");
	for (s = 70; s < OVERDUE; s++) {
		world_pass(w, 1);
		next = world_view(w, all).planned_start;
		moved += next != planned;
		planned = next;
		assert_string_equal(world_state(w, all), "PENDING");
	}
	/* At twice, four times, eight times and sixteen times a minute. */
	assert_in_range(moved, 1, 8);
	assert_string_not_equal(world_state(w, brief), "PENDING");
	world_free(w);
}

/* --- a start that is lost before another one moves up ----------------------------------------- */

static uint64_t needs(struct world *w, const char *gpus, uint32_t cpus, uint32_t time_s)
{
	struct submit_job job = world_job(w, gpus);

	job.cpus = cpus;
	job.time_limit_s = time_s;
	return world_submit_job(w, &job, 1000);
}

/* Seconds from now. */
static double starts_in(struct world *w, uint64_t job)
{
	return (double)(world_view(w, job).planned_start - w->now.wall) / 1e6;
}

/* Three starts are planned on a node, the first job's behind the others, because it needs CPUs.
 * These come free early, and between the last job's start and the second's there is too little time
 * for it. Then a run is overdue, and that is noticed when the first job's entry is to move up: the
 * last job loses its start, and what is left before the second one's does for either of them. The
 * last job has it again, and the first job keeps what it had. `work`: of one step of a search; 0:
 * all of it is one step. */
static void lose_and_move(size_t work)
{
	struct world *w = world_new(HEAD NODES("1")
	        "partitions = ( { name = \"batch\"; nodes = \"n0\"; default = true;\n"
	        "    max_time = \"unlimited\"; }, { name = \"other\"; nodes = \"n1\"; } );\n"
	        "priority = { weights = { age = 0; size = 0; }; };\n");
	uint64_t cpus, other, first, second, last;

	if (work)
		world_search_step(w, work);
	world_register_all(w);
	runs(w, needs(w, "h100:3", 1, 600)); /* it does not end */
	runs(w, needs(w, "h100:3", 1, 1300));
	runs(w, needs(w, "h100:2", 1, 2400));
	runs(w, cpus = needs(w, "", 4, 3600));
	runs(w, other = submit(w, "h100:1", "other", "", 9000));
	first = needs(w, "h100:6", 5, 600);
	second = needs(w, "h100:8", 1, 600);
	last = needs(w, "h100:6", 1, 600);
	world_pass(w, 100);
	world_run_ends(w, cpus, 0);
	world_pass(w, 10);
	world_pass(w, 1020);
	assert_true(starts_in(w, last) > 0 && starts_in(w, last) < 300);
	assert_true(starts_in(w, second) > starts_in(w, last) + 1000);
	assert_true(starts_in(w, first) > starts_in(w, second));
	/* An end on any node has entries looked over. */
	world_run_ends(w, other, 0);
	world_pass(w, 10);
	assert_true(starts_in(w, last) > 300 && starts_in(w, last) < 600);
	assert_true(starts_in(w, first) > starts_in(w, second));
	world_free(w);
}

static void a_lost_start_comes_first(void **state)
{
	(void)state;
	lose_and_move(1);
	lose_and_move(0);
}

/* --- a preemption reservation and what is kept for others
 * ------------------------------------------------------ */

/* Account c lends one of its two GPUs, and a is guaranteed none. Jobs of the QOS urgent stop those
 * of normal, whatever account they are of. */
#define KEPT                                                                                \
	"partitions = ( { name = \"batch\"; nodes = \"ALL\"; default = true;\n"             \
	"    preempt_mode = \"requeue\"; min_run = \"0s\"; grace = \"10s\"; } );\n"         \
	"qos = ( { name = \"normal\"; default = true; },\n"                                 \
	"  { name = \"urgent\"; preempts = [ \"normal\" ]; } );\n"                          \
	"accounts = ( { name = \"a\"; members = [ \"*\" ]; },\n"                            \
	"  { name = \"c\"; members = [ \"*\" ];\n"                                          \
	"    quota = { guaranteed = \"h100:2\"; lend = \"h100:1\"; }; } );\n"               \
	"priority = { weights = { age = 0; fair_share = 0; size = 0; partition = 0; qos = " \
	"0; }; };\n"

static struct world *kept_world(const char *nodes)
{
	char conf[4096];
	struct world *w;

	snprintf(conf, sizeof(conf), "%snodes = ( %s );\n%s", HEAD, nodes, KEPT);
	w = world_new(conf);
	world_register_all(w);
	return w;
}

static uint64_t asks(struct world *w, const char *gpus, const char *account, const char *qos,
        const char *nodelist)
{
	struct submit_job job = world_job(w, gpus);

	job.account = account;
	job.qos = qos;
	job.nodelist = nodelist;
	job.requeue = true;
	job.max_attempts = 9;
	return world_submit_job(w, &job, 1000);
}

/* One more GPU may be lent, and a job was stopped for the urgent one: it goes there, though another
 * job stands before it. Otherwise the job that was stopped would come back by its guarantee and be
 * stopped again, and so on for ever. */
static void what_is_lent_goes_to_a_claim(void **state)
{
	struct world *w =
	        kept_world("{ name = \"n0\"; cpus = 8; mem = \"64G\"; gpus = \"h100:2\"; }");
	uint64_t victim, before, urgent;

	(void)state;
	runs(w, victim = asks(w, "h100:2", "c", "normal", ""));
	before = asks(w, "h100:1", "a", "normal", "");
	assert_false(stops(w, victim));
	urgent = asks(w, "h100:1", "a", "urgent", "");
	assert_true(stops(w, victim));
	is_over(w, victim);
	runs(w, urgent);
	assert_string_equal(world_state(w, before), "PENDING");
	assert_string_equal(world_state(w, victim), "PENDING");
	world_run_ends(w, urgent, 0);
	runs(w, victim);
	world_free(w);
}

/* The same of a GPU that is free while the job still ends. What that job holds until then is not in
 * the way of others. */
static void what_will_be_lent_goes_to_a_claim(void **state)
{
	struct world *w =
	        kept_world("{ name = \"n0\"; cpus = 8; mem = \"64G\"; gpus = \"h100:2\"; },\n"
	                   "  { name = \"n[1-2]\"; cpus = 8; mem = \"64G\"; gpus = \"h100:1\"; }");
	uint64_t victim, first, second, urgent;

	(void)state;
	runs(w, victim = asks(w, "h100:2", "c", "normal", "n0"));
	urgent = asks(w, "h100:2", "a", "urgent", "n0");
	assert_true(stops(w, victim));
	runs(w, first = asks(w, "h100:1", "a", "normal", "n1"));
	second = asks(w, "h100:1", "a", "normal", "n2");
	assert_string_equal(world_state(w, second), "PENDING");
	is_over(w, victim);
	runs(w, urgent);
	assert_string_equal(world_state(w, second), "PENDING");
	world_run_ends(w, first, 0);
	runs(w, second);
	world_free(w);
}

/* Another run is told to end where the preemption reservation is: what it holds is no longer in the
 * way either. */
static void what_leaves_too_is_lent(void **state)
{
	struct world *w =
	        kept_world("{ name = \"n0\"; cpus = 8; mem = \"64G\"; gpus = \"h100:3\"; },\n"
	                   "  { name = \"n1\"; cpus = 8; mem = \"64G\"; gpus = \"h100:1\"; }");
	uint64_t victim, other, beside;

	(void)state;
	runs(w, victim = asks(w, "h100:2", "c", "normal", "n0"));
	runs(w, other = asks(w, "h100:1", "a", "urgent", "n0"));
	asks(w, "h100:2", "a", "urgent", "n0");
	assert_true(stops(w, victim));
	beside = asks(w, "h100:1", "a", "normal", "n1");
	assert_string_equal(world_state(w, beside), "PENDING");
	world_control(w, world_admin(), JOB_CANCEL, other);
	assert_true(stops(w, other));
	runs(w, beside);
	world_free(w);
}

/* The victim of another preemption reservation holds more than that preemption reservation takes:
 * the rest is not in the way. */
static void what_a_claim_leaves_over_is_lent(void **state)
{
	struct world *w =
	        kept_world("{ name = \"n[0,2]\"; cpus = 8; mem = \"64G\"; gpus = \"h100:2\"; },\n"
	                   "  { name = \"n1\"; cpus = 8; mem = \"64G\"; gpus = \"h100:1\"; }");
	uint64_t victim, other, beside;

	(void)state;
	runs(w, victim = asks(w, "h100:2", "c", "normal", "n0"));
	runs(w, other = asks(w, "h100:2", "a", "normal", "n2"));
	asks(w, "h100:2", "a", "urgent", "n0");
	assert_true(stops(w, victim));
	beside = asks(w, "h100:1", "a", "normal", "n1");
	assert_string_equal(world_state(w, beside), "PENDING");
	asks(w, "h100:1", "a", "urgent", "n2");
	assert_true(stops(w, other));
	runs(w, beside);
	world_free(w);
}

/* --- limits on what a gang gets -------------------------------------------------------------- */

static uint64_t gang_of_a(struct world *w, uint32_t least, uint32_t most, bool whole)
{
	struct submit_job job = world_job(w, "h100:1");

	job.account = "a";
	job.nodes_min = least;
	job.nodes_max = most;
	job.gpus_per_node = true;
	job.exclusive = whole;
	job.nodelist = whole ? "" : "n2";
	job.time_limit_s = 600;
	return world_submit_job(w, &job, 1000);
}

/* Fewer nodes than there are, and the one that was asked for is one of them. */
static void a_required_node_stays(void **state)
{
	struct world *w =
	        world_new(HEAD NODES("2") PARTITIONS "accounts = ( { name = \"a\"; members = [ "
	                                             "\"*\" ]; limits = { nodes = 2; }; } );\n");
	struct job_view v;

	(void)state;
	world_register_all(w);
	v = world_view(w, gang_of_a(w, 1, 3, false));
	assert_int_equal(v.n_nodes, 2);
	assert_string_equal(v.nodes, "n[0,2]");
	world_free(w);
}

/* Of whole nodes those with fewer CPUs, though they have more of everything else. */
static void whole_nodes_within_a_limit(void **state)
{
	struct world *w = world_new(HEAD
	        "nodes = ( { name = \"n0\"; cpus = 8; mem = \"16G\"; gpus = \"h100:1\"; },\n"
	        "  { name = \"n[1-2]\"; cpus = 4; mem = \"64G\"; gpus = \"h100:2\"; } "
	        ");\n" PARTITIONS
	        "accounts = ( { name = \"a\"; members = [ \"*\" ]; limits = { cpus = 8; }; } );\n");
	struct job_view v;

	(void)state;
	world_register_all(w);
	v = world_view(w, gang_of_a(w, 2, 2, true));
	assert_string_equal(v.nodes, "n[1-2]");
	world_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(victims_of_a_gang),
		cmocka_unit_test(a_search_in_steps),
		cmocka_unit_test(what_was_seen_has_changed),
		cmocka_unit_test(searched_for_nothing),
		cmocka_unit_test(licences_of_a_plan),
		cmocka_unit_test(each_gets_victims),
		cmocka_unit_test(plans_come_first),
		cmocka_unit_test(one_look_for_all),
		cmocka_unit_test(one_is_refused_for_all),
		cmocka_unit_test(who_rises_is_not_forgotten),
		cmocka_unit_test(a_run_that_is_stuck),
		cmocka_unit_test(a_lost_start_comes_first),
		cmocka_unit_test(what_is_lent_goes_to_a_claim),
		cmocka_unit_test(what_will_be_lent_goes_to_a_claim),
		cmocka_unit_test(what_leaves_too_is_lent),
		cmocka_unit_test(what_a_claim_leaves_over_is_lent),
		cmocka_unit_test(a_required_node_stays),
		cmocka_unit_test(whole_nodes_within_a_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
