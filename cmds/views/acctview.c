/* acctview.c - the columns of gacct: jobs, runs, and their totals
 *
 * To add one: a show function, a row, a line in man/gacct.1.
 */
#include "cmds/views/acctview.h"

#include <inttypes.h>

#include "cmds/views/views.h"
#include "common/base/each.h"
#include "common/base/taskset.h"

#define JOB const Gpusched__Acct *j = object
#define FIELD(name, width, min, flags, help, how, member) \
	VIEW_FIELD(name, width, min, flags, help, how, NULL, Gpusched__Acct, member)

/* What a line of totals does not add up it leaves empty. */
#define ONE_JOB     \
	JOB;        \
	if (!j->id) \
	return

static const void *one_job(const void *object)
{
	JOB;

	return j->id ? j : NULL;
}

#define ONE(name, width, min, flags, help, how, member) \
	VIEW_FIELD(name, width, min, flags, help, how, one_job, Gpusched__Acct, member)

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

CELL(gpu_seconds, JOB, view_seconds(cell, j->gpu_us))
CELL(state, ONE_JOB, view_job_state(cell, j->state))
CELL(exit, ONE_JOB, view_printf(cell, "%" PRIu32 ":%" PRIu32, j->exit_code, j->exit_signal))
CELL(wait, ONE_JOB, view_duration_if(cell, j->first_start_time, j->wait_s))
/* A job that has not started has no end of it yet. */
CELL(eligible, ONE_JOB,
        view_duration_if(
                cell, j->eligible_time && (j->first_start_time || j->end_time), j->eligible_s))

/* What it held; of a job that never ran, what it asked for. */
SHOW(gpus)
{
	ONE_JOB;

	view_gpus(cell, j->gpus, j->n_gpus);
	if (!j->n_gpus && !j->runs_billed)
		view_text_or_dash(cell, j->asked_gpus);
}

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
	view_real_if(cell, used && used->gpu_mem_mbs,
	        used ? (double)used->gpu_mem_mbs / 1024 / 3600 : 0, 2);
}

CELL(mem_time, JOB, view_mem_time(cell, j->used))
/* In kWh. */
CELL(energy_used, JOB,
        view_real_if(cell, j->used && j->used->energy_mj,
                j->used ? (double)j->used->energy_mj / 3.6e9 : 0, 3))
CELL(cost_of_1000, JOB, view_real_if(cell, j->requests, j->cost / (double)j->requests * 1000, 4))
CELL(read, ONE_JOB, view_mb(cell, j->used ? (j->used->read_bytes + (1 << 20) - 1) >> 20 : 0))
CELL(written, ONE_JOB,
        view_mb(cell, j->used ? (j->used->written_bytes + (1 << 20) - 1) >> 20 : 0))

