/* sql.h - every SQL text of gpusched, as named constants, or made of the columns of row.h
 *
 * No text is ever built from values: values are bound. Columns stand in the order of
 * ctld/core/rows/row.h; testsuite/unit/store/test_store_schema.c compares names, order, types and
 * keys.
 *
 * To add a column: the line in row.h; a new last step in the schemas (`ADD_INTEGER("job", x)`, the
 * same for ended_job and for history.db). A step that has been released is never changed.
 */
#ifndef CTLD_STORE_SQL_H
#define CTLD_STORE_SQL_H

#include "ctld/core/rows/row.h"

/* A database file: step i takes it from version i to i + 1, in one transaction that then sets the
 * version (SQL_SET_VERSION). */
struct sql_schema {
	const char *file;
	int application_id; /* in the file's head: tells our databases from others */
	const char *const *steps;
	int version; /* the number of steps: the present version */
	bool shared; /* other connections of this process may read it */
	const char *remedy; /* when it is damaged */
};
extern const struct sql_schema sql_state_schema, sql_history_schema;

/* What can be done with one table of row.h. Parameters are the columns by position, or the key's.
 */
enum sql_table_statement {
	SQL_PUT,
	SQL_DELETE,
	/* of tables whose rows move to history.db */
	SQL_RETIRE,      /* copy the live row to the ended ones */
	SQL_ENDED_PUT,   /* put a whole row among the ended ones */
	SQL_ENDED_SLICE, /* the first ?1 ended rows, key order */
	SQL_ENDED_DELETE,
	SQL_ENDED_COUNT,
	SQL_KEPT, /* those up to here are prepared and kept, on state.db */
	SQL_LOAD = SQL_KEPT, /* all rows in key order */
	SQL_HISTORY_PUT,     /* into history.db, unless it is there */
	SQL_HISTORY_DELETE,  /* what was archived */
	SQL_TABLE_STATEMENTS
};
/* NULL: that is not done with the table. Caller frees. */
char *sql_of_table(enum row_table table, enum sql_table_statement which);

/* X(symbol, text): all other statements that are prepared and kept, on state.db */
#define SQL_STATEMENTS(X)                                                                   \
	X(SQL_BEGIN, "BEGIN IMMEDIATE")                                                     \
	X(SQL_COMMIT, "COMMIT")                                                             \
	X(SQL_ROLLBACK, "ROLLBACK")                                                         \
	/* blobs: small or unshared bytes in the row, shared ones as numbered pieces */     \
	X(SQL_BLOB_PUT, "INSERT INTO blob (job, script_piece, credential_piece, spec, "     \
	                "script, credential, uid) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)")      \
	X(SQL_BLOB_GET, "SELECT script_piece, credential_piece, spec, script, credential, " \
	                "uid, ended FROM blob WHERE job = ?1")                              \
	/* of a job that has ended, and is kept for a while: since when */                  \
	X(SQL_BLOB_END, "UPDATE blob SET ended = max(?2, 1) WHERE job = ?1")                \
	X(SQL_BLOB_END_OF_JOB, "UPDATE blob SET ended = (SELECT max(end_time, 1) "          \
	                       "FROM job WHERE id = ?1 AND part = 0) "                      \
	                       "WHERE job = ?1 AND EXISTS "                                 \
	                       "(SELECT 1 FROM job WHERE id = ?1 AND part = 0)")            \
	X(SQL_BLOB_DUE, "SELECT job FROM blob WHERE ended > 0 AND ended <= ?1 "             \
	                "ORDER BY ended LIMIT 1")                                           \
	X(SQL_BLOB_SHAPE, "SELECT script_piece, credential_piece, uid, length(spec), "      \
	                  "length(script), length(credential) FROM blob WHERE job = ?1")    \
	X(SQL_BLOB_DROP, "DELETE FROM blob WHERE job = ?1")                                 \
	X(SQL_BLOB_SIGN, "UPDATE blob SET credential_piece = ?2, credential = ?3, "         \
	                 "spec = coalesce(?4, spec) WHERE job = ?1")                        \
	X(SQL_PIECE_MAX, "SELECT coalesce(max(id), 0) FROM piece")                          \
	X(SQL_PIECE_PUT, "INSERT INTO piece (id, refs, uid, bytes) VALUES (?1, 1, ?2, ?3)") \
	X(SQL_PIECE_DATA_PUT, "INSERT INTO piece_data (id, data) VALUES (?1, ?2)")          \
	X(SQL_PIECE_GET, "SELECT refs, uid, bytes FROM piece WHERE id = ?1")                \
	X(SQL_PIECE_REF, "UPDATE piece SET refs = refs + ?2 WHERE id = ?1")                 \
	X(SQL_PIECE_DROP, "DELETE FROM piece WHERE id = ?1")                                \
	X(SQL_PIECE_DATA_DROP, "DELETE FROM piece_data WHERE id = ?1")                      \
	X(SQL_PIECE_DATA_GET, "SELECT data FROM piece_data WHERE id = ?1")                  \
	/* the stored bytes of each user */                                                 \
	X(SQL_STORED, "SELECT uid, bytes FROM stored WHERE bytes > 0")                      \
	X(SQL_STORED_ADD, "INSERT INTO stored (uid, bytes) VALUES (?1, ?2) "                \
	                  "ON CONFLICT (uid) DO UPDATE SET bytes = bytes + ?2")

