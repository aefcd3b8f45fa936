/* pidfile.c - see pidfile.h */
#include "common/base/pidfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/xalloc.h"

struct pidfile {
	char *path;
	int fd; /* locked */
};

static int refuse(const char *path, const char *what, int fd, struct error *err)
{
	char pid[24] = "";
	ssize_t n = pread(fd, pid, sizeof(pid) - 1, 0);

	pid[n > 0 ? strspn(pid, "0123456789") : 0] = '\0';
	return error_set(err, ERR_SYSTEM, "%s: another %s runs%s%s", path, what,
	        pid[0] ? ", pid " : "", pid);
}

/* Is it still the file at `path`? The process that locked it before may have removed it. */
static bool stands_at(int fd, const char *path)
{
	struct stat ours, theirs;

	return fstat(fd, &ours) == 0 && lstat(path, &theirs) == 0 && ours.st_dev == theirs.st_dev &&
	       ours.st_ino == theirs.st_ino;
}

int pidfile_open(const char *path, const char *what, struct pidfile **out, struct error *err)
{
	int fd;

	*out = NULL;
	if (!*path)
		return 0;
	for (;;) {
		fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0644);
		if (fd < 0)
			return error_set(err, ERR_SYSTEM, "%s: %s", path, strerror(errno));
		if (flock(fd, LOCK_EX | LOCK_NB)) {
			refuse(path, what, fd, err);
			close(fd);
			return -1;
		}
		if (stands_at(fd, path))
			break;
		close(fd);
	}
	*out = xcalloc(1, sizeof(**out));
	(*out)->path = xstrdup(path);
	(*out)->fd = fd;
	return 0;
}

int pidfile_write(struct pidfile *p, struct error *err)
{
	char text[24];
	int n;

	if (!p)
		return 0;
	n = snprintf(text, sizeof(text), "%ld\n", (long)getpid());
	if (ftruncate(p->fd, 0) || pwrite(p->fd, text, (size_t)n, 0) != n)
		return error_set(err, ERR_SYSTEM, "%s: %s", p->path, strerror(errno));
	return 0;
}

void pidfile_leave(struct pidfile *p)
{
	if (!p)
		return;
	close(p->fd);
	free(p->path);
	free(p);
}

void pidfile_close(struct pidfile *p)
{
	if (!p)
		return;
	if (!stands_at(p->fd, p->path) || unlink(p->path))
		(void)!ftruncate(p->fd, 0); /* then at least it contains no id */
	pidfile_leave(p);
}
