/* attempt.h - the runs of one attempt at a job, as a whole */
#ifndef CTLD_CORE_ATTEMPT_H
#define CTLD_CORE_ATTEMPT_H

#include <stdbool.h>
#include <stdint.h>

#include "common/job/run.h"

struct core;
struct job;
struct run;

void run_attach(struct job *job, struct run *run); /* to its job's list */
/* The first known rank of the present or last attempt (NULL: none yet); the next rank. */
struct run *job_run(const struct job *job);
struct run *run_next_rank(const struct run *run);
bool run_of_present(const struct run *run);              /* of its job's present or last attempt? */

const struct run *job_orphan(const struct job *job); /* a run that is alive and should not be */
uint32_t job_starts(const struct job *job);          /* attempts that a launcher began */
uint32_t job_launch_failures(const struct job *job); /* attempts */

bool run_lives(const struct run *run);      /* neither over nor an orphan run */
bool run_ended_well(const struct run *run); /* by itself, with exit code 0 */

/* Of the present or last attempt: is any run alive? Are all its ranks known? Do or did all run,
 * and none ended badly? Are all living runs suspended? Did an operator or the scheduler request
 * its end? */
bool attempt_lives(const struct job *job);
bool attempt_whole(const struct job *job);
bool attempt_runs(const struct job *job);
bool attempt_suspended(const struct job *job);
bool attempt_asked(const struct job *job);
usec_t attempt_start_time(const struct job *job); /* wall, of the first to run; 0: none */
usec_t attempt_end_time(const struct job *job);   /* wall, of the last; 0: none */
/* Wall: a rank has reported that the work of all ranks is safe up to here; 0: none has. */
usec_t attempt_checkpoint_time(const struct job *job);
void attempt_checkpoint(struct job *job, const struct run *run); /* this run has reported so */
/* Its runs have changed: update the list of its nodes. */
void attempt_name_nodes(struct core *core, struct job *job);
const char *attempt_nodes(const struct run *run); /* hostlist, in the order of ranks */

#endif
