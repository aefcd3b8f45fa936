/* start_shepherd.c - see start_shepherd.h, shepherd/fork_server.h
 *
 *                   spawned                a shepherd is wanted
 *   no template ---------------> idle <--------------------------> one request is sent
 *        ^                         |              answered                |
 *        +-------------------------+--------------------------------------+
 *             the template has ended, does not answer or takes no request
 *
 * Shepherds that are wanted meanwhile wait in a queue, in which the first is the one that was sent.
 * Without a template each is executed. After a template has ended the next is not made for AGAIN_S.
 */
#include "config.h"

#include "noded/launcher/start_shepherd.h"

#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/base/fd_close.h"
#include "common/base/log.h"
#include "common/base/xalloc.h"
#include "common/job/run.h"
#include "common/net/event_end.h"
#include "noded/record/fdpass.h"
#include "noded/record/inherit.h"
#include "noded/record/record.h"
#include "noded/runs/launcher_dirs.h"
#include "noded/runs/launcher_options.h"
#include "noded/runs/launcher_state.h"
#include "noded/runs/run_life.h"
#include "noded/runs/spawn.h"
#include "noded/shepherd/fork_server.h"

#define ANSWER_S 5  /* for a fork(2), on a machine that is short of everything */
#define AGAIN_S  60 /* after a template that ended soon */

/* A shepherd that is to be started. */
struct wanted {
	struct wanted *next;
	struct run_id id;
	char *path;
	int fds[TEMPLATE_FDS]; /* our own: the record's lock and the order socket among them */
};

/* One request at a time: if there is a template, the first of the queue was sent to it. So if the
 * template ends or hangs, it is only for that one unknown whether its shepherd was started. */
struct template_client {
	struct launcher *l;
	pid_t pid;
	int fd, pidfd; /* -1: there is none */
	struct event *answer, *late;
	time_t next; /* CLOCK_MONOTONIC: no template is started earlier */
	struct wanted *first, **last;
};

/* --- the queue -------------------------------------------------------------------------------- */

static void wanted_free(struct wanted *w)
{
	for (size_t i = 0; i < TEMPLATE_FDS; i++)
		fd_close(w->fds[i]);
	free(w->path);
	free(w);
}

/* NULL: no descriptors are left. */
static struct wanted *wanted_new(struct run_id id, const char *path, const int *fds)
{
	struct wanted *w = xcalloc(1, sizeof(*w));
	bool all = true;

	w->id = id;
	w->path = xstrdup(path);
	for (size_t i = 0; i < TEMPLATE_FDS; i++) {
		w->fds[i] = fds[i] < 0 ? -1 : fcntl(fds[i], F_DUPFD_CLOEXEC, 0);
		all &= (w->fds[i] < 0) == (fds[i] < 0);
	}
	if (all)
		return w;
	wanted_free(w);
	return NULL;
}

static struct wanted *take_first(struct template_client *t)
{
	struct wanted *w = t->first;

	if (w && !(t->first = w->next))
		t->last = &t->first;
	return w;
}

/* --- without a template ----------------------------------------------------------------------- */

static int execute_shepherd(
        struct template_client *t, const char *path, const int *fds, pid_t *pid, struct error *err)
{
	char name[] = "gshepherd", *own = xstrdup(path), *argv[] = { name, own, NULL };
	int r = spawn_program(t->l->options->shepherd, argv, fds, TEMPLATE_FDS, pid, err);

	free(own);
	return r;
}

/* Takes `w`. */
static void execute_wanted(struct template_client *t, struct wanted *w)
{
	struct run_id id = w->id;
	struct error err;
	pid_t pid;
	int r = execute_shepherd(t, w->path, w->fds, &pid, &err);

	wanted_free(w); /* releases the lock first, which must be the shepherd's alone */
	if (r == 0)
		run_forked(t->l, id, pid);
	else
		run_not_forked(t->l, id, err.text);
}

/* --- the template ----------------------------------------------------------------------------- */

/* A template ends by itself when its socket is closed; one that hangs must be killed. */
static void drop_template(struct template_client *t)
{
	event_end(t->answer);
	if (t->pidfd >= 0) {
		syscall(SYS_pidfd_send_signal, t->pidfd, SIGKILL, NULL, 0);
		close(t->pidfd);
	}
	fd_close(t->fd);
	evtimer_del(t->late);
	t->answer = NULL;
	t->pidfd = t->fd = -1;
}

/* The lock of the first one's record shows whether it was started; the others were not. */
static void give_up_template(struct template_client *t)
{
	struct wanted *w = take_first(t);
	struct run_id id;

	drop_template(t);
	if (w) {
		id = w->id;
		wanted_free(w);
		run_forked(t->l, id, 0);
	}
	while ((w = take_first(t)))
		execute_wanted(t, w);
}

