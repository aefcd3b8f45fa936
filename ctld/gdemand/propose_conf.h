/* propose_conf.h - a part of gpusched.conf(5) that follows from the demand
 *
 * Of each account: guaranteed, its floor, which it wants 95 % of the time; limit, the highest level
 * that it wanted for an hour, or its largest job; lend, all of it, or none where its jobs cannot
 * wait until what was lent is given back. Of each QOS: max_wait, what its users say or put up with.
 */
#ifndef GDEMAND_PROPOSE_CONF_H
#define GDEMAND_PROPOSE_CONF_H

#include <stdio.h>

#include "ctld/gdemand/demand.h"

/* Needs demand_concurrency() and demand_tolerance(). */
void propose(const struct demand *d, FILE *out);

#endif
