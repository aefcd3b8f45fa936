/* loopback_only.h - whether clients on other hosts can reach a server that answers on this one
 *
 * A server that listens at 127.0.0.1 alone answers its probes and no client. That is looked for
 * once, when the replica is ready, and said on stderr; nothing else follows from it.
 */
#ifndef CMDS_SERVICES_LOOPBACK_ONLY_H
#define CMDS_SERVICES_LOOPBACK_ONLY_H

#include <stdint.h>

#include "cmds/services/server_address.h"
#include "cmds/steps/loop.h"

struct loopback_only;

/* The replica at `target` has answered. NULL: there is nothing to look for. */
struct loopback_only *loopback_only_new(
        struct loop *loop, struct server_address *target, int64_t timeout_ms);

int64_t loopback_only_wake_ms(const struct loopback_only *r); /* NULL: INT64_MAX */
void loopback_only_tick(struct loopback_only *r, int64_t now_ms);

#endif
