/* depends_never.h - a job whose dependency can never be satisfied: the mail about it, and its end */
#ifndef CTLD_CORE_DEPENDS_NEVER_H
#define CTLD_CORE_DEPENDS_NEVER_H

#include <stdbool.h>

struct core;
struct job;

/* A term has changed: can the dependency still be satisfied? Mail says once that it cannot. */
void depends_note_never(struct core *core, struct job *job);
/* Is such a job ended? As its owner or the configuration says (`kill_invalid_dep`). */
bool depends_kills(const struct core *core, const struct job *job);
/* Ends a part whose term can never come true, or, of an array, the tasks that have no record of
 * their own. */
void depends_end_never(struct core *core, struct job *job, bool rest_only);
/* The job can never start: ends it, if such a job is ended. For an array and terms that are decided
 * task by task, it ends only the tasks without a record of their own. */
void depends_kill_never(struct core *core, struct job *job, bool each_only);

#endif
