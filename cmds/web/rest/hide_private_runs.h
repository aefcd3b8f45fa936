/* hide_private_runs.h - runs on a node of jobs that a viewer may not see are counted, not named */
#ifndef CMDS_HIDE_PRIVATE_RUNS_H
#define CMDS_HIDE_PRIVATE_RUNS_H

#include "cmds/web/snapshot.h"
#include "cmds/web/viewer.h"

/* A node of the snapshot as the viewer may see it. Borrows from the snapshot. */
Gpusched__Node *hide_private_runs(
        const Gpusched__Node *node, const struct viewer *v, const struct snapshot *snap);
void hide_private_runs_free(Gpusched__Node *node);

#endif
