/* state_dir.c - see state_dir.h */
#include "ctld/store/state_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "common/base/fd_close.h"
#include "common/base/xalloc.h"
#include "ctld/store/db.h"

#define RESERVE_DEFAULT_KB 4096
#define RESERVE_CHUNK      65536
#define CLOSED             (S_IRWXG | S_IRWXO)

struct state_dir {
	char *dir;
	sqlite3_vfs *vfs;
	bool virtual; /* a VFS by name: no directory */
	int dir_fd, lock_fd;
	char *state_path, *history_path, *reserve_path;
	uint64_t reserve_size;
	bool has_reserve;
};

/* After a system call has failed. */
static int system_error(const struct state_dir *home, const char *name, struct error *err)
{
	return error_set(err, errno == ENOSPC ? ERR_NO_SPACE : ERR_SYSTEM, "'%s/%s': %s", home->dir,
	        name, strerror(errno));
}

static int check_dir(struct state_dir *home, struct error *err)
{
	struct stat st;

	home->dir_fd = open(home->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (home->dir_fd < 0 || fstat(home->dir_fd, &st) < 0)
		return error_set(
		        err, ERR_SYSTEM, "state directory '%s': %s", home->dir, strerror(errno));
	if (st.st_uid != geteuid())
		return error_set(err, ERR_SYSTEM,
		        "state directory '%s' belongs to uid %u, not to %u", home->dir,
		        (unsigned)st.st_uid, (unsigned)geteuid());
	if (st.st_mode & CLOSED) {
		error_set(err, ERR_SYSTEM, "state directory '%s' is open to others (mode %04o)",
		        home->dir, st.st_mode & 07777);
		return error_hint(err, "chmod 0700 %s", home->dir);
	}
	return 0;
}

static int check_file(const struct state_dir *home, const char *name, struct error *err)
{
	struct stat st;

	if (fstatat(home->dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0
		                       : error_set(err, ERR_SYSTEM, "'%s/%s': %s", home->dir, name,
		                                 strerror(errno));
	if (!S_ISREG(st.st_mode) || st.st_nlink != 1)
		return error_set(err, ERR_SYSTEM, "'%s/%s' is not a plain file with one name",
		        home->dir, name);
	if (st.st_uid != geteuid())
		return error_set(err, ERR_SYSTEM, "'%s/%s' belongs to uid %u, not to %u", home->dir,
		        name, (unsigned)st.st_uid, (unsigned)geteuid());
	if (st.st_mode & CLOSED) {
		error_set(err, ERR_SYSTEM, "'%s/%s' is open to others (mode %04o)", home->dir, name,
		        st.st_mode & 07777);
		return error_hint(err, "chmod 0600 %s/%s", home->dir, name);
	}
	return 0;
}

static int check_files(const struct state_dir *home, struct error *err)
{
	const char *const databases[] = { sql_state_schema.file, sql_history_schema.file };
	char wal[64];

	for (size_t i = 0; i < sizeof(databases) / sizeof(*databases); i++) {
		snprintf(wal, sizeof(wal), "%s-wal", databases[i]);
		if (check_file(home, databases[i], err) < 0 || check_file(home, wal, err) < 0)
			return -1;
	}
	return check_file(home, "lock", err);
}

static int lock(struct state_dir *home, struct error *err)
{
	char pid[32] = "";

	home->lock_fd = openat(
	        home->dir_fd, "lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
	if (home->lock_fd < 0)
		return system_error(home, "lock", err);
	if (flock(home->lock_fd, LOCK_EX | LOCK_NB) < 0) {
		int error = errno;

		if (error != EWOULDBLOCK)
			return error_set(
			        err, ERR_SYSTEM, "'%s/lock': %s", home->dir, strerror(error));
		if (pread(home->lock_fd, pid, sizeof(pid) - 1, 0) > 0)
			pid[strcspn(pid, "\n")] = '\0';
		error_set(err, ERR_SYSTEM, "state directory '%s' is in use by process %s",
		        home->dir, pid[0] ? pid : "(unknown)");
		return error_hint(err, "only one controller can serve a state directory");
	}
	/* On a full disk the room that it has is kept; without any the lock holds all the same. */
	snprintf(pid, sizeof(pid), "%ld\n", (long)getpid());
	if (pwrite(home->lock_fd, pid, strlen(pid), 0) < 0)
		return errno == ENOSPC ? 0 : system_error(home, "lock", err);
	return ftruncate(home->lock_fd, (off_t)strlen(pid)) < 0 ? system_error(home, "lock", err)
	                                                        : 0;
}

/* SQLite would create its files with modes of its own choice. */
static int create_file(const struct state_dir *home, const char *name, struct error *err)
{
	int fd = openat(home->dir_fd, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	if (fd >= 0)
		close(fd);
	else if (errno != EEXIST)
		return system_error(home, name, err);
	return 0;
}

static int prepare_dir(struct state_dir *home, struct error *err)
{
	if (check_dir(home, err) < 0 || check_files(home, err) < 0 || lock(home, err) < 0)
		return -1;
	if (create_file(home, sql_state_schema.file, err) < 0)
		return -1;
	return create_file(home, sql_history_schema.file, err);
}

struct state_dir *state_dir_open(
        const char *dir, const char *vfs, uint64_t reserve_kb, struct error *err)
{
	struct state_dir *home = xcalloc(1, sizeof(*home));

	home->dir = xstrdup(dir);
	home->dir_fd = home->lock_fd = -1;
	home->virtual = vfs != NULL;
	home->vfs = db_vfs(vfs);
	home->state_path = xasprintf("%s/%s", dir, sql_state_schema.file);
	home->history_path = xasprintf("%s/%s", dir, sql_history_schema.file);
	home->reserve_path = xasprintf("%s/reserve", dir);
	home->reserve_size = (reserve_kb ? reserve_kb : RESERVE_DEFAULT_KB) * 1024;
	if (!home->vfs)
		error_set(err, ERR_INTERNAL, "no SQLite VFS '%s'", vfs);
	else if (home->virtual || prepare_dir(home, err) == 0) {
		state_dir_make_reserve(home);
		return home;
	}
	state_dir_close(home);
	return NULL;
}

void state_dir_close(struct state_dir *home)
{
	if (!home)
		return;
	fd_close(home->lock_fd);
	fd_close(home->dir_fd);
	free(home->dir);
	free(home->state_path);
	free(home->history_path);
	free(home->reserve_path);
	free(home);
}

const char *state_dir_state_path(const struct state_dir *home)
{
	return home->state_path;
}

const char *state_dir_history_path(const struct state_dir *home)
{
	return home->history_path;
}

uint64_t state_dir_free_mb(const struct state_dir *home)
{
	struct statvfs st;

	if (home->virtual || fstatvfs(home->dir_fd, &st) < 0)
		return UINT64_MAX;
	return (uint64_t)st.f_bavail * st.f_frsize >> 20;
}

/* ---- the reserve ---- */

bool state_dir_has_reserve(const struct state_dir *home)
{
	return home->has_reserve;
}

/* Bytes that no file system stores for less than their length. */
static void fill(uint8_t *p, size_t n)
{
	uint64_t x = 0x9e3779b97f4a7c15u;

	for (size_t i = 0; i + sizeof(x) <= n; i += sizeof(x)) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		memcpy(p + i, &x, sizeof(x));
	}
}

static bool write_reserve(const struct state_dir *home, sqlite3_file *file)
{
	const struct sqlite3_io_methods *io = file->pMethods;
	sqlite3_int64 at = 0;
	uint8_t *chunk;
	int rc;

	rc = io->xFileSize(file, &at);
	if (rc == SQLITE_OK && (uint64_t)at >= home->reserve_size)
		return true;
	chunk = xcalloc(1, RESERVE_CHUNK);
	fill(chunk, RESERVE_CHUNK);
	for (at = 0; rc == SQLITE_OK && (uint64_t)at < home->reserve_size; at += RESERVE_CHUNK)
		rc = io->xWrite(file, chunk, RESERVE_CHUNK, at);
	free(chunk);
	return rc == SQLITE_OK && io->xSync(file, SQLITE_SYNC_NORMAL) == SQLITE_OK;
}

bool state_dir_make_reserve(struct state_dir *home)
{
	sqlite3_vfs *vfs = home->vfs;
	sqlite3_file *file;

	if (home->has_reserve)
		return true;
	file = xcalloc(1, (size_t)vfs->szOsFile);
	if (vfs->xOpen(vfs, home->reserve_path, file,
	            SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_SUPER_JOURNAL,
	            NULL) == SQLITE_OK) {
		home->has_reserve = write_reserve(home, file);
		file->pMethods->xClose(file);
		if (!home->has_reserve)
			state_dir_drop_reserve(home);
	}
	free(file);
	return home->has_reserve;
}

void state_dir_drop_reserve(struct state_dir *home)
{
	home->vfs->xDelete(home->vfs, home->reserve_path, 0);
	home->has_reserve = false;
}
