/* test_core_random.c - random histories: crashes, lost sessions, reboots, wrong claims
 *
 * A small cluster of model nodes around the core. Effects reach a node only after the seal that
 * their change was in, as in the daemon; a crash forgets what was not sealed and not sent. The
 * nodes are the truth: a run starts at most once, no GPU has two runs at one time, or gives those
 * that share it more than it has, unless an operator vouched for a node that was not off, and once
 * the faults stop every job ends.
 *
 * A seed makes a history: CORE_SEED=n runs that one alone, CORE_CASES=n so many.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "common/base/xalloc.h"
#include "ctld/core/attempts/attempt.h"
#include "ctld/core/records/job.h"
#include "ctld/core/records/run.h"
#include "ctld/core/rows/state.h"
#include "testsuite/unit/core/random_model.h"
#include "testsuite/unit/lib/amount.h"

#define STEPS    300

#define HEAD(share)                                                                    \
	"cluster = \"test\"; controller = { host = \"h\"; };\n"                        \
	"gpu_types = ( { name = \"h100\"; mem = \"80G\"; price = 2.0; },\n"            \
	"  { name = \"l40s\"; mem = \"48G\"; } );\n"                                   \
	"nodes = ( { name = \"n[0-3]\"; cpus = 8; mem = \"64G\"; gpus = \"h100:4\";\n" \
	"  " share " } );\n"
#define PARTITIONS(mode)                                                        \
	"partitions = ( { name = \"more\"; nodes = \"n[0-2]\"; tier = 2;\n"        \
	"  default_time = \"30:00\"; preempt_mode = \"" mode "\"; },\n"            \
	"  { name = \"batch\"; nodes = \"ALL\"; default = true;\n"                 \
	"  preempt_mode = \"" mode "\";\n"                                           \
	"  max_time = \"2-00:00:00\"; default_time = \"1:00:00\";\n"

/* No policy at all; accounts, QOS, quotas and limits of each kind, none of which could keep a job
 * from starting for ever; others, and fewer accounts. */
static const char *const policies[] = {
	HEAD("share = \"watch\";") PARTITIONS("off") "} );\n",
	HEAD("share = \"mps\";") PARTITIONS("requeue")
	"limits = { running = 7; };\n"
	"per_user = { gpu_hours = \"1 / 1h\"; }; } );\n"
	"qos = ( { name = \"normal\"; default = true; },\n"
	"  { name = \"high\"; priority = 50; preempts = [ \"normal\" ];\n"
	"    per_user = { gpus = \"any:12\"; }; } );\n"
	"accounts = ( { name = \"research\"; shares = 2;\n"
	"    quota = { guaranteed = \"h100:12\"; weight = 2.0; }; },\n"
	"  { name = \"vision\"; parent = \"research\"; members = [ \"*\" ];\n"
	"    quota = { guaranteed = \"h100:8\"; }; },\n"
	"  { name = \"guest\"; members = [ \"*\" ]; limits = { queued = 100000; };\n"
	"    per_user = { running = 3; }; } );\n",
	HEAD("share = \"watch\"; share_users = \"one\";") PARTITIONS("cancel")
	"per_user = { queued = 100000; cpus = 24; }; } );\n"
	"qos = ( { name = \"high\"; default = true; usage_factor = 2.0; } );\n"
	"accounts = ( { name = \"guest\"; members = [ \"*\" ];\n"
	"    limits = { gpu_hours = \"1 / 60s\"; }; } );\n"
	"priority = { half_life = \"10m\"; };\n",
};

/* --- effects --------------------------------------------------------------------------------- */

