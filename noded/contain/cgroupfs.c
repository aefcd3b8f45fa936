/* cgroupfs.c - see cgroupfs.h */
#include "noded/contain/cgroupfs.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/xalloc.h"

/* --- mounts ----------------------------------------------------------------------------------- */

/* Is `word` one of those between commas? */
static bool has_option(const char *options, const char *word)
{
	size_t len = strlen(word);

	for (const char *p = options; *p; p += strspn(p, ",")) {
		size_t n = strcspn(p, ",\n");

		if (n == len && strncmp(p, word, n) == 0)
			return true;
		p += n;
		if (*p == '\n')
			break;
	}
	return false;
}

/* Of a line of proc(5) mountinfo, "36 35 98:0 ROOT MOUNTPOINT OPTIONS [tags] - TYPE SOURCE SUPER":
 * MOUNTPOINT, if it is of that type and, where one is named, has that controller. */
static char *mount_of(char *line, const char *type, const char *controller)
{
	char *sep = strstr(line, " - "), *save, *word, *super;
	size_t len = strlen(type);
	int field = 0;

	if (!sep || strncmp(sep + 3, type, len) != 0 || sep[3 + len] != ' ')
		return NULL;
	super = strchr(sep + 3 + len + 1, ' ');
	if (controller && (!super || !has_option(super + 1, controller)))
		return NULL;
	for (word = strtok_r(line, " ", &save); word && ++field < 5;)
		word = strtok_r(NULL, " ", &save);
	return word ? xstrdup(word) : NULL;
}

static char *find_mount(const char *type, const char *controller)
{
	FILE *f = fopen("/proc/self/mountinfo", "re");
	char *line = NULL, *found = NULL;
	size_t cap = 0;

	while (f && !found && getline(&line, &cap, f) > 0)
		found = mount_of(line, type, controller);
	free(line);
	if (f)
		fclose(f);
	return found;
}

char *cgroupfs_mount(void)
{
	return find_mount("cgroup2", NULL);
}

char *cgroupfs_mount_v1(const char *controller)
{
	return find_mount("cgroup", controller);
}

char *cgroupfs_own(void)
{
	FILE *f = fopen("/proc/self/cgroup", "re");
	char *line = NULL, *found = NULL;
	size_t cap = 0;

	while (f && !found && getline(&line, &cap, f) > 0) {
		line[strcspn(line, "\n")] = '\0';
		if (strncmp(line, "0::/", 4) == 0 && !strstr(line, "/.."))
			found = xstrdup(line + 3);
	}
	free(line);
	if (f)
		fclose(f);
	return found ? found : xstrdup("/");
}

int cgroupfs_make(char *path, size_t from)
{
	for (char *p = path + from; *p; p++) {
		if (*p != '/' || p == path + from)
			continue;
		*p = '\0';
		if (mkdir(path, 0755) < 0 && errno != EEXIST) {
			*p = '/';
			return -1;
		}
		*p = '/';
	}
	return mkdir(path, 0755) < 0 && errno != EEXIST ? -1 : 0;
}

/* --- files ------------------------------------------------------------------------------------ */

int cgroupfs_write_at(int dir, const char *file, const char *word)
{
	int fd = openat(dir, file, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
	ssize_t n;
	int saved;

	if (fd < 0)
		return -1;
	n = write(fd, word, strlen(word));
	saved = errno;
	close(fd);
	errno = saved;
	return n < 0 ? -1 : 0;
}

ssize_t cgroupfs_read(int fd, char *buf, size_t size)
{
	ssize_t n = pread(fd, buf, size - 1, 0);

	buf[n > 0 ? n : 0] = '\0';
	return n;
}

int cgroupfs_read_key(int dir, const char *file, const char *key, uint64_t *value)
{
	char buf[1024];
	int fd = openat(dir, file, O_RDONLY | O_CLOEXEC);
	const char *p;

	if (fd < 0)
		return -1;
	cgroupfs_read(fd, buf, sizeof(buf));
	close(fd);
	p = strstr(buf, key);
	return p && sscanf(p + strlen(key), " %" SCNu64, value) == 1 ? 0 : -1;
}

int cgroupfs_write(const char *dir, const char *file, const char *word)
{
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW), r, saved;

	if (fd < 0)
		return -1;
	r = cgroupfs_write_at(fd, file, word);
	saved = errno;
	close(fd);
	errno = saved;
	return r;
}
