/* launcher_dirs.h - the launcher's directories, and the incarnation that is written in one of them
 *
 * launcher.h lists the files. What the launcher remembers of epochs and job ids is in epochs.h.
 */
#ifndef NODED_LAUNCHER_DIRS_H
#define NODED_LAUNCHER_DIRS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/error.h"

struct launcher;

/* Only launcher_dirs.c and epochs.c write to it. */
struct launcher_dirs {
	/* descriptors of directories, except `lock` */
	int lock, rundir, runs, spool, spool_runs, exits, outputs, holds, private_dir, mps_dir;
	char *runs_path, *spool_runs_path, *private_path, *mps_path; /* absolute */
	char boot_id[64], incarnation[96];
	bool fresh; /* the incarnation is new: runs of the last one are dead or must be */
	uint64_t max_epoch, max_job; /* the highest seen */
	uint64_t saved_job; /* the value in RUNDIR/state; newer jobs still have their records */
	bool job_unsaved;   /* max_job is newer than SPOOL/state */
};

/* Make, check and open the directories. Sets l->dirs, also when it fails: -1 with ERR_SYSTEM or
 * ERR_USAGE. */
int launcher_dirs_make(struct launcher *l, struct error *err);
/* Waits a while for an earlier launcher to end. -1 with ERR_SYSTEM or ERR_USAGE. */
int launcher_dirs_lock(struct launcher *l, struct error *err);
void launcher_dirs_free(struct launcher_dirs *p); /* NULL is fine; also gives up the lock */

/* Found, or a new one: fresh. */
int launcher_dirs_incarnation(struct launcher *l, struct error *err);
/* The last step: an incarnation is valid only when all of the previous one that could be killed is
 * gone. -1 with ERR_SYSTEM. */
int launcher_dirs_save_incarnation(struct launcher *l, struct error *err);

#endif
