/* convert_jobs.c - answers about jobs, priorities and shares; see convert.h */
#include "ctld/wire/convert.h"

#include <stdlib.h>
#include <string.h>

#include "common/job/mail_types.h"
#include "common/job/pattern.h"
#include "common/job/runused.h"
#include "ctld/wire/convert_parts.h"

#define FILE_BYTES 8192 /* of a file's name, its patterns expanded */

Gpusched__Reply *wire_reply(const struct error *err, struct arena *arena)
{
	Gpusched__Reply *m = WIRE_NEW(Gpusched__Reply, GPUSCHED__REPLY__INIT, arena);

	if (err && err->code != ERR_NONE) {
		m->code = (uint32_t)err->code;
		m->text = wire_shown(err->text, arena);
		m->hint = wire_shown(err->hint, arena);
		if (err->code == ERR_BUSY)
			m->retry_after_ms = WIRE_RETRY_MS;
	}
	return m;
}

static Gpusched__Why *wire_why(const struct job_why *why, struct arena *arena)
{
	Gpusched__Why *m = WIRE_NEW(Gpusched__Why, GPUSCHED__WHY__INIT, arena);

	m->blockers = wire_take(arena, why->n_blockers * sizeof(*m->blockers));
	for (; m->n_blockers < why->n_blockers; m->n_blockers++) {
		const struct why_blocker *from = &why->blockers[m->n_blockers];
		Gpusched__Blocker *b = WIRE_NEW(Gpusched__Blocker, GPUSCHED__BLOCKER__INIT, arena);

		b->reason = wire_lend(from->reason);
		b->text = wire_shown(from->text, arena);
		b->clears_time = from->clears;
		b->clears = wire_shown(from->clears_text, arena);
		m->blockers[m->n_blockers] = b;
	}
	m->changes = wire_take(arena, why->n_changes * sizeof(*m->changes));
	for (; m->n_changes < why->n_changes; m->n_changes++) {
		Gpusched__Change *change =
		        WIRE_NEW(Gpusched__Change, GPUSCHED__CHANGE__INIT, arena);

		change->option = wire_shown(why->changes[m->n_changes].option, arena);
		change->effect = wire_shown(why->changes[m->n_changes].effect, arena);
		m->changes[m->n_changes] = change;
	}
	m->position = why->position;
	m->position_of = why->of;
	m->planned_start_time = why->planned_start;
	m->first_planned_start_time = why->first_planned;
	m->planned_nodes = wire_shown(why->planned_nodes, arena);
	m->planned_why = wire_shown(why->planned_why, arena);
	m->tried = wire_shown(why->tried, arena);
	m->cut_short = why->cut_short;
	return m;
}

static void fill_places(Gpusched__SubmitResult *m, const struct effect *effect,
        const struct conf *conf, struct arena *arena)
{
	m->places = wire_take(arena, effect->submitted.n_places * sizeof(*m->places));
	for (size_t i = 0; i < effect->submitted.n_places; i++) {
		const struct test_place *from = &effect->submitted.places[i];
		Gpusched__Place *p = WIRE_NEW(Gpusched__Place, GPUSCHED__PLACE__INIT, arena);

		if (from->node >= conf->n_nodes)
			continue;
		p->node = conf->nodes[from->node].name;
		p->gpu_type = wire_lend(effect->submitted.gpu_type);
		p->gpus = wire_indices(from->gpus, &p->n_gpus, arena);
		m->places[m->n_places++] = p;
	}
	if (m->n_places) {
		m->node = m->places[0]->node;
		m->gpu_type = m->places[0]->gpu_type;
		m->gpus = m->places[0]->gpus;
		m->n_gpus = m->places[0]->n_gpus;
	}
}

/* "Resources: 2 nodes have fewer free" */
static char *first_reason(const Gpusched__Why *why, struct arena *arena)
{
	const Gpusched__Blocker *b = why->blockers[0];
	size_t size = strlen(b->reason) + strlen(b->text) + 4;
	char *text = wire_take(arena, size);

	snprintf(text, size, "%s%s%s", b->reason, *b->text ? ": " : "", b->text);
	return text;
}

