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

#include "common/base/failpoint.h"
#include "common/base/fd_close.h"
#include "common/base/xalloc.h"

#define SLICE_PAGES 256 /* 1 MiB: about a millisecond */

struct backup {
	char *path, *partial;
	bool is_begun; /* the partial file is ours */
	int fd;
	struct pages *pages;
	sqlite3 *to;
	sqlite3_backup *copy;
	uint32_t next; /* the page to be read again; 0: it is not copied yet */
	uint64_t n_pages; /* of the state, when a step was last done */
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
	pages_free(backup->pages);
	backup->copy = NULL;
	backup->to = NULL;
	backup->pages = NULL;
	fd_drop(&backup->fd);
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

/* What an interrupted backup has left is not in use: there is only one backup at a time. */
static void remove_left(const struct backup *backup)
{
	struct stat st;

	if (lstat(backup->partial, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid())
		remove_partial(backup);
}

/* --- copying -------------------------------------------------------------------------------- */

static int open_copy(struct backup *backup, struct db *from, struct error *err)
{
	if (access(backup->path, F_OK) == 0)
		return fail(backup, backup->path, strerror(EEXIST), err);
	remove_left(backup);
	backup->fd =
	        open(backup->partial, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (backup->fd < 0)
		return fail(backup, backup->partial, strerror(errno), err);
	backup->is_begun = true;
	backup->pages = pages_new(NULL);
	pages_set_sums(backup->pages, pages_sums(from->pages));
	if (sqlite3_open_v2(backup->partial, &backup->to,
	            SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX,
	            pages_vfs(backup->pages)) == SQLITE_OK)
		backup->copy = sqlite3_backup_init(backup->to, "main", from->handle, "main");
	if (!backup->copy)
		return fail(backup, backup->path, sqlite3_errmsg(backup->to), err);
	return 0;
}

/* All pages are there. */
static int copied(struct backup *backup, struct error *err)
{
	int rc = sqlite3_backup_finish(backup->copy);

	backup->copy = NULL;
	if (rc != SQLITE_OK)
		return fail(backup, backup->path, sqlite3_errstr(rc), err);
	backup->next = 1;
	return 1;
}

/* --- the copy is whole ---------------------------------------------------------------------- */

static int complete(struct backup *backup, struct error *err)
{
	int rc = sqlite3_close(backup->to);

	backup->to = NULL;
	if (rc != SQLITE_OK)
		return fail(backup, backup->path, sqlite3_errstr(rc), err);
	if (fsync(backup->fd) < 0)
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

int backup_step(struct backup *backup, struct db *from, struct error *err)
{
	int rc;

	if (backup->next) {
		rc = pages_scan(backup->pages, &backup->next, SLICE_PAGES);
		if (rc < 0)
			return fail(backup, backup->path, "the copy is not what was written", err);
		return rc ? 1 : complete(backup, err);
	}
	if (!backup->copy && open_copy(backup, from, err) < 0)
		return -1;
	rc = sqlite3_backup_step(backup->copy, SLICE_PAGES);
	backup->n_pages = (uint64_t)sqlite3_backup_pagecount(backup->copy);
	FAILPOINT(backup_between_slices);
	if (rc == SQLITE_OK)
		return 1;
	if (rc == SQLITE_DONE)
		return copied(backup, err);
	if (rc == SQLITE_IOERR_DATA && pages_damaged(from->pages)) {
		backup_end(backup);
		db_damaged(from, pages_damaged(from->pages), err);
		return error_wrap(err, "backup '%s'", backup->path);
	}
	return fail(backup, backup->path, sqlite3_errstr(rc), err);
}

void backup_progress(const struct backup *backup, uint64_t *pages, uint64_t *all)
{
	*all = 2 * backup->n_pages;
	*pages = 0;
	if (backup->next)
		*pages = backup->n_pages + backup->next - 1;
	else if (backup->copy)
		*pages = backup->n_pages - (uint64_t)sqlite3_backup_remaining(backup->copy);
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
