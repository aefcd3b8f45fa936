/* waiting_starts.h - a queue of starts that wait, and of what else waits for an answer, in order of
 * arrival
 *
 * A part that lets starts wait has such a queue. A waiter is made with room for what the part keeps
 * of it, whose first member is the struct waiting_start.
 */
#ifndef NODED_WAITING_STARTS_H
#define NODED_WAITING_STARTS_H

#include <stddef.h>

#include "common/job/run.h"

struct run;

/* The wait is over: `trouble` NULL: what was waited for is there; else why it is not. */
typedef void waiting_start_fn(const char *trouble, void *arg);

struct waiting_start {
	struct run *run; /* NULL: none */
	usec_t since;    /* mono */
	waiting_start_fn *fn;
	void *arg;
	struct waiting_start *next;
};

struct waiting_starts {
	struct waiting_start *first;
};

/* A new waiter of `size` bytes, all else 0, at the end. */
void *waiting_starts_add(
        struct waiting_starts *q, size_t size, struct run *run, waiting_start_fn *fn, void *arg);
/* The run leaves the queue, if it is in it, without an answer. */
void waiting_starts_leave(struct waiting_starts *q, const struct run *run);
/* Take the waiter at *at out; it is the caller's. */
struct waiting_start *waiting_starts_take(struct waiting_start **at);
/* Put it at the end, as it is. */
void waiting_starts_put(struct waiting_starts *q, struct waiting_start *w);
/* Answer it and free it. The callback may add others to any queue. */
void waiting_start_answer(struct waiting_start *w, const char *trouble);
void waiting_starts_clear(struct waiting_starts *q); /* without an answer */

#endif
