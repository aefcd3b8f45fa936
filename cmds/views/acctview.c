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

#define NUM TABLE_RIGHT | TABLE_WHOLE

#define JOB        const Gpusched__Acct *j = object

/* What a line of totals does not add up it leaves empty. */
#define ONE_JOB     \
	JOB;        \
	if (!j->id) \
	return

/* Of a whole second or more; a program that ended at once used something too. */
static void view_us(struct view_cell *cell, uint64_t us)
{
	view_duration(cell, us / 1000000);
	cell->number = (int64_t)us;
}

/* A part of the time that its GPUs were looked at. */
static void view_part(struct view_cell *cell, const Gpusched__RunUsed *used, uint64_t us)
{
	view_percent(cell, (double)us, used ? (double)used->gpu_seen_us : 0, 0);
}

static void view_mb(struct view_cell *cell, uint64_t mb)
{
	if (mb)
		view_size_mb(cell, mb);
	else
		view_text(cell, "-");
}

/* In kWh. */
static void view_energy(struct view_cell *cell, uint64_t mj)
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

CELL(raw_id, ONE_JOB, view_number(cell, (int64_t)(j->raw_id ? j->raw_id : j->id)))
CELL(user, ONE_JOB, view_text(cell, j->user))
CELL(uid, ONE_JOB, view_number(cell, (int64_t)j->uid))
CELL(account, ONE_JOB, view_text(cell, j->account))
CELL(partition, ONE_JOB, view_text(cell, j->partition))
CELL(qos, ONE_JOB, view_text(cell, j->qos))
CELL(submit, ONE_JOB, view_time(cell, j->submit_time))
CELL(start, ONE_JOB, view_time(cell, j->start_time))
CELL(first_start, ONE_JOB, view_time(cell, j->first_start_time))
CELL(end, ONE_JOB, view_time(cell, j->end_time))
CELL(cpus, ONE_JOB, view_number(cell, (int64_t)j->cpus))
CELL(nodes, ONE_JOB, view_number(cell, (int64_t)j->n_nodes))
CELL(attempts, ONE_JOB, view_number(cell, (int64_t)j->attempts))
CELL(host, ONE_JOB, view_text(cell, j->submit_host))
CELL(cwd, ONE_JOB, view_text(cell, j->cwd))
CELL(comment, ONE_JOB, view_text(cell, j->comment))
CELL(cause, ONE_JOB, view_text(cell, j->cause))
CELL(detail, ONE_JOB, view_text(cell, j->detail))
CELL(gpu_hours, JOB, view_real(cell, (double)j->gpu_us / 3.6e9, 2))
CELL(cpu_hours, JOB, view_real(cell, (double)j->cpu_us / 3.6e9, 2))
CELL(cost, JOB, view_real(cell, j->cost, 2))

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

CELL(exit, ONE_JOB, view_printf(cell, "%" PRIu32 ":%" PRIu32, j->exit_code, j->exit_signal))
CELL(elapsed, ONE_JOB, view_duration(cell, j->elapsed_s))

SHOW(wait)
{
	ONE_JOB;

	if (j->first_start_time)
		view_duration(cell, j->wait_s);
	else
		view_text(cell, "-");
}

CELL(eligible_since, ONE_JOB, view_time(cell, j->eligible_time))

