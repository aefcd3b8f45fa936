/* scontrol_records.c - see scontrol_records.h
 *
 * To add a key: a row, with a show function where squeue or sinfo have none.
 */
#include "cmds/slurm_commands/scontrol_records.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmds/slurm_commands/jobfields.h"
#include "cmds/slurm_commands/program_table.h"
#include "cmds/slurm_commands/slurm_command_line.h"
#include "cmds/slurm_commands/state_codes.h"
#include "cmds/slurm_commands/value_formats.h"
#include "common/base/text.h"
#include "common/gpusched.pb-c.h"

void record_print(const struct record_style *s, const struct slurm_cmd_field *table, size_t n,
        const void *object)
{
	struct view_cell cell;
	bool first = true;

	for (size_t i = 0; i < n; i++) {
		const struct slurm_cmd_field *f = &table[i];
		const char *value;
		char *plain;

		if (((f->flags & RECORD_DETAIL) && s->details < 1) ||
		        ((f->flags & RECORD_MORE) && s->details < 2))
			continue;
		value = field_value(f, object, &cell);
		if (!value)
			continue;
		if (!first)
			fputs((f->flags & RECORD_LINE) && !s->one_line ? "\n   " : " ", stdout);
		plain = text_escape_dup(value);
		printf("%s=%s%s", f->name, plain, f->flags & RECORD_BLANK ? " " : "");
		free(plain);
		first = false;
	}
}

#define JOB  const Gpusched__Job *j = object
#define NODE const Gpusched__Node *node = ((const struct node_group *)object)->nodes[0]
#define PARTITION                                      \
	const struct record_partition_of *of = object; \
	const Gpusched__Partition *p = of->group.partition

/* --- jobs ------------------------------------------------------------------------------------ */

SHOW(array_id)
{
	JOB;

	if (*j->tasks)
		view_number(cell, (int64_t)j->id);
	else
		cell->text = NULL;
}

SHOW(array_task)
{
	JOB;

	if (*j->tasks)
		job_field("ArrayTaskID", j, cell);
	else
		cell->text = NULL;
}

SHOW(throttle)
{
	JOB;

	if (*j->tasks && j->array_throttle)
		view_number(cell, j->array_throttle);
	else
		cell->text = NULL;
}

CELL(user, JOB, view_printf(cell, "%s(%" PRIu32 ")", j->user, j->uid))

CELL(group, JOB, view_printf(cell, "%s(%u)", slurm_group(j->uid), slurm_gid(j->uid)))

SHOW(exit)
{
	JOB;
	struct slurm_exit ended = slurm_exit(j->state, j->exit_code, j->exit_signal);

	view_printf(cell, "%" PRIu32 ":%" PRIu32, ended.code, ended.signal);
}

CELL(run_time, JOB, slurm_clock(cell, job_is_pending(j) ? 0 : j->elapsed_s))
CELL(limit, JOB, slurm_limit(cell, j->time_limit_s, "UNLIMITED"))
CELL(eligible, JOB,
        slurm_time(
                cell, j->begin_time > j->submit_time ? j->begin_time : j->submit_time, "Unknown"))
CELL(start, JOB,
        slurm_time(cell, job_is_pending(j) ? j->planned_start_time : j->start_time, "Unknown"))
CELL(end, JOB, slurm_time(cell, job_end_time(j), "Unknown"))
CELL(alloc, JOB, view_printf(cell, "%s:0", *j->submit_host ? j->submit_host : "(null)"))
CELL(req_nodes, JOB, view_text(cell, *j->nodelist ? j->nodelist : "(null)"))
CELL(exc_nodes, JOB, view_text(cell, *j->exclude ? j->exclude : "(null)"))
CELL(batch_host, JOB, cell->text = job_is_pending(j) || !*j->node ? NULL : j->node)
CELL(sched_nodes, JOB, cell->text = *j->planned_nodes ? j->planned_nodes : NULL)

SHOW(job_gres)
{
	JOB;

	cell->text = NULL;
	if (!job_is_pending(j) && j->gpus_held)
		view_printf(cell, "gpu:%s:%" PRIu32, j->gpu_type, j->gpus_held);
}

/* Of each of its nodes: "n1 CPU_IDs= Mem=100 GRES=gpu:h100:2(IDX:0-1)", and the next behind it. */
SHOW(node_shares)
{
	JOB;

	cell->text = NULL;
	for (size_t i = 0; i < j->n_runs; i++) {
		const Gpusched__JobRun *r = j->runs[i];
		char list[256], gres[400] = "";

		index_list(list, sizeof(list), r->gpus, r->n_gpus);
		if (r->n_gpus)
			snprintf(gres, sizeof(gres), "gpu:%.64s:%zu(IDX:%s)", r->gpu_type,
			        r->n_gpus, list);
		view_item(cell, " Nodes=", "%s CPU_IDs= Mem=%" PRIu64 " GRES=%s", r->node,
		        r->mem_mb, gres);
	}
}

