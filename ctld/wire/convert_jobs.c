/* convert_jobs.c - answers about jobs, priorities and shares; see convert.h */
#include "ctld/wire/convert.h"

#include <stdlib.h>
#include <string.h>

#include "common/job/filename_pattern.h"
#include "common/job/mail_types.h"
#include "common/job/runused.h"
#include "ctld/wire/convert_text.h"

#define FILE_BYTES 8192 /* of a file's name, its patterns expanded */

Gpusched__Reply *wire_reply(const struct error *err, struct arena *arena)
{
	Gpusched__Reply *m = WIRE_NEW(Gpusched__Reply, GPUSCHED__REPLY__INIT, arena);

	if (err && err->code != ERR_NONE) {
		m->code = (uint32_t)err->code;
		WIRE_SHOW(m, err, text, hint);
		if (err->code == ERR_BUSY)
			m->retry_after_ms = WIRE_RETRY_MS;
	}
	return m;
}

static Gpusched__Why *wire_why(const struct job_why *why, struct arena *arena)
{
	Gpusched__Why *m = WIRE_NEW(Gpusched__Why, GPUSCHED__WHY__INIT, arena);

	m->blockers = arena_take(arena, why->n_blockers * sizeof(*m->blockers));
	for (; m->n_blockers < why->n_blockers; m->n_blockers++) {
		const struct why_blocker *from = &why->blockers[m->n_blockers];
		Gpusched__Blocker *b = WIRE_NEW(Gpusched__Blocker, GPUSCHED__BLOCKER__INIT, arena);

		b->reason = wire_lend(from->reason);
		b->text = wire_shown(from->text, arena);
		b->clears_time = from->clears;
		b->clears = wire_shown(from->clears_text, arena);
		b->partition = wire_shown(from->partition ? from->partition : "", arena);
		m->blockers[m->n_blockers] = b;
	}
	m->changes = arena_take(arena, why->n_changes * sizeof(*m->changes));
	for (; m->n_changes < why->n_changes; m->n_changes++) {
		Gpusched__Change *change =
		        WIRE_NEW(Gpusched__Change, GPUSCHED__CHANGE__INIT, arena);

		WIRE_SHOW(change, &why->changes[m->n_changes], option, effect);
		m->changes[m->n_changes] = change;
	}
	m->position = why->position;
	m->position_of = why->of;
	m->planned_start_time = why->planned_start;
	m->first_planned_start_time = why->first_planned;
	WIRE_SHOW(m, why, planned_nodes, planned_why, tried);
	m->cut_short = why->cut_short;
	return m;
}

static void fill_places(Gpusched__SubmitResult *m, const struct effect *effect,
        const struct conf *conf, struct arena *arena)
{
	m->places = arena_take(arena, effect->submitted.n_places * sizeof(*m->places));
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
		COPY_FIELDS(m, m->places[0], node, gpu_type, gpus, n_gpus);
	}
}

/* "Resources: 2 nodes have fewer free" */
static char *first_reason(const Gpusched__Why *why, struct arena *arena)
{
	const Gpusched__Blocker *b = why->blockers[0];
	size_t size = strlen(b->reason) + strlen(b->text) + 4;
	char *text = arena_take(arena, size);

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
	m->next_job = effect->submitted.next_job;
	m->would_start_now = effect->submitted.would_start_now;
	m->cost_unlimited = effect->submitted.cost_max < 0;
	m->cost_max = m->cost_unlimited ? 0 : effect->submitted.cost_max;
	m->currency = conf->prices.currency;
	if (effect->submitted.partition)
		m->partition = (char *)effect->submitted.partition;
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

	m->gpus = arena_take(arena, view->n_gpus * sizeof(*m->gpus));
	COPY_FIELDS(m, view, n_gpus, cpus, mem_mb, time_limit_s, max_attempts, nice, requeue,
	        n_labels, nodes_min, nodes_max, gpus_per_node, exclusive, gpu_mem_min_mb,
	        gpu_mem_mb, gpu_share_milli, gpu_mem_burst_mb, max_wait_s, wait_target_s, begin_time,
	        requeue_delay_s, tmp_mb, show_output);
	for (size_t i = 0; i < view->n_gpus; i++) {
		m->gpus[i] = WIRE_NEW(Gpusched__GpuCount, GPUSCHED__GPU_COUNT__INIT, arena);
		m->gpus[i]->type = wire_lend(view->gpus[i].type);
		m->gpus[i]->count = view->gpus[i].count;
	}
	m->labels = wire_labels(view->labels, view->n_labels, arena);
	WIRE_SHOW(m, view, cwd, submit_host, qos, constraint, prefer, nodelist, exclude, licences,
	        remark);
	m->output = file_of(view, view->output, arena);
	m->error = file_of(view, view->error, arena);
	m->gpu_link = (char *)near_link_word(view->gpu_link);
	m->deadline_time = view->deadline;
	m->dependency = wire_copied(view->dependency, arena);
	m->mail_type = wire_copied(mail_types_format(mail, view->mail_types), arena);
	WIRE_LEND(m, view, mail_user, requeue_on);
}