static bool send_first(struct template_client *t)
{
	static const struct timeval patience = { .tv_sec = ANSWER_S };
	const struct wanted *w = t->first;

	if (fdpass_send(t->fd, w->path, strlen(w->path), w->fds, w->fds[2] < 0 ? 2 : 3,
	            MSG_DONTWAIT) < 0)
		return false;
	evtimer_add(t->late, &patience);
	return true;
}

static void send_next(struct template_client *t)
{
	struct wanted *w;

	evtimer_del(t->late);
	if (!t->first || send_first(t))
		return;
	drop_template(t);
	while ((w = take_first(t)))
		execute_wanted(t, w);
}

static void shepherd_forked(struct template_client *t, int32_t answer)
{
	struct wanted *w = take_first(t);
	struct run_id id;

	if (!w)
		return;
	if (answer <= 0) {
		execute_wanted(t, w);
	} else {
		id = w->id;
		wanted_free(w);
		run_forked(t->l, id, answer);
	}
	send_next(t);
}

static void answer_come(evutil_socket_t fd, short what, void *arg)
{
	struct template_client *t = arg;
	int32_t answer;
	ssize_t n = recv(t->fd, &answer, sizeof(answer), MSG_DONTWAIT);

	(void)fd;
	(void)what;
	if (n == sizeof(answer)) {
		shepherd_forked(t, answer);
	} else if (n >= 0 || (errno != EAGAIN && errno != EINTR)) {
		log_warning("the shepherds' template %d has ended; each is executed until there is "
		            "another",
		        (int)t->pid);
		give_up_template(t);
	}
}

static void answer_late(evutil_socket_t fd, short what, void *arg)
{
	struct template_client *t = arg;

	(void)fd;
	(void)what;
	log_error("the shepherds' template did not answer when it was to start %s", t->first->path);
	give_up_template(t);
}

static void make_template(struct template_client *t)
{
	char name[] = "gshepherd", duty[] = SHEPHERD_TEMPLATE;
	size_t room = strlen(t->l->dirs->runs_path) + 1 + RECORD_ID_MAX;
	char *blank = xcalloc(1, room + 1), *argv[] = { name, duty, blank, NULL };
	struct error err;
	int pair[2];

	t->next = clock_us(CLOCK_MONOTONIC) / 1000000 + AGAIN_S;
	memset(blank, ' ', room);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0) {
		free(blank);
		return;
	}
	if (spawn_program(t->l->options->shepherd, argv, &pair[1], 1, &t->pid, &err) == 0) {
		t->fd = pair[0];
		t->pidfd = (int)syscall(SYS_pidfd_open, t->pid, 0);
		t->answer = event_new(t->l->base, t->fd, EV_READ | EV_PERSIST, answer_come, t);
		if (!t->answer || event_add(t->answer, NULL) < 0)
			abort();
	} else {
		close(pair[0]);
	}
	close(pair[1]);
	free(blank);
}

struct template_client *template_client_new(struct launcher *l)
{
	struct template_client *t = xcalloc(1, sizeof(*t));

	*t = (struct template_client){ .l = l, .fd = -1, .pidfd = -1 };
	t->last = &t->first;
	t->late = evtimer_new(l->base, answer_late, t);
	if (!t->late)
		abort();
	make_template(t);
	return t;
}

/* Runs that were ordered are started; the next launcher will find them. */
void template_client_free(struct template_client *t)
{
	struct wanted *w;
	struct error err;
	pid_t pid;

	if (!t)
		return;
	/* it is forked before the template sees the socket's end */
	if (t->fd >= 0 && (w = take_first(t))) {
		wanted_free(w);
		close(t->pidfd);
		t->pidfd = -1;
	}
	drop_template(t);
	while ((w = take_first(t))) {
		if (execute_shepherd(t, w->path, w->fds, &pid, &err) < 0)
			log_error("%s: %s", w->path, err.text);
		wanted_free(w);
	}
	event_free(t->late);
	free(t);
}

int template_client_spawn(struct template_client *t, struct run_id id, const char *path,
        const int fds[3], pid_t *pid, struct error *err)
{
	struct wanted *w;
	bool alone = !t->first;

	*pid = 0;
	if (t->fd < 0 && clock_us(CLOCK_MONOTONIC) / 1000000 >= t->next)
		make_template(t);
	if (t->fd < 0 || !(w = wanted_new(id, path, fds)))
		return execute_shepherd(t, path, fds, pid, err);
	*t->last = w;
	t->last = &w->next;
	if (!alone || send_first(t))
		return 0;
	wanted_free(take_first(t));
	drop_template(t);
	return execute_shepherd(t, path, fds, pid, err);
}
