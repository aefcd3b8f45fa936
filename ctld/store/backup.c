/* backup.c - see backup.h */
#include "config.h"

#include "ctld/store/backup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/failpoint.h"
#include "common/xalloc.h"
#include "ctld/store/sum.h"

#define SLICE_PAGES 256 /* 1 MiB: about a millisecond */

struct backup {
	char *path, *partial;
	bool is_begun; /* the partial file is ours */
	sqlite3 *to;
	sqlite3_backup *copy;
	/* Once it is copied: */
	int fd;
	struct sum *sum;
};

struct backup *backup_new(const char *path, struct error *err)
{
	struct backup *backup;

	if (*path != '/') {
		error_set(err, ERR_USAGE, "backup '%s': the path must be absolute", path);
		return NULL;
	}
	backup = xcalloc(1, sizeof(*backup));
	backup->path = xstrdup(path);
	backup->partial = xasprintf("%s.partial", path);
	backup->fd = -1;
	return backup;
}

/* Also what SQLite keeps beside it while it writes. */
static void remove_partial(const struct backup *backup)
{
	static const char *const beside[] = { "", "-journal", "-wal", "-shm" };

	for (size_t i = 0; i < sizeof(beside) / sizeof(beside[0]); i++) {
		char *path = xasprintf("%s%s", backup->partial, beside[i]);

		unlink(path);
		free(path);
	}
}

static void backup_end(struct backup *backup)
{
	sqlite3_backup_finish(backup->copy);
	sqlite3_close(backup->to);
	backup->copy = NULL;
	backup->to = NULL;
	sum_free(backup->sum);
	backup->sum = NULL;
	if (backup->fd >= 0)
		close(backup->fd);
	backup->fd = -1;
	if (backup->is_begun)
		remove_partial(backup);
	backup->is_begun = false;
}

static int fail(struct backup *backup, const char *path, const char *why, struct error *err)
{
	error_set(err, ERR_SYSTEM, "backup '%s': %s", path, why);
	backup_end(backup);
	return -1;
}

/* What one that was interrupted has left is nobody's: there is only one at a time. */
static void remove_left(const struct backup *backup)
{
	struct stat st;

	if (lstat(backup->partial, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid())
		remove_partial(backup);
}

/* --- copying -------------------------------------------------------------------------------- */

static int begin(struct backup *backup, const struct db *from, struct error *err)
{
	if (access(backup->path, F_OK) == 0)
		return fail(backup, backup->path, strerror(EEXIST), err);
	remove_left(backup);
	backup->fd =
	        open(backup->partial, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (backup->fd < 0)
		return fail(backup, backup->partial, strerror(errno), err);
	backup->is_begun = true;
	if (sqlite3_open_v2(backup->partial, &backup->to,
	            SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL) == SQLITE_OK)
		backup->copy = sqlite3_backup_init(backup->to, "main", from->handle, "main");
	if (!backup->copy)
		return fail(backup, backup->path, sqlite3_errmsg(backup->to), err);
	return 0;
}

/* A row for its sum, still with digits of no meaning. */
static int make_room(sqlite3 *to, const char digits[SUM_TEXT])
{
	sqlite3_stmt *stmt = NULL;
	int rc = sqlite3_exec(to, sql_settings[0].text, NULL, NULL, NULL); /* no -shm beside it */

	if (rc == SQLITE_OK)
		rc = sqlite3_prepare_v2(to, sql_sum_put, -1, &stmt, NULL);
	if (rc == SQLITE_OK)
		rc = sqlite3_bind_text(stmt, 1, digits, -1, SQLITE_STATIC);
	if (rc == SQLITE_OK)
		rc = sqlite3_step(stmt);
	sqlite3_finalize(stmt);
	return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

/* All pages are there. */
static int copied(struct backup *backup, struct error *err)
{
	int rc = sqlite3_backup_finish(backup->copy);
	char digits[SUM_TEXT];

	backup->copy = NULL;
	sum_placeholder(digits);
	if (rc == SQLITE_OK)
		rc = make_room(backup->to, digits);
	if (rc == SQLITE_OK)
		rc = sqlite3_close(backup->to);
	if (rc != SQLITE_OK)
		return fail(backup, backup->path, sqlite3_errstr(rc), err);
	backup->to = NULL;
	backup->sum = sum_new(backup->fd, digits);
	return 1;
}

/* --- the copy is whole ---------------------------------------------------------------------- */

static int complete(struct backup *backup, struct error *err)
{
	char text[SUM_TEXT];
	unsigned times;
	off_t place;

	sum_result(backup->sum, text, &place, &times);
	if (times != 1)
		return fail(backup, backup->path, "the copy is not what was copied", err);
	if (pwrite(backup->fd, text, SUM_TEXT - 1, place) != SUM_TEXT - 1 || fsync(backup->fd) < 0)
		return fail(backup, backup->path, strerror(errno), err);
	FAILPOINT(backup_before_rename);
	if (renameat2(AT_FDCWD, backup->partial, AT_FDCWD, backup->path, RENAME_NOREPLACE) < 0)
		return fail(backup, backup->path, strerror(errno), err);
	backup->is_begun = false;
	if (db_sync_folder(backup->path, err) < 0)
		return error_wrap(err, "backup '%s'", backup->path);
	FAILPOINT(backup_after_rename);
	return 0;
}

int backup_step(struct backup *backup, const struct db *from, struct error *err)
{
	int rc;

	if (backup->sum) {
		rc = sum_step(backup->sum, err);
		if (rc < 0)
			return fail(backup, backup->path, "cannot be read", err);
		return rc ? 1 : complete(backup, err);
	}
	if (!backup->copy && begin(backup, from, err) < 0)
		return -1;
	rc = sqlite3_backup_step(backup->copy, SLICE_PAGES);
	FAILPOINT(backup_between_slices);
	if (rc == SQLITE_OK)
		return 1;
	if (rc == SQLITE_DONE)
		return copied(backup, err);
	return fail(backup, backup->path, sqlite3_errstr(rc), err);
}

void backup_free(struct backup *backup)
{
	if (!backup)
		return;
	backup_end(backup);
	free(backup->path);
	free(backup->partial);
	free(backup);
}
