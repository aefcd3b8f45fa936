/* gpu_use.c - see gpu_use.h */
#include "ctld/core/nodes/gpu_use.h"

#include <stddef.h>

#include "ctld/core/nodes/devices.h"
#include "ctld/core/nodes/gpu_checks.h"
#include "ctld/core/nodes/gpu_drains.h"
#include "ctld/core/runs/node_state.h"

/* `drain` NULL: it is returned. */
static void change(struct core *core, struct node *node, uint32_t index, struct gpu_drain *drain)
{
	gpu_drains_write(core, node, index, drain);
	devices_bind(core, node);
	node_settle(core, node);
	gpu_checks_later(core, node);
}

void gpu_drain(struct core *core, struct node *node, uint32_t index, struct gpu_drain *drain)
{
	change(core, node, index, drain);
}

void gpu_return(struct core *core, struct node *node, uint32_t index)
{
	change(core, node, index, NULL);
}
