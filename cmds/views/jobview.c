/* jobview.c - the columns of a listing of jobs
 *
 * To add one: a show function, a row, a line in man/gqueue.1.
 */
#include "cmds/views/views.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "cmds/api/gpus.h"
#include "common/base/number_list.h"
#include "common/base/text.h"
#include "common/base/units.h"
#include "common/job/reason.h"

static const struct job_state states[] = {
	{ "PENDING", "PD", TABLE_WARN, false },
	{ "CONFIGURING", "CF", TABLE_GOOD, false },
	{ "RUNNING", "R", TABLE_GOOD, false },
	{ "SUSPENDED", "S", TABLE_WARN, false },
	{ "COMPLETING", "CG", TABLE_GOOD, false },
	{ "COMPLETED", "CD", TABLE_PLAIN, true },
	{ "FAILED", "F", TABLE_BAD, true },
	{ "CANCELLED", "CA", TABLE_DIM, true },
	{ "TIMEOUT", "TO", TABLE_BAD, true },
	{ "NODE_FAIL", "NF", TABLE_BAD, true },
	{ "PREEMPTED", "PR", TABLE_WARN, true },
	{ "OUT_OF_MEMORY", "OOM", TABLE_BAD, true },
	{ "DEADLINE", "DL", TABLE_BAD, true },
};
#define N_STATES (sizeof(states) / sizeof(states[0]))

const struct job_state *job_state(const char *name)
{
	for (size_t i = 0; i < N_STATES; i++)
		if (!strcasecmp(states[i].name, name) || !strcasecmp(states[i].code, name))
			return &states[i];
	return NULL;
}

void view_job_state(struct view_cell *cell, const char *name)
{
	const struct job_state *s = job_state(name);

	view_text(cell, name);
	cell->colour = s ? s->colour : TABLE_PLAIN;
}

void view_gpus(struct view_cell *cell, Gpusched__GpuCount *const *v, size_t n)
{
	view_text(cell, n ? gpus_format(cell->buf, sizeof(cell->buf), v, n) : "-");
}

static bool is_pending(const Gpusched__Job *j)
{
	return !strcmp(j->state, "PENDING");
}

int view_print_label(char *buf, size_t size, size_t i, const void *labels)
{
	const Gpusched__KeyValue *label = ((Gpusched__KeyValue *const *)labels)[i];

	return snprintf(buf, size, "%s=%s", label->key, label->value);
}

/* --- columns -------------------------------------------------------------------------------- */

#define JOB const Gpusched__Job *j = object
#define FIELD(name, width, min, flags, help, how, member) \
	VIEW_FIELD(name, width, min, flags, help, how, NULL, Gpusched__Job, member)

CELL(id, JOB, view_job(cell, j->id, j->tasks, j->several))
CELL(raw_id, JOB, view_number(cell, (int64_t)(j->raw_id ? j->raw_id : j->id)))

CELL(state, JOB, view_job_state(cell, j->state))

SHOW(code)
{
	JOB;
	const struct job_state *s = job_state(j->state);

	view_job_state(cell, j->state);
	view_text(cell, s ? s->code : j->state);
}

SHOW(left)
{
	JOB;
	uint64_t limit = j->time_limit_s;

	if (j->end_time)
		return;
	if (!limit || limit == UINT32_MAX)
		view_duration(cell, DURATION_FOREVER);
	else
		view_duration(cell, limit > j->elapsed_s ? limit - j->elapsed_s : 0);
}

/* The GPUs that the job holds, or asks for. */
SHOW(gpus)
{
	JOB;
	char share[UNITS_TEXT];

	if (!is_pending(j) && j->gpus_held)
		view_printf(
		        cell, "%s:%" PRIu32, j->gpu_type[0] ? j->gpu_type : "any", j->gpus_held);
	else
		view_gpus(cell, j->gpus, j->n_gpus);
	if (cell->text == cell->buf && *share_format(share, j->gpu_mem_mb, j->gpu_share_milli))
		view_item(cell, "/", "%s", share);
}

/* Of each of them: "20G", "20G,25%, up to 30G" */
SHOW(gpu_share)
{
	JOB;
	char share[UNITS_TEXT], most[UNITS_TEXT];

	if (!*share_format(share, j->gpu_mem_mb, j->gpu_share_milli))
		view_text(cell, "-");
	else if (j->gpu_mem_burst_mb)
		view_printf(cell, "%s, up to %s", share, size_format_mb(most, j->gpu_mem_burst_mb));
	else
		view_printf(cell, "%s", share);
}

