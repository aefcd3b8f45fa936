/* loop.c - see loop.h */
#include "cmds/steps/loop.h"

#include <stdbool.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <time.h>

#include "common/base/clock.h"
#include "common/base/fd_close.h"
#include "common/base/xalloc.h"

#define EVENTS_MAX 64

struct loop_watch {
	struct loop *loop;
	int fd;
	uint32_t events;
	loop_fn *fn;
	void *arg;
	struct loop_watch *next_dropped;
	bool dropped;
};

struct loop {
	int epoll;
	struct loop_watch *dropped; /* freed when no event can name them any more */
};

struct loop *loop_new(void)
{
	struct loop *l = xcalloc(1, sizeof(*l));

	l->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (l->epoll < 0)
		abort();
	return l;
}

static void free_dropped(struct loop *l)
{
	while (l->dropped) {
		struct loop_watch *w = l->dropped;

		l->dropped = w->next_dropped;
		free(w);
	}
}

struct loop_watch *loop_watch(struct loop *l, int fd, uint32_t events, loop_fn *fn, void *arg)
{
	struct loop_watch *w = xcalloc(1, sizeof(*w));
	struct epoll_event e = { .events = events, .data.ptr = w };

	*w = (struct loop_watch){ .loop = l, .fd = fd, .events = events, .fn = fn, .arg = arg };
	if (epoll_ctl(l->epoll, EPOLL_CTL_ADD, fd, &e) < 0)
		abort();
	return w;
}

void loop_want(struct loop_watch *w, uint32_t events)
{
	struct epoll_event e = { .events = events, .data.ptr = w };

	if (w->events == events)
		return;
	w->events = events;
	epoll_ctl(w->loop->epoll, EPOLL_CTL_MOD, w->fd, &e);
}

void loop_drop(struct loop_watch **watch)
{
	struct loop_watch *w = *watch;

	*watch = NULL;
	if (!w)
		return;
	epoll_ctl(w->loop->epoll, EPOLL_CTL_DEL, w->fd, NULL);
	w->dropped = true;
	w->next_dropped = w->loop->dropped;
	w->loop->dropped = w;
}

void loop_close(struct loop_watch **w, int *fd)
{
	loop_drop(w);
	fd_drop(fd);
}

void loop_run(struct loop *l, int timeout_ms)
{
	struct epoll_event events[EVENTS_MAX];
	int n = epoll_wait(l->epoll, events, EVENTS_MAX, timeout_ms);

	for (int i = 0; i < n; i++) {
		struct loop_watch *w = events[i].data.ptr;

		if (!w->dropped)
			w->fn(events[i].events, w->arg);
	}
	free_dropped(l);
}

int64_t loop_now_ms(void)
{
	return clock_ms(CLOCK_MONOTONIC);
}
