/* watch.c - see watch.h */
#include "ctld/loop/watch.h"

#include <stdlib.h>

#include <event2/event.h>

#include "common/base/xalloc.h"
#include "common/net/event_end.h"
#include "ctld/ctld.h"
#include "ctld/loop/calls.h"

/* A cursor is the term's epoch above the number of the change in it. */
#define TERM_BITS 40

/* There are many: without padding. */
struct __attribute__((packed)) change {
	uint64_t job;
	uint32_t user;
};

TAILQ_HEAD(watchers, watcher);

struct watch {
	struct ctld *c;
	struct change *changes; /* a ring of `size`: the last ones, up to number `n` */
	uint64_t n;
	size_t size;                  /* a power of two */
	uint64_t round;               /* changes before this number are told in the present one */
	struct event *timer, *pace;   /* the next round; the next watchers of this one */
	struct watchers waiting, due; /* for the next round; to be woken in this one */
	usec_t began; /* mono: the present round, or the last one */
	size_t n_watchers;
	bool waking;
	size_t sent; /* bytes, since the last rest */
};

static void set_timer(struct watch *w)
{
	usec_t left = w->began ? w->began + WATCH_EVERY_MS * 1000 - ctld_mono() : 0;
	struct timeval tv = { .tv_usec = WATCH_FIRST_MS * 1000 };

	if (left > tv.tv_usec)
		tv.tv_usec = left;
	if (!event_pending(w->timer, EV_TIMEOUT, NULL))
		event_add(w->timer, &tv);
}

static void rest(struct watch *w, usec_t worked)
{
	usec_t us = WATCH_REST * (worked + (usec_t)(w->sent / WATCH_SENDS));
	struct timeval tv = { us / 1000000, us % 1000000 };

	w->sent = 0;
	event_add(w->pace, &tv);
}

static void on_pace(evutil_socket_t fd, short what, void *arg)
{
	struct watch *w = arg;
	usec_t begin = ctld_mono(), worked = 0;
	struct watcher *watcher;

	(void)fd;
	(void)what;
	w->waking = true;
	while (worked + (usec_t)(w->sent / WATCH_SENDS) < WATCH_WORK_US &&
	        (watcher = TAILQ_FIRST(&w->due))) {
		watch_stop(w, watcher);
		call_slice_now(w->c, watcher->call);
		worked = ctld_mono() - begin;
	}
	w->waking = false;
	if (!TAILQ_EMPTY(&w->due))
		rest(w, worked);
	else if (w->n_watchers && w->n != w->round)
		set_timer(w);
}

static void on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct watch *w = arg;
	struct watcher *watcher;

	if (!TAILQ_EMPTY(&w->due))
		return; /* the end of this round sets it again */
	w->round = w->n;
	w->began = ctld_mono();
	TAILQ_FOREACH (watcher, &w->waiting, next)
		watcher->due = true;
	TAILQ_CONCAT(&w->due, &w->waiting, next);
	on_pace(fd, what, w);
}

struct watch *watch_new(struct ctld *c, struct error *err)
{
	struct watch *w = xcalloc(1, sizeof(*w));

	w->c = c;
	w->size = 1024;
	w->changes = xcalloc(w->size, sizeof(*w->changes));
	TAILQ_INIT(&w->waiting);
	TAILQ_INIT(&w->due);
	w->timer = evtimer_new(c->base, on_timer, w);
	w->pace = evtimer_new(c->base, on_pace, w);
	if (!w->timer || !w->pace) {
		watch_free(w);
		error_set(err, ERR_SYSTEM, "event loop: out of memory");
		return NULL;
	}
	return w;
}

void watch_free(struct watch *w)
{
	if (!w)
		return;
	event_end(w->timer);
	event_end(w->pace);
	free(w->changes);
	free(w);
}

static void grow(struct watch *w)
{
	struct change *changes = xcalloc(w->size * 2, sizeof(*changes));

	for (uint64_t i = w->n - w->size; i < w->n; i++)
		changes[i & (w->size * 2 - 1)] = w->changes[i & (w->size - 1)];
	free(w->changes);
	w->changes = changes;
	w->size *= 2;
}

void watch_changed(struct watch *w, uint64_t job, uint32_t user)
{
	if (w->n >= w->size && w->size < WATCH_KEPT)
		grow(w);
	w->changes[w->n++ & (w->size - 1)] = (struct change){ job, user };
	if (w->n_watchers)
		set_timer(w);
}

static uint64_t cursor_of(const struct watch *w, uint64_t n)
{
	return (w->c->epoch << TERM_BITS) + n;
}

uint64_t watch_cursor(const struct watch *w)
{
	return cursor_of(w, w->n);
}

uint64_t watch_round(const struct watch *w)
{
	return cursor_of(w, w->round);
}

bool watch_knows(const struct watch *w, uint64_t cursor)
{
	uint64_t oldest = w->n > w->size ? w->n - w->size : 0;

	return cursor >= cursor_of(w, oldest) && cursor <= watch_cursor(w);
}

/* A set of the ids of one read: open addressing, at most half full. */
struct seen {
	uint64_t ids[2 * WATCH_READ_MAX];
};

static bool seen_add(struct seen *seen, uint64_t id)
{
	size_t i = (size_t)(id * 0x9e3779b97f4a7c15ULL >> 54);

	while (seen->ids[i % (2 * WATCH_READ_MAX)]) {
		if (seen->ids[i % (2 * WATCH_READ_MAX)] == id)
			return false;
		i++;
	}
	seen->ids[i % (2 * WATCH_READ_MAX)] = id;
	return true;
}

size_t watch_read(const struct watch *w, uint64_t *cursor, struct watch_change v[WATCH_READ_MAX])
{
	uint64_t at = *cursor - cursor_of(w, 0), end = at > w->round ? at : w->round;
	struct seen seen = { { 0 } };
	size_t n = 0;

	end = end - at > WATCH_READ_MAX ? at + WATCH_READ_MAX : end;
	for (; at < end; at++) {
		const struct change *change = &w->changes[at & (w->size - 1)];

		if (seen_add(&seen, change->job))
			v[n++] = (struct watch_change){ change->job, cursor_of(w, at + 1),
				change->user };
	}
	*cursor = cursor_of(w, end);
	return n;
}

void watch_wait(struct watch *w, struct watcher *watcher, struct call *call, uint64_t cursor)
{
	static const struct timeval at_once = { 0, 0 };

	watcher->call = call;
	watcher->waiting = true;
	watcher->due = cursor < watch_round(w);
	w->n_watchers++;
	if (!watcher->due) {
		TAILQ_INSERT_TAIL(&w->waiting, watcher, next);
		if (cursor != watch_cursor(w))
			set_timer(w);
		return;
	}
	TAILQ_INSERT_TAIL(&w->due, watcher, next);
	if (!w->waking && !event_pending(w->pace, EV_TIMEOUT, NULL))
		event_add(w->pace, &at_once);
}

void watch_stop(struct watch *w, struct watcher *watcher)
{
	if (!watcher->waiting)
		return;
	watcher->waiting = false;
	if (watcher->due)
		TAILQ_REMOVE(&w->due, watcher, next);
	else
		TAILQ_REMOVE(&w->waiting, watcher, next);
	w->n_watchers--;
}

void watch_sent(struct watch *w, size_t bytes)
{
	w->sent += bytes;
}

size_t watch_count(const struct watch *w)
{
	return w->n_watchers;
}
