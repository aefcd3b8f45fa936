/* sched_lab.c - see sched_lab.h: the nodes, what happens, what the core is seen to do */
#include "testsuite/unit/policy/sched_lab.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "common/base/hostlist.h"
#include "ctld/core/records/job_partitions.h"
#include "ctld/core/rows/state.h"
#include "ctld/core/sched/sched.h"
#include "ctld/core/util/hash.h"
#include "testsuite/unit/policy/sched_rules.h"

unsigned lab_pick(struct lab *lab, unsigned n)
{
	lab->random ^= lab->random << 13;
	lab->random ^= lab->random >> 7;
	lab->random ^= lab->random << 17;
	return (unsigned)(lab->random >> 11) % n;
}

void lab_fail(const struct lab *lab, const char *fmt, ...)
{
	char text[600];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	fail_msg("seed %llu, at %.3f s, %s: %s", (unsigned long long)lab->seed,
	        (double)(lab->w->now.mono - 5000 * LAB_SECOND) / 1e6, lab->doing, text);
}

struct lab_job *lab_job(struct lab *lab, uint64_t id)
{
	size_t i;

	for (i = 0; i < lab->n_jobs; i++) {
		if (lab->jobs[i].id == id)
			return &lab->jobs[i];
	}
	return NULL;
}

/* --- what the core is seen to do ------------------------------------------------------------- */

static int note_node(const char *name, void *arg)
{
	uint32_t *nodes = arg;

	*nodes |= 1u << atoi(name + 1);
	return 0;
}

static uint32_t partition_number(const struct lab *lab, const char *name, size_t n)
{
	uint32_t p;

	for (p = 0; p < lab->w->conf->n_partitions; p++) {
		const char *other = lab->w->conf->partitions[p].name;

		if (strlen(other) == n && !memcmp(other, name, n))
			return p;
	}
	lab_fail(lab, "there is no partition %s", name);
	return 0;
}

/* A job that waits shows its list; the one that holds something shows where it is. */
static void see_partitions(struct lab *lab, struct lab_job *j, const struct job_view *v)
{
	const char *at = v->partition, *name;
	const struct class *class;
	size_t n;

	if (j->now.state != LAB_WAITS || !j->n_list) {
		j->partition = partition_number(lab, at, strlen(at));
		j->n_list = j->n_list ? j->n_list : 1;
		j->list[0] = j->n_list == 1 ? j->partition : j->list[0];
		return;
	}
	for (j->n_list = 0; (name = partition_list_next(&at, &n));)
		j->list[j->n_list++] = partition_number(lab, name, n);
	class = sched_class_of(jobs_find(lab->w->core->jobs, j->id));
	j->partition = class ? class_link_of(class)->partition : j->list[0];
}

static void see(struct lab *lab, struct lab_job *j)
{
	struct job_view v;

	if (j->now.state == LAB_ENDED)
		return;
	if (!core_job_view(lab->w->core, j->id, lab->w->now, &v))
		lab_fail(lab, "job %llu has gone", (unsigned long long)j->id);
	j->now = (struct lab_seen){ .state = v.ended ? LAB_ENDED : LAB_HOLDS,
		.priority = v.priority,
		.has_plan = *v.planned_nodes,
		.planned = v.planned_start ? v.planned_start - lab->w->now.wall + lab->w->now.mono
		                           : 0 };
	if (*v.planned_nodes)
		assert_int_equal(hostlist_each(v.planned_nodes, LAB_NODES, note_node,
		                         &j->now.plan_nodes, NULL),
		        0);
	if (!strcmp(v.state, "PENDING"))
		j->now.state = LAB_WAITS;
	if (lab->lists)
		see_partitions(lab, j, &v);
	j->now.held = !strcmp(v.reason, "JobHeldUser") || !strcmp(v.reason, "JobHeldAdmin");
	snprintf(j->now.reason, sizeof(j->now.reason), "%s", v.reason);
}

