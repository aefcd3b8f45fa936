/* db.c - see db.h */
#include "ctld/store/db.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/fd_close.h"
#include "common/base/strbuf.h"
#include "common/base/xalloc.h"
#include "ctld/core/rows/row_codec.h"
#include "ctld/store/wal_check.h"

/* quick_check reads the whole file; after an unclean end that is done up to this size (64 MiB). */
#define CHECK_MAX_PAGES 16384

/* `where` is "", or says what the page is of. */
static int damage(const struct db *db, uint32_t page, const char *where, struct error *err)
{
	error_set(err, ERR_SYSTEM, "%s: page %u%s is damaged: its bytes do not have its sum",
	        db->schema->file, (unsigned)page, where);
	return error_hint(err, "%s", db->schema->remedy);
}

int db_damaged(const struct db *db, uint32_t page, struct error *err)
{
	return damage(db, page, "", err);
}

int db_error(const struct db *db, int rc, const char *doing, struct error *err)
{
	int extended = db->handle ? sqlite3_extended_errcode(db->handle) : rc;
	/* The index of a shared log has no error of its own. */
	bool full = (rc & 0xff) == SQLITE_FULL || extended == SQLITE_IOERR_SHMSIZE;

	if ((extended & 0xff) != (rc & 0xff))
		extended = rc;
	if (extended == SQLITE_IOERR_DATA)
		return db_damaged(db, pages_damaged(db->pages), err);
	return error_set(err, full ? ERR_NO_SPACE : ERR_SYSTEM,
	        "%s: cannot %s: %s (SQLite error %d)", db->schema->file, doing,
	        sqlite3_errstr(extended), extended);
}

sqlite3_stmt *db_prepare(const struct db *db, const char *text, struct error *err)
{
	sqlite3_stmt *stmt = NULL;
	int rc = sqlite3_prepare_v3(db->handle, text, -1, SQLITE_PREPARE_PERSISTENT, &stmt, NULL);

	if (rc == SQLITE_OK)
		return stmt;
	db_error(db, rc, "prepare a statement", err);
	error_hint(err, "%s: %s", sqlite3_errmsg(db->handle), text);
	return NULL;
}

int db_prepare_table(const struct db *db, enum row_table table, enum sql_table_statement which,
        sqlite3_stmt **stmt, struct error *err)
{
	char *text = sql_of_table(table, which);
	int rc;

	*stmt = text ? db_prepare(db, text, err) : NULL;
	rc = text && !*stmt ? -1 : 0;
	free(text);
	return rc;
}

int db_run(const struct db *db, sqlite3_stmt *stmt, int64_t *number, struct error *err)
{
	int rc = sqlite3_step(stmt);

	if (rc == SQLITE_ROW) {
		if (number)
			*number = sqlite3_column_int64(stmt, 0);
		rc = sqlite3_step(stmt);
	}
	if (rc != SQLITE_DONE)
		db_error(db, rc, "write", err);
	sqlite3_reset(stmt);
	return rc == SQLITE_DONE ? 0 : -1;
}

int db_bind(const struct db *db, sqlite3_stmt *stmt, int first, const struct value *v, size_t n,
        struct error *err)
{
	int rc = SQLITE_OK;

	for (size_t i = 0; i < n && rc == SQLITE_OK; i++) {
		int place = first + (int)i;

		if (v[i].type == VALUE_INT)
			rc = sqlite3_bind_int64(stmt, place, v[i].i);
		else if (v[i].type == VALUE_TEXT)
			rc = sqlite3_bind_text64(
			        stmt, place, v[i].p, v[i].n, SQLITE_STATIC, SQLITE_UTF8);
		else
			rc = sqlite3_bind_blob64(stmt, place, v[i].p, v[i].n, SQLITE_STATIC);
	}
	return rc == SQLITE_OK ? 0 : db_error(db, rc, "bind a value", err);
}

void db_bind_integers(sqlite3_stmt *stmt, int first, const int64_t *v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		sqlite3_bind_int64(stmt, first + (int)i, v[i]);
}

/* A column is asked for once: sqlite3_column_...() of its type, value and length take a mutex each.
 * The values are "unprotected", and so for a connection's own thread only: this one. */
