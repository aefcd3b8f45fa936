/* places.h - the launcher's directories, and what it keeps in them over a restart
 *
 * launcher.h lists the files. The highest epoch and job id are kept so that orders of a controller
 * that is no longer in charge are refused even after a restart of the node.
 */
#ifndef NODED_LAUNCHER_PLACES_H
#define NODED_LAUNCHER_PLACES_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/error.h"

struct launcher;

/* Only places.c writes to it. */
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

void places_load(struct launcher *l);     /* highest epoch and job id */
void places_save_job(struct launcher *l); /* to disk, if it is newer than there */
int places_incarnation(struct launcher *l, struct error *err); /* found, or a new one: fresh */
/* The last step: an incarnation is valid only when all of the previous one that could be killed is
 * gone. -1 with ERR_SYSTEM. */
int places_save_incarnation(struct launcher *l, struct error *err);

/* An order of a controller of this epoch has come. -1 with ERR_EPOCH: a later controller has taken
 * charge of this node, and the order must be refused. */
int places_take_epoch(struct launcher *l, uint64_t epoch, struct error *err);
/* A run of this job has a launch record. */
void places_saw_job(struct launcher *l, uint64_t job);
/* The job's record is about to be removed: save what only the record remembers. */
void places_forget_job(struct launcher *l, uint64_t job);

#endif
