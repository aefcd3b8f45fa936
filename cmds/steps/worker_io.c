/* worker_io.c - the pipes, files and terminal of a task; see worker.h */
#include "cmds/steps/worker_impl.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#include "cmds/steps/step_filename.h"
#include "common/base/fd_close.h"
#include "common/base/wirenum.h"
#include "common/base/xalloc.h"

#define READ_STEP (STEPLINK_DATA_MAX - 4)
#define PMI_MAX   STEPLINK_DATA_MAX
#define CONTROL_D 4

static void pipe_drop(struct wpipe *p)
{
	loop_close(&p->watch, &p->fd);
}

/* --- opening ---------------------------------------------------------------------------------- */

static int open_file(struct wtask *t, const ProtobufCBinaryData *pattern, int flags,
        const char *what, struct error *err)
{
	const Gpusched__StepRequest *r = t->part->request;
	struct filename_in in = { .env = t->step->w->own,
		.step = t->step->id,
		.task = t->id,
		.node_id = t->part->first_node,
		.node = t->step->w->node,
		.name = r->name };
	char *name = filename_expand((const char *)pattern->data, pattern->len, &in);
	char *path = name[0] == '/' ? xstrdup(name)
	                            : xasprintf("%.*s/%s", (int)r->cwd.len, r->cwd.data, name);
	mode_t mask = umask((mode_t)r->umask);
	int fd = open(path, flags | O_CLOEXEC, 0666);

	umask(mask);
	if (fd < 0)
		error_set(err, ERR_SYSTEM, "Could not open %s file %s: %s", what, path,
		        strerror(errno));
	free(path);
	free(name);
	return fd;
}

/* A pipe of which the task gets one end. */
static int open_pipe(struct wpipe *ours, int *theirs, bool task_writes, struct error *err)
{
	int p[2];

	if (pipe2(p, O_CLOEXEC) < 0)
		return error_set(err, ERR_SYSTEM, "pipe: %s", strerror(errno));
	ours->fd = p[task_writes ? 0 : 1];
	*theirs = p[task_writes ? 1 : 0];
	fcntl(ours->fd, F_SETFL, O_NONBLOCK);
	return 0;
}

static bool reads_input(const struct wtask *t)
{
	const Gpusched__StepRequest *r = t->part->request;

	if (r->no_input)
		return false;
	if (r->pty)
		return t->id == 0;
	return !r->input_task || r->input_task - 1 == t->id;
}

static int open_input(struct wtask *t, struct wends *ends, struct error *err)
{
	const Gpusched__StepRequest *r = t->part->request;

	if (r->input.len)
		ends->fd[0] = open_file(t, &r->input, O_RDONLY, "stdin", err);
	else if (reads_input(t))
		return open_pipe(&t->in, &ends->fd[0], false, err);
	else if ((ends->fd[0] = open("/dev/null", O_RDONLY | O_CLOEXEC)) < 0)
		error_set(err, ERR_SYSTEM, "/dev/null: %s", strerror(errno));
	return ends->fd[0] < 0 ? -1 : 0;
}

static int open_output(struct wtask *t, const ProtobufCBinaryData *pattern, struct wpipe *ours,
        int *theirs, const char *what, struct error *err)
{
	int how = t->part->request->append ? 0 : O_TRUNC;

	if (!pattern->len)
		return open_pipe(ours, theirs, true, err);
	*theirs = open_file(t, pattern, O_WRONLY | O_CREAT | O_APPEND | how, what, err);
	return *theirs < 0 ? -1 : 0;
}

static bool same(const ProtobufCBinaryData *a, const ProtobufCBinaryData *b)
{
	return a->len == b->len && (!a->len || !memcmp(a->data, b->data, a->len));
}

static int open_plain(struct wtask *t, struct wends *ends, struct error *err)
{
	const Gpusched__StepRequest *r = t->part->request;

	if (open_input(t, ends, err) < 0 ||
	        open_output(t, &r->output, &t->out, &ends->fd[1], "stdout", err) < 0)
		return -1;
	if (!r->output.len || !r->error.len || !same(&r->output, &r->error))
		return open_output(t, &r->error, &t->err, &ends->fd[2], "stderr", err);
	ends->fd[2] = fcntl(ends->fd[1], F_DUPFD_CLOEXEC, 3);
	return ends->fd[2] < 0 ? error_set(err, ERR_SYSTEM, "dup: %s", strerror(errno)) : 0;
}

