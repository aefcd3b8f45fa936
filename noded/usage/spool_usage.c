/* spool_usage.c - see spool_usage.h */
#include "noded/usage/spool_usage.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define BLOCK   512 /* of stat.st_blocks */
#define DELETED " (deleted)"

bool spool_room(int fd, struct spool_room *out)
{
	struct statvfs v;

	if (fstatvfs(fd, &v) < 0)
		return false;
	out->mb = (uint64_t)v.f_bavail * (v.f_frsize ? v.f_frsize : v.f_bsize) >> 20;
	out->files = v.f_files ? (uint64_t)v.f_favail : UINT64_MAX;
	return true;
}

/* --- by name ---------------------------------------------------------------------------------- */

static void add_entries(int fd, dev_t dev, unsigned depth, struct spool_held *held);

static void add_entry(int at, const char *name, dev_t dev, unsigned depth, struct spool_held *held)
{
	struct stat st;
	int fd;

	if (fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT) < 0 || st.st_dev != dev)
		return;
	held->files++;
	held->bytes += (uint64_t)st.st_blocks * BLOCK;
	if (!S_ISDIR(st.st_mode))
		return;
	if (depth == SPOOL_DEPTH) {
		held->deep = true;
		return;
	}
	fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd >= 0)
		add_entries(fd, dev, depth + 1, held);
}

/* Closes fd. Recursion and descriptors are at most SPOOL_DEPTH deep, whatever a user has made. */
static void add_entries(int fd, dev_t dev, unsigned depth, struct spool_held *held)
{
	DIR *d = fdopendir(fd);
	struct dirent *e;

	if (!d) {
		close(fd);
		return;
	}
	while ((e = readdir(d))) {
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
			add_entry(fd, e->d_name, dev, depth, held);
	}
	closedir(d);
}

void spool_add_dir(int parent, const char *name, struct spool_held *held)
{
	struct stat st;

	if (fstat(parent, &st) == 0)
		add_entry(parent, name, st.st_dev, 0, held);
}

/* --- without a name --------------------------------------------------------------------------- */

/* From the text of its link alone: only removed files are examined further, so a file server that
 * does not answer cannot delay us through one of its files. */
static bool is_deleted(int fds, const char *name)
{
	char path[4096];
	size_t tail = strlen(DELETED);
	ssize_t n = readlinkat(fds, name, path, sizeof(path));

	return n > (ssize_t)tail && path[0] == '/' &&
	       memcmp(path + (size_t)n - tail, DELETED, tail) == 0;
}

static bool is_new(struct spool_held *held, ino_t ino)
{
	for (size_t i = 0; i < held->n_open; i++) {
		if (held->open[i] == ino)
			return false;
	}
	if (held->n_open < SPOOL_OPEN)
		held->open[held->n_open++] = ino;
	return true;
}

void spool_add_open(pid_t pid, int on, struct spool_held *held)
{
	char path[40];
	struct stat spool, st;
	struct dirent *e;
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	d = fstat(on, &spool) == 0 ? opendir(path) : NULL;
	while (d && (e = readdir(d))) {
		if (!is_deleted(dirfd(d), e->d_name) || fstatat(dirfd(d), e->d_name, &st, 0) < 0 ||
		        st.st_dev != spool.st_dev || st.st_nlink || !is_new(held, st.st_ino))
			continue;
		held->files++;
		held->bytes += (uint64_t)st.st_blocks * BLOCK;
	}
	if (d)
		closedir(d);
}
