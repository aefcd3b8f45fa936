/* rundir.h - RUN_DIR, the one directory that root makes and a user owns
 *
 * SPOOL/runs (root's, mode 0711) holds one directory for each run, mode 0700, owned by the run's
 * owner. It holds the script, `interrupt` when the run is to end, and the files that the job
 * writes.
 *
 * Root never follows a name in it. Root fills it before giving it to the owner; writes `interrupt`
 * beside it and renames the file into it; reads the owner's files without leaving the directory
 * (openat2(2)); and removes it through descriptors, one level at a time, without following links
 * and without leaving its file system.
 */
#ifndef NODED_RUNDIR_H
#define NODED_RUNDIR_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "common/base/error.h"

#define RUNDIR_SCRIPT "script"
/* The owner's: */
#define RUNDIR_ACK        "ack"
#define RUNDIR_CHECKPOINT "checkpoint"
#define RUNDIR_PROGRESS   "progress"

struct rundir_owner {
	bool change; /* give it to uid, gid; false: it stays ours */
	uid_t uid;
	gid_t gid;
};

/* Make the directory with the script in it (mode 0500), replacing one that was left there. -1 with
 * ERR_SYSTEM or ERR_NO_SPACE and nothing left. */
int rundir_make(int parent, const char *id, const struct rundir_owner *owner, const void *script,
        size_t len, struct error *err);

/* Open the directory. A descriptor, or -1 with errno. */
int rundir_open(int parent, const char *id);

/* Put the file `interrupt` with this text into it, atomically. 0, or -1 with errno. */
int rundir_interrupt(int parent, const char *id, int rundir, const struct rundir_owner *owner,
        const char *text, size_t len);

/* Remove that file. */
void rundir_no_interrupt(int rundir);

/* Status of the owner's file of that name. No link is followed and no mount crossed: a call may
 * hang for ever on what lies behind them. False: there is no such file. */
bool rundir_stat(int rundir, const char *name, struct stat *st);

/* The beginning of a regular file of the owner, with a NUL; returns its length, -1 with errno. */
ssize_t rundir_read(
        int rundir, const char *name, const struct rundir_owner *owner, char *buf, size_t size);

/* Remove the directory with all that is in it; 0 also if there is none. May take long: a user may
 * have put a million files there. -1 with errno, after removing what could be removed. */
int rundir_remove(int parent, const char *id);

#endif
