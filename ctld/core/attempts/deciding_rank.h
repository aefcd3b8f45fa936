/* deciding_rank.h - which rank's end, with its exit code, counts as that of the job
 *
 * When no run of the attempt is alive any more, one of them decides what becomes of the job: the
 * first that ended badly (other than by itself with exit code 0), else rank 0.
 *
 * The script of a job with steps runs on rank 0 alone: the end of that run is the job's, whatever
 * it was, and the others are ordered to end then.
 *
 * If the owner or the scheduler ended the whole attempt, all runs got that order, and the lowest
 * rank that did not end well decides.
 */
#ifndef CTLD_CORE_DECIDING_RANK_H
#define CTLD_CORE_DECIDING_RANK_H

#include <stdbool.h>

struct job;
struct run;

/* For a job with steps: is the end of this run, if not ordered because of another run, that of the
 * job? */
bool attempt_is_decided_by(const struct job *job, const struct run *run);
/* The run of the present or last attempt that decides what becomes of the job; NULL: it has had no
 * run. */
const struct run *attempt_decisive(const struct job *job);

#endif
