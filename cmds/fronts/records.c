/* records.c - see records.h
 *
 * To add a key: a row, with a show function where squeue or sinfo have none.
 */
#include "cmds/fronts/records.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmds/fronts/front.h"
#include "cmds/fronts/jobfields.h"
#include "common/base/text.h"
#include "common/gpusched.pb-c.h"

void record_print(
        const struct record_style *s, const struct front_field *table, size_t n, const void *object)
{
	struct view_cell cell;
	bool first = true;

	for (size_t i = 0; i < n; i++) {
		const struct front_field *f = &table[i];
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

/* As squeue has it. */
#define OF_JOB(field)                                                       \
	static void job_##field(const void *object, struct view_cell *cell) \
	{                                                                   \
		job_field(#field, object, cell);                            \
	}

/* As sinfo has it. */
#define OF_NODE(field)                                                       \
	static void node_##field(const void *object, struct view_cell *cell) \
	{                                                                    \
		node_field(#field, object, cell);                            \
	}

/* --- jobs ------------------------------------------------------------------------------------ */

OF_JOB(JobID)
OF_JOB(Name)
OF_JOB(PriorityLong)
OF_JOB(Nice)
OF_JOB(Account)
OF_JOB(QOS)
OF_JOB(State)
OF_JOB(Reason)
OF_JOB(Dependency)
OF_JOB(Requeue)
OF_JOB(RestartCnt)
OF_JOB(SubmitTime)
OF_JOB(Deadline)
OF_JOB(Partition)
OF_JOB(NodeList)
OF_JOB(NumNodes)
OF_JOB(NumCPUs)
OF_JOB(NumTasks)
OF_JOB(MinCpus)
OF_JOB(MinMemory)
OF_JOB(MinTmpDisk)
OF_JOB(tres)
OF_JOB(Feature)
OF_JOB(OverSubscribe)
OF_JOB(Licenses)
OF_JOB(WorkDir)
OF_JOB(StdErr)
OF_JOB(StdOut)

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

SHOW(group)
{
	JOB;
	unsigned gid;
	const char *name = group_of_uid(j->uid, &gid);

	view_printf(cell, "%s(%u)", name, gid);
}

SHOW(exit)
{
	JOB;
	struct front_exit ended = front_exit(j->state, j->exit_code, j->exit_signal);

	view_printf(cell, "%" PRIu32 ":%" PRIu32, ended.code, ended.signal);
}

CELL(run_time, JOB, front_clock(cell, job_is_pending(j) ? 0 : j->elapsed_s))

SHOW(limit)
{
	JOB;

	if (!j->time_limit_s || j->time_limit_s == UINT32_MAX)
		view_text(cell, "UNLIMITED");
	else
		front_clock(cell, j->time_limit_s);
}

SHOW(eligible)
{
	JOB;
	front_time(
	        cell, j->begin_time > j->submit_time ? j->begin_time : j->submit_time, "Unknown");
}

CELL(start, JOB,
        front_time(cell, job_is_pending(j) ? j->planned_start_time : j->start_time, "Unknown"))
CELL(end, JOB, front_time(cell, job_end_time(j), "Unknown"))
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
	size_t used = 0;

	cell->text = j->n_runs ? cell->buf : NULL;
	for (size_t i = 0; i < j->n_runs && used < sizeof(cell->buf); i++) {
		const Gpusched__JobRun *r = j->runs[i];
		char list[256], gres[400] = "";

		index_list(list, sizeof(list), r->gpus, r->n_gpus);
		if (r->n_gpus)
			snprintf(gres, sizeof(gres), "gpu:%.64s:%zu(IDX:%s)", r->gpu_type,
			        r->n_gpus, list);
		used += (size_t)snprintf(cell->buf + used, sizeof(cell->buf) - used,
		        "%s%s CPU_IDs= Mem=%" PRIu64 " GRES=%s", i ? " Nodes=" : "", r->node,
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

SHOW(gres_job)
{
	show_gres(object, false, cell);
}

SHOW(gres_node)
{
	show_gres(object, true, cell);
}

#define KEY(name, show, flags) FRONT_FIELD(0, name, name, 0, NULL, show, (flags))
#define SAYS(name, value, flags) FRONT_FIELD(0, name, name, 0, value, NULL, (flags))
#define LINE RECORD_LINE

static const struct front_field job_record[] = {
	KEY("JobId", job_JobID, 0),
	KEY("ArrayJobId", show_array_id, 0),
	KEY("ArrayTaskId", show_array_task, 0),
	KEY("ArrayTaskThrottle", show_throttle, 0),
	KEY("JobName", job_Name, 0),
	KEY("UserId", show_user, LINE),
	KEY("GroupId", show_group, 0),
	SAYS("MCS_label", "N/A", 0),
	KEY("Priority", job_PriorityLong, LINE),
	KEY("Nice", job_Nice, 0),
	KEY("Account", job_Account, 0),
	KEY("QOS", job_QOS, 0),
	KEY("JobState", job_State, LINE),
	KEY("Reason", job_Reason, 0),
	KEY("Dependency", job_Dependency, 0),
	KEY("Requeue", job_Requeue, LINE),
	KEY("Restarts", job_RestartCnt, 0),
	SAYS("BatchFlag", "1", 0),
	SAYS("Reboot", "0", 0),
	KEY("ExitCode", show_exit, 0),
	KEY("DerivedExitCode", show_exit, LINE | RECORD_DETAIL),
	KEY("RunTime", show_run_time, LINE),
	KEY("TimeLimit", show_limit, 0),
	SAYS("TimeMin", "N/A", 0),
	KEY("SubmitTime", job_SubmitTime, LINE),
	KEY("EligibleTime", show_eligible, 0),
	KEY("AccrueTime", job_SubmitTime, LINE),
	KEY("StartTime", show_start, LINE),
	KEY("EndTime", show_end, 0),
	KEY("Deadline", job_Deadline, 0),
	SAYS("SuspendTime", "None", LINE),
	SAYS("SecsPreSuspend", "0", 0),
	SAYS("LastSchedEval", "Unknown", 0),
	SAYS("Scheduler", "Main", 0),
	KEY("Partition", job_Partition, LINE),
	KEY("AllocNode:Sid", show_alloc, 0),
	KEY("ReqNodeList", show_req_nodes, LINE),
	KEY("ExcNodeList", show_exc_nodes, 0),
	KEY("NodeList", job_NodeList, LINE),
	KEY("SchedNodeList", show_sched_nodes, 0),
	KEY("BatchHost", show_batch_host, LINE),
	KEY("NumNodes", job_NumNodes, LINE),
	KEY("NumCPUs", job_NumCPUs, 0),
	KEY("NumTasks", job_NumTasks, 0),
	KEY("CPUs/Task", job_MinCpus, 0),
	SAYS("ReqB:S:C:T", "0:0:*:*", 0),
	KEY("TRES", job_tres, LINE),
	SAYS("Socks/Node", "*", LINE),
	SAYS("NtasksPerN:B:S:C", "0:0:*:*", 0),
	SAYS("CoreSpec", "*", 0),
	KEY("JOB_GRES", show_job_gres, LINE | RECORD_DETAIL),
	KEY("Nodes", show_node_shares, LINE | RECORD_DETAIL),
	KEY("MinCPUsNode", job_MinCpus, LINE),
	KEY("MinMemoryNode", job_MinMemory, 0),
	KEY("MinTmpDiskNode", job_MinTmpDisk, 0),
	KEY("Features", job_Feature, LINE),
	SAYS("DelayBoot", "00:00:00", 0),
	KEY("OverSubscribe", job_OverSubscribe, LINE),
	SAYS("Contiguous", "0", 0),
	KEY("Licenses", job_Licenses, 0),
	SAYS("Network", "(null)", 0),
	SAYS("Command", "(null)", LINE),
	KEY("WorkDir", job_WorkDir, LINE),
	KEY("Comment", show_remark, LINE | RECORD_BLANK),
	KEY("StdErr", job_StdErr, LINE),
	SAYS("StdIn", "/dev/null", LINE),
	KEY("StdOut", job_StdOut, LINE),
	SAYS("Power", "", LINE),
	KEY("TresPerJob", show_gres_job, LINE),
	KEY("TresPerNode", show_gres_node, LINE),
	KEY("MailUser", show_mail_user, LINE),
	KEY("MailType", show_mail_type, 0),
};

FRONT_TABLE(field, record_job, job_record)

/* --- nodes ----------------------------------------------------------------------------------- */

OF_NODE(NodeHost)
OF_NODE(CPUs)
OF_NODE(Features)
OF_NODE(Gres)
OF_NODE(GresUsed)
OF_NODE(Memory)
OF_NODE(Disk)
OF_NODE(AllocMem)
CELL(cpu_alloc, NODE,
        view_number(cell, node->cpus > node->cpus_free ? node->cpus - node->cpus_free : 0))

static void show_texts(char *const *v, size_t n, struct view_cell *cell)
{
	size_t used = 0;

	cell->text = n ? cell->buf : "(null)";
	for (size_t i = 0; i < n && used < sizeof(cell->buf); i++)
		used += (size_t)snprintf(
		        cell->buf + used, sizeof(cell->buf) - used, "%s%s", i ? "," : "", v[i]);
}

SHOW(node_partitions)
{
	NODE;
	show_texts(node->partitions, node->n_partitions, cell);
	if (!node->n_partitions)
		cell->text = NULL;
}

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

	front_memory(&mem, mem_mb);
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

CELL(last_busy, NODE, front_time(cell, node->last_heard, "Unknown"))
CELL(node_reason_text, NODE, cell->text = *node->reason ? node->reason : NULL)

static const struct front_field node_record[] = {
	KEY("NodeName", node_NodeHost, 0),
	SAYS("CoresPerSocket", "1", RECORD_BLANK),
	KEY("CPUAlloc", show_cpu_alloc, LINE),
	KEY("CPUEfctv", node_CPUs, 0),
	KEY("CPUTot", node_CPUs, 0),
	SAYS("CPULoad", "N/A", 0),
	KEY("AvailableFeatures", node_Features, LINE),
	KEY("ActiveFeatures", node_Features, LINE),
	KEY("Gres", node_Gres, LINE),
	KEY("GresUsed", node_GresUsed, LINE | RECORD_DETAIL),
	KEY("NodeAddr", node_NodeHost, LINE),
	KEY("NodeHostName", node_NodeHost, 0),
	KEY("Version", show_agent_version, 0),
	KEY("RealMemory", node_Memory, LINE),
	KEY("AllocMem", node_AllocMem, 0),
	SAYS("FreeMem", "N/A", 0),
	KEY("Sockets", node_CPUs, 0),
	SAYS("Boards", "1", 0),
	KEY("State", show_node_state, LINE),
	SAYS("ThreadsPerCore", "1", 0),
	KEY("TmpDisk", node_Disk, 0),
	SAYS("Weight", "1", 0),
	SAYS("Owner", "N/A", 0),
	SAYS("MCS_label", "N/A", 0),
	KEY("Partitions", show_node_partitions, LINE | RECORD_BLANK),
	KEY("LastBusyTime", show_last_busy, LINE),
	KEY("CfgTRES", show_cfg_tres, LINE),
	KEY("AllocTRES", show_alloc_tres, LINE),
	KEY("Reason", show_node_reason_text, LINE),
};

FRONT_TABLE(field, record_node, node_record)

/* --- partitions ------------------------------------------------------------------------------ */

OF_NODE(PartitionName)
OF_NODE(PriorityJobFactor)
OF_NODE(PriorityTier)
OF_NODE(PreemptMode)

SHOW(accounts)
{
	PARTITION;
	show_texts(p->accounts, p->n_accounts, cell);
	if (!p->n_accounts)
		view_text(cell, "ALL");
}

CELL(is_default, PARTITION, view_text(cell, p->is_default ? "YES" : "NO"))

static void show_time(uint32_t s, const char *none, struct view_cell *cell)
{
	if (s && s != UINT32_MAX)
		front_clock(cell, s);
	else
		view_text(cell, none);
}

CELL(default_time, PARTITION, show_time(p->default_time_s, "NONE", cell))
CELL(max_time, PARTITION, show_time(p->max_time_s, "UNLIMITED", cell))
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

SHOW(total_cpus)
{
	PARTITION;
	(void)p;
	view_number(cell, (int64_t)of->cpus);
}

CELL(total_nodes, PARTITION, view_number(cell, p->nodes_total))

SHOW(partition_tres)
{
	PARTITION;
	struct view_cell mem;

	front_memory(&mem, of->mem_mb);
	view_printf(cell, "cpu=%" PRIu64 ",mem=%s,node=%" PRIu32 ",billing=%" PRIu64, of->cpus,
	        mem.text, p->nodes_total, of->cpus);
	if (of->gpus)
		sprintf(cell->buf + strlen(cell->buf), ",gres/gpu=%" PRIu32, of->gpus);
}

static const struct front_field partition_record[] = {
	KEY("PartitionName", node_PartitionName, 0),
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
	KEY("PriorityJobFactor", node_PriorityJobFactor, LINE),
	KEY("PriorityTier", node_PriorityTier, 0),
	SAYS("RootOnly", "NO", 0),
	SAYS("ReqResv", "NO", 0),
	SAYS("OverSubscribe", "NO", 0),
	SAYS("OverTimeLimit", "NONE", LINE),
	KEY("PreemptMode", node_PreemptMode, 0),
	KEY("State", show_state_upper, LINE),
	KEY("TotalCPUs", show_total_cpus, 0),
	KEY("TotalNodes", show_total_nodes, 0),
	SAYS("SelectTypeParameters", "NONE", 0),
	SAYS("JobDefaults", "(null)", LINE),
	SAYS("DefMemPerNode", "UNLIMITED", LINE),
	SAYS("MaxMemPerNode", "UNLIMITED", 0),
	KEY("TRES", show_partition_tres, LINE),
};

FRONT_TABLE(field, record_partition, partition_record)
