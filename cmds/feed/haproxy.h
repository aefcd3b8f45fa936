/* haproxy.h - the servers of a backend of HAProxy, and the commands that make them our endpoints
 *
 * haproxy.cfg has a fixed number of servers in the backend, PREFIX1 to PREFIXn (server-template).
 * An endpoint has the server with its address as long as it lives; a new one gets a server in
 * maintenance. What has no endpoint any more goes to maintenance, and what drains to drain: HAProxy
 * finishes there what is in flight. HAProxy itself is asked each time how its servers are, so it
 * may restart, and gfeed may, at any moment.
 *
 * haproxy.c is pure; haproxy_socket.c talks to the runtime API.
 */
#ifndef CMDS_FEED_HAPROXY_H
#define CMDS_FEED_HAPROXY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cmds/feed/endpoints.h"
#include "common/base/strbuf.h"

struct haproxy_server {
	uint32_t number; /* of its name, behind the prefix */
	char address[ENDPOINT_ADDRESS];
	uint16_t port;
	bool maint, drain;
	const struct endpoint *endpoint; /* haproxy_commands(): what it is to be */
};

struct haproxy_servers {
	struct haproxy_server *v; /* by number */
	size_t n;
};

void haproxy_servers_free(struct haproxy_servers *servers);

/* What `show servers state` says of PREFIX1 to PREFIXn in the backend, up to number `max` (0: all).
 * -1 with `err`: it is no such answer, or there is no such server. */
int haproxy_parse(const char *text, const char *backend, const char *prefix, uint32_t max,
        struct haproxy_servers *out, struct error *err);

/* Write the commands, one a line; none if all servers are right. Returns how many endpoints found
 * no server. */
size_t haproxy_commands(struct haproxy_servers *servers, const char *backend, const char *prefix,
        const struct feed_service *s, size_t port, struct strbuf *commands);

/* --- the runtime API -------------------------------------------------------------------------- */

/* Make the backend's servers the endpoints of `s`, and check the result. *without: the number of
 * endpoints that found no server. 1: something was changed; 0: nothing had to change; -1 with
 * `err`. Each exchange takes two seconds at most. */
struct haproxy_backend {
	const char *socket, *backend, *prefix;
	uint32_t max;
	size_t port;
};
int haproxy_sync(const struct haproxy_backend *b, const struct feed_service *s, size_t *without,
        struct error *err);

#endif