bool db_next(sqlite3_stmt *stmt, struct row *row)
{
	if (sqlite3_step(stmt) != SQLITE_ROW)
		return false;
	row->n = (size_t)sqlite3_column_count(stmt);
	assert(row->n <= ROW_MAX_COLUMNS);
	for (size_t i = 0; i < row->n; i++) {
		struct value *v = &row->v[i];
		sqlite3_value *column = sqlite3_column_value(stmt, (int)i);
		int type = sqlite3_value_type(column);

		if (type == SQLITE_INTEGER) {
			v->type = VALUE_INT;
			v->i = sqlite3_value_int64(column);
			continue;
		}
		v->type = type == SQLITE_TEXT ? VALUE_TEXT : VALUE_BLOB;
		v->p = type == SQLITE_TEXT ? (const void *)sqlite3_value_text(column)
		                           : sqlite3_value_blob(column);
		v->n = (size_t)sqlite3_value_bytes(column);
		if (!v->p)
			v->p = "";
	}
	return true;
}

int db_end(const struct db *db, sqlite3_stmt *stmt, struct error *err)
{
	int rc = sqlite3_reset(stmt);

	return rc == SQLITE_OK ? 0 : db_error(db, rc, "read", err);
}

int db_integers(const struct db *db, sqlite3_stmt *stmt, int64_t *v, size_t n, struct error *err)
{
	bool has_row = sqlite3_step(stmt) == SQLITE_ROW;

	for (size_t i = 0; i < n; i++)
		v[i] = has_row ? sqlite3_column_int64(stmt, (int)i) : 0;
	return db_end(db, stmt, err) < 0 ? -1 : has_row;
}

int db_ask(const struct db *db, const char *text, char *answer, size_t size, struct error *err)
{
	sqlite3_stmt *stmt = db_prepare(db, text, err);
	int rc;

	if (!stmt)
		return -1;
	answer[0] = '\0';
	rc = sqlite3_step(stmt);
	if (rc == SQLITE_ROW) {
		const char *value = (const char *)sqlite3_column_text(stmt, 0);

		snprintf(answer, size, "%s", value ? value : "");
		rc = sqlite3_step(stmt); /* only its end tells of success */
	}
	if (rc != SQLITE_DONE)
		db_error(db, rc, "open", err);
	sqlite3_finalize(stmt);
	return rc == SQLITE_DONE ? 0 : -1;
}

static int db_ask_number(
        const struct db *db, const char *text, long long *number, struct error *err)
{
	char answer[32];

	if (db_ask(db, text, answer, sizeof(answer), err) < 0 ||
	        sscanf(answer, "%lld", number) != 1)
		return -1;
	return 0;
}

static int db_set(const struct db *db, const struct sql_setting *setting, struct error *err)
{
	char answer[64];

	if (db_ask(db, setting->text, answer, sizeof(answer), err) < 0)
		return -1;
	if (setting->answer[0] && strcmp(answer, setting->answer))
		return error_set(err, ERR_SYSTEM, "%s: '%s' was answered with '%s', not '%s'",
		        db->schema->file, setting->text, answer, setting->answer);
	return 0;
}

/* Is it a database of gpusched, and of which version? Checked before anything is changed. */
static int db_recognise(const struct db *db, long long *version, struct error *err)
{
	long long id;

	if (db_ask_number(db, sql_application_id, &id, err) < 0 ||
	        db_ask_number(db, sql_version, version, err) < 0)
		return -1;
	if (*version == 0 && id == 0) {
		if (db_ask_number(db, sql_n_things, &id, err) < 0)
			return -1;
		if (id == 0)
			return 0;
		id = 0;
	}
	if (id != db->schema->application_id)
		return error_set(
		        err, ERR_SYSTEM, "%s: not a database of gpusched", db->schema->file);
	if (*version < 0 || *version > db->schema->version)
		return error_set(err, ERR_VERSION,
		        "%s: has schema version %lld, this program knows versions up to %d",
		        db->schema->file, *version, db->schema->version);
	return 0;
}

static int db_exec(const struct db *db, const char *text, struct error *err)
{
	int rc = sqlite3_exec(db->handle, text, NULL, NULL, NULL);

	return rc == SQLITE_OK ? 0 : db_error(db, rc, "migrate", err);
}

