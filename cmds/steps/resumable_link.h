/* resumable_link.h - a link that survives its connection
 *
 * A stream to a node goes through the controller, which may be restarted while a step runs. So what
 * is sent over a stream is kept until the other side has said that it arrived, and a new connection
 * goes on where the last one broke:
 *
 *	STEP_RESUME  u64 session, u64 bytes received: the first frame of both sides. The side that
 *	             connects chooses the session, a random number that is not 0
 *	STEP_ACK     u64 bytes received
 *	STEP_BYE     the side that connects has ended: the last of its frames
 *
 * Only whole frames are sent and counted, and none of these three counts. Pure: bytes in and out.
 */
#ifndef CMDS_STEPS_RESUMABLE_LINK_H
#define CMDS_STEPS_RESUMABLE_LINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/error.h"

#define RESUMABLE_LINK_RESUME_LEN 23 /* bytes of the frame */

struct resumable_link;

struct resumable_link *resumable_link_new(uint64_t session);
void resumable_link_free(struct resumable_link *l); /* NULL is fine */
uint64_t resumable_link_session(const struct resumable_link *l);

/* The session of a connection by its first bytes: 1; 0: more are needed; -1: it does not begin
 * with STEP_RESUME. */
int resumable_link_peek(const uint8_t *bytes, size_t len, uint64_t *session);

/* A new connection: says STEP_RESUME, and nothing else until the other side's has come. */
void resumable_link_connect(struct resumable_link *l);
void resumable_link_break(struct resumable_link *l);
bool resumable_link_is_connected(const struct resumable_link *l); /* both have greeted */

/* To the other side: any pieces of whole frames. resumable_link_kept(): bytes that it has not
 * yet. */
void resumable_link_put(struct resumable_link *l, const void *bytes, size_t len);
size_t resumable_link_kept(const struct resumable_link *l);

/* Send STEP_BYE after all other frames. The other side sees it with resumable_link_is_over(). */
void resumable_link_bye(struct resumable_link *l);
bool resumable_link_is_over(const struct resumable_link *l);

/* For the connection at hand. */
const uint8_t *resumable_link_pending(struct resumable_link *l, size_t *len);
void resumable_link_sent(struct resumable_link *l, size_t len);

/* From it. What is of the link is then resumable_link_arrived(). -1: it cannot go on, ever. */
int resumable_link_feed(struct resumable_link *l, const void *bytes, size_t len, struct error *err);
const uint8_t *resumable_link_arrived(const struct resumable_link *l, size_t *len);
void resumable_link_taken(struct resumable_link *l, size_t len);

#endif
