/* timeline.c - see timeline.h */
#include "ctld/gsim/timeline.h"

#include <string.h>

#define FIRST_SPAN ((usec_t)1000000)

void timeline_init(struct timeline *t)
{
	memset(t, 0, sizeof(*t));
	t->span = FIRST_SPAN;
}

static void halve(struct timeline *t)
{
	size_t i;

	for (i = 0; i < TIMELINE_POINTS / 2; i++)
		t->sum[i] = t->sum[2 * i] + t->sum[2 * i + 1];
	memset(&t->sum[i], 0, (TIMELINE_POINTS - i) * sizeof(t->sum[0]));
	t->span *= 2;
}

void timeline_pass(struct timeline *t, usec_t until, double level)
{
	while (until > t->span * TIMELINE_POINTS)
		halve(t);
	while (t->end < until) {
		usec_t point = t->end / t->span, stop = (point + 1) * t->span;

		stop = stop < until ? stop : until;
		t->sum[point] += level * (double)(stop - t->end);
		t->end = stop;
	}
}

size_t timeline_points(const struct timeline *t)
{
	return (size_t)((t->end + t->span - 1) / t->span);
}

double timeline_mean(const struct timeline *t, size_t point)
{
	usec_t from = (usec_t)point * t->span, to = from + t->span;

	to = to < t->end ? to : t->end;
	return to > from ? t->sum[point] / (double)(to - from) : 0;
}
