/* history_reader.c - see history_reader.h */
#include "config.h"

#include "ctld/store/history_reader.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/taskset.h"
#include "common/base/xalloc.h"
#include "ctld/core/records/job.h"
#include "ctld/core/rows/row_codec.h"
#include "ctld/store/db.h"

#define SLICE_RUNS 3000 /* runs that end a slice of jobs early */

struct past {
	struct db db;
	sqlite3_stmt *slices[SQL_PAST_COUNT];
	sqlite3_stmt *begin, *commit;
};

static struct past *past_new(const struct db *db, struct error *err)
{
	struct past *past = xcalloc(1, sizeof(*past));
	bool ok;

	past->db = *db;
	past->begin = db_prepare(&past->db, "BEGIN", err);
	ok = past->begin;
	if (ok)
		past->commit = db_prepare(&past->db, sql_statements[SQL_COMMIT], err);
	ok = ok && past->commit;
	for (int i = 0; ok && i < SQL_PAST_COUNT; i++) {
		char *text = sql_of_past(i);

		past->slices[i] = db_prepare(&past->db, text, err);
		ok = past->slices[i] != NULL;
		free(text);
	}
	if (ok)
		return past;
	past_close(past);
	return NULL;
}

struct past *past_open(const char *dir, struct error *err)
{
	char *path = xasprintf("%s/history.db", dir);
	struct db db;
	int rc = db_open_reading(&db, path, &sql_history_schema, err);

	free(path);
	return rc < 0 ? NULL : past_new(&db, err);
}

struct past *past_open_file(const char *path, struct error *err)
{
	struct db db;

	return db_open_file(&db, path, &sql_history_schema, err) < 0 ? NULL : past_new(&db, err);
}

int past_cluster(const struct past *past, char *name, size_t size, struct error *err)
{
	return db_ask(&past->db, sql_cluster_get, name, size, err);
}

/* The job with the highest id below `id`, and if it is an array whose tasks have ids, its tasks.
 * *job 0: there is none. */
static int job_below(
        struct past *past, uint64_t id, uint64_t *job, struct taskset *tasks, struct error *err)
{
	sqlite3_stmt *stmt = past->slices[PAST_JOB_BEFORE];
	struct row row = { .table = TABLE_JOB };
	uint32_t at_once;

	*job = 0;
	*tasks = (struct taskset){ 0 };
	sqlite3_bind_int64(stmt, 1, (int64_t)id);
	if (db_next(stmt, &row)) {
		*job = (uint64_t)row.v[COL_JOB_id].i;
		if (row.v[COL_JOB_raw_ids].i &&
		        taskset_parse_signed(row.v[COL_JOB_array].p, tasks, &at_once, NULL) < 0)
			*tasks = (struct taskset){ 0 };
	}
	return db_end(&past->db, stmt, err);
}

/* Has a job that id? 1, 0, -1. */
static int has_job(struct past *past, uint64_t id, struct error *err)
{
	db_bind_integers(past->slices[PAST_JOB], 1, (const int64_t[]){ (int64_t)id, -1, 1 }, 3);
	return db_integers(&past->db, past->slices[PAST_JOB], NULL, 0, err);
}

int past_task(struct past *past, uint64_t id, uint64_t *array, uint32_t *task, struct error *err)
{
	int has = has_job(past, id, err);
	struct taskset tasks;

	if (has)
		return has < 0 ? -1 : 0;
	if (job_below(past, id, array, &tasks, err) < 0)
		return -1;
	has = *array && id - *array <= tasks.count;
	if (has)
		*task = taskset_at(&tasks, (uint32_t)(id - *array - 1));
	taskset_clear(&tasks);
	return has;
}

int past_highest(struct past *past, uint64_t *job, uint64_t *event, struct error *err)
{
	struct taskset tasks;
	char text[24];

	if (job_below(past, INT64_MAX, job, &tasks, err) < 0 ||
	        db_ask(&past->db, sql_highest_event, text, sizeof(text), err) < 0)
		return -1;
	*job += tasks.count;
	taskset_clear(&tasks);
	*event = strtoull(text, NULL, 10);
	return 0;
}

void past_close(struct past *past)
{
	if (!past)
		return;
	for (int i = 0; i < SQL_PAST_COUNT; i++)
		sqlite3_finalize(past->slices[i]);
	sqlite3_finalize(past->begin);
	sqlite3_finalize(past->commit);
	db_close(&past->db);
	free(past);
}