CELL(remark, JOB, cell->text = *j->remark ? j->remark : NULL)
CELL(mail_user, JOB, cell->text = *j->mail_type ? (*j->mail_user ? j->mail_user : j->user) : NULL)
CELL(mail_type, JOB, cell->text = *j->mail_type ? j->mail_type : NULL)

static void show_gres(const Gpusched__Job *j, bool per_node, struct view_cell *cell)
{
	cell->text = NULL;
	if (!j->n_gpus || job_gpus_per_node(j) != per_node)
		return;
	gpu_counts(cell->buf, sizeof(cell->buf), "gres:gpu", j->gpus, j->n_gpus);
	cell->text = cell->buf;
}

CELL(gres_job, JOB, show_gres(j, false, cell))
CELL(gres_node, JOB, show_gres(j, true, cell))

#define KEY(name, show, flags) SLURM_CMD_FIELD(0, name, name, 0, NULL, show, (flags))
/* As squeue, as sinfo has it. */
#define OF_JOB(name, like, flags)  SLURM_CMD_LIKE(0, name, name, job_fields, like, (flags))
#define OF_NODE(name, like, flags) SLURM_CMD_LIKE(0, name, name, sinfo_fields, like, (flags))
#define SAYS(name, value, flags)   SLURM_CMD_FIELD(0, name, name, 0, value, NULL, (flags))
#define LINE RECORD_LINE

static const struct slurm_cmd_field job_record[] = {
	OF_JOB("JobId", "JobID", 0),
	KEY("ArrayJobId", show_array_id, 0),
	KEY("ArrayTaskId", show_array_task, 0),
	KEY("ArrayTaskThrottle", show_throttle, 0),
	OF_JOB("JobName", "Name", 0),
	KEY("UserId", show_user, LINE),
	KEY("GroupId", show_group, 0),
	SAYS("MCS_label", "N/A", 0),
	OF_JOB("Priority", "PriorityLong", LINE),
	OF_JOB("Nice", "Nice", 0),
	OF_JOB("Account", "Account", 0),
	OF_JOB("QOS", "QOS", 0),
	OF_JOB("JobState", "State", LINE),
	OF_JOB("Reason", "Reason", 0),
	OF_JOB("Dependency", "Dependency", 0),
	OF_JOB("Requeue", "Requeue", LINE),
	OF_JOB("Restarts", "RestartCnt", 0),
	SAYS("BatchFlag", "1", 0),
	SAYS("Reboot", "0", 0),
	KEY("ExitCode", show_exit, 0),
	KEY("DerivedExitCode", show_exit, LINE | RECORD_DETAIL),
	KEY("RunTime", show_run_time, LINE),
	KEY("TimeLimit", show_limit, 0),
	SAYS("TimeMin", "N/A", 0),
	OF_JOB("SubmitTime", "SubmitTime", LINE),
	KEY("EligibleTime", show_eligible, 0),
	OF_JOB("AccrueTime", "SubmitTime", LINE),
	KEY("StartTime", show_start, LINE),
	KEY("EndTime", show_end, 0),
	OF_JOB("Deadline", "Deadline", 0),
	SAYS("SuspendTime", "None", LINE),
	SAYS("SecsPreSuspend", "0", 0),
	SAYS("LastSchedEval", "Unknown", 0),
	SAYS("Scheduler", "Main", 0),
	OF_JOB("Partition", "Partition", LINE),
	KEY("AllocNode:Sid", show_alloc, 0),
	KEY("ReqNodeList", show_req_nodes, LINE),
	KEY("ExcNodeList", show_exc_nodes, 0),
	OF_JOB("NodeList", "NodeList", LINE),
	KEY("SchedNodeList", show_sched_nodes, 0),
	KEY("BatchHost", show_batch_host, LINE),
	OF_JOB("NumNodes", "NumNodes", LINE),
	OF_JOB("NumCPUs", "NumCPUs", 0),
	OF_JOB("NumTasks", "NumTasks", 0),
	OF_JOB("CPUs/Task", "MinCpus", 0),
	SAYS("ReqB:S:C:T", "0:0:*:*", 0),
	OF_JOB("TRES", "tres", LINE),
	SAYS("Socks/Node", "*", LINE),
	SAYS("NtasksPerN:B:S:C", "0:0:*:*", 0),
	SAYS("CoreSpec", "*", 0),
	KEY("JOB_GRES", show_job_gres, LINE | RECORD_DETAIL),
	KEY("Nodes", show_node_shares, LINE | RECORD_DETAIL),
	OF_JOB("MinCPUsNode", "MinCpus", LINE),
	OF_JOB("MinMemoryNode", "MinMemory", 0),
	OF_JOB("MinTmpDiskNode", "MinTmpDisk", 0),
	OF_JOB("Features", "Feature", LINE),
	SAYS("DelayBoot", "00:00:00", 0),
	OF_JOB("OverSubscribe", "OverSubscribe", LINE),
	SAYS("Contiguous", "0", 0),
	OF_JOB("Licenses", "Licenses", 0),
	SAYS("Network", "(null)", 0),
	SAYS("Command", "(null)", LINE),
	OF_JOB("WorkDir", "WorkDir", LINE),
	KEY("Comment", show_remark, LINE | RECORD_BLANK),
	OF_JOB("StdErr", "StdErr", LINE),
	SAYS("StdIn", "/dev/null", LINE),
	OF_JOB("StdOut", "StdOut", LINE),
	SAYS("Power", "", LINE),
	KEY("TresPerJob", show_gres_job, LINE),
	KEY("TresPerNode", show_gres_node, LINE),
	KEY("MailUser", show_mail_user, LINE),
	KEY("MailType", show_mail_type, 0),
};

