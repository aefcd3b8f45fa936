/* controller_thread.c - see controller_thread.h */
#include "cmds/top/link/controller_thread.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "cmds/top/link/requests.h"
#include "common/base/backoff.h"
#include "common/base/clock.h"
#include "common/base/fd_close.h"
#include "common/base/xalloc.h"

#define PAUSE_MIN_MS 50
#define PAUSE_MAX_MS 1000
#define SILENCE_MS   20000         /* without any answer: the connection is given up */
#define QUEUE_MAX    65536         /* jobs that the screen has not taken yet */
#define ARENA_CAP    (1024 * 1024) /* msg_unpack() sets its own */
#define STOP_MS      300

/* A command that waits for the thread. */
struct waiting {
	STAILQ_ENTRY(waiting) next;
	struct command command;
};
STAILQ_HEAD(waitings, waiting);

struct link {
	/* Under the lock. */
	pthread_mutex_t lock;
	pthread_cond_t taken;
	struct updates updates;
	size_t n_jobs; /* in them */
	struct waitings commands;
	bool stop;

	int there_fd; /* there are updates */
	int wake_fd;  /* there are commands */
	pthread_t thread;

	/* The thread's. */
	struct client *client;
	struct asks asks;
	struct waitings orders; /* commands that are asked one after another */
	struct backoff backoff;
	bool paused, told; /* told: an update said that there is no connection */
};

static void ring(int fd)
{
	uint64_t one = 1;
	ssize_t n;

	do
		n = write(fd, &one, sizeof(one));
	while (n < 0 && errno == EINTR);
}

static void silence(int fd)
{
	uint64_t n;

	while (read(fd, &n, sizeof(n)) > 0)
		;
}

/* --- both threads ----------------------------------------------------------------------------- */

static void push(struct update *u, void *arg)
{
	struct link *l = arg;

	pthread_mutex_lock(&l->lock);
	while (l->n_jobs > QUEUE_MAX && !l->stop)
		pthread_cond_wait(&l->taken, &l->lock);
	STAILQ_INSERT_TAIL(&l->updates, u, next);
	l->n_jobs += u->n_jobs;
	pthread_mutex_unlock(&l->lock);
	ring(l->there_fd);
}

void link_take(struct link *l, struct updates *out)
{
	STAILQ_INIT(out);
	silence(l->there_fd);
	pthread_mutex_lock(&l->lock);
	STAILQ_CONCAT(out, &l->updates);
	l->n_jobs = 0;
	pthread_cond_signal(&l->taken);
	pthread_mutex_unlock(&l->lock);
}

void link_send(struct link *l, const struct command *c)
{
	struct waiting *w = xcalloc(1, sizeof(*w));

	w->command = *c;
	pthread_mutex_lock(&l->lock);
	STAILQ_INSERT_TAIL(&l->commands, w, next);
	pthread_mutex_unlock(&l->lock);
	ring(l->wake_fd);
}

int link_fd(const struct link *l)
{
	return l->there_fd;
}

/* --- the connection --------------------------------------------------------------------------- */

static void say_link(struct link *l, bool ok, const char *text)
{
	struct update *u = update_new(UPDATE_LINK, clock_us(CLOCK_REALTIME));

	u->ok = ok;
	u->text = text ? xstrdup(text) : NULL;
	l->told = !ok;
	push(u, l);
}

static void lose(struct link *l, const struct error *why)
{
	client_drop(l->client);
	asks_forget(&l->asks, clock_ms(CLOCK_MONOTONIC), clock_us(CLOCK_REALTIME));
	if (why)
		say_link(l, false, why->text);
}

/* Wait for a command, or so long. */
static void nap(struct link *l, int ms)
{
	struct pollfd p = { .fd = l->wake_fd, .events = POLLIN };

	poll(&p, 1, ms);
}

static struct dial *connect_it(struct link *l)
{
	bool fresh = !client_connection(l->client);
	struct error why;
	struct dial *d = client_dial(l->client, &why);

