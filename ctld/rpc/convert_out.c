/* convert_out.c - from the core to the wire; see convert.h
 *
 * What users typed was plain text when it came in, but paths are bytes, and rows may be older than
 * a rule: whatever is free text is escaped where it is not plain, since a peer refuses a message
 * with anything else.
 */
#include "ctld/rpc/convert.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/mailwish.h"
#include "common/runused.h"
#include "common/text.h"
#include "ctld/core/devices.h"

static void *take(struct arena *arena, size_t size)
{
	void *p = arena_alloc(arena, size ? size : 1);

	if (!p) {
		fputs("out of memory\n", stderr);
		abort();
	}
	return memset(p, 0, size);
}

/* Protobuf-c never writes to a message that it packs. */
static char *lend(const char *s)
{
	return (char *)(s ? s : "");
}

static char *shown(const char *s, struct arena *arena)
{
	size_t len = s ? strlen(s) : 0;
	char *copy;

	if (len == 0 || text_plain_prefix(s, len) == len)
		return lend(s);
	copy = take(arena, 4 * len + 8);
	text_escape(copy, 4 * len + 8, s, len);
	return copy;
}

/* A copy, of what may go before the message does. */
static char *copied(const char *s, struct arena *arena)
{
	size_t size = 4 * strlen(s) + 8;
	char *copy = take(arena, size);

	text_escape(copy, size, s, strlen(s));
	return copy;
}

static ProtobufCBinaryData lend_bytes(const void *p, size_t n)
{
	return (ProtobufCBinaryData){ .len = n, .data = (uint8_t *)p };
}

/* A message of a type, as its _INIT has it. */
#define NEW(type, init, arena)                                 \
	({                                                     \
		type *new_message = take(arena, sizeof(type)); \
		*new_message = (type)init;                     \
		new_message;                                   \
	})

static Gpusched__RunId *run_name(struct run_id run, struct arena *arena)
{
	Gpusched__RunId *m = NEW(Gpusched__RunId, GPUSCHED__RUN_ID__INIT, arena);

	m->job = run.job;
	m->task = run.task;
	m->attempt = run.attempt;
	m->rank = run.rank;
	return m;
}

static Gpusched__RunId **run_names(const struct run_id *runs, size_t n, struct arena *arena)
{
	Gpusched__RunId **v = take(arena, n * sizeof(*v));

	for (size_t i = 0; i < n; i++)
		v[i] = run_name(runs[i], arena);
	return v;
}

static uint32_t *indices(uint64_t set, size_t *n, struct arena *arena)
{
	uint32_t *v = take(arena, 64 * sizeof(*v));

	*n = 0;
	for (uint32_t i = 0; i < 64; i++)
		if (set >> i & 1)
			v[(*n)++] = i;
	return v;
}

static Gpusched__KeyValue **labels_of(const struct label *labels, size_t n, struct arena *arena)
{
	Gpusched__KeyValue **v = take(arena, n * sizeof(*v));

	for (size_t i = 0; i < n; i++) {
		v[i] = NEW(Gpusched__KeyValue, GPUSCHED__KEY_VALUE__INIT, arena);
		v[i]->key = shown(labels[i].key, arena);
		v[i]->value = shown(labels[i].value, arena);
	}
	return v;
}

static Gpusched__GpuShared *shared_of(const struct gpu_shared *shared, struct arena *arena)
{
	Gpusched__GpuShared *m;

	if (!shared->gpus)
		return NULL;
	m = NEW(Gpusched__GpuShared, GPUSCHED__GPU_SHARED__INIT, arena);
	m->gpus = shared->gpus;
	m->mem_mb = shared->mem_mb;
	m->granted_mem_mb = shared->granted_mem_mb;
	m->granted_milli = shared->granted_milli;
	m->largest_mem_mb = shared->largest_mem_mb;
	m->largest_node = lend(shared->largest_node);
	return m;
}

static Gpusched__GpuUse **uses_of(const struct gpu_use *uses, size_t n, struct arena *arena)
{
	Gpusched__GpuUse **v = take(arena, n * sizeof(*v));

	for (size_t i = 0; i < n; i++) {
		v[i] = NEW(Gpusched__GpuUse, GPUSCHED__GPU_USE__INIT, arena);
		v[i]->type = lend(uses[i].type);
		v[i]->total = uses[i].total;
		v[i]->free = uses[i].free;
		v[i]->largest = uses[i].largest;
		v[i]->largest_node = lend(uses[i].largest_node);
		v[i]->shared = shared_of(&uses[i].shared, arena);
	}
	return v;
}

