/* slow_disk.c - a library for LD_PRELOAD: a disk that makes nothing durable while a file is there
 *
 * SLOW_DISK names the file. fsync() and fdatasync() wait until it is gone, so a test says how long.
 */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int wait_and_call(const char *name, int fd)
{
	const char *path = getenv("SLOW_DISK");
	void *found = dlsym(RTLD_NEXT, name);
	int (*real)(int fd);

	memcpy((void *)&real, &found, sizeof(found));
	while (path && access(path, F_OK) == 0)
		nanosleep(&(struct timespec){ .tv_nsec = 10000000 }, NULL);
	return real(fd);
}

__attribute__((visibility("default"))) int fsync(int fd)
{
	return wait_and_call("fsync", fd);
}

__attribute__((visibility("default"))) int fdatasync(int fd)
{
	return wait_and_call("fdatasync", fd);
}
