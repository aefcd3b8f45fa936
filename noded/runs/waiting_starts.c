/* waiting_starts.c - see waiting_starts.h */
#include "noded/runs/waiting_starts.h"

#include <stdlib.h>

#include "common/base/clock.h"
#include "common/base/xalloc.h"

void waiting_starts_put(struct waiting_starts *q, struct waiting_start *w)
{
	struct waiting_start **end = &q->first;

	while (*end)
		end = &(*end)->next;
	w->next = NULL;
	*end = w;
}

void *waiting_starts_add(
        struct waiting_starts *q, size_t size, struct run *run, waiting_start_fn *fn, void *arg)
{
	struct waiting_start *w = xcalloc(1, size);

	*w = (struct waiting_start){ run, clock_us(CLOCK_MONOTONIC), fn, arg, NULL };
	waiting_starts_put(q, w);
	return w;
}

struct waiting_start *waiting_starts_take(struct waiting_start **at)
{
	struct waiting_start *w = *at;

	*at = w->next;
	w->next = NULL;
	return w;
}

void waiting_starts_leave(struct waiting_starts *q, const struct run *run)
{
	struct waiting_start **at = &q->first;

	while (*at && (*at)->run != run)
		at = &(*at)->next;
	if (*at)
		free(waiting_starts_take(at));
}

void waiting_start_answer(struct waiting_start *w, const char *trouble)
{
	w->fn(trouble, w->arg);
	free(w);
}

void waiting_starts_clear(struct waiting_starts *q)
{
	while (q->first)
		free(waiting_starts_take(&q->first));
}
