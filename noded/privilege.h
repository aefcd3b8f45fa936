/* privilege.h - what the network half of the agent gives away
 *
 * It reads bytes from the network, so it keeps nothing that it does not need: after the launcher
 * was forked and the log opened it becomes another user. uid 0 without capabilities would not do:
 * root's files (/etc/passwd among them) are its owner's to write, capabilities or not. So it stays
 * uid 0 only where it is told to; then it has no capability and no way to get one back
 * (capabilities(7): empty bounding set, securebits locked). No execve() can bring anything back
 * (PR_SET_NO_NEW_PRIVS).
 *
 * Where no user is named it becomes PRIVILEGE_USER. Where there is no such user it becomes a number
 * that no user has, of those that are reserved for nobody (PRIVILEGE_FIRST to PRIVILEGE_LAST: no
 * Debian package and no dynamic user of systemd is given one of them). Not `nobody`: other daemons
 * run as nobody and could signal it, and a server of files gives nobody what was root's.
 */
#ifndef NODED_PRIVILEGE_H
#define NODED_PRIVILEGE_H

#include "common/error.h"

#define PRIVILEGE_USER  "gpusched-agent"
#define PRIVILEGE_FIRST 65520
#define PRIVILEGE_LAST  65533

/* `user` NULL or "": none named; "root": stay uid 0. Without root there is nothing to give away,
 * and another user than ourselves is an error. Logs where it has to take a number. -1 with
 * ERR_SYSTEM or ERR_USAGE: end the process. */
int privilege_drop(const char *user, struct error *err);

#endif
