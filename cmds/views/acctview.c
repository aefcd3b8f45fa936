/* acctview.c - the columns of gacct: jobs, runs, and their totals
 *
 * To add one: a show function, a row, a line in man/gacct.1.
 */
#include "cmds/views/acctview.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cmds/api/gpus.h"
#include "cmds/views/views.h"
#include "common/base/taskset.h"
#include "common/base/units.h"

#define NUM TABLE_RIGHT | TABLE_WHOLE

#define SHOW(name) static void show_##name(const void *object, struct view_cell *cell)
#define JOB        const Gpusched__Acct *j = object

/* What a line of totals does not add up it leaves empty. */
#define ONE_JOB     \
	JOB;        \
	if (!j->id) \
	return

#define SHOW_TEXT(name, field)             \
	SHOW(name)                         \
	{                                  \
		ONE_JOB;                   \
		view_text(cell, j->field); \
	}
#define SHOW_NUMBER(name, field)                      \
	SHOW(name)                                    \
	{                                             \
		ONE_JOB;                              \
		view_number(cell, (int64_t)j->field); \
	}
#define SHOW_TIME(name, field)             \
	SHOW(name)                         \
	{                                  \
		ONE_JOB;                   \
		view_time(cell, j->field); \
	}
#define SHOW_REAL(name, value)             \
	SHOW(name)                         \
	{                                  \
		JOB;                       \
		view_real(cell, value, 2); \
	}

/* Of a whole second or more; a program that ended at once used something too. */
static void view_us(struct view_cell *cell, uint64_t us)
{
	view_duration(cell, us / 1000000);
	cell->number = (int64_t)us;
}

/* What nothing has measured is not 0. */
static void show_part(struct view_cell *cell, uint64_t part, uint64_t all)
{
	if (!all) {
		view_text(cell, "-");
		return;
	}
	view_printf(cell, "%.0f%%", 100 * (double)part / (double)all);
	cell->is_number = true;
	cell->number = (int64_t)((double)part / (double)all * 1e9);
}

static void show_mb(struct view_cell *cell, uint64_t mb)
{
	if (mb)
		view_size_mb(cell, mb);
	else
		view_text(cell, "-");
}

/* In kWh. */
static void show_energy(struct view_cell *cell, uint64_t mj)
{
	if (mj)
		view_real(cell, (double)mj / 3.6e9, 3);
	else
		view_text(cell, "-");
}

SHOW(id)
{
	JOB;

	if (j->id)
		view_job(cell, j->id, j->tasks, j->several);
	else
		view_text(cell, "total");
}

SHOW(name)
{
	JOB;

	if (j->id)
		view_text(cell, j->name);
	else
		view_printf(cell, "%" PRIu32 " job%s", j->attempts, j->attempts == 1 ? "" : "s");
}

SHOW_TEXT(user, user)
SHOW_NUMBER(uid, uid)
SHOW_TEXT(account, account)
SHOW_TEXT(partition, partition)
SHOW_TEXT(qos, qos)
SHOW_TIME(submit, submit_time)
SHOW_TIME(start, start_time)
SHOW_TIME(first_start, first_start_time)
SHOW_TIME(end, end_time)
SHOW_NUMBER(cpus, cpus)
SHOW_NUMBER(nodes, n_nodes)
SHOW_NUMBER(attempts, attempts)
SHOW_TEXT(host, submit_host)
SHOW_TEXT(cwd, cwd)
SHOW_TEXT(comment, comment)
SHOW_TEXT(cause, cause)
SHOW_TEXT(detail, detail)
SHOW_REAL(gpu_hours, (double)j->gpu_us / 3.6e9)
SHOW_REAL(cpu_hours, (double)j->cpu_us / 3.6e9)
SHOW_REAL(cost, j->cost)

/* Seconds in full: for sums that must agree. */
SHOW(gpu_seconds)
{
	JOB;

	view_printf(cell, "%" PRIu64 ".%06" PRIu64, j->gpu_us / 1000000, j->gpu_us % 1000000);
	cell->is_number = true;
	cell->number = (int64_t)j->gpu_us;
}

SHOW(state)
{
	ONE_JOB;
	const struct job_state *s = job_state(j->state);

	view_text(cell, j->state);
	cell->colour = s ? s->colour : TABLE_PLAIN;
}

SHOW(exit)
{
	ONE_JOB;
	view_printf(cell, "%" PRIu32 ":%" PRIu32, j->exit_code, j->exit_signal);
}

