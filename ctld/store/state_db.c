/* state_db.c - see state_db.h; the signed bytes of jobs are in job_scripts.c */
#include "config.h"

#include "ctld/store/state_db.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/failpoint.h"
#include "common/base/xalloc.h"
#include "ctld/core/rows/row_codec.h"
#include "ctld/store/state_db_impl.h"

int state_run(struct state *state, enum sql_statement which, int64_t *number, struct error *err)
{
	return db_run(&state->db, state->other[which], number, err);
}

/* Run a statement whose parameters are integers. */
int state_run_ints(struct state *state, enum sql_statement which, int64_t a, int64_t b,
        int64_t *number, struct error *err)
{
	sqlite3_stmt *stmt = state->other[which];

	sqlite3_bind_int64(stmt, 1, a);
	if (sqlite3_bind_parameter_count(stmt) > 1)
		sqlite3_bind_int64(stmt, 2, b);
	return db_run(&state->db, stmt, number, err);
}

/* The integers of the row with that key: db_integers(). */
int state_ask(struct state *state, enum sql_statement which, int64_t key, int64_t *v, size_t n,
        struct error *err)
{
	sqlite3_bind_int64(state->other[which], 1, key);
	return db_integers(&state->db, state->other[which], v, n, err);
}

/* ---- opening ---- */

static int prepare_all(struct state *state, struct error *err)
{
	for (int t = 0; t < TABLE_COUNT; t++)
		for (int i = 0; i < SQL_KEPT; i++)
			if (db_prepare_table(&state->db, t, i, &state->tables[t][i], err) < 0)
				return -1;
	for (int i = 0; i < SQL_STATEMENT_COUNT; i++) {
		state->other[i] = db_prepare(&state->db, sql_statements[i], err);
		if (!state->other[i])
			return -1;
	}
	return 0;
}

static int count_ended(struct state *state, struct error *err)
{
	for (int t = 0; t < TABLE_COUNT; t++) {
		sqlite3_stmt *stmt = state->tables[t][SQL_ENDED_COUNT];
		int64_t n = 0;

		if (stmt && db_run(&state->db, stmt, &n, err) < 0)
			return -1;
		state->ended += (uint64_t)n;
	}
	return 0;
}

struct state *state_open(const char *path, const char *vfs, const char *cluster, struct error *err)
{
	struct state *state = xcalloc(1, sizeof(*state));

	if (db_open(&state->db, path, vfs, &sql_state_schema, err) < 0) {
		free(state);
		return NULL;
	}
	if (db_cluster(&state->db, cluster, err) < 0 ||
	        prepare_all(state, err) < 0 || count_ended(state, err) < 0 ||
	        state_run(state, SQL_PIECE_MAX, &state->last_piece, err) < 0) {
		state_close(state);
		return NULL;
	}
	return state;
}

void state_close(struct state *state)
{
	if (!state)
		return;
	for (int t = 0; t < TABLE_COUNT; t++)
		for (int i = 0; i < SQL_KEPT; i++)
			sqlite3_finalize(state->tables[t][i]);
	for (int i = 0; i < SQL_STATEMENT_COUNT; i++)
		sqlite3_finalize(state->other[i]);
	db_close(&state->db);
	free(state);
}

struct db *state_db(struct state *state)
{
	return &state->db;
}

uint64_t state_ended(const struct state *state)
{
	return state->ended;
}

/* ---- reading ---- */

int state_load(struct state *state, store_row_fn *take, void *arg, struct error *err)
{
	return db_load(&state->db, take, arg, err);
}

int state_slice(struct state *state, struct store_batch *slice, unsigned max, struct error *err)
{
	/* Runs and steps first: a job moves only when none that ended is left, so none of its own
	 * either. A reader of history.db never sees a job without its use. */
	static const enum row_table first[] = { TABLE_RUN, TABLE_STEP };
	const int n_first = sizeof(first) / sizeof(first[0]);
	struct row row = { .change = ROW_RETIRE };

	batch_reset(slice);
	for (int i = -n_first; i < TABLE_COUNT && slice->n_rows < max; i++) {
		int t = i < 0 ? (int)first[i + n_first] : i;
		sqlite3_stmt *stmt = state->tables[t][SQL_ENDED_SLICE];

		if (!stmt || i == TABLE_RUN || i == TABLE_STEP)
			continue;
		row.table = t;
		sqlite3_bind_int64(stmt, 1, (int64_t)(max - slice->n_rows));
		while (db_next(stmt, &row))
			store_batch_row(slice, &row);
		if (db_end(&state->db, stmt, err) < 0)
			return -1;
	}
	/* A row that has ended twice before it moved was counted twice. */
	if (slice->n_rows < max)
		state->ended = slice->n_rows;
	return 0;
}

