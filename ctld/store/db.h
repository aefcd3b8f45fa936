/* db.h - one SQLite connection with our settings and a schema brought up to date
 *
 * What state.db and history.db have in common. A connection is used by one thread at a time. Every
 * error names the file, what was being done and SQLite's own words; a full disk is ERR_NO_SPACE,
 * everything else ERR_SYSTEM.
 */
#ifndef CTLD_STORE_DB_H
#define CTLD_STORE_DB_H

#include <sqlite3.h>
#include <stdbool.h>

#include "common/base/error.h"
#include "ctld/core/rows/row.h"
#include "ctld/store/page_checksums.h"
#include "ctld/store/sql.h"

struct db {
	sqlite3 *handle;
	const struct sql_schema *schema;
	struct pages *pages; /* NULL: a copy that goes with the connection */
	unsigned wal_pages;  /* in the write-ahead log, after the last commit */
	bool log_cut_short;  /* its last transaction had a wrong bit, when it was opened (wal_check.h) */
	bool is_behind;      /* the file may have torn pages, whose bytes are in the log */
};

/* Open or create `path` and bring it to the present version; a file from before pages had sums
 * (page_checksums.h) is rewritten with them, unless the disk is too full. Refuses a file that is
 * not gpusched's, one that is newer than this program, one whose log is damaged (wal_check.h), a
 * state.db with any damaged page, and (where the check is cheap after an unclean end) one that is
 * damaged otherwise. On failure nothing is left open. */
int db_open(struct db *db, const char *path, const char *vfs, const struct sql_schema *schema,
        struct error *err);
/* One more connection to a shared file that is already open in this process and at its present
 * version, or one to a file that no process has open (a URI with immutable=1). It never writes and
 * never moves the log, so the known problems of logs that two connections write to do not concern
 * it. */
int db_open_reading(
        struct db *db, const char *path, const struct sql_schema *schema, struct error *err);

/* The same for a file at any place: complete as it is, or with the log of a process that was
 * killed or is still writing. A file of an older version is brought up to date in a copy that is
 * deleted with the connection. */
int db_open_file(
        struct db *db, const char *path, const struct sql_schema *schema, struct error *err);
/* A VFS by its name (NULL: the usual one); NULL: there is none. Use this instead of SQLite's own
 * function: its first call must come after the settings that db.c makes. */
sqlite3_vfs *db_vfs(const char *name);
/* All statements must have been finalized. */
void db_close(struct db *db);
/* A write or sync has failed: closing must not try any more of them. */
void db_abandon(struct db *db);

int db_error(const struct db *db, int rc, const char *doing, struct error *err);
/* Reads all pages again and again, some at a time, to find damage in pages that are rarely read.
 * The first damaged one ends it. By the thread of the connection. */
struct scrub {
	uint32_t next;  /* page of the file; 0: none was read yet */
	uint64_t pages; /* read and found good */
	bool is_over;   /* by `damage` */
	struct error damage;
};
#define SCRUB_PAGES 64 /* at a time: about 0.2 ms */
void db_scrub(struct db *db, struct scrub *scrub);

/* 0: every page has its checksum, also pages that hold nothing, or the file has no checksums. The
 * error names the table of the page. */
int db_whole(struct db *db, struct error *err);
/* -1: `err` says which page is damaged, and what to do. */
int db_damaged(const struct db *db, uint32_t page, struct error *err);
/* NULL on failure. The caller finalizes it. */
sqlite3_stmt *db_prepare(const struct db *db, const char *text, struct error *err);
/* The same for a statement of a table; *stmt is NULL if the table has no such statement. */
int db_prepare_table(const struct db *db, enum row_table table, enum sql_table_statement which,
        sqlite3_stmt **stmt, struct error *err);
/* Run a statement that returns no rows, or one integer that goes to *number (NULL: not wanted);
 * reset it. */
int db_run(const struct db *db, sqlite3_stmt *stmt, int64_t *number, struct error *err);

/* Run one text that answers at most one value; keep it as text in `answer` ("": none). */
int db_ask(const struct db *db, const char *text, char *answer, size_t size, struct error *err);

/* Bind values from parameter `first` on; the bytes are borrowed until the statement is reset. */
int db_bind(const struct db *db, sqlite3_stmt *stmt, int first, const struct value *v, size_t n,
        struct error *err);
void db_bind_integers(sqlite3_stmt *stmt, int first, const int64_t *v, size_t n);

/* Rows are read by `while (db_next(stmt, &row))`, and after the last one that is wanted by
 * db_end(). The values are borrowed until the next step. */
bool db_next(sqlite3_stmt *stmt, struct row *row);
/* Reset the statement. -1: its last step failed. */
int db_end(const struct db *db, sqlite3_stmt *stmt, struct error *err);
/* Run a statement that returns at most one row, and reset it: the row's first `n` integers. 1; 0:
 * there was no row, and `v` is 0. */
int db_integers(
        const struct db *db, sqlite3_stmt *stmt, int64_t *v, size_t n, struct error *err);

/* All rows of state.db, table by table; for their core. What `take` borrows lasts for its call; -1
 * from it ends the reading. */
int db_load(struct db *db, int (*take)(void *arg, const struct row *row, struct error *err),
        void *arg, struct error *err);

/* The cluster that the data belongs to. It is written if none is recorded yet; another cluster's
 * data is refused. */
int db_cluster(const struct db *db, const char *cluster, struct error *err);

/* A new name in the folder of `path` is there after a power cut. */
int db_sync_folder(const char *path, struct error *err);

/* Move the log into the database. A full disk is no failure: the log stays. */
int db_checkpoint(struct db *db, struct error *err);

#endif