static int db_migrate(const struct db *db, long long version, struct error *err)
{
	char set_version[64];

	if (version == db->schema->version)
		return 0;
	snprintf(set_version, sizeof(set_version), SQL_SET_VERSION, db->schema->version);
	if (db_exec(db, sql_statements[SQL_BEGIN], err) < 0)
		return -1;
	for (; version < db->schema->version; version++) {
		if (db_exec(db, db->schema->steps[version], err) < 0)
			return error_wrap(err, "from schema version %lld", version);
	}
	if (db_exec(db, set_version, err) < 0)
		return -1;
	return db_exec(db, sql_statements[SQL_COMMIT], err);
}

/* After an unclean end: is it whole? */
static int db_check(const struct db *db, struct error *err)
{
	long long pages;
	char answer[256];

	if (db_ask_number(db, sql_page_count, &pages, err) < 0)
		return -1;
	if (pages > CHECK_MAX_PAGES)
		return 0;
	if (db_ask(db, sql_quick_check, answer, sizeof(answer), err) < 0)
		return -1;
	if (!strcmp(answer, "ok"))
		return 0;
	error_set(err, ERR_SYSTEM, "%s: damaged: %s", db->schema->file, answer);
	return error_hint(err, "%s", db->schema->remedy);
}

static int count_wal_pages(void *arg, sqlite3 *handle, const char *name, int pages)
{
	struct db *db = arg;

	(void)handle;
	(void)name;
	db->wal_pages = (unsigned)pages;
	return SQLITE_OK;
}

/* The memory statistics of SQLite are not used, and counting takes a lock for each piece of
 * memory. This can only be set before SQLite is used for the first time, and looking for a VFS is
 * such a use. */
static void count_no_memory(void)
{
	sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
}

sqlite3_vfs *db_vfs(const char *name)
{
	count_no_memory();
	return sqlite3_vfs_find(name);
}

static bool was_left_unclean(const char *path, const char *vfs)
{
	char wal[4096];
	sqlite3_vfs *v = db_vfs(vfs);
	int exists = 0;

	snprintf(wal, sizeof(wal), "%s-wal", path);
	return v && v->xAccess(v, wal, SQLITE_ACCESS_EXISTS, &exists) == SQLITE_OK && exists;
}

static int checkpoint(struct db *db, int mode, struct error *err)
{
	int rc = sqlite3_wal_checkpoint_v2(db->handle, NULL, mode, NULL, NULL);

	db->is_behind = rc != SQLITE_OK;
	if (rc == SQLITE_OK)
		db->wal_pages = 0;
	else if ((rc & 0xff) != SQLITE_FULL)
		return db_error(db, rc, "checkpoint", err);
	return 0;
}

/* ---- sums of pages ---- */

/* Does the file have page checksums? If the log has the first page, only SQLite knows. */
static int db_know_sums(struct db *db, bool may_be_new, struct error *err)
{
	long long pages = 1;
	int reserve = -1;

	/* The whole file may be in the log; then this question reads nothing of the file. */
	if (pages_is_empty(db->pages) && db_ask_number(db, sql_page_count, &pages, err) < 0)
		return -1;
	if (pages == 0 && may_be_new) {
		reserve = PAGES_RESERVE;
		sqlite3_file_control(db->handle, "main", SQLITE_FCNTL_RESERVE_BYTES, &reserve);
		pages_set_sums(db->pages, PAGES_SUMMED);
		return 0;
	}
	sqlite3_file_control(db->handle, "main", SQLITE_FCNTL_RESERVE_BYTES, &reserve);
	if (reserve != 0 && reserve != PAGES_RESERVE)
		return db_damaged(db, 1, err);
	pages_set_sums(db->pages, reserve ? PAGES_SUMMED : PAGES_PLAIN);
	return 0;
}

/* SQLite writes the file anew, with room for sums, as one transaction to the log; what comes from
 * there into the file has sums. A crash on the way leaves it as it was, or in the log. */
