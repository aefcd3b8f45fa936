/* sched_victims.h - a search for victims leaves out only what makes no difference */
#ifndef TESTSUITE_UNIT_SCHED_VICTIMS_H
#define TESTSUITE_UNIT_SCHED_VICTIMS_H

#include "testsuite/unit/policy/sched_lab.h"

/* For whoever waits: victims_step() finds what it finds when it asks every node for everything and
 * remembers nothing; returns how many searches found somebody. */
unsigned check_searches(struct lab *lab);

#endif
