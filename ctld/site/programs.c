/* programs.c - see programs.h */
#include "ctld/site/programs.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <event2/event.h>

#include "common/base/fd_close.h"
#include "common/base/xalloc.h"
#include "common/net/event_end.h"

#define SAID_MAX 160

struct program {
	LIST_ENTRY(program) next;
	struct programs *programs;
	pid_t pid; /* of its group too; a child of ours that has not been waited for */
	int pidfd;
	struct event *ended, *late;
	int out; /* its stderr; -1: closed */
	struct event *hear;
	char said[SAID_MAX]; /* the beginning of its stderr */
	size_t said_len;
	bool has_ended;
	program_done_fn *done; /* NULL: told */
	void *arg;
};

struct programs {
	LIST_HEAD(, program) list;
	struct event_base *base;
	unsigned n, at_once;
	void (*free_place)(void *arg);
	void *arg;
};

struct programs *programs_new(
        struct event_base *base, unsigned at_once, void (*free_place)(void *arg), void *arg)
{
	struct programs *p = xcalloc(1, sizeof(*p));

	LIST_INIT(&p->list);
	p->base = base;
	p->at_once = at_once;
	p->free_place = free_place;
	p->arg = arg;
	return p;
}

static void close_output(struct program *p)
{
	event_end(p->hear);
	p->hear = NULL;
	fd_drop(&p->out);
}

/* All of it is read, so that it is not held up; the beginning is kept. */
static void on_said(evutil_socket_t fd, short what, void *arg)
{
	struct program *p = arg;
	char b[16384];
	ssize_t n;

	(void)fd;
	(void)what;
	n = read(p->out, b, sizeof(b));
	if (n > 0) {
		size_t room = sizeof(p->said) - 1 - p->said_len;
		size_t len = (size_t)n < room ? (size_t)n : room;

		memcpy(p->said + p->said_len, b, len);
		p->said_len += len;
	} else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
		close_output(p);
	}
}

/* Frees the program, and with it its place among those that may run. */
static void forget(struct program *p)
{
	close_output(p);
	LIST_REMOVE(p, next);
	p->programs->n--;
	fd_close(p->pidfd);
	event_end(p->ended);
	event_end(p->late);
	free(p);
}

void programs_free(struct programs *p)
{
	struct program *program;

	if (!p)
		return;
	while ((program = LIST_FIRST(&p->list))) {
		kill(-program->pid, SIGKILL);
		forget(program);
	}
	free(p);
}

bool programs_have_space(const struct programs *p)
{
	return p->n < p->at_once;
}

static void report_end(struct program *p, struct program_end end)
{
	program_done_fn *done = p->done;

	if (!p->said_len && p->out >= 0)
		on_said(p->out, EV_READ, p); /* it may have ended before we looked */
	p->said[p->said_len] = '\0';
	p->said[strcspn(p->said, "\n")] = '\0';
	end.said = p->said;
	p->done = NULL;
	if (done)
		done(p->arg, &end);
}

static void on_ended(evutil_socket_t fd, short what, void *arg)
{
	static const struct timeval soon = { .tv_usec = 200000 };
	struct program *p = arg;
	struct programs *all = p->programs;
	int status = 0;
	pid_t pid;

	(void)fd;
	(void)what;
	p->has_ended = true;
	kill(-p->pid, SIGKILL); /* what it leaves behind; the number is its own until waited for */
	pid = waitpid(p->pid, &status, WNOHANG);
	if (pid == 0) {
		event_add(p->late, &soon); /* a process that traces it is notified first */
		return;
	}
	report_end(p, (struct program_end){
	                .how = pid == p->pid ? PROGRAM_ENDED : PROGRAM_LOST, .status = status });
	forget(p);
	all->free_place(all->arg);
}

static void on_late(evutil_socket_t fd, short what, void *arg)
{
	struct program *p = arg;

	if (p->has_ended) {
		on_ended(fd, what, p);
		return;
	}
	kill(-p->pid, SIGKILL);
	report_end(p, (struct program_end){ .how = PROGRAM_LATE });
}

