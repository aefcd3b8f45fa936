/* gpu_count_events.h - how many GPUs of each type the cluster has, as events of the audit trail
 *
 * An event "cluster.capacity" ("h100:128,l40s:32") counts all GPUs of all known nodes, also drained
 * and down ones. It is written at each start and whenever the numbers have changed, and greport
 * adds the numbers up over time. The GPUs are counted again from time to time, a few nodes at once,
 * and soon after a node has registered.
 */
#ifndef CTLD_GPU_COUNT_EVENTS_H
#define CTLD_GPU_COUNT_EVENTS_H

#include "common/base/error.h"

struct ctld;
struct census;

struct census *census_new(struct ctld *c, struct error *err);
void census_free(struct census *census); /* NULL is fine */

/* A node has registered. */
void census_soon(struct census *census);

#endif
