/* child.h - from a forked process of ours to the user's program
 *
 * In this order, and each step checked: session, signals, oom score; the user's ids, proved
 * (drop.h); no new privileges; umask; working directory; only now, as the user, input, output and
 * error; descriptors; execve(2) of the script. What is the matter is told through a pipe that
 * closes itself on execution:
 *
 *      "E"       about to execute; then end of file: executed
 *      "EXtext"  could not be executed    "Xtext"  something before that failed    "": died
 */
#ifndef NODED_CHILD_H
#define NODED_CHILD_H

#include <stddef.h>
#include <sys/types.h>

#include "common/gpusched.pb-c.h"

#define CHILD_TELL_MAX 512

/* Never returns. `tell`: the pipe's end to write to, close-on-exec. `shepherd`: our parent. */
_Noreturn void child_run(const Gpusched__LaunchRecord *launch, int tell, pid_t shepherd);

enum child_told { CHILD_EXECUTED, CHILD_FAILED, CHILD_DIED };

/* What the whole of what was read from the pipe means; *text points into it or to "". */
enum child_told child_told(const char *bytes, size_t len, const char **text);

#endif
