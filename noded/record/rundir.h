/* rundir.h - RUN_DIR, the one directory that root makes and a user owns
 *
 * SPOOL/runs (root's, mode 0711) holds one directory for each run, mode 0700, the owner's: his
 * script, `interrupt` when the run is to end, and what he writes there himself.
 *
 * Root never follows a name in it. It is filled before it is given away; `interrupt` is written
 * beside it and renamed into it; what the owner puts there is looked at without leaving it
 * (openat2(2)); it is removed through descriptors, one level at a time, without following links and
 * without leaving its file system.
 */
#ifndef NODED_RUNDIR_H
#define NODED_RUNDIR_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "common/error.h"

#define RUNDIR_SCRIPT "script"
/* The owner's: */
#define RUNDIR_ACK        "ack"
#define RUNDIR_CHECKPOINT "checkpoint"
#define RUNDIR_PROGRESS   "progress"

struct rundir_owner {
	bool change; /* give it to uid, gid; else it stays ours */
	uid_t uid;
	gid_t gid;
};

/* Make it with the script in it (mode 0500), in place of one that was left there. -1 with
 * ERR_SYSTEM or ERR_NO_SPACE and nothing left. */
int rundir_make(int parent, const char *id, const struct rundir_owner *owner, const void *script,
        size_t len, struct error *err);

/* A descriptor of it, or -1 with errno. */
int rundir_open(int parent, const char *id);

/* Put the file `interrupt` with this text into it, as a whole. 0, or -1 with errno. */
int rundir_interrupt(int parent, const char *id, int rundir, const struct rundir_owner *owner,
        const char *text, size_t len);

/* Take it away again. */
void rundir_no_interrupt(int rundir);

/* What the owner put there under a name, and nothing else: no link is followed and no mount
 * crossed, behind which a look may never come back. False: there is nothing. */
bool rundir_stat(int rundir, const char *name, struct stat *st);

/* The beginning of a plain file of the owner's, with a NUL; returns its length, -1 with errno. */
ssize_t rundir_read(
        int rundir, const char *name, const struct rundir_owner *owner, char *buf, size_t size);

/* Remove it with all that is in it; 0 also if there is none. May take long: a user may have put a
 * million files there. -1 with errno, with what could be removed gone. */
int rundir_remove(int parent, const char *id);

#endif
