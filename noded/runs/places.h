/* places.h - the launcher's directories, and the incarnation that is written in one of them
 *
 * launcher.h lists the files. What the launcher remembers of epochs and job ids is in epochs.h.
 */
#ifndef NODED_LAUNCHER_PLACES_H
#define NODED_LAUNCHER_PLACES_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/error.h"

struct launcher;

/* Only places.c and epochs.c write to it. */
struct places {
	/* descriptors of directories, except `lock` */
	int lock, rundir, runs, spool, spool_runs, exits, outputs, holds, private_dir, mps_dir;
	char *runs_path, *spool_runs_path, *private_path, *mps_path; /* absolute */
	char boot_id[64], incarnation[96];
	bool fresh; /* the incarnation is new: runs of the last one are dead or must be */
	uint64_t max_epoch, max_job; /* the highest seen */
	uint64_t saved_job; /* the value in RUNDIR/state; newer jobs still have their records */
	bool job_unsaved;   /* max_job is newer than SPOOL/state */
};

/* Make, check and open the directories. Sets l->places, also when it fails: -1 with ERR_SYSTEM or
 * ERR_USAGE. */
int places_make(struct launcher *l, struct error *err);
/* Waits a while for an earlier launcher to end. -1 with ERR_SYSTEM or ERR_USAGE. */
int places_lock(struct launcher *l, struct error *err);
void places_free(struct places *p); /* NULL is fine; also gives up the lock */

int places_incarnation(struct launcher *l, struct error *err); /* found, or a new one: fresh */
/* The last step: an incarnation is valid only when all of the previous one that could be killed is
 * gone. -1 with ERR_SYSTEM. */
int places_save_incarnation(struct launcher *l, struct error *err);

#endif
