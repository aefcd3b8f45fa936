/* test_store_schema.c - the schema is that of row.h; older files come up to it, newer are refused
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <event2/event.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/xalloc.h"
#include "ctld/core/rows/row_codec.h"
#include "ctld/store/db.h"
#include "testsuite/unit/lib/store_fixture.h"

static char *path_in(const char *dir, const char *file)
{
	return xasprintf("%s/%s", dir, file);
}

static sqlite3 *open_raw(const char *dir, const char *file)
{
	char *path = path_in(dir, file);
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	sqlite3 *db;

	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	free(path);
	return db;
}

static void exec_raw(sqlite3 *db, const char *text)
{
	char *message = NULL;

	if (sqlite3_exec(db, text, NULL, NULL, &message) != SQLITE_OK)
		fail_msg("%s: %s", text, message);
}

/* A new pair of files has the columns of row.h, in order, with their types and keys. */
static void check_columns(
        const char *dir, const char *file, const char *table, const struct fixture_table *want)
{
	sqlite3 *db = open_raw(dir, file);
	sqlite3_stmt *stmt;
	size_t n = 0;
	int keys = 0;

	assert_int_equal(sqlite3_prepare_v2(db, sql_table_info, -1, &stmt, NULL), SQLITE_OK);
	sqlite3_bind_text(stmt, 1, table, -1, SQLITE_STATIC);
	for (; sqlite3_step(stmt) == SQLITE_ROW; n++) {
		const struct fixture_column *column = &want->columns[n];

		assert_true(n < want->n_columns);
		assert_string_equal((const char *)sqlite3_column_text(stmt, 0), column->name);
		assert_string_equal((const char *)sqlite3_column_text(stmt, 1), column->sql_type);
		assert_int_equal(sqlite3_column_int(stmt, 2), column->key ? ++keys : 0);
	}
	assert_int_equal(n, want->n_columns);
	sqlite3_finalize(stmt);
	sqlite3_close(db);
}

static void test_columns(void **state)
{
	char *dir = fixture_mkdir();
	struct store *store = fixture_open(dir, NULL, true, NULL);

	(void)state;
	assert_non_null(store);
	store_close(store);
	for (int t = 0; t < TABLE_COUNT; t++) {
		assert_string_equal(row_table_name(t), fixture_tables[t].name);
		check_columns(dir, "state.db", fixture_tables[t].name, &fixture_tables[t]);
	}
	check_columns(dir, "state.db", "ended_job", &fixture_tables[TABLE_JOB]);
	check_columns(dir, "state.db", "ended_run", &fixture_tables[TABLE_RUN]);
	check_columns(dir, "history.db", "job", &fixture_tables[TABLE_JOB]);
	check_columns(dir, "history.db", "run", &fixture_tables[TABLE_RUN]);
	check_columns(dir, "history.db", "event", &fixture_tables[TABLE_EVENT]);
	check_columns(dir, "history.db", "step", &fixture_tables[TABLE_STEP]);
	fixture_rmdir(dir);
}

/* Every table is STRICT: a value of the wrong type is refused, not kept. */
static void test_strict(void **state)
{
	static const char not_strict[] =
	        "SELECT count(*) FROM pragma_table_list WHERE schema = 'main' AND NOT strict "
	        "AND name NOT LIKE 'sqlite_%'";
	char *dir = fixture_mkdir();
	const char *const files[] = { "state.db", "history.db" };

	(void)state;
	store_close(fixture_open(dir, NULL, true, NULL));
	for (size_t i = 0; i < 2; i++) {
		sqlite3 *db = open_raw(dir, files[i]);
		sqlite3_stmt *stmt;

		assert_int_equal(sqlite3_prepare_v2(db, not_strict, -1, &stmt, NULL), SQLITE_OK);
		assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
		assert_int_equal(sqlite3_column_int(stmt, 0), 0);
		sqlite3_finalize(stmt);
		sqlite3_close(db);
	}
	fixture_rmdir(dir);
}

