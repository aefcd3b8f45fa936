/* node_control.h - what operators do to nodes and partitions */
#ifndef CTLD_CORE_NODE_CONTROL_H
#define CTLD_CORE_NODE_CONTROL_H

#include <stdbool.h>
#include <stdint.h>

struct core;
struct core_event;

void node_control_apply(struct core *core, const struct core_event *event);
void partition_control_apply(struct core *core, const struct core_event *event);

#endif
