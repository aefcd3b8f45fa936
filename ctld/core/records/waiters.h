/* waiters.h - the requests that wait for the end of a job (--wait), or for its start (grun)
 *
 * Sessions belong to the world: a waiter is the number of its request. One request may wait for
 * many jobs. Volatile: after a restart the client sends its request again.
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
/* Remove one waiter for `job`, in the order of the requests. False: none. */
bool waiters_take(struct waiters *w, uint64_t job, uint64_t *reply);
void waiters_cancel(struct waiters *w, uint64_t reply);
size_t waiters_count(const struct waiters *w);

#endif
