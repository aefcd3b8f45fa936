/* node.h - a simulated node: the real agent's core around the simulated launcher
 *
 * The agent's core, its messages (really encoded) and its rules are the product's own, and so is
 * the launcher that only seems to run something (noded/sim/sim_launcher.h). Its world is here: what was
 * signed is verified and its uses are counted; "programs" last a while and end with a code that
 * only their job, task, attempt and rank decide; the checker is told what really happened. Faults:
 * the agent is killed and started again (runs go on), the node is rebooted (runs die, records in
 * tmpfs are gone), messages are cut off, GPUs fail (gpus.h).
 */
#ifndef TESTSUITE_SIM_NODE_H
#define TESTSUITE_SIM_NODE_H

#include <stdio.h>

#include "common/net/munge.h"
#include "testsuite/sim/checker.h"
#include "testsuite/sim/engine.h"

struct sim_node;
struct step_managers;

/* Where a node finds its controller: opens a link to it, or 0 when it is down. `owner` is the node;
 * its link_ops are sim_node_link_ops. */
typedef uint64_t sim_connect_fn(void *arg, unsigned node, const struct link_ops *ops, void *owner);

struct sim_node_options {
	struct engine *engine;
	struct checker *checker;
	unsigned index; /* into conf.nodes */
	const char *name, *cluster;
	uint32_t cpus;
	uint64_t mem_mb;
	const struct mcred_ops *mcred; /* to verify job credentials with */
	sim_connect_fn *connect;
	void *arg;
	usec_t run_low, run_high;  /* how long programs last */
	unsigned ignores_term_ppm; /* programs that only KILL ends */
	struct step_managers *steps; /* of the attempts of which the first rank runs here */
	/* Bugs for the checker to find: ends are not told; GPUs' memory never comes to an end. */
	bool forgetful, boundless;
	const struct conf *conf; /* of its GPUs, which are found and may fail; NULL: none is */
};

struct sim_node *sim_node_new(const struct sim_node_options *options);
void sim_node_free(struct sim_node *n);

void sim_node_start(struct sim_node *n);      /* the agent comes up; nothing if it is */
void sim_node_kill_agent(struct sim_node *n); /* kill -9 of agent and launcher; shepherds go on */
void sim_node_reboot(struct sim_node *n);     /* power off; sim_node_start() boots it */

/* Something happens to one of its GPUs; all of them are repaired. */
void sim_node_gpu_fails(struct sim_node *n);
void sim_node_gpus_heal(struct sim_node *n);
/* As sim_gpus_resume(). False: it has none either. */
bool sim_node_resume(struct sim_node *n, uint64_t *gpus);
size_t sim_node_gpu_faults(const struct sim_node *n);

uint64_t sim_node_link(const struct sim_node *n); /* 0: none */
/* Its agent is registered over that link, with a controller that it obeys. */
bool sim_node_is_registered(const struct sim_node *n);
/* Tells the checker of which runs its agent knows ("tells"). */
void sim_node_tell_runs(const struct sim_node *n);

/* The controller's state is lost. Tells the checker of the runs that the node has records of, agent or
 * not ("owed"), and from now on of those that an order of the lost controller makes it forget
 * ("unowed"). */
void sim_node_tell_owed(struct sim_node *n);

/* Its runs' records, for whoever looks into a failed seed. */
void sim_node_print(const struct sim_node *n, FILE *out);

#endif
