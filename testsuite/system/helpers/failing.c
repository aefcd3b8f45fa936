/* failing.c - a library for LD_PRELOAD: the Nth call of a kind fails; see test_failing.py
 *
 * GPUSCHED_FAILING names a file that holds one struct failing. All processes that come from one
 * another share it, so a test sets and reads it while they run. Calls by syscall(2) count too.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

struct failing {
	char call[16];
	int32_t pid;  /* only in this process; 0: in all */
	uint32_t nth; /* the first that fails, from 1 */
	uint32_t times, error;
	uint32_t seen, failed; /* of that kind so far */
};

static struct failing *block;

__attribute__((constructor)) static void begin(void)
{
	const char *path = getenv("GPUSCHED_FAILING");
	int fd = path ? (int)syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC) : -1;
	void *at = MAP_FAILED;

	if (fd >= 0)
		at = mmap(NULL, sizeof(*block), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (at != MAP_FAILED)
		block = at;
	if (fd >= 0)
		close(fd);
}

/* True: this one fails, with errno. */
static bool due(const char *call)
{
	uint32_t n;

	if (!block || strncmp(block->call, call, sizeof(block->call)) != 0 ||
	        (block->pid && block->pid != getpid()))
		return false;
	n = __atomic_add_fetch(&block->seen, 1, __ATOMIC_SEQ_CST);
	if (n < block->nth || n - block->nth >= block->times)
		return false;
	__atomic_add_fetch(&block->failed, 1, __ATOMIC_SEQ_CST);
	errno = (int)block->error;
	return true;
}

