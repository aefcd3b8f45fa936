/* verify_copy.c - see verify_copy.h */
#include "config.h"

#include "ctld/store/verify_copy.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/fd_close.h"
#include "ctld/store/db.h"

#define STEPS             20000 /* of SQLite's machine, between two calls of a progress */
#define APPLICATION_ID_AT 68 /* in a database's head, big-endian */

struct watch {
	verify_progress_fn *progress; /* NULL: none */
	void *arg;
	uint64_t done;
	/* of rows */
	store_row_fn *take;
	void *take_arg;
};

static int on_steps(void *arg)
{
	struct watch *w = arg;

	w->progress(w->arg, VERIFY_PAGES, ++w->done);
	return 0;
}

static int on_row(void *arg, const struct row *row, struct error *err)
{
	struct watch *w = arg;

	w->progress(w->arg, VERIFY_ROWS, ++w->done);
	return w->take(w->take_arg, row, err);
}

/* "ok", or what is wrong first. */
static int check_pages(const struct db *db, struct error *err)
{
	sqlite3_stmt *stmt = db_prepare(db, sql_integrity_check, err);
	int rc, result = -1;

	if (!stmt)
		return -1;
	rc = sqlite3_step(stmt);
	if (rc == SQLITE_ROW) {
		const char *said = (const char *)sqlite3_column_text(stmt, 0);

		result = said && !strcmp(said, "ok")
		                 ? 0
		                 : error_set(err, ERR_SYSTEM, "damaged: %s", said ? said : "");
	} else {
		db_error(db, rc, "check", err);
	}
	sqlite3_finalize(stmt);
	return result;
}

/* What the head says that it is; anything else is checked as a state.db, and refused. */
static const struct sql_schema *schema_of(const char *path)
{
	uint8_t id[4] = { 0 };
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	ssize_t n = fd < 0 ? -1 : pread(fd, id, sizeof(id), APPLICATION_ID_AT);
	uint32_t number = (uint32_t)id[0] << 24 | (uint32_t)id[1] << 16 | (uint32_t)id[2] << 8 |
	                  id[3];

	fd_close(fd);
	return n == (ssize_t)sizeof(id) && number == (uint32_t)sql_history_schema.application_id
	               ? &sql_history_schema
	               : &sql_state_schema;
}

static int count(const struct db *db, const char *text, uint64_t *n, struct error *err)
{
	char answer[24];

	if (db_ask(db, text, answer, sizeof(answer), err) < 0)
		return -1;
	*n = strtoull(answer, NULL, 10);
	return 0;
}

static int check_rows(struct db *db, struct watch *w, struct verified *verified, struct error *err)
{
	w->done = 0;
	if (!verified->is_history)
		return w->progress ? db_load(db, on_row, w, err)
		                   : db_load(db, w->take, w->take_arg, err);
	return count(db, sql_count_jobs, &verified->jobs, err) < 0
	               ? -1
	               : count(db, sql_count_runs, &verified->runs, err);
}

int store_verify(const char *path, store_row_fn *take, void *arg, struct verified *verified,
        verify_progress_fn *progress, void *progress_arg, struct error *err)
{
	struct watch watch = { progress, progress_arg, 0, take, arg };
	const struct sql_schema *schema = schema_of(path);
	struct db db;
	int rc;

	if (db_open_file(&db, path, schema, err) < 0)
		return -1;
	*verified = (struct verified){
		.summed = pages_sums(db.pages) == PAGES_SUMMED,
		.is_history = schema == &sql_history_schema,
	};
	if (progress)
		sqlite3_progress_handler(db.handle, STEPS, on_steps, &watch);
	rc = db_whole(&db, err);
	if (rc == 0)
		rc = check_pages(&db, err);
	if (progress)
		sqlite3_progress_handler(db.handle, 0, NULL, NULL);
	if (rc == 0)
		rc = check_rows(&db, &watch, verified, err);
	db_close(&db);
	return rc < 0 ? error_wrap(err, "%s", path) : 0;
}
