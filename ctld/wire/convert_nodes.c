/* convert_nodes.c - answers about nodes, their GPUs and partitions; see convert.h */
#include "ctld/wire/convert.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ctld/core/nodes/devices.h"
#include "ctld/wire/convert_parts.h"

#define GPU_RUNS_SHOWN 64

static Gpusched__GpuShared *shared_of(const struct gpu_shared *shared, struct arena *arena)
{
	Gpusched__GpuShared *m;

	if (!shared->gpus)
		return NULL;
	m = WIRE_NEW(Gpusched__GpuShared, GPUSCHED__GPU_SHARED__INIT, arena);
	m->gpus = shared->gpus;
	m->mem_mb = shared->mem_mb;
	m->granted_mem_mb = shared->granted_mem_mb;
	m->granted_milli = shared->granted_milli;
	m->largest_mem_mb = shared->largest_mem_mb;
	m->largest_node = wire_lend(shared->largest_node);
	return m;
}

static Gpusched__GpuUse **uses_of(const struct gpu_use *uses, size_t n, struct arena *arena)
{
	Gpusched__GpuUse **v = wire_take(arena, n * sizeof(*v));

	for (size_t i = 0; i < n; i++) {
		v[i] = WIRE_NEW(Gpusched__GpuUse, GPUSCHED__GPU_USE__INIT, arena);
		v[i]->type = wire_lend(uses[i].type);
		v[i]->total = uses[i].total;
		v[i]->free = uses[i].free;
		v[i]->largest = uses[i].largest;
		v[i]->largest_node = wire_lend(uses[i].largest_node);
		v[i]->shared = shared_of(&uses[i].shared, arena);
	}
	return v;
}

/* "broken fan [ana@2026-11-21T10:09:00Z]" */
static char *reason_of(const struct node_view *view, const char *by, struct arena *arena)
{
	time_t t = (time_t)(view->reason_time / 1000000);
	char when[32] = "", who[32];
	const char *reason = wire_shown(view->reason, arena);
	size_t size;
	struct tm tm;
	char *text;

	if (!reason[0] || view->reason_time == 0 || !gmtime_r(&t, &tm))
		return wire_lend(reason);
	strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%SZ", &tm);
	snprintf(who, sizeof(who), "uid %u", view->reason_uid);
	if (!by)
		by = who;
	size = strlen(reason) + strlen(by) + sizeof(when) + 8;
	text = wire_take(arena, size);
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
	m->partitions = wire_take(arena, conf->n_partitions * sizeof(*m->partitions));
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
	Gpusched__Node *m = WIRE_NEW(Gpusched__Node, GPUSCHED__NODE__INIT, arena);
	struct run_id *runs = wire_take(arena, view->n_runs * sizeof(*runs));

	m->name = wire_lend(view->name);
	m->state = wire_lend(view->state);
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
	m->runs = wire_run_names(runs, m->n_runs, arena);
	m->last_heard = view->last_heard;
	m->boot_id = wire_shown(view->boot_id, arena);
	m->agent_version = wire_shown(view->version, arena);
	m->containment = wire_shown(view->containment, arena);
	m->pretended = view->pretended;
	m->gpu_note = wire_shown(view->gpu_note, arena);
	return m;
}

/* Those of a GPU's runs that have a part of it. */
static void fill_parts(Gpusched__NodeGpu *m, const struct gpu_run_view *runs, struct arena *arena)
{
	m->parts = wire_take(arena, m->n_runs * sizeof(*m->parts));
	for (size_t i = 0; i < m->n_runs; i++) {
		Gpusched__GpuPart *part;

		if (!runs[i].share.charge)
			continue;
		part = WIRE_NEW(Gpusched__GpuPart, GPUSCHED__GPU_PART__INIT, arena);
		part->run = m->runs[i];
		part->mem_mb = runs[i].share.mem_mb;
		part->milli = runs[i].share.milli;
		part->burst_mb = runs[i].burst_mb;
		m->parts[m->n_parts++] = part;
	}
}

Gpusched__NodeGpu *wire_node_gpu(const struct core *core, uint32_t node,
        const struct gpu_view *view, const char *by, struct arena *arena)
{
	Gpusched__NodeGpu *m = WIRE_NEW(Gpusched__NodeGpu, GPUSCHED__NODE_GPU__INIT, arena);
	struct gpu_run_view runs[GPU_RUNS_SHOWN];
	struct run_id ids[GPU_RUNS_SHOWN];
	char who[32] = "", near[GPU_NEAR_TEXT];

	if (view->since && !view->by_nobody && !by) {
		snprintf(who, sizeof(who), "uid %u", view->uid);
		by = who;
	}
	m->index = view->index;
	m->type = wire_lend(view->type);
	m->uuid = wire_copied(view->uuid, arena);
	m->state = wire_lend(view->state);
	m->reason = wire_copied(view->reason, arena);
	m->reason_by = by ? wire_copied(by, arena) : wire_lend("");
	m->since = view->since;
	m->recheck = view->recheck;
	m->use_known = view->use_known;
	m->util_pct = view->util_pct;
	m->mem_used_mb = view->mem_used_mb;
	m->mem_mb = view->mem_mb;
	m->card = view->card;
	m->parts_mem_mb = view->parts_mem_mb;
	m->n_runs = core_gpu_runs(core, node, view->index, runs, GPU_RUNS_SHOWN);
	for (size_t i = 0; i < m->n_runs; i++)
		ids[i] = runs[i].run;
	m->runs = wire_run_names(ids, m->n_runs, arena);
	fill_parts(m, runs, arena);
	core_gpu_near(core, node, view->index, near);
	m->near = wire_copied(near, arena);
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
	Gpusched__Partition *m = WIRE_NEW(Gpusched__Partition, GPUSCHED__PARTITION__INIT, arena);

	m->name = view->conf->name;
	m->is_default = view->conf->is_default;
	m->state = wire_lend(view->state);
	m->preempt_mode = wire_lend(preempt_modes[view->conf->preempt_mode]);
	m->min_run_s = view->conf->min_run_s;
	m->place = wire_lend(places[view->conf->place]);
	m->priority = view->conf->priority;
	m->plan_depth = view->conf->plan_depth;
	m->require_gpu = view->conf->require_gpu;
	m->accounts = view->conf->accounts_names.v;
	m->n_accounts = view->conf->accounts_names.n;
	m->tier = view->conf->tier;
	m->default_time_s = view->conf->default_time_s;
	m->max_time_s = view->conf->max_time_s;
	m->grace_s = view->conf->grace_s;
	m->nodes = wire_lend(view->conf->node_names);
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
