/* stepview.c - see stepview.h
 *
 * To add a column: a show function, a row, a line in man/gqueue.1 or man/gacct.1.
 */
#include "cmds/views/stepview.h"

#include <inttypes.h>
#include <stdio.h>

#include "cmds/views/views.h"

/* "12.0", "12_7.0" */
#define STEP_TEXT 48

static const char *step_text(char buf[STEP_TEXT], const Gpusched__Step *step)
{
	if (step->array)
		snprintf(buf, STEP_TEXT, "%" PRIu64 "_%" PRIu32 ".%" PRIu32, step->job, step->task,
		        step->report->step);
	else
		snprintf(buf, STEP_TEXT, "%" PRIu64 ".%" PRIu32, step->job, step->report->step);
	return buf;
}

static void view_step_id(struct view_cell *cell, const Gpusched__Step *step)
{
	cell->text = step_text(cell->buf, step);
}

/* --- gqueue --steps ------------------------------------------------------------------------- */

#define STEP const Gpusched__Step *s = object

static const void *report_of(const void *object)
{
	STEP;

	return s->report;
}

#define FIELD(name, width, min, flags, help, how, member) \
	VIEW_FIELD(name, width, min, flags, help, how, NULL, Gpusched__Step, member)
#define REPORT(name, width, min, flags, help, how, member) \
	VIEW_FIELD(name, width, min, flags, help, how, report_of, Gpusched__StepReport, member)

CELL(id, STEP, view_step_id(cell, s))
CELL(state, STEP, view_job_state(cell, s->state))

static const struct view_column columns[] = {
	COLUMN("STEP", 9, 0, NUM, "the step's id: job, dot, number", id),
	REPORT("NAME", 10, 5, 0, "its name", TEXT, name),
	FIELD("PARTITION", 9, 5, 0, "partition of the job", TEXT, partition),
	FIELD("USER", 8, 4, 0, "owner of the job", TEXT, user),
	FIELD("TIME", 11, 7, NUM, "time it has run", DURATION, elapsed_s),
	REPORT("NODELIST", 0, 8, 0, "its nodes", TEXT_OR_DASH, nodelist),
	COLUMN("STATE", 9, 4, 0, "state: RUNNING SUSPENDED", state),
	FIELD("ACCOUNT", 10, 5, 0, "account of the job", TEXT, account),
	REPORT("NODES", 5, 0, NUM, "how many nodes it has", NUMBER, nodes),
	REPORT("TASKS", 5, 0, NUM, "how many tasks", NUMBER, tasks),
	REPORT("CPUS", 4, 0, NUM, "CPUs, on all its nodes", NUMBER, cpus),
	REPORT("GPUS", 4, 0, NUM, "GPUs, on all its nodes", NUMBER_OR_DASH, gpus),
	REPORT("START", 19, 0, TABLE_WHOLE, "when it started", TIME, start_time),
};

static void rank(const void *object, int64_t key[VIEW_RANK])
{
	STEP;

	key[0] = (int64_t)s->job;
	key[1] = (int64_t)s->task;
	key[2] = (int64_t)s->report->step;
	key[3] = 0;
}

const struct view_kind step_kind = {
	VIEW_COLUMNS(columns),
	.standard = "STEP,NAME,PARTITION,USER,TIME,NODELIST",
	.longer = "STEP,NAME,PARTITION,USER,STATE,TIME,NODES,TASKS,CPUS,GPUS,START,NODELIST",
	.rank = rank,
};

/* --- gacct --steps --------------------------------------------------------------------------- */

#define LINE                                        \
	const struct acct_step_line *l = object;    \
	const Gpusched__Acct *j = l->job;           \
	const Gpusched__StepReport *r = l->step ? l->step->report : NULL

SHOW(line_id)
{
	LINE;
	(void)r;
	if (l->step)
		view_step_id(cell, l->step);
	else
		view_job(cell, j->id, j->tasks, j->several);
}

CELL(line_name, LINE, view_text(cell, r ? r->name : j->name))
CELL(line_user, LINE, (void)r; view_text(cell, j->user))
CELL(line_account, LINE, (void)r; view_text(cell, j->account))
CELL(line_partition, LINE, (void)r; view_text(cell, j->partition))
CELL(line_attempt, LINE,
        (void)r; view_number(cell, (int64_t)(l->step ? l->step->attempt : j->attempts)))
