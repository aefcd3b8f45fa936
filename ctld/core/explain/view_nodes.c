/* view_nodes.c - how listings read nodes and partitions
 *
 * As view_jobs.c reads jobs: values by copy; strings are borrowed from the core.
 */
#include <string.h>

#include "common/conf/conf.h"
#include "ctld/core/core.h"
#include "ctld/core/place/ledger.h"
#include "ctld/core/records/job.h"
#include "ctld/core/records/node.h"
#include "ctld/core/records/partition.h"
#include "ctld/core/records/run.h"
#include "ctld/core/rows/state.h"
#include "ctld/core/services/services.h"

/* --- nodes ----------------------------------------------------------------------------------- */

static uint32_t bits(uint64_t mask)
{
	return (uint32_t)__builtin_popcountll(mask);
}

/* Could a job have one of its GPUs of that type, or a part of one? */
static bool gpus_left(const struct core *core, uint32_t n, uint16_t type)
{
	static const struct share_wish least[] = { { .mem_mb = 1 }, { .milli = 1 } };

	return ledger_gpus_free(core->ledger, n, type) ||
	       ledger_gpus_for(core->ledger, n, type, &least[0]) ||
	       ledger_gpus_for(core->ledger, n, type, &least[1]);
}

/* The first that applies, from what keeps all work away to what is merely full. A node whose GPUs
 * are all given away is allocated, whatever CPUs it has left; without GPUs its CPUs decide. */
static const char *node_state(const struct core *core, const struct node *node)
{
	const struct node_info *i = node_info(node);
	const struct node_link *l = node_link_of(node);
	const struct conf_node *conf = &core->conf->nodes[l->index];
	bool gpus = false, left = false;

	if (i->down)
		return "down";
	if (l->hearing == NODE_UNHEARD || l->hearing == NODE_UNKNOWN)
		return "unknown";
	if (*l->invalid)
		return "invalid";
	if (i->drain || *l->unwell)
		return l->n_runs ? "draining" : "drained";
	if (!l->n_runs)
		return "idle";
	for (size_t g = 0; g < conf->n_gpus; g++) {
		gpus |= ledger_gpus_of(core->ledger, l->index, conf->gpus[g].type) != 0;
		left |= gpus_left(core, l->index, conf->gpus[g].type);
	}
	if (gpus ? !left : !ledger_cpus_free(core->ledger, l->index))
		return "allocated";
	return "mixed";
}

/* The reason of the state, in the same order; "" if there is none. */
static const char *node_reason(const struct node *node)
{
	const struct node_info *i = node_info(node);
	const struct node_link *l = node_link_of(node);

	if (i->drain || i->down)
		return i->reason;
	if (l->off)
		return "off: the runs here were given up";
	if (l->hearing == NODE_UNKNOWN && l->fence == FENCE_ASKED)
		return "does not respond; being fenced";
	if (l->hearing == NODE_UNKNOWN)
		return "does not respond";
	if (*l->invalid)
		return l->invalid;
	if (*l->unwell)
		return l->unwell;
	if (*l->gpu_note && !l->n_orphans)
		return l->gpu_note;
	return l->n_orphans ? "a run here belongs to no known job; what it has stays booked" : "";
}

/* Add what is shared of GPUs of that type on a node. */
static void add_shared(const struct core *core, uint32_t n, uint16_t type, struct gpu_shared *sum)
{
	uint64_t left = ledger_gpus_shared(core->ledger, n) & ledger_gpus_of(core->ledger, n, type);

	for (; left; left &= left - 1) {
		const struct shared_gpu *gpu =
		        ledger_shared_gpu(core->ledger, n, (uint32_t)__builtin_ctzll(left));
		uint64_t spare = gpu->mem_mb > gpu->mem_used ? gpu->mem_mb - gpu->mem_used : 0;

		sum->gpus++;
		sum->mem_mb += gpu->mem_mb;
		sum->granted_mem_mb += gpu->mem_used;
		sum->granted_milli += gpu->milli_used;
		if (spare <= sum->largest_mem_mb || !ledger_accepts(core->ledger, n))
			continue;
		sum->largest_mem_mb = spare;
		sum->largest_node = core->conf->nodes[n].name;
	}
}

