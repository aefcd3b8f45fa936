/* convert_nodes.c - answers about nodes, their GPUs and partitions; see convert.h */
#include "ctld/wire/convert.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ctld/wire/convert_text.h"

#define GPU_RUNS_SHOWN 64

static Gpusched__GpuShared *shared_of(const struct gpu_shared *shared, struct arena *arena)
{
	Gpusched__GpuShared *m;

	if (!shared->gpus)
		return NULL;
	m = WIRE_NEW(Gpusched__GpuShared, GPUSCHED__GPU_SHARED__INIT, arena);
	COPY_FIELDS(m, shared, gpus, mem_mb, granted_mem_mb, granted_milli, largest_mem_mb);
	m->largest_node = wire_lend(shared->largest_node);
	return m;
}

static Gpusched__GpuUse **uses_of(const struct gpu_use *uses, size_t n, struct arena *arena)
{
	Gpusched__GpuUse **v = arena_take(arena, n * sizeof(*v));

	for (size_t i = 0; i < n; i++) {
		v[i] = WIRE_NEW(Gpusched__GpuUse, GPUSCHED__GPU_USE__INIT, arena);
		WIRE_LEND(v[i], &uses[i], type, largest_node);
		COPY_FIELDS(v[i], &uses[i], total, free, largest);
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
	text = arena_take(arena, size);
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
	m->partitions = arena_take(arena, conf->n_partitions * sizeof(*m->partitions));
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
	struct run_id *runs = arena_take(arena, view->n_runs * sizeof(*runs));

	WIRE_LEND(m, view, name, state);
	m->reason = reason_of(view, reason_by, arena);
	COPY_FIELDS(m, view, cpus, cpus_free, mem_mb, mem_free_mb, tmp_mb, n_gpus, last_heard,
	        pretended);
	m->gpus = uses_of(view->gpus, view->n_gpus, arena);
	fill_partitions(m, conf, node, arena);
	m->features = conf->nodes[node].features.v;
	m->n_features = conf->nodes[node].features.n;
	if (conf->nodes[node].leaf != CONF_NONE && conf->nodes[node].leaf < conf->n_switches)
		m->leaf_switch = conf->switches[conf->nodes[node].leaf].name;
	m->n_runs = core_node_runs(core, node, runs, view->n_runs);
	if (m->n_runs > view->n_runs)
		m->n_runs = view->n_runs;
	m->runs = wire_run_names(runs, m->n_runs, arena);
	WIRE_SHOW(m, view, boot_id, containment, gpu_note);
	m->agent_version = wire_shown(view->version, arena);
	return m;
}

/* Those of a GPU's runs that have a part of it. */
static void fill_parts(Gpusched__NodeGpu *m, const struct gpu_run_view *runs, struct arena *arena)
{
	m->parts = arena_take(arena, m->n_runs * sizeof(*m->parts));
	for (size_t i = 0; i < m->n_runs; i++) {
		Gpusched__GpuPart *part;

		if (!runs[i].share.charge)
			continue;
		part = WIRE_NEW(Gpusched__GpuPart, GPUSCHED__GPU_PART__INIT, arena);
		part->run = m->runs[i];
		COPY_FIELDS(part, &runs[i].share, mem_mb, milli);
		part->burst_mb = runs[i].burst_mb;
		m->parts[m->n_parts++] = part;
	}
}

static void fill_sample(Gpusched__NodeGpu *m, const struct gpu_view *view)
{
	if (!view->sample)
		return;
	m->sample_known = true;
	m->sample_age_s = view->sample_age_s;
	COPY_FIELDS(m, view->sample, sm_known, sm_pct, fb_used_mb, fb_free_mb, temp_c, power_mw,
	        energy_mj, sm_clock_mhz, mem_clock_mhz, last_xid, last_xid_time);
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
	COPY_FIELDS(m, view, index, since, recheck, use_known, util_pct, mem_used_mb, mem_mb, card,
	        parts_mem_mb);
	WIRE_LEND(m, view, type, state);
	WIRE_COPY(m, view, uuid, reason);
	m->reason_by = by ? wire_copied(by, arena) : wire_lend("");
	m->n_runs = core_gpu_runs(core, node, view->index, runs, GPU_RUNS_SHOWN);
	for (size_t i = 0; i < m->n_runs; i++)
		ids[i] = runs[i].run;
	m->runs = wire_run_names(ids, m->n_runs, arena);
	fill_parts(m, runs, arena);
	fill_sample(m, view);
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

	COPY_FIELDS(m, view->conf, name, is_default, min_run_s, priority, plan_depth, require_gpu,
	        tier, default_time_s, max_time_s, grace_s);
	m->state = wire_lend(view->state);
	m->preempt_mode = wire_lend(preempt_modes[view->conf->preempt_mode]);
	m->place = wire_lend(places[view->conf->place]);
	m->accounts = view->conf->accounts_names.v;
	m->n_accounts = view->conf->accounts_names.n;
	m->nodes = wire_lend(view->conf->node_names);
	m->nodes_total = (uint32_t)view->conf->n_nodes;
	COPY_FIELDS(m, view, nodes_ok, nodes_drain, nodes_down, n_gpus, jobs_pending, jobs_running);
	m->gpus = uses_of(view->gpus, view->n_gpus, arena);
	return m;
}