static int open_terminal(struct wtask *t, struct wends *ends, struct error *err)
{
	const Gpusched__StepRequest *r = t->part->request;
	struct winsize size = { .ws_row = (uint16_t)r->rows, .ws_col = (uint16_t)r->cols };

	t->pty = true;
	t->out.fd = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
	if (t->out.fd < 0 || grantpt(t->out.fd) < 0 || unlockpt(t->out.fd) < 0)
		return error_set(err, ERR_SYSTEM, "no terminal: %s", strerror(errno));
	for (int i = 0; i < 3; i++) {
		ends->fd[i] = open(ptsname(t->out.fd), O_RDWR | O_NOCTTY | O_CLOEXEC);
		if (ends->fd[i] < 0)
			return error_set(err, ERR_SYSTEM, "terminal: %s", strerror(errno));
	}
	ioctl(t->out.fd, TIOCSWINSZ, &size);
	return 0;
}

bool wio_has_pmix(const struct wtask *t)
{
	return !strncmp(t->part->request->mpi, "pmix", 4);
}

static int open_pmi(struct wtask *t, struct wends *ends, struct error *err)
{
	int s[2];

	if (strcmp(t->part->request->mpi, "pmi2") != 0 && !wio_has_pmix(t))
		return 0;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, s) < 0)
		return error_set(err, ERR_SYSTEM, "socketpair: %s", strerror(errno));
	t->pmi.fd = s[0];
	fcntl(s[0], F_SETFL, O_NONBLOCK);
	ends->pmi = s[1];
	return 0;
}

int wio_open(struct wtask *t, struct wends *ends, struct error *err)
{
	bool terminal = t->part->request->pty && t->id == 0;

	*ends = (struct wends){ .fd = { -1, -1, -1 }, .pmi = -1 };
	if ((terminal ? open_terminal(t, ends, err) : open_plain(t, ends, err)) == 0 &&
	        open_pmi(t, ends, err) == 0)
		return 0;
	wio_close_ends(ends);
	wio_close(t);
	return -1;
}

void wio_close_ends(struct wends *ends)
{
	for (int i = 0; i < 3; i++)
		fd_close(ends->fd[i]);
	fd_close(ends->pmi);
}

void wio_close(struct wtask *t)
{
	pipe_drop(&t->in);
	pipe_drop(&t->out);
	pipe_drop(&t->err);
	pipe_drop(&t->pmi);
	free(t->pmi_buf);
	t->pmi_buf = NULL;
}

bool wio_is_done(const struct wtask *t)
{
	return t->out.fd < 0 && t->err.fd < 0;
}

/* --- output ----------------------------------------------------------------------------------- */

static bool may_read(const struct wstep *s)
{
	return s->out_way + READ_STEP <= STEP_WINDOW;
}

static void on_output(uint32_t events, void *arg);
static void on_error(uint32_t events, void *arg);

/* A watch without events would still report the other side's end, so pipes that are not to be read
 * are not watched at all. */
static void watch_outputs(struct wtask *t)
{
	struct worker *w = t->step->w;

	if (t->out.fd >= 0 && !t->out.watch)
		t->out.watch = loop_watch(w->loop, t->out.fd, EPOLLIN, on_output, t);
	if (t->err.fd >= 0 && !t->err.watch)
		t->err.watch = loop_watch(w->loop, t->err.fd, EPOLLIN, on_error, t);
}

static void stop_reading(struct wstep *s)
{
	for (size_t i = 0; i < s->n_tasks; i++) {
		struct wtask *t = s->tasks[i];

		loop_drop(&t->out.watch);
		loop_drop(&t->err.watch);
	}
}

void wio_more_room(struct wstep *s)
{
	if (!may_read(s))
		return;
	for (size_t i = 0; i < s->n_tasks; i++)
		watch_outputs(s->tasks[i]);
}

static void read_output(struct wtask *t, struct wpipe *p, unsigned kind)
{
	struct wstep *s = t->step;
	uint8_t b[4 + READ_STEP];
	ssize_t n;

	if (p->fd < 0)
		return;
	n = read(p->fd, b + 4, READ_STEP);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) { /* of a terminal whose last process has gone: EIO */
		pipe_drop(p);
		wstep_check(s);
		return;
	}
	put_u32(b, t->id);
	s->w->send(s->w->arg, kind, s->id, b, 4 + (size_t)n);
	s->out_way += (size_t)n;
	if (!may_read(s))
		stop_reading(s);
}

static void on_output(uint32_t events, void *arg)
{
	struct wtask *t = arg;

	(void)events;
	read_output(t, &t->out, STEP_OUT);
}

static void on_error(uint32_t events, void *arg)
{
	struct wtask *t = arg;

	(void)events;
	read_output(t, &t->err, STEP_ERR);
}

/* --- input ------------------------------------------------------------------------------------ */

static int input_fd(const struct wtask *t)
{
	return t->pty ? t->out.fd : t->in.fd;
}

static void on_room(uint32_t events, void *arg)
{
	struct wtask *t = arg;

	(void)events;
	loop_drop(&t->in.watch);
	wio_feed(t->step);
}

/* A terminal's master is watched for its output already: what it does not take now is offered
 * again with the next piece of input or output. */
