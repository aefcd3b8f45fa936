/* wait_replies.h - the requests that wait for the end of a job (--wait), or for its start (grun)
 *
 * Sessions belong to the world: a waiter is the number of its request. One request may wait for
 * many jobs. Volatile: after a restart the client sends its request again.
 */
#ifndef CTLD_CORE_WAIT_REPLIES_H
#define CTLD_CORE_WAIT_REPLIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct wait_replies;

struct wait_replies *wait_replies_new(uint64_t seed);
void wait_replies_free(struct wait_replies *w); /* NULL is fine */

void wait_replies_add(struct wait_replies *w, uint64_t job, uint64_t reply);
/* Remove one waiter for `job`, in the order of the requests. False: none. */
bool wait_replies_take(struct wait_replies *w, uint64_t job, uint64_t *reply);
void wait_replies_cancel(struct wait_replies *w, uint64_t reply);
size_t wait_replies_count(const struct wait_replies *w);

#endif
