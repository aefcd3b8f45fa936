/* service_watch.h - what the controller says of services, as soon as something has changed
 *
 * A change of a replica, or that there is a new one or a new generation, is the trigger (WatchJobs
 * of services from a cursor, on a connection of its own), and then all that is known of the
 * services is asked for; every SERVICE_WATCH_POLL_MS too, for what is no change of a job. A watch
 * begins with the present state of its jobs, and each of its messages causes a question: nothing is
 * missed between the two connections.
 *
 * A failure changes nothing; the next call tries again, after a pause that grows up to a second.
 */
#ifndef CMDS_FEED_SERVICE_WATCH_H
#define CMDS_FEED_SERVICE_WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cmds/feed/endpoints.h"
#include "common/base/error.h"

#define SERVICE_WATCH_POLL_MS 2000

struct service_watch;

struct service_watch_which {
	char *const *names; /* n of them; none: all, or all of the caller */
	size_t n;
	bool mine;
};

/* Borrows the names. NULL with `err`. */
struct service_watch *service_watch_new(const struct service_watch_which *which, struct error *err);
void service_watch_free(struct service_watch *s); /* NULL is fine */

const char *service_watch_cluster(const struct service_watch *s);

/* Wait at most `ms`. 1: *out, to be cleared by the caller, is what the controller says; 0: nothing
 * was asked; -1: the controller was not reached, or did not answer. */
int service_watch_wait(struct service_watch *s, int ms, struct feed *out, struct error *err);

/* Ask at once, without a watch. 0: *out is what the controller says; -1. */
int service_watch_ask(struct service_watch *s, struct feed *out, struct error *err);

#endif
