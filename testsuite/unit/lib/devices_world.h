/* devices_world.h - an agent on node 0 of a world (core_world.h) that tells which GPUs it finds */
#ifndef TESTSUITE_UNIT_DEVICES_WORLD_H
#define TESTSUITE_UNIT_DEVICES_WORLD_H

#include "testsuite/unit/lib/core_world.h"

extern const char *devices_boot; /* the boot id that the next agents tell; "boot" */

/* An agent's registration with these GPUs, to be changed and applied. */
struct core_event devices_event(struct world *w, const struct gpu_found *gpus, size_t n);

/* "h100/GPU-a;l40s/GPU-b/its trouble": what an agent finds; NULL: it has nothing to ask. With
 * "3:" in front it is on the host's GPU 3, else on GPU 0. One pass follows. */
void devices_found_with(
        struct world *w, const char *found, const struct run_report *runs, size_t n_runs);
void devices_found(struct world *w, const char *found);

const char *devices_note(struct world *w); /* how the node differs from what is demanded */
uint32_t devices_usable(struct world *w, const char *type);
uint32_t devices_total(struct world *w, const char *type);
const char *devices_of(struct world *w, uint64_t job); /* the UUIDs of its GPUs */

#endif
