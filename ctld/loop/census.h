/* census.h - how many GPUs of each type there are, told to the audit trail when it changes
 *
 * An event "cluster.capacity" says it, "h100:128,l40s:32": all GPUs of all nodes that are known,
 * drained and down ones too. greport adds them up over time. Each start tells it anew; then it is
 * looked for from time to time, some nodes at once, and soon after a node has registered.
 */
#ifndef CTLD_CENSUS_H
#define CTLD_CENSUS_H

#include "common/base/error.h"

struct ctld;
struct census;

struct census *census_new(struct ctld *c, struct error *err);
void census_free(struct census *census); /* NULL is fine */

/* A node has registered. */
void census_soon(struct census *census);

#endif
