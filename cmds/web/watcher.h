/* watcher.h - the thread that keeps the snapshot
 *
 * It watches all jobs (WatchJobs, from a cursor) on one connection, and asks on another one for the
 * lists: nodes, partitions, accounts, services, statistics. What it hears becomes a new snapshot
 * once a period. What it asks costs the controller at most a two-hundredth of its time for each of
 * them: after two answers of which the faster took t the same is not asked for again before
 * WATCHER_REST * t, a minute at most.
 *
 *	list                    asked for
 *	nodes, partitions       when jobs have changed, or after 5 s
 *	services, and whether jobs are private
 *	                        after 2 s
 *	statistics              after 5 s
 *	accounts                after 10 s
 *	waiting jobs            after 10 s: their reasons and places change by themselves, which the
 *	                        watch does not tell
 *	arrays with changes     their waiting tasks, each period
 *
 * While the controller does not answer the last snapshot stays, with its age; the watch goes on
 * from its cursor afterwards.
 */
#ifndef CMDS_WEB_WATCHER_H
#define CMDS_WEB_WATCHER_H

#include <stdint.h>

#include "common/base/error.h"

#define WATCHER_PERIOD_MS   1000
#define WATCHER_REST        199
#define WATCHER_REST_MAX_MS 60000

struct snapshot;
struct snapshots;
struct watcher;

struct watcher_config {
	const char *client_conf; /* NULL: as all commands do */
	int64_t period_ms;
	int64_t keep_ended_ms; /* jobs that ended stay for so long */
	uint64_t ended_max;    /* and so many at most */
	/* In the watcher's thread: there is a new snapshot, which is not seen yet, for what is to
	 * be ready with it; and it is seen. */
	void (*made)(const struct snapshot *snap, void *arg);
	void (*published)(void *arg);
	void *arg;
};

/* `config` is borrowed. NULL with `err`. */
struct watcher *watcher_new(
        const struct watcher_config *config, struct snapshots *snapshots, struct error *err);
void watcher_stop(struct watcher *w); /* end the thread; NULL is fine */
void watcher_free(struct watcher *w); /* no snapshot of it is looked at any more; NULL is fine */

#endif