Gpusched__Job *wire_job(const struct job_view *view, struct arena *arena)
{
	Gpusched__Job *m = WIRE_NEW(Gpusched__Job, GPUSCHED__JOB__INIT, arena);

	COPY_FIELDS(m, view, id, uid, submit_time, start_time, end_time, elapsed_s, exit_code,
	        exit_signal, attempt, priority, n_nodes, gpus_held, suspended_s, checkpoint_time,
	        position, position_of, order, n_blockers, several, task_count, tasks_running,
	        tasks_ended, tasks_failed);
	COPY_FIELDS(m, view, raw_id, steps_running, eligible_time, eligible_s);
	WIRE_SHOW(m, view, name, user, account, partition, reason, gpu_type, comment, progress,
	        tasks);
	WIRE_LEND(m, view, state, node, nodes, array);
	m->reason_text = wire_copied(view->reason_text, arena); /* the view holds it */
	m->gpu_indices = wire_indices(view->gpu_set, &m->n_gpu_indices, arena);
	m->planned_start_time = view->planned_start;
	m->planned_nodes = wire_copied(view->planned_nodes, arena);
	m->cost_unlimited = view->cost_max < 0;
	m->cost_max = view->cost_max < 0 ? 0 : view->cost_max;
	fill_request(m, view, arena);
	m->array_throttle = view->at_once;
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
	WIRE_SHOW(m, job, tasks, partition, user, account, qos);
	m->array = wire_lend(job->array);
	m->priority = prio->points.total;
	COPY_FIELDS(p, &prio->points, age, fair_share, size, partition, qos, wait, nice);
	COPY_FIELDS(f, &prio->factor, age, fair_share, size, partition, qos, wait);
	m->points = p;
	m->factors = f;
	return m;
}

Gpusched__PrioWeights *wire_weights(const struct conf *conf, struct arena *arena)
{
	Gpusched__PrioWeights *m =
	        WIRE_NEW(Gpusched__PrioWeights, GPUSCHED__PRIO_WEIGHTS__INIT, arena);

	COPY_FIELDS(m, &conf->priority, age, fair_share, size, partition, qos);
	m->wait = conf->priority.wait_target;
	COPY_FIELDS(m, &conf->priority, age_max_s, half_life_s);
	return m;
}

static void wire_share_gpus(
        const struct core *core, uint32_t account, Gpusched__Share *m, struct arena *arena)
{
	struct share_gpus view;
	size_t cursor = 0, n = 0;

	while (core_share_gpus(core, account, &cursor, &view))
		n++;
	m->gpus = arena_alloc(arena, (n + 1) * sizeof(*m->gpus));
	for (cursor = 0; m->n_gpus < n && core_share_gpus(core, account, &cursor, &view);) {
		Gpusched__ShareGpus *g =
		        WIRE_NEW(Gpusched__ShareGpus, GPUSCHED__SHARE_GPUS__INIT, arena);

		WIRE_COPY(g, &view, type);
		g->guaranteed_milli = view.guaranteed;
		g->kept_milli = view.kept;
		g->held_milli = view.held;
		g->limit = view.limit;
		g->lent_milli = view.lent;
		g->borrowed_milli = view.borrowed;
		m->gpus[m->n_gpus++] = g;
	}
}

Gpusched__Share *wire_share(
        const struct core *core, const struct share_view *share, struct arena *arena)
{
	Gpusched__Share *m = WIRE_NEW(Gpusched__Share, GPUSCHED__SHARE__INIT, arena);

	WIRE_COPY(m, share, account, user);
	COPY_FIELDS(m, share, depth, shares, norm, gpu_us, cpu_us, cost, usage, effective, level_fs,
	        fair_share, rank);
	if (share->index != CONF_NONE)
		wire_share_gpus(core, share->index, m, arena);
	return m;
}

static Gpusched__JobRun *job_run(const struct run_view *view, struct arena *arena)
{
	Gpusched__JobRun *m = WIRE_NEW(Gpusched__JobRun, GPUSCHED__JOB_RUN__INIT, arena);

	m->rank = view->id.rank;
	WIRE_LEND(m, view, node, state);
	WIRE_SHOW(m, view, gpu_type, detail);
	m->gpus = wire_indices(view->gpus, &m->n_gpus, arena);
	COPY_FIELDS(m, view, cpus, mem_mb, start_time, end_time, elapsed_s, exit_code, exit_signal);
	m->cause = (Gpusched__EndCause)view->cause;
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

	m->runs = arena_take(arena, room * sizeof(*m->runs));
	while (m->n_runs < room && core_job_run_next(core, ref, &rank, now, &view))
		m->runs[m->n_runs++] = job_run(&view, arena);
}
