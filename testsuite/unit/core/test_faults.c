/* test_faults.c - what is wrong with GPUs: the table, and what the controller makes of it */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "common/gpu/gpufault.h"
#include "testsuite/unit/lib/core_world.h"

/* --- the table ------------------------------------------------------------------------------- */

static const struct {
	enum gpu_fault_kind kind;
	uint32_t code;
	enum gpu_fault_action action;
	enum gpu_fault_back back;
	const char *word;
} known[] = {
	{ GPU_FAULT_XID, 13, GPU_FAULT_NOTE, GPU_BACK_WELL, "xid-13" },
	{ GPU_FAULT_XID, 31, GPU_FAULT_NOTE, GPU_BACK_WELL, "xid-31" },
	{ GPU_FAULT_XID, 45, GPU_FAULT_NOTE, GPU_BACK_WELL, "xid-45" },
	{ GPU_FAULT_XID, 48, GPU_FAULT_DRAIN_GPU, GPU_BACK_RESET, "xid-48" },
	{ GPU_FAULT_XID, 63, GPU_FAULT_NOTE, GPU_BACK_WELL, "xid-63" },
	{ GPU_FAULT_XID, 64, GPU_FAULT_DRAIN_GPU, GPU_BACK_RESET, "xid-64" },
	{ GPU_FAULT_XID, 79, GPU_FAULT_DRAIN_GPU, GPU_BACK_RESET, "xid-79" },
	{ GPU_FAULT_XID, 94, GPU_FAULT_NOTE, GPU_BACK_WELL, "xid-94" },
	{ GPU_FAULT_XID, 95, GPU_FAULT_DRAIN_GPU, GPU_BACK_RESET, "xid-95" },
	{ GPU_FAULT_XID, 110, GPU_FAULT_DRAIN_GPU, GPU_BACK_RESET, "xid-110" },
	{ GPU_FAULT_XID, 121, GPU_FAULT_NOTE, GPU_BACK_WELL, "xid-121" },
	{ GPU_FAULT_XID, 150, GPU_FAULT_DRAIN_GPU, GPU_BACK_RESET, "xid-150" },
	{ GPU_FAULT_XID, 9000, GPU_FAULT_NOTE, GPU_BACK_WELL, "xid-9000" },
	{ GPU_FAULT_ECC, 0, GPU_FAULT_DRAIN_GPU, GPU_BACK_RESET, "ecc" },
	{ GPU_FAULT_ECC_TOTAL, 0, GPU_FAULT_NOTE, GPU_BACK_WELL, "ecc_total" },
	{ GPU_FAULT_REMAP_FAILED, 0, GPU_FAULT_DRAIN_GPU, GPU_BACK_NEVER, "remap_failed" },
	{ GPU_FAULT_PROCESS, 0, GPU_FAULT_DRAIN_GPU, GPU_BACK_WELL, "process" },
	{ GPU_FAULT_RECOVERY, 0, GPU_FAULT_DRAIN_GPU, GPU_BACK_WELL, "recovery" },
	{ GPU_FAULT_RESET, 0, GPU_FAULT_NOTE, GPU_BACK_WELL, "reset" },
	{ (enum gpu_fault_kind)99, 0, GPU_FAULT_NOTE, GPU_BACK_WELL, "fault" },
};

static void table(void **state)
{
	const struct gpu_fault_row *rows;
	char word[GPU_FAULT_WORD];
	size_t n;

	(void)state;
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		const struct gpu_fault_row *row = gpu_fault_row(known[i].kind, known[i].code);

		assert_int_equal(row->action, known[i].action);
		assert_int_equal(row->back, known[i].back);
		assert_string_equal(
		        gpu_fault_word(known[i].kind, known[i].code, word), known[i].word);
	}
	/* No number is in two rows, so their order does not matter; each has a text. */
	rows = gpu_fault_rows(&n);
	for (size_t i = 0; i < n; i++) {
		assert_true(*rows[i].text && rows[i].first <= rows[i].last);
		for (size_t k = 0; k < i; k++)
			assert_true(rows[i].kind != rows[k].kind || rows[i].first > rows[k].last ||
			            rows[i].last < rows[k].first);
	}
}

