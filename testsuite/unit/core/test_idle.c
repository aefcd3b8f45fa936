/* test_idle.c - jobs that leave their GPUs idle: ctld/core/jobs/idle.h, and what listings say of use */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <string.h>
#include <cmocka.h>

#include "common/job/mail_types.h"
#include "testsuite/unit/lib/core_world.h"

#define S ((uint64_t)1000000)

#define CONF(idle) CONF_NODES("{ name = \"n[0-1]\"; " NODE " }", idle)
#define NODE       "cpus = 8; mem = \"64G\"; gpus = \"h100:4\"; "
#define CONF_NODES(nodes, idle)                                                        \
	"cluster = \"test\"; controller = { host = \"h\"; node_timeout = \"1d\"; };"   \
	"gpu_types = ( { name = \"h100\"; mem = \"80G\"; } );"                         \
	"nodes = ( " nodes " );"                                                       \
	"partitions = ( { name = \"batch\"; nodes = \"ALL\"; default = true; grace = " \
	"\"30s\"; " idle " } );"

#define NOTE "idle_gpu = { below = \"10%\"; for = \"60s\"; };"
#define MAIL "idle_gpu = { below = \"10%\"; for = \"60s\"; action = \"mail\"; };"
#define END  "idle_gpu = { below = \"10%\"; for = \"60s\"; action = \"end\"; };"
#define HARD \
	"idle_gpu = { below = \"10%\"; for = \"60s\"; action = \"end\"; end_cpu_bound = true; };"

/* What a node has said of a run so far. */
struct use {
	struct run_id id;
	uint32_t node;
	struct run_used used;
};

/* So many seconds more, for each of `gpus`, with such a part of them and of a CPU busy. */
static void says(
        struct world *w, struct use *u, unsigned gpus, unsigned s, unsigned pct, unsigned cpu)
{
	struct run_use one = { .run = u->id };
	struct core_event e = { .kind = EV_RUNS_USED };

	u->used.gpu_seen_us += s * gpus * S;
	u->used.gpu_busy_us += s * gpus * S * pct / 100;
	u->used.cpu_time_us += s * S * cpu / 100;
	u->used.gpu_now_pct = pct;
	u->used.gpu_mem_now_mb = 1024 * (pct + 1);
	one.used = u->used;
	e.used.node = u->node;
	e.used.session = world_session(w, u->node);
	e.used.runs = &one;
	e.used.n = 1;
	world_apply(w, &e);
}

/* As says(), of a CPU that it wants so much: the rest of it others have. */
static void waits(struct world *w, struct use *u, unsigned s, unsigned cpu, unsigned wait)
{
	u->used.cpu_wait_us += s * S * wait / 100;
	says(w, u, 1, s, 0, cpu);
}

static uint64_t running(struct world *w, const char *gpus, struct use *u)
{
	uint64_t job;

	world_register_all(w);
	job = world_submit(w, gpus);
	world_run_starts(w, job);
	*u = (struct use){ .id = world_run(w, job), .node = world_node_of(w, job) };
	world_clear(w);
	return job;
}

static const char *note_of(struct world *w, const struct use *u)
{
	struct run_view v;

	assert_true(core_run_view(w->core, u->id, w->now, &v));
	return v.detail;
}

static uint64_t events(struct world *w)
{
	world_seal(w);
	return w->audit_rows;
}

/* Once, after what is known has lasted so long; memory does not count. */
static void noted_once(void **state)
{
	struct world *w = world_new(CONF(NOTE));
	struct run_report r;
	uint64_t job, before;
	struct use u;

	(void)state;
	job = running(w, "h100:2", &u);
	before = events(w);
	says(w, &u, 2, 500, 0, 0); /* the first: nobody knows since when */
	says(w, &u, 2, 59, 9, 0);
	assert_string_equal(note_of(w, &u), "");
	says(w, &u, 2, 10, 10, 0); /* enough */
	says(w, &u, 2, 59, 9, 0);
	says(w, &u, 2, 0, 0, 0); /* nothing more is known */
	assert_string_equal(note_of(w, &u), "");
	assert_int_equal(events(w), before);
	says(w, &u, 2, 1, 0, 0);
	assert_string_equal(note_of(w, &u), "GPUs computed less than 10% for 1:00");
	assert_int_equal(events(w), before + 1);
	says(w, &u, 2, 100, 0, 0);
	says(w, &u, 2, 100, 50, 0);
	says(w, &u, 2, 100, 0, 0);
	world_restart(w);
	world_register(w, u.node, "inc1", NULL, 0);
	assert_int_equal(events(w), before + 1);
	assert_string_equal(world_state(w, job), "RUNNING");
	says(w, &u, 2, 100, 0, 0);
	says(w, &u, 2, 100, 0, 0);
	assert_int_equal(events(w), before + 1);
	assert_int_equal(world_effect_count(w, EFFECT_MAIL), 0);
	assert_int_equal(world_effect_count(w, EFFECT_END_RUN), 0);
	r = world_report(u.id, REPORT_ENDED);
	r.detail = "";
	world_say(w, u.node, r);
	assert_string_equal(world_state(w, job), "COMPLETED");
	assert_string_equal(note_of(w, &u), "GPUs computed less than 10% for 1:00"); /* for gacct */
	world_free(w);
}