static int db_add_sums(struct db *db, struct error *err)
{
	int reserve = PAGES_RESERVE, rc;

	if (pages_sums(db->pages) == PAGES_SUMMED)
		return 0;
	/* What a migration has put into the log goes first: if the disk gets full, the log can then
	 * be emptied without room for anything. */
	if (checkpoint(db, SQLITE_CHECKPOINT_TRUNCATE, err) < 0)
		return -1;
	sqlite3_file_control(db->handle, "main", SQLITE_FCNTL_RESERVE_BYTES, &reserve);
	rc = sqlite3_exec(db->handle, sql_write_anew, NULL, NULL, NULL);
	if ((rc & 0xff) == SQLITE_FULL) {
		/* The next start tries again. The attempt has made the log long, and its space is
		 * needed now. */
		return checkpoint(db, SQLITE_CHECKPOINT_TRUNCATE, err);
	}
	if (rc != SQLITE_OK)
		return db_error(db, rc, "add sums to its pages", err);
	pages_set_sums(db->pages, PAGES_SUMMED);
	return checkpoint(db, SQLITE_CHECKPOINT_TRUNCATE, err);
}

/* Does SQLite's check of this table and its indices read the page? */
static bool is_page_of(struct db *db, const char *table, uint32_t page)
{
	char *text = sqlite3_mprintf(sql_check_table, table), answer[8];
	bool met = false;

	pages_forget_damaged(db->pages);
	if (text)
		db_ask(db, text, answer, sizeof(answer), NULL);
	met = pages_damaged(db->pages) == page;
	sqlite3_free(text);
	return met;
}

/* Names the table of the page, which takes a look at all of the file. */
static int damaged_where(struct db *db, uint32_t page, struct error *err)
{
	sqlite3_stmt *stmt = page > 1 ? db_prepare(db, sql_table_names, NULL) : NULL;
	char *where = xstrdup(page > 1 ? "" : " (the head of the file)");

	while (stmt && !*where && sqlite3_step(stmt) == SQLITE_ROW) {
		const char *table = (const char *)sqlite3_column_text(stmt, 0);

		if (!is_page_of(db, table, page))
			continue;
		free(where);
		where = xasprintf(" (table '%s')", table);
	}
	sqlite3_finalize(stmt);
	damage(db, page, where, err);
	free(where);
	return -1;
}

/* Replaces the error in `err` by a more precise one, if a damaged page is the cause. */
static int explain(struct db *db, struct error *err)
{
	uint32_t page = pages_damaged(db->pages);

	return page ? damaged_where(db, page, err) : -1;
}

/* A copy in a file of SQLite's own, which is gone with the connection. */
static int db_copy(struct db *db, struct db *copy, struct error *err)
{
	sqlite3_backup *backup = NULL;
	int rc;

	*copy = (struct db){ .schema = db->schema };
	rc = sqlite3_open_v2("", &copy->handle,
	        SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, NULL);
	if (rc == SQLITE_OK)
		backup = sqlite3_backup_init(copy->handle, "main", db->handle, "main");
	rc = backup ? sqlite3_backup_step(backup, -1) : SQLITE_ERROR;
	sqlite3_backup_finish(backup);
	return rc == SQLITE_DONE ? 0 : db_error(db, rc, "copy", err);
}

int db_whole(struct db *db, struct error *err)
{
	uint32_t next = 1;
	struct db copy;
	int rc;

	if (pages_sums(db->pages) != PAGES_SUMMED)
		return 0;
	pages_forget_damaged(db->pages);
	if (!db->is_behind) {
		while ((rc = pages_scan(db->pages, &next, UINT_MAX)) > 0)
			;
		if (rc < 0)
			error_set(err, ERR_SYSTEM, "%s: page %u cannot be read", db->schema->file,
			        (unsigned)next);
	} else {
		rc = db_copy(db, &copy, err);
		sqlite3_close(copy.handle);
	}
	return rc < 0 ? explain(db, err) : 0;
}

void db_scrub(struct db *db, struct scrub *scrub)
{
	uint32_t from = scrub->next ? scrub->next : 1;
	int rc;

	if (scrub->is_over || db->is_behind || pages_sums(db->pages) != PAGES_SUMMED)
		return;
	scrub->next = from;
	rc = pages_scan(db->pages, &scrub->next, SCRUB_PAGES);
	scrub->pages += scrub->next - from;
	if (rc == 0)
		scrub->next = 1;
	if (rc >= 0)
		return;
	scrub->is_over = true;
	if (pages_damaged(db->pages) == scrub->next)
		db_damaged(db, scrub->next, &scrub->damage);
	else
		error_set(&scrub->damage, ERR_SYSTEM, "%s: page %u cannot be read",
		        db->schema->file, (unsigned)scrub->next);
	pages_forget_damaged(db->pages);
}

