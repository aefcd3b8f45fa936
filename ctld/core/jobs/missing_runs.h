/* missing_runs.h - a node does not have a run: a failed launch, a lost order, or a run that is lost
 *
 * NEVER of a run that has started means that its node has lost it. Else it is a failed launch if the
 * node had the order (it said STARTING, or has answered in the session of the order), and a lost
 * order if not: the job waits again, and nothing counts as failed.
 */
#ifndef CTLD_CORE_MISSING_RUNS_H
#define CTLD_CORE_MISSING_RUNS_H

#include "common/job/run.h"

struct core;
struct node;
struct run;

/* Its node reports that it never was there. */
void run_says_never(struct core *core, struct run *run, const struct run_report *report);
/* What ran is gone together with its node. `why` is kept as the detail. */
void run_gone(struct core *core, struct run *run, enum end_cause cause, const char *why);
void node_runs_gone(struct core *core, struct node *node, const char *why);

#endif