	if (!d) {
		say_link(l, false, why.text);
		nap(l, (int)backoff_next_ms(&l->backoff));
	} else if (fresh) {
		say_link(l, true, NULL);
	}
	return d;
}

/* --- commands --------------------------------------------------------------------------------- */

static bool is_same_look(const struct command *a, const struct command *b)
{
	if (a->wants != b->wants || a->n_shown != b->n_shown)
		return false;
	for (size_t i = 0; i < a->n_shown; i++)
		if (!job_key_same(a->shown[i], b->shown[i]))
			return false;
	return true;
}

static void look(struct link *l, const struct command *c)
{
	bool other = !is_same_look(c, &l->asks.look);

	l->asks.look = *c;
	if (!other)
		return;
	asks_want(&l->asks, ASK_SHOWN);
	if (c->wants & WANT_SHARES)
		asks_want(&l->asks, ASK_SHARES);
	if (c->wants & WANT_SERVICES)
		asks_want(&l->asks, ASK_SERVICES);
}

/* Without a watch the connection is another one: a watch has no end of its own. */
static void follow(struct link *l, bool paused)
{
	if (paused != l->paused)
		lose(l, NULL);
	l->paused = paused;
}

static void take_commands(struct link *l)
{
	struct waitings all = STAILQ_HEAD_INITIALIZER(all);

	silence(l->wake_fd);
	pthread_mutex_lock(&l->lock);
	STAILQ_CONCAT(&all, &l->commands);
	pthread_mutex_unlock(&l->lock);
	while (!STAILQ_EMPTY(&all)) {
		struct waiting *w = STAILQ_FIRST(&all);

		STAILQ_REMOVE_HEAD(&all, next);
		if (w->command.kind == COMMAND_LOOK) {
			look(l, &w->command);
		} else if (w->command.kind == COMMAND_PAUSE || w->command.kind == COMMAND_RESUME) {
			follow(l, w->command.kind == COMMAND_PAUSE);
		} else {
			STAILQ_INSERT_TAIL(&l->orders, w, next);
			continue;
		}
		free(w);
	}
}

static bool is_idle(const struct link *l, enum ask_kind kind)
{
	return !l->asks.v[kind].id && l->asks.v[kind].due_ms == INT64_MAX;
}

/* The next one, when those before have their answers. */
static void begin_order(struct link *l)
{
	struct waiting *w = STAILQ_FIRST(&l->orders);

	if (!w || !is_idle(l, ASK_WHY) || !is_idle(l, ASK_CONTROL))
		return;
	STAILQ_REMOVE_HEAD(&l->orders, next);
	l->asks.order = w->command;
	asks_want(&l->asks, w->command.kind == COMMAND_WHY ? ASK_WHY : ASK_CONTROL);
	free(w);
}

/* --- the thread ------------------------------------------------------------------------------- */

static bool is_stopped(struct link *l)
{
	bool stop;

	pthread_mutex_lock(&l->lock);
	stop = l->stop;
	pthread_mutex_unlock(&l->lock);
	return stop;
}

static int pause_until_next(struct link *l)
{
	int64_t ms = asks_next_ms(&l->asks, l->paused) - clock_ms(CLOCK_MONOTONIC);

	return ms < 0 ? 0 : ms > PAUSE_MAX_MS ? PAUSE_MAX_MS : (int)ms;
}

static int receive(struct link *l, struct dial *d, struct error *err)
{
	struct frame f;
	int rc;

	while ((rc = dial_recv(d, &f, 0, err)) > 0) {
		backoff_reset(&l->backoff);
		if (asks_take(&l->asks, &f, clock_ms(CLOCK_MONOTONIC), clock_us(CLOCK_REALTIME), err) < 0)
			return -1;
	}
	if (rc == 0 && asks_oldest_ms(&l->asks, clock_ms(CLOCK_MONOTONIC)) > SILENCE_MS)
		return error_set(err, ERR_TIMEOUT, "the controller has not answered for %d s",
		        SILENCE_MS / 1000);
	return rc;
}

