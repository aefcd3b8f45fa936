/* grant.h - what helpers of the launcher do first: read what they were told, become the owner
 *
 * gtap and ghold are started as root and told in memory whom to become (OutputRecord). Until that
 * is done and proved (drop.h) they touch nothing.
 */
#ifndef NODED_GRANT_H
#define NODED_GRANT_H

#include "common/gpusched.pb-c.h"

/* The whole of `fd`, decoded; `fd` is closed, and the bytes are wiped. NULL: it cannot be. */
ProtobufCMessage *grant_read(int fd, const ProtobufCMessageDescriptor *desc);

/* Without new privileges, and not to be looked into by the owner's other processes. Descriptors
 * from `keep_below` on are closed. -1: the process must end. */
int grant_become_owner(const Gpusched__OutputRecord *owner, unsigned keep_below);

#endif
