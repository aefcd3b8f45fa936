/* privilege.h - the privileges that the network half of the agent drops
 *
 * The network half reads bytes from the network, so it keeps no privilege that it does not need:
 * after the launcher was forked and the log opened, it becomes another user. uid 0 without
 * capabilities would not be enough: files of root (/etc/passwd among them) can be written by their
 * owner, with or without capabilities. It stays uid 0 only if an option says so; then it has no
 * capability and cannot get one back (capabilities(7): empty bounding set, locked securebits). No
 * execve() can bring a privilege back (PR_SET_NO_NEW_PRIVS).
 *
 * If no user is named it becomes PRIVILEGE_USER. If that user does not exist it takes a uid that no
 * user has, from the reserved range PRIVILEGE_FIRST to PRIVILEGE_LAST: no Debian package and no
 * dynamic user of systemd gets a uid of that range. It does not take the user `nobody`: other
 * daemons run as `nobody` and could send it signals, and an NFS server maps root's files to
 * `nobody`.
 */
#ifndef NODED_PRIVILEGE_H
#define NODED_PRIVILEGE_H

#include "common/base/error.h"

#define PRIVILEGE_USER  "gpusched-agent"
#define PRIVILEGE_FIRST 65520
#define PRIVILEGE_LAST  65533

/* `user` is NULL or "": none is named; "root": stay uid 0. A process that is not root has no
 * privilege to drop, and then naming another user than its own is an error. Logs if it must take a
 * reserved uid. -1 with ERR_SYSTEM or ERR_USAGE: the caller must end the process. */
int privilege_drop(const char *user, struct error *err);

#endif
