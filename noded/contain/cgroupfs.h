/* cgroupfs.h - the files and mounts of control groups (cgroups(7), kernel: admin-guide/cgroup-v2)
 *
 * What returns -1 leaves errno. Paths that are returned are the caller's.
 */
#ifndef NODED_CGROUPFS_H
#define NODED_CGROUPFS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Where the unified hierarchy is mounted, also beside v1; where v1 has that controller. NULL:
 * nowhere. */
char *cgroupfs_mount(void);
char *cgroupfs_mount_v1(const char *controller);
/* Our own cgroup below the mount of the unified hierarchy: "/" if it cannot be told. */
char *cgroupfs_own(void);

/* mkdir -p; path[from] is the first character that may be missing. */
int cgroupfs_make(char *path, size_t from);

int cgroupfs_write(const char *dir, const char *file, const char *word);
int cgroupfs_write_at(int dir, const char *file, const char *word);
/* From the beginning of an open file; `buf` ends with a NUL whatever comes. */
ssize_t cgroupfs_read(int fd, char *buf, size_t size);
/* The number after `key` in a file of "key value" lines. */
int cgroupfs_read_key(int dir, const char *file, const char *key, uint64_t *value);

#endif
