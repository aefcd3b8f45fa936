/* slurm_exporter.c - /metrics/exporter: the names of prometheus-slurm-exporter */
#include <string.h>

#include "cmds/web/metrics/rows.h"
#include "cmds/web/metrics/snapshot_counts.h"
#include "cmds/web/snapshot.h"

static void partition_jobs(struct metric_out *o)
{
	metric_groups(o, &o->in->sums->by_partition);
}

static void node(struct metric_out *o)
{
	const struct snapshot *snap = o->in->snap;
	/* Memory is in MiB there. */
	double unit = o->metric->what == NODES_MEM_BYTES || o->metric->what == NODES_MEM_ALLOC_BYTES
	                      ? 1048576
	                      : 1;

	for (size_t i = 0; snap && i < snap->n_nodes; i++) {
		double n[NODES_COUNTS];

		node_counts(snap->nodes[i], n);
		metric_put(
		        o, n[o->metric->what] / unit, snap->nodes[i]->name, snap->nodes[i]->state);
	}
}

static void gpus_other(struct metric_out *o)
{
	const double *n = o->in->sums->nodes.n;

	metric_put(o, n[NODES_GPUS] - n[NODES_GPUS_ALLOC] - n[NODES_GPUS_IDLE]);
}

static void gpus_utilization(struct metric_out *o)
{
	const double *n = o->in->sums->nodes.n;

	metric_put(o, n[NODES_GPUS] > 0 ? n[NODES_GPUS_ALLOC] / n[NODES_GPUS] : 0);
}

static void fairshare(struct metric_out *o)
{
	const struct snapshot *snap = o->in->snap;

	for (size_t i = 0; snap && i < snap->n_shares; i++)
		if (!*snap->shares[i]->user)
			metric_put(o, snap->shares[i]->level_fs, snap->shares[i]->account);
}

static void passes(struct metric_out *o)
{
	const struct snapshot *snap = o->in->snap;
	static const char *const names[] = { "workers.running", "gate.held", "store.history_behind",
		"loop.stall" };

	for (size_t i = 0; snap && i < snap->n_stats; i++)
		if (!strcmp(snap->stats[i]->name, names[o->metric->what]))
			metric_put(o, snap->stats[i]->value * (o->metric->what == 3 ? 1000 : 1));
}

#define QUEUE(name, help, what) GAUGE("slurm_queue_" name, "", help, metric_jobs, what)
#define NODES(name, help, what) GAUGE("slurm_nodes_" name, "", help, metric_nodes, what)
#define CPUS(name, help, what) GAUGE("slurm_cpus_" name, "", help, metric_nodes, what)
#define NODE(name, help, what)                                               \
	{                                                                    \
		"slurm_node_" name, "gauge", "node,status", help, node, what \
	}
#define PART(name, help, what) \
	GAUGE("slurm_partition_" name, "partition", help, metric_partition_nodes, what)
#define ACCOUNT(name, help, what) \
	GAUGE("slurm_account_" name, "account", help, metric_account_jobs, what)
#define USER(name, help, what) \
	GAUGE("slurm_user_" name, "user", help, metric_user_jobs, what)
/* The controller has neither cycles nor a backfill scheduler of its own (slurm_scheduler.c). */
#define NONE(name) GAUGE("slurm_scheduler_" name, "", "Always 0: there are no such cycles", metric_nodes, NODES_NONE)

