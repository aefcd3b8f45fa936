/* viewer_cache.h - what the controller has said of users, for a while
 *
 * So that a request with a known cookie needs no answer of the controller. After VIEWERS_FRESH_S
 * the controller is asked again; while it does not answer, what it said last stays good.
 * Thread-safe; nothing blocks.
 */
#ifndef CMDS_VIEWER_CACHE_H
#define CMDS_VIEWER_CACHE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "cmds/web/viewer.h"

#define VIEWERS_FRESH_S 10
#define VIEWERS_MAX     4096 /* the one that was asked for longest ago goes */

struct viewers;

struct viewers *viewers_new(void);
void viewers_free(struct viewers *vs); /* NULL is fine */

/* A reference, or NULL. `now`: seconds of a clock that only goes forward. *fresh: it needs not be
 * asked for again yet. */
struct viewer *viewers_find(struct viewers *vs, uid_t uid, int64_t now, bool *fresh);
struct viewer *viewers_find_name(struct viewers *vs, const char *name, int64_t now, bool *fresh);

/* What the controller said now; it takes a reference of its own. NULL: that is no user any more. */
void viewers_set(struct viewers *vs, uid_t uid, const struct viewer *v, int64_t now);

#endif
