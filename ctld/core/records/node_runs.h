/* node_runs.h - the list of the runs that are booked on a node
 *
 * The latest booking comes first. A run is in the list of one node at most, from its booking until
 * it is over, and the node counts its runs, and the orphan runs among them.
 */
#ifndef CTLD_CORE_NODE_RUNS_H
#define CTLD_CORE_NODE_RUNS_H

struct node;
struct run;

/* The run must be in no list. */
void node_link_run(struct node *node, struct run *run);
/* Before its state changes to ENDED or NEVER. */
void node_unlink_run(struct run *run);

#endif
