/* child.h - from a forked process of ours to the user's program
 *
 * In this order, and each step checked: session, signals, oom score; the user's ids, proved
 * (drop.h); no new privileges; umask; working directory; only now, as the user, input, output and
 * error; descriptors; execve(2) of the script. What went wrong is told, as text, through a pipe
 * that closes itself on execution: nothing told and the end of file is either execution or a
 * violent death, which proc_executed() tells apart.
 */
#ifndef NODED_CHILD_H
#define NODED_CHILD_H

#include <stddef.h>
#include <sys/types.h>

#include "common/gpusched.pb-c.h"

#define CHILD_TELL_MAX 512

/* Never returns. `tell`: the pipe's end to write to, close-on-exec. `shepherd`: our parent. */
_Noreturn void child_run(const Gpusched__LaunchRecord *launch, int tell, pid_t shepherd);

#endif
