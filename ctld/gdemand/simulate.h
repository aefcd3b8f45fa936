/* simulate.h - the history on a cluster, in gsim: when each job would have started
 *
 * A cluster is that of a gpusched.conf, or of a list of nodes, with as many nodes of one kind as
 * are tried. The decisions are the controller's core's, as in gsim(1).
 */
#ifndef GDEMAND_SIMULATE_H
#define GDEMAND_SIMULATE_H

#include <stdint.h>

#include "ctld/gdemand/history_jobs.h"

#define TRIAL_AS_IT_IS UINT32_MAX /* nodes */

struct trial_options {
	const char *conf, *nodes; /* one of them */
	const char *like;         /* a node of the kind; NULL: all nodes must be of one kind */
	uint64_t seed;
	/* Now and then; may be NULL. */
	void (*progress)(void *arg, uint64_t jobs_done);
	void *arg;
};

struct trial {
	uint32_t nodes;    /* of the kind */
	uint64_t gpus;     /* of the whole cluster */
	uint64_t refused;  /* jobs that can never start there */
	double allocation; /* the part of the GPU time that was booked */
	usec_t *starts;    /* [past->n]; PAST_UNKNOWN: it did not start. Owned */
};

/* How many nodes of the kind the cluster has, and the GPUs of one. */
int trial_kind(
        const struct trial_options *o, uint32_t *nodes, uint32_t *gpus_each, struct error *err);

int trial_run(const struct past *past, const struct trial_options *o, uint32_t nodes,
        struct trial *t, struct error *err);
void trial_clear(struct trial *t);

#endif