static uint16_t type_number(const struct lab *lab, const char *name)
{
	uint16_t t;

	for (t = 0; t < lab->w->conf->n_gpu_types; t++) {
		if (!strcmp(lab->w->conf->gpu_types[t].name, name))
			return t;
	}
	return LAB_NO_GPU;
}

static void begins(struct lab *lab, const struct effect *e)
{
	struct lab_job *j = lab_job(lab, e->run.run.job);
	struct run_view v;
	struct lab_run *r;

	assert_non_null(j);
	assert_true(core_run_view(lab->w->core, e->run.run, lab->w->now, &v));
	if (j->attempt != e->run.run.attempt)
		j->n_runs = 0;
	r = &j->runs[e->run.run.rank];
	j->attempt = e->run.run.attempt;
	j->n_runs++;
	*r = (struct lab_run){ .id = e->run.run,
		.node = e->node,
		.cpus = v.cpus,
		.type = type_number(lab, v.gpu_type),
		.gpus = v.gpus,
		.mem_mb = v.mem_mb,
		.share = v.share,
		.ordered = lab->w->now.mono };
	/* The same for all ranks. */
	r->starts = r->ordered + (usec_t)(e->run.run.job * 7 % 5) * LAB_SECOND;
	r->ends = r->starts + (usec_t)j->lasts * LAB_SECOND;
	lab->starts[lab->n_starts] = e->run.run;
	lab->start_nodes[lab->n_starts++] = e->node;
}

static void is_told(struct lab *lab, const struct effect *e)
{
	struct lab_job *j = lab_job(lab, e->run.run.job);
	struct lab_run *r = &j->runs[e->run.run.rank];
	usec_t takes = (usec_t)(lab_pick(lab, e->run.grace_s + 1)) * LAB_SECOND;

	assert_true(lab->n_stops < 64);
	lab->stops[lab->n_stops++] = (struct lab_stop){ e->run.run, e->run.cause, e->run.by_job,
		e->run.grace_s, e->run.requeue };
	r->told = lab->w->now.mono;
	r->grace = (usec_t)e->run.grace_s * LAB_SECOND;
	r->cause = e->run.cause;
	if (lab->w->now.mono + takes < r->ends || lab->endless)
		r->ends = lab->w->now.mono + takes;
	if (r->starts > r->ends)
		r->starts = r->ends;
}

static void hook(void *arg, const struct effect *e)
{
	struct lab *lab = arg;

	lab->hash = hash_u64(lab->hash ^ (uint64_t)e->kind, 3);
	if (e->kind == EFFECT_START_RUN || e->kind == EFFECT_END_RUN) {
		lab->hash = hash_u64(lab->hash ^ (uint64_t)lab->w->now.mono, 4);
		lab->hash = hash_u64(lab->hash ^ e->run.run.job << 16 ^ e->run.run.rank << 8 ^
		                             e->node ^ (uint64_t)e->run.cause << 48,
		        5);
	}
	if (e->kind == EFFECT_START_RUN)
		begins(lab, e);
	else if (e->kind == EFFECT_END_RUN)
		is_told(lab, e);
}

/* Of several users, who were there before the configuration said so: until nobody has it. */
static void note_mixed(struct lab *lab)
{
	struct room room;
	unsigned i, k;

	rules_room(lab, lab->w->now.mono, 0, &room);
	for (i = 0; i < lab->n_nodes; i++) {
		for (k = 0; k < room.v[i].n_gpus; k++) {
			if (!room.v[i].apart || !room.v[i].gpu_set[k].runs)
				lab->mixed[i] &= ~(1u << k);
			else if (room.v[i].gpu_set[k].uid == CONF_NONE)
				lab->mixed[i] |= 1u << k;
		}
	}
}