#define X(sym, text) sym,
enum sql_statement { SQL_STATEMENTS(X) SQL_STATEMENT_COUNT };
#undef X
extern const char *const sql_statements[SQL_STATEMENT_COUNT];

/* X(symbol, table, condition): what is read of history.db (history_reader.h). Each is a slice
 * through an index, and goes on behind the row that the one before ended with; the last parameter
 * is how many. */
#define SQL_PAST(X)                                                                         \
	X(PAST_JOB, TABLE_JOB, "id = ?1 AND part > ?2 ORDER BY part LIMIT ?3")              \
	/* the array that a raw id may be of */                                             \
	X(PAST_JOB_BEFORE, TABLE_JOB, "id < ?1 ORDER BY id DESC, part LIMIT 1")             \
	X(PAST_JOBS, TABLE_JOB,                                                             \
	        "(end_time, id, part) > (?1, ?2, ?3) ORDER BY end_time, id, part LIMIT ?4") \
	X(PAST_JOBS_OF_USER, TABLE_JOB,                                                     \
	        "user = ?1 AND (end_time, id, part) > (?2, ?3, ?4) "                        \
	        "ORDER BY end_time, id, part LIMIT ?5")                                     \
	X(PAST_JOBS_OF_ACCOUNT, TABLE_JOB,                                                  \
	        "account = ?1 AND (end_time, id, part) > (?2, ?3, ?4) "                     \
	        "ORDER BY end_time, id, part LIMIT ?5")                                     \
	X(PAST_RUNS, TABLE_RUN,                                                             \
	        "job = ?1 AND task = ?2 AND (attempt, rank) > (?3, ?4) "                    \
	        "ORDER BY attempt, rank LIMIT ?5")                                          \
	X(PAST_STEPS, TABLE_STEP,                                                           \
	        "job = ?1 AND task = ?2 AND (attempt, step) > (?3, ?4) "                    \
	        "ORDER BY attempt, step LIMIT ?5")                                          \
	X(PAST_EVENTS, TABLE_EVENT, "(time, seq) > (?1, ?2) ORDER BY time, seq LIMIT ?3")   \
	X(PAST_CAPACITIES, TABLE_EVENT,                                                     \
	        "kind = 'cluster.capacity' AND (time, seq) > (?1, ?2) "                     \
	        "ORDER BY time, seq LIMIT ?3")                                              \
	X(PAST_EVENTS_AFTER, TABLE_EVENT, "seq > ?1 ORDER BY seq LIMIT ?2")                 \
	X(PAST_EVENTS_OF_JOB, TABLE_EVENT,                                                  \
	        "job = ?1 AND (time, seq) > (?2, ?3) ORDER BY time, seq LIMIT ?4")          \
	X(PAST_EVENTS_OF_USER, TABLE_EVENT,                                                 \
	        "uid = ?1 AND (time, seq) > (?2, ?3) ORDER BY time, seq LIMIT ?4")

#define X(sym, table, condition) sym,
enum sql_past { SQL_PAST(X) SQL_PAST_COUNT };
#undef X
char *sql_of_past(enum sql_past which); /* Caller frees. */

/* X(symbol, text): what goes from history.db when it is too old: the first such job (parameter: the
 * time) with its runs and steps, ?2 events. */
#define SQL_TRIMS(X)                                                                            \
	X(TRIM_FIND, "SELECT id, part FROM job WHERE end_time > 0 AND end_time < ?1 "           \
	             "ORDER BY end_time LIMIT 1")                                               \
	X(TRIM_JOB, "DELETE FROM job WHERE id = ?1 AND part = ?2")                              \
	X(TRIM_RUNS, "DELETE FROM run WHERE job = ?1 AND task = ?2")                            \
	X(TRIM_STEPS, "DELETE FROM step WHERE job = ?1 AND task = ?2")                          \
	X(TRIM_EVENTS, "DELETE FROM event WHERE seq IN (SELECT seq FROM event WHERE time < ?1 " \
	               "AND kind <> 'cluster.capacity' ORDER BY time LIMIT ?2)")

#define X(sym, text) sym,
enum sql_trim { SQL_TRIMS(X) SQL_TRIM_COUNT };
#undef X
extern const char *const sql_trims[SQL_TRIM_COUNT];

/* What a fresh connection is told, in this order, and what it must answer ("" nothing is asked).
 * locking_mode comes before anything that touches the file: WAL then needs no shared memory. */
struct sql_setting {
	const char *text, *answer;
};
extern const struct sql_setting sql_settings[];
extern const size_t sql_n_settings;
extern const struct sql_setting sql_shared_locking; /* of a shared file: instead of the first */

extern const char sql_n_things[]; /* tables and so on: 0 in an empty file */
extern const char sql_version[];
#define SQL_SET_VERSION "PRAGMA user_version = %d" /* for snprintf() */
extern const char sql_application_id[], sql_quick_check[], sql_page_count[];
extern const char sql_integrity_check[];
extern const char sql_write_anew[];                    /* all of a file, page by page */
extern const char sql_table_names[], sql_check_table[]; /* the latter for sqlite3_mprintf() */
extern const char sql_count_jobs[], sql_count_runs[];   /* in history.db */
extern const char sql_table_info[]; /* for tests: columns of table ?1 */
extern const char sql_cluster_get[], sql_cluster_put[];
extern const char sql_highest_event[]; /* in history.db; "": none */

#endif
