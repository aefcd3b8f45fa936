/* program.h - the site's own programs around runs
 *
 * Each is named on the agent's command line, by root; or, those around runs, by gpusched.conf: then
 * only out of one folder of root's (program_told()), since what comes from a controller must not
 * choose what root runs. Never by a user. As root: a fixed environment (PATH, GPUSCHED_JOB_ID,
 * GPUSCHED_UID, GPUSCHED_GPUS, GPUSCHED_NODE, and nothing else), "/" as directory, no input, no
 * descriptor of ours, a session of its own. In that order around a run:
 *
 *	prolog       root       before anything of the user's; failure: no run, the node is drained
 *	task-prolog  the owner  last before the job's script, with its environment, in its cgroup
 *	task-epilog  the owner  when nothing of the job is left
 *	epilog       root       then, whenever a prolog or the job has begun; failure: node drained
 *	scrub        root       last, for runs that had GPUs: what clears them for the next owner
 *
 * and, every now and then, without a run,
 *
 *	health-check root       failure: nothing is started on the node until it succeeds again
 *
 * A program has succeeded when its first process ended with 0. Whatever it started ends with it:
 * where there are cgroups it has one of its own beside the run's (PROGRAM_LEAF), outside the run's
 * limits and filter of devices; and whoever waits for it is the subreaper of all that it starts.
 * After its time all of it is killed. What it says, on either output, is for its failure's reason:
 * the first line.
 *
 * Should its shepherd be killed, so is what it runs; the launcher has the programs that come after
 * a run run once more, from the first (lrun.c): they must not mind. Never two at a time.
 */
#ifndef NODED_PROGRAM_H
#define NODED_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/error.h"
#include "common/gpusched.pb-c.h"
#include "common/nodewords.h"

#define PROGRAM_LEAF           ".site" /* behind the name of the run's leaf */
#define PROGRAM_TROUBLE_MAX    256
#define PROGRAM_TIMEOUT_MS     60000
#define PROGRAM_TIMEOUT_MIN_MS 100 /* of what the controller says */
#define PROGRAM_TIMEOUT_MAX_MS 3600000

const char *program_name(enum program_kind kind); /* "prolog" */

/* May it be run? An absolute path of a file that can be executed, which, if `root`, only root can
 * change or replace. -1 with ERR_USAGE and what is wrong. */
int program_check(const char *path, bool root, struct error *err);

/* Just before it is run, in the process that runs it: has it changed since it was named? Asks where
 * we are root. -1 with ERR_USAGE. */
int program_recheck(const char *path, struct error *err);

/* What execve(2) leaves unsaid when it has failed with that errno: to be said behind its text. May
 * be
 * "". */
const char *program_exec_hint(int error);

/* May a program be run that a controller has named? Where `dir` is NULL none may; else one that
 * lies below `dir`, by its letters and with all links followed, and passes program_check(). Returns
 * the path without links, malloc'd, for that is what was looked at; NULL with ERR_USAGE and what
 * would be right. */
char *program_told(const char *path, const char *dir, bool root, struct error *err);

/* Can only root change or replace what is there, a file or a directory? -1 with ERR_USAGE. */
int program_place_check(const char *path, struct error *err);

/* The run's program of this kind; NULL: it has none. */
const Gpusched__RunProgram *program_of(
        const Gpusched__LaunchRecord *launch, enum program_kind kind);
/* Is there any that comes after a run? */
bool program_any_after(const Gpusched__LaunchRecord *launch);

struct program_run {
	enum program_kind kind;
	const char *path;
	uint64_t timeout_ms;
	const Gpusched__LaunchRecord *launch; /* NULL: it goes with no run */
	const char *node;
	const char *leaf; /* its own cgroup, made and removed; "": none */
	/* Called at least every 100 ms; false: end it now. NULL: never. */
	bool (*go_on)(void *arg);
	void *arg;
};

enum program_end { PROGRAM_DONE, PROGRAM_STOPPED, PROGRAM_FAILED };

/* Run it to its end, and end whatever it leaves running. The calling process must be a subreaper
 * without other children, with SIGCHLD blocked. FAILED: `trouble` says why in one line; else it is
 * empty. */
enum program_end program_run(const struct program_run *what, char trouble[PROGRAM_TROUBLE_MAX]);

/* A run's program of this kind; DONE where it has none. */
enum program_end program_run_of(const Gpusched__LaunchRecord *launch, enum program_kind kind,
        bool (*go_on)(void *arg), void *arg, char trouble[PROGRAM_TROUBLE_MAX]);

/* Those of root's that come after a run, each of them, whatever became of the one before; `trouble`
 * is of the first that failed. */
enum program_end program_run_after(const Gpusched__LaunchRecord *launch, bool (*go_on)(void *arg),
        void *arg, char trouble[PROGRAM_TROUBLE_MAX]);

#endif
