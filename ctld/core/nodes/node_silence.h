/* node_silence.h - nodes that do not respond: fencing them, and when they count as off */
#ifndef CTLD_CORE_NODE_SILENCE_H
#define CTLD_CORE_NODE_SILENCE_H

#include <stdbool.h>
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

/* The node is heard in this session. */
void heartbeat_apply(struct core *core, uint32_t node, uint64_t session);

/* The fence program has answered: is the node off? */
void fenced_apply(struct core *core, uint32_t node, bool off);
/* Close its session. */
void node_close(struct core *core, struct node *node, const char *why);
/* Nothing runs on it any more. */
void node_is_off(struct core *core, struct node *node, const char *why);
/* Order the fence, if one is configured and something may run there. */
void node_fence(struct core *core, struct node *node);

/* The services that have replicas on the node look at themselves: it is heard again, or no longer. */
void node_tell_services(struct core *core, const struct node *node);

#endif