/* --- answers ------------------------------------------------------------------------------- */

Gpusched__Reply *wire_reply(const struct error *err, struct arena *arena)
{
	Gpusched__Reply *m = NEW(Gpusched__Reply, GPUSCHED__REPLY__INIT, arena);

	if (err && err->code != ERR_NONE) {
		m->code = (uint32_t)err->code;
		m->text = shown(err->text, arena);
		m->hint = shown(err->hint, arena);
		if (err->code == ERR_BUSY)
			m->retry_after_ms = WIRE_RETRY_MS;
	}
	return m;
}

static Gpusched__Why *wire_why(const struct job_why *why, struct arena *arena)
{
	Gpusched__Why *m = NEW(Gpusched__Why, GPUSCHED__WHY__INIT, arena);

	m->blockers = take(arena, why->n_blockers * sizeof(*m->blockers));
	for (; m->n_blockers < why->n_blockers; m->n_blockers++) {
		const struct why_blocker *from = &why->blockers[m->n_blockers];
		Gpusched__Blocker *b = NEW(Gpusched__Blocker, GPUSCHED__BLOCKER__INIT, arena);

		b->reason = lend(from->reason);
		b->text = shown(from->text, arena);
		b->clears_time = from->clears;
		b->clears = shown(from->clears_text, arena);
		m->blockers[m->n_blockers] = b;
	}
	m->changes = take(arena, why->n_changes * sizeof(*m->changes));
	for (; m->n_changes < why->n_changes; m->n_changes++) {
		Gpusched__Change *change = NEW(Gpusched__Change, GPUSCHED__CHANGE__INIT, arena);

		change->option = shown(why->changes[m->n_changes].option, arena);
		change->effect = shown(why->changes[m->n_changes].effect, arena);
		m->changes[m->n_changes] = change;
	}
	m->position = why->position;
	m->position_of = why->of;
	m->planned_start_time = why->planned_start;
	m->first_planned_start_time = why->first_planned;
	m->planned_nodes = shown(why->planned_nodes, arena);
	m->planned_why = shown(why->planned_why, arena);
	m->tried = shown(why->tried, arena);
	m->cut_short = why->cut_short;
	return m;
}

