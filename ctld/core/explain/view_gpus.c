/* view_gpus.c - the GPUs of a node, one by one, for listings
 *
 * The state of a GPU is put together of three sources: bookings (ledger), drains (the node's row),
 * and what the agent last reported. The first of these that keeps work away gives the state:
 * drained, then missing or in trouble, then in use.
 */
#include <stdio.h>
#include <string.h>

#include "common/gpu/gpufault.h"
#include "ctld/core/core.h"
#include "ctld/core/nodes/devices.h"
#include "ctld/core/nodes/devices_list.h"
#include "ctld/core/nodes/gpu_checks.h"
#include "ctld/core/nodes/gpu_drains.h"
#include "ctld/core/nodes/gpu_samples.h"
#include "ctld/core/place/closest_gpus.h"
#include "ctld/core/place/ledger.h"
#include "ctld/core/records/job.h"
#include "ctld/core/records/node.h"
#include "ctld/core/records/run.h"
#include "ctld/core/rows/state.h"
#include "ctld/core/util/heap.h"

/* The type of a GPU index; NULL: there is no such index. */
static const struct conf_gpu_type *type_at(const struct core *core, uint32_t n, uint32_t index)
{
	const struct conf_node *conf = &core->conf->nodes[n];

	for (size_t g = 0; g < conf->n_gpus; index -= conf->gpus[g++].count) {
		if (index < conf->gpus[g].count)
			return &core->conf->gpu_types[conf->gpus[g].type];
	}
	return NULL;
}

/* As the agent reported it; NULL: not found, or the index has no UUID. */
static const struct node_gpu *found(const struct node_link *l, const char *uuid)
{
	for (size_t i = 0; *uuid && i < l->n_gpus; i++) {
		if (!strcmp(l->gpus[i].uuid, uuid))
			return &l->gpus[i];
	}
	return NULL;
}

/* The last report of the run on this GPU, if it has the GPU alone. */
static void view_use(const struct node_link *l, uint32_t index, struct gpu_view *v)
{
	const struct run *run, *only = NULL;

	for (run = l->runs; run; run = run_link_of(run)->next_of_node) {
		if (!(run_info(run)->gpus >> index & 1))
			continue;
		if (only)
			return;
		only = run;
	}
	if (!only || !run_used(only)->gpu_seen_us)
		return;
	v->use_known = true;
	v->util_pct = run_used(only)->gpu_now_pct;
	v->mem_used_mb = run_used(only)->gpu_mem_now_mb;
}

static void view_sample(const struct core *core, const struct node_link *l, struct gpu_view *v)
{
	usec_t mono = 0, age;

	v->sample = gpu_samples_at(l, v->index, &mono);
	age = (core->now.mono - mono) / USEC_PER_S;
	if (v->sample && age > 0)
		v->sample_age_s = age < UINT32_MAX ? (uint32_t)age : UINT32_MAX;
}

/* Why the GPU is drained; and if it is not checked again automatically, what brings it back. */
static void view_reason(const struct core *core, uint32_t n, uint32_t index,
        const struct gpu_drain *d, struct gpu_view *v)
{
	const struct node *node = nodes_at(core->nodes, n);
	bool back = gpu_may_return(node, d);
	size_t used = (size_t)snprintf(v->reason, sizeof(v->reason), "%s", d->reason);
	char number[12];

	if (d->uid != GPU_NOBODY || (back && core->conf->nodes[n].health_recheck_ms))
		return;
	snprintf(number, sizeof(number), "%u", index);
	snprintf(v->reason + used, sizeof(v->reason) - used,
	        "; comes back %sby 'gctl resume %s:%s'",
	        gpu_fault_row((enum gpu_fault_kind)d->kind, d->code)->back == GPU_BACK_RESET &&
	                        !back
	                ? "after a boot or a reset that its driver tells of, or "
	                : "",
	        node_info(node)->name, *v->uuid ? v->uuid : number);
}

/* A GPU that is out while its agent is not connected is shown by its booking: what is wrong with it
 * is not known then. */
bool core_gpu_view(const struct core *core, uint32_t n, uint32_t index, struct gpu_view *v)
{
	const struct node *node = nodes_at(core->nodes, n);
	const struct conf_gpu_type *type =
	        node && index < CONF_MAX_GPUS_PER_NODE ? type_at(core, n, index) : NULL;
	const struct node_link *l;
	const struct node_gpu *gpu;
	struct gpu_drain drain;
	bool booked;

	if (!type)
		return false;
	l = node_link_of(node);
	*v = (struct gpu_view){
		.index = index, .type = type->name, .state = "free", .mem_mb = type->mem_mb
	};
	if (ledger_shares(core->ledger, n))
		v->parts_mem_mb = ledger_shared_gpu(core->ledger, n, index)->mem_mb;
	view_use(l, index, v);
	view_sample(core, l, v);
	device_uuid(node_info(node)->gpus, index, v->uuid);
	gpu = found(l, v->uuid);
	v->card = gpu ? gpu->host + 1 : 0;
	booked = ledger_gpus_used(core->ledger, n) >> index & 1;
	if (gpu_drained(node, index, &drain)) {
		v->state = booked ? "draining" : "drained";
		v->uid = drain.uid;
		v->by_nobody = drain.uid == GPU_NOBODY;
		v->since = drain.since;
		if (l->check_slot != HEAP_NOWHERE && gpu_may_return(node, &drain))
			v->recheck = core->now.wall + l->check_due - core->now.mono;
		view_reason(core, n, index, &drain, v);
	} else if (l->session && l->gpus_out >> index & 1) {
		v->state = gpu ? "trouble" : "missing";
		if (gpu)
			snprintf(v->reason, sizeof(v->reason), "%s", gpu->trouble);
		if (!*v->reason && devices_differ(core, node, index, v->reason, sizeof(v->reason)))
			v->state = "trouble";
	} else if (booked) {
		v->state = ledger_gpus_shared(core->ledger, n) >> index & 1 ? "shared" : "whole";
	}
	return true;
}

near_t core_gpus_apart(const struct core *core, uint32_t node, uint64_t gpus)
{
	const struct closeness *near = ledger_near(core->ledger, node);

	return near ? closeness_worst(near, gpus) : 0;
}

void core_gpu_near(const struct core *core, uint32_t n, uint32_t index, char text[GPU_NEAR_TEXT])
{
	const struct closeness *near = ledger_near(core->ledger, n);
	char word[NEAR_WORD];
	size_t used = 0;

	text[0] = '\0';
	for (uint32_t i = 0; near && i < near->n; i++)
		used += (size_t)snprintf(text + used, GPU_NEAR_TEXT - used, "%s%s", i ? "," : "",
		        i == index ? "X" : near_word(closeness_of(near, index, i), word));
}

/* Runs that have the GPU by their record, also an orphan run that could not book it. */
size_t core_gpu_runs(
        const struct core *core, uint32_t n, uint32_t index, struct gpu_run_view *runs, size_t max)
{
	const struct node *node = nodes_at(core->nodes, n);
	const struct run *run = node ? node_link_of(node)->runs : NULL;
	size_t i = 0;

	for (; run && i < max; run = run_link_of(run)->next_of_node) {
		const struct job *job = run_link_of(run)->job;

		if (!(run_info(run)->gpus >> index & 1))
			continue;
		runs[i++] = (struct gpu_run_view){ run_info(run)->id, *run_share(run),
			job ? job_info(job)->gpus->gpu_mem_burst_mb : 0 };
	}
	return i;
}