Gpusched__SubmitResult *wire_submitted(
        const struct effect *effect, const struct conf *conf, struct arena *arena)
{
	Gpusched__SubmitResult *m =
	        WIRE_NEW(Gpusched__SubmitResult, GPUSCHED__SUBMIT_RESULT__INIT, arena);

	m->n_job_ids = effect->submitted.n;
	m->job_ids = (uint64_t *)effect->submitted.ids;
	if (!effect->submitted.test_only)
		return m;
	m->would_start_now = effect->submitted.would_start_now;
	m->cost_unlimited = effect->submitted.cost_max < 0;
	m->cost_max = m->cost_unlimited ? 0 : effect->submitted.cost_max;
	m->currency = conf->prices.currency;
	if (m->would_start_now)
		fill_places(m, effect, conf, arena);
	if (effect->submitted.why)
		m->why = wire_why(effect->submitted.why, arena);
	if (m->why && m->why->n_blockers)
		m->reason = first_reason(m->why, arena);
	return m;
}

/* A file of a job, as its first node names it; before the job has one, as its owner wrote it. */
static char *file_of(const struct job_view *view, const char *pattern, struct arena *arena)
{
	const bool array = view->array && *view->array;
	const struct pattern_values values = {
		.job = view->id,
		.raw_id = view->raw_id == view->id ? 0 : view->raw_id,
		.task = array ? (uint32_t)strtoul(view->tasks, NULL, 10) : 0,
		.is_array = array,
		.name = view->name,
		.user = view->user,
		.node = view->node,
		.own = true,
	};
	char path[FILE_BYTES];

	if (!pattern || !*pattern || !view->node || !*view->node || view->several ||
	        pattern_expand(pattern, &values, path, sizeof(path), NULL) < 0)
		return wire_shown(pattern, arena);
	return wire_copied(path, arena);
}

static void fill_request(Gpusched__Job *m, const struct job_view *view, struct arena *arena)
{
	char mail[MAIL_TEXT_MAX];

	m->gpus = wire_take(arena, view->n_gpus * sizeof(*m->gpus));
	m->n_gpus = view->n_gpus;
	for (size_t i = 0; i < view->n_gpus; i++) {
		m->gpus[i] = WIRE_NEW(Gpusched__GpuCount, GPUSCHED__GPU_COUNT__INIT, arena);
		m->gpus[i]->type = wire_lend(view->gpus[i].type);
		m->gpus[i]->count = view->gpus[i].count;
	}
	m->cpus = view->cpus;
	m->mem_mb = view->mem_mb;
	m->time_limit_s = view->time_limit_s;
	m->max_attempts = view->max_attempts;
	m->nice = view->nice;
	m->requeue = view->requeue;
	m->labels = wire_labels(view->labels, view->n_labels, arena);
	m->n_labels = view->n_labels;
	m->cwd = wire_shown(view->cwd, arena);
	m->output = file_of(view, view->output, arena);
	m->error = file_of(view, view->error, arena);
	m->submit_host = wire_shown(view->submit_host, arena);
	m->qos = wire_shown(view->qos, arena);
	m->nodes_min = view->nodes_min;
	m->nodes_max = view->nodes_max;
	m->gpus_per_node = view->gpus_per_node;
	m->exclusive = view->exclusive;
	m->gpu_mem_min_mb = view->gpu_mem_min_mb;
	m->gpu_link = (char *)near_link_word(view->gpu_link);
	m->gpu_mem_mb = view->gpu_mem_mb;
	m->gpu_share_milli = view->gpu_share_milli;
	m->gpu_mem_burst_mb = view->gpu_mem_burst_mb;
	m->constraint = wire_shown(view->constraint, arena);
	m->prefer = wire_shown(view->prefer, arena);
	m->nodelist = wire_shown(view->nodelist, arena);
	m->exclude = wire_shown(view->exclude, arena);
	m->licences = wire_shown(view->licences, arena);
	m->max_wait_s = view->max_wait_s;
	m->begin_time = view->begin_time;
	m->deadline_time = view->deadline;
	m->dependency = wire_copied(view->dependency, arena);
	m->remark = wire_shown(view->remark, arena);
	m->mail_type = wire_copied(mail_types_format(mail, view->mail_types), arena);
	m->mail_user = wire_lend(view->mail_user);
	m->requeue_on = wire_lend(view->requeue_on);
	m->requeue_delay_s = view->requeue_delay_s;
}

