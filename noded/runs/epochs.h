/* epochs.h - the highest epoch and job id that this node has seen, and orders that are too old
 *
 * Each start of a controller has a higher epoch than all earlier ones. An order under a lower epoch
 * than the node has seen comes from a controller that is no longer in charge, and is refused. The
 * numbers are kept over a restart of the launcher and of the node (struct launcher_dirs has them in
 * memory); the controller learns them when the node registers, so a controller with an older
 * database notices that it is older. The agent's core makes the same check before it passes an
 * order on (noded/core/agent.c), but the launcher does not trust it.
 */
#ifndef NODED_LAUNCHER_EPOCHS_H
#define NODED_LAUNCHER_EPOCHS_H

#include <stdint.h>

#include "common/base/error.h"

struct launcher;

void epochs_load(struct launcher *l); /* from disk, at the start */

/* An order of a controller of this epoch has come. -1 with ERR_EPOCH: a later controller has taken
 * charge of this node, and the order must be refused. */
int epochs_take(struct launcher *l, uint64_t epoch, struct error *err);

/* A run of this job has a launch record. */
void epochs_saw_job(struct launcher *l, uint64_t job);
/* The job's record is about to be removed: save what only the record remembers. */
void epochs_forget_job(struct launcher *l, uint64_t job);
/* Write the highest job id to disk if the file in SPOOL is older. */
void epochs_save_job(struct launcher *l);

#endif
