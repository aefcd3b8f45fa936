/* node_report.h - what the network half is told of the node: its GPUs, health and containment
 *
 * First in the hello, with all runs, and again whenever any of it has changed.
 */
#ifndef NODED_NODE_REPORT_H
#define NODED_NODE_REPORT_H

struct launcher;
struct node_report;

struct node_report *node_report_new(void);
void node_report_free(struct node_report *n); /* NULL is fine */

/* Something has changed: send all of it, if the GPUs are known already. */
void node_report_send(struct launcher *l);

#endif