/* A job that has not started has no end of it yet. */
SHOW(eligible)
{
	ONE_JOB;

	if (j->eligible_time && (j->first_start_time || j->end_time))
		view_duration(cell, j->eligible_s);
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

CELL(asked_gpus, ONE_JOB, view_text_or_dash(cell, j->asked_gpus))
CELL(where, ONE_JOB, view_text_or_dash(cell, j->nodes))
CELL(mem, ONE_JOB, view_size_mb(cell, j->mem_mb))
CELL(limit, ONE_JOB, view_limit(cell, j->time_limit_s))
CELL(cpu_time, JOB, view_us(cell, j->cpu_time_us))
CELL(max_rss, ONE_JOB, view_size_mb(cell, (j->max_rss_kb + 1023) / 1024))

SHOW(suspended)
{
	ONE_JOB;

	if (j->suspended_us)
		view_us(cell, j->suspended_us);
	else
		view_text(cell, "-");
}

CELL(labels, ONE_JOB, view_list(cell, j->n_labels, j->labels, view_print_label))

CELL(eff, JOB, view_part(cell, j->used, j->used ? j->used->gpu_busy_us : 0))
CELL(idle, JOB, view_part(cell, j->used, j->used ? j->used->gpu_idle_us : 0))
CELL(gpu_mem, ONE_JOB, view_mb(cell, j->used ? j->used->gpu_mem_peak_mb : 0))
/* In GiB times hours. */
static void view_mem_time(struct view_cell *cell, const Gpusched__RunUsed *used)
{
	if (used && used->gpu_mem_mbs)
		view_real(cell, (double)used->gpu_mem_mbs / 1024 / 3600, 2);
	else
		view_text(cell, "-");
}

CELL(mem_time, JOB, view_mem_time(cell, j->used))
CELL(energy_used, JOB, view_energy(cell, j->used ? j->used->energy_mj : 0))
CELL(ready, JOB, view_us(cell, j->ready_us))
CELL(loading, JOB, view_us(cell, j->loading_us))
CELL(requests, JOB, view_number_or_dash(cell, (int64_t)j->requests))
CELL(tokens, JOB, view_number_or_dash(cell, (int64_t)j->tokens))

SHOW(cost_of_1000)
{
	JOB;

	if (j->requests)
		view_real(cell, j->cost / (double)j->requests * 1000, 4);
	else
		view_text(cell, "-");
}

CELL(read, ONE_JOB, view_mb(cell, j->used ? (j->used->read_bytes + (1 << 20) - 1) >> 20 : 0))
CELL(written, ONE_JOB,
        view_mb(cell, j->used ? (j->used->written_bytes + (1 << 20) - 1) >> 20 : 0))

static const struct view_column columns[] = {
	COLUMN("JOBID", 7, 0, NUM, "the job's id", id),
	COLUMN("RAWID", 7, 0, NUM, "of an array's task its own id; else the id", raw_id),
	COLUMN("NAME", 9, 5, 0, "name", name),
	COLUMN("USER", 8, 4, 0, "owner", user),
	COLUMN("UID", 7, 0, NUM, "its owner's number", uid),
	COLUMN("ACCOUNT", 9, 5, 0, "account", account),
	COLUMN("PARTITION", 9, 5, 0, "partition", partition),
	COLUMN("QOS", 8, 4, 0, "quality of service", qos),
	COLUMN("STATE", 9, 4, 0, "state: COMPLETED FAILED CANCELLED TIMEOUT RUNNING ...", state),
	COLUMN("EXIT", 4, 0, NUM, "exit code:signal", exit),
	COLUMN("ELAPSED", 7, 0, NUM, "time the last attempt ran, without suspensions", elapsed),
	COLUMN("WAIT", 7, 0, NUM, "from its submit to its first start", wait),
	COLUMN("ELIGIBLE", 8, 0, NUM,
	        "the part of that in which only room and limits kept it: after a hold, its begin "
	        "time, its dependencies",
	        eligible),
	COLUMN("GPUS", 7, 4, TABLE_DEAR, "GPUs that the last attempt held", gpus),
	COLUMN("GPU-H", 7, 0, NUM, "GPU-hours, all attempts together", gpu_hours),
	COLUMN("COST", 7, 0, NUM, "what that cost, by the prices of then", cost),
	COLUMN("GPU-S", 12, 0, NUM, "GPU-seconds, all attempts together, in full", gpu_seconds),
	COLUMN("CPU-H", 7, 0, NUM, "CPU-hours held, all attempts together", cpu_hours),
	COLUMN("CPUTIME", 8, 0, NUM, "CPU time that its programs used", cpu_time),
	COLUMN("MAXRSS", 6, 0, NUM, "the most host memory that it had on a node", max_rss),
	COLUMN("EFF", 4, 0, NUM, "compute use while the GPUs were held; -: not known", eff),
	COLUMN("IDLE", 4, 0, NUM, "part of that time in which they were idle", idle),
	COLUMN("GPUMEM", 6, 0, NUM, "the most memory of one GPU that it had", gpu_mem),
	COLUMN("MEM-H", 7, 0, NUM, "memory that it used of GPUs over time, in GiB-hours", mem_time),
	COLUMN("ENERGY", 7, 0, NUM, "energy of its GPUs, in kWh", energy_used),
	COLUMN("READY", 8, 0, NUM, "of replicas of a service: for how long they were READY", ready),
	COLUMN("LOADING", 8, 0, NUM, "and how long they loaded until then", loading),
	COLUMN("REQUESTS", 9, 0, NUM, "requests that they answered; -: not known", requests),
	COLUMN("TOKENS", 9, 0, NUM, "tokens that they generated; -: not known", tokens),
	COLUMN("COST/1K", 8, 0, NUM, "cost of 1,000 requests", cost_of_1000),
	COLUMN("READ", 6, 0, NUM, "read from storage", read),
	COLUMN("WRITTEN", 7, 0, NUM, "written to storage", written),
	COLUMN("SUBMIT", 19, 0, TABLE_WHOLE, "when it was submitted", submit),
	COLUMN("ELIGIBLESINCE", 19, 0, TABLE_WHOLE, "when that began", eligible_since),
	COLUMN("START", 19, 0, TABLE_WHOLE, "when the last attempt started", start),
	COLUMN("FIRSTSTART", 19, 0, TABLE_WHOLE, "when the first attempt started", first_start),
	COLUMN("END", 19, 0, TABLE_WHOLE, "when it ended", end),
	COLUMN("NODELIST", 12, 6, 0, "nodes of the last attempt", where),
	COLUMN("NODES", 5, 0, NUM, "how many", nodes),
	COLUMN("CPUS", 4, 0, NUM, "CPUs on each node", cpus),
	COLUMN("MEM", 5, 0, NUM, "host memory on each node", mem),
	COLUMN("TIMELIMIT", 10, 0, NUM, "time limit", limit),
	COLUMN("REQGPUS", 8, 4, 0, "GPUs that it asked for", asked_gpus),
	COLUMN("ATTEMPTS", 8, 0, NUM, "how often it was started", attempts),
	COLUMN("SUSPENDED", 9, 7, NUM, "for how long the last attempt was suspended", suspended),
	COLUMN("LABELS", 16, 6, 0, "labels", labels),
	COLUMN("HOST", 10, 4, 0, "where it was submitted", host),
	COLUMN("WORKDIR", 24, 8, 0, "where it ran", cwd),
	COLUMN("CAUSE", 13, 4, 0, "what ended the last attempt: exit time-limit cancel ...", cause),
	COLUMN("DETAIL", 24, 8, 0, "the same in words", detail),
	COLUMN("COMMENT", 0, 10, 0, "why it was held, cancelled or preempted, and by which "
	        "user", comment),
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
	{ "JobName", "NAME" }, { "JobIDRaw", "RAWID" }, { "ExitCode", "EXIT" }, { "NNodes", "NODES" },
	{ "ReqMem", "MEM" }, { "TotalCPU", "CPUTIME" }, { "MaxDiskRead", "READ" },
	{ "MaxDiskWrite", "WRITTEN" }, { "Planned", "WAIT" },
	{ "Eligible", "ELIGIBLESINCE" }, { NULL, NULL },
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
	total->ready_us += job->ready_us;
	total->loading_us += job->loading_us;
	total->requests += job->requests;
	total->tokens += job->tokens;
	if (!total->used || !job->used)
		return;
	total->used->gpu_seen_us += of_part(job, job->used->gpu_seen_us);
	total->used->gpu_busy_us += of_part(job, job->used->gpu_busy_us);
	total->used->gpu_idle_us += of_part(job, job->used->gpu_idle_us);
	total->used->gpu_mem_mbs += job->used->gpu_mem_mbs;
	total->used->energy_mj += job->used->energy_mj;
}

/* --- runs ----------------------------------------------------------------------------------- */

#define RUN                                        \
	const struct acct_run_line *line = object; \
	const Gpusched__AcctRun *r = line->run

#define JOB_OF(r, line) ((void)(r), (line)->job)

SHOW(run_id)
{
	RUN;
	(void)r;
	view_job(cell, line->job->id, line->job->tasks, line->job->several);
}

CELL(run_name, RUN, view_text(cell, JOB_OF(r, line)->name))
CELL(run_user, RUN, view_text(cell, JOB_OF(r, line)->user))
CELL(run_account, RUN, view_text(cell, r->account))
CELL(run_task, RUN, view_number(cell, (int64_t)r->task))
CELL(run_attempt, RUN, view_number(cell, (int64_t)r->attempt))
CELL(run_rank, RUN, view_number(cell, (int64_t)r->rank))
CELL(run_node, RUN, view_text(cell, r->node))
CELL(run_state, RUN, view_text(cell, r->state))
CELL(run_cause, RUN, view_text(cell, r->cause[0] ? r->cause : "-"))
CELL(run_detail, RUN, view_text(cell, r->detail))
CELL(run_cpus, RUN, view_number(cell, (int64_t)r->cpus))

CELL(run_start, RUN, view_time(cell, r->start_time))
CELL(run_end, RUN, view_time(cell, r->end_time))
CELL(run_held, RUN, view_us(cell, r->held_us))
CELL(run_exit, RUN, view_printf(cell, "%" PRIu32 ":%" PRIu32, r->exit_code, r->exit_signal))

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

CELL(run_gpu_hours, RUN, view_real(cell, (double)r->gpu_us / 3.6e9, 2))
CELL(run_cpu_time, RUN, view_us(cell, r->cpu_time_us))
CELL(run_max_rss, RUN, view_size_mb(cell, (r->max_rss_kb + 1023) / 1024))
CELL(run_eff, RUN, view_part(cell, r->used, r->used ? r->used->gpu_busy_us : 0))
CELL(run_gpu_mem, RUN, view_mb(cell, r->used ? r->used->gpu_mem_peak_mb : 0))
CELL(run_mem_time, RUN, view_mem_time(cell, r->used))
CELL(run_cost, RUN, view_real(cell, r->cost, 2))

static const struct view_column run_columns[] = {
	COLUMN("JOBID", 7, 0, NUM, "the job's id", run_id),
	COLUMN("NAME", 9, 5, 0, "its name", run_name),
	COLUMN("USER", 8, 4, 0, "its owner", run_user),
	COLUMN("ACCOUNT", 9, 5, 0, "to which the run is billed", run_account),
	COLUMN("TASK", 5, 0, NUM, "task of an array", run_task),
	COLUMN("ATTEMPT", 7, 0, NUM, "which attempt", run_attempt),
	COLUMN("RANK", 4, 0, NUM, "which of its nodes", run_rank),
	COLUMN("NODE", 8, 4, 0, "node", run_node),
	COLUMN("STATE", 8, 4, 0, "state of the run: RUNNING ENDED NEVER ...", run_state),
	COLUMN("CAUSE", 10, 4, 0, "what ended it: exit time-limit cancel preempt ...", run_cause),
	COLUMN("EXIT", 4, 0, NUM, "exit code:signal", run_exit),
	COLUMN("START", 19, 0, TABLE_WHOLE, "when it started", run_start),
	COLUMN("END", 19, 0, TABLE_WHOLE, "when it ended", run_end),
	COLUMN("HELD", 8, 0, NUM,
	        "for how long it held what it has, suspensions included", run_held),
	COLUMN("GPUS", 12, 4, 0, "GPUs, with their numbers on the node", run_gpus),
	COLUMN("CPUS", 4, 0, NUM, "CPUs", run_cpus),
	COLUMN("GPU-H", 7, 0, NUM, "GPU-hours", run_gpu_hours),
	COLUMN("CPUTIME", 8, 0, NUM, "CPU time that its programs used", run_cpu_time),
	COLUMN("MAXRSS", 6, 0, NUM, "the most host memory that it had", run_max_rss),
	COLUMN("EFF", 4, 0, NUM, "compute use while the GPUs were held; -: not known", run_eff),
	COLUMN("GPUMEM", 6, 0, NUM, "the most memory of one GPU that it had", run_gpu_mem),
	COLUMN("MEM-H", 7, 0, NUM, "memory that it used of GPUs over time, in GiB-hours",
	        run_mem_time),
	COLUMN("COST", 7, 0, NUM, "what it cost", run_cost),
	COLUMN("DETAIL", 0, 8, 0, "how it ended, in words", run_detail),
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
