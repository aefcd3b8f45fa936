/* requeue_on.h - a job waits again after an end that its owner named, and how long */
#ifndef CTLD_CORE_REQUEUE_ON_H
#define CTLD_CORE_REQUEUE_ON_H

#include <stdbool.h>

struct core;
struct job;
struct run;

/* Does the job request a requeue after an end like this one? */
bool job_wants_requeue(const struct job *job, const struct run *decisive);
/* The attempt failed and the job waits again: sets its begin time, with a delay that doubles each
 * time. */
void job_delay_requeue(struct core *core, struct job *job);

#endif