SLURM_CMD_TABLE(field, record_job, job_record)

/* --- nodes ----------------------------------------------------------------------------------- */

CELL(cpu_alloc, NODE,
        view_number(cell, node->cpus > node->cpus_free ? node->cpus - node->cpus_free : 0))

CELL(node_partitions, NODE, slurm_texts(cell, node->partitions, node->n_partitions, NULL))
CELL(agent_version, NODE, cell->text = *node->agent_version ? node->agent_version : NULL)

static uint64_t used_memory(const Gpusched__Node *node)
{
	return node->mem_mb > node->mem_free_mb ? node->mem_mb - node->mem_free_mb : 0;
}

CELL(node_state, NODE, view_text(cell, node_words(node)->record))

/* "cpu=64,mem=64000M,billing=64,gres/gpu=4"; of nothing "". */
static void node_tres(
        struct view_cell *cell, uint64_t cpus, uint64_t mem_mb, uint32_t gpus, bool billing)
{
	struct view_cell mem;
	char *at = cell->buf;

	slurm_memory(&mem, mem_mb);
	*at = '\0';
	if (cpus)
		at += sprintf(at, "cpu=%" PRIu64, cpus);
	if (mem_mb)
		at += sprintf(at, "%smem=%s", at > cell->buf ? "," : "", mem.text);
	if (billing)
		at += sprintf(at, ",billing=%" PRIu64, cpus);
	if (gpus)
		at += sprintf(at, "%sgres/gpu=%" PRIu32, at > cell->buf ? "," : "", gpus);
	cell->text = cell->buf;
}

SHOW(cfg_tres)
{
	NODE;
	uint32_t used;

	node_tres(cell, node->cpus, node->mem_mb, node_gpus(node, &used), true);
}

SHOW(alloc_tres)
{
	NODE;
	uint32_t used;

	node_gpus(node, &used);
	node_tres(cell, node->cpus - node->cpus_free, used_memory(node), used, false);
}

CELL(last_busy, NODE, slurm_time(cell, node->last_heard, "Unknown"))
CELL(node_reason_text, NODE, cell->text = *node->reason ? node->reason : NULL)

static const struct slurm_cmd_field node_record[] = {
	OF_NODE("NodeName", "NodeHost", 0),
	SAYS("CoresPerSocket", "1", RECORD_BLANK),
	KEY("CPUAlloc", show_cpu_alloc, LINE),
	OF_NODE("CPUEfctv", "CPUs", 0),
	OF_NODE("CPUTot", "CPUs", 0),
	SAYS("CPULoad", "N/A", 0),
	OF_NODE("AvailableFeatures", "Features", LINE),
	OF_NODE("ActiveFeatures", "Features", LINE),
	OF_NODE("Gres", "Gres", LINE),
	OF_NODE("GresUsed", "GresUsed", LINE | RECORD_DETAIL),
	OF_NODE("NodeAddr", "NodeHost", LINE),
	OF_NODE("NodeHostName", "NodeHost", 0),
	KEY("Version", show_agent_version, 0),
	OF_NODE("RealMemory", "Memory", LINE),
	OF_NODE("AllocMem", "AllocMem", 0),
	SAYS("FreeMem", "N/A", 0),
	OF_NODE("Sockets", "CPUs", 0),
	SAYS("Boards", "1", 0),
	KEY("State", show_node_state, LINE),
	SAYS("ThreadsPerCore", "1", 0),
	OF_NODE("TmpDisk", "Disk", 0),
	SAYS("Weight", "1", 0),
	SAYS("Owner", "N/A", 0),
	SAYS("MCS_label", "N/A", 0),
	KEY("Partitions", show_node_partitions, LINE | RECORD_BLANK),
	KEY("LastBusyTime", show_last_busy, LINE),
	KEY("CfgTRES", show_cfg_tres, LINE),
	KEY("AllocTRES", show_alloc_tres, LINE),
	KEY("Reason", show_node_reason_text, LINE),
};

