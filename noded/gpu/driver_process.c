/* driver_process.c - see driver_process.h */
#include "noded/gpu/driver_process.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/base/fd_close.h"

#define MEMORY_FD 4
#define HIGH_FD   16 /* above the descriptors that are passed on */

static const struct {
	const char *name;
	void (*run)(uint64_t number);
} kinds[DRIVER_PROCESS_KINDS] = {
	[DRIVER_PROCESS_PROBE] = { "gnoded-gpus", driver_process_probe },
	[DRIVER_PROCESS_SAMPLER] = { "gnoded-watch", driver_process_sampler },
	[DRIVER_PROCESS_EVENTS] = { "gnoded-xid", driver_process_events },
};

/* --- the driver process: NAME PARENT NUMBER --------------------------------------------------- */

void driver_process_main(int argc, char **argv)
{
	size_t k = 0;

	while (k < DRIVER_PROCESS_KINDS && (argc != 3 || strcmp(argv[0], kinds[k].name) != 0))
		k++;
	if (k == DRIVER_PROCESS_KINDS)
		return;
	prctl(PR_SET_NAME, kinds[k].name);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != (pid_t)strtol(argv[1], NULL, 10))
		_exit(1);
	syscall(SYS_close_range, MEMORY_FD + 1U, ~0U, 0U);
	kinds[k].run(strtoull(argv[2], NULL, 10));
	_exit(0);
}

void *driver_process_memory(size_t size)
{
	struct stat st;
	void *memory = MAP_FAILED;

	if (fstat(MEMORY_FD, &st) == 0 && st.st_size == (off_t)size)
		memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, MEMORY_FD, 0);
	if (memory == MAP_FAILED)
		_exit(1);
	return memory;
}

/* --- its parent ------------------------------------------------------------------------------- */

void *driver_process_memory_new(size_t size, int *fd)
{
	void *memory = MAP_FAILED;
	int saved;

	*fd = memfd_create("gnoded-helper", MFD_CLOEXEC);
	if (*fd >= 0 && ftruncate(*fd, (off_t)size) == 0)
		memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, *fd, 0);
	if (memory != MAP_FAILED)
		return memory;
	saved = errno;
	fd_drop(fd);
	errno = saved;
	return NULL;
}

static int prepare(posix_spawn_file_actions_t *fa, posix_spawnattr_t *attr, int parent, int memory)
{
	int e = posix_spawn_file_actions_init(fa), e2 = posix_spawnattr_init(attr);
	sigset_t set;

	e = e ? e : e2;
	for (int fd = 0; fd < 3; fd++)
		e = e ? e : posix_spawn_file_actions_addopen(fa, fd, "/dev/null", O_RDWR, 0);
	e = e ? e : posix_spawn_file_actions_adddup2(fa, parent, DRIVER_PROCESS_PARENT);
	if (memory >= 0)
		e = e ? e : posix_spawn_file_actions_adddup2(fa, memory, MEMORY_FD);
	sigfillset(&set);
	posix_spawnattr_setsigdefault(attr, &set);
	sigemptyset(&set);
	posix_spawnattr_setsigmask(attr, &set);
	posix_spawnattr_setflags(attr, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
	return e;
}

static int spawn(char *const argv[], int parent, int memory, pid_t *pid)
{
	posix_spawn_file_actions_t fa;
	posix_spawnattr_t attr;
	int e = prepare(&fa, &attr, parent, memory);

	e = e ? e : posix_spawn(pid, "/proc/self/exe", &fa, &attr, argv, environ);
	posix_spawnattr_destroy(&attr);
	posix_spawn_file_actions_destroy(&fa);
	return e;
}

int driver_process_start(
        enum driver_process_kind kind, uint64_t number, int parent, int memory, pid_t *pid)
{
	char name[16], self[16], text[24], *argv[] = { name, self, text, NULL };
	int high[2] = { fcntl(parent, F_DUPFD_CLOEXEC, HIGH_FD),
		memory < 0 ? -1 : fcntl(memory, F_DUPFD_CLOEXEC, HIGH_FD) };
	int e = high[0] < 0 || (memory >= 0 && high[1] < 0) ? errno : 0, pidfd = -1;

	snprintf(name, sizeof(name), "%s", kinds[kind].name);
	snprintf(self, sizeof(self), "%d", (int)getpid());
	snprintf(text, sizeof(text), "%" PRIu64, number);
	e = e ? e : spawn(argv, high[0], high[1], pid);
	for (size_t i = 0; i < 2; i++)
		fd_close(high[i]);
	if (!e) {
		pidfd = (int)syscall(SYS_pidfd_open, *pid, 0);
		e = errno;
		if (pidfd < 0)
			kill(*pid, SIGKILL); /* not reaped yet: the id is still its own */
	}
	errno = e;
	return pidfd;
}

bool driver_process_wait(int fd, int ms)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return poll(&p, 1, ms) == 1;
}
