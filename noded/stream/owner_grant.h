/* owner_grant.h - the first steps of the launcher's helpers: read the grant, become the owner
 *
 * gtap and ghold are started as root; a message in memory names the user that they must become
 * (OutputRecord). Until that is done and proved (become_user.h) they touch nothing.
 */
#ifndef NODED_OWNER_GRANT_H
#define NODED_OWNER_GRANT_H

#include "common/gpusched.pb-c.h"

/* The content of `fd`, decoded; `fd` is closed and the bytes are wiped. NULL: it cannot be read. */
ProtobufCMessage *owner_grant_read(int fd, const ProtobufCMessageDescriptor *desc);

/* Become the owner, without new privileges, and so that the owner's other processes cannot debug
 * this one. Descriptors from `keep_below` on are closed. -1: the process must end. */
int owner_grant_become_owner(const Gpusched__OutputRecord *owner, unsigned keep_below);

#endif
