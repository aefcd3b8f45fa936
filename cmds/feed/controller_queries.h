/* controller_queries.h - for gactivate: asks where a service answers, and wakes it
 *
 * Both block, so they are done by threads (common/net/worker.h), each on a connection of its own,
 * and at most one of each kind is under way. What fails is said once, and asked again by the
 * caller.
 */
#ifndef CMDS_FEED_CONTROLLER_QUERIES_H
#define CMDS_FEED_CONTROLLER_QUERIES_H

#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "common/base/error.h"

struct event_base;
struct controller_query;

struct controller_query_address {
	struct sockaddr_storage to;
	socklen_t len;
};

enum controller_query_state {
	CONTROLLER_QUERY_UNKNOWN, /* the controller has no such service */
	CONTROLLER_QUERY_STANDS,
	CONTROLLER_QUERY_STOPPED, /* it is being stopped, and will start no replica any more */
};

struct controller_query_ops {
	/* The replicas of a service that serve, once for each service and answer. */
	void (*found)(void *arg, size_t service, enum controller_query_state state,
	        const struct controller_query_address *v, size_t n);
	void *arg;
};

/* Borrows the names, n of them; a service's number is its place there. NULL with `err`. */
struct controller_query *controller_query_new(struct event_base *base, char *const *names, size_t n,
        const struct controller_query_ops *ops, struct error *err);
void controller_query_free(struct controller_query *a); /* NULL is fine */

/* Ask for all services, unless an answer is still awaited. */
void controller_query_ask(struct controller_query *a);

/* Tell the controller that so many requests wait for the service; 0: none does any more. The last
 * word for each service counts. */
void controller_query_wake(struct controller_query *a, size_t service, uint32_t held);

#endif
