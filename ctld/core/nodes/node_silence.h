/* node_silence.h - nodes that are not heard of: the fence, and the time after which they count as off */
#ifndef CTLD_CORE_NODE_SILENCE_H
#define CTLD_CORE_NODE_SILENCE_H

#include <stdint.h>

#include "common/job/run.h"

struct core;
struct node;

/* The fence or the silence of an unknown node has changed: set the time at which something is
 * due. */
void node_timer_set(struct core *core, struct node *node);
void node_moved(void *item, uint32_t index);
/* Nodes from which nothing has come for too long become UNKNOWN. */
void node_silence_apply(struct core *core);
/* Unknown nodes: fence them again, or take them for off. */
void unknown_nodes_apply(struct core *core);
/* Mono: when to call these next; INT64_MAX: nothing is due. */
usec_t node_silence_next(const struct core *core);
usec_t unknown_nodes_next(const struct core *core);

#endif
