/* start_conditions.h - a job's begin time, deadline and dependencies, as requested; read and checked
 *
 * Part of job_checks.h. An update does not check again what it does not name. The deadline is the
 * exception: it must leave time for the time limit.
 */
#ifndef CTLD_CORE_START_CONDITIONS_H
#define CTLD_CORE_START_CONDITIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "ctld/core/intake/intake_job.h"

struct caller;
struct core;
struct error;
struct job;
struct why_blocker;

/* Sets begin_time, deadline, kill_invalid and depends of t->info (a NULL field of the request
 * leaves its value as it is). t->depends owns the text. */
int conditions_take(
        struct core *core, const struct caller *caller, struct intake *t, struct error *err);

/* For a trial submission: what would keep the job from starting now. False: nothing would. */
bool conditions_hold(const struct core *core, const struct intake *t, struct why_blocker *b);

/* Of a PENDING job: "BeginTime" and its text; NULL: it waits for no begin time. */
const char *conditions_why(const struct core *core, const struct job *job, char *text, size_t size);

#endif