static int print_index(char *buf, size_t size, size_t i, const void *indices)
{
	return snprintf(buf, size, "%" PRIu32, ((const uint32_t *)indices)[i]);
}

/* Of several nodes each has its own: `gctl show job` says them. */
CELL(gpu_ids, JOB,
        view_list(cell, j->n_nodes < 2 ? j->n_gpu_indices : 0, j->gpu_indices, print_index))
CELL(node, JOB, view_text(cell, is_pending(j) ? "" : j->nodes))

/* NODELIST(REASON): where it runs or ran, else why it does not; "n1 (NodeUnknown)" where something
 * is the matter there. */
SHOW(where)
{
	JOB;

	if (j->nodes[0] && !is_pending(j) && j->reason[0] && !j->end_time)
		view_printf(cell, "%s (%s)", j->nodes, j->reason);
	else if (j->nodes[0] && !is_pending(j))
		view_text(cell, j->nodes);
	else if (j->reason[0] && j->n_blockers > 1)
		view_printf(cell, "(%s +%" PRIu32 ")", j->reason, j->n_blockers - 1);
	else if (j->reason[0])
		view_printf(cell, "(%s)", j->reason);
}

/* "AssocGrpGRES +2": the first, and how many more. */
SHOW(reason)
{
	JOB;

	if (j->n_blockers > 1)
		view_printf(cell, "%s +%" PRIu32, j->reason, j->n_blockers - 1);
	else
		view_text(cell, j->reason);
}

/* Jobs with a start stand before jobs without one. */
SHOW(start)
{
	JOB;

	view_time(cell, is_pending(j) ? j->planned_start_time : j->start_time);
	if (!cell->number)
		cell->number = INT64_MAX;
}

/* "2", "2-8": that it has, or asks for. */
SHOW(nodes)
{
	JOB;
	uint32_t n = is_pending(j) || !j->n_nodes ? j->nodes_min : j->n_nodes;

	if (is_pending(j) && j->nodes_max > j->nodes_min)
		view_printf(cell, "%" PRIu32 "-%" PRIu32, j->nodes_min, j->nodes_max);
	else
		view_number(cell, n);
}

SHOW(cost)
{
	JOB;

	if (j->cost_unlimited)
		view_text(cell, "unlimited");
	else if (j->cost_max > 0)
		view_printf(cell, "%.2f", j->cost_max);
	else
		view_text(cell, "-");
}

CELL(exit, JOB, view_printf(cell, "%" PRIu32 ":%" PRIu32, j->exit_code, j->exit_signal))
CELL(requeue, JOB, view_text(cell, j->requeue ? "yes" : "no"))
CELL(show_output, JOB, view_text(cell, j->show_output ? "yes" : "no"))
CELL(labels, JOB, view_list(cell, j->n_labels, j->labels, view_print_label))

