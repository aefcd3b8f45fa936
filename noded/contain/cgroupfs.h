/* cgroupfs.h - the files and mounts of control groups (cgroups(7), kernel: admin-guide/cgroup-v2)
 *
 * Functions that return -1 leave errno. Returned paths are the caller's to free.
 */
#ifndef NODED_CGROUPFS_H
#define NODED_CGROUPFS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Where the unified hierarchy is mounted, also beside v1; where v1 has this controller. NULL: it is
 * not mounted. */
char *cgroupfs_mount(void);
char *cgroupfs_mount_v1(const char *controller);
/* Our own cgroup below the mount of the unified hierarchy; "/" if it cannot be found out. */
char *cgroupfs_own(void);

/* mkdir -p; path[from] is the first character that may be missing. */
int cgroupfs_make(char *path, size_t from);

int cgroupfs_write(const char *dir, const char *file, const char *word);
int cgroupfs_write_at(int dir, const char *file, const char *word);
/* Read an open file from its beginning; `buf` always ends with a NUL. */
ssize_t cgroupfs_read(int fd, char *buf, size_t size);
/* The number after `key` in a file of "key value" lines. */
int cgroupfs_read_key(int dir, const char *file, const char *key, uint64_t *value);

#endif
