/* site_program_allowed.h - the site's own programs around runs
 *
 * Root names each of them on the agent's command line; gpusched.conf may name those around runs
 * too, but only from one folder that root owns (program_told()), since the controller must not
 * choose what root runs. Users cannot name any. A program that runs as root gets a fixed
 * environment (PATH, GPUSCHED_JOB_ID, GPUSCHED_UID, GPUSCHED_GPUS, GPUSCHED_NODE, and nothing
 * else), "/" as directory, no input, no descriptor of ours, and a session of its own. Around a run
 * they come in this order:
 *
 *	prolog       root       before anything of the user's; failure: no run, node drained
 *	task-prolog  the owner  last before the job's script, with its environment, in its cgroup
 *	task-epilog  the owner  when nothing of the job is left
 *	epilog       root       then, if a prolog or the job has begun; failure: node drained
 *	scrub        root       last, for runs that had GPUs: clears the GPUs for the next owner
 *
 * and, periodically, without a run,
 *
 *	health-check root       failure: nothing is started on the node until it succeeds again
 *
 * A program has succeeded when its first process ended with 0. Whatever it started ends with it:
 * where there are cgroups it has one of its own beside the run's (PROGRAM_LEAF), outside the run's
 * limits and device filter; the process that waits for the program is the subreaper of all that the
 * program starts. When the time limit is over all of it is killed. The first line of its output, on
 * either descriptor, becomes the reason of a failure.
 *
 * If the shepherd is killed, the program that it runs is killed too. The launcher then has the
 * programs that come after a run run once more, from the first (runs.c): they must tolerate that.
 * Two of them never run at a time.
 */
#ifndef NODED_SITE_PROGRAM_ALLOWED_H
#define NODED_SITE_PROGRAM_ALLOWED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/error.h"
#include "common/conf/nodewords.h"
#include "common/gpusched.pb-c.h"

#define PROGRAM_LEAF           ".site" /* suffix of the run's leaf */
#define PROGRAM_TROUBLE_MAX    256
#define PROGRAM_TIMEOUT_MS     60000
#define PROGRAM_TIMEOUT_MIN_MS 100 /* bounds of the controller's value */
#define PROGRAM_TIMEOUT_MAX_MS 3600000

const char *program_name(enum program_kind kind); /* "prolog" */

/* Is the program acceptable? It must be an absolute path of an executable file, which, if `root`,
 * only root can change or replace. -1 with ERR_USAGE and the reason. */
int program_check(const char *path, bool root, struct error *err);

/* In the process that runs the program, just before it does: can only root still change the file?
 * Checks only if we are root. -1 with ERR_USAGE. */
int program_recheck(const char *path, struct error *err);

/* A hint to append to the text of an errno of execve(2), for causes that the text does not name.
 * May be "". */
const char *program_exec_hint(int error);

/* May a program be run that the controller has named? If `dir` is NULL none may; else it must lie
 * below `dir`, both as written and with all links followed, and pass program_check(). Returns the
 * path without links, malloc'd, since that is the path that was checked; NULL with ERR_USAGE and
 * what would be right. */
char *program_told(const char *path, const char *dir, bool root, struct error *err);

/* Can only root change or replace this file or directory? -1 with ERR_USAGE. */
int program_place_check(const char *path, struct error *err);

/* The run's program of this kind; NULL: it has none. */
const Gpusched__RunProgram *program_of(
        const Gpusched__LaunchRecord *launch, enum program_kind kind);
/* Has the run any program that comes after it? */
bool program_any_after(const Gpusched__LaunchRecord *launch);

#endif