static void wait_for_room(struct wtask *t)
{
	if (!t->in.watch && !t->pty)
		t->in.watch = loop_watch(t->step->w->loop, t->in.fd, EPOLLOUT, on_room, t);
}

static void end_input(struct wtask *t)
{
	static const uint8_t end = CONTROL_D;

	if (t->pty)
		(void)!write(t->out.fd, &end, 1);
	else
		pipe_drop(&t->in);
}

static void feed_task(struct wtask *t)
{
	struct wstep *s = t->step;
	size_t at = (size_t)(t->in_pos - s->in_base);
	ssize_t n;

	while (input_fd(t) >= 0 && at < s->in_n) {
		n = write(input_fd(t), s->in + at, s->in_n - at);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN) {
			wait_for_room(t);
			return;
		}
		if (n < 0) {
			pipe_drop(&t->in);
			t->in_pos = UINT64_MAX;
			return;
		}
		at += (size_t)n;
		t->in_pos += (uint64_t)n;
	}
	if (s->in_ended && at == s->in_n && input_fd(t) >= 0) {
		end_input(t);
		t->in_pos = UINT64_MAX;
	}
}

/* What every reader has is taken. */
static void take_input(struct wstep *s)
{
	uint64_t least = s->in_base + s->in_n;
	uint8_t b[4];
	size_t taken;

	for (size_t i = 0; i < s->n_tasks; i++)
		if (!s->tasks[i]->ended && input_fd(s->tasks[i]) >= 0 &&
		        s->tasks[i]->in_pos < least && reads_input(s->tasks[i]))
			least = s->tasks[i]->in_pos;
	taken = (size_t)(least - s->in_base);
	if (!taken)
		return;
	s->in_n -= taken;
	memmove(s->in, s->in + taken, s->in_n);
	s->in_base = least;
	put_u32(b, (uint32_t)taken);
	s->w->send(s->w->arg, STEP_IN_TAKEN, s->id, b, sizeof(b));
}

void wio_feed(struct wstep *s)
{
	for (size_t i = 0; i < s->n_tasks; i++)
		if (s->tasks[i]->in_pos != UINT64_MAX && reads_input(s->tasks[i]))
			feed_task(s->tasks[i]);
	take_input(s);
}

/* --- the process management interface --------------------------------------------------------- */

/* PMI-1 speaks in lines, PMI-2 in messages with six digits of length before them. Returns the
 * length of the first one, 0: it is not all there. */
static size_t pmi_length(const uint8_t *p, size_t n)
{
	const uint8_t *end;
	size_t len = 0;

	if (n < 6)
		return 0;
	if (p[0] == 'c' || p[0] == 'm') { /* "cmd=...\n", "mcmd=...\nendcmd\n" */
		if (p[0] == 'c')
			return (end = memchr(p, '\n', n)) ? (size_t)(end - p) + 1 : 0;
		end = memmem(p, n, "endcmd\n", 7);
		return end ? (size_t)(end - p) + 7 : 0;
	}
	for (int i = 0; i < 6; i++)
		if (p[i] != ' ')
			len = len * 10 + (size_t)(p[i] - '0') % 10;
	return n >= 6 + len ? 6 + len : 0;
}

static void on_pmi(uint32_t events, void *arg)
{
	struct wtask *t = arg;
	struct wstep *s = t->step;
	uint8_t b[4 + PMI_MAX];
	size_t len;
	ssize_t n;

	(void)events;
	if (!t->pmi_buf)
		t->pmi_buf = xcalloc(PMI_MAX - 4, 1);
	n = read(t->pmi.fd, t->pmi_buf + t->pmi_n, PMI_MAX - 4 - t->pmi_n);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		pipe_drop(&t->pmi);
		return;
	}
	t->pmi_n += (size_t)n;
	while ((len = pmi_length(t->pmi_buf, t->pmi_n)) > 0) {
		put_u32(b, t->id);
		memcpy(b + 4, t->pmi_buf, len);
		t->pmi_n -= len;
		memmove(t->pmi_buf, t->pmi_buf + len, t->pmi_n);
		s->w->send(s->w->arg, STEP_PMI_ASK, s->id, b, 4 + len);
		if (t->pmi.fd < 0)
			return;
	}
}

void wio_answer(struct wtask *t, const uint8_t *data, size_t len)
{
	/* An answer is small beside a socket's buffer, and a task has one question at a time. */
	if (t->pmi.fd >= 0 && send(t->pmi.fd, data, len, MSG_NOSIGNAL) != (ssize_t)len)
		pipe_drop(&t->pmi);
}

void wio_no_answer(struct wtask *t)
{
	pipe_drop(&t->pmi);
}

void wio_watch(struct wtask *t)
{
	if (may_read(t->step))
		watch_outputs(t);
	if (t->pmi.fd >= 0 && !wio_has_pmix(t))
		t->pmi.watch = loop_watch(t->step->w->loop, t->pmi.fd, EPOLLIN, on_pmi, t);
}