static void hook(void *arg, const struct effect *e)
{
	struct model *m = arg;
	struct outgoing *o;
	struct run_view v;

	if (e->kind != EFFECT_START_RUN && e->kind != EFFECT_END_RUN &&
	        e->kind != EFFECT_FORGET_RUN && e->kind != EFFECT_REGISTERED &&
	        e->kind != EFFECT_SUSPEND_RUN)
		return;
	if (m->n_queue == m->queue_size) {
		m->queue_size = m->queue_size ? m->queue_size * 2 : 64;
		m->queue = xrealloc(m->queue, m->queue_size, sizeof(*m->queue));
	}
	o = &m->queue[m->n_queue++];
	memset(o, 0, sizeof(*o));
	o->effect = *e;
	if (e->kind == EFFECT_REGISTERED)
		o->wanted = xmemdup(e->registered.wanted, e->registered.n * sizeof(*o->wanted));
	if (e->kind == EFFECT_START_RUN) {
		assert_true(core_run_view(m->w->core, e->run.run, m->w->now, &v));
		o->gpus = v.gpus;
		o->share = v.share;
		o->burst_mb = v.share_burst_mb;
		o->nodes = v.n_nodes;
		snprintf(o->incarnation, sizeof(o->incarnation), "%s", v.incarnation);
	}
}

static void drop_queue(struct model *m)
{
	size_t i;

	for (i = 0; i < m->n_queue; i++)
		free(m->queue[i].wanted);
	m->n_queue = 0;
}

/* All that waits is committed: send it. Answers make new effects, for the next time. */
static void deliver(struct model *m)
{
	struct outgoing *v = m->queue;
	size_t n = m->n_queue, i;

	m->queue = NULL;
	m->n_queue = m->queue_size = 0;
	for (i = 0; i < n; i++) {
		unsigned node = v[i].effect.node;

		if (v[i].effect.session == m->nodes[node].session)
			node_gets(m, node, &v[i]);
		free(v[i].wanted);
	}
	free(v);
}

static void commit(struct model *m)
{
	world_schedule(m->w);
	world_seal(m->w);
	deliver(m);
	world_schedule(m->w);
}

static void crash(struct model *m)
{
	unsigned n;

	drop_queue(m);
	world_crash(m->w);
	for (n = 0; n < NODES; n++)
		m->nodes[n].session = 0;
}

/* --- users and operators --------------------------------------------------------------------- */

static void submits(struct model *m)
{
	static const char *const wants[] = { "h100:1", "h100:2", "h100:4", "", "any:3",
		"l40s:1|h100:1" };
	struct submit_job job = world_job(m->w, wants[model_pick(m, 6)]);
	uint64_t id;

	if (model_pick(m, 3) == 0) { /* a gang, which every node can be part of */
		job.nodes_min = 2 + model_pick(m, 2);
		job.nodes_max = job.nodes_min + model_pick(m, 2);
		job.gpus_per_node = job.n_gpus;
	}
	if (job.n_gpus && model_pick(m, 3) == 0) {
		job.gpu_share_milli = model_pick(m, 2) ? 250 : 0;
		job.gpu_mem_mb = !job.gpu_share_milli || model_pick(m, 2) ? 10240 << model_pick(m, 3) : 0;
		job.gpu_mem_burst_mb = model_burst(job.gpu_mem_mb);
	}
	if (model_pick(m, 3) == 0)
		job.partition = model_pick(m, 2) ? "batch,more" : "more,batch";
	job.cpus = 1 + model_pick(m, 4);
	job.hold = model_pick(m, 10) == 0;
	job.requeue = model_pick(m, 3);
	job.max_attempts = model_pick(m, 4);
	job.nice = (int32_t)model_pick(m, 3);
	job.account = m->conf == 1 && model_pick(m, 2) ? "guest" : "";
	job.qos = m->conf && model_pick(m, 3) == 0 ? "high" : "";
	memset(job.spec_hash, 0, sizeof(job.spec_hash));
	id = world_submit_job(m->w, &job, 1000 + model_pick(m, 2));
	assert_int_not_equal(id, 0);
	m->jobs = xrealloc(m->jobs, m->n_jobs + 1, sizeof(*m->jobs));
	m->specs = xrealloc(m->specs, m->n_jobs + 1, sizeof(*m->specs));
	m->specs[m->n_jobs] = 0;
	m->jobs[m->n_jobs++] = id;
}

