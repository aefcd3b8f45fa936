/* slurm.c - pages under the names of Slurm 25.11's own metrics
 *
 * A dashboard that was made for Slurm finds each name that it asks for. What this project has no
 * notion of is 0: nodes that boot, jobs of a federation, a backfill scheduler beside the main one.
 */
#include <string.h>

#include "cmds/web/metrics/rows.h"
#include "cmds/web/metrics/snapshot_counts.h"
#include "cmds/web/snapshot.h"

/* --- jobs ------------------------------------------------------------------------------------- */

/* The rows of jobs that all pages have, with their prefix. */
#define JOB_ROWS(prefix, labels, fill)                                                             \
	{ prefix "jobs", "gauge", labels, "Jobs", fill, JOBS_ALL },                                \
	        { prefix "jobs_bootfail", "gauge", labels, "0: no node is booted for jobs", fill,  \
		        JOBS_NONE },                                                               \
	        { prefix "jobs_cancelled", "gauge", labels, "Jobs in state CANCELLED", fill,       \
		        JOBS_CANCELLED },                                                          \
	        { prefix "jobs_completed", "gauge", labels, "Jobs in state COMPLETED", fill,       \
		        JOBS_COMPLETED },                                                          \
	        { prefix "jobs_completing", "gauge", labels, "Jobs in state COMPLETING", fill,     \
		        JOBS_COMPLETING },                                                         \
	        { prefix "jobs_configuring", "gauge", labels, "Jobs in state CONFIGURING", fill,   \
		        JOBS_CONFIGURING },                                                        \
	        { prefix "jobs_cpus_alloc", "gauge", labels, "CPUs of jobs that have resources",   \
		        fill, JOBS_CPUS },                                                         \
	        { prefix "jobs_deadline", "gauge", labels, "Jobs in state DEADLINE", fill,         \
		        JOBS_DEADLINE },                                                           \
	        { prefix "jobs_expediting", "gauge", labels, "0", fill, JOBS_NONE },               \
	        { prefix "jobs_failed", "gauge", labels, "Jobs in state FAILED", fill,             \
		        JOBS_FAILED },                                                             \
	        { prefix "jobs_fed_requeued", "gauge", labels, "0", fill, JOBS_NONE },             \
	        { prefix "jobs_finished", "gauge", labels, "Jobs that ended", fill,                \
		        JOBS_FINISHED },                                                           \
	        { prefix "jobs_gpus_alloc", "gauge", labels, "GPUs of jobs that have resources",   \
		        fill, JOBS_GPUS },                                                         \
	        { prefix "jobs_hold", "gauge", labels, "Jobs that are held", fill, JOBS_HELD },    \
	        { prefix "jobs_memory_alloc", "gauge", labels,                                     \
		        "Memory of jobs that have resources, in bytes", fill, JOBS_MEM_BYTES },    \
	        { prefix "jobs_node_failed", "gauge", labels, "Jobs in state NODE_FAIL", fill,     \
		        JOBS_NODE_FAIL },                                                          \
	        { prefix "jobs_outofmemory", "gauge", labels, "Jobs in state OUT_OF_MEMORY", fill, \
		        JOBS_OOM },                                                                \
	        { prefix "jobs_pending", "gauge", labels, "Jobs in state PENDING, those held too", \
		        fill, JOBS_PENDING },                                                      \
	        { prefix "jobs_powerup_node", "gauge", labels, "0", fill, JOBS_NONE },             \
	        { prefix "jobs_preempted", "gauge", labels, "Jobs in state PREEMPTED", fill,       \
		        JOBS_PREEMPTED },                                                          \
	        { prefix "jobs_requeued", "gauge", labels,                                         \
		        "0: a job that was requeued is PENDING", fill, JOBS_NONE },                \
	        { prefix "jobs_resizing", "gauge", labels, "0", fill, JOBS_NONE },                 \
	        { prefix "jobs_revoked", "gauge", labels, "0", fill, JOBS_NONE },                  \
	        { prefix "jobs_running", "gauge", labels, "Jobs in state RUNNING", fill,           \
		        JOBS_RUNNING },                                                            \
	        { prefix "jobs_signaling", "gauge", labels, "0", fill, JOBS_NONE },                \
	        { prefix "jobs_stageout", "gauge", labels, "0", fill, JOBS_NONE },                 \
	        { prefix "jobs_started", "gauge", labels, "Jobs that have resources or had some",  \
		        fill, JOBS_STARTED },                                                      \
	        { prefix "jobs_suspended", "gauge", labels, "Jobs in state SUSPENDED", fill,       \
		        JOBS_SUSPENDED },                                                          \
	{                                                                                          \
		prefix "jobs_timeout", "gauge", labels, "Jobs in state TIMEOUT", fill,             \
		        JOBS_TIMEOUT                                                               \
	}

