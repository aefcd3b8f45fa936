/* gpu_inventory.h - the node's GPUs, and which of them an order names
 *
 * The GPUs are probed when the launcher starts and then periodically.
 */
#ifndef NODED_LAUNCHER_GPU_INVENTORY_H
#define NODED_LAUNCHER_GPU_INVENTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/error.h"
#include "common/gpusched.pb-c.h"
#include "noded/contain/devfilter.h"
#include "noded/gpu/gpus.h"
#include "noded/job/jobenv.h"

struct gpu_inventory;
struct launcher;

/* Probe the GPUs in the background. Sets l->gpu_inventory. */
struct gpu_inventory *gpu_inventory_start(struct launcher *l);
void gpu_inventory_free(struct gpu_inventory *g); /* NULL is fine */

/* The interval between probes has changed. */
void gpu_inventory_period(struct launcher *l);
/* Probe again now, unless a probe is in progress. */
void gpu_inventory_probe(struct launcher *l);

/* Has the first probe ended? NULL: no. */
bool gpu_inventory_known(const struct gpu_inventory *g);
/* Does the node know its GPUs itself? NULL: not yet. */
bool gpu_inventory_found(const struct gpu_inventory *g);
/* As last found. Good until the next probe. */
const struct gpus *gpu_inventory_now(const struct gpu_inventory *g);
/* Sets of NVML's indices. _to_reset: the GPUs that need a reset, which fails while the launcher has
 * them open. _not_asked: the GPUs that must not be sampled: those to reset, and those that hung a
 * probe and would hang a sample. */
uint64_t gpu_inventory_to_reset(const struct gpu_inventory *g);
uint64_t gpu_inventory_not_asked(const struct gpu_inventory *g);

/* The GPUs that an order names by UUID, in its order. *out is the caller's to free, its texts are
 * good until the next probe; NULL if the order names none by UUID. -1 with ERR_LAUNCH: one is
 * missing. */
int gpu_inventory_find(const struct gpu_inventory *g, const Gpusched__StartRun *order,
        struct jobenv_gpu **out, struct error *err);
/* The CPUs near the order's GPUs, as a list; "": not known. The caller frees it. */
char *gpu_inventory_near(const struct gpu_inventory *g, const Gpusched__StartRun *order);
/* The memory of a GPU of the node; 0: not known. */
uint64_t gpu_inventory_mem_mb(const struct gpu_inventory *g, const char *uuid);
/* The device files of the order's GPUs (device_grants.h). -1 with ERR_LAUNCH. */
int gpu_inventory_grants(const struct gpu_inventory *g, const Gpusched__StartRun *order,
        struct device out[DEVFILTER_MAX], size_t *n, struct error *err);

#endif
