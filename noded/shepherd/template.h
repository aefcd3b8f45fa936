/* template.h - a gshepherd that waits to be forked
 *
 * A run's shepherd is the same program each time. The launcher therefore keeps one that has got as
 * far as main(), and has it fork: no program is executed, linked and set up for each run, and what
 * shepherds have in memory before they begin is there once. What is not the same in a fork: its
 * addresses are those of all shepherds of this launcher, which none of them tells anybody.
 *
 *   gshepherd template ROOM
 *
 * with a socket (SOCK_SEQPACKET) as descriptor 3. The length of ROOM, of which the content is of no
 * meaning, is how long a record directory's path may be: the fork's own is written there, so that
 * ps(1) shows `gshepherd RUNDIR/runs/ID` as of one that was executed.
 *
 * A request is the path, with the descriptors of shepherd.h (the third only of interactive runs); the
 * answer an int32: the process id, or -errno. The fork is a child of the launcher (CLONE_PARENT),
 * again as if it had been executed. The template itself opens nothing, holds nothing, and ends when
 * its socket does; shepherds do not depend on it. The launcher's side of it is in ltemplate.c.
 */
#ifndef NODED_TEMPLATE_H
#define NODED_TEMPLATE_H

#include <stddef.h>

#define TEMPLATE_FD  3 /* its socket */
#define TEMPLATE_FDS 3 /* at most, with a request */

/* Wait and fork, for ever: returns in each fork, with the path, which lies in the command line as
 * that of one that was executed does, and the descriptors in place. */
char *template_wait(char **argv);

/* One message with n descriptors (0 to TEMPLATE_FDS). 0 or -1 with errno. */
int template_send(int sock, const void *bytes, size_t len, const int *fds, size_t n);

#endif