static void settled(void *arg, bool scheduled)
{
	struct lab *lab = arg;
	size_t i;

	if (lab->apart)
		note_mixed(lab);
	for (i = 0; i < lab->n_jobs; i++) {
		lab->jobs[i].before = lab->jobs[i].now;
		see(lab, &lab->jobs[i]);
	}
	for (i = 0; i < lab->n_starts; i++)
		lab_job(lab, lab->starts[i].job)->started = true;
	if (lab->check)
		lab->check(lab, scheduled);
	lab->n_starts = lab->n_stops = 0;
	world_clear(lab->w);
}

static bool breaks_off(void *arg)
{
	struct lab *lab = arg;

	if (!lab->may_interrupt || !sched_searching(lab->w->core->sched) || lab_pick(lab, 2))
		return false;
	lab->seen.interrupted++;
	lab->interrupted = true;
	return true;
}

/* --- nodes ----------------------------------------------------------------------------------- */

static struct run_report report(struct lab *lab, const struct lab_run *r, bool over)
{
	struct run_report v = world_report(r->id, over ? REPORT_ENDED : REPORT_RUNNING);
	usec_t now = lab->w->now.mono;

	v.incarnation = lab->nodes[r->node].incarnation;
	v.gpus = over ? 0 : r->gpus;
	v.cpus = r->cpus;
	v.mem_mb = r->mem_mb;
	v.share_charge = r->share.charge;
	v.share_milli = r->share.milli;
	v.share_mb = r->share.mem_mb;
	v.elapsed_us = (uint64_t)(now - r->starts);
	v.start_time = lab->w->now.wall - (now - r->starts);
	if (over) {
		v.end_time = lab->w->now.wall;
		v.cause = r->cause ? r->cause : END_EXIT;
	}
	return v;
}

/* The next thing that a node has to say. NULL: nothing before `until`. */
static struct lab_run *next_word(struct lab *lab, usec_t until, usec_t *when)
{
	struct lab_run *best = NULL;
	size_t i, k;

	for (i = 0; i < lab->n_jobs; i++) {
		struct lab_job *j = &lab->jobs[i];

		for (k = 0; k < j->n_runs; k++) {
			struct lab_run *r = &j->runs[k];
			usec_t at = r->running ? r->ends : r->starts;

			if (r->over || !lab->nodes[r->node].heard || at > until)
				continue;
			if (lab->endless && r->running && !r->told)
				continue;
			if (!best || at < *when) {
				best = r;
				*when = at;
			}
		}
	}
	return best;
}

static void says(struct lab *lab, struct lab_run *r)
{
	struct lab_job *j = lab_job(lab, r->id.job);

	if (!r->running) {
		r->running = true;
		lab->doing = "a run starts";
		world_say(lab->w, r->node, report(lab, r, false));
		return;
	}
	if (!r->told && j->time_s && j->lasts >= j->time_s)
		r->cause = END_TIME_LIMIT;
	r->over = true;
	lab->doing = "a run ends";
	world_say(lab->w, r->node, report(lab, r, true));
}

static void heartbeats(struct lab *lab)
{
	uint32_t i;

	for (i = 0; i < lab->n_nodes; i++) {
		struct core_event e = { .kind = EV_HEARTBEAT };

		e.agent.node = i;
		e.agent.session = world_session(lab->w, i);
		if (lab->nodes[i].heard)
			world_apply(lab->w, &e);
	}
}

void lab_pass(struct lab *lab, double seconds)
{
	usec_t until = lab->w->now.mono + (usec_t)(seconds * 1e6), when = until;

	heartbeats(lab);
	for (;;) {
		struct lab_run *r = next_word(lab, until, &when);
		usec_t to = r ? when : until;

		lab->doing = "time passes";
		if (to > lab->w->now.mono)
			world_pass(lab->w, (double)(to - lab->w->now.mono) / 1e6);
		if (!r)
			break;
		if (r->over || lab->w->now.mono < (r->running ? r->ends : r->starts))
			continue; /* it was told to end earlier, meanwhile */
		says(lab, r);
	}
}

