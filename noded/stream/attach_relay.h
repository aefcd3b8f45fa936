/* attach_relay.h - gtap between a client and ghold: messages are decrypted one way, encrypted the
 * other
 *
 * Both directions run at once, without waiting for either side, with one message in memory for
 * each: a side that does not read delays its own direction. The process ends when either side does.
 */
#ifndef NODED_ATTACH_RELAY_H
#define NODED_ATTACH_RELAY_H

#include "common/net/channel.h"

/* `first` is the client's CHANNEL_ATTACH; `c` is wiped at the end. */
_Noreturn void attach_relay(struct channel *c, const struct channel_message *first);

/* The same with bytes: CHANNEL_STEP_DATA to and from `fd`, a connection to gstepd. */
_Noreturn void attach_relay_steps(struct channel *c, int fd);

#endif
