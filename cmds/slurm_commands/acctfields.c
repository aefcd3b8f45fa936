/* acctfields.c - see acctfields.h
 *
 * To add a field: a show function, a row, and the line of gpusched-slurm(7) that the test names.
 */
#include "cmds/slurm_commands/acctfields.h"

#include <inttypes.h>
#include <string.h>

#include "cmds/cli/parse_time.h"
#include "cmds/slurm_commands/jobfields.h"
#include "cmds/slurm_commands/program_table.h"
#include "cmds/slurm_commands/slurm_command_line.h"
#include "cmds/slurm_commands/state_codes.h"
#include "cmds/slurm_commands/value_formats.h"

#define SECOND 1000000

static char unit;

void acct_fields_units(char u)
{
	unit = u;
}

/* --- what several fields need ---------------------------------------------------------------- */

static bool waits(const Gpusched__Acct *j)
{
	return !strcmp(j->state, "PENDING");
}

static uint32_t nodes_of(const Gpusched__Acct *j)
{
	return j->n_nodes ? j->n_nodes : 1;
}

static uint64_t cpus_of(const Gpusched__Acct *j)
{
	return (uint64_t)(j->cpus ? j->cpus : 1) * nodes_of(j);
}

static uint32_t gpus_of(const Gpusched__Acct *j)
{
	uint32_t n = 0;

	for (size_t i = 0; i < j->n_gpus; i++)
		n += j->gpus[i]->count;
	return n;
}

/* "100M"; in --units G "0.10G". */
static void memory_text(char *buf, size_t size, double kb)
{
	static const char units[] = "KMGTP";
	const char *at = strchr(units, unit ? unit : 'K');
	struct view_cell cell;
	double value = kb;

	if (!unit && (uint64_t)kb % 1024 == 0) {
		slurm_memory(&cell, (uint64_t)kb / 1024);
		snprintf(buf, size, "%s", cell.text);
		return;
	}
	for (const char *u = units; at && u < at; u++)
		value /= 1024;
	snprintf(buf, size, unit && unit != 'K' ? "%.2f%c" : "%.0f%c", value, unit ? unit : 'K');
}

/* By their names, as sacct has them. */
static void tres(struct view_cell *cell, const Gpusched__Acct *j, uint32_t gpus, bool billing)
{
	char mem[32], bill[40] = "", gres[32] = "";

	memory_text(mem, sizeof(mem), (double)j->mem_mb * nodes_of(j) * 1024);
	if (billing)
		snprintf(bill, sizeof(bill), "billing=%" PRIu64 ",", cpus_of(j));
	if (gpus)
		snprintf(gres, sizeof(gres), "gres/gpu=%" PRIu32 ",", gpus);
	view_printf(cell, "%scpu=%" PRIu64 ",%s%s%s%snode=%" PRIu32, bill, cpus_of(j), gres,
	        j->mem_mb ? "mem=" : "", j->mem_mb ? mem : "", j->mem_mb ? "," : "", nodes_of(j));
}

/* "01:02:03", "2-01:02:03"; under a minute that is no whole number of seconds "00:07.250". */
static void cpu_clock(struct view_cell *cell, uint64_t us)
{
	uint64_t s = us / SECOND, ms = us / 1000 % 1000;

	if (s >= 3600 || !ms)
		slurm_clock(cell, s);
	else
		view_printf(cell, "%02" PRIu64 ":%02" PRIu64 ".%03" PRIu64, s / 60, s % 60, ms);
}

/* --- fields ---------------------------------------------------------------------------------- */

#define LINE                                                           \
	const struct acct_line *line __attribute__((unused)) = object; \
	const Gpusched__Acct *j __attribute__((unused)) = line->job
/* What a step has not. */
#define JOB_ONLY         \
	LINE;            \
	if (line->batch) \
	return

#define SHOW_TEXT(name, field, none) \
	CELL(name, JOB_ONLY, view_text(cell, *j->field ? j->field : none))
#define SHOW_BOTH(name, field, none) CELL(name, LINE, view_text(cell, *j->field ? j->field : none))
#define SHOW_NUMBER(name, value) CELL(name, LINE, view_number(cell, (int64_t)value))
#define SHOW_TIME(name, value) CELL(name, LINE, slurm_time(cell, value, "Unknown"))

SHOW_TEXT(account, account, "")
SHOW_TEXT(comment, remark, "")
SHOW_TEXT(partition, partition, "")
SHOW_TEXT(qos, qos, "normal")
SHOW_TEXT(user, user, "")
SHOW_TEXT(cwd, cwd, "")
SHOW_BOTH(nodes_list, nodes, "None assigned")
SHOW_NUMBER(cpus, cpus_of(j))
SHOW_NUMBER(nodes, nodes_of(j))
SHOW_NUMBER(elapsed_raw, (waits(j) ? 0 : j->elapsed_s))
SHOW_NUMBER(cpu_time_raw, (waits(j) ? 0 : j->elapsed_s * cpus_of(j)))
SHOW_TIME(submit, (line->batch && j->start_time ? j->start_time : j->submit_time))