/* The C library's own; a pointer to data becomes one to a function: dlsym(3), NOTES. */
#define REAL(fn)                                            \
	static __typeof__(fn) *real;                        \
	void *found_ = real ? NULL : dlsym(RTLD_NEXT, #fn); \
	if (found_)                                         \
	memcpy((void *)&real, &found_, sizeof(found_))

#define FAILS(type, fn, params, args)                         \
	__attribute__((visibility("default"))) type fn params \
	{                                                     \
		REAL(fn);                                     \
		return due(#fn) ? (type)-1 : real args;       \
	}

FAILS(int, mkdir, (const char *path, mode_t mode), (path, mode))
FAILS(int, mkdirat, (int at, const char *path, mode_t mode), (at, path, mode))
FAILS(int, renameat, (int a, const char *from, int b, const char *to), (a, from, b, to))
FAILS(int, fsync, (int fd), (fd))
FAILS(int, fchmod, (int fd, mode_t mode), (fd, mode))
FAILS(int, fchown, (int fd, uid_t uid, gid_t gid), (fd, uid, gid))
FAILS(int, flock, (int fd, int how), (fd, how))
FAILS(pid_t, fork, (void), ())
FAILS(int, mount,
        (const char *source, const char *target, const char *type, unsigned long flags,
                const void *data),
        (source, target, type, flags, data))
FAILS(int, unshare, (int flags), (flags))
FAILS(int, setgroups, (size_t n, const gid_t *list), (n, list))
FAILS(int, setresgid, (gid_t r, gid_t e, gid_t s), (r, e, s))
FAILS(int, setresuid, (uid_t r, uid_t e, uid_t s), (r, e, s))
FAILS(int, chdir, (const char *path), (path))
FAILS(int, dup2, (int from, int to), (from, to))
FAILS(int, pipe2, (int fds[2], int flags), (fds, flags))
FAILS(int, socket, (int domain, int type, int protocol), (domain, type, protocol))
FAILS(int, socketpair, (int domain, int type, int protocol, int fds[2]),
        (domain, type, protocol, fds))
FAILS(int, signalfd, (int fd, const sigset_t *mask, int flags), (fd, mask, flags))
FAILS(int, memfd_create, (const char *name, unsigned flags), (name, flags))
FAILS(ssize_t, sendto,
        (int fd, const void *b, size_t n, int flags, const struct sockaddr *to, socklen_t len),
        (fd, b, n, flags, to, len))

FAILS(ssize_t, sendmsg, (int fd, const struct msghdr *m, int flags), (fd, m, flags))
FAILS(ssize_t, recv, (int fd, void *b, size_t n, int flags), (fd, b, n, flags))

/* To files: what wakes a loop does not fail. */
__attribute__((visibility("default"))) ssize_t write(int fd, const void *b, size_t n)
{
	struct stat st;
	REAL(write);

	return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && due("write") ? -1 : real(fd, b, n);
}

__attribute__((visibility("default"))) int setrlimit64(
        __rlimit_resource_t what, const struct rlimit64 *limit)
{
	REAL(setrlimit64);
	return due("setrlimit") ? -1 : real(what, limit);
}

__attribute__((visibility("default"))) int setrlimit(
        __rlimit_resource_t what, const struct rlimit *limit)
{
	REAL(setrlimit);
	return due("setrlimit") ? -1 : real(what, limit);
}

/* Returns its error. */
__attribute__((visibility("default"))) int posix_spawn(pid_t *pid, const char *path,
        const posix_spawn_file_actions_t *actions, const posix_spawnattr_t *attr,
        char *const argv[], char *const envp[])
{
	REAL(posix_spawn);
	return due("posix_spawn") ? errno : real(pid, path, actions, attr, argv, envp);
}

#define MODE_OF(flags, last) ((flags) & (O_CREAT | __O_TMPFILE) ? (mode_t)va_arg(last, int) : 0)

#define OPENS(fn, params, args)                              \
	__attribute__((visibility("default"))) int fn params \
	{                                                    \
		REAL(fn);                                    \
		va_list ap;                                  \
		mode_t mode;                                 \
                                                             \
		va_start(ap, flags);                         \
		mode = MODE_OF(flags, ap);                   \
		va_end(ap);                                  \
		return due("open") ? -1 : real args;         \
	}

OPENS(open, (const char *path, int flags, ...), (path, flags, mode))
OPENS(open64, (const char *path, int flags, ...), (path, flags, mode))
OPENS(openat, (int at, const char *path, int flags, ...), (at, path, flags, mode))
OPENS(openat64, (int at, const char *path, int flags, ...), (at, path, flags, mode))

__attribute__((visibility("default"))) int prctl(int option, ...)
{
	static int (*real)(int option, ...);
	void *found = real ? NULL : dlsym(RTLD_NEXT, "prctl");
	unsigned long v[4];
	va_list ap;

	if (found)
		memcpy((void *)&real, &found, sizeof(found));
	va_start(ap, option);
	for (int i = 0; i < 4; i++)
		v[i] = va_arg(ap, unsigned long);
	va_end(ap);
	return due("prctl") ? -1 : real(option, v[0], v[1], v[2], v[3]);
}

static const struct {
	long number;
	const char *name;
} numbers[] = {
	{ SYS_bpf, "bpf" },
	{ SYS_capset, "capset" },
	{ SYS_clone3, "clone3" },
	{ SYS_close_range, "close_range" },
	{ SYS_keyctl, "keyctl" },
	{ SYS_openat2, "open" },
	{ SYS_pidfd_open, "pidfd_open" },
};

__attribute__((visibility("default"))) long syscall(long number, ...)
{
	static long (*real)(long number, ...);
	void *found = real ? NULL : dlsym(RTLD_NEXT, "syscall");
	unsigned long v[6];
	va_list ap;

	if (found)
		memcpy((void *)&real, &found, sizeof(found));
	va_start(ap, number);
	for (int i = 0; i < 6; i++)
		v[i] = va_arg(ap, unsigned long);
	va_end(ap);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
		if (numbers[i].number == number && due(numbers[i].name))
			return -1;
	return real(number, v[0], v[1], v[2], v[3], v[4], v[5]);
}