Gpusched__Job *wire_job(const struct job_view *view, struct arena *arena)
{
	Gpusched__Job *m = WIRE_NEW(Gpusched__Job, GPUSCHED__JOB__INIT, arena);

	m->id = view->id;
	m->uid = view->uid;
	m->name = wire_shown(view->name, arena);
	m->user = wire_shown(view->user, arena);
	m->account = wire_shown(view->account, arena);
	m->partition = wire_shown(view->partition, arena);
	m->state = wire_lend(view->state);
	m->reason = wire_shown(view->reason, arena);
	m->reason_text = wire_copied(view->reason_text, arena); /* the view holds it */
	m->submit_time = view->submit_time;
	m->start_time = view->start_time;
	m->end_time = view->end_time;
	m->elapsed_s = view->elapsed_s;
	m->exit_code = view->exit_code;
	m->exit_signal = view->exit_signal;
	m->node = wire_lend(view->node);
	m->gpu_type = wire_shown(view->gpu_type, arena);
	m->gpu_indices = wire_indices(view->gpu_set, &m->n_gpu_indices, arena);
	m->attempt = view->attempt;
	m->priority = view->priority;
	m->comment = wire_shown(view->comment, arena);
	m->nodes = wire_lend(view->nodes);
	m->n_nodes = view->n_nodes;
	m->gpus_held = view->gpus_held;
	m->suspended_s = view->suspended_s;
	m->checkpoint_time = view->checkpoint_time;
	m->progress = wire_shown(view->progress, arena);
	m->planned_start_time = view->planned_start;
	m->planned_nodes = wire_copied(view->planned_nodes, arena);
	m->position = view->position;
	m->position_of = view->position_of;
	m->order = view->order;
	m->n_blockers = view->n_blockers;
	m->cost_unlimited = view->cost_max < 0;
	m->cost_max = view->cost_max < 0 ? 0 : view->cost_max;
	fill_request(m, view, arena);
	m->array = wire_lend(view->array);
	m->tasks = wire_shown(view->tasks, arena);
	m->several = view->several;
	m->task_count = view->task_count;
	m->array_throttle = view->at_once;
	m->tasks_running = view->tasks_running;
	m->tasks_ended = view->tasks_ended;
	m->tasks_failed = view->tasks_failed;
	m->raw_id = view->raw_id;
	m->steps_running = view->steps_running;
	return m;
}

/* --- why, priorities, shares ---------------------------------------------------------------- */

Gpusched__WhyResult *wire_why_result(const struct job_view *job, const struct job_why *why,
        const struct conf *conf, struct clocks now, struct arena *arena)
{
	Gpusched__WhyResult *m = WIRE_NEW(Gpusched__WhyResult, GPUSCHED__WHY_RESULT__INIT, arena);

	m->job = wire_job(job, arena);
	if (why)
		m->why = wire_why(why, arena);
	m->currency = conf->prices.currency;
	m->now_time = now.wall;
	return m;
}

