/* client.h - a simulated user: submits, cancels, suspends and looks, over a network that breaks
 *
 * Does what gsubmit, gcancel and gqueue do: every submit carries a nonce and is repeated with the
 * same bytes until it is answered; what was answered is a fact for the checker.
 */
#ifndef TESTSUITE_SIM_CLIENT_H
#define TESTSUITE_SIM_CLIENT_H

#include "testsuite/sim/controller.h"

struct sim_client;

struct sim_client_options {
	struct engine *engine;
	struct checker *checker;
	struct sim_controller *controller;
	const char *cluster;
	uint32_t uid;
	const struct mcred_ops *mcred; /* as this uid */
	uint32_t controller_uid;
	unsigned jobs;                  /* how many it submits */
	unsigned max_gpus;              /* of one job on one node */
	unsigned max_nodes;             /* of a gang */
	usec_t pause_low, pause_high;   /* between requests */
	unsigned cancel_ppm, limit_ppm; /* of the jobs: cancelled; with a short time limit */
	unsigned gang_ppm;              /* and on several nodes */
	unsigned wait_ppm;              /* and for others, or for a time */
	unsigned suspend_ppm;           /* and suspended and resumed, in any order, up to thrice */
};

struct sim_client *sim_client_new(const struct sim_client_options *options);
void sim_client_free(struct sim_client *c);
void sim_client_start(struct sim_client *c);
/* All submits are answered. */
bool sim_client_is_done(const struct sim_client *c);
/* Look at all jobs once more, until answered; then sim_client_is_done() is true again. */
void sim_client_look(struct sim_client *c);
/* Were all jobs that it was told of seen to have ended, at the last look? */
bool sim_client_all_ended(const struct sim_client *c);
size_t sim_client_jobs(const struct sim_client *c);

#endif
