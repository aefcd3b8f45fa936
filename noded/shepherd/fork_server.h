/* fork_server.h - a gshepherd that waits for requests to fork
 *
 * The shepherd of every run is the same program. The launcher therefore keeps one process that has
 * got as far as main(), and has it fork: no program is executed, linked and set up for each run,
 * and the memory that shepherds have filled by then is shared. One difference from an executed
 * shepherd: all shepherds of this launcher have the same address layout; none of them discloses it.
 *
 *   gshepherd template ROOM
 *
 * with a socket (SOCK_SEQPACKET) as descriptor 3. The length of ROOM, whose content has no meaning,
 * limits the length of a record directory's path: each fork writes its own path there, so that
 * ps(1) shows `gshepherd RUNDIR/runs/ID`, as for an executed shepherd.
 *
 * A request is the path, with the descriptors of inherit.h (the third only for interactive runs);
 * the answer is an int32: the process id, or -errno. The fork is a child of the launcher
 * (CLONE_PARENT), again as if it had been executed. The template itself opens nothing, holds
 * nothing, and ends when its socket is closed; shepherds do not depend on it. start_shepherd.c has
 * the launcher's side.
 */
#ifndef NODED_FORK_SERVER_H
#define NODED_FORK_SERVER_H

#define TEMPLATE_FD  3 /* its socket */
#define TEMPLATE_FDS 3 /* at most, with a request */

/* Wait for requests and fork, without end. It returns only in the forks: with the path, which lies
 * in the command line as in an executed shepherd, and with the descriptors in place. */
char *template_server_wait(char **argv);

#endif