/* `out` becomes its stderr. 0 or an errno. */
static int spawn(char *const argv[], char *const env[], int out, pid_t *pid)
{
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attr;
	sigset_t none, all;
	int error;

	sigemptyset(&none);
	sigfillset(&all);
	posix_spawnattr_init(&attr);
	posix_spawnattr_setflags(
	        &attr, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
	posix_spawnattr_setsigmask(&attr, &none);
	posix_spawnattr_setsigdefault(&attr, &all);
	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
	posix_spawn_file_actions_adddup2(&files, out, STDERR_FILENO);
	error = posix_spawn(pid, argv[0], &files, &attr, argv, env);
	posix_spawn_file_actions_destroy(&files);
	posix_spawnattr_destroy(&attr);
	return error;
}

static int watch(struct program *p, uint32_t timeout_s)
{
	struct timeval tv = { .tv_sec = timeout_s };
	struct event_base *base = p->programs->base;

	p->pidfd = (int)syscall(SYS_pidfd_open, p->pid, 0);
	if (p->pidfd < 0)
		return errno;
	p->ended = event_new(base, p->pidfd, EV_READ, on_ended, p);
	p->late = evtimer_new(base, on_late, p);
	p->hear = event_new(base, p->out, EV_READ | EV_PERSIST, on_said, p);
	if (!p->ended || !p->late || !p->hear || event_add(p->ended, NULL) ||
	        event_add(p->hear, NULL) || (timeout_s && event_add(p->late, &tv)))
		return ENOMEM;
	return 0;
}

int programs_start(struct programs *programs, char *const argv[], char *const env[],
        uint32_t timeout_s, program_done_fn *done, void *arg, struct error *err)
{
	struct program *p = xcalloc(1, sizeof(*p));
	int error, out[2];

	p->programs = programs;
	p->pidfd = -1;
	p->done = done;
	p->arg = arg;
	if (pipe2(out, O_CLOEXEC | O_NONBLOCK) < 0) {
		error = errno;
		free(p);
		return error_set(err, ERR_SYSTEM, "%s: no pipe: %s", argv[0], strerror(error));
	}
	/* Only the controller's end must not block; the program's end may. */
	fcntl(out[1], F_SETFL, 0);
	error = spawn(argv, env, out[1], &p->pid);
	close(out[1]);
	p->out = out[0];
	if (error) {
		close_output(p);
		free(p);
		return error_set(err, ERR_SYSTEM, "%s: %s", argv[0], strerror(error));
	}
	LIST_INSERT_HEAD(&programs->list, p, next);
	programs->n++;
	error = watch(p, timeout_s);
	if (error) {
		kill(-p->pid, SIGKILL);
		forget(p);
		return error_set(err, ERR_SYSTEM, "%s cannot be watched, and was killed: %s",
		        argv[0], strerror(error));
	}
	return 0;
}

bool program_succeeded(const struct program_end *end)
{
	return end->how == PROGRAM_ENDED && WIFEXITED(end->status) && WEXITSTATUS(end->status) == 0;
}

const char *program_end_text(const struct program_end *end, char buf[PROGRAM_END_TEXT_MAX])
{
	const char *said = end->said && *end->said ? end->said : NULL;
	char how[64];

	if (end->how == PROGRAM_LATE)
		snprintf(how, sizeof(how), "did not end in time and was killed");
	else if (end->how == PROGRAM_LOST)
		snprintf(how, sizeof(how), "ended, and how is not known");
	else if (WIFEXITED(end->status))
		snprintf(how, sizeof(how), "failed (exit status %d)", WEXITSTATUS(end->status));
	else
		snprintf(how, sizeof(how), "failed (signal %d)", WTERMSIG(end->status));
	snprintf(buf, PROGRAM_END_TEXT_MAX, "%s%s%s", how, said ? ": " : "", said ? said : "");
	return buf;
}
