/* operate.h - what operators do to nodes and partitions; fencing */
#ifndef CTLD_CORE_OPERATE_H
#define CTLD_CORE_OPERATE_H

#include <stdbool.h>
#include <stdint.h>

struct core;
struct core_event;
struct node;

void node_control_apply(struct core *core, const struct core_event *event);
void partition_control_apply(struct core *core, const struct core_event *event);
void fenced_apply(struct core *core, uint32_t node, bool off);
/* Close its session. */
void node_close(struct core *core, struct node *node, const char *why);
/* Nothing runs on it any more. */
void node_is_off(struct core *core, struct node *node, const char *why);
void node_fence(struct core *core, struct node *node);

#endif
