/* waiting_starts.h - a queue of starts that wait, and of what else waits for an answer, in order of
 * arrival
 *
 * A part that lets starts wait has such a queue. A waiter is made with room for what the part keeps
 * of it, whose first member is the struct waiter.
 */
#ifndef NODED_WAITING_STARTS_H
#define NODED_WAITING_STARTS_H

#include <stddef.h>

#include "common/job/run.h"

struct run;

/* The wait is over: `trouble` NULL: what was waited for is there; else why it is not. */
typedef void waiter_fn(const char *trouble, void *arg);

struct waiter {
	struct run *run; /* NULL: none */
	usec_t since;    /* mono */
	waiter_fn *fn;
	void *arg;
	struct waiter *next;
};

struct waiters {
	struct waiter *first;
};

/* A new waiter of `size` bytes, all else 0, at the end. */
void *waiters_add(struct waiters *q, size_t size, struct run *run, waiter_fn *fn, void *arg);
/* The run leaves the queue, if it is in it, without an answer. */
void waiters_leave(struct waiters *q, const struct run *run);
/* Take the waiter at *at out; it is the caller's. */
struct waiter *waiters_take(struct waiter **at);
/* Put it at the end, as it is. */
void waiters_put(struct waiters *q, struct waiter *w);
/* Answer it and free it. The callback may add others to any queue. */
void waiter_answer(struct waiter *w, const char *trouble);
void waiters_clear(struct waiters *q); /* without an answer */

#endif