static const struct view_column columns[] = {
	COLUMN("JOBID", 7, 0, NUM,
	        "the job's id; of an array the task, or in brackets those that wait", id),
	COLUMN("RAWID", 7, 0, NUM, "of an array's task its own id; else the id", raw_id),
	FIELD("ARRAY", 10, 6, 0, "the tasks of the array, as submitted", TEXT_OR_DASH, array),
	FIELD("TASKS", 10, 6, 0, "the tasks in this line", TEXT_OR_DASH, tasks),
	FIELD("PARTITION", 9, 5, 0, "partition", TEXT, partition),
	FIELD("NAME", 10, 5, 0, "name", TEXT, name),
	FIELD("USER", 8, 4, 0, "owner", TEXT, user),
	COLUMN("ST", 2, 0, TABLE_WHOLE, "state, short: PD R CG CD F CA TO NF ...", code),
	COLUMN("STATE", 11, 4, 0, "state: PENDING RUNNING COMPLETED FAILED ...", state),
	FIELD("TIME", 11, 7, NUM, "time it has run, without suspensions", DURATION, elapsed_s),
	COLUMN("GPUS", 8, 4, TABLE_DEAR, "GPUs that it holds or asks for", gpus),
	COLUMN("GPU-SHARE", 16, 9, 0, "of each GPU, where it asks for a part", gpu_share),
	COLUMN("NODELIST(REASON)", 0, 8, 0, "its nodes, or why it waits", where),
	COLUMN("NODE", 10, 4, 0, "its nodes", node),
	COLUMN("REASON", 16, 6, 0,
	        "why it waits, or how it ended; +N: so many reasons more", reason),
	FIELD("WHY", 0, 20, 0, "the same in words, with numbers", TEXT, reason_text),
	FIELD("ACCOUNT", 10, 5, 0, "account", TEXT, account),
	FIELD("QOS", 10, 4, 0, "quality of service", TEXT, qos),
	FIELD("UID", 7, 0, NUM, "its owner's number", NUMBER, uid),
	COLUMN("NODES", 5, 0, NUM, "how many nodes it has or asks for", nodes),
	FIELD("CPUS", 4, 0, NUM, "CPUs on each node", NUMBER, cpus),
	FIELD("MEM", 5, 0, NUM, "host memory on each node", SIZE_MB, mem_mb),
	FIELD("TIMELIMIT", 10, 0, NUM, "time limit", LIMIT, time_limit_s),
	COLUMN("LEFT", 10, 0, NUM, "time until its limit", left),
	FIELD("SUBMIT", 19, 0, TABLE_WHOLE, "when it was submitted", TIME, submit_time),
	COLUMN("START", 19, 0, TABLE_WHOLE,
	        "when it started last, or is planned to start at the latest", start),
	FIELD("SCHEDNODES", 12, 6, 0, "where it is planned to start", TEXT_OR_DASH, planned_nodes),
	FIELD("POS", 4, 0, NUM, "its position among the waiting jobs of its partition",
	        NUMBER_OR_DASH, position),
	FIELD("END", 19, 0, TABLE_WHOLE, "when it ended", TIME, end_time),
	FIELD("PROGRESS", 16, 6, 0, "progress, as the job reports it", TEXT_OR_DASH, progress),
	FIELD("SUSPENDED", 11, 7, NUM, "for how long it was suspended",
	        DURATION_OR_DASH, suspended_s),
	FIELD("CHECKPOINT", 19, 0, TABLE_WHOLE, "time of the last checkpoint",
	        TIME, checkpoint_time),
	FIELD("REMARK", 16, 6, 0, "the owner's remark: --comment", TEXT, remark),
	FIELD("MAILTYPE", 12, 6, 0, "events that cause mail", TEXT, mail_type),
	FIELD("MAILUSER", 16, 6, 0, "address of the mail, if not the owner's", TEXT, mail_user),
	FIELD("REQUEUEON", 16, 6, 0, "ends after which it is requeued", TEXT, requeue_on),
	FIELD("BEGIN", 19, 0, TABLE_WHOLE, "it starts no earlier", TIME, begin_time),
	FIELD("DEADLINE", 19, 0, TABLE_WHOLE, "latest end", TIME, deadline_time),
	FIELD("DEPENDENCY", 20, 6, 0, "what it still waits for, of other jobs",
	        TEXT_OR_DASH, dependency),
	COLUMN("COST", 9, 0, NUM, "what it costs at most, by the configured prices", cost),
	FIELD("MAXWAIT", 8, 0, NUM, "should start within this time", DURATION_OR_DASH, max_wait_s),
	FIELD("CONSTRAINT", 12, 6, 0, "features that its nodes must have", TEXT, constraint),
	FIELD("LICENCES", 12, 6, 0, "licences that it holds while it runs", TEXT, licences),
	COLUMN("EXIT", 5, 0, NUM, "exit code:signal", exit),
	COLUMN("GPUIDS", 8, 0, TABLE_WHOLE, "which GPUs of its node", gpu_ids),
	FIELD("ATTEMPT", 7, 0, NUM, "how often it was started", NUMBER, attempt),
	FIELD("PRIORITY", 8, 0, NUM, "priority", NUMBER, priority),
	FIELD("NICE", 5, 0, NUM, "niceness that it was given", NUMBER, nice),
	COLUMN("REQUEUE", 7, 0, 0, "run again if its node fails: yes, no", requeue),
	COLUMN("SHOWN", 5, 0, 0, "gweb may show its owner the end of its output: yes, no", show_output),
	FIELD("STEPS", 5, 0, NUM, "how many of its steps run", NUMBER_OR_NONE, steps_running),
	COLUMN("LABELS", 16, 6, 0, "labels", labels),
	FIELD("WORKDIR", 24, 8, 0, "where it runs", TEXT, cwd),
	FIELD("STDOUT", 24, 8, 0, "file of its standard output", TEXT, output),
	FIELD("STDERR", 24, 8, 0, "file of its standard error", TEXT, error),
	FIELD("HOST", 10, 4, 0, "where it was submitted", TEXT, submit_host),
	FIELD("COMMENT", 0, 10, 0, "why it was held or ended, and by which user", TEXT, comment),
};

