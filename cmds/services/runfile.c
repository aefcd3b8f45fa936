/* runfile.c - see runfile.h */
#include "cmds/services/runfile.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static int join(char path[PATH_MAX], const char *dir, const char *name)
{
	int n = snprintf(path, PATH_MAX, "%s/%s", dir, name);

	return n > 0 && n < PATH_MAX ? 0 : -1;
}

bool runfile_exists(const char *dir, const char *name)
{
	char path[PATH_MAX];

	return join(path, dir, name) == 0 && access(path, F_OK) == 0;
}

/* A FIFO would be no wait, and no file either. */
static int read_plain(
        int fd, char *out, size_t size, int64_t *age_s, const char *name, struct error *err)
{
	struct stat st;
	ssize_t n;

	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return error_set(err, ERR_SYSTEM, "%s is no plain file", name);
	n = read(fd, out, size);
	if (n < 0)
		return error_set(err, ERR_SYSTEM, "%s: %s", name, strerror(errno));
	if (age_s)
		*age_s = (int64_t)time(NULL) - (int64_t)st.st_mtime;
	return (int)n;
}

int runfile_read(const char *dir, const char *name, char *out, size_t size, int64_t *age_s,
        struct error *err)
{
	char path[PATH_MAX];
	int fd = -1, n;

	if (join(path, dir, name) < 0)
		return error_set(err, ERR_SYSTEM, "%s: its path is too long", name);
	fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0)
		return error_set(err, ERR_SYSTEM, "%s: %s", name, strerror(errno));
	n = read_plain(fd, out, size, age_s, name, err);
	close(fd);
	return n;
}