static void mailed_once(void **state)
{
	struct world *w = world_new(CONF(MAIL));
	struct use u;

	(void)state;
	running(w, "h100:1", &u);
	for (int i = 0; i < 20; i++)
		says(w, &u, 1, 10, 0, 0);
	assert_int_equal(world_effect_count(w, EFFECT_MAIL), 1);
	assert_int_equal(world_effect(w, EFFECT_MAIL)->mail.type, MAIL_IDLE);
	world_free(w);
}

/* Ended with its cause; by default not who uses CPUs. */
static void ended(void **state)
{
	struct world *w = world_new(CONF(END));
	struct run_report r;
	uint64_t job;
	struct use u;

	(void)state;
	job = running(w, "h100:1", &u);
	says(w, &u, 1, 1, 0, 0);
	says(w, &u, 1, 60, 0, 80);
	assert_string_equal(world_state(w, job), "RUNNING");
	assert_string_equal(note_of(w, &u), "GPUs computed less than 10% for 1:00");
	says(w, &u, 1, 60, 0, 0); /* 48 s of 120 */
	assert_string_equal(world_state(w, job), "COMPLETING");
	assert_int_equal(world_effect(w, EFFECT_END_RUN)->run.cause, END_IDLE);
	assert_int_equal(world_effect(w, EFFECT_END_RUN)->run.grace_s, 30);
	assert_int_equal(world_effect_count(w, EFFECT_END_RUN), 1);
	says(w, &u, 1, 60, 0, 0);
	assert_int_equal(world_effect_count(w, EFFECT_END_RUN), 1);
	r = world_report(u.id, REPORT_ENDED);
	r.cause = END_IDLE;
	r.exit_signal = 15;
	world_say(w, u.node, r);
	assert_string_equal(world_state(w, job), "CANCELLED");
	assert_string_equal(world_reason(w, job), "Idle");
	world_free(w);

	w = world_new(CONF(HARD));
	job = running(w, "h100:1", &u);
	says(w, &u, 1, 1, 0, 0);
	says(w, &u, 1, 60, 0, 80);
	assert_string_equal(world_state(w, job), "COMPLETING");
	world_free(w);
}

/* On a node that is full, who is bound by the CPU gets a tenth of one; that counts as what it would
 * have had. What it waited before its GPUs were idle does not. */
static void waiting_for_cpu(void **state)
{
	struct world *w = world_new(CONF(END));
	uint64_t job;
	struct use u;

	(void)state;
	job = running(w, "h100:1", &u);
	waits(w, &u, 1, 0, 0);
	waits(w, &u, 30, 10, 90);
	says(w, &u, 1, 10, 50, 0);
	waits(w, &u, 60, 10, 45);
	assert_string_equal(world_state(w, job), "RUNNING");
	assert_string_equal(note_of(w, &u), "GPUs computed less than 10% for 1:00");
	waits(w, &u, 60, 0, 30); /* 51 s of 120 */
	assert_string_equal(world_state(w, job), "COMPLETING");
	world_free(w);
}

/* One job on both nodes. */
static uint64_t running_on_both(struct world *w, struct use *u, struct use *v)
{
	struct submit_job job;
	uint64_t id;

	world_register_all(w);
	job = world_job(w, "h100:4");
	job.nodes_min = job.nodes_max = 2;
	id = world_submit_job(w, &job, 1000);
	assert_true(id);
	*u = (struct use){ .id = world_run(w, id), .node = 0 };
	*v = *u;
	v->id.rank = v->node = 1;
	for (uint32_t i = 0; i < 2; i++) {
		struct run_report r = world_report(i ? v->id : u->id, REPORT_RUNNING);

		r.start_time = w->now.wall;
		r.nodes = 2;
		r.gpus = 0xf;
		world_say(w, i, r);
	}
	assert_string_equal(world_state(w, id), "RUNNING");
	says(w, u, 4, 1, 0, 0);
	says(w, v, 4, 1, 0, 0);
	return id;
}

