/* random_nodes.c - see random_model.h */
#include "testsuite/unit/core/random_model.h"

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

static uint64_t model_random(struct model *m)
{
	m->random ^= m->random << 13;
	m->random ^= m->random >> 7;
	m->random ^= m->random << 17;
	return m->random;
}

unsigned model_pick(struct model *m, unsigned n)
{
	return (unsigned)(model_random(m) >> 11) % n;
}

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
uint64_t model_burst(uint64_t mem_mb)
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
	if (!m->quiet && model_pick(m, 12) == 0) {
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
	assert_int_equal(o->burst_mb, model_burst(o->share.mem_mb));
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
	r->report.exit_code = cause == END_EXIT ? model_pick(m, 2) : 0;
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
	r->report.suspended_us += r->hold ? 0 : model_pick(m, 1000000);
	r->report.elapsed_us += r->report.suspended_us;
	m->suspended += r->hold;
}

static void on_suspend(struct model *m, unsigned node, const struct effect *e)
{
	struct model_run *r = find_run(&m->nodes[node], e->run.run);

	if (!r || !r->alive || r->told)
		return;
	r->hold = e->run.suspend;
	if (r->report.state != REPORT_RUNNING || model_pick(m, 3) == 0)
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

/* It gets what the core sends it. */
void node_gets(struct model *m, unsigned node, const struct outgoing *o)
{
	switch (o->effect.kind) {
	case EFFECT_START_RUN:
		on_start(m, node, o);
		break;
	case EFFECT_END_RUN:
		on_end(m, node, &o->effect);
		break;
	case EFFECT_FORGET_RUN:
		on_forget(m, node, &o->effect);
		break;
	case EFFECT_SUSPEND_RUN:
		on_suspend(m, node, &o->effect);
		break;
	default:
		on_registered(m, node, o);
	}
}

/* A node sends all it has. */
void node_registers(struct model *m, unsigned node)
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

void node_loses_session(struct model *m, unsigned node)
{
	struct core_event e = { .kind = EV_AGENT_GONE };

	if (!m->nodes[node].session)
		return;
	e.agent.node = node;
	e.agent.session = m->nodes[node].session;
	m->nodes[node].session = 0;
	if (model_pick(m, 3))
		world_apply(m->w, &e);
}

void node_reboots(struct model *m, unsigned node)
{
	struct model_node *n = &m->nodes[node];
	size_t i;

	node_loses_session(m, node);
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
		{ .burst_job = m->jobs[model_pick(m, (unsigned)m->n_jobs)],
		        .burst_time = m->w->now.wall + model_pick(m, 60000000) } };

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
	struct step_report v[2] = { { .step = model_pick(m, 8), .name = "s", .nodelist = "n0" },
		{ .step = model_pick(m, 8), .name = "other", .nodelist = "" } };

	v[0].end_time = model_pick(m, 2) ? m->w->now.wall : 0;
	e.steps.job = r->report.run.job;
	e.steps.task = r->report.run.task;
	e.steps.attempt = r->report.run.attempt;
	e.steps.v = v;
	e.steps.n = 1 + model_pick(m, 2);
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
void node_goes_on(struct model *m, unsigned node)
{
	struct model_node *n = &m->nodes[node];
	struct model_run *r;
	size_t i;

	if (!n->n_runs)
		return;
	i = model_pick(m, (unsigned)n->n_runs);
	r = &n->runs[i];
	if (!r->here)
		return;
	if (r->alive && r->told)
		run_ends(m, r, r->told);
	else if (r->report.state == REPORT_STARTING) {
		r->report.state = REPORT_RUNNING;
		r->report.start_time = m->w->now.wall;
	} else if (r->report.state == REPORT_RUNNING && !m->quiet && !model_pick(m, 4)) {
		steps(m, r);
		return;
	} else if (r->report.state == REPORT_RUNNING && r->hold != r->report.suspended) {
		run_suspends(m, r);
	} else if (r->report.state == REPORT_RUNNING && !r->report.suspended) {
		static const enum end_cause causes[] = { END_EXIT, END_EXIT, END_EXIT,
			END_TIME_LIMIT, END_OUT_OF_MEMORY, END_LOST };

		if (r->report.share_burst_mb && !m->quiet && model_pick(m, 3)) {
			is_asked(m, node, r);
			if (model_pick(m, 2))
				is_reclaimed(m, node, r);
			return;
		}
		run_ends(m, r, m->quiet ? END_EXIT : causes[model_pick(m, 6)]);
	}
	say(m, node, r);
}