const struct metric metrics_jobs[] = {
	JOB_ROWS("slurm_", "", metric_jobs),
	{ "slurm_jobs_nodes_alloc", "gauge", "", "Nodes of jobs, each job's counted by itself",
	        metric_jobs, JOBS_NODES },
	METRICS_END,
};

const struct metric metrics_users_accounts[] = {
	JOB_ROWS("slurm_user_", "username", metric_user_jobs),
	{ "slurm_user_jobs_nodes_alloc", "gauge", "username",
	        "Nodes of jobs, each job's counted by itself", metric_user_jobs, JOBS_NODES },
	JOB_ROWS("slurm_account_", "account", metric_account_jobs),
	{ "slurm_account_jobs_nodes_alloc", "gauge", "account",
	        "Nodes of jobs, each job's counted by itself", metric_account_jobs, JOBS_NODES },
	METRICS_END,
};

/* --- nodes ------------------------------------------------------------------------------------ */

static void one_node(struct metric_out *o)
{
	const struct snapshot *snap = o->in->snap;

	for (size_t i = 0; snap && i < snap->n_nodes; i++) {
		double n[NODES_COUNTS];

		node_counts(snap->nodes[i], n);
		metric_put(o, n[o->metric->what], snap->nodes[i]->name);
	}
}

#define NODE(name, help, what) GAUGE("slurm_node_" name, "node", help, one_node, what)
#define NODES(name, help, what) GAUGE("slurm_nodes_" name, "", help, metric_nodes, what)
#define PART(name, help, what) \
	GAUGE("slurm_partition_" name, "partition", help, metric_partition_nodes, what)

const struct metric metrics_nodes[] = {
	NODE("cpus", "CPUs", NODES_CPUS),
	NODE("cpus_alloc", "CPUs that jobs have", NODES_CPUS_ALLOC),
	NODE("cpus_effective", "CPUs that jobs can have", NODES_CPUS),
	NODE("cpus_idle", "CPUs that a job could get", NODES_CPUS_IDLE),
	NODE("gpus", "GPUs", NODES_GPUS),
	NODE("gpus_alloc", "GPUs that jobs have, or share", NODES_GPUS_ALLOC),
	NODE("memory_alloc_bytes", "Memory that jobs have", NODES_MEM_ALLOC_BYTES),
	NODE("memory_bytes", "Memory", NODES_MEM_BYTES),
	NODE("memory_effective_bytes", "Memory that jobs can have", NODES_MEM_BYTES),
	NODE("memory_free_bytes", "Memory that no job has", NODES_MEM_FREE_BYTES),
	{ "slurm_nodes", "gauge", "", "Nodes", metric_nodes, NODES_ALL },
	NODES("alloc", "Nodes without a free CPU or GPU", NODES_ALLOCATED),
	NODES("blocked", "0", NODES_NONE),
	NODES("cloud", "0", NODES_NONE),
	NODES("completing", "0", NODES_NONE),
	NODES("down", "Nodes that are down", NODES_DOWN),
	NODES("drain", "Nodes that are drained or draining", NODES_DRAIN),
	NODES("drained", "Nodes that are drained, without jobs", NODES_DRAINED),
	NODES("draining", "Nodes that are drained, with jobs that go on", NODES_DRAINING),
	NODES("dyn_future", "0", NODES_NONE),
	NODES("dyn_normal", "0", NODES_NONE),
	NODES("external", "0", NODES_NONE),
	NODES("fail", "0", NODES_NONE),
	NODES("future", "0", NODES_NONE),
	NODES("idle", "Nodes without jobs", NODES_IDLE),
	NODES("invalid_reg", "0", NODES_NONE),
	NODES("maint", "0", NODES_NONE),
	NODES("mixed", "Nodes with jobs and with room", NODES_MIXED),
	NODES("noresp", "Nodes that do not answer", NODES_UNKNOWN),
	NODES("planned", "0", NODES_NONE),
	NODES("power_down", "0", NODES_NONE),
	NODES("power_up", "0", NODES_NONE),
	NODES("powered_down", "0", NODES_NONE),
	NODES("powering_up", "0", NODES_NONE),
	NODES("reboot_issued", "0", NODES_NONE),
	NODES("reboot_req", "0", NODES_NONE),
	NODES("resv", "0", NODES_NONE),
	NODES("unknown", "Nodes that do not answer", NODES_UNKNOWN),
	METRICS_END,
};

