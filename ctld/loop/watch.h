/* watch.h - which jobs have changed lately, and the watchers that wait for such changes
 *
 * A watcher follows the cluster from a cursor. This is a number that grows with every change; the
 * watcher may continue from it after a break, even with a restarted controller. The changes of the
 * latest term are in memory, up to WATCH_KEPT; for an older cursor, or one of another term, the
 * watcher gets everything again.
 *
 * Only ids are kept here: a watcher gets the state of its jobs at the time of sending, so a job
 * that has changed many times in between is sent once.
 *
 * Watchers are served in rounds: a round begins WATCH_FIRST_MS after the first change that a
 * watcher waits for, but WATCH_EVERY_MS after the one before, and is about all changes until then.
 * They are woken one after another for WATCH_WORK_US, then all other work has the loop for
 * WATCH_REST times as long. So all watchers together have at most a quarter of the loop, and the
 * more there is to send, the less often they are served.
 */
#ifndef CTLD_WATCH_H
#define CTLD_WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "common/base/error.h"

struct ctld;
struct call;
struct watch;

#define WATCH_KEPT     (1U << 18) /* changes: 3 MiB, once there were as many */
#define WATCH_EVERY_MS 100
#define WATCH_FIRST_MS 10
#define WATCH_READ_MAX 256
#define WATCH_WORK_US  500
#define WATCH_REST     3
/* What is told has still to be encrypted and sent, later: so many bytes a microsecond. */
#define WATCH_SENDS 400

struct watch *watch_new(struct ctld *c, struct error *err);
void watch_free(struct watch *w); /* after the calls; NULL is fine */

/* `user`: filter_user() of its user. */
void watch_changed(struct watch *w, uint64_t job, uint32_t user);

/* Behind the last change. Never 0. */
uint64_t watch_cursor(const struct watch *w);
/* Behind the last change of the present round. */
uint64_t watch_round(const struct watch *w);
/* Are all changes behind `cursor` at hand? */
bool watch_knows(const struct watch *w, uint64_t cursor);

struct watch_change {
	uint64_t job, cursor; /* behind it */
	uint32_t user;
};

/* The next WATCH_READ_MAX changes of this round behind *cursor, each job once, in the order of
 * their first change; moves *cursor. Only for one that is known. Returns how many. */
size_t watch_read(const struct watch *w, uint64_t *cursor, struct watch_change v[WATCH_READ_MAX]);

/* The slice of its call is made (call_slice_now) when there are changes of a round behind `cursor`:
 * in this one, or in the next. Begins zeroed. */
struct watcher {
	struct call *call;
	TAILQ_ENTRY(watcher) next;
	bool waiting, due;
};
void watch_wait(struct watch *w, struct watcher *watcher, struct call *call, uint64_t cursor);
void watch_stop(struct watch *w, struct watcher *watcher); /* if it waits */

/* A watcher was sent so much. */
void watch_sent(struct watch *w, size_t bytes);

size_t watch_count(const struct watch *w); /* that wait now */

#endif
