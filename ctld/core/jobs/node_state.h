/* node_state.h - a node has changed: the ledger and the scheduler follow */
#ifndef CTLD_CORE_NODE_STATE_H
#define CTLD_CORE_NODE_STATE_H

struct core;
struct node;

/* What may start on the node has perhaps changed: update ledger and scheduler. */
void node_settle(struct core *core, struct node *node);

#endif