/* One entry for each type, also if the configuration names it in several places. */
static void view_node_gpus(const struct core *core, uint32_t n, struct node_view *v)
{
	const struct conf_node *conf = &core->conf->nodes[n];
	size_t g, k;

	for (g = 0; g < conf->n_gpus && v->n_gpus < NODE_VIEW_GPUS; g++) {
		uint64_t all = ledger_gpus_of(core->ledger, n, conf->gpus[g].type);
		struct gpu_use *use = &v->gpus[v->n_gpus];

		use->type = core->conf->gpu_types[conf->gpus[g].type].name;
		for (k = 0; k < v->n_gpus && strcmp(v->gpus[k].type, use->type); k++)
			;
		if (k < v->n_gpus)
			continue;
		use->total = bits(all);
		use->free = bits(ledger_gpus_free(core->ledger, n, conf->gpus[g].type));
		use->largest = ledger_accepts(core->ledger, n) ? use->free : 0;
		use->largest_node = use->largest ? v->name : "";
		use->shared.largest_node = "";
		add_shared(core, n, conf->gpus[g].type, &use->shared);
		v->n_gpus++;
	}
}

bool core_node_view(const struct core *core, uint32_t n, struct clocks now, struct node_view *v)
{
	const struct node *node = nodes_at(core->nodes, n);
	const struct node_info *i;
	const struct node_link *l;

	(void)now;
	if (!node)
		return false;
	i = node_info(node);
	l = node_link_of(node);
	*v = (struct node_view){
		.name = i->name,
		.state = node_state(core, node),
		.reason = node_reason(node),
		.last_heard = l->heard_wall,
		.cpus = ledger_cpus(core->ledger, n),
		.cpus_free = ledger_cpus_free(core->ledger, n),
		.mem_mb = ledger_mem_mb(core->ledger, n),
		.mem_free_mb = ledger_mem_free_mb(core->ledger, n),
		.tmp_mb = l->offers.tmp_mb,
		.boot_id = i->boot_id,
		.version = l->version,
		.containment = l->containment,
		.pretended = l->pretended,
		.gpu_note = l->gpu_note,
		.session = l->session,
		.n_runs = l->n_runs,
	};
	if (i->drain || i->down) {
		v->reason_uid = i->reason_uid;
		v->reason_time = i->reason_time;
	}
	view_node_gpus(core, n, v);
	return true;
}

size_t core_node_runs(const struct core *core, uint32_t n, struct run_id *runs, size_t max)
{
	const struct node *node = nodes_at(core->nodes, n);
	const struct run *run;
	size_t i = 0;

	if (!node)
		return 0;
	for (run = node_link_of(node)->runs; run && i < max; run = run_link_of(run)->next_of_node)
		runs[i++] = run_info(run)->id;
	return node_link_of(node)->n_runs;
}

/* --- partitions ------------------------------------------------------------------------------ */

/* Each node of the partition counts as one of: accepts work, is drained, is not there. */
static void count_nodes(
        const struct core *core, const struct conf_partition *conf, struct partition_view *v)
{
	for (size_t i = 0; i < conf->n_nodes; i++) {
		const struct node *node = nodes_at(core->nodes, conf->nodes[i]);

		if (node_accepts(node))
			v->nodes_ok++;
		else if (node_link_of(node)->hearing == NODE_HEARD && !node_info(node)->down &&
		         (node_info(node)->drain || *node_link_of(node)->unwell))
			v->nodes_drain++;
		else
			v->nodes_down++;
	}
}

/* Free GPUs come from the counts of the node set; shares are added up over its nodes. */
bool core_partition_view(const struct core *core, uint32_t p, struct partition_view *v)
{
	const struct conf_partition *conf;
	const struct job_count *count;

	if (p >= core->conf->n_partitions)
		return false;
	conf = &core->conf->partitions[p];
	memset(v, 0, sizeof(*v));
	v->conf = conf;
	v->state = partition_state_name(partition_state(core->partitions, p));
	count = jobs_count_of(core->jobs, conf->name);
	v->jobs_pending =
	        count ? count->pending - services_in_reserve(core, conf->name, count->pending) : 0;
	v->jobs_running = count ? count->running : 0;
	count_nodes(core, conf, v);
	for (size_t t = 0; t < core->conf->n_gpu_types && v->n_gpus < PARTITION_VIEW_GPUS; t++) {
		struct gpu_use *use = &v->gpus[v->n_gpus];
		uint32_t where;

		if (!ledger_set_gpus(core->ledger, ledger_set_of(core->ledger, p), (uint16_t)t,
		            &use->total, &use->free, &use->largest, &where))
			continue;
		use->type = core->conf->gpu_types[t].name;
		use->largest_node = use->largest ? core->conf->nodes[where].name : "";
		use->shared.largest_node = "";
		for (size_t i = 0; i < conf->n_nodes; i++)
			add_shared(core, conf->nodes[i], (uint16_t)t, &use->shared);
		v->n_gpus++;
	}
	return true;
}
