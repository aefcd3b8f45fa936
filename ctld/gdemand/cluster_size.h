/* cluster_size.h - the smallest cluster on which enough jobs start in their targets
 *
 * The number of nodes of one kind is bisected, each try is a run of gsim over the whole history.
 * That more nodes are never worse is taken for granted; a scheduler does not promise it, so that
 * the answer may be off by a node where the curve is flat.
 */
#ifndef GDEMAND_CLUSTER_SIZE_H
#define GDEMAND_CLUSTER_SIZE_H

#include "ctld/gdemand/demand.h"
#include "ctld/gdemand/simulate.h"

struct size_options {
	struct trial_options trial;
	double part; /* of the jobs that are to start within their targets */
	/* A try begins; may be NULL. */
	void (*on_try)(void *arg, uint32_t nodes);
	void *arg;
};

/* Adds a sheet. */
int size_find(struct demand *d, const struct size_options *o, struct error *err);

#endif