static const struct {
	const char *text;
	int rc;
	struct gpu_fault_rule rule;
} rules[] = {
	{ "xid-94=note", 0, { GPU_FAULT_XID, 94, GPU_FAULT_NOTE } },
	{ "hot=node", 0, { GPU_FAULT_HOT, 0, GPU_FAULT_DRAIN_NODE } },
	{ "ecc_total=gpu", 0, { GPU_FAULT_ECC_TOTAL, 0, GPU_FAULT_DRAIN_GPU } },
	{ "hot", -1, { 0 } },
	{ "xid=note", -1, { 0 } },
	{ "xid-=note", -1, { 0 } },
	{ "xid-0=note", -1, { 0 } },
	{ "xid-7x=note", -1, { 0 } },
	{ "xid-99999999999999999999=note", -1, { 0 } },
	{ "cold=note", -1, { 0 } },
	{ "=note", -1, { 0 } },
	{ "hot=", -1, { 0 } },
	{ "hot=notes", -1, { 0 } },
};

static void parsing(void **state)
{
	char first[] = "xid-94=note", second[] = "xid-94=node", bad[] = "x";
	char *all[] = { first, second, bad };

	(void)state;
	for (size_t i = 0; i < sizeof(rules) / sizeof(*rules); i++) {
		struct gpu_fault_rule r;
		struct error err = { 0 };

		assert_int_equal(gpu_fault_rule_parse(rules[i].text, &r, &err), rules[i].rc);
		if (rules[i].rc < 0) {
			assert_int_equal(err.code, ERR_CONFIG);
			continue;
		}
		assert_int_equal(r.kind, rules[i].rule.kind);
		assert_int_equal(r.code, rules[i].rule.code);
		assert_int_equal(r.action, rules[i].rule.action);
	}
	assert_int_equal(gpu_fault_action(GPU_FAULT_XID, 94, all, 1), GPU_FAULT_NOTE);
	assert_int_equal(gpu_fault_action(GPU_FAULT_XID, 94, all, 3), GPU_FAULT_DRAIN_NODE);
	assert_int_equal(gpu_fault_action(GPU_FAULT_XID, 95, all, 3), GPU_FAULT_DRAIN_GPU);
}

/* --- the controller -------------------------------------------------------------------------- */

static uint64_t session;

/* A cluster of one node with two GPUs; `keys` are more of the node's. */
static struct world *make(const char *keys)
{
	char text[800];

	snprintf(text, sizeof(text),
	        "cluster = \"t\"; controller = { host = \"h\"; };"
	        "gpu_types = ( { name = \"h100\"; mem = \"80G\"; } );"
	        "nodes = ( { name = \"n0\"; cpus = 8; mem = \"64G\"; gpus = \"h100:2\"; %s } );"
	        "partitions = ( { name = \"batch\"; nodes = \"ALL\"; default = true;"
	        "                 preempt_mode = \"requeue\"; },"
	        "               { name = \"urgent\"; nodes = \"ALL\"; tier = 9; } );",
	        keys);
	return world_new(text);
}

/* The node registers, of that incarnation and boot, knowing of faults or not. */
static void up_as(struct world *w, const char *incarnation, const char *boot, bool tells,
        const struct run_report *runs, size_t n)
{
	static const struct gpu_found found[] = { { .type = "h100", .uuid = "GPU-a" },
		{ .type = "h100", .uuid = "GPU-b" } };
	struct core_event e = { .kind = EV_AGENT_UP };

	session = e.agent_up.session = w->next_session++;
	e.agent_up.boot_id = boot;
	e.agent_up.incarnation = incarnation;
	e.agent_up.version = e.agent_up.containment = "";
	e.agent_up.cpus = 8;
	e.agent_up.mem_mb = 65536;
	e.agent_up.gpus = found;
	e.agent_up.n_gpus = 2;
	e.agent_up.gpus_asked = true;
	e.agent_up.tells_faults = tells;
	e.agent_up.runs = runs;
	e.agent_up.n_runs = n;
	world_apply(w, &e);
	world_schedule(w);
}

static void up(struct world *w)
{
	up_as(w, "inc1", "boot1", true, NULL, 0);
}

static void say(struct world *w, uint64_t seq, const char *uuid, enum gpu_fault_kind kind,
        uint32_t code, const char *text)
{
	struct gpu_fault f = { seq, uuid, (uint32_t)kind, code, text };
	struct core_event e = { .kind = EV_GPU_REPORT };

	world_clear(w);
	e.gpus.session = session;
	e.gpus.faults = &f;
	e.gpus.n_faults = 1;
	world_apply(w, &e);
	world_schedule(w);
}

static void xid(struct world *w, uint64_t seq, const char *uuid, uint32_t code)
{
	say(w, seq, uuid, GPU_FAULT_XID, code, "");
}

