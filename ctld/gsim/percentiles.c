/* percentiles.c - see percentiles.h */
#include "ctld/gsim/percentiles.h"

#include <stdlib.h>

#include "common/base/xalloc.h"

void samples_add(struct samples *s, int64_t value)
{
	*XADD(s->v, s->n, s->size) = value;
	s->sum += (double)value;
	s->sorted = false;
}

void samples_clear(struct samples *s)
{
	free(s->v);
	*s = (struct samples){ .v = NULL };
}

double samples_mean(const struct samples *s)
{
	return s->n ? s->sum / (double)s->n : 0;
}

static int by_value(const void *x, const void *y)
{
	int64_t a = *(const int64_t *)x, b = *(const int64_t *)y;

	return (a > b) - (a < b);
}

int64_t samples_percentile(struct samples *s, unsigned percent)
{
	size_t i = s->n * percent / 100;

	if (!s->n)
		return 0;
	if (!s->sorted)
		qsort(s->v, s->n, sizeof(*s->v), by_value);
	s->sorted = true;
	return s->v[i < s->n ? i : s->n - 1];
}
