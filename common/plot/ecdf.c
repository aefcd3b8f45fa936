/* ecdf.c - distributions; see plot.h
 *
 * All lines end at 100 %, so their names stand in the order of their medians and say them.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/xalloc.h"
#include "common/plot/plot_impl.h"

struct line {
	double *x, *y; /* owned */
	size_t n;
	double median;
	struct strbuf name;
};

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Equal values are one step. The last point is at `end`, the right edge. */
static void make_line(struct line *l, const struct plot_samples *s, enum plot_unit unit, double end)
{
	double *sorted = xcalloc(s->n ? s->n : 1, sizeof(*sorted));
	char median[PLOT_TICK_TEXT];
	size_t n = 0, i;

	for (i = 0; i < s->n; i++) {
		if (plot_is_value(s->v[i]))
			sorted[n++] = s->v[i];
	}
	qsort(sorted, n, sizeof(*sorted), by_value);
	l->x = xcalloc(n + 2, sizeof(double));
	l->y = xcalloc(n + 2, sizeof(double));
	if (n)
		l->x[l->n++] = sorted[0]; /* from 0 % */
	for (i = 0; i < n; i++) {
		if (i + 1 < n && sorted[i + 1] <= sorted[i])
			continue;
		l->x[l->n] = sorted[i];
		l->y[l->n++] = (double)(i + 1) / (double)n;
	}
	if (n && end > sorted[n - 1]) {
		l->x[l->n] = end;
		l->y[l->n++] = 1;
	}
	l->median = n ? sorted[(n - 1) / 2] : PLOT_VALUE_MAX;
	plot_value(median, unit, n ? l->median : PLOT_VALUE_MAX * 2);
	strbuf_addf(&l->name, "%s%smedian %s", s->name ? s->name : "",
	        s->name && *s->name ? ", " : "", median);
	free(sorted);
}

static struct plot_range range_of(const struct plot_samples *samples, size_t n)
{
	struct plot_range r = PLOT_RANGE_NONE;
	size_t i, k;

	for (i = 0; i < n; i++) {
		for (k = 0; k < samples[i].n; k++)
			plot_range_add(&r, samples[i].v[k]);
	}
	return r;
}

/* Where more than a third of all lines lies on their least value, what is below that says nothing:
 * the axis begins at the tenth below. */
static double lowest_part(const struct plot_samples *samples, size_t n, double least)
{
	double part = 1;
	size_t i, k, low;

	for (i = 0; i < n; i++) {
		for (k = low = 0; k < samples[i].n; k++)
			low += samples[i].v[k] <= least;
		part = fmin(part, samples[i].n ? (double)low / (double)samples[i].n : 1);
	}
	return n && part > 1.0 / 3 ? fmin(0.9, floor(part * 10) / 10) : 0;
}

static size_t place_of(const struct line *lines, size_t n, size_t i)
{
	size_t place = 0, k;

	for (k = 0; k < n; k++)
		place += lines[k].median < lines[i].median ||
		         (lines[k].median <= lines[i].median && k < i);
	return place;
}

void plot_ecdf(struct strbuf *out, const struct plot_frame *f, const struct plot_samples *samples,
        size_t n)
{
	struct line *lines = xcalloc(n ? n : 1, sizeof(*lines));
	struct plot_series *series = xcalloc(n ? n : 1, sizeof(*series));
	double *rank = xcalloc(n ? n : 1, sizeof(*rank)), end;
	struct plot_range range = range_of(samples, n);
	struct plot_frame frame = *f;
	size_t i;

	frame.y = (struct plot_axis){ .label = f->y.label,
		.unit = PLOT_PERCENT,
		.fixed = true,
		.max = 1,
		.min = lowest_part(samples, n, range.min) };
	end = f->x.fixed && f->x.max > range.max ? f->x.max : range.max;
	for (i = 0; i < n; i++) {
		make_line(&lines[i], &samples[i], f->x.unit, end);
		series[i] = (struct plot_series){ .name = lines[i].name.s,
			.style = PLOT_STEP,
			.x = lines[i].x,
			.y = lines[i].y,
			.n = lines[i].n };
	}
	for (i = 0; i < n; i++)
		rank[i] = (double)place_of(lines, n, i);
	plot_xy_ranked(out, &frame, series, n, rank);
	for (i = 0; i < n; i++) {
		free(lines[i].x);
		free(lines[i].y);
		strbuf_free(&lines[i].name);
	}
	free(lines);
	free(series);
	free(rank);
}
