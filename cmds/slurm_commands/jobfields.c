/* jobfields.c - see jobfields.h
 *
 * To add a field: a show function, a row, and the line of gpusched-slurm(7) that the test names.
 */
#include "cmds/slurm_commands/jobfields.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cmds/cli/parse_time.h"
#include "cmds/slurm_commands/slurm_command_line.h"
#include "cmds/slurm_commands/state_codes.h"
#include "cmds/slurm_commands/value_formats.h"
#include "common/base/units.h"

#define BITSTR_LEN 64
#define TEXT_MAX   (sizeof(((struct view_cell *)0)->buf) - 16)

/* --- what of a job several fields need ------------------------------------------------------- */

bool job_is_pending(const Gpusched__Job *j)
{
	return !strcmp(j->state, "PENDING");
}

bool job_has_ended(const Gpusched__Job *j)
{
	const struct slurm_state *s = slurm_state(j->state);

	return s && strcmp(s->name, "PENDING") && strcmp(s->name, "RUNNING") &&
	       strcmp(s->name, "SUSPENDED") && strcmp(s->name, "COMPLETING") &&
	       strcmp(s->name, "CONFIGURING");
}

uint32_t job_node_count(const Gpusched__Job *j)
{
	uint32_t n = job_is_pending(j) || !j->n_nodes ? j->nodes_min : j->n_nodes;

	return n ? n : 1;
}

bool job_gpus_per_node(const Gpusched__Job *j)
{
	return j->gpus_per_node || (j->nodes_min <= 1 && j->nodes_max <= 1);
}

/* Of alternatives the first counts. */
static uint32_t job_gpu_count(const Gpusched__Job *j)
{
	if (!job_is_pending(j) && j->gpus_held)
		return j->gpus_held;
	if (!j->n_gpus)
		return 0;
	return j->gpus[0]->count * (j->gpus_per_node ? job_node_count(j) : 1);
}

static bool unlimited(const Gpusched__Job *j)
{
	return !j->time_limit_s || j->time_limit_s == UINT32_MAX;
}

int64_t job_end_time(const Gpusched__Job *j)
{
	int64_t start = job_is_pending(j) ? j->planned_start_time : j->start_time;

	if (j->end_time)
		return j->end_time;
	if (!start || unlimited(j))
		return 0;
	return start + ((int64_t)j->time_limit_s + (int64_t)j->suspended_s) * 1000000;
}

void gpu_counts(char *buf, size_t size, const char *prefix, Gpusched__GpuCount *const *v, size_t n)
{
	size_t used = 0;

	buf[0] = '\0';
	for (size_t i = 0; i < n && used < size; i++)
		used += (size_t)snprintf(buf + used, size - used, "%s%s:%s%s%" PRIu32, i ? "|" : "",
		        prefix, v[i]->type, *v[i]->type ? ":" : "", v[i]->count);
}

static size_t bitstr_len(void)
{
	const char *text = getenv("SLURM_BITSTR_LEN");
	uint64_t n;

	if (!text || count_parse(text, 0, 4096, &n, NULL) < 0)
		return BITSTR_LEN;
	return n ? (size_t)n : 4096;
}

/* "3-5%2": the tasks, and how many at a time. */
static void tasks_text(char *buf, size_t size, const char *tasks, uint32_t at_once)
{
	size_t most = bitstr_len();
	int n = strlen(tasks) > most ? snprintf(buf, size, "%.*s...", (int)most, tasks)
	                             : snprintf(buf, size, "%s", tasks);

	if (at_once && n > 0 && (size_t)n < size)
		snprintf(buf + n, size - (size_t)n, "%%%" PRIu32, at_once);
}

void job_id_text(
        char *buf, size_t size, uint64_t id, const char *tasks, bool several, uint32_t at_once)
{
	char text[4200];

	if (!*tasks) {
		snprintf(buf, size, "%" PRIu64, id);
	} else if (!several) {
		snprintf(buf, size, "%" PRIu64 "_%s", id, tasks);
	} else {
		tasks_text(text, sizeof(text), tasks, at_once);
		snprintf(buf, size, "%" PRIu64 "_[%s]", id, text);
	}
}

