/* ask_as_user.h - asking the controller as the user that looks
 *
 * gweb's own user sees all jobs, so nothing that a page is made of is asked as that. A connection
 * is told first for which user it looks (LookAs); if it broke in between, and another one was made
 * in its place, what was told is thrown away and asked for once more. For threads that may block.
 */
#ifndef CMDS_ASK_AS_USER_H
#define CMDS_ASK_AS_USER_H

#include "cmds/api/client.h"
#include "cmds/web/viewer.h"
#include "common/base/error.h"

/* What the controller says of a user now. NULL with `err`; ERR_NOT_PERMITTED: there is none, or
 * gweb is not among roles.web_users. */
struct viewer *ask_viewer(struct client *c, uid_t uid, struct error *err);

/* As client_call(), as that user. on_chunk may be called for parts that are told again after
 * `again`, which forgets what was kept of those before; `again` may be NULL where nothing is
 * kept. */
int ask_as(struct client *c, uid_t uid, const struct client_call *call, void (*again)(void *arg),
        struct error *err);

#endif