SHOW(elapsed)
{
	ONE_JOB;
	view_duration(cell, j->elapsed_s);
}

SHOW(wait)
{
	ONE_JOB;

	if (j->first_start_time)
		view_duration(cell, j->wait_s);
	else
		view_text(cell, "-");
}

/* What it held; of a job that never ran, what it asked for. */
SHOW(gpus)
{
	ONE_JOB;

	if (j->n_gpus)
		view_text(cell, gpus_format(cell->buf, sizeof(cell->buf), j->gpus, j->n_gpus));
	else
		view_text(cell, j->runs_billed || !j->asked_gpus[0] ? "-" : j->asked_gpus);
}

SHOW(asked_gpus)
{
	ONE_JOB;
	view_text(cell, j->asked_gpus[0] ? j->asked_gpus : "-");
}

SHOW(where)
{
	ONE_JOB;
	view_text(cell, j->nodes[0] ? j->nodes : "-");
}

SHOW(mem)
{
	ONE_JOB;
	view_size_mb(cell, j->mem_mb);
}

SHOW(limit)
{
	ONE_JOB;
	view_duration(cell, j->time_limit_s && j->time_limit_s != UINT32_MAX ? j->time_limit_s
	                                                                     : DURATION_FOREVER);
}

SHOW(cpu_time)
{
	JOB;
	view_us(cell, j->cpu_time_us);
}

SHOW(max_rss)
{
	ONE_JOB;
	view_size_mb(cell, (j->max_rss_kb + 1023) / 1024);
}

SHOW(suspended)
{
	ONE_JOB;

	if (j->suspended_us)
		view_us(cell, j->suspended_us);
	else
		view_text(cell, "-");
}

SHOW(labels)
{
	ONE_JOB;
	size_t used = 0;

	cell->text = j->n_labels ? cell->buf : "-";
	for (size_t i = 0; i < j->n_labels && used < sizeof(cell->buf); i++)
		used += (size_t)snprintf(cell->buf + used, sizeof(cell->buf) - used, "%s%s=%s",
		        i ? "," : "", j->labels[i]->key, j->labels[i]->value);
}

SHOW(eff)
{
	JOB;
	show_part(cell, j->used ? j->used->gpu_busy_us : 0, j->used ? j->used->gpu_seen_us : 0);
}

SHOW(idle)
{
	JOB;
	show_part(cell, j->used ? j->used->gpu_idle_us : 0, j->used ? j->used->gpu_seen_us : 0);
}

SHOW(gpu_mem)
{
	ONE_JOB;
	show_mb(cell, j->used ? j->used->gpu_mem_peak_mb : 0);
}

SHOW(energy_used)
{
	JOB;
	show_energy(cell, j->used ? j->used->energy_mj : 0);
}

SHOW(read)
{
	ONE_JOB;
	show_mb(cell, j->used ? (j->used->read_bytes + (1 << 20) - 1) >> 20 : 0);
}

SHOW(written)
{
	ONE_JOB;
	show_mb(cell, j->used ? (j->used->written_bytes + (1 << 20) - 1) >> 20 : 0);
}