/* --- runs ----------------------------------------------------------------------------------- */

/* All runs of a job behind its row; of an array only its tasks have any. */
static int add_runs(struct past *past, const struct row *job, struct store_batch *out, unsigned *n,
        struct error *err)
{
	sqlite3_stmt *stmt = past->slices[PAST_RUNS];
	struct row row = { .table = TABLE_RUN };
	int64_t part = job->v[COL_JOB_part].i;
	/* from the first attempt and rank on, without a limit */
	const int64_t keys[] = { job->v[COL_JOB_id].i, part ? part - 1 : 0, -1, -1, -1 };

	if (part >= JOB_PART_RANGES || (!part && job->v[COL_JOB_array].n))
		return 0;
	db_bind_integers(stmt, 1, keys, 5);
	while (db_next(stmt, &row)) {
		store_batch_row(out, &row);
		++*n;
	}
	return db_end(&past->db, stmt, err);
}

int past_steps(struct past *past, const struct past_steps *of, struct past_cursor *cursor,
        unsigned max, struct store_batch *out, struct error *err)
{
	sqlite3_stmt *stmt = past->slices[PAST_STEPS];
	struct row row = { .table = TABLE_STEP };
	unsigned n = 0;
	const int64_t keys[] = { (int64_t)of->job, of->task, cursor->begun ? cursor->id : -1,
		cursor->begun ? cursor->part : -1, max };

	db_bind_integers(stmt, 1, keys, 5);
	while (db_next(stmt, &row)) {
		cursor->begun = true;
		cursor->id = row.v[COL_STEP_attempt].i;
		cursor->part = row.v[COL_STEP_step].i;
		store_batch_row(out, &row);
		n++;
	}
	cursor->end = n < max;
	return db_end(&past->db, stmt, err);
}

/* All steps of a job behind its row and its runs. */
static int add_steps(struct past *past, const struct row *job, struct store_batch *out,
        unsigned *n, struct error *err)
{
	int64_t part = job->v[COL_JOB_part].i;
	const struct past_steps of = { (uint64_t)job->v[COL_JOB_id].i,
		(uint32_t)(part ? part - 1 : 0) };
	struct past_cursor cursor = { 0 };

	if (part >= JOB_PART_RANGES || (!part && job->v[COL_JOB_array].n))
		return 0;
	while (!cursor.end) {
		if (past_steps(past, &of, &cursor, PAST_SLICE, out, err) < 0)
			return -1;
		*n += cursor.end ? 0 : PAST_SLICE;
	}
	return 0;
}

/* --- jobs ----------------------------------------------------------------------------------- */

struct slice {
	struct past *past;
	const struct past_query *query;
	struct past_cursor *cursor;
	struct store_batch *out;
	unsigned left, runs; /* jobs that may still be looked at; runs that were read */
};

/* The statement for what stands at the cursor, bound. */
static sqlite3_stmt *bind_jobs(const struct slice *s)
{
	static const enum sql_past statements[] = {
		[PAST_BY_TIME] = PAST_JOBS,
		[PAST_BY_USER] = PAST_JOBS_OF_USER,
		[PAST_BY_ACCOUNT] = PAST_JOBS_OF_ACCOUNT,
		[PAST_BY_ID] = PAST_JOB,
	};
	const struct past_query *q = s->query;
	sqlite3_stmt *stmt = s->past->slices[statements[q->by]];
	int at = 1;

	if (q->by == PAST_BY_ID) {
		sqlite3_bind_int64(stmt, at++, (int64_t)q->ids[s->cursor->at]);
		sqlite3_bind_int64(stmt, at++, s->cursor->begun ? s->cursor->part : -1);
	} else {
		if (q->by != PAST_BY_TIME)
			sqlite3_bind_text(stmt, at++, q->keys[s->cursor->at], -1, SQLITE_STATIC);
		sqlite3_bind_int64(stmt, at++, s->cursor->begun ? s->cursor->time : q->since);
		sqlite3_bind_int64(stmt, at++, s->cursor->begun ? s->cursor->id : -1);
		sqlite3_bind_int64(stmt, at++, s->cursor->begun ? s->cursor->part : -1);
	}
	sqlite3_bind_int64(stmt, at, s->left);
	return stmt;
}

