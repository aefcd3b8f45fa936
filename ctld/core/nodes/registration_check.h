/* registration_check.h - does what a node registered with satisfy its configuration?
 *
 * Nothing starts on a node with fewer CPUs or less memory than configured, or whose agent cannot
 * confine jobs as configured.
 */
#ifndef CTLD_CORE_REGISTRATION_CHECK_H
#define CTLD_CORE_REGISTRATION_CHECK_H

struct core;
struct node;

/* After a registration and after a change of the configuration: sets the node's `invalid`, and
 * binds its GPUs anew. */
void node_compare(struct core *core, struct node *node);

#endif
