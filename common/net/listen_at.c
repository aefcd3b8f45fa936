/* listen_at.c - where a program listens, as its options name it */
#include "common/net/listen_at.h"

#include <netdb.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/units.h"
#include "common/base/xalloc.h"

struct addrinfo *listen_at(const char *text, uint16_t least, struct error *err)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM,
		.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE },
	                *found;
	const char *colon = strrchr(text, ':'), *port = colon ? colon + 1 : text;
	char *host = colon ? xstrndup(text, (size_t)(colon - text)) : xstrdup("127.0.0.1");
	size_t len = strlen(host);
	uint64_t n;
	int rc = count_parse(port, least, UINT16_MAX, &n, NULL);

	if (*host == '[' && host[len - 1] == ']') {
		host[len - 1] = '\0';
		memmove(host, host + 1, len - 1);
	}
	if (rc < 0 || getaddrinfo(host, port, &hints, &found) != 0) {
		error_set(err, ERR_USAGE, "expected [ADDRESS:]PORT, with an address in numbers");
		found = NULL;
	}
	free(host);
	return found;
}
