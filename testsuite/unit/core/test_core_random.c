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
#include "ctld/core/jobs/attempt.h"
#include "ctld/core/records/job.h"
#include "ctld/core/records/run.h"
#include "ctld/core/rows/state.h"
#include "testsuite/unit/lib/core_world.h"

#define NODES    4
#define GPUS     4
#define MAX_RUNS 4000
#define STEPS    300
#define CARD_MB  81920 /* of each GPU */

struct model_run {
	struct run_report report;
	bool here; /* the node has a record of it */
	bool alive;
	enum end_cause told; /* an EndRun has come */
	bool hold;           /* a SuspendRun has: it is to be suspended */
	bool counted_start;
};

struct model_node {
	uint64_t session; /* ours; 0: none */
	char incarnation[16];
	unsigned boots;
	struct model_run *runs;
	size_t n_runs, size;
};

struct outgoing {
	struct effect effect;
	struct run_id *wanted;
	uint64_t gpus;
	struct share share;
	uint64_t burst_mb;
	uint32_t nodes; /* of the attempt */
	char incarnation[16];
};

struct model {
	struct world *w;
	uint64_t random;
	struct model_node nodes[NODES];
	struct outgoing *queue;
	size_t n_queue, queue_size;
	uint64_t *jobs;
	uint32_t *specs; /* of each: which one it has, or a later one that never was committed */
	size_t n_jobs;
	unsigned long starts, suspended, parts, respecs, reclaimed;
	unsigned conf; /* of policies[] */
	bool lied;     /* an operator or fence program was wrong about a node */
	bool quiet;    /* no more faults */
};

#define HEAD(share)                                                                    \
	"cluster = \"test\"; controller = { host = \"h\"; };\n"                        \
	"gpu_types = ( { name = \"h100\"; mem = \"80G\"; price = 2.0; },\n"            \
	"  { name = \"l40s\"; mem = \"48G\"; } );\n"                                   \
	"nodes = ( { name = \"n[0-3]\"; cpus = 8; mem = \"64G\"; gpus = \"h100:4\";\n" \
	"  " share " } );\n"
#define PARTITION                                                               \
	"partitions = ( { name = \"batch\"; nodes = \"ALL\"; default = true;\n" \
	"  max_time = \"2-00:00:00\"; default_time = \"1:00:00\";\n"

/* No policy at all; accounts, QOS, quotas and limits of each kind, none of which could keep a job
 * from starting for ever; others, and fewer accounts. */
static const char *const policies[] = {
	HEAD("share = \"watch\";") PARTITION "} );\n",
	HEAD("share = \"mps\";") PARTITION
	"preempt_mode = \"requeue\"; limits = { running = 7; };\n"
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
	HEAD("share = \"watch\"; share_users = \"one\";") PARTITION
	"preempt_mode = \"cancel\";\n"
	"per_user = { queued = 100000; cpus = 24; }; } );\n"
	"qos = ( { name = \"high\"; default = true; usage_factor = 2.0; } );\n"
	"accounts = ( { name = \"guest\"; members = [ \"*\" ];\n"
	"    limits = { gpu_hours = \"1 / 60s\"; }; } );\n"
	"priority = { half_life = \"10m\"; };\n",
};

static uint64_t next_random(struct model *m)
{
	m->random ^= m->random << 13;
	m->random ^= m->random >> 7;
	m->random ^= m->random << 17;
	return m->random;
}

static unsigned pick(struct model *m, unsigned n)
{
	return (unsigned)(next_random(m) >> 11) % n;
}

/* --- nodes ----------------------------------------------------------------------------------- */

static struct model_run *find_run(struct model_node *n, struct run_id id)
{
	size_t i;

	for (i = 0; i < n->n_runs; i++) {
		if (n->runs[i].here && run_id_equal(&n->runs[i].report.run, &id))
			return &n->runs[i];
	}
	return NULL;
}

static struct model_run *new_run(
        struct model_node *n, struct run_id id, enum run_report_state state)
{
	struct model_run *r;

