/* client.h - a simulated user: submits, signs, cancels, suspends and looks, over a network that
 * breaks
 *
 * Does what gsubmit, gcancel and gqueue do: every submit carries a nonce and is repeated with the
 * same bytes until it is answered; what was answered is a fact for the checker.
 */
#ifndef TESTSUITE_SIM_CLIENT_H
#define TESTSUITE_SIM_CLIENT_H

#include "testsuite/sim/controller.h"
#include "testsuite/sim/workload.h"

struct sim_client;

struct sim_client_options {
	struct engine *engine;
	struct checker *checker;
	struct sim_controller *controller;
	const char *cluster;
	uint32_t uid;
	const struct mcred_ops *mcred; /* as this uid */
	unsigned jobs;                 /* how many jobs and tasks it submits */
	struct workload_mix mix;
	usec_t pause_low, pause_high; /* between requests */
	/* Of the jobs: cancelled, and some tasks of arrays cancelled, held and released; requeued;
	 * suspended and resumed, in any order, up to thrice. */
	unsigned cancel_ppm, requeue_ppm, suspend_ppm;
	unsigned resign_ppm; /* signed anew, whether they need that or not */
};

/* What it was promised. */
struct sim_client_count {
	uint64_t jobs, in_bulks, bulks, tasks; /* tasks: of arrays */
	uint64_t resigned;                     /* jobs whose signature was too old */
};

struct sim_client *sim_client_new(const struct sim_client_options *options);
void sim_client_free(struct sim_client *c);
void sim_client_start(struct sim_client *c);
/* All submits are answered. */
void sim_client_stop(struct sim_client *c); /* it asks for nothing more */
bool sim_client_is_done(const struct sim_client *c);
/* Look at all jobs once more, until answered; then sim_client_is_done() is true again. */
void sim_client_look(struct sim_client *c);
/* Were all jobs that it was told of seen to have ended, or to wait for ever, at the last look? */
bool sim_client_all_ended(const struct sim_client *c);
/* Adds to it. */
void sim_client_count(const struct sim_client *c, struct sim_client_count *count);

#endif