/* Waiting jobs stand first, the next to start on top; then started jobs, the latest on top. */
static void rank(const void *object, int64_t key[VIEW_RANK])
{
	JOB;

	key[0] = is_pending(j) ? 0 : 1;
	key[1] = is_pending(j) ? (j->order ? j->order : INT64_MAX) : 0;
	key[2] = is_pending(j) ? -j->priority : 0;
	key[3] = is_pending(j) ? (int64_t)j->id : -(int64_t)j->id;
}

/* squeue's -o and -O. */
static const struct slurm_name slurm_names[] = {
	{ "i", "JOBID" }, { "A", "RAWID" }, { "P", "PARTITION" }, { "j", "NAME" },
	{ "u", "USER" }, { "U", "UID" }, { "a", "ACCOUNT" }, { "q", "QOS" }, { "t", "ST" },
	{ "T", "STATE" }, { "M", "TIME" }, { "l", "TIMELIMIT" }, { "L", "LEFT" },
	{ "D", "NODES" }, { "C", "CPUS" }, { "m", "MEM" }, { "b", "GPUS" },
	{ "R", "NODELIST(REASON)" }, { "N", "NODE" }, { "r", "REASON" }, { "Q", "PRIORITY" },
	{ "p", "PRIORITY" }, { "y", "NICE" }, { "V", "SUBMIT" }, { "S", "START" },
	{ "e", "END" }, { "E", "DEPENDENCY" }, { "f", "CONSTRAINT" }, { "W", "LICENCES" },
	{ "Y", "SCHEDNODES" }, { "k", "REMARK" }, { "Z", "WORKDIR" }, { "JobArrayID", "JOBID" },
	{ "JobName", "NAME" }, { "UserName", "USER" }, { "StateCompact", "ST" },
	{ "TimeUsed", "TIME" }, { "TimeLeft", "LEFT" }, { "NumNodes", "NODES" },
	{ "NumCPUs", "CPUS" }, { "MinMemory", "MEM" }, { "ReasonList", "NODELIST(REASON)" },
	{ "SubmitTime", "SUBMIT" }, { "StartTime", "START" }, { "EndTime", "END" },
	{ "PriorityLong", "PRIORITY" }, { "Licenses", "LICENCES" }, { "Feature", "CONSTRAINT" },
	{ "exit_code", "EXIT" }, { NULL, NULL },
};

const struct view_kind job_kind = {
	VIEW_COLUMNS(columns),
	.standard = "JOBID,PARTITION,NAME,USER,ST,TIME,GPUS,NODELIST(REASON)",
	.longer = "JOBID,PARTITION,NAME,USER,STATE,TIME,TIMELIMIT,CPUS,MEM,GPUS,NODELIST(REASON)",
	.rank = rank,
	.slurm = slurm_names,
};

/* --- runs ----------------------------------------------------------------------------------- */

/* "running", "ended 0:0", "ended 7:0 (peer)" */
static const char *run_state(const Gpusched__JobRun *run, char *text, size_t size)
{
	const ProtobufCEnumValue *cause =
	        protobuf_c_enum_descriptor_get_value(&gpusched__end_cause__descriptor, run->cause);
	bool told = run->cause > GPUSCHED__END_CAUSE__CAUSE_EXIT && cause;
	size_t n;

	if (!strcmp(run->state, "ENDED"))
		snprintf(text, size, "%s %" PRIu32 ":%" PRIu32 "%s%s", run->state, run->exit_code,
		        run->exit_signal, told ? " " : "",
		        told ? cause->name + strlen("CAUSE_") : "");
	else
		snprintf(text, size, "%s", run->state);
	for (n = 0; text[n]; n++)
		text[n] = text[n] == '_' ? '-' : (char)tolower((unsigned char)text[n]);
	return text;
}

