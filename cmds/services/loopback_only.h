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

struct reach;

/* The replica at `target` has answered. NULL: there is nothing to look for. */
struct reach *reach_new(struct loop *loop, struct target *target, int64_t timeout_ms);

int64_t reach_wake_ms(const struct reach *r); /* NULL: INT64_MAX */
void reach_tick(struct reach *r, int64_t now_ms);

#endif
