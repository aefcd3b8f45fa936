/* job_rows.c - job.h: a job's record as a row, and back
 *
 * The plain columns go through one table of the codec for both ways. The others are derived or are
 * more than a number: the state as a word, the request, labels and tasks as texts, the array's
 * numbers, the nonce. A row is believed in nothing: every value that the rest of the core would index
 * or assert with is checked here, and the error names the column, because a row that does not load
 * stops the start. Rows come in order of id, an array parent before its parts.
 */
#include "ctld/core/records/job.h"

#include "ctld/core/records/job_impl.h"
#include "ctld/core/records/job_partitions.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/xalloc.h"
#include "common/job/depend.h"
#include "ctld/core/rows/row_codec.h"
#include "ctld/core/util/idmap.h"

#define F(field) [COL_JOB_##field] = COLUMN(struct job, info.field)
static const struct codec_column columns[COL_JOB_COUNT] = {
	F(id), F(uid), F(gid), F(user), F(account), F(partition), F(name), F(hold), F(cpus),
	F(mem_mb), F(time_limit_s), F(warn_signal), F(warn_before_s), F(requeue), F(nice),
	F(submit_host), F(cwd), F(output), F(error), F(array), F(sign_time), F(submit_time),
	F(start_time), F(end_time), F(attempt), F(max_attempts), F(exit_code), F(exit_signal),
	F(end_cause), F(comment), F(qos), F(max_wait_s), F(planned_start), F(begin_time),
	F(deadline), F(depends), F(kill_invalid), F(remark), F(mail_types), F(mail_user),
	F(requeue_on), F(requeue_delay_s), [COL_JOB_limit_cut] = COLUMN(struct job, info.limit_set),
	F(part), F(steps), F(raw_ids), F(partitions), F(partition_needs), F(eligible_time),
	F(show_output),
	/* the job's own: state, gpus, place, labels, nonce, spec_hash, tasks, and the array's */
};
#undef F

void job_encode(const struct job *job, struct row *row, enum row_change change)
{
	const struct job_info *i = &job->info;
	const struct array *a = job->link.array;

	row_begin(row, TABLE_JOB, change);
	codec_encode(columns, job, row);
	if (change != ROW_PUT)
		return;
	row->v[COL_JOB_state] = value_text(job_state_name(i->state));
	row->v[COL_JOB_gpus] = value_text(i->gpus->text);
	row->v[COL_JOB_place] = value_text(i->gpus->place);
	row->v[COL_JOB_labels] = value_text(i->labels->text);
	row->v[COL_JOB_nonce] = value_blob(i->nonce->nonce, NONCE_BYTES);
	row->v[COL_JOB_spec_hash] = nonce_hashes(i->nonce);
	row->v[COL_JOB_tasks] = value_text(job_tasks_text(job));
	row->v[COL_JOB_at_once] = value_int(a ? a->at_once : 0);
	row->v[COL_JOB_next_part] = value_int(a ? a->next_part : 0);
	row->v[COL_JOB_tasks_ended] = value_int(a ? a->ended : 0);
	row->v[COL_JOB_tasks_failed] = value_int(a ? a->failed : 0);
	row->v[COL_JOB_tasks_cancelled] = value_int(a ? a->cancelled : 0);
}

static int decode_state(struct job *job, const struct row *row, struct error *err)
{
	const struct value *v = &row->v[COL_JOB_state];

	for (int s = 0; s < JOB_STATE_COUNT; s++) {
		const char *name = job_state_name((enum job_state)s);

		if (strlen(name) == v->n && !memcmp(name, v->p, v->n)) {
			job->info.state = (uint8_t)s;
			return 0;
		}
	}
	return row_error(row, COL_JOB_state, err, "no such state");
}

/* A text of a row with its NUL; `buf` holds it. */
static const char *row_text(const struct value *v, char *buf, size_t size)
{
	size_t n = v->n < size ? v->n : size - 1;

	memcpy(buf, v->p, n);
	buf[n] = '\0';
	return buf;
}

static int decode_request(
        struct jobs *jobs, struct job *job, const struct row *row, struct error *err)
{
	const struct value *gpus = &row->v[COL_JOB_gpus], *place = &row->v[COL_JOB_place];
	char *gpus_text = xstrndup(gpus->p, gpus->n), *place_text = xstrndup(place->p, place->n);

	job->info.gpus = requests_parse(jobs->requests, gpus_text, place_text, err);
	free(gpus_text);
	free(place_text);
	return job->info.gpus ? 0 : -1;
}

static int array_number(
        const struct row *row, enum job_column column, uint32_t max, uint32_t *n, struct error *err)
{
	int64_t i = row->v[column].i;

	if (i < 0 || i > max)
		return row_error(row, column, err, "out of range");
	*n = (uint32_t)i;
	return 0;
}

/* An array parent. */
static int decode_array(struct job *job, const struct row *row, struct error *err)
{
	struct array *a = job->link.array = array_blank();
	uint32_t at_once;

	if (taskset_parse_signed(job->info.array, &a->all, &at_once, NULL) < 0)
		return row_error(row, COL_JOB_array, err, "no tasks");
	return array_number(row, COL_JOB_at_once, TASK_MAX + 1, &a->at_once, err) < 0 ||
	                       array_number(row, COL_JOB_next_part, JOB_PART_LAST, &a->next_part,
	                               err) < 0 ||
	                       array_number(row, COL_JOB_tasks_ended, TASK_MAX + 1, &a->ended,
	                               err) < 0 ||
	                       array_number(row, COL_JOB_tasks_failed, TASK_MAX + 1, &a->failed,
	                               err) < 0 ||
	                       array_number(row, COL_JOB_tasks_cancelled, TASK_MAX + 1,
	                               &a->cancelled, err) < 0
	               ? -1
	               : 0;
}

