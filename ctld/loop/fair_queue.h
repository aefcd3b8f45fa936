/* fair_queue.h - a fair queue: users take turns by the processor time that their work takes
 *
 * The tick's inboxes are first in first out, and what one user has sent may take seconds. So the
 * work for users waits in a line for each user, and the inbox has only a token for each piece of
 * it. A token does the first piece of the user whose work has taken the least processor time of
 * the loop. One user's requests are done in the order in which they came. Agents are not users:
 * what they send goes to the tick's other inbox.
 *
 * Time counts only while other users have work too. A user that comes back after a pause starts
 * where the others are, less FAIR_QUEUE_CREDIT_US, so that a short request beside long ones is
 * next. A longer pause gains no more, and time that no other user wanted costs nothing.
 */
#ifndef CTLD_FAIR_QUEUE_H
#define CTLD_FAIR_QUEUE_H

#include <stddef.h>
#include <sys/types.h>

#include "ctld/loop/tick.h"

struct fair_queue;

#define FAIR_QUEUE_CREDIT_US 50000

struct fair_queue *fair_queue_new(struct ctld *c);
void fair_queue_free(struct fair_queue *t); /* after the tick; drops what is left; NULL is fine */

/* As tick_post(), in the line of user `uid`. */
void fair_queue_post(struct fair_queue *t, uid_t uid, const struct tick_work *work, void *arg);

#endif
