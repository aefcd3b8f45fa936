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

#define SERVER_ADDRESS_MAX      2
#define SERVER_ADDRESS_TEXT_MAX (INET6_ADDRSTRLEN + 10)

struct server_address {
	uint16_t port;
	struct sockaddr_storage at[SERVER_ADDRESS_MAX]; /* family 0: not known */
	int64_t look_ms;                        /* when the host's addresses are listed next */
	unsigned first;                         /* of `at`: the one to try first */
};

void server_address_begin(struct server_address *t, uint16_t port);

/* The nth to try, 0 the first. NULL: there is no further one. */
const struct sockaddr *server_address_get(
        struct server_address *t, unsigned nth, int64_t now_ms, socklen_t *len);

/* The nth to try has answered. */
void server_address_answered(struct server_address *t, unsigned nth);

/* Make `other` a target of the other address alone, if the server is only known to answer at the
 * loopback's. False: it answers elsewhere, or there is no other address. */
bool server_address_other(struct server_address *t, struct server_address *other, int64_t now_ms);

/* "127.0.0.1:8000", "[fd00::1]:8000" */
const char *server_address_text(const struct sockaddr *at, char out[SERVER_ADDRESS_TEXT_MAX]);

#endif
