/* server_address.h - the addresses at which a replica's server may listen
 *
 * 127.0.0.1, and for a server that listens at another address of this host alone the first one that
 * is not the loopback's. The one that answered last is tried first.
 */
#ifndef CMDS_SERVICES_SERVER_ADDRESS_H
#define CMDS_SERVICES_SERVER_ADDRESS_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#define TARGET_MAX      2
#define TARGET_TEXT_MAX (INET6_ADDRSTRLEN + 10)

struct target {
	uint16_t port;
	struct sockaddr_storage at[TARGET_MAX]; /* family 0: not known */
	int64_t look_ms;                        /* when the host's addresses are listed next */
	unsigned first;                         /* of `at`: the one to try first */
};

void target_begin(struct target *t, uint16_t port);

/* The nth to try, 0 the first. NULL: there is no further one. */
const struct sockaddr *target_get(struct target *t, unsigned nth, int64_t now_ms, socklen_t *len);

/* The nth to try has answered. */
void target_answered(struct target *t, unsigned nth);

/* Make `other` a target of the other address alone, if the server is only known to answer at the
 * loopback's. False: it answers elsewhere, or there is no other address. */
bool target_other(struct target *t, struct target *other, int64_t now_ms);

/* "127.0.0.1:8000", "[fd00::1]:8000" */
const char *target_text(const struct sockaddr *at, char out[TARGET_TEXT_MAX]);

#endif