static const struct view_column columns[] = {
	COLUMN("JOBID", 7, 0, NUM, "the job's id", id),
	COLUMN("RAWID", 7, 0, NUM, "of an array's task its own id; else the id", raw_id),
	COLUMN("NAME", 9, 5, 0, "name", name),
	ONE("USER", 8, 4, 0, "owner", TEXT, user),
	ONE("UID", 7, 0, NUM, "its owner's number", NUMBER, uid),
	ONE("ACCOUNT", 9, 5, 0, "account", TEXT, account),
	ONE("PARTITION", 9, 5, 0, "partition", TEXT, partition),
	ONE("QOS", 8, 4, 0, "quality of service", TEXT, qos),
	COLUMN("STATE", 9, 4, 0, "state: COMPLETED FAILED CANCELLED TIMEOUT RUNNING ...", state),
	COLUMN("EXIT", 4, 0, NUM, "exit code:signal", exit),
	ONE("ELAPSED", 7, 0, NUM, "time the last attempt ran, without suspensions",
	        DURATION, elapsed_s),
	COLUMN("WAIT", 7, 0, NUM, "from its submit to its first start", wait),
	COLUMN("ELIGIBLE", 8, 0, NUM,
	        "the part of that in which only room and limits kept it: after a hold, its begin "
	        "time, its dependencies",
	        eligible),
	COLUMN("GPUS", 7, 4, TABLE_DEAR, "GPUs that the last attempt held", gpus),
	FIELD("GPU-H", 7, 0, NUM, "GPU-hours, all attempts together", HOURS, gpu_us),
	FIELD("COST", 7, 0, NUM, "what that cost, by the prices of then", DIGITS_2, cost),
	COLUMN("GPU-S", 12, 0, NUM, "GPU-seconds, all attempts together, in full", gpu_seconds),
	FIELD("CPU-H", 7, 0, NUM, "CPU-hours held, all attempts together", HOURS, cpu_us),
	FIELD("CPUTIME", 8, 0, NUM, "CPU time that its programs used", US, cpu_time_us),
	ONE("MAXRSS", 6, 0, NUM, "the most host memory that it had on a node", SIZE_KB, max_rss_kb),
	COLUMN("EFF", 4, 0, NUM, "compute use while the GPUs were held; -: not known", eff),
	COLUMN("IDLE", 4, 0, NUM, "part of that time in which they were idle", idle),
	COLUMN("GPUMEM", 6, 0, NUM, "the most memory of one GPU that it had", gpu_mem),
	COLUMN("MEM-H", 7, 0, NUM, "memory that it used of GPUs over time, in GiB-hours", mem_time),
	COLUMN("ENERGY", 7, 0, NUM, "energy of its GPUs, in kWh", energy_used),
	FIELD("READY", 8, 0, NUM, "of replicas of a service: for how long they were READY",
	        US, ready_us),
	FIELD("LOADING", 8, 0, NUM, "and how long they loaded until then", US, loading_us),
	FIELD("REQUESTS", 9, 0, NUM, "requests that they answered; -: not known",
	        NUMBER_OR_DASH, requests),
	FIELD("TOKENS", 9, 0, NUM, "tokens that they generated; -: not known",
	        NUMBER_OR_DASH, tokens),
	COLUMN("COST/1K", 8, 0, NUM, "cost of 1,000 requests", cost_of_1000),
	COLUMN("READ", 6, 0, NUM, "read from storage", read),
	COLUMN("WRITTEN", 7, 0, NUM, "written to storage", written),
	ONE("SUBMIT", 19, 0, TABLE_WHOLE, "when it was submitted", TIME, submit_time),
	ONE("ELIGIBLESINCE", 19, 0, TABLE_WHOLE, "when that began", TIME, eligible_time),
	ONE("START", 19, 0, TABLE_WHOLE, "when the last attempt started", TIME, start_time),
	ONE("FIRSTSTART", 19, 0, TABLE_WHOLE, "when the first attempt started",
	        TIME, first_start_time),
	ONE("END", 19, 0, TABLE_WHOLE, "when it ended", TIME, end_time),
	ONE("NODELIST", 12, 6, 0, "nodes of the last attempt", TEXT_OR_DASH, nodes),
	ONE("NODES", 5, 0, NUM, "how many", NUMBER, n_nodes),
	ONE("CPUS", 4, 0, NUM, "CPUs on each node", NUMBER, cpus),
	ONE("MEM", 5, 0, NUM, "host memory on each node", SIZE_MB, mem_mb),
	ONE("TIMELIMIT", 10, 0, NUM, "time limit", LIMIT, time_limit_s),
	ONE("REQGPUS", 8, 4, 0, "GPUs that it asked for", TEXT_OR_DASH, asked_gpus),
	ONE("ATTEMPTS", 8, 0, NUM, "how often it was started", NUMBER, attempts),
	COLUMN("SUSPENDED", 9, 7, NUM, "for how long the last attempt was suspended", suspended),
	COLUMN("LABELS", 16, 6, 0, "labels", labels),
	ONE("HOST", 10, 4, 0, "where it was submitted", TEXT, submit_host),
	ONE("WORKDIR", 24, 8, 0, "where it ran", TEXT, cwd),
	ONE("CAUSE", 13, 4, 0, "what ended the last attempt: exit time-limit cancel ...",
	        TEXT, cause),
	ONE("DETAIL", 24, 8, 0, "the same in words", TEXT, detail),
	ONE("COMMENT", 0, 10, 0, "why it was held, cancelled or preempted, and by which user",
	        TEXT, comment),
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
	VIEW_COLUMNS(columns),
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
	ADD_FIELDS(total, job, gpu_us, cpu_us, cpu_time_us, cost, ready_us, loading_us, requests,
	        tokens);
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

static const void *run_of(const void *line)
{
	return ((const struct acct_run_line *)line)->run;
}

static const void *job_of(const void *line)
{
	return ((const struct acct_run_line *)line)->job;
}

#define RUN_FIELD(name, width, min, flags, help, how, member) \
	VIEW_FIELD(name, width, min, flags, help, how, run_of, Gpusched__AcctRun, member)
#define RUN_JOB(name, width, min, flags, help, how, member) \
	VIEW_FIELD(name, width, min, flags, help, how, job_of, Gpusched__Acct, member)

CELL(run_id, const Gpusched__Acct *j = job_of(object), view_job(cell, j->id, j->tasks, j->several))
CELL(run_cause, RUN, view_text_or_dash(cell, r->cause))
CELL(run_exit, RUN, view_printf(cell, "%" PRIu32 ":%" PRIu32, r->exit_code, r->exit_signal))

SHOW(run_gpus)
{
	RUN;

	view_text(cell, "-");
	if (r->n_gpus)
		view_item(cell, "", "%s:%zu(", r->gpu_type, r->n_gpus);
	for (size_t i = 0; i < r->n_gpus; i++)
		view_item(cell, i ? "," : "", "%" PRIu32, r->gpus[i]);
	if (r->n_gpus)
		view_item(cell, "", ")");
}

CELL(run_eff, RUN, view_part(cell, r->used, r->used ? r->used->gpu_busy_us : 0))
CELL(run_gpu_mem, RUN, view_mb(cell, r->used ? r->used->gpu_mem_peak_mb : 0))
CELL(run_mem_time, RUN, view_mem_time(cell, r->used))

static const struct view_column run_columns[] = {
	COLUMN("JOBID", 7, 0, NUM, "the job's id", run_id),
	RUN_JOB("NAME", 9, 5, 0, "its name", TEXT, name),
	RUN_JOB("USER", 8, 4, 0, "its owner", TEXT, user),
	RUN_FIELD("ACCOUNT", 9, 5, 0, "to which the run is billed", TEXT, account),
	RUN_FIELD("TASK", 5, 0, NUM, "task of an array", NUMBER, task),
	RUN_FIELD("ATTEMPT", 7, 0, NUM, "which attempt", NUMBER, attempt),
	RUN_FIELD("RANK", 4, 0, NUM, "which of its nodes", NUMBER, rank),
	RUN_FIELD("NODE", 8, 4, 0, "node", TEXT, node),
	RUN_FIELD("STATE", 8, 4, 0, "state of the run: RUNNING ENDED NEVER ...", TEXT, state),
	COLUMN("CAUSE", 10, 4, 0, "what ended it: exit time-limit cancel preempt ...", run_cause),
	COLUMN("EXIT", 4, 0, NUM, "exit code:signal", run_exit),
	RUN_FIELD("START", 19, 0, TABLE_WHOLE, "when it started", TIME, start_time),
	RUN_FIELD("END", 19, 0, TABLE_WHOLE, "when it ended", TIME, end_time),
	RUN_FIELD("HELD", 8, 0, NUM, "for how long it held what it has, suspensions included",
	        US, held_us),
	COLUMN("GPUS", 12, 4, 0, "GPUs, with their numbers on the node", run_gpus),
	RUN_FIELD("CPUS", 4, 0, NUM, "CPUs", NUMBER, cpus),
	RUN_FIELD("GPU-H", 7, 0, NUM, "GPU-hours", HOURS, gpu_us),
	RUN_FIELD("CPUTIME", 8, 0, NUM, "CPU time that its programs used", US, cpu_time_us),
	RUN_FIELD("MAXRSS", 6, 0, NUM, "the most host memory that it had", SIZE_KB, max_rss_kb),
	COLUMN("EFF", 4, 0, NUM, "compute use while the GPUs were held; -: not known", run_eff),
	COLUMN("GPUMEM", 6, 0, NUM, "the most memory of one GPU that it had", run_gpu_mem),
	COLUMN("MEM-H", 7, 0, NUM, "memory that it used of GPUs over time, in GiB-hours",
	        run_mem_time),
	RUN_FIELD("COST", 7, 0, NUM, "what it cost", DIGITS_2, cost),
	RUN_FIELD("DETAIL", 0, 8, 0, "how it ended, in words", TEXT, detail),
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
	VIEW_COLUMNS(run_columns),
	.standard = "JOBID,ATTEMPT,RANK,NODE,STATE,CAUSE,EXIT,HELD,GPUS,GPU-H,DETAIL",
	.longer = "JOBID,NAME,USER,ACCOUNT,ATTEMPT,RANK,NODE,STATE,CAUSE,EXIT,START,END,HELD,CPUS,"
	          "GPUS,GPU-H,CPUTIME,MAXRSS,EFF,GPUMEM,COST,DETAIL",
	.rank = run_rank,
};
