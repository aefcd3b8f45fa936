/* conditions.h - when a job may begin, by when it must have ended, what it waits for: asked and
 * checked
 *
 * Part of intake.h. What an update does not name is not judged again, but the deadline: it must
 * leave time for the time limit.
 */
#ifndef CTLD_CORE_CONDITIONS_H
#define CTLD_CORE_CONDITIONS_H

#include "ctld/core/intake/intake.h"

/* Sets begin_time, deadline, kill_invalid and depends of t->info (NULL: as it is); the text is
 * owned by t->depends. */
int conditions_take(
        struct core *core, const struct caller *caller, struct intake *t, struct error *err);

/* A trial: what would keep it from starting now. False: nothing. */
bool conditions_hold(const struct core *core, const struct intake *t, struct why_blocker *b);

/* A PENDING job's: "BeginTime" and its text; NULL: none. */
const char *conditions_why(const struct core *core, const struct job *job, char *text, size_t size);

#endif
