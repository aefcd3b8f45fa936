/* become.h - run as controller.user, and as no other user
 *
 * The controller needs no privilege. Started by root it becomes controller.user, for good, before
 * it opens a socket or the database; started by another user, that user must be controller.user.
 * It runs as root only if controller.user is root.
 */
#ifndef CTLD_BECOME_H
#define CTLD_BECOME_H

#include <sys/types.h>

#include "common/base/error.h"

/* The uid and group of a login name; blocks on the name service. ERR_CONFIG. */
int become_lookup(const char *user, uid_t *uid, gid_t *gid, struct error *err);

/* Become this user: uid, gid and groups, and check the result. ERR_SYSTEM; ERR_CONFIG if the
 * controller was started by another user. */
int become_user(const char *user, struct error *err);

#endif
