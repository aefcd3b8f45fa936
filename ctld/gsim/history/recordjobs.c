/* recordjobs.c - histories out of what `gctld --record` wrote
 *
 * The record is played (replay_recorded.h), and the last row that the core gave up of each job and
 * each run is kept in tables of our own, which are then read as a controller's history.db is. What
 * had not ended when the record ends has no duration.
 */
#include <stdlib.h>
#include <string.h>

#include "ctld/core/records/job.h"
#include "ctld/core/rows/row_codec.h"
#include "ctld/gsim/history/acctjobs.h"
#include "ctld/gsim/replay_recorded.h"

/* What is kept of the core's rows; acctjobs.c says what for. The key's columns come first. */
#define JOB_KEPT(X)          \
	X(JOB, id)           \
	X(JOB, part)         \
	X(JOB, submit_time)  \
	X(JOB, user)         \
	X(JOB, account)      \
	X(JOB, partition)    \
	X(JOB, time_limit_s) \
	X(JOB, gpus)         \
	X(JOB, array)        \
	X(JOB, attempt)      \
	X(JOB, state)        \
	X(JOB, labels)       \
	X(JOB, qos)          \
	X(JOB, max_wait_s)   \
	X(JOB, begin_time)   \
	X(JOB, hold)         \
	X(JOB, end_time)     \
	X(JOB, eligible_time)
#define RUN_KEPT(X)          \
	X(RUN, job)          \
	X(RUN, task)         \
	X(RUN, attempt)      \
	X(RUN, rank)         \
	X(RUN, gpus)         \
	X(RUN, cpus)         \
	X(RUN, mem_mb)       \
	X(RUN, elapsed_us)   \
	X(RUN, start_time)   \
	X(RUN, gpu_type)     \
	X(RUN, share_charge) \
	X(RUN, health)       \
	X(RUN, ready_time)   \
	X(RUN, gpu_seen_us)  \
	X(RUN, gpu_busy_us)  \
	X(RUN, gpu_idle_us)  \
	X(RUN, cost_u)       \
	X(RUN, gpu_mem_mbs)

/* `kept` ends the lists, which have a comma behind each name. */
#define NAMED(table, name)    #name ", "
#define WANTED(table, name)   "?, "
#define POSITION(table, name) COL_##table##_##name,

#define MAKE(name, list, key)                                                \
	"CREATE TABLE " name " (" list(NAMED) "kept, PRIMARY KEY (" key "))" \
	                                      " WITHOUT ROWID;"
#define PUT(name, list) \
	"INSERT OR REPLACE INTO " name " (" list(NAMED) "kept) VALUES (" list(WANTED) "1)"

static const char schema[] =
        MAKE("job", JOB_KEPT, "id, part") MAKE("run", RUN_KEPT, "job, task, attempt, rank");

/* A table of ours: which columns of the core's row, in its order. */
struct kept {
	enum row_table table;
	const char *put;
	const unsigned char *columns;
	size_t n;
};

static const unsigned char job_columns[] = { JOB_KEPT(POSITION) };
static const unsigned char run_columns[] = { RUN_KEPT(POSITION) };

static const struct kept kept[] = {
	{ TABLE_JOB, PUT("job", JOB_KEPT), job_columns, sizeof(job_columns) },
	{ TABLE_RUN, PUT("run", RUN_KEPT), run_columns, sizeof(run_columns) },
};
#define KEPT (sizeof(kept) / sizeof(kept[0]))

/* A job of a bulk that was undone counts as never submitted. */
static const char drop[] = "DELETE FROM job WHERE id = ? AND part = ?";

static const char forget_open[] =
        "UPDATE run SET elapsed_us = NULL WHERE EXISTS (SELECT 1 FROM job j "
        "WHERE j.id = run.job AND max(j.part - 1, 0) = run.task "
        "AND NOT ended(j.state))";

struct taking {
	sqlite3 *db;
	sqlite3_stmt *put[KEPT], *drop;
	bool failed;
};

