/* sched_stops.h - jobs are stopped for another only where that is allowed, and no more than needed */
#ifndef TESTSUITE_UNIT_SCHED_STOPS_H
#define TESTSUITE_UNIT_SCHED_STOPS_H

#include "testsuite/unit/policy/sched_lab.h"

/* Judges what the last step stopped. */
void check_preempted(struct lab *lab);

#endif
