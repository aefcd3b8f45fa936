/* probe.h - one probe of a replica, repeated
 *
 * http: GET of a path, whose status is 2xx; tcp: the port takes a connection; file: RUN_DIR/ready
 * is there. A probe begins `every_ms` after the one before it has begun, and while its last one is
 * under way there is no other.
 */
#ifndef CMDS_SERVICES_PROBE_H
#define CMDS_SERVICES_PROBE_H

#include <stdbool.h>
#include <stdint.h>

#include "cmds/services/fetch.h"
#include "cmds/services/options.h"

#define PROBE_BODY_MAX 65536

struct probe;

struct probe_ops {
	const struct probe_spec *spec; /* borrowed */
	const char *run_dir;           /* borrowed */
	int64_t every_ms, timeout_ms;
	/* `text` says in few words what was found; "" if it went well. */
	void (*found)(void *arg, bool well, const char *text);
	void *arg;
};

/* It begins with the next probe_tick(). */
struct probe *probe_new(
        struct loop *loop, struct server_address *target, const struct probe_ops *ops);

void probe_set_every(struct probe *p, int64_t every_ms);

int64_t probe_wake_ms(const struct probe *p); /* NULL: INT64_MAX */
void probe_tick(struct probe *p, int64_t now_ms);

#endif
