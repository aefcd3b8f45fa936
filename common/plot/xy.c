/* xy.c - lines, steps, dots, bands and stacked areas; see plot.h */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/xalloc.h"
#include "common/plot/plot_impl.h"

#define HEIGHT       330
#define MARKER_EVERY 110 /* pixels between markers of a line */
#define DOT_CELL     3.0 /* pixels: one dot in each such square is enough */

struct xy {
	struct plot_chart c;
	const struct plot_series *series;
	size_t n;
	double **stack; /* [series]: the upper edge of an area at each x; NULL: no area. Owned */
};

/* --- areas upon each other -------------------------------------------------------------------- */

static size_t area_points(const struct xy *g)
{
	size_t least = SIZE_MAX, i;

	for (i = 0; i < g->n; i++) {
		if (g->series[i].style == PLOT_AREA && g->series[i].n < least)
			least = g->series[i].n;
	}
	return least == SIZE_MAX ? 0 : least;
}

static void stack_areas(struct xy *g)
{
	size_t points = area_points(g), i, k;
	const double *below = NULL;

	g->stack = xcalloc(g->n ? g->n : 1, sizeof(*g->stack));
	for (i = 0; i < g->n; i++) {
		const struct plot_series *s = &g->series[i];

		if (s->style != PLOT_AREA || !points)
			continue;
		g->stack[i] = xcalloc(points, sizeof(double));
		for (k = 0; k < points; k++)
			g->stack[i][k] =
			        (below ? below[k] : 0) + (plot_is_value(s->y[k]) ? s->y[k] : 0);
		below = g->stack[i];
	}
}

static void unstack(struct xy *g)
{
	size_t i;

	for (i = 0; i < g->n; i++)
		free(g->stack[i]);
	free(g->stack);
}

/* --- ranges ---------------------------------------------------------------------------------- */

static void ranges(const struct xy *g, struct plot_range *x, struct plot_range *y)
{
	size_t points = area_points(g), i, k;

	for (i = 0; i < g->n; i++) {
		const struct plot_series *s = &g->series[i];
		size_t n = g->stack[i] ? points : s->n;

		for (k = 0; k < n; k++) {
			double v = g->stack[i] ? g->stack[i][k] : s->y[k];

			if (!plot_is_value(s->x[k]) || !plot_is_value(v))
				continue;
			plot_range_add(x, s->x[k]);
			plot_range_add(y, v);
			if (s->style == PLOT_BAND)
				plot_range_add(y, s->y2[k]);
		}
	}
	/* A mark of y that is near the data belongs into the picture. */
	for (i = 0; i < g->c.f->n_marks && y->min <= y->max; i++) {
		const struct plot_mark *m = &g->c.f->marks[i];

		if (!m->vertical && m->at > y->max && m->at < 4 * y->max)
			plot_range_add(y, m->at);
	}
}

/* --- drawing --------------------------------------------------------------------------------- */

static void trace(const struct xy *g, const struct plot_series *s, const double *v, size_t n,
        bool steps, struct plot_path *p)
{
	double before = NAN;
	size_t k;

	for (k = 0; k < n; k++) {
		double x, y;

		if (!plot_is_value(s->x[k]) || !plot_is_value(v[k])) {
			plot_path_gap(p);
			before = NAN;
			continue;
		}
		x = plot_x(&g->c, s->x[k]);
		y = plot_y(&g->c, v[k]);
		if (steps && !isnan(before))
			plot_path_to(p, x, before);
		plot_path_to(p, x, y);
		before = y;
	}
	plot_path_done(p);
}

static void begin_path(const struct xy *g, const char *classes, size_t look)
{
	strbuf_addf(g->c.out, "<path class=\"%s plot-c%zu\" d=\"", classes, look % PLOT_LOOKS);
}

static void draw_area(const struct xy *g, size_t i, const double *below)
{
	struct plot_path top = { .v = NULL }, low = { .v = NULL };
	size_t points = area_points(g);
	double *zero = below ? NULL : xcalloc(points, sizeof(double));
	struct plot_chart *c = (struct plot_chart *)&g->c;

	trace(g, &g->series[i], g->stack[i], points, true, &top);
	trace(g, &g->series[i], below ? below : zero, points, true, &low);
	strbuf_adds(c->out, "<path");
	plot_fill(c, i);
	strbuf_adds(c->out, " d=\"");
	plot_path_between(c->out, &top, &low);
	strbuf_adds(c->out, "\">");
	plot_tooltip(c->out, g->series[i].name, NULL);
	strbuf_adds(c->out, "</path>\n");
	plot_path_free(&top);
	plot_path_free(&low);
	free(zero);
}

