/* verify.c - see verify.h */
#include "config.h"

#include "ctld/store/verify.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ctld/store/db.h"
#include "ctld/store/sum.h"

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

static int check_sum(const struct db *db, const char *path, bool *summed, struct error *err)
{
	char said[SUM_TEXT + 1], is[SUM_TEXT];
	struct sum *sum;
	unsigned times;
	off_t place;
	int fd, rc;

	if (db_ask(db, sql_sum_get, said, sizeof(said), err) < 0)
		return -1;
	*summed = *said;
	if (!*said)
		return 0;
	if (strlen(said) != SUM_TEXT - 1)
		return error_set(err, ERR_SYSTEM, "damaged: its sum is none");
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return error_set(err, ERR_SYSTEM, "%s", strerror(errno));
	sum = sum_new(fd, said);
	while ((rc = sum_step(sum, err)) > 0)
		;
	sum_result(sum, is, &place, &times);
	sum_free(sum);
	close(fd);
	if (rc == 0 && strcmp(is, said) != 0)
		rc = error_set(
		        err, ERR_SYSTEM, "damaged: its bytes are not those that the backup wrote");
	return rc;
}

int store_verify(const char *path, store_row_fn *take, void *arg, bool *summed, struct error *err)
{
	struct db db;
	int rc;

	if (db_open_file(&db, path, &sql_state_schema, err) < 0)
		return -1;
	rc = check_sum(&db, path, summed, err);
	if (rc == 0)
		rc = check_pages(&db, err);
	if (rc == 0)
		rc = db_load(&db, take, arg, err);
	db_close(&db);
	return rc < 0 ? error_wrap(err, "%s", path) : 0;
}
