/* avoid_bad_nodes.h - a service keeps off nodes on which its replicas were unready
 *
 * Twice in a row, and no replica starts there for an hour (records/service.h): its requests
 * avoid the node (request_avoids()). Replicas that run there stay. The service must be able to run:
 * a node is not avoided where no other node that accepts work could take a replica, nor once the
 * service has been without any replica for a minute.
 */
#ifndef CTLD_CORE_AVOID_BAD_NODES_H
#define CTLD_CORE_AVOID_BAD_NODES_H

#include <stdint.h>

#include "ctld/core/rows/event.h"

struct core;
struct service;

/* At each step of the service. `alive`: its replicas. Returns when something of it changes by itself
 * (mono; INT64_MAX: never). */
usec_t avoid_step(struct core *core, struct service *s, uint32_t alive);

#endif