/* Rows of the first version, as that version wrote them. Never to be changed. */
static const char rows_of_version_1[] =
        "INSERT INTO meta VALUES ('cluster', 'test'), ('next_job', '10001');"
        "INSERT INTO node VALUES ('n1', 1, 0, 'fan', 0, 1700000000000000, 'inc', 'boot', 64, "
        "512000);"
        "INSERT INTO job VALUES (7, 1000, 1000, 'ann', '', 'batch', 'one', 'PENDING', 0, 'h100:2', "
        "8, 1024, 3600, 15, 60, 1, 0, '', 'login', x'2f', x'6f', x'65', '', x'00', x'01', 5, 6, 0, "
        "0, 0, 3, 0, 0, 0, 'kept');"
        "INSERT INTO run VALUES (7, 0, 1, 'n1', 'ENDED', 'h100', 3, 8, 1024, 'inc', 2, 10, 11, 12, "
        "1, 0, 0, 0, 1, '', 5, 6, 1000);"
        "INSERT INTO nonce VALUES (1000, x'00ff', x'01', 7, 99);"
        "INSERT INTO event VALUES (3, 4, 'job.submit', 1000, 'login', 7, '', '');";

/* So many of them are loaded: events are not, and some tables came later. */
static size_t rows_of_table(int table)
{
	return table == TABLE_META ? 2 : table < TABLE_EVENT;
}

struct seen {
	size_t rows[TABLE_COUNT];
	bool job_ok;
};

static int see(void *arg, const struct row *row, struct error *err)
{
	struct seen *seen = arg;

	(void)err;
	seen->rows[row->table]++;
	assert_int_equal(row->n, fixture_tables[row->table].n_columns);
	if (row->table == TABLE_JOB) {
		assert_int_equal(row->v[0].i, 7);
		assert_int_equal(row->v[1].i, 0);
		assert_memory_equal(row->v[7].p, "one", 3);
		assert_int_equal(row->v[35].n, 4);
		seen->job_ok = !memcmp(row->v[35].p, "kept", 4);
	}
	return 0;
}

/* The file becomes one of version `from`, with what its first version had in it. */
static void make_version(
        sqlite3 *db, const struct sql_schema *schema, int from, const char *rows_of_first)
{
	char text[64];

	for (int step = 0; step < from; step++) {
		exec_raw(db, schema->steps[step]);
		if (step == 0)
			exec_raw(db, rows_of_first);
	}
	snprintf(text, sizeof(text), SQL_SET_VERSION, from);
	exec_raw(db, text);
}

/* From each version on: a file of that version with rows in it loads as the present one. */
static void test_migrations(void **state)
{
	(void)state;
	assert_true(sql_state_schema.version >= 2);
	for (int from = 1; from <= sql_state_schema.version; from++) {
		char *dir = fixture_mkdir();
		sqlite3 *db = open_raw(dir, "state.db");
		struct seen seen = { 0 };
		struct store *store;
		struct error err;

		make_version(db, &sql_state_schema, from, rows_of_version_1);
		sqlite3_close(db);
		store = fixture_open(dir, NULL, true, NULL);
		assert_non_null(store);
		assert_int_equal(store_load(store, see, &seen, &err), 0);
		for (int t = 0; t < TABLE_COUNT; t++)
			assert_int_equal(seen.rows[t], rows_of_table(t));
		assert_true(seen.job_ok);
		store_close(store);
		for (int t = 0; t < TABLE_COUNT; t++)
			check_columns(dir, "state.db", fixture_tables[t].name, &fixture_tables[t]);
		fixture_rmdir(dir);
	}
}

#define SERVICES_AVOID 30 /* the version that keeps which nodes a service avoids */

static int see_service(void *arg, const struct row *row, struct error *err)
{
	const struct value *avoids = &row->v[row->n - 1];

	(void)err;
	if (row->table != TABLE_SERVICE)
		return 0;
	assert_string_equal(fixture_tables[TABLE_SERVICE].columns[row->n - 1].name, "avoids");
	assert_int_equal(avoids->type, VALUE_TEXT);
	assert_int_equal(avoids->n, 0);
	++*(size_t *)arg;
	return 0;
}

