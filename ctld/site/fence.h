/* fence.h - the site's program that makes sure a node is off
 *
 * Called as `PROGRAM NODE` (programs.h). Exit status 0 means that nothing runs on the node any
 * more. Any other status, or no end within controller.fence_timeout, means that this is not known.
 * The core gets the result as EV_FENCED.
 */
#ifndef CTLD_FENCE_H
#define CTLD_FENCE_H

#include "common/job/run.h"

#define FENCE_AT_ONCE 16 /* programs running; further nodes wait */

struct ctld;
struct effect;
struct fence;

struct fence *fence_new(struct ctld *c);
void fence_free(struct fence *f); /* kills what runs; NULL is fine */

/* EFFECT_FENCE: start it for a node, unless it is running or waiting for that node already. */
void fence_effect(struct ctld *c, const struct effect *effect, struct clocks now);

#endif
