/* waiting_starts.c - see waiting_starts.h */
#include "noded/runs/waiting_starts.h"

#include <stdlib.h>

#include "common/base/clock.h"
#include "common/base/xalloc.h"

void waiters_put(struct waiters *q, struct waiter *w)
{
	struct waiter **end = &q->first;

	while (*end)
		end = &(*end)->next;
	w->next = NULL;
	*end = w;
}

void *waiters_add(struct waiters *q, size_t size, struct run *run, waiter_fn *fn, void *arg)
{
	struct waiter *w = xcalloc(1, size);

	*w = (struct waiter){ run, clock_us(CLOCK_MONOTONIC), fn, arg, NULL };
	waiters_put(q, w);
	return w;
}

struct waiter *waiters_take(struct waiter **at)
{
	struct waiter *w = *at;

	*at = w->next;
	w->next = NULL;
	return w;
}

void waiters_leave(struct waiters *q, const struct run *run)
{
	struct waiter **at = &q->first;

	while (*at && (*at)->run != run)
		at = &(*at)->next;
	if (*at)
		free(waiters_take(at));
}

void waiter_answer(struct waiter *w, const char *trouble)
{
	w->fn(trouble, w->arg);
	free(w);
}

void waiters_clear(struct waiters *q)
{
	while (q->first)
		free(waiters_take(&q->first));
}