static int decode_tasks(struct job *job, const struct row *row, struct error *err)
{
	const struct value *v = &row->v[COL_JOB_tasks];
	char *text;
	int rc;

	if (!*job->info.array)
		return v->n || job->info.part ? row_error(row, COL_JOB_tasks, err, "it is no array")
		                              : 0;
	if (!job->info.part && decode_array(job, row, err) < 0)
		return -1;
	if (job_is_task(job))
		return 0;
	job->of.tasks = xcalloc(1, sizeof(*job->of.tasks));
	if (!v->n && !job->info.part)
		return 0;
	text = xstrndup(v->p, v->n);
	rc = taskset_parse_kept(text, &job->of.tasks->set, err);
	free(text);
	return rc < 0 ? row_error(row, COL_JOB_tasks, err, "no tasks") : 0;
}

/* A part has no nonce of its own: it borrows its array parent's, whose row came before. */
static int decode_nonce(
        struct jobs *jobs, struct job *job, const struct row *row, struct error *err)
{
	const struct value *nonce = &row->v[COL_JOB_nonce], *hash = &row->v[COL_JOB_spec_hash];
	struct job_info *i = &job->info;
	const struct nonce *of;

	if (!i->part) {
		i->nonce = nonces_load_job(
		        jobs->nonces, i->uid, nonce->p, hash, i->id, i->submit_time, err);
		return i->nonce ? 0 : -1;
	}
	job->link.own = idmap_find(jobs->map, i->id);
	if (!job->link.own || !job->link.own->link.array)
		return row_error(row, COL_JOB_part, err, "there is no such array");
	of = job->link.own->info.nonce;
	/* The hash of a part that had ended may be of a spec that was changed since. */
	if (memcmp(of->nonce, nonce->p, NONCE_BYTES))
		return row_error(row, COL_JOB_nonce, err, "not that of its array");
	i->nonce = of;
	return 0;
}

static int decode_own(struct jobs *jobs, struct job *job, const struct row *row, struct error *err)
{
	const struct value *v = row->v;
	char buf[MAX_LABEL_BYTES];
	struct job_info *i = &job->info;
	struct depend depend;

	if (decode_state(job, row, err) < 0)
		return -1;
	if (i->hold > HOLD_SIGNATURE)
		return row_error(row, COL_JOB_hold, err, "no such kind of hold");
	if (i->end_cause > END_CAUSE_LAST)
		return row_error(row, COL_JOB_end_cause, err, "no such cause");
	if (!job_choices_valid(i->partitions, i->partition_needs))
		return row_error(row, COL_JOB_partitions, err, "not as they are kept");
	if (i->kill_invalid > KILL_NO)
		return row_error(row, COL_JOB_kill_invalid, err, "no such choice");
	if (depend_parse(i->depends, true, &depend, err) < 0)
		return row_error(row, COL_JOB_depends, err, "not as it is kept");
	depend_clear(&depend);
	if (v[COL_JOB_nonce].n != NONCE_BYTES)
		return row_error(row, COL_JOB_nonce, err, "wrong length");
	if (!nonce_hashes_fit(&v[COL_JOB_spec_hash]))
		return row_error(row, COL_JOB_spec_hash, err, "wrong length");
	if (decode_request(jobs, job, row, err) < 0)
		return -1;
	i->labels = labels_parse(jobs->labels, row_text(&v[COL_JOB_labels], buf, sizeof(buf)), err);
	if (!i->labels)
		return -1;
	return decode_tasks(job, row, err) < 0 ? -1 : decode_nonce(jobs, job, row, err);
}

/* The job is not in any table before all of its row was checked. */
int jobs_load(struct jobs *jobs, const struct row *row, struct error *err)
{
	struct job *job = job_new_blank();

	if (codec_decode(columns, job, row, jobs->strings, err) < 0 ||
	        decode_own(jobs, job, row, err) < 0)
		goto fail;
	if (jobs_take_in(jobs, job) < 0) {
		row_error(row, COL_JOB_id, err, "not above the one before");
		goto fail;
	}
	return 0;
fail:
	job_free(jobs, job);
	return -1;
}

/* Compared as rows, so that a new column cannot be forgotten. Left out is what gathering tasks may
 * change: the part, dependencies, the planned start, the begin time, since when it is eligible. */
bool job_alike(const struct job *a, const struct job *b)
{
	const struct job_info *x = &a->info, *y = &b->info;
	struct row r, s;

	if (x->gpus != y->gpus || x->labels != y->labels || x->state != y->state ||
	        a->link.expired != b->link.expired)
		return false;
	row_begin(&r, TABLE_JOB, ROW_PUT);
	row_begin(&s, TABLE_JOB, ROW_PUT);
	codec_encode(columns, a, &r);
	codec_encode(columns, b, &s);
	for (size_t n = 0; n < COL_JOB_COUNT; n++) {
		const struct value *v = &r.v[n], *w = &s.v[n];
		bool text = columns[n].codec == CODEC_TEXT;

		if (columns[n].codec == CODEC_OWN || n == COL_JOB_part || n == COL_JOB_depends ||
		        n == COL_JOB_planned_start || n == COL_JOB_begin_time ||
		        n == COL_JOB_eligible_time)
			continue;
		if (text ? v->p != w->p : v->i != w->i) /* a kept text is there once */
			return false;
	}
	return true;
}
