/* stream_grants.h - streams to runs: starts gtap for each client that may have one
 *
 * A stream is a descriptor that the launcher hands to the network half, with gtap at its other end.
 */
#ifndef NODED_STREAM_GRANTS_H
#define NODED_STREAM_GRANTS_H

#include "common/gpusched.pb-c.h"

struct launcher;
struct streams;

/* `fd`: of the socket to the network half, for descriptors; -1: this agent has no streams. It is
 * taken over. */
struct streams *streams_new(int fd);
void streams_free(struct streams *s); /* NULL is fine */
int streams_fd(const struct streams *s);

/* A run is being started: record its owner and where its output will be. */
void streams_remember(struct launcher *l, const char *name, const Gpusched__LaunchRecord *r);
/* A client's greeting to a run. The answer is an error, or a descriptor. */
void streams_request(struct launcher *l, const Gpusched__LauncherStream *m);
/* Send the network half the log's descriptor, which stays the caller's. */
void streams_hand_log(const struct launcher *l, int fd);

/* The facts of a run's owner that gtap and ghold need; borrows. */
void streams_owner(const Gpusched__LaunchRecord *r, Gpusched__OutputRecord *out);

#endif
