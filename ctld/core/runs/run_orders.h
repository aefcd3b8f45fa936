/* run_orders.h - what nodes are ordered to do with a run: start it, end it, suspend it, forget it
 *
 * An order is an effect. It is sent if the node is connected; a node that is not gets what is
 * wanted of its runs when it registers.
 */
#ifndef CTLD_CORE_RUN_ORDERS_H
#define CTLD_CORE_RUN_ORDERS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/job/run.h"

struct core;
struct job;
struct node;
struct place;
struct run;

#define NO_PARTITION_GRACE_S 30 /* of runs whose partition is no longer configured */

/* Why a run is to end, and on whose behalf, for its interruption file. Texts may be NULL. */
struct stop {
	enum end_cause cause;
	const char *by_user, *by_account, *by_qos;
	uint64_t by_job; /* 0: none */
	bool requeue;    /* its job is requeued */
};

/* Make a run of an attempt on `nodes` nodes, book it and order it. */
void run_start(struct core *core, struct job *job, struct run_id id, uint32_t nodes,
        const struct place *place);
/* Its end is wanted: send the order. */
void end_run_order(struct core *core, struct run *run, const struct stop *stop);
/* Its node reports another suspension or time limit than is wanted: send the order. */
void suspend_run_order(struct core *core, const struct run *run);
/* Must its node receive a changed time limit? */
bool run_limit_changed(const struct run *run);
/* Confirm to the node (NULL: there is none) that it may drop the run's record, once the end is
 * committed here. */
void forget_run_order(struct core *core, const struct run *run, const struct node *node);

#endif