	if (n->n_runs == n->size) {
		n->size = n->size ? n->size * 2 : 16;
		n->runs = xrealloc(n->runs, n->size, sizeof(*n->runs));
	}
	r = &n->runs[n->n_runs++];
	memset(r, 0, sizeof(*r));
	r->here = true;
	r->report = world_report(id, state);
	r->report.cpus = 1;
	return r;
}

static void say(struct model *m, unsigned node, const struct model_run *r)
{
	struct core_event e = { .kind = EV_RUN_REPORT };

	if (!m->nodes[node].session)
		return;
	e.run.node = node;
	e.run.session = m->nodes[node].session;
	e.run.report = r->report;
	world_apply(m->w, &e);
}

/* Did this run ever start, anywhere? Does another attempt live, or another rank of it here? */
static void note_start(struct model *m, unsigned node, struct run_id id)
{
	unsigned n;
	size_t i;

	m->starts++;
	for (n = 0; n < NODES; n++) {
		for (i = 0; i < m->nodes[n].n_runs; i++) {
			const struct model_run *r = &m->nodes[n].runs[i];

			if (r->counted_start && run_id_equal(&r->report.run, &id))
				fail_msg("run %llu.%u.%u started twice", (unsigned long long)id.job,
				        id.attempt, id.rank);
			if (r->alive && r->report.run.job == id.job && !m->lied &&
			        (r->report.run.attempt != id.attempt || n == node))
				fail_msg("job %llu has two runs", (unsigned long long)id.job);
		}
	}
}

/* May the run have it, or its part of it, beside those that live? */
static void check_gpu(
        const struct model_node *n, unsigned node, unsigned gpu, const struct outgoing *o)
{
	uint64_t milli = o->share.milli, mb = o->share.mem_mb;
	size_t i;

	for (i = 0; i < n->n_runs; i++) {
		const struct run_report *r = &n->runs[i].report;

		if (!n->runs[i].alive || !(r->gpus >> gpu & 1))
			continue;
		milli += r->share_milli;
		mb += r->share_mb;
		if (!r->share_charge || !o->share.charge || milli > GPU_MILLI || mb > CARD_MB)
			fail_msg("GPU %u of node %u is given to job %llu and held by %llu", gpu,
			        node, (unsigned long long)o->effect.run.run.job,
			        (unsigned long long)r->run.job);
	}
}

/* Of a job with so much memory of each GPU, more than a quarter of the card: what it may borrow up
 * to. */
static uint64_t burst_of(uint64_t mem_mb)
{
	return mem_mb > CARD_MB / 4 ? 2 * mem_mb : 0;
}

static void on_start(struct model *m, unsigned node, const struct outgoing *o)
{
	struct model_node *n = &m->nodes[node];
	struct model_run *r;
	size_t i;

	if (find_run(n, o->effect.run.run))
		return;
	if (strcmp(o->incarnation, n->incarnation)) {
		say(m, node, new_run(n, o->effect.run.run, REPORT_NEVER));
		return;
	}
	if (!m->quiet && pick(m, 12) == 0) {
		r = new_run(n, o->effect.run.run, REPORT_NEVER);
		r->report.cause = END_LAUNCH;
		r->report.detail = "the directory is gone";
		say(m, node, r);
		return;
	}
	for (i = 0; i < CONF_MAX_GPUS_PER_NODE && !m->lied; i++) {
		if (o->gpus >> i & 1)
			check_gpu(n, node, (unsigned)i, o);
	}
	m->parts += o->share.charge > 0;
	assert_int_equal(o->burst_mb, burst_of(o->share.mem_mb));
	note_start(m, node, o->effect.run.run);
	r = new_run(n, o->effect.run.run, REPORT_STARTING);
	r->alive = r->counted_start = true;
	r->report.gpus = o->gpus;
	r->report.share_charge = o->share.charge;
	r->report.share_milli = o->share.milli;
	r->report.share_mb = o->share.mem_mb;
	r->report.share_burst_mb = o->burst_mb;
	r->report.nodes = o->nodes;
	r->report.incarnation = n->incarnation;
	say(m, node, r);
}

