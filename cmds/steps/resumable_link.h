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

#define LASTING_RESUME_LEN 23 /* bytes of the frame */

struct lasting;

struct lasting *lasting_new(uint64_t session);
void lasting_free(struct lasting *l); /* NULL is fine */
uint64_t lasting_session(const struct lasting *l);

/* The session of a connection by its first bytes: 1; 0: more are needed; -1: it does not begin
 * with STEP_RESUME. */
int lasting_peek(const uint8_t *bytes, size_t len, uint64_t *session);

/* A new connection: says STEP_RESUME, and nothing else until the other side's has come. */
void lasting_connect(struct lasting *l);
void lasting_break(struct lasting *l);
bool lasting_is_connected(const struct lasting *l); /* both have greeted */

/* To the other side: any pieces of whole frames. lasting_kept(): bytes that it has not yet. */
void lasting_put(struct lasting *l, const void *bytes, size_t len);
size_t lasting_kept(const struct lasting *l);

/* Send STEP_BYE after all other frames. The other side sees it with lasting_is_over(). */
void lasting_bye(struct lasting *l);
bool lasting_is_over(const struct lasting *l);

/* For the connection at hand. */
const uint8_t *lasting_pending(struct lasting *l, size_t *len);
void lasting_sent(struct lasting *l, size_t len);

/* From it. What is of the link is then lasting_arrived(). -1: it cannot go on, ever. */
int lasting_feed(struct lasting *l, const void *bytes, size_t len, struct error *err);
const uint8_t *lasting_arrived(const struct lasting *l, size_t *len);
void lasting_taken(struct lasting *l, size_t len);

#endif