#define MJ_WH 3600000 /* mJ in a Wh */

/* "compute 91% (now 88%), idle 3% of the time, GPU memory 61G, 812.4 Wh, " */
static void print_used_gpus(const Gpusched__JobRun *run, FILE *out)
{
	const Gpusched__RunUsed *u = run->used;
	double wh = (double)u->energy_mj / MJ_WH;
	char mem[UNITS_TEXT];

	if (u->gpu_seen_us) {
		fprintf(out, "compute %.0f%%",
		        100 * (double)u->gpu_busy_us / (double)u->gpu_seen_us);
		if (strcmp(run->state, "RUNNING") == 0)
			fprintf(out, " (now %" PRIu32 "%%)", u->gpu_now_pct);
		fprintf(out, ", idle %.0f%% of the time, ",
		        100 * (double)u->gpu_idle_us / (double)u->gpu_seen_us);
	}
	if (u->gpu_mem_peak_mb)
		fprintf(out, "GPU memory %s, ", size_format_mb(mem, u->gpu_mem_peak_mb));
	if (u->energy_mj)
		fprintf(out, wh < 1000 ? "%.1f Wh, " : "%.0f Wh, ", wh);
}

static void print_io(const char *what, uint64_t bytes, FILE *out)
{
	char mb[UNITS_TEXT];

	if (bytes)
		fprintf(out, ", %s %s", what, size_format_mb(mb, (bytes + (1 << 20) - 1) >> 20));
}

/* "compute 91%, idle 3% of the time, GPU memory 61G, 812.4 Wh, CPU time 13:39:00, memory 120G, read
 * 7G, written 1G" */
static void print_used(const Gpusched__Job *j, const Gpusched__JobRun *run, FILE *out)
{
	const Gpusched__RunUsed *u = run->used;
	char time[UNITS_TEXT], mem[UNITS_TEXT], rank[24];

	if (!u || !(u->cpu_time_us || u->mem_peak_mb || u->gpu_seen_us))
		return;
	if (j->n_runs > 1)
		snprintf(rank, sizeof(rank), "USED %" PRIu32, run->rank);
	fprintf(out, "%-16s  ", j->n_runs > 1 ? rank : "USED");
	print_used_gpus(run, out);
	fprintf(out, "CPU time %s, memory %s",
	        duration_format(time, (u->cpu_time_us + 500000) / 1000000),
	        size_format_mb(mem, u->mem_peak_mb));
	print_io("read", u->read_bytes, out);
	print_io("written", u->written_bytes, out);
	fputc('\n', out);
}

/* Of a run alone, while it runs; how it ended the job says. */
static void print_note(const Gpusched__Job *j, FILE *out)
{
	char *note;

	if (j->n_runs != 1 || !*j->runs[0]->detail || strcmp(j->runs[0]->state, "RUNNING") != 0)
		return;
	note = text_escape_dup(j->runs[0]->detail);
	fprintf(out, "%-16s  %s\n", "NOTE", note);
	free(note);
}

bool job_is_reserve(const Gpusched__Job *j)
{
	return !strcmp(j->reason, reason_word(REASON_NOT_WANTED));
}

void job_print_runs(const Gpusched__Job *j, FILE *out)
{
	for (size_t i = 0; i < j->n_runs; i++)
		print_used(j, j->runs[i], out);
	print_note(j, out);
	for (size_t i = 0; j->n_runs > 1 && i < j->n_runs; i++) {
		const Gpusched__JobRun *run = j->runs[i];
		char rank[24], state[80], numbers[NUMBERS_TEXT];
		char *detail = text_escape_dup(run->detail);

		snprintf(rank, sizeof(rank), "RANK %" PRIu32, run->rank);
		fprintf(out, "%-16s  %s: %s", rank, run->node,
		        run_state(run, state, sizeof(state)));
		if (run->n_gpus)
			fprintf(out, ", GPUs %s",
			        numbers_format(numbers, sizeof(numbers), run->gpus, run->n_gpus));
		fprintf(out, "%s%s\n", *detail ? ", " : "", detail);
		free(detail);
	}
}