static void looked(struct world *w, const char *uuid, const char *trouble)
{
	struct gpu_looked l = { uuid, trouble };
	struct core_event e = { .kind = EV_GPU_REPORT };

	world_clear(w);
	e.gpus.session = session;
	e.gpus.looked = &l;
	e.gpus.n_looked = 1;
	world_apply(w, &e);
	world_schedule(w);
}

static struct gpu_view view(struct world *w, uint32_t index)
{
	struct gpu_view v;

	assert_true(core_gpu_view(w->core, 0, index, &v));
	return v;
}

static const char *state_of(struct world *w, uint32_t index)
{
	return view(w, index).state;
}

static int operate(struct world *w, enum node_verb verb, const char *gpu)
{
	static const uint32_t node0;
	struct core_event e = { .kind = EV_NODE_CONTROL, .caller = world_admin() };

	e.node.verb = verb;
	e.node.nodes = &node0;
	e.node.n = 1;
	e.node.gpu = gpu;
	e.node.reason = "fan";
	world_apply(w, &e);
	return w->error.code;
}

/* Noted, drained by nobody, told twice, acknowledged, kept over a restart. */
static void applied_once(void **state)
{
	struct world *w = make("");
	uint64_t rows;

	(void)state;
	up(w);
	xid(w, 1, "GPU-a", 31);
	assert_string_equal(state_of(w, 0), "free");
	assert_int_equal(world_effect(w, EFFECT_ACK_GPUS)->ack, 1);
	xid(w, 2, "GPU-a", 79);
	assert_string_equal(state_of(w, 0), "drained");
	assert_string_equal(view(w, 0).reason, "Xid 79: GPU has fallen off the bus; comes back "
	                                       "after a boot or a reset that its driver "
	                                       "tells of, or by 'gctl resume n0:GPU-a'");
	assert_true(view(w, 0).by_nobody && view(w, 0).since == w->now.wall);
	assert_int_equal(view(w, 0).recheck, 0);
	assert_string_equal(state_of(w, 1), "free");
	/* An operator knows better; the fault comes once more, and is not applied again. */
	assert_int_equal(operate(w, NODE_RESUME, "GPU-a"), ERR_NONE);
	world_restart(w);
	up(w);
	rows = w->audit_rows;
	xid(w, 2, "GPU-a", 79);
	assert_int_equal(world_effect(w, EFFECT_ACK_GPUS)->ack, 2);
	assert_string_equal(state_of(w, 0), "free");
	world_seal(w);
	assert_int_equal(w->audit_rows, rows);
	/* Of an index that has no such GPU nothing is drained; it is acknowledged all the same. */
	xid(w, 3, "GPU-c", 79);
	assert_int_equal(world_effect(w, EFFECT_ACK_GPUS)->ack, 3);
	/* Another incarnation counts anew. */
	up_as(w, "inc2", "boot2", true, NULL, 0);
	xid(w, 1, "GPU-b", 62);
	assert_string_equal(state_of(w, 1), "drained");
	world_restart(w);
	up_as(w, "inc2", "boot2", true, NULL, 0);
	assert_string_equal(state_of(w, 1), "drained");
	assert_string_equal(view(w, 1).reason, "Xid 62: internal microcontroller halt; comes back "
	                                       "after a boot or a reset that its driver "
	                                       "tells of, or by 'gctl resume n0:GPU-b'");
	world_free(w);
}

/* Who is no longer the node's session says nothing. */
static void old_session(void **state)
{
	struct world *w = make("");

	(void)state;
	up(w);
	session += 7;
	xid(w, 1, "GPU-a", 79);
	assert_null(world_effect(w, EFFECT_ACK_GPUS));
	assert_string_equal(state_of(w, 0), "free");
	world_free(w);
}

/* A row of what may come back: when it is asked after, and what a good look does. */
static const struct {
	enum gpu_fault_kind kind;
	uint32_t code;
	bool asked, asked_after_reset;
} backs[] = {
	{ GPU_FAULT_HOT, 0, true, true },
	{ GPU_FAULT_PROCESS, 0, true, true },
	{ GPU_FAULT_RECOVERY, 0, true, true },
	{ GPU_FAULT_XID, 79, false, true },
	{ GPU_FAULT_XID, 48, false, true },
	{ GPU_FAULT_ECC, 0, false, true },
	{ GPU_FAULT_XID, 64, false, true },
	{ GPU_FAULT_REMAP_FAILED, 0, false, false },
};

