/* fetch.h - one connection to the replica's server: opened, or a GET and its answer
 *
 * A fetch never blocks and has a deadline for all of it. It tries the target's addresses in turn
 * (server_address.h) until one of them takes the connection. There is one at a time of each struct
 * fetch.
 */
#ifndef CMDS_SERVICES_FETCH_H
#define CMDS_SERVICES_FETCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cmds/services/server_address.h"
#include "cmds/steps/loop.h"
#include "common/base/error.h"

struct fetch;

struct fetch_end {
	unsigned status; /* of the answer; 0 without a path */
	bool framed;     /* http_response.h */
	bool cut;
	const struct error *err; /* NULL: it has been answered; its text needs no more context */
};

struct fetch_request {
	/* NULL: nothing is asked, the connection is all. Lives as long as the fetch */
	const char *path;
	uint64_t max_body;
	int64_t timeout_ms;
	void (*body)(void *arg, const void *data, size_t len); /* NULL: thrown away */
	/* Called once, perhaps before fetch_start() returns. The next fetch may start here. */
	void (*done)(void *arg, const struct fetch_end *end);
	void *arg;
};

struct fetch *fetch_new(struct loop *loop, struct server_address *target); /* borrowed */

void fetch_start(struct fetch *f, const struct fetch_request *r);
bool fetch_is_busy(const struct fetch *f);
void fetch_cancel(struct fetch *f); /* done() is not called any more */

int64_t fetch_wake_ms(const struct fetch *f); /* of its deadline; INT64_MAX: none */
void fetch_tick(struct fetch *f, int64_t now_ms);

#endif