static void step(struct taking *t, sqlite3_stmt *s)
{
	t->failed |= sqlite3_step(s) != SQLITE_DONE;
	sqlite3_reset(s);
}

static void bind(struct taking *t, sqlite3_stmt *s, int at, const struct value *v)
{
	int rc = v->type == VALUE_INT ? sqlite3_bind_int64(s, at, v->i)
	                              : sqlite3_bind_text(s, at, v->p, (int)v->n, SQLITE_TRANSIENT);

	t->failed |= rc != SQLITE_OK;
}

static void take_row(void *arg, const struct row *row)
{
	struct taking *t = arg;
	size_t k, c;

	for (k = 0; k < KEPT && kept[k].table != row->table; k++)
		;
	if (k == KEPT || t->failed)
		return;
	if (row->change == ROW_PUT) {
		for (c = 0; c < kept[k].n; c++)
			bind(t, t->put[k], (int)c + 1, &row->v[kept[k].columns[c]]);
		step(t, t->put[k]);
	} else if (row->change == ROW_DELETE && row->table == TABLE_JOB) {
		bind(t, t->drop, 1, &row->v[COL_JOB_id]);
		bind(t, t->drop, 2, &row->v[COL_JOB_part]);
		step(t, t->drop);
	}
}

static void is_ended(sqlite3_context *c, int n, sqlite3_value **v)
{
	const char *name = (const char *)sqlite3_value_text(v[0]);
	int ended = 0, s;

	(void)n;
	for (s = 0; name && s < JOB_STATE_COUNT; s++) {
		if (!strcmp(job_state_name((enum job_state)s), name))
			ended = job_state_ended((enum job_state)s);
	}
	sqlite3_result_int(c, ended);
}

static int database_error(sqlite3 *db, const char *path, struct error *err)
{
	return error_set(err, ERR_SYSTEM, "%s: its jobs: %s", path, sqlite3_errmsg(db));
}

static bool prepare(struct taking *t)
{
	bool ok = sqlite3_exec(t->db, schema, NULL, NULL, NULL) == SQLITE_OK &&
	          sqlite3_exec(t->db, "BEGIN", NULL, NULL, NULL) == SQLITE_OK &&
	          sqlite3_create_function(t->db, "ended", 1, SQLITE_UTF8, NULL, is_ended, NULL,
	                  NULL) == SQLITE_OK &&
	          sqlite3_prepare_v2(t->db, drop, -1, &t->drop, NULL) == SQLITE_OK;
	size_t k;

	for (k = 0; k < KEPT && ok; k++)
		ok = sqlite3_prepare_v2(t->db, kept[k].put, -1, &t->put[k], NULL) == SQLITE_OK;
	return ok;
}

static int take_record(struct taking *t, const char *path, struct error *err)
{
	const struct replay_recorded_options how = { .row = take_row, .arg = t };

	if (!prepare(t))
		return database_error(t->db, path, err);
	if (replay_recorded(path, &how, NULL, err) < 0)
		return -1;
	if (t->failed || sqlite3_exec(t->db, forget_open, NULL, NULL, NULL) != SQLITE_OK ||
	        sqlite3_exec(t->db, "COMMIT", NULL, NULL, NULL) != SQLITE_OK)
		return database_error(t->db, path, err);
	return 0;
}

static void *record_open(const char *path, const struct history_options *o, struct error *err)
{
	struct taking t = { .db = NULL };
	size_t k;
	int rc;

	/* A database without a name: SQLite keeps it in memory, and what is too much in a file. */
	if (sqlite3_open("", &t.db) != SQLITE_OK)
		rc = database_error(t.db, path, err);
	else
		rc = take_record(&t, path, err);
	for (k = 0; k < KEPT; k++)
		sqlite3_finalize(t.put[k]);
	sqlite3_finalize(t.drop);
	if (rc == 0)
		return acct_begin(t.db, path, o, err);
	sqlite3_close(t.db);
	return NULL;
}

const struct history_reader history_record = { record_open, acct_next, acct_close };
