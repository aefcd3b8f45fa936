/* launcher_dirs.c - see launcher_dirs.h
 *
 * An incarnation is one life of the node's tmpfs: the boot id and a random id. It is found in
 * RUNDIR, or made new, which means that all runs of the last one are dead or must be.
 */
#include "noded/runs/launcher_dirs.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "common/base/error.h"
#include "common/base/fd_close.h"
#include "common/base/xalloc.h"
#include "noded/contain/private_mounts.h"
#include "noded/exec/site_program_allowed.h"
#include "noded/runs/launcher_options.h"
#include "noded/runs/launcher_state.h"

#define LOCK_PATIENCE_S  10 /* for an earlier launcher to end */
#define INCARNATION_FILE "incarnation"

/* --- directories ------------------------------------------------------------------------------ */

static int fail(struct error *err, const char *what, const char *path)
{
	return error_set(err, ERR_SYSTEM, "%s '%s': %s", what, path, strerror(errno));
}

/* Make a directory if it is missing. It must be ours, and writable by no other user. A link that
 * the site has put in its place is followed, but none below that: its target would be changed,
 * too. */
static int open_own_dir(int at, const char *name, const char *path, mode_t mode, struct error *err)
{
	int link = at == AT_FDCWD ? 0 : O_NOFOLLOW;
	struct stat st;
	int fd;

	if (mkdirat(at, name, mode) < 0 && errno != EEXIST)
		return fail(err, "cannot make the directory", path);
	fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | link);
	if (fd < 0 && errno == ENOTDIR)
		return error_set(err, ERR_USAGE,
		        "'%s' is a link or a file; it must be a directory, or not there", path);
	if (fd < 0 || fstat(fd, &st) < 0) {
		fail(err, "cannot open the directory", path);
		goto error;
	}
	if (st.st_uid != geteuid() || (st.st_mode & 022)) {
		error_set(err, ERR_USAGE,
		        "directory '%s' is owned by uid %u with mode %03o; it must be ours and not "
		        "writable by others",
		        path, (unsigned)st.st_uid, st.st_mode & 0777);
		goto error;
	}
	if (fchmod(fd, mode) < 0) {
		fail(err, "cannot protect the directory", path);
		goto error;
	}
	return fd;
error:
	fd_close(fd);
	return -1;
}

static int open_sub_dir(
        int parent, const char *path, const char *name, mode_t mode, char **full, struct error *err)
{
	char *p = xasprintf("%s/%s", path, name);
	int fd = open_own_dir(parent, name, p, mode, err);

	if (full && fd >= 0)
		*full = p;
	else
		free(p);
	return fd;
}

/* A user who can rename a directory of root's can put another in its place. */
static int check_above(const struct launcher *l, struct error *err)
{
	if (geteuid() != 0)
		return 0;
	if (program_place_check(l->options->rundir, err) < 0)
		return -1;
	return program_place_check(l->options->spool, err);
}

static struct launcher_dirs *launcher_dirs_new(void)
{
	struct launcher_dirs *p = xcalloc(1, sizeof(*p));

	p->lock = p->rundir = p->runs = p->spool = p->spool_runs = p->exits = -1;
	p->outputs = p->holds = p->private_dir = p->mps_dir = -1;
	return p;
}

void launcher_dirs_free(struct launcher_dirs *p)
{
	if (!p)
		return;
	fd_close(p->outputs);
	fd_close(p->holds);
	fd_close(p->private_dir);
	fd_close(p->mps_dir);
	fd_close(p->exits);
	fd_close(p->spool_runs);
	fd_close(p->runs);
	fd_close(p->spool);
	fd_close(p->rundir);
	fd_close(p->lock);
	free(p->runs_path);
	free(p->spool_runs_path);
	free(p->private_path);
	free(p->mps_path);
	free(p);
}

