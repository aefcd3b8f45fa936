/* requeue_ended.h - may a job that has ended be run again? */
#ifndef CTLD_CORE_REQUEUE_ENDED_H
#define CTLD_CORE_REQUEUE_ENDED_H

#include "common/base/error.h"

struct core;
struct job;
struct taskset;

/* May an ended job be run again? */
int requeue_ended_check(struct core *core, const struct job *job, struct error *err);
/* Refuses if `set` (NULL: all tasks) has tasks of the array that have ended and left memory. */
int requeue_ended_check_here(const struct job *own, const struct taskset *set, struct error *err);

#endif