static void registers(struct lab *lab, uint32_t node)
{
	struct run_report v[LAB_JOBS];
	size_t n = 0, i, k;

	for (i = 0; i < lab->n_jobs; i++) {
		for (k = 0; k < lab->jobs[i].n_runs; k++) {
			struct lab_run *r = &lab->jobs[i].runs[k];

			if (r->over || r->node != node)
				continue;
			r->running = true;
			if (r->starts > lab->w->now.mono)
				r->starts = lab->w->now.mono;
			r->over = r->ends <= lab->w->now.mono && (!lab->endless || r->told);
			v[n++] = report(lab, r, r->over);
		}
	}
	lab->nodes[node].heard = true;
	world_register(lab->w, node, lab->nodes[node].incarnation, v, n);
}

static void reboots(struct lab *lab, uint32_t node)
{
	struct lab_node *n = &lab->nodes[node];
	size_t i, k;

	for (i = 0; i < lab->n_jobs; i++) {
		for (k = 0; k < lab->jobs[i].n_runs; k++)
			lab->jobs[i].runs[k].over |= lab->jobs[i].runs[k].node == node;
	}
	snprintf(n->incarnation, sizeof(n->incarnation), "inc%u", ++n->boots + 1);
	registers(lab, node);
}

static void node_happens(struct lab *lab)
{
	uint32_t i = lab_pick(lab, lab->n_nodes);
	struct lab_node *n = &lab->nodes[i];

	lab->disturbed = true;
	if (!n->heard) {
		lab->doing = "a node is heard again";
		if (lab_pick(lab, 3))
			registers(lab, i);
		else
			reboots(lab, i);
	} else if (lab_pick(lab, 2)) {
		lab->doing = "a node is drained or resumed";
		n->drained = !n->drained;
		world_node(lab->w, n->drained ? NODE_DRAIN : NODE_RESUME, i, false);
	} else {
		lab->doing = "a node is lost";
		n->heard = false;
		world_gone(lab->w, i);
	}
	lab->disturbed = false;
}

/* --- jobs ------------------------------------------------------------------------------------ */

static void choose_shape(struct lab *lab, struct lab_job *j)
{
	unsigned kind = lab_pick(lab, 10), a;

	j->n_wants = lab_pick(lab, 10) ? 1 + (lab_pick(lab, 5) == 0) : 0;
	j->nodes_min = j->nodes_max = 1;
	j->per_node = kind < 2;
	if (kind < 3 && lab->n_nodes > 1 && j->n_wants) {
		j->nodes_min = 1 + lab_pick(lab, lab->n_nodes < 4 ? lab->n_nodes : 4);
		j->nodes_max = j->nodes_min + lab_pick(lab, 3);
	}
	for (a = 0; a < j->n_wants; a++) {
		const struct conf_node *n = &lab->w->conf->nodes[lab_pick(lab, lab->n_nodes)];

		j->wants[a].type = lab_pick(lab, 6) ? n->gpus[0].type : LAB_ANY;
		j->wants[a].count = 1 + lab_pick(lab, n->gpus[0].count);
		if (j->nodes_max > 1 && !j->per_node)
			j->wants[a].count += j->nodes_min;
	}
	j->exclusive = lab_pick(lab, 25) == 0 && (j->nodes_max == 1 || j->per_node);
	j->cpus = 1 + (lab_pick(lab, 3) ? 0 : lab_pick(lab, 4));
	j->mem_mb = 1024 * (1 + lab_pick(lab, 4));
}

/* A part of each GPU: of its compute, of its memory, or of both; some with a burst. */
static void choose_part(struct lab *lab, struct lab_job *j, struct submit_job *job)
{
	unsigned what = lab_pick(lab, 4);

	if (!j->n_wants || j->exclusive || what == 3)
		return;
	if (what != 1)
		j->part.milli = 100 * (1 + lab_pick(lab, 7));
	if (what)
		j->part.mem_mb = 4096 * (1 + lab_pick(lab, 9));
	job->gpu_share_milli = j->part.milli;
	job->gpu_mem_mb = j->part.mem_mb;
	if (what && lab_pick(lab, 3) == 0)
		job->gpu_mem_burst_mb = j->part.mem_mb + 1024 * lab_pick(lab, 40);
}