Gpusched__Prio *wire_prio(
        const struct job_view *job, const struct prio_view *prio, struct arena *arena)
{
	Gpusched__Prio *m = WIRE_NEW(Gpusched__Prio, GPUSCHED__PRIO__INIT, arena);
	Gpusched__PrioPoints *p =
	        WIRE_NEW(Gpusched__PrioPoints, GPUSCHED__PRIO_POINTS__INIT, arena);
	Gpusched__PrioFactors *f =
	        WIRE_NEW(Gpusched__PrioFactors, GPUSCHED__PRIO_FACTORS__INIT, arena);

	m->id = job->id;
	m->tasks = wire_shown(job->tasks, arena);
	m->array = wire_lend(job->array);
	m->partition = wire_shown(job->partition, arena);
	m->user = wire_shown(job->user, arena);
	m->account = wire_shown(job->account, arena);
	m->qos = wire_shown(job->qos, arena);
	m->priority = prio->points.total;
	p->age = prio->points.age;
	p->fair_share = prio->points.fair_share;
	p->size = prio->points.size;
	p->partition = prio->points.partition;
	p->qos = prio->points.qos;
	p->wait = prio->points.wait;
	p->nice = prio->points.nice;
	f->age = prio->factor.age;
	f->fair_share = prio->factor.fair_share;
	f->size = prio->factor.size;
	f->partition = prio->factor.partition;
	f->qos = prio->factor.qos;
	f->wait = prio->factor.wait;
	m->points = p;
	m->factors = f;
	return m;
}

Gpusched__PrioWeights *wire_weights(const struct conf *conf, struct arena *arena)
{
	Gpusched__PrioWeights *m =
	        WIRE_NEW(Gpusched__PrioWeights, GPUSCHED__PRIO_WEIGHTS__INIT, arena);

	m->age = conf->priority.age;
	m->fair_share = conf->priority.fair_share;
	m->size = conf->priority.size;
	m->partition = conf->priority.partition;
	m->qos = conf->priority.qos;
	m->wait = conf->priority.wait_target;
	m->age_max_s = conf->priority.age_max_s;
	m->half_life_s = conf->priority.half_life_s;
	return m;
}

Gpusched__Share *wire_share(const struct share_view *share, struct arena *arena)
{
	Gpusched__Share *m = WIRE_NEW(Gpusched__Share, GPUSCHED__SHARE__INIT, arena);

	m->account = wire_copied(share->account, arena);
	m->user = wire_copied(share->user, arena);
	m->depth = share->depth;
	m->shares = share->shares;
	m->norm = share->norm;
	m->gpu_us = share->gpu_us;
	m->cpu_us = share->cpu_us;
	m->cost = share->cost;
	m->usage = share->usage;
	m->effective = share->effective;
	m->level_fs = share->level_fs;
	m->fair_share = share->fair_share;
	m->rank = share->rank;
	return m;
}

static Gpusched__JobRun *job_run(const struct run_view *view, struct arena *arena)
{
	Gpusched__JobRun *m = WIRE_NEW(Gpusched__JobRun, GPUSCHED__JOB_RUN__INIT, arena);

	m->rank = view->id.rank;
	m->node = wire_lend(view->node);
	m->state = wire_lend(view->state);
	m->gpu_type = wire_shown(view->gpu_type, arena);
	m->gpus = wire_indices(view->gpus, &m->n_gpus, arena);
	m->cpus = view->cpus;
	m->mem_mb = view->mem_mb;
	m->start_time = view->start_time;
	m->end_time = view->end_time;
	m->elapsed_s = view->elapsed_s;
	m->exit_code = view->exit_code;
	m->exit_signal = view->exit_signal;
	m->cause = (Gpusched__EndCause)view->cause;
	m->detail = wire_shown(view->detail, arena);
	if (view->used) {
		m->used = WIRE_NEW(Gpusched__RunUsed, GPUSCHED__RUN_USED__INIT, arena);
		run_used_to_message(view->used, m->used);
	}
	return m;
}

void wire_job_runs(const struct core *core, struct clocks now, uint64_t ref, Gpusched__Job *m,
        struct arena *arena)
{
	size_t room = m->n_nodes < WIRE_JOB_RUNS ? m->n_nodes : WIRE_JOB_RUNS;
	struct run_view view;
	uint32_t rank = 0;

	m->runs = wire_take(arena, room * sizeof(*m->runs));
	while (m->n_runs < room && core_job_run_next(core, ref, &rank, now, &view))
		m->runs[m->n_runs++] = job_run(&view, arena);
}