static void draw_areas(const struct xy *g)
{
	const double *below = NULL;
	size_t i;

	for (i = 0; i < g->n; i++) {
		if (!g->stack[i])
			continue;
		draw_area(g, i, below);
		below = g->stack[i];
	}
}

static void draw_band(const struct xy *g, size_t i)
{
	const struct plot_series *s = &g->series[i];
	struct plot_path top = { .v = NULL }, low = { .v = NULL };
	size_t k;

	for (k = 0; k < s->n; k++) {
		if (!plot_is_value(s->x[k]) || !plot_is_value(s->y[k]) || !plot_is_value(s->y2[k]))
			continue;
		plot_path_to(&low, plot_x(&g->c, s->x[k]), plot_y(&g->c, s->y[k]));
		plot_path_to(&top, plot_x(&g->c, s->x[k]), plot_y(&g->c, s->y2[k]));
	}
	plot_path_done(&top);
	plot_path_done(&low);
	begin_path(g, "plot-band", i);
	plot_path_between(g->c.out, &top, &low);
	strbuf_adds(g->c.out, "\"/>\n");
	plot_path_free(&top);
	plot_path_free(&low);
}

/* Where lines lie on each other, their markers do not: each begins a little later. */
static void put_markers(const struct xy *g, size_t i, const struct plot_path *p)
{
	double next = g->c.left + 20 + (double)MARKER_EVERY * (double)i / (double)g->n;
	size_t k;

	begin_path(g, "plot-dot", i);
	for (k = 0; k < p->n; k++) {
		if (isnan(p->v[k].x) || p->v[k].x < next)
			continue;
		plot_marker(g->c.out, i, p->v[k].x, p->v[k].y);
		next += MARKER_EVERY * (1 + floor((p->v[k].x - next) / MARKER_EVERY));
	}
	strbuf_adds(g->c.out, "\"/>\n");
}

static void draw_line(const struct xy *g, size_t i)
{
	const struct plot_series *s = &g->series[i];
	struct plot_path p = { .v = NULL };
	char classes[40];

	trace(g, s, s->y, s->n, s->style == PLOT_STEP, &p);
	if (area_points(g)) {
		begin_path(g, "plot-halo", i);
		plot_path_draw(g->c.out, &p);
		strbuf_adds(g->c.out, "\"/>\n");
	}
	snprintf(classes, sizeof(classes), "plot-line plot-d%zu", i % PLOT_LOOKS);
	begin_path(g, classes, i);
	plot_path_draw(g->c.out, &p);
	strbuf_adds(g->c.out, "\"/>\n");
	if (g->n > 1)
		put_markers(g, i, &p);
	plot_path_free(&p);
}

/* The first look's are round ends of lines without length: they are many, and short as text. */
static void put_dot(const struct xy *g, size_t i, double x, double y)
{
	if (i % PLOT_LOOKS) {
		plot_marker(g->c.out, i, x, y);
		return;
	}
	strbuf_adds(g->c.out, "M");
	plot_num(g->c.out, x);
	strbuf_adds(g->c.out, " ");
	plot_num(g->c.out, y);
	strbuf_adds(g->c.out, "h0");
}

/* One dot for each small square looks the same as all of them. */
static void draw_dots(const struct xy *g, size_t i)
{
	const struct plot_series *s = &g->series[i];
	size_t columns = (size_t)(g->c.w / DOT_CELL) + 1, lines = (size_t)(g->c.h / DOT_CELL) + 1,
	       k;
	unsigned char *seen = xcalloc(columns * lines, 1);

	begin_path(g, i % PLOT_LOOKS ? "plot-dots" : "plot-dots plot-round", i);
	for (k = 0; k < s->n; k++) {
		double x, y, column, line;

		if (!plot_is_value(s->x[k]) || !plot_is_value(s->y[k]))
			continue;
		x = plot_x(&g->c, s->x[k]);
		y = plot_y(&g->c, s->y[k]);
		column = (x - g->c.left) / DOT_CELL;
		line = (y - g->c.top) / DOT_CELL;
		if (!(column >= 0 && line >= 0 && column < (double)columns && line < (double)lines))
			continue;
		if (seen[(size_t)line * columns + (size_t)column]++)
			continue;
		put_dot(g, i, x, y);
	}
	strbuf_adds(g->c.out, "\"/>\n");
	free(seen);
}

