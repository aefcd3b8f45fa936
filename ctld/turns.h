/* turns.h - whose work is next: users take turns
 *
 * The tick's inbox is first in first out, and what one user has sent may take seconds. So what is
 * done for users waits in a line for each of them, and the inbox has only a token for each piece:
 * whose turn it is does the first of his line and goes to the end. One user's requests are done in
 * the order they came; another's first one waits for one piece of work of each user, not for all of
 * one. Agents are not users: what they send goes to the inbox itself.
 */
#ifndef CTLD_TURNS_H
#define CTLD_TURNS_H

#include <stddef.h>
#include <sys/types.h>

#include "ctld/tick.h"

struct turns;

struct turns *turns_new(struct ctld *c);
void turns_free(struct turns *t); /* after the tick; drops what is left; NULL is fine */

/* As tick_post(), in the line of user `uid`. */
void turns_post(struct turns *t, uid_t uid, const struct tick_work *work, void *arg);

#endif