/* --- partitions ------------------------------------------------------------------------------- */

static void partitions(struct metric_out *o)
{
	metric_put(o, o->in->snap ? (double)o->in->snap->n_partitions : 0);
}

#define PART_JOBS(name, help, what) \
	GAUGE("slurm_partition_jobs_" name, "partition", help, metric_partition_jobs, what)

const struct metric metrics_partitions[] = {
	{ "slurm_partitions", "gauge", "", "Partitions", partitions, 0 },
	PART("cpus", "CPUs of its nodes", NODES_CPUS),
	PART("gpus", "GPUs of its nodes", NODES_GPUS),
	JOB_ROWS("slurm_partition_", "partition", metric_partition_jobs),
	PART_JOBS("max_job_nodes", "The most nodes that a waiting job asks for", JOBS_NODES_MAX),
	PART_JOBS(
	        "max_job_nodes_nohold", "The same without jobs that are held", JOBS_NODES_MAX_FREE),
	PART_JOBS("min_job_nodes", "The most nodes that a waiting job needs", JOBS_NODES_MAX),
	PART_JOBS(
	        "min_job_nodes_nohold", "The same without jobs that are held", JOBS_NODES_MAX_FREE),
	PART_JOBS("wait_part_node_limit", "0", JOBS_NONE),
	PART("nodes", "Its nodes", NODES_ALL),
	PART("nodes_alloc", "Nodes without a free CPU or GPU", NODES_ALLOCATED),
	PART("nodes_blocked", "0", NODES_NONE),
	PART("nodes_cg", "0", NODES_NONE),
	PART("nodes_cloud", "0", NODES_NONE),
	PART("nodes_cpus_alloc", "CPUs that jobs have", NODES_CPUS_ALLOC),
	PART("nodes_cpus_efctv", "CPUs that jobs can have", NODES_CPUS),
	PART("nodes_cpus_idle", "CPUs that a job could get", NODES_CPUS_IDLE),
	PART("nodes_down", "Nodes that are down", NODES_DOWN),
	PART("nodes_drain", "Nodes that are drained or draining", NODES_DRAIN),
	PART("nodes_drained", "Nodes that are drained, without jobs", NODES_DRAINED),
	PART("nodes_draining", "Nodes that are drained, with jobs that go on", NODES_DRAINING),
	PART("nodes_dyn_future", "0", NODES_NONE),
	PART("nodes_dyn_normal", "0", NODES_NONE),
	PART("nodes_external", "0", NODES_NONE),
	PART("nodes_fail", "0", NODES_NONE),
	PART("nodes_future", "0", NODES_NONE),
	PART("nodes_idle", "Nodes without jobs", NODES_IDLE),
	PART("nodes_invalid_reg", "0", NODES_NONE),
	PART("nodes_maint", "0", NODES_NONE),
	PART("nodes_mem_alloc", "Memory that jobs have, in bytes", NODES_MEM_ALLOC_BYTES),
	PART("nodes_mem_avail", "Memory that jobs can have, in bytes", NODES_MEM_BYTES),
	PART("nodes_mem_free", "Memory that no job has, in bytes", NODES_MEM_FREE_BYTES),
	PART("nodes_mem_tot", "Memory, in bytes", NODES_MEM_BYTES),
	PART("nodes_mixed", "Nodes with jobs and with room", NODES_MIXED),
	PART("nodes_no_resp", "Nodes that do not answer", NODES_UNKNOWN),
	PART("nodes_planned", "0", NODES_NONE),
	PART("nodes_power_down", "0", NODES_NONE),
	PART("nodes_power_up", "0", NODES_NONE),
	PART("nodes_powered_down", "0", NODES_NONE),
	PART("nodes_powering_down", "0", NODES_NONE),
	PART("nodes_powering_up", "0", NODES_NONE),
	PART("nodes_reboot_issued", "0", NODES_NONE),
	PART("nodes_reboot_requested", "0", NODES_NONE),
	PART("nodes_resv", "0", NODES_NONE),
	PART("nodes_unknown", "Nodes that do not answer", NODES_UNKNOWN),
	METRICS_END,
};
