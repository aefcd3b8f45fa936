/* sched_gpu_sets.h - a place for parts of GPUs is found if there is one, beside whatever is planned
 */
#ifndef TESTSUITE_UNIT_SCHED_GPU_SETS_H
#define TESTSUITE_UNIT_SCHED_GPU_SETS_H

#include "testsuite/unit/policy/sched_lab.h"

/* For whoever waits for parts of GPUs on one node: ledger_find() finds a place that delays nothing
 * that is planned before it exactly if some set of GPUs of some node is one; returns how many it
 * found on nodes where something is planned. */
unsigned check_gpu_sets(struct lab *lab);

#endif