/* Of records from before it was kept: when it was submitted. */
static int64_t eligible_of(const Gpusched__Acct *j)
{
	return j->eligible_time ? j->eligible_time : waits(j) ? 0 : j->submit_time;
}

SHOW_TIME(eligible, (line->batch && j->start_time ? j->start_time : eligible_of(j)))
SHOW_TIME(start, (waits(j) ? 0 : j->start_time))
SHOW_TIME(end, j->end_time)

static void add_step(char *buf, size_t size, const struct acct_line *line)
{
	size_t n = strlen(buf);

	if (line->step)
		snprintf(buf + n, size - n, ".%" PRIu32, line->step->step);
	else if (line->batch)
		snprintf(buf + n, size - n, ".batch");
}

SHOW(id)
{
	LINE;

	job_id_text(
	        cell->buf, sizeof(cell->buf) - 8, j->id, j->tasks, j->several, j->array_throttle);
	add_step(cell->buf, sizeof(cell->buf), line);
	cell->text = cell->buf;
}

SHOW(raw_id)
{
	LINE;
	view_printf(cell, "%" PRIu64, j->raw_id ? j->raw_id : j->id);
	add_step(cell->buf, sizeof(cell->buf), line);
}

CELL(name, LINE, view_text(cell, line->batch && !line->step ? "batch" : j->name))
CELL(state, LINE, view_text(cell, slurm_base_state(j->state)))
CELL(uid, JOB_ONLY, view_number(cell, j->uid))
CELL(gid, JOB_ONLY, view_number(cell, slurm_gid(j->uid)))
CELL(group, JOB_ONLY, view_text(cell, slurm_group(j->uid)))
CELL(req_nodes, LINE, view_number(cell, line->batch && !line->step ? 1 : nodes_of(j)))
CELL(alloc_nodes, LINE, view_number(cell, waits(j) ? 0 : nodes_of(j)))

SHOW(tasks)
{
	LINE;
	if (line->batch)
		view_number(cell, line->step ? line->step->tasks : 1);
}

/* How the job ended if something else than its script decided is told by its state. */
SHOW(exit)
{
	LINE;
	bool forced = !strcmp(j->state, "TIMEOUT") || !strcmp(j->state, "CANCELLED") ||
	              !strcmp(j->state, "PREEMPTED") || !strcmp(j->state, "DEADLINE");
	struct slurm_exit ended = slurm_exit(j->state, j->exit_code, j->exit_signal);

	if (forced && !line->batch)
		view_text(cell, "0:0");
	else
		view_printf(cell, "%" PRIu32 ":%" PRIu32, ended.code, ended.signal);
}

SHOW(derived_exit)
{
	LINE;
	if (!line->batch)
		show_exit(object, cell);
}

CELL(elapsed, LINE, slurm_clock(cell, waits(j) ? 0 : j->elapsed_s))
CELL(cpu_time, LINE, slurm_clock(cell, waits(j) ? 0 : j->elapsed_s * cpus_of(j)))
CELL(total_cpu, LINE, cpu_clock(cell, j->cpu_time_us))

SHOW(max_rss)
{
	LINE;

	if (!line->batch || !j->max_rss_kb)
		return;
	if (unit)
		memory_text(cell->buf, sizeof(cell->buf), (double)j->max_rss_kb);
	else
		snprintf(cell->buf, sizeof(cell->buf), "%" PRIu64 "K", j->max_rss_kb);
	cell->text = cell->buf;
}

SHOW(max_rss_node)
{
	LINE;
	if (line->batch && j->max_rss_kb)
		view_printf(cell, "%.*s", (int)strcspn(j->nodes, ",["),
		        j->n_nodes == 1 ? j->nodes : "");
}

static void show_bytes(uint64_t bytes, bool known, struct view_cell *cell)
{
	if (known)
		view_printf(cell, "%.2fM", (double)bytes / (1 << 20));
}

CELL(disk_read, LINE, show_bytes(j->used ? j->used->read_bytes : 0, line->batch && j->used, cell))
CELL(disk_write, LINE,
        show_bytes(j->used ? j->used->written_bytes : 0, line->batch && j->used, cell))
CELL(energy, LINE, view_number(cell, j->used ? (int64_t)(j->used->energy_mj / 1000) : 0))

SHOW(req_mem)
{
	JOB_ONLY;
	memory_text(cell->buf, sizeof(cell->buf), (double)j->mem_mb * 1024);
	cell->text = cell->buf;
}