static void draw_series(const struct xy *g)
{
	size_t i;

	for (i = 0; i < g->n; i++) {
		if (g->series[i].style == PLOT_BAND)
			draw_band(g, i);
	}
	for (i = 0; i < g->n; i++) {
		if (g->series[i].style == PLOT_DOTS)
			draw_dots(g, i);
	}
	for (i = 0; i < g->n; i++) {
		if (g->series[i].style == PLOT_LINE || g->series[i].style == PLOT_STEP)
			draw_line(g, i);
	}
}

/* --- names ----------------------------------------------------------------------------------- */

/* The last value that is no gap; for an area the middle of its own part there. */
static void line_end(const struct xy *g, size_t i, struct plot_label *l)
{
	const struct plot_series *s = &g->series[i];
	size_t k = g->stack[i] ? area_points(g) : s->n;
	const double *v = g->stack[i] ? g->stack[i] : s->y;

	while (k > 0 && !(plot_is_value(s->x[k - 1]) && plot_is_value(v[k - 1])))
		k--;
	l->x = k ? plot_x(&g->c, s->x[k - 1]) : g->c.left + g->c.w;
	l->y = k ? plot_y(&g->c, v[k - 1]) : g->c.top;
	if (k && g->stack[i])
		l->y += (plot_y(&g->c, 0) -
		                plot_y(&g->c, plot_is_value(s->y[k - 1]) ? s->y[k - 1] : 0)) /
		        2;
	if (l->x > g->c.left + g->c.w)
		l->x = g->c.left + g->c.w;
	l->leader = k && s->style != PLOT_DOTS;
	if (s->style == PLOT_DOTS)
		l->y = g->c.top + 8;
}

static size_t make_labels(const struct xy *g, struct plot_label *labels)
{
	static const enum plot_sample samples[] = { [PLOT_LINE] = PLOT_SAMPLE_LINE,
		[PLOT_STEP] = PLOT_SAMPLE_LINE,
		[PLOT_DOTS] = PLOT_SAMPLE_DOT,
		[PLOT_AREA] = PLOT_SAMPLE_FILL,
		[PLOT_BAND] = PLOT_SAMPLE_BAND };
	size_t i, n = 0;

	for (i = 0; i < g->n; i++) {
		if (g->series[i].name && *g->series[i].name)
			labels[n++] = (struct plot_label){ .name = g->series[i].name,
				.look = i,
				.sample = samples[g->series[i].style] };
	}
	return n;
}

static void put_labels(struct xy *g, struct plot_label *labels, size_t n, const double *rank)
{
	size_t i;

	for (i = 0; i < n; i++) {
		if (rank) {
			labels[i].y = g->c.top + 8 + rank[labels[i].look] * 1e-3;
			labels[i].leader = false;
		} else {
			line_end(g, labels[i].look, &labels[i]);
		}
	}
	plot_labels(&g->c, labels, n);
}

void plot_xy_ranked(struct strbuf *out, const struct plot_frame *f,
        const struct plot_series *series, size_t n, const double *rank)
{
	struct xy g = { .c = { .f = f }, .series = series, .n = n };
	struct plot_range x = PLOT_RANGE_NONE, y = PLOT_RANGE_NONE;
	struct plot_label *labels = xcalloc(n ? n : 1, sizeof(*labels));
	struct plot_space space = { .height = HEIGHT };
	size_t n_labels = make_labels(&g, labels);

	stack_areas(&g);
	ranges(&g, &x, &y);
	space.right = plot_labels_width(labels, n_labels);
	plot_begin(&g.c, out, f, &x, &y, &space);
	plot_hatches(&g.c, area_points(&g) ? n : 0);
	plot_axes(&g.c);
	plot_clip(&g.c);
	draw_areas(&g);
	draw_series(&g);
	strbuf_adds(out, "</g>\n");
	if (x.min > x.max)
		plot_no_data(&g.c);
	put_labels(&g, labels, n_labels, rank);
	plot_end(&g.c);
	unstack(&g);
	free(labels);
}

void plot_xy(
        struct strbuf *out, const struct plot_frame *f, const struct plot_series *series, size_t n)
{
	plot_xy_ranked(out, f, series, n, NULL);
}