/* A service of the version before avoids no node. */
static void test_services_of_before(void **state)
{
	const struct fixture_table *table = &fixture_tables[TABLE_SERVICE];
	char *dir = fixture_mkdir(), names[2048] = "", values[1024] = "", *text;
	sqlite3 *db = open_raw(dir, "state.db");
	struct store *store;
	struct error err;
	size_t seen = 0;

	(void)state;
	make_version(db, &sql_state_schema, SERVICES_AVOID - 1, "");
	for (size_t i = 0; i + 1 < table->n_columns; i++) {
		const char *comma = i ? ", " : "";

		snprintf(names + strlen(names), sizeof(names) - strlen(names), "%s%s", comma,
		        table->columns[i].name);
		snprintf(values + strlen(values), sizeof(values) - strlen(values), "%s%s", comma,
		        strcmp(table->columns[i].sql_type, "TEXT") ? "1" : "'chat'");
	}
	text = xasprintf("INSERT INTO meta VALUES ('cluster', 'test');"
	                 "INSERT INTO service (%s) VALUES (%s);",
	        names, values);
	exec_raw(db, text);
	free(text);
	sqlite3_close(db);
	store = fixture_open(dir, NULL, true, NULL);
	assert_non_null(store);
	assert_int_equal(store_load(store, see_service, &seen, &err), 0);
	assert_int_equal(seen, 1);
	store_close(store);
	fixture_rmdir(dir);
}

/* The history's rows too are there afterwards, in the columns of today. */
static void test_history_migrates(void **state)
{
	static const char rows[] =
	        "INSERT INTO run VALUES (7, 0, 1, 'n1', 'ENDED', 'h100', 3, 8, 1024, 'inc', 2, 10, "
	        "11, 12, 1, 0, 0, 0, 1, '', 5, 6, 1000);";

	(void)state;
	for (int from = 1; from <= sql_history_schema.version; from++) {
		char *dir = fixture_mkdir();
		sqlite3 *db = open_raw(dir, "history.db");
		sqlite3_stmt *stmt;

		make_version(db, &sql_history_schema, from, rows);
		sqlite3_close(db);
		store_close(fixture_open(dir, NULL, true, NULL));
		check_columns(dir, "history.db", "run", &fixture_tables[TABLE_RUN]);
		db = open_raw(dir, "history.db");
		assert_int_equal(sqlite3_prepare_v2(db, "SELECT attempt, rank, node, uid FROM run",
		                         -1, &stmt, NULL),
		        SQLITE_OK);
		assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
		assert_int_equal(sqlite3_column_int(stmt, 0), 1);
		assert_int_equal(sqlite3_column_int(stmt, 1), 0);
		assert_string_equal((const char *)sqlite3_column_text(stmt, 2), "n1");
		assert_int_equal(sqlite3_column_int(stmt, 3), 1000);
		sqlite3_finalize(stmt);
		sqlite3_close(db);
		fixture_rmdir(dir);
	}
}

static void check_refused(const char *dir, int code, const char *text)
{
	struct store_options options = { .dir = dir, .cluster = "test", .synchronous_only = true };
	struct error err;

	assert_null(store_open(&options, NULL, &err));
	assert_int_equal(err.code, code);
	if (!strstr(err.text, text))
		fail_msg("'%s' without '%s'", err.text, text);
}

static void test_newer_is_refused(void **state)
{
	const char *const files[] = { "state.db", "history.db" };

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		char *dir = fixture_mkdir(), *path;
		struct pages *pages;
		sqlite3 *db;

		store_close(fixture_open(dir, NULL, true, NULL));
		pages = pages_new(NULL);
		path = path_in(dir, files[i]);
		assert_int_equal(
		        sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, pages_vfs(pages)),
		        SQLITE_OK);
		exec_raw(db, "PRAGMA user_version = 9999");
		sqlite3_close(db);
		pages_free(pages);
		free(path);
		check_refused(dir, ERR_VERSION, "9999");
		fixture_rmdir(dir);
	}
}