/* Of GPUs with alternatives the first: "h100:2|l40s:4". */
static uint32_t asked_gpus(const Gpusched__Acct *j)
{
	const char *colon = strchr(j->asked_gpus, ':');
	unsigned n = 0;

	if (!*j->asked_gpus || sscanf(colon ? colon + 1 : j->asked_gpus, "%u", &n) != 1)
		return gpus_of(j);
	return n;
}

CELL(req_tres, JOB_ONLY, tres(cell, j, asked_gpus(j), true))

SHOW(alloc_tres)
{
	LINE;
	if (!waits(j))
		tres(cell, j, gpus_of(j), !line->batch);
}

/* From its submit to its first start, or until now. */
static uint64_t reserved_s(const Gpusched__Acct *j)
{
	int64_t now = parse_time_now();

	if (j->first_start_time)
		return j->wait_s;
	return waits(j) && now > j->submit_time ? (uint64_t)(now - j->submit_time) / SECOND : 0;
}

CELL(reserved, JOB_ONLY, slurm_clock(cell, reserved_s(j)))
CELL(resv_cpu, JOB_ONLY, slurm_clock(cell, reserved_s(j) * cpus_of(j)))
CELL(resv_cpu_raw, JOB_ONLY, view_number(cell, (int64_t)(reserved_s(j) * cpus_of(j))))
CELL(suspended, LINE, slurm_clock(cell, j->suspended_us / SECOND))

CELL(limit, JOB_ONLY, slurm_limit(cell, j->time_limit_s, "UNLIMITED"))

/* In minutes. */
SHOW(limit_raw)
{
	JOB_ONLY;

	slurm_limit(cell, j->time_limit_s, "UNLIMITED");
	if (cell->is_number)
		view_number(cell, j->time_limit_s / 60);
}

#define NOT_KNOWN(name, heading, width, value) \
	SLURM_CMD_FIELD(0, name, heading, width, value, NULL, 0)
