/* pastfile.c - see pastfile.h */
#include "config.h"

#include "cmds/api/pastfile.h"

#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/fd_close.h"
#include "common/base/xalloc.h"
#include "common/net/dial.h"
#include "common/net/frame.h"
#include "common/net/msg.h"

extern char **environ;

struct pastfile {
	pid_t pid;
	int fd;
	char *cluster;
	struct frame_reader *reader;
	struct arena *arena;
};

/* Where it is installed, or in a build tree. Caller frees. */
static char *find_gpast(void)
{
	char self[PATH_MAX + 1] = "", *path = xstrdup(LIBEXECDIR "/gpast");
	const char *dir;

	if (access(path, X_OK) == 0 || readlink("/proc/self/exe", self, PATH_MAX) <= 0)
		return path;
	free(path);
	dir = dirname(self);
	return xasprintf("%s/../ctld/gpast", dir);
}

static int start(struct pastfile *f, const char *file, int fd, struct error *err)
{
	char *path = find_gpast();
	char *argv[] = { "gpast", (char *)file, NULL };
	posix_spawn_file_actions_t actions;
	int rc;

	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, fd, STDIN_FILENO);
	posix_spawn_file_actions_adddup2(&actions, fd, STDOUT_FILENO);
	rc = posix_spawn(&f->pid, path, &actions, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	if (rc)
		error_set(err, ERR_SYSTEM, "%s: %s", path, strerror(rc));
	free(path);
	return rc ? -1 : 0;
}

/* The next frame, decoded; NULL with `err`. */
static const ProtobufCMessage *receive(struct pastfile *f, unsigned *type, struct error *err)
{
	char buf[65536];
	struct frame frame;
	size_t used;
	ssize_t n;
	int rc;

	while ((rc = frame_reader_next(f->reader, &frame, err)) == 0) {
		n = read(f->fd, buf, sizeof(buf));
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			error_set(err, ERR_SYSTEM, "gpast exited without an answer");
			return NULL;
		}
		if (frame_reader_feed(f->reader, buf, (size_t)n, &used, err) < 0)
			return NULL;
	}
	*type = frame.type;
	return rc < 0 ? NULL : msg_unpack(frame.type, frame.body, frame.len, f->arena, err);
}

/* Reads the greeting: the cluster that the file belongs to, or what is wrong with the file. */
static int greet(struct pastfile *f, struct error *err)
{
	unsigned type;
	const ProtobufCMessage *m = receive(f, &type, err);

	if (!m)
		return -1;
	if (type == GPUSCHED__MSG_TYPE__MSG_REPLY &&
	        dial_reply_error((const Gpusched__Reply *)m, err) < 0)
		return -1;
	if (type != GPUSCHED__MSG_TYPE__MSG_PONG)
		return error_set(err, ERR_PROTOCOL, "unexpected answer from gpast");
	f->cluster = xstrdup(((const Gpusched__Pong *)m)->cluster);
	return 0;
}

struct pastfile *pastfile_open(const char *path, struct error *err)
{
	struct pastfile *f = xcalloc(1, sizeof(*f));
	int fds[2], rc;

	f->fd = -1;
	f->reader = frame_reader_new(NULL, MSG_BY_CONTROLLER);
	f->arena = arena_new(MSG_BODY_MAX);
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) < 0) {
		error_set(err, ERR_SYSTEM, "socketpair: %s", strerror(errno));
		pastfile_close(f);
		return NULL;
	}
	f->fd = fds[0];
	rc = start(f, path, fds[1], err);
	close(fds[1]);
	if (rc == 0 && greet(f, err) == 0)
		return f;
	pastfile_close(f);
	return NULL;
}

void pastfile_close(struct pastfile *f)
{
	if (!f)
		return;
	fd_close(f->fd);
	while (f->pid > 0 && waitpid(f->pid, NULL, 0) < 0 && errno == EINTR)
		;
	frame_reader_free(f->reader);
	arena_free(f->arena);
	free(f->cluster);
	free(f);
}

const char *pastfile_cluster(const struct pastfile *f)
{
	return f->cluster;
}

static int send_request(struct pastfile *f, const struct client_call *call, struct error *err)
{
	uint8_t *bytes;
	size_t len;
	int rc = frame_pack(call->type, 1, call->request, &bytes, &len, err);

	if (rc < 0)
		return -1;
	for (size_t at = 0; rc == 0 && at < len;) {
		ssize_t n = send(f->fd, bytes + at, len - at, MSG_NOSIGNAL);

		if (n >= 0)
			at += (size_t)n;
		else if (errno != EINTR)
			rc = error_set(err, ERR_SYSTEM, "gpast: %s", strerror(errno));
	}
	free(bytes);
	return rc;
}

int pastfile_call(struct pastfile *f, const struct client_call *call, struct error *err)
{
	const ProtobufCMessage *m;
	unsigned type;

	if (send_request(f, call, err) < 0)
		return -1;
	while ((m = receive(f, &type, err))) {
		if (type == GPUSCHED__MSG_TYPE__MSG_REPLY)
			return dial_reply_error((const Gpusched__Reply *)m, err) < 0 ? -1 : 0;
		if (call_part(call, type, m, err) < 0)
			return -1;
	}
	return -1;
}
