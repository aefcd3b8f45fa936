/* file_reload.c - see file_reload.h */
#include "cmds/feed/file_reload.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/fd_close.h"
#include "common/base/xalloc.h"

#define BESIDE ".gfeed"
#define MODE   0644

extern char **environ;

/* --- the file --------------------------------------------------------------------------------- */

static bool has_text(const char *path, const char *text, size_t len)
{
	char buf[8192];
	size_t at = 0;
	ssize_t n = 0;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	bool same = fd >= 0;

	while (same && (n = read(fd, buf, sizeof(buf))) > 0) {
		same = (size_t)n <= len - at && !memcmp(buf, text + at, (size_t)n);
		at += (size_t)n;
	}
	fd_close(fd);
	return same && !n && at == len;
}

static int write_all(int fd, const char *text, size_t len)
{
	while (len) {
		ssize_t n = write(fd, text, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -1;
		text += n;
		len -= (size_t)n;
	}
	return fsync(fd);
}

/* The name is on disk, too. Some filesystems cannot: the file is whole all the same. */
static void sync_folder(const char *path)
{
	char *copy = xstrdup(path);
	int fd = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd >= 0) {
		fsync(fd);
		close(fd);
	}
	free(copy);
}

static int write_beside(const char *beside, const char *text, size_t len, struct error *err)
{
	int fd = open(beside, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, MODE);
	int rc;

	if (fd < 0)
		return error_set(err, ERR_SYSTEM, "%s: %s", beside, strerror(errno));
	rc = write_all(fd, text, len);
	if (rc < 0)
		error_set(err, ERR_SYSTEM, "%s: %s", beside, strerror(errno));
	close(fd);
	return rc;
}

int outfile_write(const char *path, const char *text, size_t len, struct error *err)
{
	size_t size = strlen(path) + sizeof(BESIDE);
	char *beside;
	int rc;

	if (has_text(path, text, len))
		return 0;
	beside = xcalloc(1, size);
	snprintf(beside, size, "%s" BESIDE, path);
	rc = write_beside(beside, text, len, err);
	if (rc >= 0 && rename(beside, path) < 0)
		rc = error_set(err, ERR_SYSTEM, "%s: %s", path, strerror(errno));
	if (rc < 0)
		unlink(beside);
	else
		sync_folder(path);
	free(beside);
	return rc < 0 ? -1 : 1;
}

/* --- the command ------------------------------------------------------------------------------ */

void reload_wanted(struct reload *r)
{
	r->due_ms = 0;
}

static int start(struct reload *r, int64_t now_ms, struct error *err)
{
	char sh[] = "sh", c[] = "-c";
	char *argv[] = { sh, c, (char *)r->command, NULL };
	posix_spawnattr_t how;
	sigset_t ignored;
	pid_t pid;
	int rc;

	/* What this process ignores the command does not. */
	sigemptyset(&ignored);
	sigaddset(&ignored, SIGPIPE);
	posix_spawnattr_init(&how);
	posix_spawnattr_setsigdefault(&how, &ignored);
	posix_spawnattr_setflags(&how, POSIX_SPAWN_SETSIGDEF);
	rc = posix_spawn(&pid, "/bin/sh", NULL, &how, argv, environ);
	posix_spawnattr_destroy(&how);
	if (rc) {
		r->due_ms = now_ms + RELOAD_RETRY_MS;
		return error_set(err, ERR_SYSTEM, "%s: %s", r->command, strerror(rc));
	}
	r->pid = pid;
	r->due_ms = INT64_MAX;
	return 0;
}

static int look_after(struct reload *r, int64_t now_ms, struct error *err)
{
	int status, rc = waitpid(r->pid, &status, WNOHANG);

	if (!rc || (rc < 0 && errno == EINTR))
		return 0;
	r->pid = 0;
	if (rc > 0 && WIFEXITED(status) && !WEXITSTATUS(status))
		return 1;
	r->due_ms = now_ms + RELOAD_RETRY_MS;
	if (rc > 0 && WIFSIGNALED(status))
		return error_set(err, ERR_SYSTEM, "%s: signal %d", r->command, WTERMSIG(status));
	return error_set(err, ERR_SYSTEM, "%s: exit status %d", r->command,
	        rc > 0 ? WEXITSTATUS(status) : -1);
}

int reload_tick(struct reload *r, int64_t now_ms, struct error *err)
{
	int rc = r->pid ? look_after(r, now_ms, err) : 0;

	if (rc >= 0 && r->command && !r->pid && now_ms >= r->due_ms && start(r, now_ms, err) < 0)
		return -1;
	return rc;
}