/* ---- opening ---- */

static int db_prepare_file(struct db *db, bool unclean, bool shared, struct error *err)
{
	const struct sql_setting *locking = shared ? &sql_shared_locking : &sql_settings[0];
	long long version;

	sqlite3_extended_result_codes(db->handle, 1);
	sqlite3_db_config(db->handle, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	if (db_set(db, locking, err) < 0 || db_recognise(db, &version, err) < 0 ||
	        db_know_sums(db, true, err) < 0)
		return -1;
	for (size_t i = 1; i < sql_n_settings; i++)
		if (db_set(db, &sql_settings[i], err) < 0)
			return -1;
	sqlite3_wal_hook(db->handle, count_wal_pages, db);
	/* After a failed sync the log may end with pages that are in memory and not on disk.
	 * Nothing may be appended to that: move it all into the database and begin a new log. */
	if (unclean &&
	        (db_check(db, err) < 0 || checkpoint(db, SQLITE_CHECKPOINT_TRUNCATE, err) < 0))
		return -1;
	if (!db->schema->shared && !db->is_behind && db_whole(db, err) < 0)
		return -1;
	return db_migrate(db, version, err) < 0 ? -1 : db_add_sums(db, err);
}

/* On failure nothing is left open. */
static int db_open_with(struct db *db, const char *path, int flags, struct error *err)
{
	int rc;

	if (!db->pages)
		return error_set(err, ERR_INTERNAL, "no such SQLite VFS");
	rc = sqlite3_open_v2(path, &db->handle,
	        flags | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, pages_vfs(db->pages));
	return rc == SQLITE_OK ? 0 : db_error(db, rc, "open", err);
}

static int db_fail(struct db *db, struct error *err)
{
	if (db->handle)
		explain(db, err);
	db_close(db);
	return -1;
}

int db_open(struct db *db, const char *path, const char *vfs, const struct sql_schema *schema,
        struct error *err)
{
	bool unclean = was_left_unclean(path, vfs), cut_short = false;

	*db = (struct db){ .schema = schema };
	if (unclean && wal_check(db_vfs(vfs), path, &cut_short, err) < 0)
		return -1;
	db->pages = pages_new(vfs);
	db->is_behind = unclean;
	db->log_cut_short = cut_short;
	if (db_open_with(db, path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, err) == 0 &&
	        db_prepare_file(db, unclean, schema->shared && !vfs, err) == 0)
		return 0;
	return db_fail(db, err);
}

/* Nothing is written: no schema is brought up to date, no log is moved. */
static int db_prepare_reading(struct db *db, struct error *err)
{
	long long version;

	sqlite3_extended_result_codes(db->handle, 1);
	sqlite3_db_config(db->handle, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	sqlite3_db_config(db->handle, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
	sqlite3_busy_timeout(db->handle, 1000);
	if (db_recognise(db, &version, err) < 0 || db_know_sums(db, false, err) < 0)
		return -1;
	if (version != db->schema->version)
		return error_set(err, ERR_VERSION, "%s: has schema version %lld, not %d",
		        db->schema->file, version, db->schema->version);
	return 0;
}

int db_open_reading(
        struct db *db, const char *path, const struct sql_schema *schema, struct error *err)
{
	count_no_memory();
	*db = (struct db){ .schema = schema, .pages = pages_new(NULL) };
	if (db_open_with(db, path, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, err) == 0 &&
	        db_prepare_reading(db, err) == 0)
		return 0;
	return db_fail(db, err);
}

/* --- files outside the state directory ------------------------------------------------------ */

/* `path` as a URI with a parameter of SQLite's, for db_open_reading(). Caller frees. */
static char *db_uri(const char *path, const char *how)
{
	struct strbuf uri = { 0 };

	strbuf_adds(&uri, "file:");
	for (; *path; path++) {
		if (strchr("%?#", *path))
			strbuf_addf(&uri, "%%%02x", (unsigned char)*path);
		else
			strbuf_addf(&uri, "%c", *path);
	}
	strbuf_addf(&uri, "?%s", how);
	return strbuf_take(&uri);
}

/* One of an older version, brought up to date in a copy. */
static int db_copy_newer(struct db *db, long long version, struct error *err)
{
	struct db copy;
	int rc = db_copy(db, &copy, err);

	if (rc < 0) {
		sqlite3_close(copy.handle);
		return -1;
	}
	db_close(db);
	*db = copy;
	return db_migrate(db, version, err);
}

static int db_prepare_found(struct db *db, struct error *err)
{
	long long version;

	sqlite3_busy_timeout(db->handle, 1000);
	if (db_recognise(db, &version, err) < 0 || db_know_sums(db, false, err) < 0)
		return -1;
	if (version == 0)
		return error_set(err, ERR_SYSTEM, "nothing is in it");
	return version < db->schema->version ? db_copy_newer(db, version, err) : 0;
}

int db_open_file(
        struct db *db, const char *path, const struct sql_schema *schema, struct error *err)
{
	/* Without a log no file is made beside what is only looked at. */
	char *wal = xasprintf("%s-wal", path);
	struct stat st;
	bool has_log = stat(wal, &st) == 0 && st.st_size;
	char *uri = db_uri(path, has_log ? "mode=ro" : "immutable=1");
	int rc = has_log ? wal_check(db_vfs(NULL), path, NULL, err) : 0;

	count_no_memory();
	*db = (struct db){ .schema = schema, .pages = pages_new(NULL), .is_behind = has_log };
	if (rc == 0)
		rc = db_open_with(db, uri, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, err);
	free(uri);
	free(wal);
	if (rc == 0 && db_prepare_found(db, err) == 0)
		return 0;
	db_fail(db, err);
	return error_wrap(err, "%s", path);
}

int db_sync_folder(const char *path, struct error *err)
{
	char *copy = xstrdup(path);
	int fd = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int rc = fd < 0 ? -1 : fsync(fd);

	if (rc < 0)
		error_set(err, ERR_SYSTEM, "%s: %s", copy, strerror(errno));
	fd_close(fd);
	free(copy);
	return rc;
}

static int load_table(const struct db *db, enum row_table table,
        int (*take)(void *arg, const struct row *row, struct error *err), void *arg,
        struct error *err)
{
	sqlite3_stmt *stmt;
	struct row row = { .table = table, .change = ROW_PUT };
	int rc = db_prepare_table(db, table, SQL_LOAD, &stmt, err);

	while (stmt && rc == 0 && db_next(stmt, &row))
		rc = take(arg, &row, err) < 0 ? -1 : 0;
	if (stmt && rc == 0)
		rc = db_end(db, stmt, err);
	sqlite3_finalize(stmt);
	return rc;
}

int db_load(struct db *db, int (*take)(void *arg, const struct row *row, struct error *err),
        void *arg, struct error *err)
{
	for (int t = 0; t < TABLE_COUNT; t++) {
		if (load_table(db, t, take, arg, err) == 0)
			continue;
		explain(db, err);
		return error_wrap(err, "table '%s'", row_table_name(t));
	}
	return 0;
}

int db_cluster(const struct db *db, const char *cluster, struct error *err)
{
	char owner[256];
	struct value v = { .type = VALUE_TEXT, .p = cluster, .n = strlen(cluster) };
	sqlite3_stmt *put;
	int rc;

	if (db_ask(db, sql_cluster_get, owner, sizeof(owner), err) < 0)
		return -1;
	if (owner[0]) {
		if (!strcmp(owner, cluster))
			return 0;
		return error_set(err, ERR_CLUSTER,
		        "%s: belongs to cluster '%s', the configuration says '%s'",
		        db->schema->file, owner, cluster);
	}
	put = db_prepare(db, sql_cluster_put, err);
	rc = put ? db_bind(db, put, 1, &v, 1, err) : -1;
	if (rc == 0)
		rc = db_run(db, put, NULL, err);
	sqlite3_finalize(put);
	return rc;
}

void db_close(struct db *db)
{
	int rc = sqlite3_close(db->handle);

	assert(rc == SQLITE_OK);
	(void)rc;
	pages_free(db->pages);
	db->handle = NULL;
	db->pages = NULL;
}

void db_abandon(struct db *db)
{
	sqlite3_db_config(db->handle, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
}

int db_checkpoint(struct db *db, struct error *err)
{
	return checkpoint(db, SQLITE_CHECKPOINT_PASSIVE, err);
}
