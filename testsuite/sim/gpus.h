/* gpus.h - a simulated node's GPUs, and what is wrong with them
 *
 * Plays what the launcher does about faults (noded/watch/gpu_faults.c), in plain: each has a number, is kept
 * until it is acknowledged, over deaths of the agent and not over the node's, and is told again
 * after each registration. What looks find (too hot, gone, errors) is so until it passes, is cured
 * by a boot or a reset, or until somebody replaces the GPU.
 *
 * The checker is told what happened (`fault`), what the controller has taken out of use as far as
 * the node has heard (`drained`, `closed`), and what may be in use again (`returned`, `opened`).
 * Where the node cannot know (it was booted before an answer came) nothing is said.
 */
#ifndef TESTSUITE_SIM_GPUS_H
#define TESTSUITE_SIM_GPUS_H

#include "common/base/arena.h"
#include "common/conf/conf.h"
#include "common/gpusched.pb-c.h"
#include "testsuite/sim/checker.h"
#include "testsuite/sim/engine.h"

/* Of the nodes' configuration: what becomes an Xid of which the table would drain the GPU alone. */
#define SIM_GPUS_EVENTS "[ \"xid-95=node\" ]"

struct sim_gpus;

struct sim_gpus *sim_gpus_new(
        struct engine *e, struct checker *checker, const struct conf *conf, uint32_t node);
void sim_gpus_free(struct sim_gpus *g); /* NULL is fine */

/* For the node's registration; borrowed. */
const Gpusched__Inventory *sim_gpus_inventory(const struct sim_gpus *g);

/* So much of its memory can be shared; 0: there is no such GPU. */
uint64_t sim_gpus_mem_mb(const struct sim_gpus *g, unsigned gpu);

/* Something happens to one of them. True: there is something to tell. */
bool sim_gpus_happens(struct sim_gpus *g);
/* The node was booted: what a reset cures is cured, and what was not acknowledged is forgotten. */
void sim_gpus_boot(struct sim_gpus *g);
/* All is repaired; some of it is told. */
void sim_gpus_heal(struct sim_gpus *g);

/* What is not acknowledged, and the answer to a check if there is one. NULL: nothing. */
const Gpusched__GpuReport *sim_gpus_report(
        struct sim_gpus *g, const Gpusched__GpuCheck *check, struct arena *arena);
void sim_gpus_ack(struct sim_gpus *g, uint64_t seq);

/* An operator is about to give back what does not come back by itself: which GPUs, and the node if
 * it is drained. False: not now, for the node has news that the controller may not have. */
bool sim_gpus_resume(struct sim_gpus *g, uint64_t *gpus);

size_t sim_gpus_faults(const struct sim_gpus *g); /* that have happened */

#endif