/* Its owner signs another spec in place of that one. False: it is not that. */
static bool respec(struct model *m, size_t job, uint32_t was, uint32_t is)
{
	static const char *const names[] = { "job", "other", "third" };
	struct respec r = { .fields = 1 + model_pick(m, (1 << RESPEC_FIELD_COUNT) - 1),
		.told = "told",
		.name = names[model_pick(m, 3)],
		.cwd = "/",
		.output = names[model_pick(m, 3)],
		.error = "",
		.max_attempts = 1 + model_pick(m, 4) };
	struct core_event e = { .kind = EV_JOB_CONTROL,
		.caller = world_user(1000 + model_pick(m, 2)),
		.job = { .verb = JOB_RESIGN,
		        .ids = &m->jobs[job],
		        .n = 1,
		        .reason = "",
		        .hashes = &r.is,
		        .n_hashes = 1,
		        .sign_time = m->w->now.wall,
		        .respecs = &r,
		        .n_respecs = 1 } };

	memcpy(r.was.b, &was, sizeof(was));
	memcpy(r.is.b, &is, sizeof(is));
	m->w->error = (struct error){ 0 };
	world_apply(m->w, &e);
	m->respecs += m->w->done;
	return m->w->error.code != ERR_SIGNATURE;
}

static void signs(struct model *m)
{
	size_t job = m->n_jobs ? model_pick(m, (unsigned)m->n_jobs) : 0;
	uint32_t was;

	if (!m->n_jobs)
		return;
	was = m->specs[job]++;
	while (!respec(m, job, was, m->specs[job]) && was)
		was--;
}

static void controls(struct model *m)
{
	static const enum job_verb verbs[] = { JOB_CANCEL, JOB_HOLD, JOB_RELEASE, JOB_SIGNAL,
		JOB_REQUEUE, JOB_REQUEUE_HOLD, JOB_SUSPEND, JOB_RESUME };

	if (m->n_jobs)
		world_control(m->w, model_pick(m, 2) ? world_user(1000) : world_admin(),
		        verbs[model_pick(m, 8)], m->jobs[model_pick(m, (unsigned)m->n_jobs)]);
}

/* What runs on a node is suspended, what is suspended goes on: most of it. */
static void suspends(struct model *m, unsigned node)
{
	size_t i;

	for (i = 0; i < m->nodes[node].n_runs; i++) {
		const struct model_run *r = &m->nodes[node].runs[i];

		if (r->alive && r->report.state == REPORT_RUNNING && model_pick(m, 4))
			world_control(m->w, world_user(1000), r->hold ? JOB_RESUME : JOB_SUSPEND,
			        r->report.run.job);
	}
}

static void operates(struct model *m)
{
	unsigned node = model_pick(m, NODES);
	bool off = model_pick(m, 4) == 0;
	static const enum node_verb verbs[] = { NODE_DRAIN, NODE_RESUME, NODE_RESUME, NODE_DOWN };
	enum node_verb verb = verbs[model_pick(m, 4)];

	if (verb != NODE_DOWN || !off) {
		world_node(m->w, verb, node, false);
		return;
	}
	if (world_node(m->w, verb, node, true) == ERR_NONE) {
		/* Sometimes he is wrong. */
		if (model_pick(m, 2))
			node_reboots(m, node);
		else
			m->lied = true;
	}
}

static void fault(struct model *m)
{
	unsigned node = model_pick(m, NODES);

	switch (model_pick(m, m->conf ? 7 : 6)) {
	case 6:
		m->conf = 3 - m->conf;
		world_reconfigure(m->w, policies[m->conf]);
		break;
	case 0:
		node_loses_session(m, node);
		break;
	case 1:
		node_reboots(m, node);
		break;
	case 2:
		crash(m);
		break;
	case 3:
		world_restart(m->w);
		crash(m);
		break;
	case 4:
		operates(m);
		break;
	default:
		world_pass(m->w, 1 + model_pick(m, 100));
	}
}

static void step(struct model *m)
{
	unsigned node = model_pick(m, NODES);

	switch (model_pick(m, 12)) {
	case 0:
	case 1:
		submits(m);
		break;
	case 10:
		suspends(m, node);
		commit(m);
		break;
	case 2:
		controls(m);
		break;
	case 11:
		signs(m);
		break;
	case 3:
		fault(m);
		break;
	case 4:
		if (!m->nodes[node].session)
			node_registers(m, node);
		break;
	case 5:
		commit(m);
		break;
	case 6:
		m->w->now.wall += (int)model_pick(m, 2000) * 1000000ll - 1000000000;
		break;
	default:
		node_goes_on(m, node);
	}
}

