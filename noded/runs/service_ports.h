/* service_ports.h - the node's ports for replicas of services (gnoded --service-ports)
 *
 * A port is one run's as long as the run is STARTING, RUNNING or LOST: its report says so, which is
 * in its launch record, so a new launcher knows it too. A port that another program holds is passed
 * over. Ports are given in turn, so that one which has just become free is the last to be used
 * again: a load balancer may still send requests of another service to it.
 */
#ifndef NODED_RUNS_SERVICE_PORTS_H
#define NODED_RUNS_SERVICE_PORTS_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/error.h"

struct launcher;
struct service_ports;

struct service_ports *service_ports_new(void);
void service_ports_free(struct service_ports *s); /* NULL is fine */

/* Choose `n` ports. They are taken once a run's report names them. -1 with ERR_LAUNCH: the node has
 * none, or too few of them are free. */
int service_ports_choose(struct launcher *l, size_t n, uint32_t *ports, struct error *err);

#endif
