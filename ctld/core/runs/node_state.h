/* node_state.h - a node has changed: the ledger and the scheduler follow; a node in trouble is
 * drained */
#ifndef CTLD_CORE_NODE_STATE_H
#define CTLD_CORE_NODE_STATE_H

struct core;
struct node;
struct run;

/* What may start on the node has perhaps changed: update ledger and scheduler. */
void node_settle(struct core *core, struct node *node);

/* Nodes have other GPUs than core->conf says: it is to be made again (core->hardware_due), at most
 * once a second. */
void node_hardware_due(struct core *core);
/* A run there has ended: bind the GPUs that it kept from being bound
 * (nodes/discovered_hardware.h). */
void node_hardware_freed(struct core *core, struct node *node);

/* The run could not be launched. A node on which nothing can be started must not put the whole
 * queue on hold, job by job: after three failures in a row, of more than one user, the node is
 * taken to be at fault and is drained. */
void node_launch_failed(struct core *core, const struct run *run);
/* A site program failed on the node, or nothing can be started there: the next run would fail too,
 * or meet what the failed one left behind. Drain the node. NULL, "": there is no trouble. */
void node_in_trouble(struct core *core, struct node *node, const char *trouble);

#endif
