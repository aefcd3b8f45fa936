/* child.h - from a forked process of ours to the user's program
 *
 * In this order, and each step checked: session, signals, oom score; what is
 * private, near CPUs, limits (private.h, rlimits.h); the user's ids, proved
 * (drop.h); no new privileges; umask; working directory; only now, as the user, input, output and
 * error; descriptors; the site's task prolog (program.h); execve(2) of the script. What went wrong
 * is told, as text, through a pipe that closes itself on execution: nothing told and the end of
 * file is either execution or a violent death, which proc_executed() tells apart.
 */
#ifndef NODED_CHILD_H
#define NODED_CHILD_H

#include <stddef.h>
#include <sys/types.h>

#include "common/gpusched.pb-c.h"

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

/* Never returns. `tell`: the pipe's end to write to, close-on-exec. `shepherd`: our parent. */
_Noreturn void child_run(const Gpusched__LaunchRecord *launch, const struct child_ends *ends,
        int tell, pid_t shepherd);

#endif
