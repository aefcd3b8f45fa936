/* server_address.c - see server_address.h */
#include "cmds/services/server_address.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>

#define LOOK_AGAIN_MS 30000 /* addresses come late where a network is slow */

union address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
	struct sockaddr_storage room;
};

void server_address_begin(struct server_address *t, uint16_t port)
{
	union address a = { .v4 = { .sin_family = AF_INET,
		                    .sin_port = htons(port),
		                    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) } };

	*t = (struct server_address){ .port = port };
	t->at[0] = a.room;
}

/* 2: IPv4; 1: IPv6, if there is no other; 0: none of those meant. */
static int rank(const struct ifaddrs *i)
{
	const struct sockaddr_in6 *v6;

	if (!i->ifa_addr || !(i->ifa_flags & IFF_UP) || i->ifa_flags & IFF_LOOPBACK)
		return 0;
	if (i->ifa_addr->sa_family == AF_INET)
		return 2;
	if (i->ifa_addr->sa_family != AF_INET6)
		return 0;
	v6 = (const struct sockaddr_in6 *)(const void *)i->ifa_addr;
	return !IN6_IS_ADDR_LINKLOCAL(&v6->sin6_addr);
}

static void look(struct server_address *t)
{
	struct ifaddrs *list = NULL;
	union address a = { .room.ss_family = 0 };
	int best = 0;

	if (getifaddrs(&list) < 0)
		return;
	for (const struct ifaddrs *i = list; i; i = i->ifa_next) {
		if (rank(i) <= best)
			continue;
		best = rank(i);
		memset(&a, 0, sizeof(a));
		memcpy(&a, i->ifa_addr, best == 2 ? sizeof(a.v4) : sizeof(a.v6));
		if (best == 2)
			a.v4.sin_port = htons(t->port);
		else
			a.v6.sin6_port = htons(t->port);
	}
	freeifaddrs(list);
	t->at[1] = a.room;
}

const struct sockaddr *server_address_get(
        struct server_address *t, unsigned nth, int64_t now_ms, socklen_t *len)
{
	unsigned i = nth < SERVER_ADDRESS_MAX ? (t->first + nth) % SERVER_ADDRESS_MAX
	                                      : SERVER_ADDRESS_MAX;

	if (i == SERVER_ADDRESS_MAX)
		return NULL;
	if (i > 0 && now_ms >= t->look_ms) {
		look(t);
		t->look_ms = now_ms + LOOK_AGAIN_MS;
	}
	if (!t->at[i].ss_family)
		return NULL;
	*len = t->at[i].ss_family == AF_INET ? sizeof(struct sockaddr_in)
	                                     : sizeof(struct sockaddr_in6);
	return (const struct sockaddr *)&t->at[i];
}

void server_address_answered(struct server_address *t, unsigned nth)
{
	t->first = (t->first + nth) % SERVER_ADDRESS_MAX;
}

bool server_address_other(struct server_address *t, struct server_address *other, int64_t now_ms)
{
	socklen_t len;

	if (t->first != 0 || !server_address_get(t, 1, now_ms, &len))
		return false;
	*other = (struct server_address){ .port = t->port, .look_ms = INT64_MAX };
	other->at[0] = t->at[1];
	return true;
}

const char *server_address_text(const struct sockaddr *at, char out[SERVER_ADDRESS_TEXT_MAX])
{
	const struct sockaddr_in *v4 = (const void *)at;
	const struct sockaddr_in6 *v6 = (const void *)at;
	char host[INET6_ADDRSTRLEN] = "?";

	if (at->sa_family == AF_INET) {
		inet_ntop(AF_INET, &v4->sin_addr, host, sizeof(host));
		snprintf(out, SERVER_ADDRESS_TEXT_MAX, "%s:%u", host, ntohs(v4->sin_port));
	} else {
		inet_ntop(AF_INET6, &v6->sin6_addr, host, sizeof(host));
		snprintf(out, SERVER_ADDRESS_TEXT_MAX, "[%s]:%u", host, ntohs(v6->sin6_port));
	}
	return out;
}
