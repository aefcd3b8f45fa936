/* service_finder.h - for gactivate: asks where a service answers, and wakes it
 *
 * Both block, so they are done by threads (common/net/worker.h), each on a connection of its own,
 * and at most one of each kind is under way. What fails is said once, and asked again by the
 * caller.
 */
#ifndef CMDS_FEED_SERVICE_FINDER_H
#define CMDS_FEED_SERVICE_FINDER_H

#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "common/base/error.h"

struct event_base;
struct service_finder;

struct service_finder_address {
	struct sockaddr_storage to;
	socklen_t len;
};

enum service_finder_state {
	SERVICE_FINDER_UNKNOWN, /* the controller has no such service */
	SERVICE_FINDER_STANDS,
	SERVICE_FINDER_STOPPED, /* it is being stopped, and will start no replica any more */
};

struct service_finder_ops {
	/* The replicas of a service that serve, once for each service and answer. */
	void (*found)(void *arg, size_t service, enum service_finder_state state,
	        const struct service_finder_address *v, size_t n);
	void *arg;
};

/* Borrows the names, n of them; a service's number is its place there. NULL with `err`. */
struct service_finder *service_finder_new(struct event_base *base, char *const *names, size_t n,
        const struct service_finder_ops *ops, struct error *err);
void service_finder_free(struct service_finder *a); /* NULL is fine */

/* Ask for all services, unless an answer is still awaited. */
void service_finder_ask(struct service_finder *a);

/* Tell the controller that so many requests wait for the service; 0: none does any more. The last
 * word for each service counts. */
void service_finder_wake(struct service_finder *a, size_t service, uint32_t held);

#endif
