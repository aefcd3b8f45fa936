/* watch.c - see watch.h */
#include "ctld/watch.h"

#include <stdlib.h>

#include <event2/event.h>

#include "common/xalloc.h"
#include "ctld/calls.h"
#include "ctld/ctld.h"

/* A cursor is the term's epoch above the number of the change in it. */
#define TERM_BITS 40

struct watch {
	struct ctld *c;
	uint64_t *ids; /* a ring of `size`: the last changes, up to number `n` */
	uint64_t n;
	size_t size; /* a power of two */
	struct event *timer;
	TAILQ_HEAD(, watcher) watchers;
	size_t n_watchers;
};

static void on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct watch *w = arg;
	struct watcher *watcher;

	(void)fd;
	(void)what;
	while ((watcher = TAILQ_FIRST(&w->watchers))) {
		watch_stop(w, watcher);
		call_go_on(w->c, watcher->call);
	}
}

struct watch *watch_new(struct ctld *c, struct error *err)
{
	struct watch *w = xcalloc(1, sizeof(*w));

	w->c = c;
	w->size = 1024;
	w->ids = xcalloc(w->size, sizeof(*w->ids));
	TAILQ_INIT(&w->watchers);
	w->timer = evtimer_new(c->base, on_timer, w);
	if (!w->timer) {
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
	if (w->timer)
		event_free(w->timer);
	free(w->ids);
	free(w);
}

static void set_timer(struct watch *w)
{
	static const struct timeval every = { .tv_usec = WATCH_EVERY_MS * 1000 };

	if (!event_pending(w->timer, EV_TIMEOUT, NULL))
		event_add(w->timer, &every);
}

static void grow(struct watch *w)
{
	uint64_t *ids = xcalloc(w->size * 2, sizeof(*ids));

	for (uint64_t i = w->n - w->size; i < w->n; i++)
		ids[i & (w->size * 2 - 1)] = w->ids[i & (w->size - 1)];
	free(w->ids);
	w->ids = ids;
	w->size *= 2;
}

void watch_changed(struct watch *w, uint64_t job)
{
	if (w->n >= w->size && w->size < WATCH_KEPT)
		grow(w);
	w->ids[w->n++ & (w->size - 1)] = job;
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

bool watch_knows(const struct watch *w, uint64_t cursor)
{
	uint64_t oldest = w->n > w->size ? w->n - w->size : 0;

	return cursor >= cursor_of(w, oldest) && cursor <= watch_cursor(w);
}

/* A set of the ids of one read: open addressing, at most half full. */
struct seen {
	uint64_t ids[2 * WATCH_READ_MAX];
};

static bool add(struct seen *seen, uint64_t id)
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

size_t watch_read(const struct watch *w, uint64_t *cursor, uint64_t ids[WATCH_READ_MAX])
{
	uint64_t at = *cursor - cursor_of(w, 0);
	uint64_t end = w->n - at > WATCH_READ_MAX ? at + WATCH_READ_MAX : w->n;
	struct seen seen = { { 0 } };
	size_t n = 0;

	for (; at < end; at++) {
		uint64_t id = w->ids[at & (w->size - 1)];

		if (add(&seen, id))
			ids[n++] = id;
	}
	*cursor = cursor_of(w, end);
	return n;
}

void watch_wait(struct watch *w, struct watcher *watcher, struct call *call, uint64_t cursor)
{
	watcher->call = call;
	watcher->waiting = true;
	TAILQ_INSERT_TAIL(&w->watchers, watcher, next);
	w->n_watchers++;
	if (cursor != watch_cursor(w))
		set_timer(w);
}

void watch_stop(struct watch *w, struct watcher *watcher)
{
	if (!watcher->waiting)
		return;
	watcher->waiting = false;
	TAILQ_REMOVE(&w->watchers, watcher, next);
	w->n_watchers--;
}

size_t watch_count(const struct watch *w)
{
	return w->n_watchers;
}
