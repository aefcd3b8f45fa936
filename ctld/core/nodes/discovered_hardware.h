/* discovered_hardware.h - what nodes have, where the configuration leaves it open
 *
 * A node whose configuration has no `gpus` has the GPUs that its agent finds. They are stored with
 * the node (node_info.found), so that they are known after a start before any agent has
 * registered: "h100:8:81559,1g.10gb:2:9856" is eight GPUs and two MIG instances, by index, with
 * their MiB; "1g.10gb:7:0@3" are the instances that `mig` demands of GPU 3.
 *
 *	1. an index keeps its GPU as long as that is found, and while a run is booked on it;
 *	2. a whole GPU that is missing keeps its index until the node was rebooted: it is reported.
 *	   A missing MIG instance is no fault; its index is removed;
 *	3. new GPUs get free indices, the lowest first;
 *	4. what `mig` demands has indices from the beginning, found or not, and nothing else of
 *	   those GPUs has (mig_layout.h). A new demand gets the indices of equal instances that were
 *	   found.
 *
 * If the configuration has `gpus`, what `mig` demands gets the indices after those, in the order
 * of the numbers of its GPUs.
 *
 * The core uses one struct conf: core->conf is the given configuration with these GPUs filled in;
 * types that it does not name are added after those that it names. It is made at the start, for
 * another configuration, and, at most once a second, when a node turns out to have other hardware.
 * Until then, new GPUs of the node are not given to jobs.
 *
 * The name of a GPU's type is the first type in gpu_types whose `match` matches its maker's name
 * for it. For a MIG instance it is the first type that is `mig_of` its GPU's type, and that has
 * the name of its profile or a `match` for the name of either. If there is none, it is the agent's
 * name for the type.
 */
#ifndef CTLD_CORE_DISCOVERED_HARDWARE_H
#define CTLD_CORE_DISCOVERED_HARDWARE_H

#include "common/conf/conf.h"

struct core;
struct hardware;
struct node;
struct nodes;

/* Combines `given` (borrowed) with what was found on the nodes; nodes are identified by name. */
struct hardware *hardware_new(const struct conf *given, const struct nodes *nodes);
void hardware_free(struct hardware *h); /* NULL is fine */
const struct conf *hardware_conf(const struct hardware *h);

/* Name the types of what the agent found and, if the configuration leaves the GPUs open, use them
 * for the node. Sets core->hardware_due, the time at which core->conf is to be made again. */
void hardware_take(struct core *core, struct node *node);

#endif
