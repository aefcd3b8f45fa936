/* streams.h - bytes between clients and runs, passed on unread
 *
 * A stream has two ends: a client's session with the number that the client gave it, and the
 * session of a node's agent with a number of the controller's. What comes from one end goes to the
 * other at once: it reports no state of the controller, so it does not wait at the gate. The bytes
 * are encrypted from end to end (common/net/channel.h); the controller knows which user is connected
 * to which run, and how many bytes are sent.
 *
 * Bounds: an end may have STREAM_WINDOW bytes on their way, counted here both ways; if it sends
 * more, or gives credit for bytes that never came, its stream is closed. So a stream occupies at
 * most STREAM_WINDOW bytes in the session of a peer that reads nothing, whatever the other streams
 * do. There are at most STREAMS_A_SESSION to a client's session, controller.streams_per_user of a
 * user (by default half of what a node can have, so that no user locks out the others),
 * STREAMS_A_NODE to an agent, STREAMS_MAX.
 *
 * A stream ends with the session of either end; the other end is notified. Nothing about a stream
 * is stored.
 */
#ifndef CTLD_STREAMS_H
#define CTLD_STREAMS_H

#include <stddef.h>
#include <stdint.h>

struct ctld;
struct peer;
struct streams;

#define STREAMS_A_SESSION 64
#define STREAMS_A_NODE    1024
#define STREAMS_MAX       16384

struct streams *streams_new(void);
void streams_free(struct streams *s); /* after the peers; NULL is fine */

/* A peer goes: its streams end. */
void streams_drop(struct ctld *c, struct peer *peer);

struct streams_stats {
	size_t open;
	uint64_t opened, cut_off, bytes;
};
void streams_stats(const struct streams *s, struct streams_stats *out);

#endif
