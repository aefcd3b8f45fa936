/* tap_channel.h - gtap's messages to its client and from it
 *
 * If a message cannot be sent or is invalid the process ends: there is no way to report the error.
 */
#ifndef NODED_TAP_CHANNEL_H
#define NODED_TAP_CHANNEL_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/error.h"
#include "common/gpusched.pb-c.h"
#include "common/net/channel.h"

struct tap {
	Gpusched__TapGrant *grant;
	struct channel *channel; /* NULL until the client has confirmed */
};

/* Bytes as they are: of the handshake. */
void tap_send(const void *bytes, size_t len);

void tap_say(struct tap *t, unsigned kind, const void *data, size_t len);

/* Say why the stream ends (ERR_NONE: as it should), and end. */
_Noreturn void tap_end(struct tap *t, const struct error *why);

/* Wait for the client. False: nothing came within `ms`. */
bool tap_wait(int ms);

/* The next message of the client. False: none within `ms`. */
bool tap_hear(struct tap *t, struct channel_message *m, int ms);

#endif
