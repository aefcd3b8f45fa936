/* rundir.c - see rundir.h */
#include "noded/record/rundir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/base/fd_close.h"
#include "noded/job/jobenv.h"
#include "noded/record/record.h"

#define ROUNDS_MAX 100000 /* directories that are flattened before removal is abandoned */

/* --- making ----------------------------------------------------------------------------------- */

/* A new file with its bytes, mode and owner. */
static int make_file(int dirfd, const char *name, mode_t mode, const struct rundir_owner *owner,
        const void *bytes, size_t len)
{
	int fd = openat(dirfd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	int saved;

	if (fd < 0)
		return -1;
	if (record_write_all(fd, bytes, len) < 0 || fchmod(fd, mode) < 0 ||
	        (owner->change && fchown(fd, owner->uid, owner->gid) < 0)) {
		saved = errno;
		close(fd);
		unlinkat(dirfd, name, 0);
		errno = saved;
		return -1;
	}
	return close(fd);
}

int rundir_open(int parent, const char *id)
{
	return openat(parent, id, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

static int make(int parent, const char *id, const struct rundir_owner *owner, const void *script,
        size_t len)
{
	int fd, saved;

	if (mkdirat(parent, id, 0700) < 0 &&
	        (errno != EEXIST || rundir_remove(parent, id) < 0 || mkdirat(parent, id, 0700) < 0))
		return -1;
	fd = rundir_open(parent, id);
	if (fd < 0)
		return -1;
	if (make_file(fd, RUNDIR_SCRIPT, 0500, owner, script, len) == 0 &&
	        (!owner->change || fchown(fd, owner->uid, owner->gid) == 0))
		return close(fd);
	saved = errno;
	close(fd);
	errno = saved;
	return -1;
}

int rundir_make(int parent, const char *id, const struct rundir_owner *owner, const void *script,
        size_t len, struct error *err)
{
	int saved;

	if (make(parent, id, owner, script, len) == 0)
		return 0;
	saved = errno;
	rundir_remove(parent, id);
	return error_set(err, saved == ENOSPC || saved == EDQUOT ? ERR_NO_SPACE : ERR_SYSTEM,
	        "cannot make the run's directory in the node's spool: %s", strerror(saved));
}

int rundir_interrupt(int parent, const char *id, int rundir, const struct rundir_owner *owner,
        const char *text, size_t len)
{
	char tmp[RECORD_ID_MAX + 16];

	snprintf(tmp, sizeof(tmp), "%s.interrupt", id);
	unlinkat(parent, tmp, 0);
	if (make_file(parent, tmp, 0400, owner, text, len) < 0)
		return -1;
	/* Replaces whatever has that name, a link included, and follows nothing. */
	if (renameat(parent, tmp, rundir, JOBENV_INTERRUPT_FILE) == 0)
		return 0;
	unlinkat(parent, tmp, 0);
	return -1;
}

void rundir_no_interrupt(int rundir)
{
	unlinkat(rundir, JOBENV_INTERRUPT_FILE, 0);
}

/* --- reading ---------------------------------------------------------------------------------- */

static int open_inside(int rundir, const char *name, uint64_t flags)
{
	struct open_how how = { .flags = flags | O_NOFOLLOW | O_CLOEXEC,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV };

	return (int)syscall(SYS_openat2, rundir, name, &how, sizeof(how));
}

bool rundir_stat(int rundir, const char *name, struct stat *st)
{
	int fd = open_inside(rundir, name, O_PATH);
	bool there = fd >= 0 && fstat(fd, st) == 0;

	fd_close(fd);
	return there;
}

ssize_t rundir_read(
        int rundir, const char *name, const struct rundir_owner *owner, char *buf, size_t size)
{
	uid_t uid = owner->change ? owner->uid : geteuid();
	int fd = open_inside(rundir, name, O_RDONLY | O_NONBLOCK | O_NOCTTY), saved;
	struct stat st;
	ssize_t n = -1;

	if (fd < 0)
		return -1;
	/* The owner may have linked another user's file here to have us read it. */
	errno = EPERM;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == uid)
		n = pread(fd, buf, size - 1, 0);
	saved = errno;
	close(fd);
	errno = saved;
	buf[n > 0 ? n : 0] = '\0';
	return n;
}

/* --- removing ---------------------------------------------------------------------------------
 *
 * There is no recursion, since a user would choose its depth and descriptors. The entries of each
 * directory that is not empty are moved up to the top under fresh names until all can be unlinked.
 */

struct removal {
	int top;
	dev_t dev;
	unsigned long fresh; /* for names of what is moved up */
	bool again;
};

/* After a failed call: if the agent is not root and its user has closed a directory to itself, open
 * it again. Root needs no modes. */
static bool opened_up(int at, const char *name)
{
	return errno == EACCES && fchmodat(at, name, 0700, AT_SYMLINK_NOFOLLOW) == 0;
}

static int move_up(struct removal *r, int fd)
{
	DIR *d = fdopendir(fd);
	struct dirent *e;
	char name[32];

	if (!d) {
		close(fd);
		return -1;
	}
	while ((e = readdir(d))) {
		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
			continue;
		if (unlinkat(fd, e->d_name, 0) == 0)
			continue;
		do
			snprintf(name, sizeof(name), ".gone-%lu", r->fresh++);
		while (faccessat(r->top, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0);
		/* Moving a directory to another parent writes to the directory itself. */
		if (renameat(fd, e->d_name, r->top, name) < 0 &&
		        (!opened_up(fd, e->d_name) || renameat(fd, e->d_name, r->top, name) < 0)) {
			closedir(d);
			return -1;
		}
		r->again = true;
	}
	closedir(d);
	return 0;
}

static int remove_dir_entry(struct removal *r, const char *name)
{
	struct stat st;
	int fd;

	if (unlinkat(r->top, name, AT_REMOVEDIR) == 0)
		return 0;
	if (errno != ENOTEMPTY && errno != EEXIST)
		return -1;
	fd = rundir_open(r->top, name);
	if (fd < 0 && opened_up(r->top, name))
		fd = rundir_open(r->top, name);
	if (fd < 0 || fstat(fd, &st) < 0 || st.st_dev != r->dev) {
		fd_close(fd);
		errno = EXDEV;
		return -1;
	}
	(void)fchmod(fd, 0700);
	if (move_up(r, fd) < 0)
		return -1;
	return unlinkat(r->top, name, AT_REMOVEDIR);
}

static int remove_entries(struct removal *r)
{
	int fd = openat(r->top, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;
	int result = 0;

	if (!d) {
		fd_close(fd);
		return -1;
	}
	while ((e = readdir(d))) {
		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
			continue;
		if (unlinkat(r->top, e->d_name, 0) < 0 && errno != ENOENT &&
		        remove_dir_entry(r, e->d_name) < 0)
			result = -1;
	}
	closedir(d);
	return result;
}

int rundir_remove(int parent, const char *id)
{
	struct removal r = { .top = rundir_open(parent, id), .again = true };
	struct stat st;
	int result = 0, saved;

	if (r.top < 0 && opened_up(parent, id))
		r.top = rundir_open(parent, id);
	if (r.top < 0)
		return errno == ENOENT ? 0 : -1;
	if (fstat(r.top, &st) < 0) {
		close(r.top);
		return -1;
	}
	(void)fchmod(r.top, 0700);
	r.dev = st.st_dev;
	/* Usually only our own files are there. */
	unlinkat(r.top, RUNDIR_SCRIPT, 0);
	if (unlinkat(parent, id, AT_REMOVEDIR) == 0) {
		close(r.top);
		return 0;
	}
	for (unsigned i = 0; i < ROUNDS_MAX && r.again && result == 0; i++) {
		r.again = false;
		result = remove_entries(&r);
	}
	saved = errno;
	close(r.top);
	errno = saved;
	return unlinkat(parent, id, AT_REMOVEDIR);
}