static void fill_places(Gpusched__SubmitResult *m, const struct effect *effect,
        const struct conf *conf, struct arena *arena)
{
	m->places = take(arena, effect->submitted.n_places * sizeof(*m->places));
	for (size_t i = 0; i < effect->submitted.n_places; i++) {
		const struct test_place *from = &effect->submitted.places[i];
		Gpusched__Place *p = NEW(Gpusched__Place, GPUSCHED__PLACE__INIT, arena);

		if (from->node >= conf->n_nodes)
			continue;
		p->node = conf->nodes[from->node].name;
		p->gpu_type = lend(effect->submitted.gpu_type);
		p->gpus = indices(from->gpus, &p->n_gpus, arena);
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
	char *text = take(arena, size);

	snprintf(text, size, "%s%s%s", b->reason, *b->text ? ": " : "", b->text);
	return text;
}

Gpusched__SubmitResult *wire_submitted(
        const struct effect *effect, const struct conf *conf, struct arena *arena)
{
	Gpusched__SubmitResult *m =
	        NEW(Gpusched__SubmitResult, GPUSCHED__SUBMIT_RESULT__INIT, arena);

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

static void fill_request(Gpusched__Job *m, const struct job_view *view, struct arena *arena)
{
	char mail[MAIL_TEXT_MAX];

	m->gpus = take(arena, view->n_gpus * sizeof(*m->gpus));
	m->n_gpus = view->n_gpus;
	for (size_t i = 0; i < view->n_gpus; i++) {
		m->gpus[i] = NEW(Gpusched__GpuCount, GPUSCHED__GPU_COUNT__INIT, arena);
		m->gpus[i]->type = lend(view->gpus[i].type);
		m->gpus[i]->count = view->gpus[i].count;
	}
	m->cpus = view->cpus;
	m->mem_mb = view->mem_mb;
	m->time_limit_s = view->time_limit_s;
	m->max_attempts = view->max_attempts;
	m->nice = view->nice;
	m->requeue = view->requeue;
	m->labels = labels_of(view->labels, view->n_labels, arena);
	m->n_labels = view->n_labels;
	m->cwd = shown(view->cwd, arena);
	m->output = shown(view->output, arena);
	m->error = shown(view->error, arena);
	m->submit_host = shown(view->submit_host, arena);
	m->qos = shown(view->qos, arena);
	m->nodes_min = view->nodes_min;
	m->nodes_max = view->nodes_max;
	m->gpus_per_node = view->gpus_per_node;
	m->exclusive = view->exclusive;
	m->gpu_mem_min_mb = view->gpu_mem_min_mb;
	m->gpu_mem_mb = view->gpu_mem_mb;
	m->gpu_share_milli = view->gpu_share_milli;
	m->gpu_mem_burst_mb = view->gpu_mem_burst_mb;
	m->constraint = shown(view->constraint, arena);
	m->prefer = shown(view->prefer, arena);
	m->nodelist = shown(view->nodelist, arena);
	m->exclude = shown(view->exclude, arena);
	m->licences = shown(view->licences, arena);
	m->max_wait_s = view->max_wait_s;
	m->begin_time = view->begin_time;
	m->deadline_time = view->deadline;
	m->dependency = copied(view->dependency, arena);
	m->remark = shown(view->remark, arena);
	m->mail_type = copied(mailwish_format(mail, view->mail_types), arena);
	m->mail_user = lend(view->mail_user);
	m->requeue_on = lend(view->requeue_on);
	m->requeue_delay_s = view->requeue_delay_s;
}

Gpusched__Job *wire_job(const struct job_view *view, struct arena *arena)
{
	Gpusched__Job *m = NEW(Gpusched__Job, GPUSCHED__JOB__INIT, arena);

	m->id = view->id;
	m->uid = view->uid;
	m->name = shown(view->name, arena);
	m->user = shown(view->user, arena);
	m->account = shown(view->account, arena);
	m->partition = shown(view->partition, arena);
	m->state = lend(view->state);
	m->reason = shown(view->reason, arena);
	m->reason_text = copied(view->reason_text, arena); /* the view holds it */
	m->submit_time = view->submit_time;
	m->start_time = view->start_time;
	m->end_time = view->end_time;
	m->elapsed_s = view->elapsed_s;
	m->exit_code = view->exit_code;
	m->exit_signal = view->exit_signal;
	m->node = lend(view->node);
	m->gpu_type = shown(view->gpu_type, arena);
	m->gpu_indices = indices(view->gpu_set, &m->n_gpu_indices, arena);
	m->attempt = view->attempt;
	m->priority = view->priority;
	m->comment = shown(view->comment, arena);
	m->nodes = lend(view->nodes);
	m->n_nodes = view->n_nodes;
	m->gpus_held = view->gpus_held;
	m->suspended_s = view->suspended_s;
	m->checkpoint_time = view->checkpoint_time;
	m->progress = shown(view->progress, arena);
	m->planned_start_time = view->planned_start;
	m->planned_nodes = copied(view->planned_nodes, arena);
	m->position = view->position;
	m->position_of = view->position_of;
	m->order = view->order;
	m->n_blockers = view->n_blockers;
	m->cost_unlimited = view->cost_max < 0;
	m->cost_max = view->cost_max < 0 ? 0 : view->cost_max;
	fill_request(m, view, arena);
	m->array = lend(view->array);
	m->tasks = shown(view->tasks, arena);
	m->several = view->several;
	m->task_count = view->task_count;
	m->array_throttle = view->at_once;
	m->tasks_running = view->tasks_running;
	m->tasks_ended = view->tasks_ended;
	m->tasks_failed = view->tasks_failed;
	return m;
}

/* --- why, priorities, shares ---------------------------------------------------------------- */

Gpusched__WhyResult *wire_why_result(const struct job_view *job, const struct job_why *why,
        const struct conf *conf, struct clocks now, struct arena *arena)
{
	Gpusched__WhyResult *m = NEW(Gpusched__WhyResult, GPUSCHED__WHY_RESULT__INIT, arena);

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
	Gpusched__Prio *m = NEW(Gpusched__Prio, GPUSCHED__PRIO__INIT, arena);
	Gpusched__PrioPoints *p = NEW(Gpusched__PrioPoints, GPUSCHED__PRIO_POINTS__INIT, arena);
	Gpusched__PrioFactors *f = NEW(Gpusched__PrioFactors, GPUSCHED__PRIO_FACTORS__INIT, arena);

	m->id = job->id;
	m->partition = shown(job->partition, arena);
	m->user = shown(job->user, arena);
	m->account = shown(job->account, arena);
	m->qos = shown(job->qos, arena);
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
	Gpusched__PrioWeights *m = NEW(Gpusched__PrioWeights, GPUSCHED__PRIO_WEIGHTS__INIT, arena);

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
	Gpusched__Share *m = NEW(Gpusched__Share, GPUSCHED__SHARE__INIT, arena);

	m->account = copied(share->account, arena);
	m->user = copied(share->user, arena);
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

/* --- nodes, partitions ----------------------------------------------------------------------- */

static Gpusched__JobRun *job_run(const struct run_view *view, struct arena *arena)
{
	Gpusched__JobRun *m = NEW(Gpusched__JobRun, GPUSCHED__JOB_RUN__INIT, arena);

	m->rank = view->id.rank;
	m->node = lend(view->node);
	m->state = lend(view->state);
	m->gpu_type = shown(view->gpu_type, arena);
	m->gpus = indices(view->gpus, &m->n_gpus, arena);
	m->cpus = view->cpus;
	m->mem_mb = view->mem_mb;
	m->start_time = view->start_time;
	m->end_time = view->end_time;
	m->elapsed_s = view->elapsed_s;
	m->exit_code = view->exit_code;
	m->exit_signal = view->exit_signal;
	m->cause = (Gpusched__EndCause)view->cause;
	m->detail = shown(view->detail, arena);
	if (view->used) {
		m->used = NEW(Gpusched__RunUsed, GPUSCHED__RUN_USED__INIT, arena);
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

	m->runs = take(arena, room * sizeof(*m->runs));
	while (m->n_runs < room && core_job_run_next(core, ref, &rank, now, &view))
		m->runs[m->n_runs++] = job_run(&view, arena);
}

/* "broken fan [ana@2026-11-21T10:09:00Z]" */
#define GPU_RUNS_SHOWN 64

static char *reason_of(const struct node_view *view, const char *by, struct arena *arena)
{
	time_t t = (time_t)(view->reason_time / 1000000);
	char when[32] = "", who[32];
	const char *reason = shown(view->reason, arena);
	size_t size;
	struct tm tm;
	char *text;

	if (!reason[0] || view->reason_time == 0 || !gmtime_r(&t, &tm))
		return lend(reason);
	strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%SZ", &tm);
	snprintf(who, sizeof(who), "uid %u", view->reason_uid);
	if (!by)
		by = who;
	size = strlen(reason) + strlen(by) + sizeof(when) + 8;
	text = take(arena, size);
	snprintf(text, size, "%s [%s@%s]", reason, by, when);
	return text;
}

static int compare_index(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static void fill_partitions(
        Gpusched__Node *m, const struct conf *conf, uint32_t node, struct arena *arena)
{
	m->partitions = take(arena, conf->n_partitions * sizeof(*m->partitions));
	for (size_t i = 0; i < conf->n_partitions; i++) {
		const struct conf_partition *p = &conf->partitions[i];

		if (p->n_nodes &&
		        bsearch(&node, p->nodes, p->n_nodes, sizeof(*p->nodes), compare_index))
			m->partitions[m->n_partitions++] = p->name;
	}
}

Gpusched__Node *wire_node(const struct core *core, const struct conf *conf, uint32_t node,
        const struct node_view *view, const char *reason_by, struct arena *arena)
{
	Gpusched__Node *m = NEW(Gpusched__Node, GPUSCHED__NODE__INIT, arena);
	struct run_id *runs = take(arena, view->n_runs * sizeof(*runs));

	m->name = lend(view->name);
	m->state = lend(view->state);
	m->reason = reason_of(view, reason_by, arena);
	m->cpus = view->cpus;
	m->cpus_free = view->cpus_free;
	m->mem_mb = view->mem_mb;
	m->mem_free_mb = view->mem_free_mb;
	m->gpus = uses_of(view->gpus, view->n_gpus, arena);
	m->n_gpus = view->n_gpus;
	fill_partitions(m, conf, node, arena);
	m->features = conf->nodes[node].features.v;
	m->n_features = conf->nodes[node].features.n;
	if (conf->nodes[node].leaf != CONF_NONE && conf->nodes[node].leaf < conf->n_switches)
		m->leaf_switch = conf->switches[conf->nodes[node].leaf].name;
	m->n_runs = core_node_runs(core, node, runs, view->n_runs);
	if (m->n_runs > view->n_runs)
		m->n_runs = view->n_runs;
	m->runs = run_names(runs, m->n_runs, arena);
	m->last_heard = view->last_heard;
	m->boot_id = shown(view->boot_id, arena);
	m->agent_version = shown(view->version, arena);
	m->containment = shown(view->containment, arena);
	m->pretended = view->pretended;
	m->gpu_note = shown(view->gpu_note, arena);
	return m;
}

/* Those of a GPU's runs that have a part of it. */
static void fill_parts(Gpusched__NodeGpu *m, const struct share *shares, struct arena *arena)
{
	m->parts = take(arena, m->n_runs * sizeof(*m->parts));
	for (size_t i = 0; i < m->n_runs; i++) {
		Gpusched__GpuPart *part;

		if (!shares[i].charge)
			continue;
		part = NEW(Gpusched__GpuPart, GPUSCHED__GPU_PART__INIT, arena);
		part->run = m->runs[i];
		part->mem_mb = shares[i].mem_mb;
		part->milli = shares[i].milli;
		m->parts[m->n_parts++] = part;
	}
}

Gpusched__NodeGpu *wire_node_gpu(const struct core *core, uint32_t node,
        const struct gpu_view *view, const char *by, struct arena *arena)
{
	Gpusched__NodeGpu *m = NEW(Gpusched__NodeGpu, GPUSCHED__NODE_GPU__INIT, arena);
	struct run_id runs[GPU_RUNS_SHOWN];
	struct share shares[GPU_RUNS_SHOWN];
	char who[32] = "";

	if (view->since && !view->by_nobody && !by) {
		snprintf(who, sizeof(who), "uid %u", view->uid);
		by = who;
	}
	m->index = view->index;
	m->type = lend(view->type);
	m->uuid = copied(view->uuid, arena);
	m->state = lend(view->state);
	m->reason = copied(view->reason, arena);
	m->reason_by = by ? copied(by, arena) : lend("");
	m->since = view->since;
	m->recheck = view->recheck;
	m->use_known = view->use_known;
	m->util_pct = view->util_pct;
	m->mem_used_mb = view->mem_used_mb;
	m->mem_mb = view->mem_mb;
	m->card = view->card;
	m->parts_mem_mb = view->parts_mem_mb;
	m->n_runs = core_gpu_runs(core, node, view->index, runs, shares, GPU_RUNS_SHOWN);
	m->runs = run_names(runs, m->n_runs, arena);
	fill_parts(m, shares, arena);
	return m;
}

static const char *const preempt_modes[] = {
	[CONF_PREEMPT_OFF] = "off",
	[CONF_PREEMPT_REQUEUE] = "requeue",
	[CONF_PREEMPT_CANCEL] = "cancel",
};
static const char *const places[] = {
	[CONF_PLACE_PACK] = "pack",
	[CONF_PLACE_SPREAD] = "spread",
};

Gpusched__Partition *wire_partition(const struct partition_view *view, struct arena *arena)
{
	Gpusched__Partition *m = NEW(Gpusched__Partition, GPUSCHED__PARTITION__INIT, arena);

	m->name = view->conf->name;
	m->is_default = view->conf->is_default;
	m->state = lend(view->state);
	m->preempt_mode = lend(preempt_modes[view->conf->preempt_mode]);
	m->min_run_s = view->conf->min_run_s;
	m->place = lend(places[view->conf->place]);
	m->priority = view->conf->priority;
	m->plan_depth = view->conf->plan_depth;
	m->require_gpu = view->conf->require_gpu;
	m->accounts = view->conf->accounts_names.v;
	m->n_accounts = view->conf->accounts_names.n;
	m->tier = view->conf->tier;
	m->default_time_s = view->conf->default_time_s;
	m->max_time_s = view->conf->max_time_s;
	m->grace_s = view->conf->grace_s;
	m->nodes = lend(view->conf->node_names);
	m->nodes_total = (uint32_t)view->conf->n_nodes;
	m->nodes_ok = view->nodes_ok;
	m->nodes_drain = view->nodes_drain;
	m->nodes_down = view->nodes_down;
	m->gpus = uses_of(view->gpus, view->n_gpus, arena);
	m->n_gpus = view->n_gpus;
	m->jobs_pending = view->jobs_pending;
	m->jobs_running = view->jobs_running;
	return m;
}

/* --- orders -------------------------------------------------------------------------------- */

static void fill_devices(
        Gpusched__Registered *m, const struct conf *conf, uint32_t node, struct arena *arena)
{
	const struct conf_node *cn = &conf->nodes[node];
	uint32_t index = 0;

	m->gpus = take(arena, CONF_MAX_GPUS_PER_NODE * sizeof(*m->gpus));
	for (size_t i = 0; i < cn->n_gpus; i++) {
		const struct conf_gpu_type *type = &conf->gpu_types[cn->gpus[i].type];

		for (unsigned k = 0; k < cn->gpus[i].count; k++) {
			Gpusched__GpuDevice *d =
			        NEW(Gpusched__GpuDevice, GPUSCHED__GPU_DEVICE__INIT, arena);

			d->index = index++;
			d->type = type->name;
			d->mem_mb = type->mem_mb;
			m->gpus[m->n_gpus++] = d;
		}
	}
}

Gpusched__Registered *wire_registered(
        const struct effect *effect, const struct wire_facts *facts, struct arena *arena)
{
	Gpusched__Registered *m = NEW(Gpusched__Registered, GPUSCHED__REGISTERED__INIT, arena);

	m->epoch = facts->epoch;
	m->wanted = run_names(effect->registered.wanted, effect->registered.n, arena);
	m->n_wanted = effect->registered.n;
	fill_devices(m, facts->conf, effect->node, arena);
	m->heartbeat_ms = facts->conf->controller.heartbeat_ms;
	m->signature_age_s = facts->conf->controller.signature_age_s;
	m->cluster = facts->conf->cluster;
	m->takes_faults = true;
	return m;
}

static void fill_programs(
        Gpusched__NodeSettings *m, const struct conf_agent *agent, struct arena *arena)
{
	m->programs = take(arena, PROGRAM_RUN_KINDS * sizeof(*m->programs));
	for (uint32_t k = 0; k < PROGRAM_RUN_KINDS; k++) {
		const struct conf_program *program = &agent->programs[k];
		Gpusched__RunProgram *p;

		if (!program->path || !*program->path)
			continue;
		p = NEW(Gpusched__RunProgram, GPUSCHED__RUN_PROGRAM__INIT, arena);
		p->kind = k;
		p->path = (ProtobufCBinaryData){ strlen(program->path), (uint8_t *)program->path };
		p->timeout_ms = program->timeout_ms;
		m->programs[m->n_programs++] = p;
	}
}

Gpusched__NodeSettings *wire_node_settings(
        uint32_t node, const struct wire_facts *facts, struct arena *arena)
{
	Gpusched__NodeSettings *m =
	        NEW(Gpusched__NodeSettings, GPUSCHED__NODE_SETTINGS__INIT, arena);
	const struct conf_agent *a = &facts->conf->nodes[node].agent;

	m->epoch = facts->epoch;
	m->containment = a->containment.v;
	m->n_containment = a->containment.n;
	m->private_kinds = a->private_kinds.v;
	m->n_private_kinds = a->private_kinds.n;
	m->rlimits = a->rlimits.v;
	m->n_rlimits = a->rlimits.n;
	m->max_processes = a->max_processes;
	m->gpu_devices = a->gpu_devices;
	m->devices = a->devices.v;
	m->n_devices = a->devices.n;
	m->sample_ms = a->sample_ms;
	m->over_memory = a->over_memory;
	fill_programs(m, a, arena);
	m->share_users_one = facts->conf->nodes[node].share_users == CONF_USERS_ONE;
	return m;
}

/* None, unless all are known. */
static char **uuids_of(const struct run_view *run, size_t *n, struct arena *arena)
{
	char **v = take(arena, CONF_MAX_GPUS_PER_NODE * sizeof(*v));
	char uuid[DEVICE_UUID_MAX];

	*n = 0;
	for (uint32_t i = 0; i < CONF_MAX_GPUS_PER_NODE; i++) {
		if (!(run->gpus >> i & 1))
			continue;
		device_uuid(run->gpu_uuids, i, uuid);
		if (!*uuid) {
			*n = 0;
			break;
		}
		v[*n] = take(arena, sizeof(uuid));
		memcpy(v[(*n)++], uuid, sizeof(uuid));
	}
	return v;
}

Gpusched__StartRun *wire_start_run(
        const struct run_view *run, const struct job_view *job, struct arena *arena)
{
	Gpusched__StartRun *m = NEW(Gpusched__StartRun, GPUSCHED__START_RUN__INIT, arena);

	m->run = run_name(run->id, arena);
	m->epoch = run->epoch;
	m->incarnation = shown(run->incarnation, arena);
	m->user = shown(job->user, arena);
	m->account = shown(job->account, arena);
	m->partition = shown(job->partition, arena);
	m->qos = shown(job->qos, arena);
	m->gpus = indices(run->gpus, &m->n_gpus, arena);
	m->gpu_uuids = uuids_of(run, &m->n_gpu_uuids, arena);
	m->gpu_type = shown(run->gpu_type, arena);
	m->gpu_mem_mb = run->share.charge ? run->share.mem_mb : run->gpu_mem_mb;
	m->share_charge = run->share.charge;
	m->share_milli = run->share.milli;
	m->share_mb = run->share.mem_mb;
	m->share_mps = run->share_mps;
	m->share_burst_mb = run->share.charge ? run->share_burst_mb : 0;
	m->cpus = run->cpus;
	m->mem_mb = run->mem_mb;
	m->time_limit_s = job->time_limit_s;
	m->warn_signal = job->warn_signal;
	m->warn_before_s = job->warn_before_s;
	m->grace_s = run->grace_s;
	m->nodelist = lend(run->nodes);
	m->nnodes = run->n_nodes;
	m->submit_host = shown(job->submit_host, arena);
	m->labels = labels_of(job->labels, job->n_labels, arena);
	m->n_labels = job->n_labels;
	return m;
}

Gpusched__StartRun *wire_start_bytes(const struct store_blob *blob, struct arena *arena)
{
	Gpusched__StartRun *m = NEW(Gpusched__StartRun, GPUSCHED__START_RUN__INIT, arena);

	m->spec = lend_bytes(blob->spec, blob->spec_len);
	m->script = lend_bytes(blob->script, blob->script_len);
	m->credential = lend_bytes(blob->credential, blob->credential_len);
	return m;
}

Gpusched__EndRun *wire_end_run(
        const struct effect *effect, const struct wire_facts *facts, struct arena *arena)
{
	Gpusched__EndRun *m = NEW(Gpusched__EndRun, GPUSCHED__END_RUN__INIT, arena);

	m->run = run_name(effect->run.run, arena);
	m->epoch = facts->epoch;
	m->cause = (Gpusched__EndCause)effect->run.cause;
	m->signal = effect->run.signal;
	m->grace_s = effect->run.grace_s;
	m->by_user = shown(effect->run.by_user, arena);
	m->by_account = shown(effect->run.by_account, arena);
	m->by_qos = shown(effect->run.by_qos, arena);
	m->by_job = effect->run.by_job;
	m->requeue = effect->run.requeue;
	return m;
}

Gpusched__SignalRun *wire_signal_run(
        const struct effect *effect, const struct wire_facts *facts, struct arena *arena)
{
	Gpusched__SignalRun *m = NEW(Gpusched__SignalRun, GPUSCHED__SIGNAL_RUN__INIT, arena);

	m->run = run_name(effect->run.run, arena);
	m->epoch = facts->epoch;
	m->signal = effect->run.signal;
	m->script_only = effect->run.script_only;
	return m;
}

Gpusched__SuspendRun *wire_suspend_run(
        const struct effect *effect, const struct wire_facts *facts, struct arena *arena)
{
	Gpusched__SuspendRun *m = NEW(Gpusched__SuspendRun, GPUSCHED__SUSPEND_RUN__INIT, arena);

	m->run = run_name(effect->run.run, arena);
	m->epoch = facts->epoch;
	m->suspend = effect->run.suspend;
	m->time_limit_s = effect->run.limit_s;
	return m;
}

Gpusched__ForgetRun *wire_forget_run(const struct run_id *runs, size_t n, struct arena *arena)
{
	Gpusched__ForgetRun *m = NEW(Gpusched__ForgetRun, GPUSCHED__FORGET_RUN__INIT, arena);

	m->runs = run_names(runs, n, arena);
	m->n_runs = n;
	return m;
}