/* "cpu=1,mem=100M,node=1,billing=1,gres/gpu=2" */
static void tres_text(
        char *buf, size_t size, uint64_t cpus, uint64_t mem_mb, uint32_t nodes, uint32_t gpus)
{
	struct view_cell mem;
	int n;

	slurm_memory(&mem, mem_mb);
	n = snprintf(buf, size, "cpu=%" PRIu64 "%s%s,node=%" PRIu32 ",billing=%" PRIu64, cpus,
	        mem_mb ? ",mem=" : "", mem_mb ? mem.text : "", nodes, cpus);
	if (gpus && n > 0 && (size_t)n < size)
		snprintf(buf + n, size - (size_t)n, ",gres/gpu=%" PRIu32, gpus);
}

/* --- fields ---------------------------------------------------------------------------------- */

#define JOB const Gpusched__Job *j = object

#define SHOW_TEXT(name, field, none) CELL(name, JOB, view_text(cell, *j->field ? j->field : none))
#define SHOW_NUMBER(name, value) CELL(name, JOB, view_number(cell, (int64_t)value))
#define SHOW_TIME(name, value, none) CELL(name, JOB, slurm_time(cell, value, none))

SHOW_TEXT(account, account, "(null)")
SHOW_TEXT(comment, remark, "(null)")
SHOW_TEXT(exclude, exclude, "")
SHOW_TEXT(features, constraint, "(null)")
SHOW_TEXT(prefer, prefer, "(null)")
SHOW_TEXT(licences, licences, "(null)")
SHOW_TEXT(name, name, "")
SHOW_TEXT(partition, partition, "(null)")
SHOW_TEXT(qos, qos, "normal")
SHOW_TEXT(req_nodes, nodelist, "")
SHOW_TEXT(sched_nodes, planned_nodes, "(null)")
SHOW_TEXT(state, state, "")
SHOW_TEXT(user, user, "")
SHOW_TEXT(cwd, cwd, "(null)")
SHOW_TEXT(host, submit_host, "(null)")
SHOW_NUMBER(array_id, j->id)
SHOW_NUMBER(raw_id, (j->raw_id ? j->raw_id : j->id))
SHOW_NUMBER(min_cpus, (j->cpus ? j->cpus : 1))
SHOW_NUMBER(cpus, (uint64_t)(j->cpus ? j->cpus : 1) * job_node_count(j))
SHOW_NUMBER(nodes, job_node_count(j))
SHOW_NUMBER(max_nodes, (j->nodes_max ? j->nodes_max : job_node_count(j)))
SHOW_NUMBER(nice, j->nice)
SHOW_NUMBER(priority, j->priority)
SHOW_NUMBER(uid, j->uid)
SHOW_NUMBER(exit_code, j->exit_code)
SHOW_NUMBER(requeue, j->requeue)
SHOW_NUMBER(restarts, (j->attempt > 1 ? j->attempt - 1 : 0))
SHOW_TIME(submit, j->submit_time, "N/A")
SHOW_TIME(accrue, j->submit_time, "N/A")

/* A job whose begin time has not come will be eligible then; one that is held is not. */
static int64_t eligible_of(const Gpusched__Job *j)
{
	if (j->eligible_time)
		return j->eligible_time;
	if (j->begin_time > j->submit_time)
		return j->begin_time;
	return job_is_pending(j) ? 0 : j->submit_time;
}

SHOW_TIME(eligible, eligible_of(j), "N/A")
SHOW_TIME(start, (job_is_pending(j) ? j->planned_start_time : j->start_time), "N/A")
SHOW_TIME(end, job_end_time(j), (job_is_pending(j) ? "N/A" : "NONE"))
SHOW_TIME(deadline, j->deadline_time, "N/A")

SHOW(id)
{
	JOB;

	job_id_text(cell->buf, sizeof(cell->buf), j->id, j->tasks, j->several, j->array_throttle);
	cell->text = cell->buf;
	cell->is_number = true;
	cell->number = (int64_t)(j->id << 23);
	cell->number += j->several ? 0x7fffff : *j->tasks ? atol(j->tasks) : 0;
}