int state_load_stored(struct state *state, store_stored_fn *take, void *arg, struct error *err)
{
	sqlite3_stmt *stmt = state->other[SQL_STORED];
	struct row row;

	while (db_next(stmt, &row))
		take(arg, &(struct store_stored){ (uint32_t)row.v[0].i, row.v[1].i });
	return db_end(&state->db, stmt, err);
}

/* ---- writing ---- */

static int row_run(struct state *state, const struct row *row, enum sql_table_statement which,
        size_t n, struct error *err)
{
	sqlite3_stmt *stmt = state->tables[row->table][which];

	if (db_bind(&state->db, stmt, 1, row->v, n, err) < 0)
		return -1;
	return db_run(&state->db, stmt, NULL, err);
}

static int row_remove(struct state *state, const struct row *row, struct error *err)
{
	/* The tasks of an array have one blob, and it goes with the array's own row. */
	if (row->table == TABLE_JOB && !row->v[COL_JOB_part].i && state_script_leave(state, row, err) < 0)
		return -1;
	return row_run(state, row, SQL_DELETE, row_keys(row->table), err);
}

static int row_retire(struct state *state, const struct row *row, struct error *err)
{
	bool whole = row->n == row_columns(row->table);

	if (!state->tables[row->table][SQL_RETIRE])
		return row_remove(state, row, err);
	if (row_run(state, row, whole ? SQL_ENDED_PUT : SQL_RETIRE, row->n, err) < 0)
		return -1;
	state->ended += (uint64_t)sqlite3_changes64(state->db.handle);
	return row_remove(state, row, err);
}

static int row_apply(struct state *state, const struct row *row, struct error *err)
{
	const size_t n_columns = row_columns(row->table);

	if (row->n != n_columns && (row->change == ROW_PUT || row->n != row_keys(row->table)))
		return error_set(err, ERR_INTERNAL, "a row of table '%s' has %zu values",
		        row_table_name(row->table), row->n);
	if (row->change == ROW_DELETE)
		return row_remove(state, row, err);
	if (row->change == ROW_RETIRE)
		return row_retire(state, row, err);
	if (row->table == TABLE_EVENT || row->table == TABLE_STEP)
		state->ended++;
	return row_run(state, row, SQL_PUT, n_columns, err);
}

static int commit(struct state *state, bool moving, struct error *err)
{
	FAILPOINT(store_before_commit);
	if (moving)
		FAILPOINT(history_before_delete);
	return state_run(state, SQL_COMMIT, NULL, err);
}

static int batch_apply(struct state *state, const struct store_batch *batch,
        struct blob_set *wanted, struct error *err)
{
	struct batch_item item;
	size_t offset = 0;
	int result = 0;

	state->script_piece = state->credential_piece = 0;
	state->erase_before = batch->erase_before;
	while (result == 0 && batch_next(batch, &offset, &item)) {
		if (item.kind == BATCH_ROW)
			result = row_apply(state, &item.row, err);
		else if (item.kind == BATCH_BLOB)
			result = state_script_put(state, &item, err);
		else if (item.kind == BATCH_SIGN)
			result = state_script_sign(state, &item, err);
	}
	if (result == 0)
		result = state_scripts_erase(state, err);
	if (result == 0)
		result = state_stored_write(state, err);
	/* Wishes come last: they see what the batch brought. */
	for (offset = 0; result == 0 && batch->n_wanted && batch_next(batch, &offset, &item);)
		if (item.kind == BATCH_WANT)
			result = state_script_want(state, wanted, &item, err);
	return result;
}

static int moved_delete(struct state *state, const struct store_batch *moved, struct error *err)
{
	struct batch_item item;
	size_t offset = 0;

	while (batch_next(moved, &offset, &item)) {
		if (row_run(state, &item.row, SQL_ENDED_DELETE, row_keys(item.row.table), err) < 0)
			return -1;
		state->ended -= (uint64_t)sqlite3_changes64(state->db.handle);
	}
	return 0;
}

int state_commit(struct state *state, const struct store_batch *batch,
        const struct store_batch *moved, struct blob_set *wanted, struct error *err)
{
	uint64_t ended = state->ended;

	wanted->n = wanted->len = wanted->n_stored = 0;
	state->told = wanted;
	if (state_run(state, SQL_BEGIN, NULL, err) < 0)
		return -1;
	if ((!batch || batch_apply(state, batch, wanted, err) == 0) &&
	        (!moved || moved_delete(state, moved, err) == 0) &&
	        commit(state, moved != NULL, err) == 0) {
		state_scripts_settle(wanted);
		return 0;
	}
	/* A failed write may have ended the transaction already. */
	if (!sqlite3_get_autocommit(state->db.handle))
		state_run(state, SQL_ROLLBACK, NULL, NULL);
	memset(state->recent, 0, sizeof(state->recent));
	state->ended = ended;
	return -1;
}