const struct metric metrics_exporter[] = {
	QUEUE("pending", "Jobs that wait", JOBS_PENDING),
	QUEUE("pending_dependency", "Jobs that wait for other jobs", JOBS_DEPENDENT),
	QUEUE("running", "Jobs that run", JOBS_RUNNING),
	QUEUE("suspended", "Jobs in state SUSPENDED", JOBS_SUSPENDED),
	QUEUE("cancelled", "Jobs in state CANCELLED", JOBS_CANCELLED),
	QUEUE("completing", "Jobs in state COMPLETING", JOBS_COMPLETING),
	QUEUE("completed", "Jobs in state COMPLETED", JOBS_COMPLETED),
	QUEUE("configuring", "Jobs in state CONFIGURING", JOBS_CONFIGURING),
	QUEUE("failed", "Jobs in state FAILED", JOBS_FAILED),
	QUEUE("timeout", "Jobs in state TIMEOUT", JOBS_TIMEOUT),
	QUEUE("preempted", "Jobs in state PREEMPTED", JOBS_PREEMPTED),
	QUEUE("node_fail", "Jobs in state NODE_FAIL", JOBS_NODE_FAIL),
	NODES("alloc", "Nodes without a free CPU or GPU", NODES_ALLOCATED),
	NODES("comp", "Always 0: no node is in this state", NODES_NONE),
	NODES("down", "Nodes that are down", NODES_DOWN),
	NODES("drain", "Nodes that are drained or draining", NODES_DRAIN),
	NODES("err", "Nodes that do not answer", NODES_UNKNOWN),
	NODES("fail", "Always 0: no node is in this state", NODES_NONE),
	NODES("idle", "Nodes without jobs", NODES_IDLE),
	NODES("maint", "Always 0: no node is in this state", NODES_NONE),
	NODES("mix", "Nodes with jobs and with room", NODES_MIXED),
	NODES("resv", "Always 0: no node is in this state", NODES_NONE),
	CPUS("alloc", "CPUs that jobs have", NODES_CPUS_ALLOC),
	CPUS("idle", "CPUs that a job could get", NODES_CPUS_IDLE),
	CPUS("other", "CPUs of nodes that take no work", NODES_CPUS_OTHER),
	CPUS("total", "CPUs", NODES_CPUS),
	{ "slurm_gpus_alloc", "gauge", "", "GPUs that jobs have, or share", metric_nodes,
	        NODES_GPUS_ALLOC },
	GAUGE("slurm_gpus_idle", "", "GPUs that a job could get", metric_nodes, NODES_GPUS_IDLE),
	{ "slurm_gpus_other", "gauge", "", "All other GPUs", gpus_other, 0 },
	{ "slurm_gpus_total", "gauge", "", "GPUs", metric_nodes, NODES_GPUS },
	{ "slurm_gpus_utilization", "gauge", "", "The part of the GPUs that jobs have, 0 to 1",
	        gpus_utilization, 0 },
	NODE("cpu_alloc", "CPUs that jobs have", NODES_CPUS_ALLOC),
	NODE("cpu_idle", "CPUs that a job could get", NODES_CPUS_IDLE),
	NODE("cpu_other", "CPUs of a node that takes no work", NODES_CPUS_OTHER),
	NODE("cpu_total", "CPUs", NODES_CPUS),
	NODE("mem_alloc", "Memory that jobs have, in MiB", NODES_MEM_ALLOC_BYTES),
	NODE("mem_total", "Memory, in MiB", NODES_MEM_BYTES),
	PART("cpus_allocated", "CPUs that jobs have", NODES_CPUS_ALLOC),
	PART("cpus_idle", "CPUs that a job could get", NODES_CPUS_IDLE),
	PART("cpus_other", "CPUs of nodes that take no work", NODES_CPUS_OTHER),
	PART("cpus_total", "CPUs", NODES_CPUS),
	GAUGE("slurm_partition_jobs_pending", "partition", "Jobs that wait", partition_jobs,
	        JOBS_PENDING),
	ACCOUNT("jobs_pending", "Jobs that wait", JOBS_PENDING),
	ACCOUNT("jobs_running", "Jobs that run", JOBS_RUNNING),
	ACCOUNT("cpus_running", "CPUs that jobs have", JOBS_CPUS),
	ACCOUNT("jobs_suspended", "Jobs in state SUSPENDED", JOBS_SUSPENDED),
	{ "slurm_account_fairshare", "gauge", "account", "Norm of its shares over its use",
	        fairshare, 0 },
	USER("jobs_pending", "Jobs that wait", JOBS_PENDING),
	USER("jobs_running", "Jobs that run", JOBS_RUNNING),
	USER("cpus_running", "CPUs that jobs have", JOBS_CPUS),
	USER("jobs_suspended", "Jobs in state SUSPENDED", JOBS_SUSPENDED),
	{ "slurm_scheduler_threads", "gauge", "", "Helper threads that work now", passes, 0 },
	{ "slurm_scheduler_queue_size", "gauge", "", "Messages that wait for a commit", passes, 1 },
	{ "slurm_scheduler_dbd_queue_size", "gauge", "", "Rows still to be moved to the history",
	        passes, 2 },
	{ "slurm_scheduler_last_cycle", "gauge", "",
	        "The longest stall of the loop in the last minutes, in microseconds", passes, 3 },
	{ "slurm_scheduler_mean_cycle", "gauge", "",
	        "The longest stall of the loop in the last minutes, in microseconds", passes, 3 },
	NONE("cycle_per_minute"),
	NONE("backfill_last_cycle"),
	NONE("backfill_mean_cycle"),
	NONE("backfill_depth_mean"),
	NONE("backfilled_jobs_since_start_total"),
	NONE("backfilled_jobs_since_cycle_total"),
	NONE("backfilled_heterogeneous_total"),
	METRICS_END,
};
