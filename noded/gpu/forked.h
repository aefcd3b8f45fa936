/* forked.h - how a child begins that only asks the driver */
#ifndef NODED_GPU_FORKED_H
#define NODED_GPU_FORKED_H

#include <sys/types.h>

#define FORKED_KEPT 3 /* `keep` in the child */

/* In the child of `parent`: keep of all descriptors only `keep`, have `null` for 0 to 2, no signal
 * handlers, and end with the parent. So one that hangs for ever holds no socket and no lock. -1: it
 * cannot be, or the parent is gone already. */
int forked_begin(const char *name, int keep, int null, pid_t parent);

/* In the parent: the child's pidfd, close-on-exec. -1 with errno if there is none to be had; then
 * the child was killed, and whoever reaps reaps it. */
int forked_pidfd(pid_t pid);

#endif
