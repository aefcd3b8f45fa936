/* tapio.h - gtap between a client and ghold: messages are decrypted one way, encrypted the other
 *
 * Both ways at once, without waiting for either side, and with one message in memory each way: who
 * does not take what comes holds up his own direction. Ends the process with either side.
 */
#ifndef NODED_TAPIO_H
#define NODED_TAPIO_H

#include "common/channel.h"

/* `first` is the client's CHANNEL_ATTACH; `c` is wiped at the end. */
_Noreturn void tapio_relay(struct channel *c, const struct channel_message *first);

#endif
