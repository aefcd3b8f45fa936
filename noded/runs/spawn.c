/* spawn.c - see spawn.h */
#include "config.h"

#include "noded/runs/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/base/error.h"
#include "common/base/fd_close.h"
#include "common/base/xalloc.h"
#include "noded/runs/launcher_options.h"
#include "noded/runs/launcher_state.h"

#define FIRST_FD 3
#define HIGH_FD  16 /* above the descriptors that are passed on */
#define ENV_MAX  8

/* The environment holds nothing of ours, except that tests control the programs that we start by
 * failpoints and sanitizer options. */
static void make_env(char *env[ENV_MAX])
{
	static const char *const passed[] = {
#ifdef ENABLE_FAILPOINTS
		"GPUSCHED_FAILPOINT",
		"GPUSCHED_JOURNAL",
#endif
#ifdef __SANITIZE_ADDRESS__
		"ASAN_OPTIONS",
		"UBSAN_OPTIONS",
		"LSAN_OPTIONS",
#endif
		NULL,
	};
	size_t n = 0;

	for (const char *const *name = passed; *name; name++)
		if (getenv(*name))
			env[n++] = xasprintf("%s=%s", *name, getenv(*name));
	env[n++] = xstrdup("PATH=/usr/bin:/bin");
	env[n] = NULL;
}

/* See spawn_program() in spawn.h. Each of these calls may run out of memory. */
static int prepare_spawn(
        posix_spawn_file_actions_t *fa, posix_spawnattr_t *attr, const int *high, size_t n)
{
	int e = posix_spawn_file_actions_init(fa), e2 = posix_spawnattr_init(attr);
	sigset_t set;

	e = e ? e : e2;
	e = e ? e : posix_spawn_file_actions_addopen(fa, 0, "/dev/null", O_RDWR, 0);
	e = e ? e : posix_spawn_file_actions_adddup2(fa, 0, 1);
	e = e ? e : posix_spawn_file_actions_adddup2(fa, 0, 2);
	for (size_t i = 0; i < n && !e; i++)
		if (high[i] >= 0)
			e = posix_spawn_file_actions_adddup2(fa, high[i], FIRST_FD + (int)i);
	sigfillset(&set);
	posix_spawnattr_setsigdefault(attr, &set);
	sigemptyset(&set);
	posix_spawnattr_setsigmask(attr, &set);
	posix_spawnattr_setflags(
	        attr, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSID);
	return e;
}

static int spawn_with(const char *path, char *const argv[], const int *high, size_t n, pid_t *pid)
{
	posix_spawn_file_actions_t fa;
	posix_spawnattr_t attr;
	char *env[ENV_MAX];
	int e;

	e = prepare_spawn(&fa, &attr, high, n);
	make_env(env);
	if (!e)
		e = posix_spawn(pid, path, &fa, &attr, argv, env);
	for (char **v = env; *v; v++)
		free(*v);
	posix_spawnattr_destroy(&attr);
	posix_spawn_file_actions_destroy(&fa);
	return e;
}

int spawn_program(const char *path, char *const argv[], const int *fds, size_t n, pid_t *pid,
        struct error *err)
{
	int high[SPAWN_FDS] = { -1, -1, -1, -1 }, e = 0;

	for (size_t i = 0; i < n; i++) {
		high[i] = fds[i] < 0 ? -1 : fcntl(fds[i], F_DUPFD_CLOEXEC, HIGH_FD);
		if (fds[i] >= 0 && high[i] < 0)
			e = errno;
	}
	if (!e)
		e = spawn_with(path, argv, high, n, pid);
	for (size_t i = 0; i < n; i++)
		fd_close(high[i]);
	if (e)
		return error_set(err, ERR_LAUNCH, "cannot start '%s': %s", path, strerror(e));
	return 0;
}

char *spawn_path(const struct launcher *l, const char *name)
{
	char *dir = xstrdup(l->options->shepherd), *path = xasprintf("%s/%s", dirname(dir), name);

	free(dir);
	return path;
}

int spawn_helper(
        const struct launcher *l, const char *name, const int *fds, size_t n, struct error *err)
{
	char *path = spawn_path(l, name);
	char *self = xstrdup(name), *argv[] = { self, NULL };
	pid_t pid;
	int rc = spawn_program(path, argv, fds, n, &pid, err);

	free(self);
	free(path);
	return rc;
}

int spawn_grant(const ProtobufCMessage *m, struct error *err)
{
	size_t len = protobuf_c_message_get_packed_size(m), done = 0;
	uint8_t *b = xcalloc(1, len + 1);
	int fd = memfd_create("grant", MFD_CLOEXEC);
	ssize_t n = 0;

	protobuf_c_message_pack(m, b);
	for (; fd >= 0 && done < len; done += (size_t)n) {
		n = write(fd, b + done, len - done);
		if (n <= 0) {
			close(fd);
			fd = -1;
		}
	}
	explicit_bzero(b, len);
	free(b);
	if (fd < 0 || lseek(fd, 0, SEEK_SET) < 0)
		return error_set(err, ERR_SYSTEM, "memory for a process: %s", strerror(errno));
	return fd;
}
