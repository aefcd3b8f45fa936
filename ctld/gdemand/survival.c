/* survival.c - see survival.h */
#include "ctld/gdemand/survival.h"

#include <math.h>
#include <stdlib.h>

#include "common/base/xalloc.h"

void survival_add(struct survival *s, double time, bool gave_up, uint32_t block)
{
	if (!isfinite(time) || time < 0)
		return;
	*XADD(s->v, s->n, s->size) = (struct survival_item){ time, gave_up, block };
}

static int by_time(const void *x, const void *y)
{
	const struct survival_item *a = x, *b = y;

	return a->time < b->time ? -1 : a->time > b->time;
}

void survival_seal(struct survival *s)
{
	if (s->n)
		qsort(s->v, s->n, sizeof(*s->v), by_time);
}

void survival_clear(struct survival *s)
{
	free(s->v);
	*s = (struct survival){ 0 };
}

static double count_of(const struct survival_item *item, const uint32_t *times)
{
	return times ? times[item->block] : 1;
}

double survival_quantile(const struct survival *s, double q, const uint32_t *times)
{
	double at_risk = 0, stay = 1;
	size_t i, k;

	for (i = 0; i < s->n; i++)
		at_risk += count_of(&s->v[i], times);
	for (i = 0; i < s->n; i = k) {
		double leave = 0, gone = 0;

		for (k = i; k < s->n && s->v[k].time == s->v[i].time; k++) {
			leave += count_of(&s->v[k], times);
			gone += s->v[k].gave_up ? count_of(&s->v[k], times) : 0;
		}
		if (gone > 0)
			stay *= 1 - gone / at_risk;
		if (gone > 0 && 1 - stay >= q * (1 - 1e-12))
			return s->v[i].time;
		at_risk -= leave;
	}
	return NAN;
}