static void choose_times(struct lab *lab, struct lab_job *j)
{
	static const uint32_t limits[] = { 60, 120, 300, 600, 1200 };
	uint32_t most;

	j->time_s = lab_pick(lab, 10) ? limits[lab_pick(lab, 5)] : 0;
	most = j->time_s ? j->time_s : 900;
	j->lasts = lab_pick(lab, 2) ? most : 1 + lab_pick(lab, most);
}

/* Its partition, or all in some order; those that can never run it are left out. */
static const char *choose_list(struct lab *lab, struct lab_job *j, char *list, size_t size)
{
	unsigned n = (unsigned)lab->w->conf->n_partitions, first, i;
	size_t used = 0;

	j->list[0] = j->partition;
	j->n_list = 1;
	if (!lab->lists || !lab_pick(lab, 2))
		return lab->w->conf->partitions[j->partition].name;
	first = lab_pick(lab, n);
	for (i = 0; i < n; i++)
		used += (size_t)snprintf(list + used, size - used, "%s%s", i ? "," : "",
		        lab->w->conf->partitions[(first + i) % n].name);
	return list;
}

void lab_submit(struct lab *lab)
{
	const struct conf *conf = lab->w->conf;
	struct lab_job *j = &lab->jobs[lab->n_jobs];
	struct submit_job job = world_job(lab->w, "");
	char list[64];
	size_t a;

	if (lab->n_jobs == LAB_JOBS)
		return;
	memset(j, 0, sizeof(*j));
	choose_shape(lab, j);
	choose_times(lab, j);
	j->partition = lab_pick(lab, (unsigned)conf->n_partitions);
	j->account = lab_pick(lab, (unsigned)conf->n_accounts);
	j->qos = lab_pick(lab, 2) ? 0 : lab_pick(lab, (unsigned)conf->n_qos);
	j->uid = 1000 + lab_pick(lab, 3);
	j->licences = lab_pick(lab, 8) ? 0 : 1 + lab_pick(lab, 2);
	j->requeue = lab_pick(lab, 6);
	for (a = 0; a < j->n_wants; a++) {
		job.gpus[a].type =
		        j->wants[a].type == LAB_ANY ? "" : conf->gpu_types[j->wants[a].type].name;
		job.gpus[a].count = j->wants[a].count;
	}
	if (lab->shares)
		choose_part(lab, j, &job);
	job.n_gpus = j->n_wants;
	job.partition = choose_list(lab, j, list, sizeof(list));
	job.account = conf->accounts[j->account].name;
	job.qos = conf->qos[j->qos].name;
	job.nodes_min = j->nodes_min;
	job.nodes_max = j->nodes_max;
	job.gpus_per_node = j->per_node;
	job.exclusive = j->exclusive;
	job.cpus = j->cpus;
	job.mem_mb = j->mem_mb;
	job.time_limit_s = j->time_s ? j->time_s : TIME_LIMIT_NONE;
	job.licences = j->licences ? j->licences > 1 ? "lic:2" : "lic:1" : "";
	job.requeue = j->requeue;
	job.max_attempts = 1000;
	job.nice = lab->weights ? 0 : (int32_t)lab_pick(lab, 3);
	job.hold = lab_pick(lab, 12) == 0;
	lab->doing = "a job is submitted";
	{
		struct core_event e = { .kind = EV_SUBMIT,
			.caller = world_user(j->uid),
			.submit = { .jobs = &job, .n = 1 } };

		lab->w->n_ids = 0;
		world_apply(lab->w, &e);
		if (!lab->w->n_ids)
			return; /* it could never start */
		j->id = lab->w->ids[0];
		lab->n_jobs++;
		see(lab, j);
		j->before = j->now;
		world_schedule(lab->w);
	}
}

