/* nodewords.h - words of gpusched.conf and of gnoded's options for how a node holds its runs
 *
 * The configuration says them for nodes, an agent's command line for its own;
 * noded/contain/process_tracking.h and noded/contain/private_mounts.h say what each means.
 */
#ifndef COMMON_NODEWORDS_H
#define COMMON_NODEWORDS_H

#define PRIVATE_WORDS "tmp, shm, ipc, proc"

/* The site's programs around runs (noded/exec/site_program_allowed.h). Numbers of RunProgram: only
 * added to. */
enum program_kind {
	PROGRAM_PROLOG,
	PROGRAM_TASK_PROLOG,
	PROGRAM_TASK_EPILOG,
	PROGRAM_EPILOG,
	PROGRAM_SCRUB,
	PROGRAM_HEALTH, /* goes with no run */
	PROGRAM_KINDS
};
#define PROGRAM_RUN_KINDS PROGRAM_HEALTH /* those before go with a run */

#define OVERMEM_WORDS "note, warn, end"

#define CONTAIN_DEVICES "devices"
#define CONTAIN_WORDS   "cgroup2, " CONTAIN_DEVICES ", memory, pids, cpu, " PRIVATE_WORDS

#endif
