/* weighted_stats.c - see weighted_stats.h */
#include "ctld/gdemand/weighted_stats.h"

#include <math.h>
#include <stdlib.h>

#include "common/base/xalloc.h"

void weighted_add(struct weighted *w, double value, double weight, uint32_t block)
{
	if (!isfinite(value) || !isfinite(weight) || weight <= 0)
		return;
	*XADD(w->v, w->n, w->size) = (struct weighted_item){ value, weight, block };
}

static int by_value(const void *x, const void *y)
{
	const struct weighted_item *a = x, *b = y;

	if (a->value != b->value)
		return a->value < b->value ? -1 : 1;
	return a->block < b->block ? -1 : a->block > b->block;
}

void weighted_seal(struct weighted *w)
{
	size_t i, n = 0;

	if (!w->n)
		return;
	qsort(w->v, w->n, sizeof(*w->v), by_value);
	for (i = 1; i < w->n; i++) {
		if (w->v[i].value == w->v[n].value && w->v[i].block == w->v[n].block)
			w->v[n].weight += w->v[i].weight;
		else
			w->v[++n] = w->v[i];
	}
	w->n = n + 1;
}

void weighted_clear(struct weighted *w)
{
	free(w->v);
	*w = (struct weighted){ 0 };
}

static double weight_of(const struct weighted_item *item, const uint32_t *times)
{
	return times ? item->weight * times[item->block] : item->weight;
}

double weighted_total(const struct weighted *w, const uint32_t *times)
{
	double sum = 0;
	size_t i;

	for (i = 0; i < w->n; i++)
		sum += weight_of(&w->v[i], times);
	return sum;
}

double weighted_mean(const struct weighted *w, const uint32_t *times)
{
	double sum = 0, total = weighted_total(w, times);
	size_t i;

	for (i = 0; i < w->n; i++)
		sum += w->v[i].value * weight_of(&w->v[i], times);
	return total > 0 ? sum / total : NAN;
}

double weighted_cv(const struct weighted *w, const uint32_t *times)
{
	double mean = weighted_mean(w, times), total = weighted_total(w, times), sum = 0;
	size_t i;

	if (!(mean > 0))
		return NAN;
	for (i = 0; i < w->n; i++)
		sum += (w->v[i].value - mean) * (w->v[i].value - mean) * weight_of(&w->v[i], times);
	return sqrt(sum / total) / mean;
}

void weighted_quantiles(
        const struct weighted *w, const double *q, size_t n, const uint32_t *times, double *out)
{
	double total = weighted_total(w, times), sum = 0, last = NAN;
	size_t i, k = 0;

	for (i = 0; i < w->n && k < n && total > 0; i++) {
		double weight = weight_of(&w->v[i], times);

		if (weight <= 0)
			continue;
		sum += weight;
		last = w->v[i].value;
		/* Sums of the same weights differ by rounding alone. */
		while (k < n && sum >= q[k] * total * (1 - 1e-12))
			out[k++] = last;
	}
	while (k < n)
		out[k++] = last;
}

double weighted_quantile(const struct weighted *w, double q, const uint32_t *times)
{
	double value;

	weighted_quantiles(w, &q, 1, times, &value);
	return value;
}
