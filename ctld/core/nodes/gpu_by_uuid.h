/* gpu_by_uuid.h - which GPU of a node an operator means by a UUID, the beginning of one, or an index */
#ifndef CTLD_CORE_GPU_BY_UUID_H
#define CTLD_CORE_GPU_BY_UUID_H

#include <stdint.h>

#include "common/base/error.h"

struct core;
struct node;

/* The index of the node that a text names: by the index, a UUID, or the beginning of one if it is
 * unique on the node. ERR_NO_NODE. */
int gpu_index(const struct core *core, const struct node *node, const char *text, uint32_t *index,
        struct error *err);

#endif
