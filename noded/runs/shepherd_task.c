/* shepherd_task.c - see shepherd_task.h */
#include "config.h"

#include "noded/runs/shepherd_task.h"

#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/xalloc.h"
#include "common/net/event_end.h"
#include "noded/exec/site_program_allowed.h"
#include "noded/record/inherit.h"
#include "noded/runs/launcher_options.h"
#include "noded/runs/launcher_state.h"
#include "noded/runs/spawn.h"

struct shepherd_task {
	shepherd_task_fn *fn;
	void *arg;
	struct event *readable;
	int fd;
	size_t len;
	char text[PROGRAM_TROUBLE_MAX];
};

static void result_come(evutil_socket_t fd, short what, void *arg)
{
	struct shepherd_task *t = arg;
	ssize_t n;

	(void)what;
	while ((n = read(fd, t->text + t->len, sizeof(t->text) - 1 - t->len)) > 0)
		t->len += (size_t)n;
	if (n < 0 && errno == EAGAIN)
		return;
	t->text[t->len] = '\0';
	event_del(t->readable);
	t->fn(strcmp(t->text, SHEPHERD_CHECK_OK) == 0 ? NULL : t->text, t->arg);
	shepherd_task_free(t);
}

void shepherd_task_free(struct shepherd_task *t)
{
	if (!t)
		return;
	event_end(t->readable);
	close(t->fd);
	free(t);
}

struct shepherd_task *shepherd_task_start(struct launcher *l, char *const argv[], int input,
        shepherd_task_fn *fn, void *arg, struct error *err)
{
	struct shepherd_task *t;
	int ends[2], fds[2], r;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0) {
		error_set(err, ERR_LAUNCH, "there is no pipe for gshepherd: %s", strerror(errno));
		return NULL;
	}
	fds[0] = ends[1];
	fds[1] = input;
	r = spawn_program(l->options->shepherd, argv, fds, 2, &pid, err);
	close(ends[1]);
	if (r < 0) {
		close(ends[0]);
		return NULL;
	}
	t = xcalloc(1, sizeof(*t));
	*t = (struct shepherd_task){ .fn = fn, .arg = arg, .fd = ends[0] };
	t->readable = event_new(l->base, t->fd, EV_READ | EV_PERSIST, result_come, t);
	if (!t->readable || event_add(t->readable, NULL) < 0)
		abort();
	return t;
}
