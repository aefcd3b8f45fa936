/* eligible.h - which jobs are in the scheduler: those that nothing but room and limits keeps */
#ifndef CTLD_CORE_ELIGIBLE_H
#define CTLD_CORE_ELIGIBLE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/job/run.h"

struct core;
struct job;

/* Check whether a PENDING job may start, and put it into the scheduler or remove it accordingly.
 * Idempotent. */
void job_consider(struct core *core, struct job *job);
/* The same for all waiting records of the array: whether they may start now has changed, or may
 * have. */
void array_reconsider(struct core *core, const struct job *job);
/* Another throttle for the array of the job: at most `at_once` of its tasks have an attempt. */
void array_set_at_once(struct core *core, struct job *job, uint32_t at_once);
/* Remove it from the scheduler; call it before a field changes that its class depends on. */
void job_withdraw(struct core *core, struct job *job);

/* It starts in the k-th of its partitions, and counts there from now on. */
void job_choose(struct core *core, struct job *job, uint32_t k);

/* A signature was found too old by a wrong clock: check it again. */
void job_expires(struct core *core, struct job *job);
void jobs_unexpire(struct core *core);
/* Its owner has signed it again. */
void job_signed(struct core *core, struct job *job, usec_t sign_time);
/* Is the end of the job's signature too near for an order? */
bool job_signature_old(const struct core *core, const struct job *job);

#endif