static const struct view_column columns[] = {
	{ "JOBID", { "JOBID", 7, 0, NUM }, "the job's id", show_id },
	{ "NAME", { "NAME", 9, 5, 0 }, "name", show_name },
	{ "USER", { "USER", 8, 4, 0 }, "owner", show_user },
	{ "UID", { "UID", 7, 0, NUM }, "its owner's number", show_uid },
	{ "ACCOUNT", { "ACCOUNT", 9, 5, 0 }, "account", show_account },
	{ "PARTITION", { "PARTITION", 9, 5, 0 }, "partition", show_partition },
	{ "QOS", { "QOS", 8, 4, 0 }, "quality of service", show_qos },
	{ "STATE", { "STATE", 9, 4, 0 }, "state: COMPLETED FAILED CANCELLED TIMEOUT RUNNING ...",
	        show_state },
	{ "EXIT", { "EXIT", 4, 0, NUM }, "exit code:signal", show_exit },
	{ "ELAPSED", { "ELAPSED", 7, 0, NUM }, "time the last attempt ran, without suspensions",
	        show_elapsed },
	{ "WAIT", { "WAIT", 7, 0, NUM }, "from its submit to its first start", show_wait },
	{ "GPUS", { "GPUS", 7, 4, TABLE_DEAR }, "GPUs that the last attempt held", show_gpus },
	{ "GPU-H", { "GPU-H", 7, 0, NUM }, "GPU-hours, all attempts together", show_gpu_hours },
	{ "COST", { "COST", 7, 0, NUM }, "what that cost, by the prices of then", show_cost },
	{ "GPU-S", { "GPU-S", 12, 0, NUM }, "GPU-seconds, all attempts together, in full",
	        show_gpu_seconds },
	{ "CPU-H", { "CPU-H", 7, 0, NUM }, "CPU-hours held, all attempts together",
	        show_cpu_hours },
	{ "CPUTIME", { "CPUTIME", 8, 0, NUM }, "CPU time that its programs used", show_cpu_time },
	{ "MAXRSS", { "MAXRSS", 6, 0, NUM }, "the most host memory that it had on a node",
	        show_max_rss },
	{ "EFF", { "EFF", 4, 0, NUM }, "compute use while the GPUs were held; -: not known",
	        show_eff },
	{ "IDLE", { "IDLE", 4, 0, NUM }, "part of that time in which they were idle", show_idle },
	{ "GPUMEM", { "GPUMEM", 6, 0, NUM }, "the most memory of one GPU that it had",
	        show_gpu_mem },
	{ "ENERGY", { "ENERGY", 7, 0, NUM }, "energy of its GPUs, in kWh", show_energy_used },
	{ "READ", { "READ", 6, 0, NUM }, "read from storage", show_read },
	{ "WRITTEN", { "WRITTEN", 7, 0, NUM }, "written to storage", show_written },
	{ "SUBMIT", { "SUBMIT", 19, 0, TABLE_WHOLE }, "when it was submitted", show_submit },
	{ "START", { "START", 19, 0, TABLE_WHOLE }, "when the last attempt started", show_start },
	{ "FIRSTSTART", { "FIRSTSTART", 19, 0, TABLE_WHOLE }, "when the first attempt started",
	        show_first_start },
	{ "END", { "END", 19, 0, TABLE_WHOLE }, "when it ended", show_end },
	{ "NODELIST", { "NODELIST", 12, 6, 0 }, "nodes of the last attempt", show_where },
	{ "NODES", { "NODES", 5, 0, NUM }, "how many", show_nodes },
	{ "CPUS", { "CPUS", 4, 0, NUM }, "CPUs on each node", show_cpus },
	{ "MEM", { "MEM", 5, 0, NUM }, "host memory on each node", show_mem },
	{ "TIMELIMIT", { "TIMELIMIT", 10, 0, NUM }, "time limit", show_limit },
	{ "REQGPUS", { "REQGPUS", 8, 4, 0 }, "GPUs that it asked for", show_asked_gpus },
	{ "ATTEMPTS", { "ATTEMPTS", 8, 0, NUM }, "how often it was started", show_attempts },
	{ "SUSPENDED", { "SUSPENDED", 9, 7, NUM }, "for how long the last attempt was suspended",
	        show_suspended },
	{ "LABELS", { "LABELS", 16, 6, 0 }, "labels", show_labels },
	{ "HOST", { "HOST", 10, 4, 0 }, "where it was submitted", show_host },
	{ "WORKDIR", { "WORKDIR", 24, 8, 0 }, "where it ran", show_cwd },
	{ "CAUSE", { "CAUSE", 13, 4, 0 }, "what ended the last attempt: exit time-limit cancel ...",
	        show_cause },
	{ "DETAIL", { "DETAIL", 24, 8, 0 }, "the same in words", show_detail },
	{ "COMMENT", { "COMMENT", 0, 10, 0 }, "who held, cancelled or preempted it, and why",
	        show_comment },
};

/* In order of id. */
static void rank(const void *object, int64_t key[VIEW_RANK])
{
	JOB;

	key[0] = (int64_t)j->id;
	key[1] = key[2] = key[3] = 0;
}

/* sacct's -o, where the value means the same. */
static const struct slurm_name slurm_names[] = {
	{ "JobName", "NAME" },
	{ "ExitCode", "EXIT" },
	{ "NNodes", "NODES" },
	{ "ReqMem", "MEM" },
	{ "TotalCPU", "CPUTIME" },
	{ "MaxDiskRead", "READ" },
	{ "MaxDiskWrite", "WRITTEN" },
	{ "Planned", "WAIT" },
	{ NULL, NULL },
};

