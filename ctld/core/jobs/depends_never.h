/* depends_never.h - what becomes of a job whose dependency can never be satisfied */
#ifndef CTLD_CORE_DEPENDS_NEVER_H
#define CTLD_CORE_DEPENDS_NEVER_H

#include <stdbool.h>

struct core;
struct job;

/* Is such a job ended? As its owner or the configuration says (`kill_invalid_dep`). */
bool depends_kills(const struct core *core, const struct job *job);
/* Ends a part whose term can never come true, or, of an array, the tasks that have no record of
 * their own. */
void depends_end_never(struct core *core, struct job *job, bool rest_only);

#endif
