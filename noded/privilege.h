/* privilege.h - what the network half of the agent gives away
 *
 * It reads bytes from the network, so it keeps nothing that it does not need: after the launcher
 * was forked and the log opened it becomes another user, or, where none is named, stays uid 0
 * without any capability and without a way to get one back (capabilities(7): empty bounding set,
 * securebits locked). In both cases no execve() can bring anything back (PR_SET_NO_NEW_PRIVS).
 */
#ifndef NODED_PRIVILEGE_H
#define NODED_PRIVILEGE_H

#include "common/error.h"

/* `user` NULL or "": none named. Without root there is nothing to give away, and another user than
 * ourselves is an error. -1 with ERR_SYSTEM or ERR_USAGE: end the process. */
int privilege_drop(const char *user, struct error *err);

#endif
