/* tap_fds.h - what gtap inherits: one client's end of a stream, as the owner of a run
 *
 * The launcher starts it for a stream that it has granted (stream_grants.c), with the socket to the
 * network half and the grant (TapGrant) as descriptors. First it becomes the run's owner, proved as
 * for a job (become_user.h), without new privileges. Only then does it shake hands with the client
 * and open the files that the owner's job has named: no client can read through it what the owner
 * could not read himself. It ends with its socket.
 */
#ifndef NODED_TAP_FDS_H
#define NODED_TAP_FDS_H

#define TAP_SOCKET_FD 3
#define TAP_GRANT_FD  4
#define TAP_HOLD_FD   5 /* to ghold, unless TapGrant.no_attach says why not */

#endif