/* Not ours, and left as it was: not even its journal mode is touched. */
static void test_foreign_is_refused(void **state)
{
	char *dir = fixture_mkdir();
	sqlite3 *db = open_raw(dir, "state.db");
	sqlite3_stmt *stmt;

	(void)state;
	exec_raw(db, "PRAGMA user_version = 1; PRAGMA application_id = 5; CREATE TABLE job (a);");
	sqlite3_close(db);
	check_refused(dir, ERR_SYSTEM, "not a database of gpusched");
	db = open_raw(dir, "state.db");
	assert_int_equal(sqlite3_prepare_v2(db, "PRAGMA journal_mode", -1, &stmt, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
	assert_string_equal((const char *)sqlite3_column_text(stmt, 0), "delete");
	sqlite3_finalize(stmt);
	sqlite3_close(db);
	fixture_rmdir(dir);
}

/* A history in the place of the state is refused too. */
static void test_mixed_up_is_refused(void **state)
{
	char *dir = fixture_mkdir(), *from = path_in(dir, "history.db"),
	     *to = path_in(dir, "state.db");

	(void)state;
	store_close(fixture_open(dir, NULL, true, NULL));
	assert_int_equal(rename(from, to), 0);
	check_refused(dir, ERR_SYSTEM, "not a database of gpusched");
	free(from);
	free(to);
	fixture_rmdir(dir);
}

static void overwrite(const char *path, off_t at, const char *bytes, size_t n)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, bytes, n, at), (ssize_t)n);
	close(fd);
}

/* Damage is found at the start, with the table's name. */
static void test_damage_is_found(void **state)
{
	char *dir = fixture_mkdir(), *path = path_in(dir, "state.db");
	struct event_base *base = event_base_new();
	struct store *store = fixture_open(dir, NULL, true, base);
	struct store_batch *batch = store_batch_new(store);
	static char junk[4096];
	struct fixture_room room;
	struct error err = { 0 };
	struct row row;
	sqlite3 *db;
	sqlite3_stmt *stmt;
	off_t page;

	(void)state;
	for (uint64_t key = 1; key <= 200; key++) {
		fixture_row(&row, &room, TABLE_NONCE, key, 0);
		store_batch_row(batch, &row);
	}
	assert_int_equal(fixture_commit(store, base, batch, NULL, NULL, &err), 0);
	store_close(store);
	db = open_raw(dir, "state.db");
	assert_int_equal(
	        sqlite3_prepare_v2(db, "SELECT rootpage FROM sqlite_schema WHERE name = 'nonce'",
	                -1, &stmt, NULL),
	        SQLITE_OK);
	assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
	page = sqlite3_column_int64(stmt, 0);
	sqlite3_finalize(stmt);
	sqlite3_close(db);
	memset(junk, 0xa5, sizeof(junk));
	overwrite(path, (page - 1) * 4096, junk, sizeof(junk));

	check_refused(dir, ERR_SYSTEM, "table 'nonce'");
	free(path);
	path = path_in(dir, "state.db-wal"); /* as a killed process leaves it */
	close(open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
	assert_int_equal(truncate(path, 32), 0);
	check_refused(dir, ERR_SYSTEM, "damaged");
	free(path);
	event_base_free(base);
	fixture_rmdir(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_columns),
		cmocka_unit_test(test_strict),
		cmocka_unit_test(test_migrations),
		cmocka_unit_test(test_services_of_before),
		cmocka_unit_test(test_history_migrates),
		cmocka_unit_test(test_newer_is_refused),
		cmocka_unit_test(test_foreign_is_refused),
		cmocka_unit_test(test_mixed_up_is_refused),
		cmocka_unit_test(test_damage_is_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