static void comes_back(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(backs) / sizeof(*backs); i++) {
		struct world *w = make("health_recheck = \"60s\";");

		up(w);
		say(w, 1, "GPU-a", backs[i].kind, backs[i].code, "");
		assert_string_equal(state_of(w, 0), "drained");
		assert_int_equal(view(w, 0).recheck != 0, backs[i].asked);
		world_clear(w);
		world_pass(w, 61);
		assert_int_equal(world_effect_count(w, EFFECT_CHECK_GPUS), backs[i].asked);
		looked(w, "GPU-a", "97 C");
		assert_string_equal(state_of(w, 0), "drained");
		looked(w, "GPU-a", "");
		assert_string_equal(state_of(w, 0), backs[i].asked ? "free" : "drained");
		if (!backs[i].asked) {
			world_clear(w);
			up_as(w, "inc2", "boot2", true, NULL, 0);
			assert_int_equal(world_effect_count(w, EFFECT_CHECK_GPUS),
			        backs[i].asked_after_reset);
			looked(w, "GPU-a", "");
			assert_string_equal(
			        state_of(w, 0), backs[i].asked_after_reset ? "free" : "drained");
		}
		world_free(w);
	}
}

/* Its agent has seen that it was reset: what waited for that is asked after as after a boot, also
 * by a controller that was started since; another fault makes it wait for another reset. */
static void reset(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(backs) / sizeof(*backs); i++) {
		struct world *w;

		if (backs[i].asked)
			continue;
		w = make("health_recheck = \"60s\";");
		up(w);
		say(w, 1, "GPU-b", GPU_FAULT_RESET, 0, "");
		assert_string_equal(state_of(w, 1), "free");
		say(w, 2, "GPU-a", backs[i].kind, backs[i].code, "");
		say(w, 3, "GPU-a", GPU_FAULT_RESET, 0, "");
		assert_string_equal(state_of(w, 0), "drained");
		world_restart(w);
		up(w);
		assert_int_equal(
		        world_effect_count(w, EFFECT_CHECK_GPUS), backs[i].asked_after_reset);
		world_clear(w);
		world_pass(w, 61);
		assert_int_equal(
		        world_effect_count(w, EFFECT_CHECK_GPUS), backs[i].asked_after_reset);
		say(w, 4, "GPU-a", backs[i].kind, backs[i].code, "");
		looked(w, "GPU-a", "");
		assert_string_equal(state_of(w, 0), "drained");
		say(w, 5, "GPU-a", GPU_FAULT_RESET, 0, "");
		looked(w, "GPU-a", "");
		assert_string_equal(
		        state_of(w, 0), backs[i].asked_after_reset ? "free" : "drained");
		assert_int_equal(operate(w, NODE_DRAIN, "GPU-b"), ERR_NONE);
		say(w, 6, "GPU-b", GPU_FAULT_RESET, 0, "");
		looked(w, "GPU-b", "");
		assert_string_equal(view(w, 1).reason, "fan");
		world_free(w);
	}
}

/* An operator's drain stays, whatever is told; his resume ends any. What takes longer to come back
 * from is not replaced by what comes back soon. */
static void whose_drain(void **state)
{
	struct world *w = make("health_recheck = \"60s\";");

	(void)state;
	up(w);
	assert_int_equal(operate(w, NODE_DRAIN, "GPU-a"), ERR_NONE);
	say(w, 1, "GPU-a", GPU_FAULT_HOT, 0, "97 C, it slows down at 90 C");
	assert_string_equal(view(w, 0).reason, "fan");
	looked(w, "GPU-a", "");
	assert_string_equal(state_of(w, 0), "drained");
	say(w, 2, "GPU-b", GPU_FAULT_REMAP_FAILED, 0, "");
	say(w, 3, "GPU-b", GPU_FAULT_HOT, 0, "97 C, it slows down at 90 C");
	assert_string_equal(view(w, 1).reason,
	        "memory of it cannot be replaced; comes back by 'gctl resume n0:GPU-b'");
	assert_int_equal(operate(w, NODE_RESUME, "GPU-b"), ERR_NONE);
	assert_string_equal(state_of(w, 1), "free");
	say(w, 4, "GPU-b", GPU_FAULT_HOT, 0, "97 C, it slows down at 90 C");
	assert_string_equal(view(w, 1).reason, "97 C, it slows down at 90 C");
	say(w, 5, "GPU-b", GPU_FAULT_REMAP_FAILED, 0, "");
	assert_string_equal(view(w, 1).reason,
	        "memory of it cannot be replaced; comes back by 'gctl resume n0:GPU-b'");
	assert_int_equal(operate(w, NODE_DRAIN, "GPU-b"), ERR_NONE);
	assert_string_equal(view(w, 1).reason, "fan");
	assert_false(view(w, 1).by_nobody);
	world_free(w);
}