SLURM_CMD_TABLE(field, record_node, node_record)

/* --- partitions ------------------------------------------------------------------------------ */

CELL(accounts, PARTITION, slurm_texts(cell, p->accounts, p->n_accounts, "ALL"))
CELL(is_default, PARTITION, view_text(cell, p->is_default ? "YES" : "NO"))
CELL(default_time, PARTITION, slurm_limit(cell, p->default_time_s, "NONE"))
CELL(max_time, PARTITION, slurm_limit(cell, p->max_time_s, "UNLIMITED"))
CELL(grace, PARTITION, view_number(cell, p->grace_s))
CELL(partition_nodes, PARTITION, view_text(cell, *p->nodes ? p->nodes : "(null)"))

SHOW(state_upper)
{
	PARTITION;
	view_text(cell, !strcmp(p->state, "up")      ? "UP"
	                : !strcmp(p->state, "drain") ? "DRAIN"
	                : !strcmp(p->state, "down")  ? "DOWN"
	                                             : "INACTIVE");
}

CELL(total_cpus, const struct record_partition_of *of = object,
        view_number(cell, (int64_t)of->cpus))

CELL(total_nodes, PARTITION, view_number(cell, p->nodes_total))

SHOW(partition_tres)
{
	PARTITION;
	struct view_cell mem;

	slurm_memory(&mem, of->mem_mb);
	view_printf(cell, "cpu=%" PRIu64 ",mem=%s,node=%" PRIu32 ",billing=%" PRIu64, of->cpus,
	        mem.text, p->nodes_total, of->cpus);
	if (of->gpus)
		sprintf(cell->buf + strlen(cell->buf), ",gres/gpu=%" PRIu32, of->gpus);
}

static const struct slurm_cmd_field partition_record[] = {
	OF_NODE("PartitionName", "PartitionName", 0),
	SAYS("AllowGroups", "ALL", LINE),
	KEY("AllowAccounts", show_accounts, 0),
	SAYS("AllowQos", "ALL", 0),
	SAYS("AllocNodes", "ALL", LINE),
	KEY("Default", show_is_default, 0),
	SAYS("QoS", "N/A", 0),
	KEY("DefaultTime", show_default_time, LINE),
	SAYS("DisableRootJobs", "NO", 0),
	SAYS("ExclusiveUser", "NO", 0),
	KEY("GraceTime", show_grace, 0),
	SAYS("Hidden", "NO", 0),
	SAYS("MaxNodes", "UNLIMITED", LINE),
	KEY("MaxTime", show_max_time, 0),
	SAYS("MinNodes", "0", 0),
	SAYS("LLN", "NO", 0),
	SAYS("MaxCPUsPerNode", "UNLIMITED", 0),
	KEY("Nodes", show_partition_nodes, LINE),
	OF_NODE("PriorityJobFactor", "PriorityJobFactor", LINE),
	OF_NODE("PriorityTier", "PriorityTier", 0),
	SAYS("RootOnly", "NO", 0),
	SAYS("ReqResv", "NO", 0),
	SAYS("OverSubscribe", "NO", 0),
	SAYS("OverTimeLimit", "NONE", LINE),
	OF_NODE("PreemptMode", "PreemptMode", 0),
	KEY("State", show_state_upper, LINE),
	KEY("TotalCPUs", show_total_cpus, 0),
	KEY("TotalNodes", show_total_nodes, 0),
	SAYS("SelectTypeParameters", "NONE", 0),
	SAYS("JobDefaults", "(null)", LINE),
	SAYS("DefMemPerNode", "UNLIMITED", LINE),
	SAYS("MaxMemPerNode", "UNLIMITED", 0),
	KEY("TRES", show_partition_tres, LINE),
};

SLURM_CMD_TABLE(field, record_partition, partition_record)
