/* archive.c - see archive.h */
#include "config.h"

#include "ctld/store/archive.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/failpoint.h"
#include "common/base/fd_close.h"
#include "common/base/xalloc.h"
#include "ctld/core/records/job.h"
#include "ctld/core/rows/row_codec.h"
#include "ctld/store/db.h"
#include "ctld/store/history_reader.h"

#define ARCHIVE_LOG_PAGES 1000 /* of the file's log: then it goes into the file */

struct archive {
	struct past *past;
	char *path;
	struct db to;
	bool is_open;
	sqlite3_stmt *put[TABLE_COUNT], *begin, *commit;
	int64_t before;
	bool passed; /* a job, or an event, that is not old enough */
	enum { ARCHIVE_JOBS, ARCHIVE_EVENTS, ARCHIVE_DONE } phase;
	struct past_cursor cursor;
	struct archive_counts counts;
};

/* --- opening -------------------------------------------------------------------------------- */

/* Never into what it is taken from, by whatever name. */
static int check_not_ours(
        const char *dir, const char *path, const struct stat *st, struct error *err)
{
	static const char *const names[] = { "history.db", "state.db" };
	char ours[4096];
	struct stat it;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(ours, sizeof(ours), "%s/%s", dir, names[i]);
		if (stat(ours, &it) == 0 && it.st_dev == st->st_dev && it.st_ino == st->st_ino)
			return error_set(
			        err, ERR_USAGE, "%s: is the controller's own %s", path, names[i]);
	}
	return 0;
}

static int make_file(const char *dir, const char *path, struct error *err)
{
	int fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0600);
	struct stat st;
	int rc;

	if (fd < 0 || fstat(fd, &st) < 0)
		rc = error_set(err, ERR_SYSTEM, "%s: %s", path, strerror(errno));
	else if (!S_ISREG(st.st_mode) || st.st_uid != geteuid())
		rc = error_set(err, ERR_USAGE, "%s: is not a file of the controller's user", path);
	else
		rc = check_not_ours(dir, path, &st, err);
	fd_close(fd);
	return rc;
}

static int prepare(struct archive *archive, struct error *err)
{
	for (int t = 0; t < TABLE_COUNT; t++)
		if (db_prepare_table(&archive->to, t, SQL_HISTORY_PUT, &archive->put[t], err) < 0)
			return -1;
	archive->begin = db_prepare(&archive->to, sql_statements[SQL_BEGIN], err);
	archive->commit = db_prepare(&archive->to, sql_statements[SQL_COMMIT], err);
	return archive->begin && archive->commit ? 0 : -1;
}

static int open_both(struct archive *archive, const char *dir, struct error *err)
{
	char cluster[256];

	archive->past = past_open(dir, err);
	if (!archive->past || past_cluster(archive->past, cluster, sizeof(cluster), err) < 0 ||
	        make_file(dir, archive->path, err) < 0)
		return -1;
	if (db_open(&archive->to, archive->path, NULL, &sql_history_schema, err) < 0)
		return error_wrap(err, "%s", archive->path);
	archive->is_open = true;
	if (db_cluster(&archive->to, cluster, err) < 0 || prepare(archive, err) < 0 ||
	        db_sync_folder(archive->path, err) < 0)
		return error_wrap(err, "%s", archive->path);
	return 0;
}

struct archive *archive_open(const char *dir, const char *path, int64_t before, struct error *err)
{
	struct archive *archive;

	if (*path != '/') {
		error_set(err, ERR_USAGE, "archive '%s': the path must be absolute", path);
		return NULL;
	}
	archive = xcalloc(1, sizeof(*archive));
	archive->path = xstrdup(path);
	archive->before = before;
	if (open_both(archive, dir, err) == 0)
		return archive;
	archive_close(archive);
	return NULL;
}

void archive_close(struct archive *archive)
{
	if (!archive)
		return;
	for (int t = 0; t < TABLE_COUNT; t++)
		sqlite3_finalize(archive->put[t]);
	sqlite3_finalize(archive->begin);
	sqlite3_finalize(archive->commit);
	if (archive->is_open)
		db_close(&archive->to);
	past_close(archive->past);
	free(archive->path);
	free(archive);
}

struct archive_counts archive_counts(const struct archive *archive)
{
	return archive->counts;
}

/* --- a slice -------------------------------------------------------------------------------- */

static bool is_old(void *arg, const struct row *row)
{
	struct archive *archive = arg;
	int64_t end = row->v[COL_JOB_end_time].i;

	if (end >= archive->before)
		archive->passed = true;
	return end > 0 && end < archive->before;
}

static int read_jobs(struct archive *archive, struct store_batch *out, struct error *err)
{
	const struct past_query query = {
		.by = PAST_BY_TIME, .wants = is_old, .arg = archive, .with_steps = true
	};

	return past_jobs(archive->past, &query, &archive->cursor, PAST_SLICE, out, err);
}

static int read_events(struct archive *archive, struct store_batch *out, struct error *err)
{
	const struct past_events query = { .uid = PAST_ANYBODY, .until = archive->before };

	return past_events(archive->past, &query, &archive->cursor, PAST_SLICE, out, err);
}

static int put_all(struct archive *archive, const struct store_batch *rows, struct error *err)
{
	uint64_t *const counted[TABLE_COUNT] = {
		[TABLE_JOB] = &archive->counts.jobs,
		[TABLE_RUN] = &archive->counts.runs,
		[TABLE_EVENT] = &archive->counts.events,
		[TABLE_STEP] = &archive->counts.steps,
	};
	struct batch_item item;
	size_t offset = 0;

	if (db_run(&archive->to, archive->begin, NULL, err) < 0)
		return -1;
	while (batch_next(rows, &offset, &item)) {
		sqlite3_stmt *put = archive->put[item.row.table];

		if (db_bind(&archive->to, put, 1, item.row.v, item.row.n, err) < 0 ||
		        db_run(&archive->to, put, NULL, err) < 0)
			return -1;
		++*counted[item.row.table];
	}
	FAILPOINT(archive_before_commit);
	if (db_run(&archive->to, archive->commit, NULL, err) < 0)
		return -1;
	FAILPOINT(archive_after_commit);
	return archive->to.wal_pages < ARCHIVE_LOG_PAGES ? 0 : db_checkpoint(&archive->to, err);
}

int archive_step(struct archive *archive, struct store_batch *moved, struct error *err)
{
	int (*const read[])(struct archive *, struct store_batch *,
	        struct error *) = { [ARCHIVE_JOBS] = read_jobs, [ARCHIVE_EVENTS] = read_events };

	batch_reset(moved);
	if (archive->phase == ARCHIVE_DONE)
		return 0;
	if (read[archive->phase](archive, moved, err) < 0)
		return -1;
	if (put_all(archive, moved, err) < 0) {
		db_abandon(&archive->to);
		return error_wrap(err, "%s", archive->path);
	}
	if (archive->cursor.end || archive->passed) {
		archive->phase++;
		archive->passed = false;
		archive->cursor = (struct past_cursor){ 0 };
	}
	return archive->phase != ARCHIVE_DONE;
}