static void run_ends(struct model *m, struct model_run *r, enum end_cause cause)
{
	r->alive = false;
	r->report.suspended = false;
	r->report.state = REPORT_ENDED;
	r->report.cause = cause;
	r->report.exit_code = cause == END_EXIT ? pick(m, 2) : 0;
	r->report.start_time = r->report.start_time ? r->report.start_time : m->w->now.wall;
	r->report.end_time = m->w->now.wall;
	r->report.gpus = 0;
}

static void on_end(struct model *m, unsigned node, const struct effect *e)
{
	struct model_run *r = find_run(&m->nodes[node], e->run.run);

	if (!r)
		say(m, node, new_run(&m->nodes[node], e->run.run, REPORT_NEVER));
	else if (r->alive)
		r->told = e->run.cause;
	else
		say(m, node, r);
}

/* All of it is stopped, or goes on, as it was ordered. */
static void run_suspends(struct model *m, struct model_run *r)
{
	r->report.suspended = r->hold;
	r->report.suspended_us += r->hold ? 0 : pick(m, 1000000);
	r->report.elapsed_us += r->report.suspended_us;
	m->suspended += r->hold;
}

static void on_suspend(struct model *m, unsigned node, const struct effect *e)
{
	struct model_run *r = find_run(&m->nodes[node], e->run.run);

	if (!r || !r->alive || r->told)
		return;
	r->hold = e->run.suspend;
	if (r->report.state != REPORT_RUNNING || pick(m, 3) == 0)
		return; /* it takes a while */
	run_suspends(m, r);
	say(m, node, r);
}

static void on_registered(struct model *m, unsigned node, const struct outgoing *o)
{
	size_t i;

	for (i = 0; i < o->effect.registered.n; i++) {
		if (!find_run(&m->nodes[node], o->wanted[i]))
			say(m, node, new_run(&m->nodes[node], o->wanted[i], REPORT_NEVER));
	}
}

static void on_forget(struct model *m, unsigned node, const struct effect *e)
{
	struct model_run *r = find_run(&m->nodes[node], e->run.run);

	if (r && r->alive)
		fail_msg("a run that is alive was forgotten");
	if (r)
		r->here = false;
}

/* A node sends all it has. */
static void registers(struct model *m, unsigned node)
{
	struct model_node *n = &m->nodes[node];
	struct run_report *v = xcalloc(n->n_runs, sizeof(*v));
	size_t k = 0, i;

	for (i = 0; i < n->n_runs; i++) {
		if (n->runs[i].here)
			v[k++] = n->runs[i].report;
	}
	n->session = world_register(m->w, node, n->incarnation, v, k);
	free(v);
}

static void loses_session(struct model *m, unsigned node)
{
	struct core_event e = { .kind = EV_AGENT_GONE };

	if (!m->nodes[node].session)
		return;
	e.agent.node = node;
	e.agent.session = m->nodes[node].session;
	m->nodes[node].session = 0;
	if (pick(m, 3))
		world_apply(m->w, &e);
}

static void reboots(struct model *m, unsigned node)
{
	struct model_node *n = &m->nodes[node];
	size_t i;

	loses_session(m, node);
	for (i = 0; i < n->n_runs; i++) {
		n->runs[i].alive = false;
		n->runs[i].here = false; /* tmpfs */
	}
	snprintf(n->incarnation, sizeof(n->incarnation), "inc%u", ++n->boots);
}

/* Somebody needs what it has borrowed: it is told so, and the controller. */
static void is_asked(struct model *m, unsigned node, const struct model_run *r)
{
	struct core_event e = { .kind = EV_RUNS_USED };
	struct run_use use = { r->report.run,
		{ .burst_job = m->jobs[pick(m, (unsigned)m->n_jobs)],
		        .burst_time = m->w->now.wall + pick(m, 60000000) } };

	e.used.node = node;
	e.used.session = m->nodes[node].session;
	e.used.runs = &use;
	e.used.n = 1;
	if (e.used.session)
		world_apply(m->w, &e);
}

