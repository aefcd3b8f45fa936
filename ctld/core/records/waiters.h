/* waiters.h - who waits for the end of which job (--wait), or for its start (grun)
 *
 * Sessions are the world's: a waiter is the number of its request. One request may wait for many
 * jobs. Volatile: after a restart the client asks again.
 */
#ifndef CTLD_CORE_WAITERS_H
#define CTLD_CORE_WAITERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct waiters;

struct waiters *waiters_new(uint64_t seed);
void waiters_free(struct waiters *w); /* NULL is fine */

void waiters_add(struct waiters *w, uint64_t job, uint64_t reply);
/* Take one waiter for `job` out, in the order of asking. False: none. */
bool waiters_take(struct waiters *w, uint64_t job, uint64_t *reply);
void waiters_cancel(struct waiters *w, uint64_t reply);
size_t waiters_count(const struct waiters *w);

#endif
