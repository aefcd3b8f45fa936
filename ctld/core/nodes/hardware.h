/* hardware.h - what nodes have, where the configuration leaves it open
 *
 * A node for which the configuration says no `gpus` has those that its agent finds. They are kept
 * with the node (node_info.found), so that after a start they are known before any agent is heard:
 * "h100:8:81559,1g.10gb:2:9856" is eight GPUs and two MIG instances, by index, and their MiB;
 * "1g.10gb:7:0@3" are those that `mig` demands of GPU 3.
 *
 *	1. an index keeps its GPU as long as that is found; so does one on which a run is booked;
 *	2. a whole GPU that is missing keeps its index until the node was rebooted: it is reported.
 *	   A MIG instance that is gone is no fault, its index goes with it;
 *	3. what is found anew gets free indices, the lowest first;
 *	4. what `mig` demands is there from the beginning, found or not, and nothing else of those
 *	   GPUs (layout.h). Demanded anew, it gets the indices of what is found that is the same.
 *
 * Where the configuration does say `gpus`, what `mig` demands is numbered behind that, by the
 * numbers of its GPUs.
 *
 * The core goes by one struct conf: core->conf is the given one with these filled in, and with the
 * types that it does not name behind those that it does. It is made at the start, for another
 * configuration, and, at most once a second, when a node turns out to have something else. Until
 * then what is new on the node is not given to anybody.
 *
 * What a GPU's type is called: the first type in gpu_types whose `match` is like its maker's name
 * for it; of a MIG instance the first that is `mig_of` its GPU's type and is called as its profile
 * or has a `match` like the name of either. Else it is called as the agent calls it.
 */
#ifndef CTLD_CORE_HARDWARE_H
#define CTLD_CORE_HARDWARE_H

#include "common/conf.h"

struct core;
struct node;
struct nodes;
struct hardware;

/* What `given` (borrowed) and the nodes say together; nodes are known by their names. */
struct hardware *hardware_new(const struct conf *given, const struct nodes *nodes);
void hardware_free(struct hardware *h); /* NULL is fine */
const struct conf *hardware_conf(const struct hardware *h);

/* Is that node's list of GPUs the agent's, and not the configuration's? */
bool hardware_as_found(const struct core *core, const struct node *node);

/* A run has ended: bind anew what it kept from being bound. */
void hardware_freed(struct core *core, struct node *node);

/* Name the types of what the agent found, and where that is what the node has, take it. Sets when
 * core->conf is to be made anew (core->hardware_due). */
void hardware_take(struct core *core, struct node *node);

#endif