/* Asked again and again; never where the site or the agent knows of none. */
static void rechecks(void **state)
{
	struct world *w = make("health_recheck = \"60s\";");

	(void)state;
	up(w);
	say(w, 1, "GPU-a", GPU_FAULT_HOT, 0, "");
	for (int i = 0; i < 3; i++) {
		world_clear(w);
		world_pass(w, 60.5);
		assert_int_equal(world_effect_count(w, EFFECT_CHECK_GPUS), 1);
	}
	world_restart(w);
	up_as(w, "inc1", "boot1", false, NULL, 0);
	world_clear(w);
	world_pass(w, 30);
	up_as(w, "inc1", "boot1", false, NULL, 0);
	assert_null(world_effect(w, EFFECT_CHECK_GPUS));
	up(w);
	assert_int_equal(world_effect_count(w, EFFECT_CHECK_GPUS), 1);
	world_free(w);
	w = make("health_recheck = \"0s\";");
	up(w);
	say(w, 1, "GPU-a", GPU_FAULT_HOT, 0, "");
	assert_int_equal(view(w, 0).recheck, 0);
	assert_string_equal(
	        view(w, 0).reason, "it is too hot; comes back by 'gctl resume n0:GPU-a'");
	world_clear(w);
	world_pass(w, 3600);
	up(w);
	assert_null(world_effect(w, EFFECT_CHECK_GPUS));
	world_free(w);
}

/* What the site says of events; a node that is drained does not come back by itself. */
static void as_configured(void **state)
{
	struct world *w =
	        make("health_events = [ \"xid-79=note\", \"xid-13=gpu\", \"hot=node\" ];");

	(void)state;
	up(w);
	xid(w, 1, "GPU-a", 79);
	assert_string_equal(state_of(w, 0), "free");
	xid(w, 2, "GPU-a", 13);
	assert_string_equal(state_of(w, 0), "drained");
	assert_string_equal(world_node_view(w, 0).state, "idle");
	say(w, 3, "GPU-b", GPU_FAULT_HOT, 0, "97 C");
	assert_string_equal(world_node_view(w, 0).state, "drained");
	assert_string_equal(world_node_view(w, 0).reason, "GPU-b: 97 C");
	looked(w, "GPU-b", "");
	assert_string_equal(world_node_view(w, 0).state, "drained");
	world_free(w);
}

/* Jobs on the GPU: what is told of them, and that its neighbour's goes on. */
static const struct {
	const char *keys;
	size_t ends;
	bool requeue;
	const char *after; /* of the job when its node has ended it */
} jobs[] = {
	{ "", 0, false, "RUNNING" },
	{ "health_jobs = \"run\";", 0, false, "RUNNING" },
	{ "health_jobs = \"requeue\";", 1, true, "PENDING" },
	{ "health_jobs = \"end\";", 1, false, "NODE_FAIL" },
};

static void jobs_on_it(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(jobs) / sizeof(*jobs); i++) {
		struct world *w = make(jobs[i].keys);
		struct run_report report;
		struct submit_job job;
		uint64_t a, b;

		up(w);
		job = world_job(w, "h100:1");
		job.max_attempts = 3;
		a = world_submit_job(w, &job, 1000);
		world_run_starts(w, a);
		b = world_submit(w, "h100:1");
		world_run_starts(w, b);
		xid(w, 1, "GPU-a", 95);
		assert_int_equal(world_effect_count(w, EFFECT_END_RUN), jobs[i].ends);
		assert_string_equal(state_of(w, 0), "draining");
		if (jobs[i].ends) {
			assert_int_equal(world_effect(w, EFFECT_END_RUN)->run.run.job, a);
			assert_int_equal(world_effect(w, EFFECT_END_RUN)->run.cause, END_DRAIN);
			assert_int_equal(
			        world_effect(w, EFFECT_END_RUN)->run.requeue, jobs[i].requeue);
			xid(w, 2, "GPU-a", 79); /* it is ending already */
			assert_null(world_effect(w, EFFECT_END_RUN));
			report = world_report(world_run(w, a), REPORT_ENDED);
			report.cause = END_DRAIN;
			world_say(w, 0, report);
		}
		assert_string_equal(world_state(w, a), jobs[i].after);
		assert_string_equal(world_state(w, b), "RUNNING");
		world_free(w);
	}
}

