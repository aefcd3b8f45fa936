/* service_unavailable.h - closing a connection so that an HTTP client knows why
 *
 * What looks like HTTP gets "503 Service Unavailable" with the reason; anything else is just
 * closed. The request may not be here yet: it is waited for, a second at most, and by so many
 * connections at most.
 */
#ifndef CMDS_FEED_SERVICE_UNAVAILABLE_H
#define CMDS_FEED_SERVICE_UNAVAILABLE_H

#include <stdbool.h>
#include <stddef.h>

struct bufferevent;

#define SERVICE_UNAVAILABLE_MAX 1000 /* at once; more are closed without a word */
#define SERVICE_UNAVAILABLE_WHY 120  /* bytes, with the NUL */

/* Do these first bytes of a connection look like a request of HTTP? */
bool service_unavailable_is_http(const char *bytes, size_t n);

/* Takes it over. `count` is how many are being refused, and outlives them. `why` is copied: a line
 * without its end. */
void service_unavailable(struct bufferevent *bev, unsigned *count, const char *why);

#endif