SHOW(task)
{
	JOB;

	tasks_text(cell->buf, sizeof(cell->buf), j->tasks, j->several ? j->array_throttle : 0);
	cell->text = *j->tasks ? cell->buf : "N/A";
}

SHOW(state_code)
{
	JOB;
	const struct slurm_state *s = slurm_state(j->state);

	view_text(cell, s ? s->code : j->state);
}

CELL(reason, JOB, view_text(cell, *j->reason ? j->reason : "None"))

/* The nodes; of a job that waits or failed the reason, in brackets. */
SHOW(where)
{
	JOB;
	static const char *const with_reason[] = { "PENDING", "TIMEOUT", "OUT_OF_MEMORY",
		"DEADLINE", "FAILED" };

	for (size_t i = 0; i < sizeof(with_reason) / sizeof(with_reason[0]); i++) {
		if (strcmp(j->state, with_reason[i]) != 0)
			continue;
		view_printf(cell, "(%s)", *j->reason ? j->reason : "None");
		return;
	}
	view_text(cell, j->nodes);
}

CELL(node_list, JOB, view_text(cell, job_is_pending(j) ? "" : j->nodes))
CELL(batch_host, JOB, view_text(cell, job_is_pending(j) || !*j->node ? "n/a" : j->node))

CELL(group, JOB, view_text(cell, slurm_group(j->uid)))
CELL(gid, JOB, view_number(cell, slurm_gid(j->uid)))
CELL(limit, JOB, view_duration(cell, unlimited(j) ? DURATION_FOREVER : j->time_limit_s))

SHOW(left)
{
	JOB;

	if (unlimited(j))
		view_duration(cell, DURATION_FOREVER);
	else
		view_duration(
		        cell, j->time_limit_s > j->elapsed_s ? j->time_limit_s - j->elapsed_s : 0);
}

CELL(time, JOB, view_duration(cell, job_is_pending(j) ? 0 : j->elapsed_s))
CELL(memory, JOB, slurm_memory(cell, j->mem_mb))
CELL(tmp, JOB, slurm_memory(cell, j->tmp_mb))
CELL(over, JOB, view_text(cell, j->exclusive ? "NO" : "OK"))

SHOW(priority_part)
{
	JOB;
	view_printf(cell, "%16.14f", (double)j->priority / 4294967296.0);
	cell->is_number = true;
	cell->number = j->priority;
}

/* "afterok:1:2" as "afterok:1(unfulfilled),afterok:2(unfulfilled)". */
SHOW(dependency)
{
	JOB;
	const char *s = j->dependency;

	view_text(cell, "(null)");
	while (*s && strlen(cell->text) < TEXT_MAX) {
		size_t all = strcspn(s, ",?"), kind = strcspn(s, ":,?");
		const char *id = s + kind, *end = s + all;

		if (kind >= all)
			view_item(cell, ",", "%.*s(unfulfilled)", (int)kind, s);
		while (id < end && strlen(cell->text) < TEXT_MAX) {
			size_t len = strcspn(++id, ":,?(");
			bool failed = id[len] == '(';

			view_item(cell, ",", "%.*s:%.*s(%s)", (int)kind, s, (int)len, id,
			        failed ? "failed" : "unfulfilled");
			id += len;
			while (id < end && *id != ':')
				id++;
		}
		s = end + (*end != '\0');
	}
}

static void show_gres(const Gpusched__Job *j, bool per_node, struct view_cell *cell)
{
	if (!j->n_gpus || job_gpus_per_node(j) != per_node) {
		view_text(cell, "N/A");
		return;
	}
	gpu_counts(cell->buf, sizeof(cell->buf), "gres:gpu", j->gpus, j->n_gpus);
	cell->text = cell->buf;
}

CELL(gres_node, JOB, show_gres(j, true, cell))
CELL(gres_job, JOB, show_gres(j, false, cell))