/* Read on at the present key. 1: it has more, 0: it is done with. */
static int read_key(struct slice *s, struct error *err)
{
	sqlite3_stmt *stmt = bind_jobs(s);
	struct row row = { .table = TABLE_JOB };
	int rc = 0;

	while (rc == 0 && s->left && s->runs < SLICE_RUNS && db_next(stmt, &row)) {
		s->left--;
		s->cursor->begun = true;
		s->cursor->id = row.v[COL_JOB_id].i;
		s->cursor->part = row.v[COL_JOB_part].i;
		s->cursor->time = row.v[COL_JOB_end_time].i;
		if (!s->query->wants(s->query->arg, &row))
			continue;
		store_batch_row(s->out, &row);
		if (add_runs(s->past, &row, s->out, &s->runs, err) < 0 ||
		        (s->query->with_steps &&
		                add_steps(s->past, &row, s->out, &s->runs, err) < 0))
			rc = -1;
	}
	if (db_end(&s->past->db, stmt, rc < 0 ? NULL : err) < 0 || rc < 0)
		return -1;
	return !s->left || s->runs >= SLICE_RUNS;
}

static int read_jobs(struct slice *s, struct error *err)
{
	struct past_cursor *cursor = s->cursor;
	size_t n = s->query->by == PAST_BY_TIME ? 1 : s->query->n;

	while (cursor->at < n && s->left && s->runs < SLICE_RUNS) {
		int more = read_key(s, err);

		if (more < 0)
			return -1;
		if (more)
			break;
		cursor->at++;
		cursor->begun = false;
		s->left -= s->left > 0; /* also a key without jobs costs something */
	}
	cursor->end = cursor->at == n;
	return 0;
}

/* A slice sees one moment, and ends before it returns. */
static int within_transaction(struct past *past, int (*read)(struct slice *, struct error *),
        struct slice *s, struct error *err)
{
	int rc = db_run(&past->db, past->begin, NULL, err);

	if (rc < 0)
		return -1;
	rc = read(s, err);
	if (db_run(&past->db, past->commit, NULL, rc < 0 ? NULL : err) < 0)
		rc = -1;
	return rc;
}

int past_jobs(struct past *past, const struct past_query *query, struct past_cursor *cursor,
        unsigned max, struct store_batch *out, struct error *err)
{
	struct slice s = { past, query, cursor, out, max, 0 };

	return within_transaction(past, read_jobs, &s, err);
}

/* --- events --------------------------------------------------------------------------------- */

int past_events(struct past *past, const struct past_events *query, struct past_cursor *cursor,
        unsigned max, struct store_batch *out, struct error *err)
{
	enum sql_past which = query->capacity              ? PAST_CAPACITIES
	                      : query->by_seq              ? PAST_EVENTS_AFTER
	                      : query->job                 ? PAST_EVENTS_OF_JOB
	                      : query->uid != PAST_ANYBODY ? PAST_EVENTS_OF_USER
	                                                   : PAST_EVENTS;
	sqlite3_stmt *stmt = past->slices[which];
	struct row row = { .table = TABLE_EVENT };
	unsigned n = 0;
	int at = 1;

	if (which == PAST_EVENTS_OF_JOB || which == PAST_EVENTS_OF_USER)
		sqlite3_bind_int64(stmt, at++, query->job ? (int64_t)query->job : query->uid);
	if (which != PAST_EVENTS_AFTER)
		sqlite3_bind_int64(stmt, at++, cursor->begun ? cursor->time : query->since);
	sqlite3_bind_int64(stmt, at++,
	        cursor->begun   ? cursor->id
	        : query->by_seq ? (int64_t)query->after
	                        : -1);
	sqlite3_bind_int64(stmt, at, max);
	while (db_next(stmt, &row)) {
		if (query->until && !query->by_seq && row.v[COL_EVENT_time].i >= query->until)
			break;
		cursor->begun = true;
		cursor->id = row.v[0].i;
		cursor->time = row.v[COL_EVENT_time].i;
		n++;
		if ((query->uid == PAST_ANYBODY || row.v[COL_EVENT_uid].i == query->uid) &&
		        (!query->job || row.v[COL_EVENT_job].i == (int64_t)query->job))
			store_batch_row(out, &row);
	}
	cursor->end = n < max;
	return db_end(&past->db, stmt, err);
}
