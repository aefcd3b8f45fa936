/* step_function.c - see step_function.h
 *
 * One pass over the steps in the order of time, with the level after each of them. `since` is the
 * time from which the level has sufficed without a break; the first `since` that holds for the
 * whole length is the answer. Behind the last step nothing changes any more, so a `since` that is
 * left there is the answer, too.
 */
#include "ctld/core/plan/step_function.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/bisect.h"
#include "common/base/each.h"
#include "common/base/xalloc.h"

#define FEW 200 /* steps; with more, qsort() is faster */

void step_function_free(struct step_function *s)
{
	free(s->v);
	*s = (struct step_function){ .v = NULL };
}

void step_function_clear(struct step_function *s)
{
	s->n = 0;
}

void step_function_add(struct step_function *s, usec_t at, struct plan_room by)
{
	*XADD(s->v, s->n, s->size) = (struct level_step){ at, by };
}

static int by_time(const void *x, const void *y)
{
	const struct level_step *a = x, *b = y;

	return (a->at > b->at) - (a->at < b->at);
}

/* Binary insertion: faster than qsort() for so few steps, most of which are in order already. */
static void sort_few(struct level_step *v, size_t n)
{
	for (size_t i = 1; i < n; i++) {
		struct level_step step = v[i];
		size_t to;

		if (v[i - 1].at <= step.at)
			continue;
		BISECT(to, i, v[to].at <= step.at);
		memmove(&v[to + 1], &v[to], (i - to) * sizeof(*v));
		v[to] = step;
	}
}

static bool enough(const struct plan_room *level, const struct plan_room *need)
{
	return level->gpus >= need->gpus && level->cpus >= need->cpus &&
	       level->mem_mb >= need->mem_mb;
}

usec_t step_function_earliest(struct step_function *s, usec_t now, struct plan_room level,
        const struct plan_room *need, usec_t length, usec_t forever)
{
	usec_t since = enough(&level, need) ? now : INT64_MAX;
	size_t i = 0;

	if (s->n <= FEW)
		sort_few(s->v, s->n);
	else
		qsort(s->v, s->n, sizeof(*s->v), by_time);
	while (i < s->n) {
		usec_t at = s->v[i].at;

		if (since != INT64_MAX && at > since &&
		        at >= (length == INT64_MAX ? forever : since + length))
			return since;
		for (; i < s->n && s->v[i].at == at; i++) {
			ADD_FIELDS(&level, &s->v[i].by, gpus, cpus, mem_mb);
		}
		if (!enough(&level, need))
			since = INT64_MAX;
		else if (since == INT64_MAX)
			since = at > now ? at : now;
	}
	return since;
}
