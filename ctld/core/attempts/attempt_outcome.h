/* attempt_outcome.h - what becomes of a job whose attempt is over: another attempt, or which end?
 */
#ifndef CTLD_CORE_ATTEMPT_OUTCOME_H
#define CTLD_CORE_ATTEMPT_OUTCOME_H

#include <stdbool.h>
#include <stdint.h>

#include "common/job/run.h"
#include "ctld/core/rows/event.h"

struct core;
struct job;
struct run;

#define LAUNCH_TRIES 3 /* failed launches in a row, after which the job is held */

/* The state of a job whose deciding run ended like this. */
enum job_state job_state_of_end(enum end_cause cause, uint32_t exit_code, uint32_t exit_signal);
/* Will it be started again when its present attempt has ended? */
bool job_comes_again(const struct job *job);
/* The same if its node ends it to reclaim GPU memory that it had borrowed. */
bool job_again_when_reclaimed(const struct core *core, const struct job *job);

/* For the run that decides (attempt_decisive()): is the job to be started again when its present
 * attempt is over? Did the run never begin? In which state does the job end, if it ends? */
bool attempt_comes_again(const struct job *job, const struct run *decisive);
bool attempt_not_launched(const struct run *run);
enum job_state attempt_end_state(const struct job *job, const struct run *decisive);

#endif