static void job_happens(struct lab *lab)
{
	struct lab_job *j;
	unsigned what = lab_pick(lab, 8);

	if (!lab->n_jobs)
		return;
	j = &lab->jobs[lab_pick(lab, (unsigned)lab->n_jobs)];
	if (what == 0) {
		lab->doing = "a job is cancelled";
		world_control(lab->w, world_admin(), JOB_CANCEL, j->id);
	} else if (what < 4) {
		lab->doing = "a job is held or released";
		world_control(lab->w, world_admin(), j->now.held ? JOB_RELEASE : JOB_HOLD, j->id);
	}
}

static void reload(struct lab *lab, unsigned variant)
{
	char text[16384];

	lab->variant = variant;
	lab_conf(lab, text, sizeof(text));
	lab->doing = "the configuration is loaded anew";
	memset(lab->mixed, 0, sizeof(lab->mixed));
	lab->disturbed = true;
	world_reconfigure(lab->w, text);
	lab->disturbed = false;
}

static void something_happens(struct lab *lab)
{
	unsigned what = lab_pick(lab, 32);

	if (what < 14)
		lab_submit(lab);
	else if (what < 18)
		job_happens(lab);
	else if (what < 20)
		node_happens(lab);
	else if (what == 20 && lab_pick(lab, 2))
		reload(lab, lab_pick(lab, 4));
	else
		lab_pass(lab, lab_pick(lab, 3) ? 1 + lab_pick(lab, 30) : lab_pick(lab, 600));
}

void lab_step(struct lab *lab)
{
	lab->may_interrupt = lab->interrupts;
	something_happens(lab);
	while (lab->may_interrupt && sched_searching(lab->w->core->sched))
		something_happens(lab);
	lab->may_interrupt = false;
	world_schedule(lab->w);
	lab->interrupted = false;
}

void lab_calm(struct lab *lab)
{
	uint32_t i;
	size_t k;

	if (lab->variant)
		reload(lab, 0);
	lab->disturbed = true;
	for (i = 0; i < lab->n_nodes; i++) {
		lab->doing = "all nodes are well";
		if (!lab->nodes[i].heard)
			registers(lab, i);
		lab->nodes[i].drained = false;
		world_node(lab->w, NODE_RESUME, i, false);
	}
	lab->disturbed = false;
	for (k = 0; k < lab->n_jobs; k++) {
		lab->doing = "all jobs are released";
		if (lab->jobs[k].now.held)
			world_control(lab->w, world_admin(), JOB_RELEASE, lab->jobs[k].id);
	}
}

void lab_new(struct lab *lab, uint64_t seed)
{
	void (*check)(struct lab *, bool) = lab->check;
	char text[16384];
	uint32_t i;

	memset(lab, 0, sizeof(*lab));
	lab->seed = seed;
	lab->random = seed * 0x9e3779b97f4a7c15ull + 1;
	lab_pick(lab, 2);
	lab->weights = lab_pick(lab, 3) == 0;
	lab->quotas = lab_pick(lab, 2);
	lab->limits = lab_pick(lab, 2);
	lab->preempts = lab_pick(lab, 3) != 0;
	lab->lists = seed >= LAB_LISTS;
	lab->shares = seed >= LAB_SHARED && !lab->lists;
	lab->apart = seed >= LAB_APART && !lab->lists;
	lab->doing = "the start";
	lab_conf(lab, text, sizeof(text));
	lab->w = world_new(text);
	lab->w->unchecked = true;
	lab->w->hook = hook;
	lab->w->hook_arg = lab;
	lab->w->settled = settled;
	lab->w->breaks_off = breaks_off;
	for (i = 0; i < lab->n_nodes; i++) {
		snprintf(lab->nodes[i].incarnation, sizeof(lab->nodes[i].incarnation), "inc1");
		registers(lab, i);
	}
	lab->check = check;
}

void lab_free(struct lab *lab)
{
	world_free(lab->w);
}
