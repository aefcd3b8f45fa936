/* node_state.h - a node has changed: the ledger and the scheduler follow */
#ifndef CTLD_CORE_NODE_STATE_H
#define CTLD_CORE_NODE_STATE_H

struct core;
struct node;

/* What may start on the node has perhaps changed: update ledger and scheduler. */
void node_settle(struct core *core, struct node *node);

/* Nodes have other GPUs than core->conf says: it is to be made again (core->hardware_due), at most
 * once a second. */
void node_hardware_due(struct core *core);
/* A run there has ended: bind the GPUs that it kept from being bound (nodes/hardware.h). */
void node_hardware_freed(struct core *core, struct node *node);

#endif