const struct view_kind acct_kind = {
	.columns = columns,
	.n = sizeof(columns) / sizeof(columns[0]),
	.standard = "JOBID,NAME,USER,STATE,EXIT,ELAPSED,WAIT,GPUS,GPU-H,EFF,COST",
	.longer = "JOBID,NAME,USER,ACCOUNT,PARTITION,STATE,EXIT,SUBMIT,START,END,ELAPSED,WAIT,"
	          "NODELIST,GPUS,GPU-H,CPU-H,CPUTIME,MAXRSS,EFF,GPUMEM,COST,COMMENT",
	.rank = rank,
	.slurm = slurm_names,
};

/* A line may be of many tasks of an array, which were cancelled together. */
static uint32_t jobs_of(const Gpusched__Acct *job)
{
	struct taskset set;
	uint32_t n;

	if (!job->several || taskset_parse_kept(job->tasks, &set, NULL) < 0)
		return 1;
	n = set.count;
	taskset_clear(&set);
	return n ? n : 1;
}

/* What was sampled of its GPUs, by the part of them that it had: as it is counted in gpu_us. */
static uint64_t of_part(const Gpusched__Acct *job, uint64_t us)
{
	if (!job->gpu_held_us)
		return us;
	return (uint64_t)((unsigned __int128)us * job->gpu_us / job->gpu_held_us);
}

void acct_total_add(Gpusched__Acct *total, const Gpusched__Acct *job)
{
	total->attempts += jobs_of(job); /* shown as the number of jobs */
	total->gpu_us += job->gpu_us;
	total->cpu_us += job->cpu_us;
	total->cpu_time_us += job->cpu_time_us;
	total->cost += job->cost;
	if (!total->used || !job->used)
		return;
	total->used->gpu_seen_us += of_part(job, job->used->gpu_seen_us);
	total->used->gpu_busy_us += of_part(job, job->used->gpu_busy_us);
	total->used->gpu_idle_us += of_part(job, job->used->gpu_idle_us);
	total->used->energy_mj += job->used->energy_mj;
}

/* --- runs ----------------------------------------------------------------------------------- */

#define RUN                                        \
	const struct acct_run_line *line = object; \
	const Gpusched__AcctRun *r = line->run

#define JOB_OF(r, line) ((void)(r), (line)->job)

