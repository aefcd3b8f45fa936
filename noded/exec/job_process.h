/* job_process.h - from a forked process of the shepherd to the user's program
 *
 * The child takes these steps in this order and checks each: session, signals, OOM score; private
 * directories, nearby CPUs, limits (private_mounts.h, rlimits.h); the user's ids, proved
 * (become_user.h); no new privileges; umask; working directory; then, already as the user, input,
 * output and error; descriptors; the site's task prolog (site_program_allowed.h); execve(2) of the
 * script. A failure is reported as text through a pipe that closes itself on execution. An empty
 * pipe at its end of file means either that the program was executed or that the child was killed;
 * proc_executed() tells which.
 *
 * From the change of user to execve(2) other processes of the owner may send the child signals, and
 * the owner's files may delay it. Keeping root as the real and saved user id would keep those
 * signals away; but a file system in user space (FUSE) serves only processes whose three ids are
 * its owner's, and jobs start in such file systems. So the shepherd makes both attacks useless: it
 * continues a child that was stopped, and ends a launch that takes too long (CHILD_LAUNCH_MS, the
 * time limit). All of that time is charged.
 */
#ifndef NODED_JOB_PROCESS_H
#define NODED_JOB_PROCESS_H

#include <stddef.h>
#include <sys/types.h>

#include "common/gpusched.pb-c.h"

/* for all of this except the task prolog, which has its own time limit */
#define CHILD_LAUNCH_MS 60000

/* The child's progress, in memory shared with the shepherd: it says what delayed a launch. */
enum child_step {
	CHILD_BEGINS,
	CHILD_ENTERS,
	CHILD_OPENS_INPUT,
	CHILD_OPENS_OUTPUT,
	CHILD_OPENS_ERROR,
	CHILD_WAITS, /* for the task prolog */
	CHILD_EXECUTES,
	CHILD_STEPS
};

#define CHILD_TELL_MAX 512
/* The first byte of the report: whether the failure that follows is the node's, or one that the
 * job's owner can mend. */
#define CHILD_FAILED       'n'
#define CHILD_FAILED_OWNER 'o'

/* Input, output and error of an interactive run, as made by ghold; a terminal is one descriptor for
 * all three. */
struct child_ends {
	int fds[3];
	size_t n; /* 3 pipes, or 1 terminal, which becomes the controlling one; 0: files */
};

/* Resets what the process inherited and the job must not: handlers, blocked signals, session, OOM
 * score, scheduling, I/O priority, CPUs, memory policy, timers, personality. -1 with errno: part of
 * our OOM score would remain, and nothing must be executed. */
int child_reset(void);

/* Never returns: runs the site's program for the owner after the job (site_program_allowed.h), in
 * the same conditions as the job, after child_reset(). Its output goes to the job's output, errors
 * of this function to descriptor 2. */
_Noreturn void child_run_after(
        const Gpusched__LaunchRecord *launch, const char *path, pid_t shepherd);

struct child_start {
	const Gpusched__LaunchRecord *launch;
	const struct child_ends *ends;
	volatile int *step; /* enum child_step; shared */
	int probe;          /* becomes PROBE_FD of gprobe; -1: none */
	int tell;           /* write end of the pipe, close-on-exec */
	pid_t shepherd;     /* our parent */
};

/* Never returns. */
_Noreturn void child_run(const struct child_start *start);

/* The text for a step, with the file's name: "entering the working directory '/data/x'". */
void child_step_text(
        const Gpusched__LaunchRecord *launch, int step, char out[CHILD_TELL_MAX / 2]);

#endif
