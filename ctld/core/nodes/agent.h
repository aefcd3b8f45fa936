/* agent.h - agents come, go and show that they live */
#ifndef CTLD_CORE_AGENT_H
#define CTLD_CORE_AGENT_H

#include <stdint.h>

struct core;
struct core_event;
struct node;

void agent_up_apply(struct core *core, const struct core_event *event);
void agent_gone_apply(struct core *core, uint32_t node, uint64_t session);
/* Compare what a node registered with what the configuration demands. */
void node_compare(struct core *core, struct node *node);
/* Nothing is started any more until an operator has looked: a promise of the state was broken. */
void suspend(struct core *core, const char *node, const char *what, uint64_t theirs, uint64_t ours);

#endif
