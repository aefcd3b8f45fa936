/* avoid_bad_nodes.h - a service avoids nodes on which its replicas were unready
 *
 * After two failures in a row no replica starts on the node for an hour (records/service.h): the
 * requests of the service avoid it (request_avoids()). Replicas that run there stay. The service
 * must be able to run: a node is not avoided where no other node that accepts work could take a
 * replica, nor once the service has been without any replica for a minute.
 */
#ifndef CTLD_CORE_AVOID_BAD_NODES_H
#define CTLD_CORE_AVOID_BAD_NODES_H

#include <stdint.h>

#include "ctld/core/rows/event.h"

struct core;
struct service;

/* Called at each step of the service. `alive`: the number of its replicas. Returns the time of the
 * next change that no event announces (mono; INT64_MAX: there is none). */
usec_t avoid_step(struct core *core, struct service *s, uint32_t alive);

#endif
