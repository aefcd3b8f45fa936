/* turns.h - a fair queue: users take turns by the processor time that their work takes
 *
 * The tick's inboxes are first in first out, and what one user has sent may take seconds. So the
 * work for users waits in a line for each user, and the inbox has only a token for each piece of
 * it. A token does the first piece of the user whose work has taken the least processor time of
 * the loop. One user's requests are done in the order in which they came. Agents are not users:
 * what they send goes to the tick's other inbox.
 *
 * Time counts only while other users have work too. A user that comes back after a pause starts
 * where the others are, less TURNS_CREDIT_US, so that a short request beside long ones is next. A
 * longer pause gains no more, and time that no other user wanted costs nothing.
 */
#ifndef CTLD_TURNS_H
#define CTLD_TURNS_H

#include <stddef.h>
#include <sys/types.h>

#include "ctld/loop/tick.h"

struct turns;

#define TURNS_CREDIT_US 50000

struct turns *turns_new(struct ctld *c);
void turns_free(struct turns *t); /* after the tick; drops what is left; NULL is fine */

/* As tick_post(), in the line of user `uid`. */
void turns_post(struct turns *t, uid_t uid, const struct tick_work *work, void *arg);

#endif
