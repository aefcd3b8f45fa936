/* foreign.c - see foreign.h
 *
 * A run of a job that the database does not know has used GPUs, so it is billed, and history gets
 * a job of what the run itself says (struct run_owner). The run's row is made when it is over, the
 * job's when no known run of its attempt lives any more; a run that failed by itself decides how
 * the job ended. The rows wait here for the next seal: there is no job object that could be dirty.
 */
#include "ctld/core/runs/foreign.h"

#include <stdio.h>
#include <stdlib.h>

#include "common/base/xalloc.h"
#include "common/job/run.h"
#include "ctld/core/attempts/attempt.h"
#include "ctld/core/attempts/attempt_outcome.h"
#include "ctld/core/attempts/bill.h"
#include "ctld/core/records/job.h"
#include "ctld/core/records/node.h"
#include "ctld/core/records/run.h"
#include "ctld/core/rows/dirty.h"
#include "ctld/core/rows/event.h"
#include "ctld/core/rows/kept_rows.h"
#include "ctld/core/rows/row_codec.h"
#include "ctld/core/rows/state.h"

struct foreign {
	struct run **kept;
	size_t n_kept, kept_size;
};

struct foreign *foreign_new(void)
{
	return xcalloc(1, sizeof(struct foreign));
}

void foreign_free(struct foreign *f)
{
	if (!f)
		return;
	free(f->kept);
	free(f);
}

/* --- rows ------------------------------------------------------------------------------------ */

/* Keeps a whole row that goes to history. */
static void keep_row(struct core *core, struct row *row)
{
	row->change = ROW_RETIRE;
	kept_rows_add(core->kept_rows, row);
}

/* A row whose columns are all 0 or empty: what a run does not say of its job stays so. */
static void row_blank(struct row *row, enum row_table table)
{
	row_begin(row, table, ROW_PUT);
	for (size_t i = 0; i < row->n; i++) {
		row->v[i] = value_text("");
		row->v[i].type = row_column_type(table, i);
		if (row->v[i].type == VALUE_INT)
			row->v[i] = value_int(0);
	}
}

static void say_gpus(const struct run *run, char *text, size_t size)
{
	const struct run_info *i = run_info(run);

	text[0] = '\0';
	if (i->gpus)
		snprintf(text, size, "%s:%d", i->gpu_type, __builtin_popcountll(i->gpus));
}

/* Writes the job's row from what one of its runs says. */
static void put_job(struct core *core, const struct run *run)
{
	const struct run_info *i = run_info(run);
	const struct run_past *past = run_past(run);
	const struct run_owner *o = run_owner(run);
	enum job_state state = job_state_of_end((enum end_cause)i->end_cause, past->exit_code,
	        past->exit_signal);
	char gpus[128], user[32], task[16];
	struct row row;

	say_gpus(run, gpus, sizeof(gpus));
	snprintf(user, sizeof(user), "uid %u", i->uid);
	snprintf(task, sizeof(task), "%u", i->id.task);
	row_blank(&row, TABLE_JOB);
	row.v[COL_JOB_id] = value_int((int64_t)i->id.job);
	row.v[COL_JOB_part] = value_int(*o->array ? i->id.task + 1 : 0);
	row.v[COL_JOB_uid] = value_int(i->uid);
	row.v[COL_JOB_gid] = value_int(o->gid);
	row.v[COL_JOB_user] = value_text(*o->user ? o->user : user);
	row.v[COL_JOB_account] = value_text(i->account);
	row.v[COL_JOB_partition] = value_text(o->partition);
	row.v[COL_JOB_qos] = value_text(o->qos);
	row.v[COL_JOB_name] = value_text(o->name);
	row.v[COL_JOB_array] = value_text(o->array);
	row.v[COL_JOB_tasks] = value_text(*o->array ? task : "");
	row.v[COL_JOB_state] = value_text(job_state_name(state));
	row.v[COL_JOB_gpus] = value_text(gpus);
	row.v[COL_JOB_cpus] = value_int(i->cpus);
	row.v[COL_JOB_mem_mb] = value_int((int64_t)i->mem_mb);
	row.v[COL_JOB_submit_time] = value_int(i->order_time);
	row.v[COL_JOB_start_time] = value_int(i->start_time);
	row.v[COL_JOB_end_time] = value_int(past->end_time);
	row.v[COL_JOB_attempt] = value_int(i->id.attempt);
	row.v[COL_JOB_max_attempts] = value_int(i->id.attempt);
	row.v[COL_JOB_exit_code] = value_int(past->exit_code);
	row.v[COL_JOB_exit_signal] = value_int(past->exit_signal);
	row.v[COL_JOB_end_cause] = value_int(i->end_cause);
	row.v[COL_JOB_comment] =
	        value_text("from before the controller was restored from a backup");
	keep_row(core, &row);
}

/* The next known rank of its attempt, from *rank on; NULL: there is none. */
static const struct run *next_rank(const struct core *core, const struct run *run, uint32_t *rank)
{
	struct run_id id = run_info(run)->id;

	for (; *rank < run_info(run)->nodes; ++*rank) {
		const struct run *other;

		id.rank = *rank;
		other = id.rank == run_info(run)->id.rank ? NULL : runs_find(core->runs, id);
		if (other)
			return other;
	}
	return NULL;
}

static bool ended_by_itself(const struct run *run)
{
	return run_info(run)->state == RUN_ENDED && run_info(run)->end_cause <= END_EXIT;
}

void foreign_over(struct core *core, struct run *run)
{
	const struct run *other, *decisive = run;
	struct row row;
	bool alive = false;

	foreign_keep(core, run);
	run_encode(run, &row, ROW_PUT);
	keep_row(core, &row);
	dirty_touch(core->dirty);
	/* The job's record is written when the last run of the attempt is over. A run that failed
	 * by itself decides how the job ended. */
	for (uint32_t rank = 0; (other = next_rank(core, run, &rank)); rank++) {
		alive |= !run_over(other);
		if (ended_by_itself(other) &&
		        (!ended_by_itself(decisive) || !run_ended_well(other)))
			decisive = other;
	}
	if (!alive)
		put_job(core, decisive);
}

/* --- how long they stay ---------------------------------------------------------------------- */

void foreign_keep(struct core *core, struct run *run)
{
	struct foreign *f = core->foreign;

	*XADD(f->kept, f->n_kept, f->kept_size) = run;
}

static bool names(const struct core_event *e, struct run_id id)
{
	for (size_t i = 0; e && i < e->agent_up.n_runs; i++) {
		if (run_id_equal(&e->agent_up.runs[i].run, &id))
			return true;
	}
	return false;
}

/* A node that registers names all the runs that it has a record of. A foreign run that it does not
 * name any more will not be reported again, so it may go. */
void foreign_forgotten(struct core *core, const struct node *node, const struct core_event *e)
{
	struct foreign *f = core->foreign;
	size_t i, left = 0;

	if (e && e->agent_up.more_runs)
		return;
	for (i = 0; i < f->n_kept; i++) {
		const struct run_info *info = run_info(f->kept[i]);

		if (info->node == node_info(node)->name && !names(e, info->id))
			run_retire(core, f->kept[i]);
		else
			f->kept[left++] = f->kept[i];
	}
	f->n_kept = left;
}
