/* watch.h - which jobs have changed lately, and who waits to hear of it
 *
 * A watcher follows the cluster from a cursor: a number that grows with every change and that it
 * may come back with after a break, also to a controller that was started again. The changes of the
 * latest term are at hand, up to WATCH_KEPT; for an older cursor, or one of another term,
 * everything must be told anew.
 *
 * Only ids are kept here: a watcher is told what its jobs are by then, so a job that has changed
 * many times in between is told once. Watchers are woken together, WATCH_EVERY_MS after the first
 * change they do not know: ten thousand changes a second cost each of them ten answers.
 */
#ifndef CTLD_WATCH_H
#define CTLD_WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "common/error.h"

struct ctld;
struct call;
struct watch;

#define WATCH_KEPT     (1U << 18) /* changes: 2 MiB, once there were as many */
#define WATCH_EVERY_MS 100
#define WATCH_READ_MAX 256

struct watch *watch_new(struct ctld *c, struct error *err);
void watch_free(struct watch *w); /* after the calls; NULL is fine */

void watch_changed(struct watch *w, uint64_t job);

/* Behind the last change. Never 0. */
uint64_t watch_cursor(const struct watch *w);
/* Are all changes behind `cursor` at hand? */
bool watch_knows(const struct watch *w, uint64_t cursor);

/* The jobs of the next WATCH_READ_MAX changes behind *cursor, each once, in the order of their
 * first change; moves *cursor. Returns how many; *cursor == watch_cursor(): that was all. Only for
 * one that is known. */
size_t watch_read(const struct watch *w, uint64_t *cursor, uint64_t ids[WATCH_READ_MAX]);

/* Go on with the call (call_go_on) when there are changes behind `cursor`: at once if there are,
 * but not more often than WATCH_EVERY_MS. Begins zeroed. */
struct watcher {
	struct call *call;
	TAILQ_ENTRY(watcher) next;
	bool waiting;
};
void watch_wait(struct watch *w, struct watcher *watcher, struct call *call, uint64_t cursor);
void watch_stop(struct watch *w, struct watcher *watcher); /* if it waits */

size_t watch_count(const struct watch *w); /* that wait now */

#endif
