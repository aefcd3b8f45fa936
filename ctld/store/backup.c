/* backup.c - see backup.h */
#include "ctld/store/backup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/xalloc.h"

#define SLICE_PAGES 256 /* 1 MiB: about a millisecond */

struct backup {
	char *path, *partial;
	bool is_begun; /* the partial file is ours */
	sqlite3 *to;
	sqlite3_backup *copy;
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
	return backup;
}

static void backup_end(struct backup *backup)
{
	sqlite3_backup_finish(backup->copy);
	sqlite3_close(backup->to);
	backup->copy = NULL;
	backup->to = NULL;
	if (backup->is_begun)
		unlink(backup->partial);
	backup->is_begun = false;
}

static int fail(struct backup *backup, const char *path, const char *why, struct error *err)
{
	error_set(err, ERR_SYSTEM, "backup '%s': %s", path, why);
	backup_end(backup);
	return -1;
}

static int begin(struct backup *backup, const struct db *from, struct error *err)
{
	int fd;

	if (access(backup->path, F_OK) == 0)
		return fail(backup, backup->path, strerror(EEXIST), err);
	fd = open(backup->partial, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return fail(backup, backup->partial, strerror(errno), err);
	close(fd);
	backup->is_begun = true;
	if (sqlite3_open_v2(backup->partial, &backup->to,
	            SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL) == SQLITE_OK)
		backup->copy = sqlite3_backup_init(backup->to, "main", from->handle, "main");
	if (!backup->copy)
		return fail(backup, backup->path, sqlite3_errmsg(backup->to), err);
	return 0;
}

static int complete(struct backup *backup, struct error *err)
{
	int rc = sqlite3_backup_finish(backup->copy);

	backup->copy = NULL;
	if (sqlite3_close(backup->to) == SQLITE_OK)
		backup->to = NULL;
	if (rc != SQLITE_OK)
		return fail(backup, backup->path, sqlite3_errstr(rc), err);
	if (renameat2(AT_FDCWD, backup->partial, AT_FDCWD, backup->path, RENAME_NOREPLACE) < 0)
		return fail(backup, backup->path, strerror(errno), err);
	if (db_sync_folder(backup->path, err) < 0)
		return error_wrap(err, "backup '%s'", backup->path);
	backup->is_begun = false;
	return 0;
}

int backup_step(struct backup *backup, const struct db *from, struct error *err)
{
	int rc;

	if (!backup->copy && begin(backup, from, err) < 0)
		return -1;
	rc = sqlite3_backup_step(backup->copy, SLICE_PAGES);
	if (rc == SQLITE_OK)
		return 1;
	if (rc == SQLITE_DONE)
		return complete(backup, err);
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