CELL(line_state, LINE, (void)r; view_job_state(cell, l->step ? l->step->state : j->state))
CELL(line_exit, LINE,
        view_printf(cell, "%" PRIu32 ":%" PRIu32, r ? r->exit_code : j->exit_code,
                r ? r->exit_signal : j->exit_signal))
CELL(line_elapsed, LINE,
        (void)r; view_duration(cell, l->step ? l->step->elapsed_s : j->elapsed_s))
CELL(line_start, LINE, view_time(cell, r ? r->start_time : j->start_time))
CELL(line_end, LINE, view_time(cell, r ? r->end_time : j->end_time))
CELL(line_where, LINE, view_text_or_dash(cell, r ? r->nodelist : j->nodes))
CELL(line_nodes, LINE, view_number(cell, (int64_t)(r ? r->nodes : j->n_nodes)))
CELL(line_max_rss, LINE,
        view_size_mb(cell, ((r ? r->max_rss_kb : j->max_rss_kb) + 1023) / 1024))

SHOW(line_cpu_time)
{
	LINE;
	uint64_t us = r ? r->cpu_time_us : j->cpu_time_us;

	view_duration(cell, us / 1000000);
	cell->number = (int64_t)us;
}

/* What a job has no figure of. */
SHOW(line_tasks)
{
	LINE;
	(void)j;
	if (r)
		view_number(cell, (int64_t)r->tasks);
	else
		view_text(cell, "-");
}

CELL(line_cpus, LINE, view_number(cell, r ? (int64_t)r->cpus : (int64_t)j->cpus * j->n_nodes))

SHOW(line_gpus)
{
	LINE;

	if (r)
		view_number_or_dash(cell, (int64_t)r->gpus);
	else
		view_gpus(cell, j->gpus, j->n_gpus);
}

static const struct view_column line_columns[] = {
	COLUMN("JOBID", 9, 0, NUM, "the job's id; of a step, dot and its number", line_id),
	COLUMN("NAME", 10, 5, 0, "name", line_name),
	COLUMN("USER", 8, 4, 0, "owner", line_user),
	COLUMN("ACCOUNT", 9, 5, 0, "account", line_account),
	COLUMN("PARTITION", 9, 5, 0, "partition", line_partition),
	COLUMN("ATTEMPT", 7, 0, NUM, "which attempt; of a job how many", line_attempt),
	COLUMN("STATE", 9, 4, 0, "state: COMPLETED FAILED CANCELLED TIMEOUT RUNNING ...",
	        line_state),
	COLUMN("EXIT", 4, 0, NUM, "exit code:signal; of a step the highest of its tasks",
	        line_exit),
	COLUMN("ELAPSED", 7, 0, NUM, "time it ran", line_elapsed),
	COLUMN("CPUTIME", 8, 0, NUM, "CPU time that its tasks used", line_cpu_time),
	COLUMN("MAXRSS", 6, 0, NUM, "the most host memory: of a task, of a job on a node",
	        line_max_rss),
	COLUMN("TASKS", 5, 0, NUM, "tasks of a step", line_tasks),
	COLUMN("NODES", 5, 0, NUM, "how many nodes it had", line_nodes),
	COLUMN("CPUS", 4, 0, NUM, "CPUs, on all its nodes", line_cpus),
	COLUMN("GPUS", 7, 4, 0, "GPUs, on all its nodes", line_gpus),
	COLUMN("START", 19, 0, TABLE_WHOLE, "when it started", line_start),
	COLUMN("END", 19, 0, TABLE_WHOLE, "when it ended", line_end),
	COLUMN("NODELIST", 0, 6, 0, "its nodes", line_where),
};

static void line_rank(const void *object, int64_t key[VIEW_RANK])
{
	LINE;

	key[0] = (int64_t)j->id;
	key[1] = (int64_t)j->part;
	key[2] = l->step ? (int64_t)l->step->attempt : 0;
	key[3] = r ? (int64_t)r->step + 1 : 0;
}

const struct view_kind acct_step_kind = {
	VIEW_COLUMNS(line_columns),
	.standard = "JOBID,NAME,USER,STATE,EXIT,ELAPSED,CPUTIME,MAXRSS,TASKS,NODELIST",
	.longer = "JOBID,NAME,USER,ACCOUNT,PARTITION,ATTEMPT,STATE,EXIT,START,END,ELAPSED,CPUTIME,"
	          "MAXRSS,TASKS,CPUS,GPUS,NODES,NODELIST",
	.rank = line_rank,
};