/* The run ends for another cause before the order reaches its node. What was decided for the job
 * holds: it waits again or ends for good. Its state is that of the run's true end. */
static const struct {
	const char *keys;
	enum end_cause cause;
	uint32_t exit_code;
	const char *after;
} crossed[] = {
	{ "", END_EXIT, 3, "PENDING" },
	{ "", END_RECLAIM, 0, "PENDING" },
	{ "health_jobs = \"requeue\";", END_EXIT, 3, "PENDING" },
	{ "health_jobs = \"requeue\";", END_RECLAIM, 0, "PENDING" },
	{ "health_jobs = \"end\";", END_EXIT, 3, "FAILED" },
	{ "health_jobs = \"end\";", END_RECLAIM, 0, "PREEMPTED" },
};

static void ends_before_the_order(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(crossed) / sizeof(*crossed); i++) {
		struct world *w = make(crossed[i].keys);
		struct submit_job job = world_job(w, "h100:1");
		struct run_report report;
		uint64_t id;

		up(w);
		job.max_attempts = 3;
		job.requeue_on = "exit:3";
		id = world_submit_job(w, &job, 1000);
		world_run_starts(w, id);
		world_run_starts(w, world_submit(w, "h100:1")); /* so that the first one waits */
		report = world_report(world_run(w, id), REPORT_ENDED);
		report.cause = crossed[i].cause;
		report.exit_code = crossed[i].exit_code;
		xid(w, 1, "GPU-a", 95);
		world_say(w, 0, report);
		assert_string_equal(world_state(w, id), crossed[i].after);
		world_free(w);
	}
}

/* Nothing is started on it, and what waits starts when it is well. */
static void gives_nothing(void **state)
{
	struct world *w = make("");
	uint64_t wide;

	(void)state;
	up(w);
	say(w, 1, "GPU-b", GPU_FAULT_PROCESS, 0, "process 4711 (python, uid 1000) left on it");
	wide = world_submit(w, "h100:2");
	assert_string_equal(world_state(w, wide), "PENDING");
	assert_string_equal(view(w, 1).reason, "process 4711 (python, uid 1000) left on it");
	looked(w, "GPU-b", "");
	assert_string_equal(world_state(w, wide), "CONFIGURING");
	world_free(w);
}

/* The end of what runs on a GPU that is given to nobody makes room for nobody: it is neither waited
 * for nor brought about. */
static void its_end_is_no_room(void **state)
{
	struct world *w = make("");
	struct submit_job job;
	uint64_t ill, well, waits, urgent, planned;

	(void)state;
	up(w);
	job = world_job(w, "h100:1");
	job.time_limit_s = 600;
	ill = world_submit_job(w, &job, 1000);
	world_run_starts(w, ill);
	job = world_job(w, "h100:1");
	job.time_limit_s = 3600;
	well = world_submit_job(w, &job, 1000);
	world_run_starts(w, well);
	job = world_job(w, "h100:1");
	waits = world_submit_job(w, &job, 1000);
	world_pass(w, 2);
	planned = (uint64_t)world_view(w, waits).planned_start;
	xid(w, 1, "GPU-a", 79);
	world_pass(w, 2);
	assert_true((uint64_t)world_view(w, waits).planned_start > planned + 2000ull * 1000000);
	job = world_job(w, "h100:1");
	job.partition = "urgent";
	urgent = world_submit_job(w, &job, 1000);
	world_pass(w, 2);
	assert_string_equal(world_state(w, ill), "RUNNING");
	assert_string_equal(world_state(w, well), "COMPLETING");
	assert_string_equal(world_state(w, urgent), "PENDING");
	world_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(table),
		cmocka_unit_test(parsing),
		cmocka_unit_test(applied_once),
		cmocka_unit_test(old_session),
		cmocka_unit_test(comes_back),
		cmocka_unit_test(reset),
		cmocka_unit_test(whose_drain),
		cmocka_unit_test(rechecks),
		cmocka_unit_test(as_configured),
		cmocka_unit_test(jobs_on_it),
		cmocka_unit_test(ends_before_the_order),
		cmocka_unit_test(gives_nothing),
		cmocka_unit_test(its_end_is_no_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
