/* sched_cards.h - a place for parts of GPUs is found if there is one, beside whatever is planned */
#ifndef TESTSUITE_UNIT_SCHED_CARDS_H
#define TESTSUITE_UNIT_SCHED_CARDS_H

#include "testsuite/unit/sched/sched_lab.h"

/* For whoever waits for parts of GPUs on one node: ledger_find() finds a place that delays nothing
 * that is planned before it exactly if some set of GPUs of some node is one; returns how many it
 * found on nodes where something is planned. */
unsigned check_card_sets(struct lab *lab);

#endif
