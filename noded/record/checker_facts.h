/* checker_facts.h - what really happened on a node, for the tests' checker
 *
 * Only in builds with --enable-failpoints: where GPUSCHED_JOURNAL names a file, shepherds (and the
 * launcher, for a shepherd that was killed) append a line for each run when it begins to hold its
 * GPUs and when nothing of it is left, by the monotonic clock. The lines are facts of
 * testsuite/sim/checker.h. Each is one write(2) to a file opened for appending, so lines of
 * several processes do not mix. In other builds these calls do nothing.
 */
#ifndef NODED_CHECKER_FACTS_H
#define NODED_CHECKER_FACTS_H

#include "common/gpusched.pb-c.h"

#ifdef ENABLE_FAILPOINTS
/* `env` is the run's: it names the node. */
void checker_facts_start(const Gpusched__LaunchRecord *launch);
void checker_facts_end(const Gpusched__LaunchRecord *launch, unsigned code, unsigned sig);
/* Written by the launcher: nothing is left of the run, and how it ended is unknown. */
void checker_facts_gone(const Gpusched__LaunchRecord *launch);
#else
#define checker_facts_start(launch)          ((void)0)
#define checker_facts_end(launch, code, sig) ((void)0)
#define checker_facts_gone(launch)           ((void)0)
#endif

#endif
