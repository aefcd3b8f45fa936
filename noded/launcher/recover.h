/* recover.h - what an earlier launcher has left: records, shepherds, cgroups, directories */
#ifndef NODED_LAUNCHER_RECOVER_H
#define NODED_LAUNCHER_RECOVER_H

#include "common/base/error.h"

struct launcher;

/* Fill the table of runs. Blocks until nothing of an older incarnation is left, at most some
 * seconds. -1 with ERR_SYSTEM: something could not be read, and the launcher must not go on. */
int recover_runs(struct launcher *l, struct error *err);

/* Remove leftovers of runs that are over: directories in the background, empty cgroups. 1: some
 * cgroups are not empty; -1 with ERR_SYSTEM. */
int recover_leftovers(struct launcher *l, struct error *err);

#endif