/* Not given: nothing. Of several nodes all must be idle. */
static void not_alone(void **state)
{
	struct world *w = world_new(CONF(""));
	struct use u, v;
	uint64_t id;

	(void)state;
	running(w, "h100:1", &u);
	says(w, &u, 1, 1, 0, 0);
	says(w, &u, 1, 1000000, 0, 0);
	assert_string_equal(note_of(w, &u), "");
	world_free(w);

	w = world_new(CONF(END));
	id = running_on_both(w, &u, &v);
	says(w, &u, 4, 100, 0, 0);
	says(w, &v, 4, 100, 90, 0);
	assert_string_equal(world_state(w, id), "RUNNING");
	says(w, &v, 4, 100, 0, 0);
	assert_string_equal(world_state(w, id), "COMPLETING");
	world_free(w);
}

/* What nodes say counts where the partition says nothing. */
static void of_nodes(void **state)
{
	struct world *w = world_new(CONF_NODES("{ name = \"n[0-1]\"; " NODE END " }", ""));
	uint64_t job;
	struct use u;

	(void)state;
	job = running(w, "h100:1", &u);
	says(w, &u, 1, 1, 0, 0);
	says(w, &u, 1, 60, 0, 0);
	assert_string_equal(world_state(w, job), "COMPLETING");
	world_free(w);

	w = world_new(CONF_NODES("{ name = \"n[0-1]\"; " NODE END " }", NOTE));
	job = running(w, "h100:1", &u);
	says(w, &u, 1, 1, 0, 0);
	says(w, &u, 1, 60, 0, 0);
	assert_string_equal(note_of(w, &u), "GPUs computed less than 10% for 1:00");
	assert_string_equal(world_state(w, job), "RUNNING");
	world_free(w);
}

/* Where they differ: each run by its own node's marks, and what is mildest is done. */
static void of_unlike_nodes(void **state)
{
	struct world *w = world_new(
	        CONF_NODES("{ name = \"n0\"; " NODE END " }, { name = \"n1\"; " NODE
	                   "idle_gpu = { below = \"20%\"; for = \"90s\"; action = \"mail\"; }; }",
	                ""));
	struct use u, v;
	uint64_t job;

	(void)state;
	job = running_on_both(w, &u, &v);
	says(w, &v, 4, 100, 15, 0);
	says(w, &u, 4, 100, 15, 0); /* busy there */
	assert_string_equal(note_of(w, &u), "");
	says(w, &u, 4, 60, 5, 0);
	assert_string_equal(note_of(w, &u), "GPUs computed less than 20% for 1:30");
	assert_int_equal(world_effect_count(w, EFFECT_MAIL), 1);
	assert_string_equal(world_state(w, job), "RUNNING");
	world_free(w);

	w = world_new(
	        CONF_NODES("{ name = \"n0\"; " NODE END " }, { name = \"n1\"; " NODE " }", ""));
	job = running_on_both(w, &u, &v);
	says(w, &u, 4, 1000, 0, 0);
	says(w, &v, 4, 1000, 0, 0);
	says(w, &u, 4, 1000, 0, 0);
	assert_string_equal(world_state(w, job), "RUNNING");
	assert_string_equal(note_of(w, &u), "");
	world_free(w);
}

/* `ginfo --gpus`: what the one run that has a GPU said last. */
static void shown(void **state)
{
	struct world *w = world_new(CONF(""));
	struct gpu_view g;
	struct use u;

	(void)state;
	running(w, "h100:2", &u);
	assert_true(core_gpu_view(w->core, u.node, 0, &g));
	assert_true(!g.use_known && g.mem_mb == 80 * 1024);
	says(w, &u, 2, 10, 37, 0);
	assert_true(core_gpu_view(w->core, u.node, 1, &g));
	assert_true(g.use_known && g.util_pct == 37 && g.mem_used_mb == 38 * 1024);
	assert_true(core_gpu_view(w->core, u.node, 2, &g));
	assert_false(g.use_known);
	world_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(noted_once),
		cmocka_unit_test(mailed_once),
		cmocka_unit_test(ended),
		cmocka_unit_test(waiting_for_cpu),
		cmocka_unit_test(not_alone),
		cmocka_unit_test(of_nodes),
		cmocka_unit_test(of_unlike_nodes),
		cmocka_unit_test(shown),
	};

	return cmocka_run_group_tests_name("idle", tests, NULL, NULL);
}
