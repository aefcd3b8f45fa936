/* splice.h - bytes between two connections, both ways, until both ways have ended
 *
 * Each way has at most SPLICE_MAX bytes in memory, and what libevent reads at once: a side that
 * does not read stops the other. An end of one way is passed on (half close) and the other goes on.
 * A side that breaks ends both, once the other has got what was still under way. After the end of
 * `b`, the server, `a` may be silent for SPLICE_LINGER_S; then it is over.
 */
#ifndef CMDS_FEED_SPLICE_H
#define CMDS_FEED_SPLICE_H

#include <stdbool.h>
#include <stddef.h>

struct bufferevent;

#define SPLICE_MAX      ((size_t)64 * 1024)
#define SPLICE_LINGER_S 10

/* Takes over both, with what is in their buffers; `a_ended`: there will be no more from `a`. `done`
 * is called when it is over and all is freed, never before this returns. */
void splice_new(struct bufferevent *a, bool a_ended, struct bufferevent *b, void (*done)(void *arg),
        void *arg);

#endif
