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
struct gpu_count_events;

struct gpu_count_events *gpu_count_events_new(struct ctld *c, struct error *err);
void gpu_count_events_free(struct gpu_count_events *events); /* NULL is fine */

/* A node has registered. */
void gpu_count_events_soon(struct gpu_count_events *events);

#endif