/* Its steps come and go. */
static void steps(struct model *m, const struct model_run *r)
{
	struct core_event e = { .kind = EV_STEP_REPORTS, .caller = world_admin() };
	struct step_report v[2] = { { .step = pick(m, 8), .name = "s", .nodelist = "n0" },
		{ .step = pick(m, 8), .name = "other", .nodelist = "" } };

	v[0].end_time = pick(m, 2) ? m->w->now.wall : 0;
	e.steps.job = r->report.run.job;
	e.steps.task = r->report.run.task;
	e.steps.attempt = r->report.run.attempt;
	e.steps.v = v;
	e.steps.n = 1 + pick(m, 2);
	world_apply(m->w, &e);
}

/* It did not give back. Whom nobody else has ended comes again where its owner and the partition
 * have it so. */
static void is_reclaimed(struct model *m, unsigned node, struct model_run *r)
{
	const struct run *run = runs_find(m->w->core->runs, r->report.run);
	bool whole = run && r->report.nodes == 1 && m->nodes[node].session && !m->lied &&
	             run_info(run)->end_wanted == END_NONE && run_info(run)->state == RUN_RUNNING;
	const struct job *job = run ? run_link_of(run)->job : NULL;
	bool again;

	run_ends(m, r, END_RECLAIM);
	say(m, node, r);
	if (!whole || !job || job_run(job) != run)
		return;
	m->reclaimed++;
	again = job_info(job)->requeue && m->conf != 2 &&
	        job_starts(job) < job_info(job)->max_attempts;
	assert_int_equal(job_info(job)->state, again ? JOB_PENDING : JOB_PREEMPTED);
}

/* Something happens to one of its runs. */
static void run_goes_on(struct model *m, unsigned node)
{
	struct model_node *n = &m->nodes[node];
	struct model_run *r;
	size_t i;

	if (!n->n_runs)
		return;
	i = pick(m, (unsigned)n->n_runs);
	r = &n->runs[i];
	if (!r->here)
		return;
	if (r->alive && r->told)
		run_ends(m, r, r->told);
	else if (r->report.state == REPORT_STARTING) {
		r->report.state = REPORT_RUNNING;
		r->report.start_time = m->w->now.wall;
	} else if (r->report.state == REPORT_RUNNING && !m->quiet && !pick(m, 4)) {
		steps(m, r);
		return;
	} else if (r->report.state == REPORT_RUNNING && r->hold != r->report.suspended) {
		run_suspends(m, r);
	} else if (r->report.state == REPORT_RUNNING && !r->report.suspended) {
		static const enum end_cause causes[] = { END_EXIT, END_EXIT, END_EXIT,
			END_TIME_LIMIT, END_OUT_OF_MEMORY, END_LOST };

		if (r->report.share_burst_mb && !m->quiet && pick(m, 3)) {
			is_asked(m, node, r);
			if (pick(m, 2))
				is_reclaimed(m, node, r);
			return;
		}
		run_ends(m, r, m->quiet ? END_EXIT : causes[pick(m, 6)]);
	}
	say(m, node, r);
}

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

		if (v[i].effect.session == m->nodes[node].session) {
			if (v[i].effect.kind == EFFECT_START_RUN)
				on_start(m, node, &v[i]);
			else if (v[i].effect.kind == EFFECT_END_RUN)
				on_end(m, node, &v[i].effect);
			else if (v[i].effect.kind == EFFECT_FORGET_RUN)
				on_forget(m, node, &v[i].effect);
			else if (v[i].effect.kind == EFFECT_SUSPEND_RUN)
				on_suspend(m, node, &v[i].effect);
			else
				on_registered(m, node, &v[i]);
		}
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
	struct submit_job job = world_job(m->w, wants[pick(m, 6)]);
	uint64_t id;

	if (pick(m, 3) == 0) { /* a gang, which every node can be part of */
		job.nodes_min = 2 + pick(m, 2);
		job.nodes_max = job.nodes_min + pick(m, 2);
		job.gpus_per_node = job.n_gpus;
	}
	if (job.n_gpus && pick(m, 3) == 0) {
		job.gpu_share_milli = pick(m, 2) ? 250 : 0;
		job.gpu_mem_mb = !job.gpu_share_milli || pick(m, 2) ? 10240 << pick(m, 3) : 0;
		job.gpu_mem_burst_mb = burst_of(job.gpu_mem_mb);
	}
	job.cpus = 1 + pick(m, 4);
	job.hold = pick(m, 10) == 0;
	job.requeue = pick(m, 3);
	job.max_attempts = pick(m, 4);
	job.nice = (int32_t)pick(m, 3);
	job.account = m->conf == 1 && pick(m, 2) ? "guest" : "";
	job.qos = m->conf && pick(m, 3) == 0 ? "high" : "";
	memset(job.spec_hash, 0, sizeof(job.spec_hash));
	id = world_submit_job(m->w, &job, 1000 + pick(m, 2));
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
	struct respec r = { .fields = 1 + pick(m, (1 << RESPEC_FIELD_COUNT) - 1),
		.told = "told",
		.name = names[pick(m, 3)],
		.cwd = "/",
		.output = names[pick(m, 3)],
		.error = "",
		.max_attempts = 1 + pick(m, 4) };
	struct core_event e = { .kind = EV_JOB_CONTROL,
		.caller = world_user(1000 + pick(m, 2)),
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
	size_t job = m->n_jobs ? pick(m, (unsigned)m->n_jobs) : 0;
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
		world_control(m->w, pick(m, 2) ? world_user(1000) : world_admin(),
		        verbs[pick(m, 8)], m->jobs[pick(m, (unsigned)m->n_jobs)]);
}

