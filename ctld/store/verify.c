/* verify.c - see verify.h */
#include "config.h"

#include "ctld/store/verify.h"

#include <stdlib.h>
#include <string.h>

#include "ctld/store/db.h"

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

int store_verify(const char *path, store_row_fn *take, void *arg, struct error *err)
{
	char *uri = db_uri(path, "immutable=1"); /* no log is made beside it */
	struct db db;
	int rc = db_open_reading(&db, uri, &sql_state_schema, err);

	free(uri);
	if (rc < 0)
		return error_wrap(err, "%s", path);
	rc = check_pages(&db, err);
	if (rc == 0)
		rc = db_load(&db, take, arg, err);
	db_close(&db);
	return rc < 0 ? error_wrap(err, "%s", path) : 0;
}
