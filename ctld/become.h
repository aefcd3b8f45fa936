/* become.h - run as controller.user, and as nobody else
 *
 * The controller needs no privilege. Started by root it becomes controller.user, for good, before
 * it opens a socket or the database; started by another user, that user must be controller.user.
 * It runs as root only where controller.user says root.
 */
#ifndef CTLD_BECOME_H
#define CTLD_BECOME_H

#include <sys/types.h>

#include "common/error.h"

/* The uid and group of a login name; blocks on the name service. ERR_CONFIG. */
int become_lookup(const char *user, uid_t *uid, gid_t *gid, struct error *err);

/* Become it: uid, gid and groups, proved. ERR_SYSTEM; ERR_CONFIG when we are somebody else. */
int become_user(const char *user, struct error *err);

#endif