/* What runs on a node is suspended, what is suspended goes on: most of it. */
static void suspends(struct model *m, unsigned node)
{
	size_t i;

	for (i = 0; i < m->nodes[node].n_runs; i++) {
		const struct model_run *r = &m->nodes[node].runs[i];

		if (r->alive && r->report.state == REPORT_RUNNING && pick(m, 4))
			world_control(m->w, world_user(1000), r->hold ? JOB_RESUME : JOB_SUSPEND,
			        r->report.run.job);
	}
}

static void operates(struct model *m)
{
	unsigned node = pick(m, NODES);
	bool off = pick(m, 4) == 0;
	static const enum node_verb verbs[] = { NODE_DRAIN, NODE_RESUME, NODE_RESUME, NODE_DOWN };
	enum node_verb verb = verbs[pick(m, 4)];

	if (verb != NODE_DOWN || !off) {
		world_node(m->w, verb, node, false);
		return;
	}
	if (world_node(m->w, verb, node, true) == ERR_NONE) {
		/* Sometimes he is wrong. */
		if (pick(m, 2))
			reboots(m, node);
		else
			m->lied = true;
	}
}

static void fault(struct model *m)
{
	unsigned node = pick(m, NODES);

	switch (pick(m, m->conf ? 7 : 6)) {
	case 6:
		m->conf = 3 - m->conf;
		world_reconfigure(m->w, policies[m->conf]);
		break;
	case 0:
		loses_session(m, node);
		break;
	case 1:
		reboots(m, node);
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
		world_pass(m->w, 1 + pick(m, 100));
	}
}

static void step(struct model *m)
{
	unsigned node = pick(m, NODES);

	switch (pick(m, 12)) {
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
			registers(m, node);
		break;
	case 5:
		commit(m);
		break;
	case 6:
		m->w->now.wall += (int)pick(m, 2000) * 1000000ll - 1000000000;
		break;
	default:
		run_goes_on(m, node);
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
				registers(m, n);
			beats(m, n);
			for (i = 0; i < m->nodes[n].n_runs + 4; i++)
				run_goes_on(m, n);
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

#ifdef __SANITIZE_ADDRESS__
#define CASES 40 /* they take twenty times as long */
#else
#define CASES 150
#endif

static void histories(void **state)
{
	const char *seed = getenv("CORE_SEED"), *cases = getenv("CORE_CASES");
	uint64_t from = seed ? strtoull(seed, NULL, 10) : 1;
	uint64_t n = seed ? 1 : cases ? strtoull(cases, NULL, 10) : CASES, i;
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
	        (n < 40 || (sums.suspended > n / 4 && sums.parts > n && sums.reclaimed > n / 40)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(histories),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
