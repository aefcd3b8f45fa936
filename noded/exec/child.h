/* child.h - from a forked process of ours to the user's program
 *
 * In this order, and each step checked: session, signals, oom score; what is
 * private, near CPUs, limits (private.h, rlimits.h); the user's ids, proved
 * (drop.h); no new privileges; umask; working directory; only now, as the user, input, output and
 * error; descriptors; the site's task prolog (program.h); execve(2) of the script. What went wrong
 * is told, as text, through a pipe that closes itself on execution: nothing told and the end of
 * file is either execution or a violent death, which proc_executed() tells apart.
 *
 * From the change of user to execve(2) other processes of the owner may signal it, and the owner's
 * files may hold it up. Root as its real and saved user id would keep signals away; but a file
 * system in user space (FUSE) serves only processes whose three ids are its owner's, and jobs start
 * in such. So the shepherd makes both useless: it continues a process that was stopped, and ends a
 * launch that takes too long (CHILD_LAUNCH_MS, the time limit). All of that time is charged.
 */
#ifndef NODED_CHILD_H
#define NODED_CHILD_H

#include <stddef.h>
#include <sys/types.h>

#include "common/gpusched.pb-c.h"

#define CHILD_LAUNCH_MS 60000 /* for all of this but the task prolog, which has its own time */

/* How far it has come, in memory shared with the shepherd: what held it up can be named. */
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
/* The first byte of what it tells: the text that follows is of a failure of the node's, or of one
 * that the job's owner can mend. */
#define CHILD_FAILED       'n'
#define CHILD_FAILED_OWNER 'o'

/* Input, output and error of an interactive run, as ghold has made them: of a terminal one for all
 * three. */
struct child_ends {
	int fds[3];
	size_t n; /* 3, or 1: a terminal, which becomes the controlling one; 0: files */
};

/* What is not the job's affair: handlers, blocked signals, our session, our OOM score, how the
 * agent is served (scheduling, I/O priority, CPUs, memory policy, timers), its personality. -1 with
 * errno: something of our OOM score would be left, and nothing must be executed. */
int child_reset(void);

/* Never returns: the site's program for the owner after his job (program.h), as the job was, after
 * child_reset(). What it says goes to the job's output, what is wrong to descriptor 2. */
_Noreturn void child_run_after(
        const Gpusched__LaunchRecord *launch, const char *path, pid_t shepherd);

struct child_start {
	const Gpusched__LaunchRecord *launch;
	const struct child_ends *ends;
	volatile int *step; /* enum child_step; shared */
	int tell;           /* the pipe's end to write to, close-on-exec */
	pid_t shepherd;     /* our parent */
};

/* Never returns. */
_Noreturn void child_run(const struct child_start *start);

/* What a child is doing at this step, with the file's name: "entering the working directory
 * '/data/x'". */
void child_step_text(
        const Gpusched__LaunchRecord *launch, int step, char out[CHILD_TELL_MAX / 2]);

#endif
