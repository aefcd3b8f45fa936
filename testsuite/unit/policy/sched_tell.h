/* sched_tell.h - a case of random histories, told as a story */
#ifndef TESTSUITE_UNIT_SCHED_TELL_H
#define TESTSUITE_UNIT_SCHED_TELL_H

#include "testsuite/unit/policy/sched_rules.h"

/* What the last step changed of jobs. */
void tell_step(const struct lab *lab);
/* The order as the scheduler sees it, what is planned, what runs. */
void tell_order(const struct lab *lab);

#endif
