/* owners.h - simulated owners of services: what people do with gserve, over a network that breaks
 *
 * Each owner has one service at a time, always of the same name: it is submitted, scaled, paused,
 * resumed, woken, updated (some updates have replicas that end before they are READY), undone and
 * stopped, in any order. Each request is repeated with the same bytes until it is answered, so that
 * one whose answer was lost is done twice. What was answered is a fact for the checker.
 */
#ifndef TESTSUITE_SIM_OWNERS_H
#define TESTSUITE_SIM_OWNERS_H

#include "testsuite/sim/controller.h"

/* Labels of the jobs, which say how their replicas go (node.c). */
#define OWNERS_LABEL_BAD "sim-bad" /* they end before they are READY */

struct owners;

struct owners_options {
	struct engine *engine;
	struct checker *checker;
	struct sim_controller *controller;
	const char *cluster;
	unsigned n;
	uint32_t first_uid;            /* the first owner's, and so on */
	struct mcred_ops *const *mcred; /* as each of them */
	usec_t pause;                  /* between requests, at most */
};

struct owners_count {
	uint64_t submits, updates, bad_updates, undone, stops, repeats;
};

struct owners *owners_new(const struct owners_options *options);
void owners_free(struct owners *o); /* NULL is fine */
/* They stop what they have, submit nothing more, and wait until it is gone. */
void owners_finish(struct owners *o);
bool owners_are_done(const struct owners *o);
void owners_halt(struct owners *o); /* they ask for nothing more at all */
/* Adds to it. */
void owners_count(const struct owners *o, struct owners_count *count);

#endif
