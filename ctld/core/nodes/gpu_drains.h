/* gpu_drains.h - the list of a node's drained GPUs
 *
 * Drained GPUs are a list stored with the node (node_info.health), by UUID, so that a drain
 * follows its GPU to another index and survives restarts; an index that has no UUID is "#5".
 * Nothing starts on a drained GPU (it is one of gpus_out); what runs there continues. What follows
 * from a change of the list is done in gpu_use.c.
 */
#ifndef CTLD_CORE_GPU_DRAINS_H
#define CTLD_CORE_GPU_DRAINS_H

#include "common/base/error.h"
#include "ctld/core/nodes/devices_list.h"
#include "ctld/core/rows/event.h"

struct core;
struct node;

#define GPU_REASON_MAX 300 /* with its NUL */
#define GPU_NOBODY     UINT32_MAX
#define GPU_BOOT_MAX   64

struct gpu_drain {
	char gpu[DEVICE_UUID_MAX];
	uint32_t uid; /* the user that drained it; GPU_NOBODY: not an operator, but a fault of it
	               * (gpu_faults.h) */
	usec_t since; /* wall */
	uint32_t kind, code;     /* GPU_NOBODY: the fault (common/gpu/gpufault.h) */
	char boot[GPU_BOOT_MAX]; /* with GPU_NOBODY: its node's boot id at that time; "": not
	                          * known, or the GPU was reset since */
	char reason[GPU_REASON_MAX];
};

/* Is it drained? `drain` may be NULL. */
bool gpu_drained(const struct node *node, uint32_t index, struct gpu_drain *drain);

/* Cuts a text between characters so that it fits. */
void gpu_reason(char reason[GPU_REASON_MAX], const char *text);

/* Writes the list with this drain of the index, in place of an earlier one, or without one (NULL).
 * Fills in drain->gpu. Changes the row alone: gpu_drain() and gpu_return() of gpu_use.h do the
 * rest. */
void gpu_drains_write(
        struct core *core, struct node *node, uint32_t index, struct gpu_drain *drain);

#endif