static int serve(struct link *l, struct dial *d, struct error *err)
{
	struct pollfd p[2] = { { .fd = l->wake_fd, .events = POLLIN },
		{ .fd = dial_fd(d), .events = POLLIN } };

	begin_order(l);
	if (asks_send_due(&l->asks, d, clock_ms(CLOCK_MONOTONIC), l->paused, err) < 0)
		return -1;
	if (dial_is_sending(d))
		p[1].events |= POLLOUT;
	if (poll(p, 2, pause_until_next(l)) < 0 && errno != EINTR)
		return error_set(err, ERR_SYSTEM, "poll: %s", strerror(errno));
	return receive(l, d, err);
}

static void *run(void *arg)
{
	struct link *l = arg;

	while (!is_stopped(l)) {
		struct error err;
		struct dial *d;

		take_commands(l);
		d = connect_it(l);
		if (d && serve(l, d, &err) < 0) {
			lose(l, &err);
			nap(l, (int)backoff_next_ms(&l->backoff));
		}
	}
	return NULL;
}

/* --- its life --------------------------------------------------------------------------------- */

static void drop_all(struct waitings *all)
{
	while (!STAILQ_EMPTY(all)) {
		struct waiting *w = STAILQ_FIRST(all);

		STAILQ_REMOVE_HEAD(all, next);
		free(w);
	}
}

static void link_free(struct link *l)
{
	while (!STAILQ_EMPTY(&l->updates)) {
		struct update *u = STAILQ_FIRST(&l->updates);

		STAILQ_REMOVE_HEAD(&l->updates, next);
		update_free(u);
	}
	drop_all(&l->commands);
	drop_all(&l->orders);
	for (size_t i = 0; i < ASK_KINDS; i++)
		update_free(l->asks.v[i].so_far);
	arena_free(l->asks.arena);
	client_free(l->client);
	fd_close(l->there_fd);
	fd_close(l->wake_fd);
	free(l);
}

static struct link *link_new(struct client *c)
{
	struct link *l = xcalloc(1, sizeof(*l));

	STAILQ_INIT(&l->updates);
	STAILQ_INIT(&l->commands);
	STAILQ_INIT(&l->orders);
	pthread_mutex_init(&l->lock, NULL);
	pthread_cond_init(&l->taken, NULL);
	l->client = c;
	client_set_retry(c, 0); /* the pauses are here */
	backoff_init(&l->backoff, PAUSE_MIN_MS, PAUSE_MAX_MS,
	        (uint64_t)clock_us(CLOCK_MONOTONIC) ^ ((uint64_t)getpid() << 32));
	l->asks.arena = arena_new(ARENA_CAP);
	l->asks.push = push;
	l->asks.arg = l;
	l->asks.v[ASK_WHY].due_ms = l->asks.v[ASK_CONTROL].due_ms = INT64_MAX;
	l->there_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	l->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return l;
}

/* Signals are for the thread of the screen. */
struct link *link_start(struct client *c, struct error *err)
{
	struct link *l = link_new(c);
	sigset_t all, before;
	int rc = EMFILE;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	if (l->there_fd >= 0 && l->wake_fd >= 0)
		rc = pthread_create(&l->thread, NULL, run, l);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (!rc)
		return l;
	link_free(l);
	error_set(err, ERR_SYSTEM, "a thread cannot be started: %s", strerror(rc));
	return NULL;
}

void link_stop(struct link *l)
{
	struct timespec until;

	if (!l)
		return;
	pthread_mutex_lock(&l->lock);
	l->stop = true;
	pthread_cond_signal(&l->taken);
	pthread_mutex_unlock(&l->lock);
	ring(l->wake_fd);
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += STOP_MS * 1000000L;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	/* One that connects to a host that does not answer ends with the process. */
	if (pthread_timedjoin_np(l->thread, NULL, &until) == 0)
		link_free(l);
}
