/* held_connections.h - the connections to services that wait for a replica
 *
 * A port here is a service and the TCP port where its requests come in:
 *
 *	SILENT   -- the first bytes came --> WAITING: the controller hears of it
 *	WAITING  -- a replica serves --> CONNECTING
 *	CONNECTING -- it failed --> WAITING; else --> bytes go both ways (splice.h)
 *
 * A connection that says nothing is not waited for: health checks of load balancers wake no
 * service. More than max_held in these three states, one that waits for longer than wake_wait, and
 * those that wait for a service that is stopped are refused (service_unavailable.h).
 */
#ifndef CMDS_FEED_HELD_CONNECTIONS_H
#define CMDS_FEED_HELD_CONNECTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "common/base/error.h"

struct event_base;
struct held_connections;

#define HELD_SILENT_S  30   /* a connection may say nothing for so long */
#define HELD_POLL_MS   200  /* the controller is asked so often where it answers */
#define HELD_WAKE_MS   5000 /* and told so often how many wait */
#define HELD_FRESH_MS  1000 /* an answer is used for so long */
#define HELD_CONNECT_S 5    /* a replica has so much time to take a connection */

struct held_connections_limits {
	unsigned max_held;
	uint64_t wake_wait_ms;
};

struct held_connections_at {
	struct sockaddr_storage at;
	socklen_t len;
};

/* A port for each of the n names, which are borrowed. NULL with `err`. */
struct held_connections *held_connections_new(struct event_base *base, char *const *names,
        const struct held_connections_at *at, size_t n,
        const struct held_connections_limits *limits, struct error *err);
void held_connections_free(struct held_connections *g); /* NULL is fine */

/* No new connections; those that wait are refused. */
void held_connections_close(struct held_connections *g);
/* Is there no connection left? */
bool held_connections_are_none(const struct held_connections *g);

#endif