/* --- the end --------------------------------------------------------------------------------- */

static bool all_ended(struct model *m)
{
	struct job_view v;
	uint64_t at = 0;

	while (core_job_next(m->w->core, at, m->w->now, &v)) {
		at = v.id;
		if (!v.ended)
			return false;
	}
	return true;
}

static void beats(struct model *m, unsigned node)
{
	struct core_event e = { .kind = EV_HEARTBEAT };

	e.agent.node = node;
	e.agent.session = m->nodes[node].session;
	world_apply(m->w, &e);
}

static void settle_down(struct model *m)
{
	unsigned n, round;
	size_t i;

	m->quiet = true;
	for (round = 0; round < 400 && !all_ended(m); round++) {
		if (m->conf)
			world_pass(m->w, 600); /* GPU-hours are forgotten */
		for (n = 0; n < NODES; n++) {
			world_node(m->w, NODE_RESUME, n, false);
			if (!m->nodes[n].session)
				node_registers(m, n);
			beats(m, n);
			for (i = 0; i < m->nodes[n].n_runs + 4; i++)
				node_goes_on(m, n);
		}
		for (i = 0; i < m->n_jobs; i++) {
			world_control(m->w, world_admin(), JOB_RELEASE, m->jobs[i]);
			world_control(m->w, world_admin(), JOB_RESUME, m->jobs[i]);
		}
		commit(m);
	}
	if (!all_ended(m)) {
		struct job_view v;
		uint64_t at = 0;

		while (core_job_next(m->w->core, at, m->w->now, &v)) {
			at = v.id;
			if (!v.ended)
				fail_msg("job %llu is still %s (%s: %s) attempt %u on %s",
				        (unsigned long long)v.id, v.state, v.reason, v.reason_text,
				        v.attempt, v.node);
		}
	}
}

struct sums {
	unsigned long starts, suspended, parts, respecs, reclaimed;
};

static void history(uint64_t seed, struct sums *sums)
{
	struct model m = { .random = seed * 0x9e3779b97f4a7c15ull + 1 };
	unsigned i;

	m.conf = seed % 2;
	m.w = world_new(policies[m.conf]);
	m.w->hook = hook;
	m.w->hook_arg = &m;
	for (i = 0; i < NODES; i++)
		snprintf(m.nodes[i].incarnation, sizeof(m.nodes[i].incarnation), "inc0");
	commit(&m);
	for (i = 0; i < STEPS; i++)
		step(&m);
	settle_down(&m);
	world_seal(m.w);
	drop_queue(&m);
	for (i = 0; i < NODES; i++)
		free(m.nodes[i].runs);
	free(m.queue);
	free(m.jobs);
	free(m.specs);
	world_free(m.w);
	sums->starts += m.starts;
	sums->suspended += m.suspended;
	sums->parts += m.parts;
	sums->respecs += m.respecs;
	sums->reclaimed += m.reclaimed;
}

static void histories(void **state)
{
	uint64_t from = env_number("CORE_SEED", 1), i;
	uint64_t n = getenv("CORE_SEED") ? 1 : amount("CORE_CASES", 150);
	struct sums sums = { 0 };

	(void)state;
	for (i = from; i < from + n; i++) {
		printf("seed %llu\r", (unsigned long long)i);
		fflush(stdout);
		history(i, &sums);
	}
	printf("seeds %llu to %llu: %lu runs started, %lu with parts of GPUs, %lu were suspended, "
	       "%lu specs changed, %lu ended for what they had borrowed\n",
	        (unsigned long long)from, (unsigned long long)(from + n - 1), sums.starts,
	        sums.parts, sums.suspended, sums.respecs, sums.reclaimed);
	assert_true(
	        sums.starts > n && sums.respecs > n / 4 &&
	        (n < 40 || (sums.suspended > n / 4 && sums.parts > n && sums.reclaimed >= n / 40)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(histories),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