SHOW(tres)
{
	JOB;
	uint32_t nodes = job_node_count(j);

	tres_text(cell->buf, sizeof(cell->buf), (uint64_t)(j->cpus ? j->cpus : 1) * nodes,
	        j->mem_mb * nodes, nodes, job_gpu_count(j));
	cell->text = cell->buf;
}

SHOW(pending_time)
{
	JOB;
	int64_t until = j->start_time && !job_is_pending(j) ? j->start_time : parse_time_now();

	view_number(cell, until > j->submit_time ? (until - j->submit_time) / 1000000 : 0);
}

/* From the root on. */
static void show_path(const Gpusched__Job *j, const char *path, struct view_cell *cell)
{
	if (*path == '/' || !*path)
		view_text(cell, *path ? path : "/dev/null");
	else
		view_printf(cell, "%s/%s", j->cwd, path);
}

CELL(stdout, JOB, show_path(j, j->output, cell))
CELL(stderr, JOB, show_path(j, *j->error ? j->error : j->output, cell))

#define NOT_KNOWN(letter, name, heading, value) \
	SLURM_CMD_FIELD(letter, name, heading, 0, value, NULL, 0)
#define FIELD(letter, name, heading, show) \
	SLURM_CMD_FIELD(letter, name, heading, 0, NULL, show_##show, 0)
#define DIFFERS(letter, name, heading, show, text) \
	SLURM_CMD_FIELD(letter, name, heading, 0, text, show_##show, 0)

static const struct slurm_cmd_field fields[] = {
	FIELD('a', "Account", "ACCOUNT", account),
	FIELD(0, "AccrueTime", "ACCRUE_TIME", accrue),
	NOT_KNOWN(0, "Admin_Comment", "ADMIN_COMMENT", "(null)"),
	FIELD(0, "AllocNodes", "ALLOC_NODES", host),
	NOT_KNOWN(0, "AllocSID", "ALLOC_SID", "0"),
	FIELD('F', "ArrayJobID", "ARRAY_JOB_ID", array_id),
	FIELD('K', "ArrayTaskID", "ARRAY_TASK_ID", task),
	NOT_KNOWN(0, "AssocID", "ASSOC_ID", "0"),
	NOT_KNOWN(0, "BatchFlag", "BATCH_FLAG", "1"),
	FIELD('B', "BatchHost", "EXEC_HOST", batch_host),
	NOT_KNOWN(0, "BoardsPerNode", "BOARDS_PER_NODE", "0"),
	NOT_KNOWN(0, "BurstBuffer", "BURST_BUFFER", "(null)"),
	NOT_KNOWN(0, "BurstBufferState", "BURST_BUFFER_STATE", "(null)"),
	SLURM_CMD_FIELD(0, "Cluster", "CLUSTER", 0, NULL, slurm_cmd_show_cluster, 0),
	NOT_KNOWN(0, "ClusterFeature", "CLUSTER_FEATURES", "(null)"),
	NOT_KNOWN('o', "Command", "COMMAND", "(null)"),
	FIELD('k', "Comment", "COMMENT", comment),
	NOT_KNOWN(0, "Container", "CONTAINER", "(null)"),
	NOT_KNOWN('O', "Contiguous", "CONTIGUOUS", "0"),
	NOT_KNOWN('I', "Cores", "CORES_PER_SOCKET", "*"),
	NOT_KNOWN('X', "CoreSpec", "CORE_SPEC", "N/A"),
	NOT_KNOWN(0, "CPUFreq", "CPU_FREQ", "N/A"),
	DIFFERS(0, "cpus-per-task", "CPUS_PER_TASK", min_cpus, "the CPUs of a node"),
	DIFFERS(0, "cpuspertask", "CPUS_PER_TASK", min_cpus, "the CPUs of a node"),
	NOT_KNOWN(0, "cpus-per-tres", "CPUS_PER_TRES", "N/A"),
	FIELD(0, "Deadline", "DEADLINE", deadline),
	NOT_KNOWN(0, "DelayBoot", "DELAY_BOOT", "0:00"),
	FIELD('E', "Dependency", "DEPENDENCY", dependency),
	FIELD(0, "DerivedEC", "DERIVED_EC", exit_code),
	FIELD(0, "EligibleTime", "ELIGIBLE_TIME", eligible),
	FIELD('e', "EndTime", "END_TIME", end),
	FIELD('x', "ExcNodes", "EXC_NODES", exclude),
	FIELD(0, "exit_code", "EXIT_CODE", exit_code),
	FIELD('f', "Feature", "FEATURES", features),
	FIELD('b', "gres", "TRES_PER_NODE", gres_node),
	FIELD('G', "GroupID", "GROUP", gid),
	FIELD('g', "GroupName", "GROUP", group),
	NOT_KNOWN(0, "HetJobID", "HET_JOB_ID", "N/A"),
	NOT_KNOWN(0, "HetJobIDSet", "HET_JOB_ID_SET", "N/A"),
	NOT_KNOWN(0, "HetJobOffset", "HET_JOB_OFFSET", "N/A"),
	FIELD('i', "JobArrayID", "JOBID", id),
	FIELD('A', "JobID", "JOBID", raw_id),
	NOT_KNOWN(0, "LastSchedEval", "LAST_SCHED_EVAL", "N/A"),
	FIELD('W', "Licenses", "LICENSES", licences),
	FIELD(0, "MaxCPUs", "MAX_CPUS", cpus),
	FIELD(0, "MaxNodes", "MAX_NODES", max_nodes),
	NOT_KNOWN(0, "MCSLabel", "MCSLABEL", "(null)"),
	NOT_KNOWN(0, "mem-per-tres", "MEM_PER_TRES", "N/A"),
	FIELD('c', "MinCpus", "MIN_CPUS", min_cpus),
	FIELD('m', "MinMemory", "MIN_MEMORY", memory),
	NOT_KNOWN(0, "MinTime", "TIME_MIN", "0:00"),
	FIELD('d', "MinTmpDisk", "MIN_TMP_DISK", tmp),
	FIELD('j', "Name", "NAME", name),
	NOT_KNOWN(0, "Network", "NETWORK", "(null)"),
	FIELD('y', "Nice", "NICE", nice),
	FIELD('N', "NodeList", "NODELIST", node_list),
	NOT_KNOWN(0, "NTPerBoard", "NTASKS_PER_BOARD", "0"),
	NOT_KNOWN(0, "NTPerCore", "NTASKS_PER_CORE", "N/A"),
	NOT_KNOWN(0, "NTPerNode", "NTASKS_PER_NODE", "0"),
	NOT_KNOWN(0, "NTPerSocket", "NTASKS_PER_SOCKET", "N/A"),
	FIELD('C', "NumCPUs", "CPUS", cpus),
	FIELD('D', "NumNodes", "NODES", nodes),
	DIFFERS(0, "NumTasks", "TASKS", nodes, "one a node"),
	NOT_KNOWN(0, "Origin", "ORIGIN", "NA"),
	NOT_KNOWN(0, "OriginRaw", "ORIGIN_RAW", "NA"),
	FIELD('h', "OverSubscribe", "OVER_SUBSCRIBE", over),
	FIELD(0, "Shared", "OVER_SUBSCRIBE", over),
	NOT_KNOWN(0, "PackJobID", "HET_JOB_ID", "N/A"),
	NOT_KNOWN(0, "PackJobIDSet", "HET_JOB_ID_SET", "N/A"),
	NOT_KNOWN(0, "PackJobOffset", "HET_JOB_OFFSET", "N/A"),
	FIELD('P', "Partition", "PARTITION", partition),
	FIELD(0, "PendingTime", "PENDING_TIME", pending_time),
	NOT_KNOWN(0, "PreemptTime", "PREEMPT_TIME", "N/A"),
	FIELD(0, "Prefer", "PREFER", prefer),
	FIELD('p', "Priority", "PRIORITY", priority_part),
	FIELD('Q', "PriorityLong", "PRIORITY", priority),
	NOT_KNOWN(0, "Profile", "PROFILE", "NotSet"),
	FIELD('q', "QOS", "QOS", qos),
	FIELD('r', "Reason", "REASON", reason),
	FIELD('R', "ReasonList", "NODELIST(REASON)", where),
	NOT_KNOWN(0, "Reboot", "REBOOT", "0"),
	FIELD('n', "ReqNodes", "REQ_NODES", req_nodes),
	NOT_KNOWN(0, "ReqSwitch", "REQ_SWITCH", "0"),
	FIELD(0, "Requeue", "REQUEUE", requeue),
	NOT_KNOWN('v', "Reservation", "RESERVATION", "(null)"),
	NOT_KNOWN(0, "ResizeTime", "RESIZE_TIME", "N/A"),
	FIELD(0, "RestartCnt", "RESTART_COUNT", restarts),
	FIELD('Y', "SchedNodes", "SCHEDNODES", sched_nodes),
	NOT_KNOWN('z', "SCT", "S:C:T", "*:*:*"),
	NOT_KNOWN('s', "SelectJobInfo", "", ""),
	NOT_KNOWN(0, "SiblingsActive", "ACTIVE_SIBLINGS", "NA"),
	NOT_KNOWN(0, "SiblingsActiveRaw", "ACTIVE_SIBLINGS_RAW", "NA"),
	NOT_KNOWN(0, "SiblingsViable", "VIABLE_SIBLINGS", "NA"),
	NOT_KNOWN(0, "SiblingsViableRaw", "VIALBLE_SIBLINGS_RAW", "NA"),
	NOT_KNOWN('H', "Sockets", "SOCKETS_PER_NODE", "*"),
	NOT_KNOWN(0, "SPerBoard", "SOCKETS_PER_BOARD", "0"),
	FIELD('S', "StartTime", "START_TIME", start),
	FIELD('T', "State", "STATE", state),
	FIELD('t', "StateCompact", "ST", state_code),
	FIELD(0, "StdErr", "STDERR", stderr),
	NOT_KNOWN(0, "StdIn", "STDIN", "/dev/null"),
	FIELD(0, "StdOut", "STDOUT", stdout),
	FIELD('V', "SubmitTime", "SUBMIT_TIME", submit),
	NOT_KNOWN(0, "System_Comment", "SYSTEM_COMMENT", "(null)"),
	NOT_KNOWN('J', "Threads", "THREADS_PER_CORE", "*"),
	FIELD('L', "TimeLeft", "TIME_LEFT", left),
	FIELD('l', "TimeLimit", "TIME_LIMIT", limit),
	FIELD('M', "TimeUsed", "TIME", time),
	FIELD(0, "tres", "TRES_ALLOC", tres),
	FIELD(0, "tres-alloc", "TRES_ALLOC", tres),
	NOT_KNOWN(0, "tres-bind", "TRES_BIND", "N/A"),
	NOT_KNOWN(0, "tres-freq", "TRES_FREQ", "N/A"),
	FIELD(0, "tres-per-job", "TRES_PER_JOB", gres_job),
	FIELD(0, "tres-per-node", "TRES_PER_NODE", gres_node),
	NOT_KNOWN(0, "tres-per-socket", "TRES_PER_SOCKET", "N/A"),
	NOT_KNOWN(0, "tres-per-task", "TRES_PER_TASK", "N/A"),
	FIELD('U', "UserID", "UID", uid),
	FIELD('u', "UserName", "USER", user),
	NOT_KNOWN(0, "Wait4Switch", "WAIT4SWITCH", "0:00"),
	NOT_KNOWN('w', "WCKey", "WCKEY", "(null)"),
	FIELD('Z', "WorkDir", "WORK_DIR", cwd),
};

SLURM_CMD_TABLE(field, job_fields, fields)

const char *job_field(const char *name, const Gpusched__Job *job, struct view_cell *cell)
{
	size_t n;
	const struct slurm_cmd_field *table = job_fields(&n);
	const struct slurm_cmd_field *field = field_by_name(name, strlen(name), table, n);

	return field ? field_value(field, job, cell) : "";
}
