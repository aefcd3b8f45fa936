/* health.h - GPUs that are taken out of use, one by one
 *
 * Drained GPUs are a list kept with the node (node_info.health), by UUID, so that a drain follows
 * its GPU to another index and outlives restarts; an index that has no UUID is "#5". Nothing starts
 * on a drained GPU (it is one of gpus_out), what runs there goes on.
 */
#ifndef CTLD_CORE_HEALTH_H
#define CTLD_CORE_HEALTH_H

#include "common/error.h"
#include "ctld/core/nodes/devices.h"
#include "ctld/core/rows/event.h"

#define GPU_REASON_MAX 300 /* with its NUL */
#define GPU_NOBODY     UINT32_MAX
#define GPU_BOOT_MAX   64

struct gpu_drain {
	char gpu[DEVICE_UUID_MAX];
	uint32_t
	        uid; /* who drained it; GPU_NOBODY: no operator did, but a fault of it (faults.h) */
	usec_t since;            /* wall */
	uint32_t kind, code;     /* GPU_NOBODY: the fault (common/gpufault.h) */
	char boot[GPU_BOOT_MAX]; /* the same: its node's boot id then; "": not known, or it was reset since */
	char reason[GPU_REASON_MAX];
};

/* Which index of the node a text means: the index, a UUID, or its beginning if no other GPU of the
 * node begins so. ERR_NO_NODE. */
int gpu_index(const struct core *core, const struct node *node, const char *text, uint32_t *index,
        struct error *err);

/* Is it drained? `drain` may be NULL. */
bool gpu_drained(const struct node *node, uint32_t index, struct gpu_drain *drain);

/* A reason as it is kept: as much of a text as there is room for, cut between characters. */
void gpu_reason(char reason[GPU_REASON_MAX], const char *text);

/* Of the index; drain->gpu is filled in. One that is drained already is so anew. */
void gpu_drain(struct core *core, struct node *node, uint32_t index, struct gpu_drain *drain);
void gpu_return(struct core *core, struct node *node, uint32_t index);

#endif