int launcher_dirs_make(struct launcher *l, struct error *err)
{
	const struct launcher_options *o = l->options;
	struct launcher_dirs *p = l->dirs = launcher_dirs_new();
	struct statvfs vfs;

	if ((p->rundir = open_own_dir(AT_FDCWD, o->rundir, o->rundir, 0711, err)) < 0 ||
	        (p->spool = open_own_dir(AT_FDCWD, o->spool, o->spool, 0711, err)) < 0 ||
	        (p->runs = open_sub_dir(p->rundir, o->rundir, "runs", 0700, &p->runs_path, err)) <
	                0 ||
	        (p->spool_runs = open_sub_dir(
	                 p->spool, o->spool, "runs", 0711, &p->spool_runs_path, err)) < 0 ||
	        (p->exits = open_sub_dir(p->spool, o->spool, "exits", 0700, NULL, err)) < 0 ||
	        (p->private_dir = open_sub_dir(
	                 p->spool, o->spool, PRIVATE_DIR, 0700, &p->private_path, err)) < 0 ||
	        (p->mps_dir = open_sub_dir(p->spool, o->spool, "mps", 0711, &p->mps_path, err)) <
	                0 ||
	        (p->outputs = open_sub_dir(p->spool, o->spool, "outputs", 0700, NULL, err)) < 0 ||
	        (p->holds = open_sub_dir(p->rundir, o->rundir, "holds", 0700, NULL, err)) < 0 ||
	        check_above(l, err) < 0)
		return -1;
	if (fstatvfs(p->spool, &vfs) == 0 && (vfs.f_flag & ST_NOEXEC)) {
		error_set(err, ERR_USAGE,
		        "spool directory '%s' is mounted noexec: no job could "
		        "execute its script",
		        o->spool);
		return -1;
	}
	return 0;
}

/* An earlier launcher may be ending just now, so the lock is tried for a while. */
int launcher_dirs_lock(struct launcher *l, struct error *err)
{
	l->dirs->lock =
	        openat(l->dirs->rundir, "lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (l->dirs->lock < 0)
		return fail(err, "cannot open the lock in", l->options->rundir);
	for (int ms = 0; flock(l->dirs->lock, LOCK_EX | LOCK_NB) < 0; ms += 20) {
		if (errno != EWOULDBLOCK || ms > LOCK_PATIENCE_S * 1000)
			return error_set(err, ERR_USAGE, "'%s' is in use by another agent",
			        l->options->rundir);
		poll(NULL, 0, 20);
	}
	return 0;
}

/* --- incarnation ------------------------------------------------------------------------------ */

/* It consists of the boot id and a random id that lives as long as tmpfs does. */
int launcher_dirs_incarnation(struct launcher *l, struct error *err)
{
	char path[] = "/proc/sys/kernel/random/boot_id", known[sizeof(l->dirs->incarnation)] = "";
	FILE *f = fopen(path, "re");
	uint64_t chance;
	int fd, n;

	if (!f || !fgets(l->dirs->boot_id, sizeof(l->dirs->boot_id), f))
		n = -1;
	else
		n = 0;
	if (f)
		fclose(f);
	if (n < 0)
		return fail(err, "cannot read", path);
	l->dirs->boot_id[strcspn(l->dirs->boot_id, "\n")] = '\0';
	fd = openat(l->dirs->rundir, INCARNATION_FILE, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd >= 0) {
		n = (int)read(fd, known, sizeof(known) - 1);
		known[n > 0 ? n : 0] = '\0';
		close(fd);
	}
	/* Reading failed. Treating that as a new incarnation would kill all runs. */
	if ((fd < 0 && errno != ENOENT) || n < 0)
		return fail(err, "cannot read the incarnation in", l->options->rundir);
	n = (int)strlen(l->dirs->boot_id);
	if (strncmp(known, l->dirs->boot_id, (size_t)n) == 0 && known[n] == '-' &&
	        strlen(known) == (size_t)n + 1 + 16) {
		memcpy(l->dirs->incarnation, known, sizeof(known));
		return 0;
	}
	l->dirs->fresh = true;
	if (getrandom(&chance, sizeof(chance), 0) != sizeof(chance))
		return fail(err, "no randomness from", "getrandom");
	snprintf(l->dirs->incarnation, sizeof(l->dirs->incarnation), "%s-%016llx", l->dirs->boot_id,
	        (unsigned long long)chance);
	return 0;
}

/* Written last: an incarnation is valid only when all of the previous one that could be killed is
 * gone. */
int launcher_dirs_save_incarnation(struct launcher *l, struct error *err)
{
	static const char tmp[] = INCARNATION_FILE ".tmp";
	size_t n = strlen(l->dirs->incarnation);
	int fd;

	if (!l->dirs->fresh)
		return 0;
	unlinkat(l->dirs->rundir, tmp, 0);
	fd = openat(l->dirs->rundir, tmp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0 || write(fd, l->dirs->incarnation, n) != (ssize_t)n ||
	        renameat(l->dirs->rundir, tmp, l->dirs->rundir, INCARNATION_FILE) < 0) {
		fail(err, "cannot write the incarnation in", l->options->rundir);
		fd_close(fd);
		return -1;
	}
	close(fd);
	return 0;
}
