/* checkpoint_and_progress.h - what a program reports of its run, in files of its RUN_DIR
 *
 *   checkpoint   its time: the work up to here is safe (touch it)
 *   progress     its first line is for people: gqueue shows it
 *
 * The shepherd polls them every NOTES_LOOK, with two system calls, instead of watching them with
 * inotify(7): all shepherds of a node together have only 128 inotify instances
 * (fs.inotify.max_user_instances), and a program that writes its progress in a loop would wake its
 * shepherd each time. Nothing is urgent: the time of a checkpoint is the file's own. (An
 * acknowledgement is urgent: see shepherd.c.) However often the files are written, the shepherd
 * reports them no more than once in NOTES_PAUSE.
 */
#ifndef NODED_CHECKPOINT_AND_PROGRESS_H
#define NODED_CHECKPOINT_AND_PROGRESS_H

#include <stdbool.h>

#include "common/job/run.h"
#include "noded/record/rundir.h"

#define NOTES_LOOK  ((usec_t)2000000)
#define NOTES_PAUSE ((usec_t)10000000)

struct notes {
	usec_t checkpoint;                   /* wall; 0: none. Never moves back */
	char progress[RUN_PROGRESS_MAX + 1]; /* plain text (text.h); "" none */
};

/* Poll the files. A run that began at `started` has no checkpoint earlier than that, and none after
 * `now` (wall). True: something is new. */
bool notes_poll(
        struct notes *n, int rundir, const struct rundir_owner *owner, usec_t started, usec_t now);

#endif
