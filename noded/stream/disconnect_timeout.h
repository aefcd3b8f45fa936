/* disconnect_timeout.h - how long an interactive run goes on after its client's connection broke
 *
 * The timeout (Interactive.patience_s) runs from the start of the run and from each loss of its
 * client: if no client has attached when it is over, the run is ended. A client that detaches on
 * purpose (CHANNEL_DETACH) stops it: the run then goes on without one.
 *
 * After the run's end ghold waits DISCONNECT_LINGER_S for a client that takes the rest of the
 * output.
 *
 * Times are milliseconds of the monotonic clock.
 */
#ifndef NODED_DISCONNECT_TIMEOUT_H
#define NODED_DISCONNECT_TIMEOUT_H

#include <stdbool.h>
#include <stdint.h>

#define DISCONNECT_LINGER_S 60
#define DISCONNECT_FOREVER  UINT32_MAX /* patience_s: the run is never ended for it */
#define DISCONNECT_NEVER    INT64_MAX

struct disconnect_timeout {
	uint32_t patience_s;
	bool over;  /* the run has ended */
	int64_t at; /* DISCONNECT_NEVER: a client is there, or none is waited for */
};

/* The count begins: no client is there yet. */
void disconnect_init(struct disconnect_timeout *d, uint32_t patience_s);

void disconnect_attached(struct disconnect_timeout *d); /* a client is there */
void disconnect_lost(struct disconnect_timeout *d);     /* its connection broke */
void disconnect_detached(struct disconnect_timeout *d); /* it has left on purpose */
void disconnect_over(struct disconnect_timeout *d);     /* the run has ended; a count goes on */

/* When disconnect_due() must be called; DISCONNECT_NEVER: not by itself. */
int64_t disconnect_at(const struct disconnect_timeout *d);

/* True: the time is up. Of a run that goes on this is said once. */
bool disconnect_due(struct disconnect_timeout *d);

#endif