#define RUN_TEXT(name, value)           \
	SHOW(run_##name)                \
	{                               \
		RUN;                    \
		view_text(cell, value); \
	}
#define RUN_NUMBER(name, value)                    \
	SHOW(run_##name)                           \
	{                                          \
		RUN;                               \
		view_number(cell, (int64_t)value); \
	}

SHOW(run_id)
{
	RUN;
	(void)r;
	view_job(cell, line->job->id, line->job->tasks, line->job->several);
}

RUN_TEXT(name, JOB_OF(r, line)->name)
RUN_TEXT(user, JOB_OF(r, line)->user)
RUN_TEXT(account, r->account)
RUN_NUMBER(task, r->task)
RUN_NUMBER(attempt, r->attempt)
RUN_NUMBER(rank, r->rank)
RUN_TEXT(node, r->node)
RUN_TEXT(state, r->state)
RUN_TEXT(cause, r->cause[0] ? r->cause : "-")
RUN_TEXT(detail, r->detail)
RUN_NUMBER(cpus, r->cpus)

SHOW(run_start)
{
	RUN;
	view_time(cell, r->start_time);
}

SHOW(run_end)
{
	RUN;
	view_time(cell, r->end_time);
}

SHOW(run_held)
{
	RUN;
	view_us(cell, r->held_us);
}

SHOW(run_exit)
{
	RUN;
	view_printf(cell, "%" PRIu32 ":%" PRIu32, r->exit_code, r->exit_signal);
}

SHOW(run_gpus)
{
	RUN;
	size_t used = 0;

	cell->text = r->n_gpus ? cell->buf : "-";
	if (r->n_gpus)
		used = (size_t)snprintf(
		        cell->buf, sizeof(cell->buf), "%s:%zu(", r->gpu_type, r->n_gpus);
	for (size_t i = 0; i < r->n_gpus && used < sizeof(cell->buf); i++)
		used += (size_t)snprintf(cell->buf + used, sizeof(cell->buf) - used,
		        "%" PRIu32 "%s", r->gpus[i], i + 1 < r->n_gpus ? "," : ")");
}

SHOW(run_gpu_hours)
{
	RUN;
	view_real(cell, (double)r->gpu_us / 3.6e9, 2);
}

SHOW(run_cpu_time)
{
	RUN;
	view_us(cell, r->cpu_time_us);
}

SHOW(run_max_rss)
{
	RUN;
	view_size_mb(cell, (r->max_rss_kb + 1023) / 1024);
}

SHOW(run_eff)
{
	RUN;
	show_part(cell, r->used ? r->used->gpu_busy_us : 0, r->used ? r->used->gpu_seen_us : 0);
}

SHOW(run_gpu_mem)
{
	RUN;
	show_mb(cell, r->used ? r->used->gpu_mem_peak_mb : 0);
}

SHOW(run_cost)
{
	RUN;
	view_real(cell, r->cost, 2);
}

static const struct view_column run_columns[] = {
	{ "JOBID", { "JOBID", 7, 0, NUM }, "the job's id", show_run_id },
	{ "NAME", { "NAME", 9, 5, 0 }, "its name", show_run_name },
	{ "USER", { "USER", 8, 4, 0 }, "its owner", show_run_user },
	{ "ACCOUNT", { "ACCOUNT", 9, 5, 0 }, "to which the run is billed", show_run_account },
	{ "TASK", { "TASK", 5, 0, NUM }, "task of an array", show_run_task },
	{ "ATTEMPT", { "ATTEMPT", 7, 0, NUM }, "which attempt", show_run_attempt },
	{ "RANK", { "RANK", 4, 0, NUM }, "which of its nodes", show_run_rank },
	{ "NODE", { "NODE", 8, 4, 0 }, "node", show_run_node },
	{ "STATE", { "STATE", 8, 4, 0 }, "state of the run: RUNNING ENDED NEVER ...",
	        show_run_state },
	{ "CAUSE", { "CAUSE", 10, 4, 0 }, "what ended it: exit time-limit cancel preempt ...",
	        show_run_cause },
	{ "EXIT", { "EXIT", 4, 0, NUM }, "exit code:signal", show_run_exit },
	{ "START", { "START", 19, 0, TABLE_WHOLE }, "when it started", show_run_start },
	{ "END", { "END", 19, 0, TABLE_WHOLE }, "when it ended", show_run_end },
	{ "HELD", { "HELD", 8, 0, NUM }, "for how long it held what it has, suspensions included",
	        show_run_held },
	{ "GPUS", { "GPUS", 12, 4, 0 }, "GPUs, with their numbers on the node", show_run_gpus },
	{ "CPUS", { "CPUS", 4, 0, NUM }, "CPUs", show_run_cpus },
	{ "GPU-H", { "GPU-H", 7, 0, NUM }, "GPU-hours", show_run_gpu_hours },
	{ "CPUTIME", { "CPUTIME", 8, 0, NUM }, "CPU time that its programs used",
	        show_run_cpu_time },
	{ "MAXRSS", { "MAXRSS", 6, 0, NUM }, "the most host memory that it had", show_run_max_rss },
	{ "EFF", { "EFF", 4, 0, NUM }, "compute use while the GPUs were held; -: not known",
	        show_run_eff },
	{ "GPUMEM", { "GPUMEM", 6, 0, NUM }, "the most memory of one GPU that it had",
	        show_run_gpu_mem },
	{ "COST", { "COST", 7, 0, NUM }, "what it cost", show_run_cost },
	{ "DETAIL", { "DETAIL", 0, 8, 0 }, "how it ended, in words", show_run_detail },
};

static void run_rank(const void *object, int64_t key[VIEW_RANK])
{
	RUN;

	key[0] = (int64_t)line->job->id;
	key[1] = (int64_t)r->task;
	key[2] = (int64_t)r->attempt << 32 | r->rank;
	key[3] = 0;
}

const struct view_kind acct_run_kind = {
	.columns = run_columns,
	.n = sizeof(run_columns) / sizeof(run_columns[0]),
	.standard = "JOBID,ATTEMPT,RANK,NODE,STATE,CAUSE,EXIT,HELD,GPUS,GPU-H,DETAIL",
	.longer = "JOBID,NAME,USER,ACCOUNT,ATTEMPT,RANK,NODE,STATE,CAUSE,EXIT,START,END,HELD,CPUS,"
	          "GPUS,GPU-H,CPUTIME,MAXRSS,EFF,GPUMEM,COST,DETAIL",
	.rank = run_rank,
};