#define FIELD(name, heading, width, show) \
	SLURM_CMD_FIELD(0, name, heading, width, NULL, show_##show, 0)
#define DIFFERS(name, heading, width, show, text) \
	SLURM_CMD_FIELD(0, name, heading, width, text, show_##show, 0)
#define EMPTY(name, width) NOT_KNOWN(name, name, width, "")

static const struct slurm_cmd_field fields[] = {
	FIELD("Account", "Account", 10, account),
	EMPTY("AdminComment", 15),
	FIELD("AllocCPUS", "AllocCPUS", 10, cpus),
	FIELD("AllocNodes", "AllocNodes", 10, alloc_nodes),
	FIELD("AllocTRES", "AllocTRES", 10, alloc_tres),
	NOT_KNOWN("AssocID", "AssocID", 7, "0"),
	EMPTY("AveCPU", 10),
	EMPTY("AveCPUFreq", 10),
	EMPTY("AveDiskRead", 14),
	EMPTY("AveDiskWrite", 14),
	EMPTY("AvePages", 10),
	EMPTY("AveRSS", 10),
	EMPTY("AveVMSize", 10),
	EMPTY("BlockID", 16),
	SLURM_CMD_FIELD(0, "Cluster", "Cluster", 10, NULL, slurm_cmd_show_cluster, 0),
	FIELD("Comment", "Comment", 14, comment),
	EMPTY("Constraints", 19),
	DIFFERS("ConsumedEnergy", "ConsumedEnergy", 14, energy, "of its GPUs, in joules"),
	DIFFERS("ConsumedEnergyRaw", "ConsumedEnergyRaw", 17, energy, "of its GPUs, in joules"),
	EMPTY("Container", 19),
	FIELD("CPUTime", "CPUTime", 10, cpu_time),
	FIELD("CPUTimeRAW", "CPUTimeRAW", 10, cpu_time_raw),
	DIFFERS("DBIndex", "DBIndex", 10, raw_id, "as JobIDRaw"),
	FIELD("DerivedExitCode", "DerivedExitCode", 15, derived_exit),
	FIELD("Elapsed", "Elapsed", 10, elapsed),
	FIELD("ElapsedRaw", "ElapsedRaw", 10, elapsed_raw),
	DIFFERS("Eligible", "Eligible", 19, eligible,
	        "when it last became eligible before its first start"),
	FIELD("End", "End", 19, end),
	FIELD("ExitCode", "ExitCode", 8, exit),
	EMPTY("Flags", 19),
	FIELD("GID", "GID", 6, gid),
	FIELD("Group", "Group", 9, group),
	FIELD("JobID", "JobID", -12, id),
	FIELD("JobIDRaw", "JobIDRaw", -12, raw_id),
	FIELD("JobName", "JobName", 10, name),
	EMPTY("Layout", 9),
	FIELD("MaxDiskRead", "MaxDiskRead", 12, disk_read),
	EMPTY("MaxDiskReadNode", 15),
	EMPTY("MaxDiskReadTask", 15),
	FIELD("MaxDiskWrite", "MaxDiskWrite", 12, disk_write),
	EMPTY("MaxDiskWriteNode", 16),
	EMPTY("MaxDiskWriteTask", 16),
	EMPTY("MaxPages", 8),
	EMPTY("MaxPagesNode", 12),
	EMPTY("MaxPagesTask", 14),
	FIELD("MaxRSS", "MaxRSS", 10, max_rss),
	FIELD("MaxRSSNode", "MaxRSSNode", 10, max_rss_node),
	EMPTY("MaxRSSTask", 10),
	EMPTY("MaxVMSize", 10),
	EMPTY("MaxVMSizeNode", 14),
	EMPTY("MaxVMSizeTask", 14),
	EMPTY("McsLabel", 12),
	EMPTY("MinCPU", 10),
	EMPTY("MinCPUNode", 10),
	EMPTY("MinCPUTask", 10),
	FIELD("NCPUS", "NCPUS", 10, cpus),
	FIELD("NNodes", "NNodes", 8, nodes),
	FIELD("NodeList", "NodeList", 15, nodes_list),
	FIELD("NTasks", "NTasks", 8, tasks),
	FIELD("Partition", "Partition", 10, partition),
	EMPTY("Priority", 10),
	FIELD("QOS", "QOS", 10, qos),
	EMPTY("QOSRAW", 6),
	NOT_KNOWN("Reason", "Reason", 22, "None"),
	NOT_KNOWN("ReqCPUFreq", "ReqCPUFreq", 10, "Unknown"),
	NOT_KNOWN("ReqCPUFreqGov", "ReqCPUFreqGov", 13, "Unknown"),
	NOT_KNOWN("ReqCPUFreqMax", "ReqCPUFreqMax", 13, "Unknown"),
	NOT_KNOWN("ReqCPUFreqMin", "ReqCPUFreqMin", 13, "Unknown"),
	FIELD("ReqCPUS", "ReqCPUS", 8, cpus),
	FIELD("ReqMem", "ReqMem", 10, req_mem),
	FIELD("ReqNodes", "ReqNodes", 8, req_nodes),
	FIELD("ReqTRES", "ReqTRES", 10, req_tres),
	EMPTY("Reservation", 20),
	EMPTY("ReservationId", 8),
	FIELD("Reserved", "Reserved", 10, reserved),
	FIELD("ResvCPU", "ResvCPU", 10, resv_cpu),
	FIELD("ResvCPURAW", "ResvCPURAW", 10, resv_cpu_raw),
	FIELD("Start", "Start", 19, start),
	DIFFERS("State", "State", 10, state, "CANCELLED, without the user that did it"),
	FIELD("Submit", "Submit", 19, submit),
	EMPTY("SubmitLine", 20),
	FIELD("Suspended", "Suspended", 10, suspended),
	EMPTY("SystemComment", 15),
	NOT_KNOWN("SystemCPU", "SystemCPU", 10, "00:00:00"),
	FIELD("Timelimit", "Timelimit", 10, limit),
	FIELD("TimelimitRaw", "TimelimitRaw", 10, limit_raw),
	FIELD("TotalCPU", "TotalCPU", 10, total_cpu),
	EMPTY("TRESUsageInAve", 14),
	EMPTY("TRESUsageInMax", 14),
	EMPTY("TRESUsageInMaxNode", 18),
	EMPTY("TRESUsageInMaxTask", 18),
	EMPTY("TRESUsageInMin", 14),
	EMPTY("TRESUsageInMinNode", 18),
	EMPTY("TRESUsageInMinTask", 18),
	EMPTY("TRESUsageInTot", 14),
	EMPTY("TRESUsageOutAve", 15),
	EMPTY("TRESUsageOutMax", 15),
	EMPTY("TRESUsageOutMaxNode", 19),
	EMPTY("TRESUsageOutMaxTask", 19),
	EMPTY("TRESUsageOutMin", 15),
	EMPTY("TRESUsageOutMinNode", 19),
	EMPTY("TRESUsageOutMinTask", 19),
	EMPTY("TRESUsageOutTot", 15),
	FIELD("UID", "UID", 6, uid),
	FIELD("User", "User", 9, user),
	DIFFERS("UserCPU", "UserCPU", 10, total_cpu, "as TotalCPU"),
	EMPTY("WCKey", 10),
	EMPTY("WCKeyID", 10),
	FIELD("WorkDir", "WorkDir", 20, cwd),
};

SLURM_CMD_TABLE(field, sacct_fields, fields)
